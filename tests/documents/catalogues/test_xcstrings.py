"""`.xcstrings`: a localization in the target language is added or replaced, in the style of Xcode."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from documents.laws import REQUEST, opened, translated, written
from documents.real import SAMPLES
from dragoman.errors import DataError

SAMPLE = SAMPLES / "Catalog.xcstrings"
KOREAN = ["%2$@에 개 %1$lld마리", "끝", "파일 열기", "검토", "저장"]


def test_strings_get_a_localization_and_all_else_stays() -> None:
    document, units = opened(SAMPLE)
    assert [(unit.location, unit.source.text, unit.context) for unit in units] == [
        ("%lld dogs in %@ plural other", "%1$lld dogs in %2$@", "A count"),
        ("Done", "Done", ""),
        ("Open the file", "Open the file", ""),
        ("Review", "Review", ""),
        ("Save", "Save", "A button"),
    ]
    assert [units[0].source.text[slice(*span)] for span in units[0].source.protected] == ["%1$lld", "%2$@"]
    assert written(document, [None] * 5) == SAMPLE.read_bytes()
    new = translated(SAMPLE, KOREAN)
    old, data = json.loads(SAMPLE.read_text()), json.loads(new)
    texts = [entry["localizations"]["ko"] for entry in data["strings"].values() if "localizations" in entry]
    assert texts[1:] == [{"stringUnit": {"state": "translated", "value": text}} for text in KOREAN[1:]]
    assert texts[0]["variations"]["plural"] == {"other": {"stringUnit": {"state": "translated", "value": KOREAN[0]}}}
    for entry in (*old["strings"].values(), *data["strings"].values()):
        entry.get("localizations", {}).pop("ko", None)
        if not entry.get("localizations"):
            entry.pop("localizations", None)
    assert data == old


def test_what_is_written_is_as_xcode_writes_it() -> None:
    new = translated(SAMPLE, [None, None, "파일 열기", None, "저장"])
    unit = """{
        "ko" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "%s"
          }
        }
      }"""
    expected = SAMPLE.read_text().replace(
        '"Open the file" : {\n\n    }', f'"Open the file" : {{\n      "localizations" : {unit % "파일 열기"}\n    }}'
    )
    expected = expected.replace('"A button"\n', f'"A button",\n      "localizations" : {unit % "저장"}\n')
    assert new == expected
    ordered = json.loads(translated(SAMPLE, KOREAN))["strings"]["%lld dogs in %@"]["localizations"]
    assert list(ordered) == ["en", "ko", "zh-Hans"]


def test_finished_strings_are_kept_with_update_and_new_ones_are_marked() -> None:
    request = replace(REQUEST, update=True, mark=True)
    _, units = opened(SAMPLE, request)
    assert [unit.location for unit in units][1:] == ["Open the file", "Review", "Save"]
    new = translated(SAMPLE, ["%1$lld %2$@", None, "검토", None], request)
    assert json.loads(new)["strings"]["Review"]["localizations"]["ko"]["stringUnit"] == {
        "state": "needs_review",
        "value": "검토",
    }
    assert "완료" in new


def test_forms_and_devices_are_those_of_the_source(tmp_path: Path) -> None:
    assert [unit.location for unit in opened(SAMPLE, replace(REQUEST, target="de"))[1]][:2] == [
        "%lld dogs in %@ plural one",
        "%lld dogs in %@ plural other",
    ]
    leaf = {"stringUnit": {"state": "new", "value": "%arg dogs"}}
    substitutions = {"dogs": {"argNum": 1, "formatSpecifier": "lld", "variations": {"plural": {"other": leaf}}}}
    source = {"stringUnit": {"state": "new", "value": "I see %#@dogs@"}, "substitutions": substitutions}
    path = tmp_path / "a.xcstrings"
    data = {"sourceLanguage": "en", "strings": {"a": {"localizations": {"en": source}}}}
    path.write_text(json.dumps(data), encoding="utf-8")
    assert [unit.source.text for unit in opened(path)[1]] == ["I see %#@dogs@", "%arg dogs"]
    new = json.loads(translated(path, ["%#@dogs@", "개 %arg마리"]))["strings"]["a"]["localizations"]["ko"]
    assert new["substitutions"]["dogs"]["variations"]["plural"]["other"]["stringUnit"]["value"] == "개 %arg마리"
    assert new["substitutions"]["dogs"]["argNum"] == 1
    data["strings"] = {"%1$d files %2$#@w@ left": {}}
    path.write_text(json.dumps(data), encoding="utf-8")
    [unit] = opened(path)[1]
    assert [unit.source.text[begin:end] for begin, end in unit.source.protected] == ["%1$d", "%2$#@w@"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected a value"),
        ('{"strings": {}}', "no string catalogue of Xcode"),
        ('{"sourceLanguage": "en", "strings": {', r"a\.xcstrings:1"),
        ("[" * 300, "nested more than"),
        (b'{"a": "\xb0\xa1"}', "is not UTF-8"),
    ],
)
def test_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "a.xcstrings"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError, match=message):
        opened(path)
