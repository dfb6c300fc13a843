"""`/v1/score`: the log-probabilities are those of `Translator.score`, and of the search for its own translations."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from dragoman.serve.models.models import Models
from dragoman.serve.work.service import Service
from live_server import live

# In int8 a log-probability depends a little on the other sentences of its batch.
INT8 = 0.1
PAIRS = [
    ("Good morning.", "좋은 아침이에요."),
    ("Where is the library?", "도서관이 어디예요?"),
    ("Where is the library?", "사과는 빨개요."),
    ("It costs 30 dollars.", "31달러예요."),
]


def ask(client, **body):
    answer = client.post("/v1/score", json={"source": "en", "target": "ko", **body})
    assert answer.status_code == 200, answer.text
    return answer.json()["scores"]


def test_scores_are_those_of_the_translator_whatever_else_is_asked(client, offline):
    expected = offline["en-ko"].score(PAIRS)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda pair: ask(client, text=pair[0], translation=pair[1])[0], PAIRS))
    found += ask(client, text=[source for source, _ in PAIRS], translation=[target for _, target in PAIRS])
    for one, own in zip(found, [*expected, *expected], strict=True):
        assert [token["log_prob"] for token in one["tokens"]] == pytest.approx(own, abs=INT8)
        assert one["log_prob"] == pytest.approx(sum(token["log_prob"] for token in one["tokens"]))
        assert one["per_token"] == pytest.approx(one["log_prob"] / len(own))
    assert found[1]["log_prob"] > found[2]["log_prob"]
    assert [warning["kind"] for warning in found[3]["warnings"]] == ["number"]


def test_the_pieces_are_the_text_and_its_own_translation_has_the_score_of_the_search(client, offline):
    best = offline["en-ko"].translate("Good morning.", token_scores=True)
    (found,) = ask(client, text="Good morning.", translation=best.text)
    pieces = [token["piece"] for token in found["tokens"]]
    assert "".join(pieces[:-1]).replace("▁", " ").strip() == best.text
    assert found["log_prob"] == pytest.approx(best.candidates[0].log_prob, abs=0.1)


def test_the_confidence_of_its_own_translation_is_that_of_translate(client, offline):
    own = offline["en-ko"].translate("Where is the library?", confidence=True)
    good, bad = ask(client, text=["Where is the library?"] * 2, translation=[own.text, "사과는 빨개요. " * 9])
    assert good["confidence"] == pytest.approx(own.confidence, abs=0.05)
    assert bad["confidence"] < good["confidence"]
    assert "loop" in [warning["kind"] for warning in bad["warnings"]]


def test_a_model_that_has_learned_no_confidence_gives_none():
    models = Models(["en-ko"], threads=1)
    model = models.models["en-ko"]
    models.translator(model, model.pairs[0])
    assert model.translator
    model.translator.confidence = None
    with live(Service(models)) as url, httpx.Client(base_url=url, timeout=120) as client:
        assert [one["confidence"] for one in ask(client, text="Good morning.", translation="사과")] == [None]


@pytest.mark.parametrize(
    ("body", "status", "part"),
    [
        ({"translation": ["하나", "둘"]}, 400, "1 texts and 2 translations"),
        ({"translation": 3}, 400, "translation"),
        ({"translation": "\ud800"}, 400, "surrogate"),
        ({"translation": "가" * 20_001}, 413, "send at most 20,000"),
        ({"text": ["a", "one " * 1500], "translation": ["a", "b"]}, 413, "text 2: "),
        ({"translation": "가나 " * 1500}, 413, "tokens; send at most 1,024"),
        ({"text": "안녕하세요", "source": None, "translation": "x"}, 400, "name its language"),
        ({"translation": "x", "model": "y"}, 404, "no model 'y'"),
        ({}, 400, "translation"),
    ],
)
def test_bad_input_is_a_problem(client, body, status, part):
    given = {"text": "Good morning.", "source": "en", "target": "ko", **body}
    answer = client.post("/v1/score", content=json.dumps(given))
    assert answer.status_code == status, answer.text
    assert part in answer.json()["detail"]
