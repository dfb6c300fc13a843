"""JSON: every byte outside the strings stays, every string is found where Python's own parser finds it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.laws import hold_identity, hold_reading_again, opened, texts, translated
from documents.real import needs_data, real
from dragoman.documents import DocumentOptions
from dragoman.documents.catalogues.json import Scanner
from dragoman.errors import DataError

CATALOGUE = r"""{ "title" : "Open a file",
	"menu": {"items": ["New\ttab", "", "42", {"help": "Caf\u00e9 \/ <b>bar<\/b>"}], "on": true, "größe": 1.5e3},
    "count_one": "{{count}} file", "count_other": "{{count}} files",
    "car": "no cars | one car | {n} cars", "see": "See $t(title) and @:menu.help &amp; more"  }
"""


def saved(folder: Path, text: str, name: str = "a.json") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_all_but_the_strings_stays(tmp_path: Path) -> None:
    path = saved(tmp_path, CATALOGUE)
    _, units = opened(path)
    assert [(unit.location, unit.source.text) for unit in units] == [
        ("title", "Open a file"),
        ("menu.items[0]", "New\ttab"),
        ("menu.items[2]", "42"),
        ("menu.items[3].help", "Café / bar"),
        ("count_one", "{{count}} file"),
        ("count_other", "{{count}} files"),
        ("car: 1", "no cars"),
        ("car: 2", "one car"),
        ("car: 3", "{n} cars"),
        ("see", "See $t(title) and @:menu.help &amp; more"),
    ]
    assert [code.text for code in units[3].source.codes] == ["<b>", "</b>"]
    kept = units[9].source
    assert [kept.text[begin:end] for begin, end in kept.protected] == ["$t(title)", "@:menu.help", "&amp;"]
    assert units[4].source.protected == ((0, 9),)
    assert hold_identity(path) == 10
    hold_reading_again(path, tmp_path)
    new: list[str | None] = [None] * 10
    new[0], new[7] = '"파일"\n열기', "차 한 대"
    expected = CATALOGUE.replace('"Open a file"', r'"\"파일\"\n열기"').replace("one car", "차 한 대")
    assert translated(path, new) == expected


def test_no_translation_becomes_two_plural_forms(tmp_path: Path) -> None:
    path = saved(tmp_path, '{"a": "é|b", "c": "one | two"}')
    assert texts(path) == ["é|b", "one", "two"]
    assert translated(path, ["가 | 나", None, "다 | 라"]) == '{"a": "가|나", "c": "one | 다|라"}'


def test_a_file_that_escapes_all_but_ascii_stays_so(tmp_path: Path) -> None:
    path = saved(tmp_path, r'{"a": "Caf\u00e9", "b": "Read/write"}')
    assert translated(path, ["카페", "a/b"]) == r'{"a": "\uce74\ud398", "b": "a/b"}'
    path = saved(tmp_path, r'{"a": "Read\/write"}')
    assert translated(path, ["읽기/쓰기"]) == r'{"a": "읽기\/쓰기"}'


def test_names_and_arguments_of_a_chrome_message_are_copied(tmp_path: Path) -> None:
    message = '{"message": "Open $URL$ for $USER_2$, $1", "placeholders": {"url": {"content": "$1"}}}'
    path = saved(tmp_path, f'{{"a": {message}, "b": {{"message": "Costs $5", "description": "x"}}}}')
    units = opened(path)[1]
    copied = [[unit.source.text[begin:end] for begin, end in unit.source.protected] for unit in units]
    assert copied == [["$URL$", "$USER_2$", "$1"], ["$5"]]
    path = saved(tmp_path, '{"a": "Costs $5 or $6$"}')
    assert opened(path)[1][0].source.protected == ()


def test_of_an_object_for_a_message_only_the_message_is_text(tmp_path: Path) -> None:
    text = """{"a": {"defaultMessage": "Hello", "description": "A greeting", "id": "x"},
      "b": {"message": "Hello $NAME$",
        "description": "Another", "placeholders": {"name": {"content": "$1", "example": "Kim"}}},
      "message": "A word", "locale": "en", "labels": {"language": "Language", "locale": "en"}, "$schema": "x/y"}"""
    path = saved(tmp_path, text)
    found = [(unit.source.text, unit.context) for unit in opened(path)[1]]
    assert found == [
        ("Hello", "A greeting"),
        ("Hello $NAME$", "Another"),
        ("A word", ""),
        ("Language", ""),
        ("en", ""),
    ]
    assert translated(path, ["안녕", None, None, None, None]) == text.replace('"Hello"', '"안녕"').replace(
        '"locale": "en", "l', '"locale": "ko", "l'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: expected a value, found the end of the file"),
        ('{"a": "x",}', r":1: expected a key in double quotes, found \'}\'"),
        ('{\n"a": NaN}', r":2: expected a value, found 'NaN}'; JSON has no comments, no NaN"),
        ('{\n\n// no\n"a": "x"}', ":3: expected a key in double quotes, found '// no'"),
        ('["x" "y"]', r""":1: expected ',' or '\]', found '"y"\]'"""),
        ('{"a" "y"}', """:1: expected ':', found"""),
        ('{"a": "x"', r":1: expected ',' or '}', found the end of the file"),
        ('["x"] []', r":1: expected the end of the file, found '\[\]'"),
        ('["x\ny"]', ":1: invalid control character"),
        ('["x', ":1: unterminated string starting at"),
        (r'["\q"]', r":1: invalid \\escape"),
        ("[01]", ":1: expected a value, found '01]'"),
        ("[" * 300, ":1: nested more than 200 deep"),
    ],
)
def test_what_is_not_json_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(saved(tmp_path, text))


def test_repeated_keys_are_both_kept_and_named(tmp_path: Path) -> None:
    path = saved(tmp_path, '{"a": "one",\n "a": "two", "b": [{"a": "x"}, {"a": "y"}]}')
    assert opened(path)[0].notices == ("line 2: the key 'a' is there twice; both are kept",)
    assert texts(path) == ["one", "two", "x", "y"]
    hold_reading_again(path, tmp_path)


def test_what_no_model_can_read_is_left_and_named(tmp_path: Path) -> None:
    path = saved(tmp_path, '{"s": "broken \\ud83d emoji",\n"n": "a\\u0000b", "ok": "\\ud83d\\ude00 fine"}')
    document, units = opened(path)
    assert [unit.location for unit in units] == ["ok"]
    assert [notice.split(":")[0] for notice in document.notices] == ["line 1, s", "line 2, n"]
    hold_identity(path)


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@given(VALUES, st.sampled_from([None, 2]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_strings_are_those_of_pythons_parser(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)

    def strings(inner: Any) -> list[str]:
        if isinstance(inner, str):
            return [inner]
        values = inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
        return [each for one in values for each in strings(one)]

    found = Scanner(Path("a.json"), text).texts
    assert [each.text for each in found] == strings(value)
    assert [json.loads(text[each.begin : each.end]) for each in found] == strings(value)


@needs_data
def test_real_files_keep_their_bytes(tmp_path: Path) -> None:
    paths = real("json")
    assert paths
    for path in paths:
        assert hold_identity(path)
        hold_reading_again(path, tmp_path)
        hold_identity(path, DocumentOptions("ko", "en"))


@needs_data
def test_hostile_files_are_refused_or_come_back(tmp_path: Path) -> None:
    refused = {}
    for path in (each for each in real("hostile") if each.suffix == ".json"):
        try:
            hold_identity(path)
            hold_reading_again(path, tmp_path)
        except DataError as error:
            refused[path.name] = str(error)
    assert set(refused) == {"deep-nesting.json", "empty.json", "invalid-utf8.json", "nan-and-comment.json"}
