"""PDF: paragraphs out of lines, written as Word or Markdown; scanned, encrypted and broken files in one clear line."""

import io
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pdfminer")

from documents.packages import part
from documents.pdfs import Line, pdf, prose
from documents.splicing import REQUEST, opened, texts
from dragoman.documents.office import pdf as module
from dragoman.documents.office import pdf_paragraphs, pdf_text
from dragoman.errors import DataError, ResourceError
from dragoman.text.words.inline import InlineText

FIRST = [
    ("The Manual", 72, 780, 24),
    *prose(
        "This is the first paragraph of the manual, and it is long enough for a trans-",
        "lation of two lines.",
        top=720,
    ),
    *prose("The second paragraph begins here, after a space, and it goes on until the", top=670),
    ("confidential", 72, 30, 9),
]
SECOND = [
    *prose("end of the first page and further.", top=760),
    *prose("Setting up", top=730),
    *prose("\\225 one thing to be done before anything else is done, as it is said in", top=700),
    *prose("  the list", top=686, left=78),
    *prose("\\225 another", top=672),
    *prose("2. Then open the lid.", top=640),
    ("confidential", 72, 30, 9),
    ("Page 2", 500, 30, 9),
]
THIRD = [*prose("A * star_and <tag>."), ("confidential", 72, 30, 9)]


def paragraphs(path: Path) -> list[tuple[str, str, str, int]]:
    """The paragraphs of a file, without a process of its own."""
    return pdf_text.extract(str(path))["paragraphs"]


def manual(folder: Path) -> Path:
    return pdf(folder / "manual.pdf", [FIRST, SECOND, THIRD], filters=b"/Filter/FlateDecode")


def test_lines_are_paragraphs_headings_and_lists(tmp_path: Path) -> None:
    assert paragraphs(manual(tmp_path)) == [
        ("1", "", "The Manual", 1),
        ("", "", "This is the first paragraph of the manual, and it is long enough for a translation of two lines.", 1),
        (
            "",
            "",
            "The second paragraph begins here, after a space, and it goes on until the end of the first page and "
            "further.",
            1,
        ),
        ("", "", "Setting up", 2),
        ("list", "•", "one thing to be done before anything else is done, as it is said in the list", 2),
        ("list", "•", "another", 2),
        ("", "2.", "Then open the lid.", 2),
        ("", "", "A * star_and <tag>.", 3),
    ]


def test_two_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    left = prose(*(f"left line {number} of this column goes on" for number in range(4)))
    right = prose(*(f"right line {number} of this column goes on" for number in range(4)), left=330)
    page = [line for pair in zip(left, right, strict=True) for line in pair]
    whole = " ".join(text for _, _, text, _ in paragraphs(pdf(tmp_path / "a.pdf", [page])))
    assert whole.index("left line 3") < whole.index("right line 0")


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        (["a well-", "known word, well-known"], "a well-known word, well-known"),
        (["a trans-", "lation"], "a translation"),
        (["漢字の", "文"], "漢字の文"),
        (["번역 도구를 ", "설치하", "고 사용 "], "번역 도구를 설치하고 사용 "),
        (["번역 도구를", "설치"], "번역 도구를 설치"),
        (["끝났습니다 . 다시"], "끝났습니다. 다시"),
    ],
)
def test_lines_are_joined_as_their_language_is_written(lines: Sequence[str], joined: str) -> None:
    placed = [pdf_paragraphs.PdfLine(text, 0, 9, 9, 0, 9, False, (0, 9), 1) for text in lines]
    assert pdf_paragraphs.LineJoiner(placed).joined(lines) == joined


def test_written_as_word_and_as_markdown(tmp_path: Path) -> None:
    document = opened(manual(tmp_path))
    assert list(document.units)[2].location == "page 1, paragraph 3"
    assert "layout" in document.notices[0]
    new = [InlineText(f"가 {text} & <b>") for text in texts(document)]
    out = tmp_path / "out.docx"
    with out.open("wb") as file:
        module.write(document, new, replace(REQUEST, suffix=".docx"), file)
    assert texts(opened(out)) == [
        f"{prefix} {inline.text}".strip()
        for (_, prefix, _, _), inline in zip(paragraphs(document.path), new, strict=True)
    ]
    assert 'w:val="Heading1"' in part(out.read_bytes(), "word/document.xml")
    assert 'w:eastAsia="ko-KR"' in part(out.read_bytes(), "word/styles.xml")
    written = io.BytesIO()
    module.write(document, [None] * len(new), replace(REQUEST, suffix=".md"), written)
    assert written.getvalue().decode().split("\n\n") == [
        "# The Manual",
        *texts(document)[1:3],
        "Setting up",
        "- one thing to be done before anything else is done, as it is said in the list\n- another",
        "2. Then open the lid.",
        "A \\* star\\_and \\<tag\\>.\n",
    ]


ENCRYPTED = b"/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4/O(%b)/U(%b)>>" % (
    b"o" * 32,
    b"u" * 32,
)  # no user has this password
BROKEN: dict[str, tuple[Sequence[Sequence[Line]], bytes, bytes, str]] = {
    "scanned": ([[]], b"", b"", "no text, only pictures of it; .*ocrmypdf"),
    "numbers only": ([prose("12 34 56")], b"", b"", "no text"),
    "encrypted": ([prose("Some text.")], ENCRYPTED, b"", "encrypted; save it without password"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_has_no_text_is_refused(tmp_path: Path, case: str) -> None:
    pages, extra, filters, message = BROKEN[case]
    with pytest.raises(pdf_text.PdfRefused, match=message):
        paragraphs(pdf(tmp_path / "a.pdf", pages, extra=extra, filters=filters))


def test_a_truncated_file_and_another_one_are_refused_in_a_line(tmp_path: Path) -> None:
    path = manual(tmp_path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(DataError, match=r"manual\.pdf: [^\n]+$"):
        opened(path)
    with pytest.raises(DataError, match="is empty, not PDF"):
        opened(tmp_path / "empty.pdf", b"")
    with pytest.raises(DataError, match="zip archive"):
        opened(tmp_path / "b.pdf", b"PK\x03\x04")


def test_what_unpacks_without_end_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed, or prints nothing, is one line."""
    path = manual(tmp_path)
    for program in ("import os; os.kill(os.getpid(), 9)", "pass"):
        monkeypatch.setattr(module, "_PROGRAM", program)
        with pytest.raises(DataError, match="too much memory"):
            opened(path)


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, module.__name__)
    monkeypatch.setitem(sys.modules, "pdfminer", None)
    with pytest.raises(ResourceError, match=r"PDF: needs pdfminer; pip install 'dragoman\[documents\]'"):
        opened(manual(tmp_path))


@pytest.mark.slow
def test_a_bomb_is_refused(tmp_path: Path) -> None:
    """A stream of zeros, a thousand times its size."""
    import zlib

    path = pdf(tmp_path / "bomb.pdf", [prose("x")])
    stream = zlib.compress(zlib.compress(b"\0" * (1 << 30), 1), 9)
    content = path.read_bytes()
    begin, end = content.index(b"<</Length"), content.index(b"endstream")
    head = b"<</Length %d/Filter[/FlateDecode/FlateDecode]>>\nstream\n" % len(stream)
    path.write_bytes(content[:begin] + head + stream + b"\n" + content[end:])
    assert os.stat(path).st_size < 1 << 20
    with pytest.raises(DataError):
        opened(path)


def test_no_module_of_the_current_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a module of a stranger')")
    monkeypatch.chdir(tmp_path)
    assert texts(opened(manual(tmp_path)))[0] == "The Manual"


@pytest.mark.skipif(sys.platform != "linux", reason="limits of processes")
def test_limits_that_are_lower_already_stay(tmp_path: Path) -> None:
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000,) * 2);"
        "from dragoman.documents.office.pdf_text import answer; print(answer(sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-c", program, manual(tmp_path)], capture_output=True, text=True)
    assert '"The Manual"' in done.stdout, done.stderr
