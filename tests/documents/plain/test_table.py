"""Tables: cells are those that Python's csv finds; all else stays; formulas stay formulas, text stays text."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.laws import hold_identity, hold_reading_again, opened, texts, translated
from documents.real import needs_data, real
from dragoman.documents import DocumentOptions
from dragoman.documents.plain.table import _records
from dragoman.errors import ConfigError, DataError

TABLE = 'id,Text,note\r\n1, A line ,"two\nlines, ""quoted"""\r\n\r\n2,"Said <b>so</b>"\r\n3,Fine,x y,more text\r\n,,,'


def saved(folder: Path, text: str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_all_but_the_cells_stays(tmp_path: Path) -> None:
    path = saved(tmp_path, TABLE)
    document, units = opened(path)
    assert [(unit.location, unit.source.text) for unit in units] == [
        ("line 2, Text", "A line"),
        ("line 2, note", 'two\nlines, "quoted"'),
        ("line 5, Text", "Said so"),
        ("line 6, Text", "Fine"),
        ("line 6, note", "x y"),
        ("line 6, column 4", "more text"),
    ]
    assert document.notices == ("columns that have no text, as it seems, are left unchanged: id",)
    hold_identity(path)
    hold_reading_again(path, tmp_path)
    new = ['가, "나"', '"다"\n라', None, "라마", None, None]
    expected = TABLE.replace(" A line ", '" 가, ""나"" "').replace('two\nlines, ""quoted""', '""다""\n라')
    assert translated(path, new) == expected.replace("Fine", "라마")


def test_columns_are_chosen_by_name_and_by_number(tmp_path: Path) -> None:
    path = saved(tmp_path, TABLE)
    assert texts(path, DocumentOptions("en", "ko", columns=("note",))) == ['two\nlines, "quoted"', "x y"]
    assert texts(path, DocumentOptions("en", "ko", columns=("TEXT", "4"))) == ["A line", "Said so", "Fine", "more text"]
    assert texts(saved(tmp_path, "1,One line.\n2,Two lines."), DocumentOptions("en", "ko", columns=("2",))) == [
        "One line.",
        "Two lines.",
    ]
    with pytest.raises(ConfigError, match=r"a\.csv: no column 'body'; it has id, Text, note"):
        opened(saved(tmp_path, TABLE), DocumentOptions("en", "ko", columns=("body",)))
    with pytest.raises(ConfigError, match="no column '7'"):
        opened(path, DocumentOptions("en", "ko", columns=("7",)))


def test_a_table_of_languages_takes_translations_in_the_column_of_the_target(tmp_path: Path) -> None:
    path = saved(tmp_path, "key,en,KO,ja\nhello,Hello!,안녕!,やあ\nbye,Bye,,じゃあ\nshort,No target\n")
    _, units = opened(path)
    assert [(unit.source.text, unit.existing and unit.existing.text) for unit in units] == [
        ("Hello!", "안녕!"),
        ("Bye", None),
        ("No target", None),
    ]
    assert translated(path, [None, None, None]) == path.read_text()
    assert translated(path, [None, "잘 가", None]) == path.read_text().replace("Bye,,", "Bye,잘 가,")
    update = DocumentOptions("en", "ko", update=True)
    assert texts(path, update) == ["Bye", "No target"]
    assert "Hello!,안녕!,やあ\nbye,Bye,잘 가,じゃあ" in translated(path, ["잘 가", None], update)


@pytest.mark.parametrize(
    ("header", "pair"),
    [
        ("English,Korean", ("en", "ko")),
        ("en-US,ko-KR", ("en", "ko")),
        ("en_US,ko_KR", ("en", "ko")),
        ("영어,한국어", ("en-GB", "ko")),
        ("Text,ko", ("en", "ko")),
        ("Deutsch,zh_TW", ("de", "zh-Hant")),
        ("en,en-GB", ("en", "en-GB")),
    ],
)
def test_a_column_is_named_by_any_name_of_a_language(header: str, pair: tuple[str, str], tmp_path: Path) -> None:
    path = saved(tmp_path, f"{header}\nOpen it,\nSave it,저장\n")
    request = DocumentOptions(*pair)
    assert [unit.existing and unit.existing.text for unit in opened(path, request)[1]] == [None, "저장"]
    assert translated(path, ["열기", None], request) == f"{header}\nOpen it,열기\nSave it,저장\n"


@pytest.mark.parametrize(
    ("text", "pair", "translation"),
    [
        ("context,text,ko\nMain menu,Open file,\n", ("en", "ko"), "context,text,ko\nMAIN MENU,OPEN FILE,\n"),
        ("product,target\nGarden hose,Home owners\n", ("en", "de"), "product,target\nGARDEN HOSE,HOME OWNERS\n"),
        ("id,text\n17,Open it\nA-18,Save it\n", ("en", "id"), "id,text\n17,OPEN IT\nA-18,SAVE IT\n"),
        ("id,text\n17,Open it\nA-18,Save it\n", ("id", "en"), "id,text\n17,OPEN IT\nA-18,SAVE IT\n"),
        ("no,text\nmenu.a,Open the file\n", ("no", "en"), "no,text\nmenu.a,OPEN THE FILE\n"),
        (
            "id,text\nwelcome,Welcome to us\nbye,Good bye\n",
            ("en", "id"),
            "id,text\nwelcome,WELCOME TO US\nbye,GOOD BYE\n",
        ),
    ],
)
def test_without_a_column_for_the_source_texts_are_translated_in_place(
    text: str, pair: tuple[str, str], translation: str, tmp_path: Path
) -> None:
    path = saved(tmp_path, text)
    document, units = opened(path, DocumentOptions(*pair))
    assert all(unit.existing is None for unit in units)
    assert translated(path, [unit.source.text.upper() for unit in units], DocumentOptions(*pair)) == translation
    assert document.again is not None


@pytest.mark.parametrize(
    ("text", "pair", "translations", "written_table"),
    [
        ("Message,target\nSave file,\nOpen it,\n", ("en", "ko"), ["저장", "열기"],
         "Message,target\nSave file,저장\nOpen it,열기\n"),
        ("글,en\n확인합니다,\n", ("ko", "en"), ["OK"], "글,en\n확인합니다,OK\n"),
        ("글,en\n확인합니다,ok\n", ("ko", "en"), ["OK"], "글,en\n확인합니다,OK\n"),
        ("text,id\nSave it,\nSave all,Simpan semua\n", ("en", "id"), ["simpan", None],
         "text,id\nSave it,simpan\nSave all,Simpan semua\n"),
    ],
)  # fmt: skip
def test_a_column_for_the_target_alone_gets_the_translations_and_is_read_again(
    text: str, pair: tuple[str, str], translations: list[str | None], written_table: str, tmp_path: Path
) -> None:
    path, request = saved(tmp_path, text), DocumentOptions(*pair)
    document, units = opened(path, request)
    assert translated(path, translations, request) == written_table
    assert document.again is not None
    path.write_text(written_table, encoding="utf-8")
    again = opened(path, document.again)[1]
    assert [unit.source for unit in again] == [unit.source for unit in units]
    texts = [
        text or unit.existing.text for text, unit in zip(translations, units, strict=True) if text or unit.existing
    ]
    assert [unit.existing.text for unit in again if unit.existing] == texts


def test_a_record_that_ends_early_gets_the_cell_of_its_translation(tmp_path: Path) -> None:
    path = saved(tmp_path, 'key,en,note,ko\r\na,"Hello, you"\r\nb,Good bye,x,안녕\r\nc,Open it,\r\nd\r\ne,42')
    assert translated(path, ["안녕, 너", None, "열기", None]) == (
        'key,en,note,ko\r\na,"Hello, you",,"안녕, 너"\r\nb,Good bye,x,안녕\r\nc,Open it,,열기\r\nd\r\ne,42'
    )
    assert translated(path, [None] * 4) == path.read_bytes().decode()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a;b\n1,5;One, two\n2,5;Three, four\n", ["One, two", "Three, four"]),
        ("a\tb\n1\tOne, two\n", ["One, two"]),
        ("Only one column\nand a second line\n", ["and a second line"]),
        (
            "This is a sentence, not a header.\nAnother, as long.\n",
            ["This is a sentence", "not a header.", "Another", "as long."],
        ),
        ("", []),
        ("\n\n", []),
    ],
)
def test_delimiters_and_headers_are_guessed(tmp_path: Path, text: str, found: list[str]) -> None:
    path = saved(tmp_path, text)
    assert texts(path) == found
    hold_identity(path)


def test_stray_quotes_in_tsv_are_text(tmp_path: Path) -> None:
    text = 'id\ttext\n1\t"Yes, she replied\n2\tHe called it "good"\n3\t"A ""cell"" in\nquotes"\n4\t"'
    path = saved(tmp_path, text, "a.tsv")
    assert texts(path) == ['"Yes, she replied', 'He called it "good"', 'A "cell" in\nquotes', '"']
    hold_identity(path)
    hold_reading_again(path, tmp_path)


def test_formulas_stay_and_no_translation_becomes_one(tmp_path: Path) -> None:
    path = saved(tmp_path, 'id,text\n1,"=1+1"\n2,@SUM(A1)\n3,Plus\n4,- a list\n5,An item\n')
    document, units = opened(path)
    assert [unit.source.text for unit in units] == ["Plus", "An item"]
    assert document.notices[1:] == (
        "cells that begin with = + - or @ are formulas for a spreadsheet; left unchanged: line 2, 3, 5",
    )
    assert translated(path, ["=cmd()", "- 가"]).splitlines()[3:] == ["3,'=cmd()", "4,- a list", "5,'- 가"]
    path = saved(tmp_path, "text\n'=cmd() text\n")
    assert texts(path) == ["=cmd() text"]
    hold_identity(path)
    assert translated(path, ["가"]) == "text\n가\n"


@pytest.mark.parametrize(
    ("content", "name"),
    [("번호,이름\n1,안녕하세요".encode("cp949"), "CP949"), ("名前,これ\n1,ひらがな".encode("cp932"), "Shift-JIS")],
)
def test_another_encoding_is_named(tmp_path: Path, content: bytes, name: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"a.csv:1: byte 0 is not UTF-8 but looks like {name}; save the file as UTF-8"):
        opened(path)


CELL = st.text(alphabet='ab ,"\n\r가;', max_size=6)
ROWS = st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=1, max_size=5)


def python_reads(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@given(ROWS, st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_cells_are_those_of_pythons_reader(rows: list[list[str]], quoted: bool) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL).writerows(rows)
    records = list(_records(file.getvalue(), ","))
    assert [[cell.text for cell in record] for record in records] == python_reads(file.getvalue())
    for cell in (cell for record in records for cell in record if cell.text):
        assert python_reads(file.getvalue()[cell.begin : cell.end]) == [[cell.text]]


@needs_data
def test_real_files_keep_their_bytes(tmp_path: Path) -> None:
    for path in real("csv"):
        if path.name == "test_mskanji.csv":
            with pytest.raises(DataError, match="looks like Shift-JIS"):
                opened(path)
            continue
        assert hold_identity(path)
        if path.name != "translation-table.tsv":
            hold_reading_again(path, tmp_path)


@needs_data
def test_hostile_files_are_refused_or_come_back(tmp_path: Path) -> None:
    for path in (each for each in real("hostile") if each.suffix == ".csv"):
        if path.name == "cp949.csv":
            with pytest.raises(DataError, match="looks like CP949"):
                opened(path)
            continue
        hold_identity(path)
        hold_reading_again(path, tmp_path)
