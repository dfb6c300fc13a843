"""`/v1/alternatives`: what stays is what was given, what follows differs, and each is the translator's own."""

import json

import pytest

from suites import cases

TEXT = "The weather is nice today."


def ask(client, **body):
    answer = client.post("/v1/alternatives", json={"text": TEXT, "source": "en", "target": "ko", **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.slow
@pytest.mark.parametrize("prefix", cases(["", "오늘은 ", "오늘은  날씨가\t"], quick=["오늘은  날씨가\t"]))
def test_the_beginning_stays_and_the_next_words_differ(client, offline, prefix):
    answer = ask(client, prefix=prefix, count=5)
    kept = " ".join(prefix.split()) + (" " if prefix else "")
    found = answer["alternatives"]
    assert 2 <= len(found) <= 5
    assert all(one["text"].startswith(kept + one["word"]) for one in found)
    assert len({one["word"] for one in found}) == len(found)
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    own = {one.text: one.log_prob for one in offline["en-ko"].alternatives(TEXT, prefix, 10)}
    assert {one["text"]: one["log_prob"] for one in found}.items() <= own.items()
    assert (answer["source"], answer["target"], answer["model"]) == ("en", "ko", "en-ko")


@pytest.mark.slow
def test_the_best_word_without_a_beginning_is_that_of_the_translation(client, offline):
    best = offline["en-ko"].translate(TEXT).text
    assert ask(client)["alternatives"][0]["text"] == best
    detected = client.post("/v1/alternatives", json={"text": TEXT}).json()
    assert detected == ask(client)


def test_a_blank_text_and_one_in_the_target_language_have_none(client):
    assert ask(client, text=" ")["alternatives"] == []
    found = client.post("/v1/alternatives", json={"text": "안녕하세요", "target": "ko"}).json()
    assert found == {"alternatives": [], "source": "ko", "target": "ko", "model": ""}


@pytest.mark.parametrize(
    ("body", "status", "part"),
    [
        ({"text": "one\ntwo"}, 400, "give one line"),
        ({"prefix": "one\ntwo"}, 400, "give one line"),
        ({"prefix": "가 " * 3000}, 400, "give at most"),
        ({"text": "a" * 20_001}, 413, "send at most 20,000"),
        ({"count": 0}, 400, "count"),
        ({"count": 33}, 400, "count"),
        ({"target": "de"}, 400, "'de' is not served"),
        ({"model": "x"}, 404, "no model 'x'"),
        ({"words": 3}, 400, "unknown field"),
        ({"text": "\ud800"}, 400, "surrogate"),
        ({"prefix": "\ud800"}, 400, "surrogate"),
    ],
)
def test_bad_input_is_a_problem(client, body, status, part):
    content = json.dumps({"text": TEXT, "source": "en", "target": "ko", **body})
    answer = client.post("/v1/alternatives", content=content)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert part in answer.json()["detail"]
