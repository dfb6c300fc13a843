"""Plain text: what is not translated comes back byte for byte, in every Unicode encoding; the rest is line by line."""

import codecs
import io
import tracemalloc
from pathlib import Path

import pytest

from documents.real import needs_data, real
from dragoman.documents import DocumentOptions, load, read_document
from dragoman.documents.formats import KINDS, kind_of
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

REQUEST = DocumentOptions("en", "ko")
PLAIN = KINDS[0]
TEXT = "\n  One line. \r\n\tTwo\rThree\u2028and more\n\n \nno end"


def written(path: Path, *, texts: list[str] | None = None, source: bool = False) -> bytes:
    document = read_document(path, PLAIN, REQUEST)
    units = list(document.units)
    new = [InlineText(text) for text in texts] if texts else [unit.source if source else None for unit in units]
    file = io.BytesIO()
    load(PLAIN).write(document, new, REQUEST, file)
    return file.getvalue()


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE])
def test_all_but_the_text_of_the_lines_stays(tmp_path: Path, mark: bytes) -> None:
    encoding = {3: "utf-8", 2: "utf-16-le" if mark[:1] == b"\xff" else "utf-16-be", 4: "utf-32-le"}.get(
        len(mark), "utf-8"
    )
    path = tmp_path / "a.txt"
    path.write_bytes(mark + TEXT.encode(encoding))
    units = list(read_document(path, PLAIN, REQUEST).units)
    assert [unit.source.text for unit in units] == ["One line.", "Two", "Three\u2028and more", "no end"]
    assert [unit.location for unit in units] == ["line 2", "line 3", "line 4", "line 7"]
    assert written(path) == written(path, source=True) == path.read_bytes()
    changed = "\n  하나 \r\n\t둘\r셋\n\n \n넷"
    assert written(path, texts=["하나", "둘", "셋", "넷"]) == mark + changed.encode(encoding)


@pytest.mark.slow
def test_a_large_file_is_read_and_written_in_constant_memory(tmp_path: Path) -> None:
    path, out = tmp_path / "large.txt", tmp_path / "out.txt"
    with path.open("wb") as file:
        for _ in range(40):
            file.write(b"A line of some length that somebody wrote.\n" * 5000)
    document = read_document(path, PLAIN, REQUEST)
    tracemalloc.start()
    with out.open("wb") as file:
        load(PLAIN).write(document, (unit.source for unit in document.units), REQUEST, file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > 8_000_000
    assert peak < 1_000_000
    assert out.read_bytes() == path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("한국어 문장\n둘째".encode("cp949"), ":1: byte 0 is not UTF-8; save the file as UTF-8"),
        (b"fine\n" * 30_000 + b"\xc0", ":30001: byte 150000 is not UTF-8"),
        (b"fine\nbad \xea\xb0", ":2: byte 9 is not UTF-8"),
        ("utf-16".encode("utf-16-le"), ":1: contains NUL characters; save it as UTF-8 text"),
        (b"x" * (1 << 22), ":1: has more than 4,194,304 characters"),
    ],
)
def test_what_is_no_text_is_named_with_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        list(read_document(path, PLAIN, REQUEST).units)
    assert f"{path}{message}" in str(error.value)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"PK\x03\x04rest", "zip"),
        (b"%PDF-1.7", "PDF"),
        (b"\x89PNG\r\n", "PNG"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old"),
    ],
)
def test_the_first_bytes_decide_and_not_the_name(tmp_path: Path, content: bytes, name: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"a.txt: is .*{name}.*not plain text"):
        read_document(path, PLAIN, REQUEST)


def test_an_unknown_suffix_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DataError, match=r"a\.xyz: not a document that can be translated; give one of .*\.txt"):
        kind_of(Path("a.xyz"))


@needs_data
def test_hostile_text_is_refused_or_comes_back() -> None:
    for path in real("hostile"):
        if path.suffix == ".txt":
            try:
                assert written(path) == path.read_bytes()
            except DataError as error:
                assert path.name in {"docx-named-txt.txt", "utf16-no-bom.txt"}, error  # noqa: PT017
