"""The language of a text that names none: of its words, not of its markup, among the models that may be used."""

from dataclasses import replace

import pytest

from dragoman.serve.http.access import permitted
from dragoman.serve.http.problems import Problem
from dragoman.serve.models.models import Models, ServedPair
from dragoman.serve.store.keys import ApiKey
from dragoman.serve.work.text import TextRequest, choose, unchanged

STYLE = "body{font-family:Arial;margin:0 auto;padding:10px}table{border-collapse:collapse}"
KOREAN = [
    ("html", f"<html><head><style>{STYLE}</style></head><body><p>안녕하세요. 회의는 내일입니다.</p></body></html>"),
    ("html", "<p>안녕하세요</p><script>const answer = document.querySelector('body').textContent;</script>"),
    ("html", "<p>&#50504;&#45397;</p>"),
    ("xml", "<text><![CDATA[안녕하세요]]></text>"),
    ("xml", "<text>&#50504;&#45397;</text>"),
    ("markdown", "안녕하세요.\n\n```bash\nsudo apt install python\npython -m venv environment\n```\n"),
    ("markdown", "`systemctl restart postgresql`로 시작합니다.\n"),
]


@pytest.fixture(scope="module")
def models() -> Models:
    """From English and from German into Korean, and from Korean into English; none is loaded."""
    models = Models(threads=1)
    german = replace(models.named("en-ko"), name="de-ko", pairs=(ServedPair("de", "ko"),))
    models.models = {"en-ko": models.named("en-ko"), "de-ko": german, "ko-en": models.named("ko-en")}
    return models


@pytest.mark.parametrize(("form", "text"), KOREAN)
def test_markup_and_code_have_no_language(models, form, text):
    [choice] = choose(TextRequest([text], target="en", format=form), models)
    assert choice
    assert choice.model.name == "ko-en"
    assert choice.detected == 1.0
    request = TextRequest([text], target="ko", format=form)
    assert choose(request, models) == [None]
    answer = unchanged(text, request)
    assert (answer.text, answer.source, answer.detected) == (text, "ko", 1.0)


@pytest.mark.parametrize(
    ("allowed", "text", "target", "expected"),
    [
        (("en-ko", "de-ko", "ko-en"), "Wo ist der Bahnhof, bitte?", "ko", "de-ko"),
        (("en-ko", "de-ko", "ko-en"), "Where is the station, please?", "ko", "en-ko"),
        (("en-ko", "ko-en"), "안녕하세요 여러분", None, "ko-en"),
        (("removed", "ko-en"), "안녕하세요 여러분", None, "ko-en"),
        (("de-ko",), "Where is the station, please?", "ko", "de-ko"),
    ],
)
def test_of_a_key_with_some_models_the_language_is_detected_among_theirs(models, allowed, text, target, expected):
    key = ApiKey("x", "x", 0.0, models=allowed)
    [choice] = choose(permitted(TextRequest([text], target=target), key, models), models)
    assert choice
    assert choice.model.name == expected


def test_a_key_without_a_model_of_these_languages_is_refused(models):
    key = ApiKey("x", "x", 0.0, models=("en-ko", "removed"))
    for request in (TextRequest(["a"], target="en"), TextRequest(["a"], "de", "ko")):
        with pytest.raises(Problem, match="403") as refused:
            permitted(request, key, models)
        assert "it may use: en-ko, removed" in refused.value.detail
    with pytest.raises(Problem, match="may not use 'ko-en'"):
        permitted(TextRequest(["a"], model="ko-en"), key, models)
