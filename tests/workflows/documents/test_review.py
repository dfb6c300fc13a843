"""A table for review is read as it was written, and as a spreadsheet saves it."""

import csv
import io
from pathlib import Path
from typing import cast

import pytest

from dragoman.documents import DocumentOptions
from dragoman.workflows.documents.journal import FlaggedUnit, Journal
from dragoman.workflows.documents.review import COLUMNS, review_pairs, review_rows, write_review

PAIRS = [
    ('He said "hi", ok', '그는 "안녕"이라고, 말했다'),
    ('"Hello"', '"안녕"'),
    ('"Hello" he said', '"안녕" 그가 말했다'),
    ('=A1 "x"', '=A1 "가"'),
    ('="x"', "it's ''"),
    ('5" disk', '""'),
    ("plain", "그대로"),
]


class Flagged:
    """The part of a journal that a review is written from."""

    review_count = len(PAIRS)

    def review(self) -> list[FlaggedUnit]:
        return [FlaggedUnit("a.po", f"line {n}", *pair, (("number", '"5"'),)) for n, pair in enumerate(PAIRS)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = write_review(tmp_path / "out.po", cast("Journal", Flagged()), DocumentOptions("en", "ko"))
    assert path is not None
    return path


def read(table: Path) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in review_pairs(table) or ()]


def test_the_pairs_of_a_table_are_those_that_were_written(table: Path) -> None:
    assert read(table) == PAIRS
    assert [(row["source"], row["translation"]) for row in review_rows(table)] == PAIRS


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_spreadsheet_reads_the_table_and_saves_the_same_pairs(table: Path, quoting: int, newline: str) -> None:
    rows = list(csv.reader(io.StringIO(table.read_text("utf-8"), newline=""), delimiter="\t"))
    assert rows[0] == [*COLUMNS]
    assert rows[1][2:4] == [*PAIRS[0]]
    rows[7][3] = "그\n대로"
    saved = io.StringIO(newline="")
    csv.writer(saved, delimiter="\t", quoting=quoting, lineterminator=newline).writerows(rows)  # type: ignore[arg-type]
    table.write_text(f"\ufeff{saved.getvalue()}", encoding="utf-8", newline="")
    assert read(table) == [*PAIRS[:-1], ("plain", "그 대로")]


def test_quotation_marks_that_a_person_typed_without_csv_stay(tmp_path: Path) -> None:
    rows = ["\t".join(COLUMNS), 'a\t1\t"Hi" there\t"안녕" 거기\twhy', 'a\t2\t"open\t닫지 않은 "\twhy', "a\t3\tb\tㄴ"]
    (tmp_path / "out.review.tsv").write_text("\n".join(rows), encoding="utf-8")
    pairs = [('"Hi" there', '"안녕" 거기'), ('"open', '닫지 않은 "'), ("b", "ㄴ")]
    assert read(tmp_path / "out.review.tsv") == pairs


def test_rows_have_the_numbers_that_a_spreadsheet_shows(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("\t".join(COLUMNS) + "\n\na\t1\tb\tㄴ\n\n\na\t2\tc\tㄷ\n", encoding="utf-8")
    assert [pair.line for pair in review_pairs(tmp_path / "a.tsv") or ()] == [3, 6]
