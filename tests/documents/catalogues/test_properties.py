"""Java's .properties: everything but the values stays, and what is written means what was meant."""

from pathlib import Path

import pytest

from documents.laws import hold_identity, hold_reading_again, opened, texts, translated, written
from documents.real import needs_data, real
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

FILE = r"""# A comment = no value
! another
 key\ one : Open \u00e9 file@
two=First line,\
    continued.\n\
    \  Second line\n
three
four\=x	Ünique: a=b
=no key
fmt=It''s {0} and {1,number,#.##} of ''{2}'' \
  more
plain=It's 100%
""".replace("@", " ")


def saved(folder: Path, text: str, name: str = "a.properties") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_all_but_the_values_stays(tmp_path: Path) -> None:
    path = saved(tmp_path, FILE)
    _, units = opened(path)
    assert [(unit.location, unit.source.text) for unit in units] == [
        ("key one", "Open é file"),
        ("two: line 1", "First line,continued."),
        ("two: line 2", "Second line"),
        ("four=x", "Ünique: a=b"),
        ("", "no key"),
        ("fmt", "It's {0} and {1,number,#.##} of '{2}' more"),
        ("plain", "It's 100%"),
    ]
    assert hold_identity(path) == 7
    hold_reading_again(path, tmp_path)
    new = [None, "한 줄", None, "\\ 둘", None, "{2} '{0}' {1,number,#.##}", "don't"]
    expected = FILE.replace("First line,\\\n    continued.", "한 줄").replace("Ünique: a=b", "\\\\ 둘")
    expected = expected.replace("It''s {0} and {1,number,#.##} of ''{2}'' \\\n  more", "{2} ''{0}'' {1,number,#.##}")
    assert translated(path, new) == expected.replace("plain=It's 100%", "plain=don't")


def test_lines_end_as_the_file_has_them(tmp_path: Path) -> None:
    text = "a=One\r\nb=Two \\\r\n  lines\rc=Three\n\n\r\nd=Four\\\\\r\ne=Five"
    path = saved(tmp_path, text)
    assert texts(path) == ["One", "Two lines", "Three", "Four\\", "Five"]
    hold_identity(path)
    hold_reading_again(path, tmp_path)


def test_ascii_and_latin_1_get_escapes_and_utf_8_gets_letters(tmp_path: Path) -> None:
    assert translated(saved(tmp_path, "a=Hello"), ["가😀"]) == "a=\\uac00\\ud83d\\ude00"
    assert texts(saved(tmp_path, "a=\\uac00\\ud83d\\ude00")) == ["가😀"]
    assert translated(saved(tmp_path, "# ü\na=Hello"), ["가😀"]) == "# ü\na=가😀"
    path = tmp_path / "b.properties"
    path.write_bytes("a=Caf\u00e9 au lait\nb=T\u00fcr".encode("latin-1"))
    document, units = opened(path)
    assert [unit.source.text for unit in units] == ["Café au lait", "Tür"]
    assert "Latin-1" in document.notices[0]
    assert written(document, [InlineText("카페"), None]) == b"a=\\uce74\\ud398\nb=T\xfcr"


@pytest.mark.parametrize(
    ("value", "reason"),
    [("It's {0}", "single apostrophe"), ("It's {0}, isn't it {1}", "single apostrophe"), ("\\ud800 x", "surrogate")],
)
def test_what_would_break_is_left_and_named(tmp_path: Path, value: str, reason: str) -> None:
    path = saved(tmp_path, f"a=Text\nb={value}\n")
    document, units = opened(path)
    assert [unit.location for unit in units] == ["a"]
    assert len(document.notices) == 1
    assert document.notices[0].startswith("line 2, b: ")
    assert reason in document.notices[0]
    hold_identity(path)


def test_icu_messages_are_read_branch_by_branch(tmp_path: Path) -> None:
    pytest.importorskip("pyicumessageformat")
    path = saved(tmp_path, "a={n, plural, one {# file} \\\n  other {# \\u0066iles}}\n")
    assert texts(path) == ["{n}", "# file", "# files"]
    hold_identity(path)
    assert translated(path, [None, "파일 #개", "파일 #개"]).startswith(
        "a={n, plural, one {\\ud30c\\uc77c #\\uac1c} other"
    )


@pytest.mark.parametrize(("text", "line"), [("a=x\nb=bad \\u12\n", 2), ("a=\\uzzzz", 1), ("\\u1=x", 1)])
def test_a_broken_escape_is_refused_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(DataError, match=rf"a\.properties:{line}: .*is no escape; write \\u and four"):
        opened(saved(tmp_path, text))


def test_korean_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.properties"
    path.write_bytes("a=안녕하세요".encode("cp949"))
    with pytest.raises(DataError, match="looks like CP949"):
        opened(path)


@pytest.mark.parametrize("part", ["\\", " ", "a", "=", "\\n", " \\\n", "'", "{0", "\\u0041"])
def test_long_values_of_one_kind_are_read(tmp_path: Path, part: str) -> None:
    path = saved(tmp_path, f"a=x {part * (20_000 // len(part))}\nb=y\n")
    hold_identity(path)


@needs_data
def test_real_files_keep_their_bytes(tmp_path: Path) -> None:
    for path in real("properties"):
        assert hold_identity(path)
        hold_reading_again(path, tmp_path)


@needs_data
def test_hostile_files_are_refused() -> None:
    with pytest.raises(DataError, match=r"properties:2: .*is no escape"):
        opened(next(path for path in real("hostile") if path.suffix == ".properties"))


def test_accelerator_keys_are_not_translated_but_set_again(tmp_path: Path) -> None:
    path = saved(tmp_path, "menu.file=&File\nmenu.as=Save &As...\nname=R&D\nkey=snake_case\n")
    assert texts(path) == ["File", "Save As...", "R&D", "snake_case"]
    hold_identity(path)
    assert translated(path, ["파일", "Datei speichern", None, None]) == (
        "menu.file=\\ud30c\\uc77c(&F)\nmenu.as=D&atei speichern\nname=R&D\nkey=snake_case\n"
    )
