"""What the tests of zip formats share: archives of a few parts, their content, units without the other tests' bytes."""

import io
import re
import zipfile
from pathlib import Path

from documents.real import real
from documents.splicing import REQUEST, louder, opened, texts, written
from dragoman.documents import Document, DocumentOptions
from dragoman.text.words.inline import Code, InlineText
from nesting import is_nested


def archive(path: Path, parts: dict[str, str | bytes], stored: tuple[str, ...] = ("mimetype",)) -> Path:
    """A zip of these parts in this order, each with a date of its own."""
    with zipfile.ZipFile(path, "w") as file:
        for number, (name, content) in enumerate(parts.items()):
            info = zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 2 * number))
            info.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            file.writestr(info, content)
    return path


def office(path: Path, parts: dict[str, tuple[str, str]]) -> Path:
    """An Office file: parts by name, each with its type of content."""
    types = "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, (kind, _) in parts.items())
    namespace = "http://schemas.openxmlformats.org/package/2006/content-types"
    content = {"[Content_Types].xml": f'<Types xmlns="{namespace}">{types}</Types>'}
    return archive(
        path, {**content, **{name: text for name, (_, text) in parts.items()}, "media/image.bin": b"\0\1" * 999}
    )


def members(file: Path | bytes) -> list[tuple[object, ...]]:
    """Everything about the parts of a zip that a writer keeps."""
    with zipfile.ZipFile(io.BytesIO(file) if isinstance(file, bytes) else file) as opened_file:
        return [
            (info.filename, info.compress_type, info.date_time, info.external_attr, opened_file.read(info))
            for info in opened_file.infolist()
        ]


def part(file: bytes, name: str) -> str:
    """The text of a part of an archive."""
    with zipfile.ZipFile(io.BytesIO(file)) as opened_file:
        return opened_file.read(name).decode()


def check_laws(path: Path, folder: Path, request: DocumentOptions = REQUEST) -> Document:
    """Identity part by part; what is written is read again, and parts without text stay as they are."""
    document = opened(path, request=request)
    same = members(path)
    assert members(written(document, lambda text: None, request)) == same
    assert members(written(document, lambda text: text, request)) == same
    assert all(is_nested(unit.source) for unit in document.units)
    for change in (louder, longer):
        content = written(document, change, request)
        again = opened(folder / path.name, content, request)
        assert texts(again) == [change(unit.source).text for unit in document.units]
        if change is louder:
            codes = [unit.source.counted_codes for unit in document.units]
            assert [unit.source.counted_codes for unit in again.units] == codes
        assert [member[:4] for member in members(content)] == [member[:4] for member in same]
    return document


def hostile(suffix: str) -> list[Path]:
    """The hostile files of a format, none where there is no data."""
    return [path for path in real("hostile") if path.suffix == suffix]


def longer(source: InlineText) -> InlineText:
    """The text in brackets, its codes inside of them."""
    codes = tuple(Code(code.position + 1, code.kind, code.name, code.text) for code in source.codes)
    protected = tuple((begin + 1, end + 1) for begin, end in source.protected)
    return InlineText(f"[{source.text}]", codes, protected)


def shown(source: InlineText) -> str:
    """Text with its codes where they are: `a {1}b{/1}`."""
    text, at = "", 0
    for code in source.codes:
        text += source.text[at : code.position]
        text += {"open": f"{{{code.name}}}", "close": f"{{/{code.name}}}", "alone": f"{{{code.name}/}}"}[code.kind]
        at = code.position
    return text + source.text[at:]


def inline(text: str) -> InlineText:
    """The other way."""
    plain, codes = "", list[Code]()
    for at, piece in enumerate(re.split(r"\{(/?\w+/?)\}", text)):
        if at % 2:
            kind = "close" if piece.startswith("/") else "alone" if piece.endswith("/") else "open"
            codes.append(Code(len(plain), kind, piece.strip("/")))  # type: ignore[arg-type]
        else:
            plain += piece
    return InlineText(plain, tuple(codes))


def put(document: Document, new: dict[str, str], request: DocumentOptions = REQUEST) -> bytes:
    """The document with translations by source, both with their codes as `shown`."""
    return written(document, lambda source: inline(new[shown(source)]) if shown(source) in new else None, request)
