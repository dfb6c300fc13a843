"""JSON and TOML of others: whatever it is, one sentence."""

import json

import pytest

from dragoman.system.parsing import Malformed, parse_json, parse_toml


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[" * 200_000, "not JSON: its brackets are nested too deeply"),
        ('{"a":' * 100_000, "not JSON: its brackets are nested too deeply"),
        ("9" * 5000, "not JSON: a number has thousands of digits"),
        ("1e999", "not JSON: the number 1e999 is too large"),
        ("[NaN]", "not JSON: NaN is not a number"),
        ("[-Infinity]", "not JSON: -Infinity is not a number"),
        ("{\n]", "not JSON: expecting property name enclosed in double quotes at line 2"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        ("", "not JSON: expecting value"),
    ],
)
def test_what_is_no_json_is_refused_in_one_sentence(content: str | bytes, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse_json(content)
    assert str(caught.value) == message


def test_json_is_what_it_is() -> None:
    value = {"a": [1, -2.5, None, True, "한국어 \u2028"], "b": {"c": 10**30}}
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value).encode()) == value
    assert str(parse_json("[NaN, 1e999]", finite=False)) == "[nan, inf]"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a = " + "[" * 100_000, "not TOML: its brackets are nested too deeply"),
        ("a = " + "9" * 5000, "not TOML: a number has thousands of digits"),
        ("a = 1\n\nb = 2\na = 3\n", "not TOML: line 4: 'a' is set twice; remove one"),
        (
            "[train]\nx = 1\n[data]\n[train]\ny = 1\n",
            "not TOML: line 4: the section [train] is there twice; make it one",
        ),
        ("a = 1\nb = lots\n", "not TOML: line 2: invalid value: b = lots"),
        ("# a\u2028b\u2028c\na = 1\nb c\n", "not TOML: line 3: expected '=' after a key in a key/value pair: b c"),
        ("a = 1\nb c\n", "not TOML: line 2: expected '=' after a key in a key/value pair: b c"),
        ('a = "' + "x" * 5000, f'not TOML: line 1: unterminated string: a = "{"x" * 55}…'),
        (b"a = \xff", "not UTF-8 at byte 4"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_line(content: str | bytes, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse_toml(content)
    assert str(caught.value) == message


def test_toml_is_what_it_is() -> None:
    assert parse_toml("\ufeffa = 1\n[b]\nc = [1.5, 'x']".encode()) == {"a": 1, "b": {"c": [1.5, "x"]}}
