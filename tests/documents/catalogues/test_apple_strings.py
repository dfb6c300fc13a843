"""Apple's .strings: everything but the values stays, in every encoding that Xcode writes."""

import codecs
from dataclasses import replace
from pathlib import Path

import pytest

from documents.laws import hold_identity, hold_reading_again, opened, texts, translated, written
from documents.real import needs_data, real
from dragoman.errors import DataError
from dragoman.text.terms.protect import find_placeholders
from dragoman.text.words.inline import InlineText

FILE = r"""/* Shown on
   the first page */
"greeting" = "Hello, %@!";  // no context
"sum"="%1$@ shared \"%2$@\" — 50%% of %lld\U2026\nand more";
plain = word;
"a.key" = "Line
two \\ \101 \UD83D\UDE00";
/* No comment provided by engineer. */ "empty" = ""; "number" = "%d";
"""


def saved(folder: Path, content: bytes) -> Path:
    path = folder / "a.strings"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_all_but_the_values_stays(tmp_path: Path, mark: bytes, encoding: str) -> None:
    path = saved(tmp_path, mark + FILE.encode(encoding))
    document, units = opened(path)
    assert [(unit.location, unit.source.text, unit.context) for unit in units] == [
        ("greeting", "Hello, %@!", "Shown on\n   the first page"),
        ("sum", '%1$@ shared "%2$@" — 50%% of %lld…\nand more', "no context"),
        ("plain", "word", ""),
        ("a.key", "Line\ntwo \\ A 😀", ""),
        ("number", "%d", ""),
    ]
    inline = units[1].source
    assert [inline.text[begin:end] for begin, end in inline.protected] == ["%1$@", "%2$@", "%%", "%lld"]
    assert hold_identity(path) == 5
    hold_reading_again(path, tmp_path)
    new = [InlineText('"안녕" %@\n\\'), None, InlineText("낱말"), None, None]
    expected = FILE.replace('"Hello, %@!"', r'"\"안녕\" %@\n\\"').replace("= word;", '= "낱말";')
    assert written(document, new) == mark + expected.encode(encoding)


@pytest.mark.parametrize("content", ['"a" = "{text}";', "<key>NSStringLocalizedFormatKey</key><string>{text}</string>"])
def test_a_variable_with_plural_forms_is_copied_with_its_position(content: str, tmp_path: Path) -> None:
    variables = ["%1$#@files@", "%2$#@folders@"]
    content = content.replace("{text}", "Copied %1$#@files@ in %2$#@folders@")
    path = tmp_path / ("a.strings" if content.startswith('"') else "a.stringsdict")
    path.write_text(content if content.startswith('"') else f"<plist><dict>{content}</dict></plist>")
    [unit] = opened(path)[1]
    copied = find_placeholders(unit.source.text, unit.patterns)
    assert [placeholder.text for placeholder in copied] == variables
    if path.suffix == ".strings":
        assert [unit.source.text[begin:end] for begin, end in unit.source.protected] == variables


def test_an_entry_without_a_value_is_left_and_named(tmp_path: Path) -> None:
    path = saved(tmp_path, b'"Save";\n"a" = "Text";')
    document, units = opened(path)
    assert [unit.location for unit in units] == ["a"]
    assert document.notices == ("line 1: 'Save' has no value; left unchanged",)
    assert translated(path, ["글"]) == '"Save";\n"a" = "글";'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"a" = "x";\n"b" = "y"\n"c" = "z";', r""":2: expected ';' before '"c"'"""),
        ('"a" = "x"', ":1: expected ';' before the end of the file"),
        ('"a" = ;', ":1: expected a value before ';'"),
        ('"a" "b";', """:1: expected '=' or ';' before '"b"'"""),
        ('\n"a" = "x', r":2: a string is not closed; write"),
        ('"a" = { b = c; };', ":1: '{' belongs to no entry"),
        (r'"a" = "\U12";', r":1: '\\\\U12' is no escape"),
        ("/* open", ":1: '/' belongs to no entry"),
        (";", ":1: expected a key before ';'"),
    ],
)
def test_what_is_no_entry_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(saved(tmp_path, text.encode()))


def test_an_empty_file_has_nothing_to_translate(tmp_path: Path) -> None:
    path = saved(tmp_path, b"// nothing\n")
    assert texts(path) == []
    hold_identity(path)


@needs_data
def test_real_files_keep_their_bytes(tmp_path: Path) -> None:
    paths = [path for path in real("apple") if path.suffix == ".strings"]
    assert paths
    for path in paths:
        assert hold_identity(path)
        hold_reading_again(path, tmp_path)


@needs_data
def test_hostile_files_are_refused() -> None:
    with pytest.raises(DataError, match=r"bad\.strings:3: expected ';' before"):
        opened(next(path for path in real("hostile") if path.name == "bad.strings"))


def test_tags_are_written_with_the_escapes_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.strings"
    path.write_text(r'"a" = "Read <a href=\"https://a.example\" title=\"%@\">this</a>.";')
    document, units = opened(path)
    codes = tuple(replace(code, position=0 if code.kind == "open" else 2) for code in units[0].source.codes)
    result = written(document, [InlineText("이것", codes)]).decode()
    assert result == r'"a" = "<a href=\"https://a.example\" title=\"%@\">이것</a>";'
