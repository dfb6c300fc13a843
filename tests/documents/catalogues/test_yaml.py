"""YAML: what is written is what a YAML parser reads, in version 1.1 and 1.2; everything but the strings stays."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from documents.laws import hold_identity, hold_reading_again, opened, texts, translated
from documents.real import needs_data, real
from dragoman.documents import DocumentOptions
from dragoman.errors import DataError

YAML = pytest.importorskip("ruamel.yaml").YAML

FILE = r"""# A comment: stays
---
en: &root   # the language
  plain: Plain text # with a comment
  single: 'It''s %{name}'
  double: "A \"quoted\" caf\u00e9 \
    line"
  literal: |-
      First line
        indented: more

      last
  folded: >
    One paragraph
    on two lines

    and another

  multi: goes on
    here
  flow: [one item, 'two', {a: b c, n: 12}]
  "no": "Yes"
  yes: no
  number: 12
  date: 2026-11-23
  format: "%Y-%m-%d"
  symbols: [:day, :month]
  tagged: !ruby/object {a: not text}
  string: !!str on
  anchor: &x Shared
  alias: *x
  one: "%{count} file"
  other: "%{count} files"
  null: ~
"""
UNITS = [
    ("plain", "Plain text"),
    ("single", "It's %{name}"),
    ("double", 'A "quoted" café line'),
    ("literal", "First line\n  indented: more\n\nlast"),
    ("folded", "One paragraph on two lines\nand another"),
    ("multi", "goes on here"),
    ("flow[0]", "one item"),
    ("flow[1]", "two"),
    ("flow[2].a", "b c"),
    ("no", "Yes"),
    ("format", "%Y-%m-%d"),
    ("string", "on"),
    ("anchor", "Shared"),
    ("one", "%{count} file"),
    ("other", "%{count} files"),
]


def saved(folder: Path, text: str) -> Path:
    path = folder / "en.yml"
    path.write_bytes(text.encode())
    return path


def loaded(text: str, version: tuple[int, int] = (1, 2)) -> Any:
    yaml = YAML(typ="safe", pure=True)
    yaml.version = version
    return yaml.load(text)


def test_all_but_the_strings_stays(tmp_path: Path) -> None:
    path = saved(tmp_path, FILE)
    _, units = opened(path)
    assert [(unit.location, unit.source.text) for unit in units] == UNITS
    assert hold_identity(path) == len(UNITS)
    hold_reading_again(path, tmp_path)
    new: list[str | None] = [None] * len(UNITS)
    new[0], new[3], new[4], new[6] = "no", "첫 줄\n  # 둘\n\n끝", "한 문단\n또 하나", "하나, 둘"
    expected = FILE.replace("en: &root", "ko: &root").replace("Plain text", '"no"').replace("one item", '"하나, 둘"')
    expected = expected.replace("First line\n        indented: more\n\n      last", "첫 줄\n        # 둘\n\n      끝")
    expected = expected.replace("One paragraph\n    on two lines\n\n    and another", "한 문단\n\n    또 하나")
    assert translated(path, new) == expected


def test_what_is_written_is_what_a_parser_reads(tmp_path: Path) -> None:
    text = FILE.replace("  tagged: !ruby/object {a: not text}\n", "")
    path = saved(tmp_path, text)
    before = loaded(text)["en"]
    new = [
        "a: b",
        "'x' # y",
        '"\\',
        "x\n  y\n\nz",
        "p\nq",
        "- a",
        "[x]",
        "#",
        "{",
        "null",
        None,
        "~",
        "1.5",
        "\t",
        "👍 x",
    ]
    after = loaded(translated(path, new))["ko"]
    assert after["literal"] == new[3]
    assert after["folded"] == "p\nq\n"
    assert [after[key] for key in ("plain", "single", "double", "multi", "no", "string")] == [
        new[0],
        new[1],
        new[2],
        new[5],
        new[9],
        new[11],
    ]
    assert after["flow"] == ["[x]", "#", {"a": "{", "n": 12}]
    assert (after["anchor"], after["alias"], after["one"], after["other"]) == ("1.5", "1.5", "\t", "👍 x")
    assert {key: after[key] for key in ("number", "date", "format", "symbols")} == {
        key: before[key] for key in ("number", "date", "format", "symbols")
    }


STYLES = ["plain text", "'single'", '"double"', "|\n  literal text\n", ">-\n  folded\n  text\n", "[in flow]"]
LINE = st.text(alphabet="abn :#-'\"\\{}[],&*!|>%@`?~0가é\t", min_size=1, max_size=10).map(str.strip).filter(bool)


@pytest.mark.slow
@given(
    st.sampled_from(STYLES),
    st.one_of(LINE, st.sampled_from(["yes", "no", "On", "12", "0o7", "1e3", "2026-01-01", "~"])),
)
@example("[in flow]", "a?")  # YAML 1.1 reads a key there
@settings(max_examples=150, deadline=None)
def test_any_line_is_read_again_as_it_is(tmp_path_factory: pytest.TempPathFactory, style: str, line: str) -> None:
    path = saved(tmp_path_factory.getbasetemp(), f"a: {style}\nb: 1\n")
    new = translated(path, [line])
    for version in ((1, 1), (1, 2)):
        value = loaded(new, version)
        assert value["b"] == 1
        found = value["a"][0] if style[0] == "[" else value["a"]
        assert found.rstrip("\n") == line


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_blocks_keep_their_line_ends_and_chomping(tmp_path: Path, end: str) -> None:
    text = "a: |+\n  One\n  two\n\n\nb: >2-\n    Three\nc: |2\n    Four\n".replace("\n", end)
    path = saved(tmp_path, text)
    assert texts(path) == ["One\ntwo", "Three", "Four"]
    hold_identity(path)
    expected = text.replace("One", "하나").replace("two", "둘").replace("Four", "넷")
    assert translated(path, ["하나\n둘", None, "넷"]) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:\n\tb: c\n", r":2: not YAML: found character '\\t'"),
        ('a: "open\n', ":2: not YAML: found unexpected end of stream"),
        ("a: b\n c: d: e\n", ":2: not YAML: mapping values are not allowed here"),
        ("a: \x01", ":1: not YAML: has a character that is not allowed"),
        ("a: *unknown", ""),
        ("[" * 200, ":1: nested more than 100 deep"),
        ("a:\n" + "".join("  " * depth + "- \n" for depth in range(120)), "nested more than 100 deep"),
    ],
)
def test_what_is_not_yaml_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = saved(tmp_path, text)
    if not message:
        assert texts(path) == []
        return
    with pytest.raises(DataError, match=message):
        opened(path)


def test_repeated_keys_are_both_kept_and_named(tmp_path: Path) -> None:
    path = saved(tmp_path, "a: One text\nb: {c: x y}\na: Two texts\n")
    assert opened(path)[0].notices == ("line 3: the key 'a' is there twice; both are kept",)
    assert texts(path) == ["One text", "x y", "Two texts"]


def test_a_setting_names_the_language(tmp_path: Path) -> None:
    path = saved(tmp_path, 'language: "en"\ntitle: Hello\n? [a complex, key]\n: the value\n')
    assert texts(path) == ["Hello", "the value"]
    assert translated(path, ["안녕", None]).startswith('language: "ko"\ntitle: 안녕\n? [a complex, key]')
    path = saved(tmp_path, "en:\n  a: b c\n")
    assert translated(path, ["x"], DocumentOptions("en", "no")) == '"no":\n  a: x\n'


@needs_data
def test_real_files_keep_their_bytes(tmp_path: Path) -> None:
    for path in real("yaml"):
        assert hold_identity(path)
        hold_reading_again(path, tmp_path)
        hold_reading_again(path, tmp_path, DocumentOptions("ko", "en"))


@needs_data
def test_hostile_files_are_refused_or_come_back(tmp_path: Path) -> None:
    refused = set()
    for path in (each for each in real("hostile") if each.suffix == ".yaml"):
        try:
            hold_identity(path)
            hold_reading_again(path, tmp_path)
        except DataError:
            refused.add(path.name)
    assert refused == {"deep-nesting.yaml", "tab.yaml"}
