"""Zip packages: their parts are read one by one, as units where they have text, and written again in their order.

A part that is not changed keeps its bytes, its compression and its date. Nothing is unpacked to disk, and no name in
the archive decides where something is written.
"""

import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from dragoman.documents.core.document import Document, Translations
from dragoman.documents.core.splice import UnreadableTranslation, check_letters
from dragoman.documents.office.paragraphs import Slot
from dragoman.documents.xml.text import writable
from dragoman.documents.xml.xml import Xml, parse_xml, serialise_xml
from dragoman.errors import DataError
from dragoman.system.archives import DAMAGE, METHODS, name_fault
from dragoman.text.words.inline import InlineText

MOST_PARTS = 10_000
# All parts together, a part that is parsed, and how often its compressed size a part may be, beyond a small one.
LARGEST, LARGEST_XML, RATIO, SMALL = 4 << 30, 128 << 20, 100, 10 << 20
BLOCK = 1 << 20
SIGNED = "a digital signature, which is not valid for the translation"


@dataclass(frozen=True, slots=True)
class Package:
    """An open zip, all of whose parts have been checked."""

    path: Path
    parts: dict[str, zipfile.ZipInfo]
    """In the order of the archive, with its folders."""
    file: zipfile.ZipFile

    def read(self, name: str) -> bytes:
        """The content of a part that is small enough to be parsed. Raises DataError."""
        size = self.parts[name].file_size
        if size > LARGEST_XML:
            raise DataError(f"{self.path}: {name} is of {size >> 20} MiB, more than is read; split the document")
        return b"".join(self.blocks(name))

    def xml(self, name: str) -> Xml:
        return parse_xml(f"{self.path}: {name}", self.read(name))

    def blocks(self, name: str) -> Iterator[bytes]:
        """The content of a part in blocks, checked by its sum. Raises DataError."""
        try:
            with self.file.open(name) as part:
                while block := part.read(BLOCK):
                    yield block
        except (*DAMAGE, OSError) as error:
            raise DataError(f"{self.path}: {name} is damaged ({_cause(error)}); get the file again") from None


@contextmanager
def open_package(path: Path, format_name: str) -> Iterator[Package]:
    """Open a zip and check it; `format_name` is what it should be: "a Word document (.docx)". Raises DataError."""
    try:
        file = zipfile.ZipFile(path)
    except (*DAMAGE, OSError) as error:
        raise DataError(f"{path}: not {format_name}, or damaged ({_cause(error)}); get the file again") from None
    with file:
        yield Package(path, _checked(path, file.infolist()), file)


def check_whole(package: Package) -> None:
    """Read each part once, so that damage is found before anything is translated. Raises DataError."""
    for name in package.parts:
        for _ in package.blocks(name):
            pass


def write_package(package: Package, changed: Mapping[str, bytes], file: IO[bytes]) -> None:
    """The archive with the content of the `changed` parts."""
    with zipfile.ZipFile(file, "w") as written:
        written.comment = package.file.comment
        for name, part in package.parts.items():
            info = zipfile.ZipInfo(part.filename, part.date_time)
            info.compress_type, info.create_system, info.comment = part.compress_type, part.create_system, part.comment
            info.file_size = len(changed[name]) if name in changed else part.file_size
            with written.open(info, "w") as out:
                for block in [changed[name]] if name in changed else package.blocks(name):
                    out.write(block)
            # For the directory at the end.
            info.external_attr, info.internal_attr = part.external_attr, part.internal_attr


def _checked(path: Path, members: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    if len(members) > MOST_PARTS:
        raise DataError(f"{path}: {len(members):,} parts, more than {MOST_PARTS:,}; refused")
    if sum(member.file_size for member in members) > LARGEST:
        raise DataError(f"{path}: unpacks to more than {LARGEST >> 30} GiB; refused")
    by_name: dict[str, zipfile.ZipInfo] = {}
    for member in members:
        if fault := name_fault(member) or _fault(member):
            raise DataError(f"{path}: the part {member.orig_filename!r} {fault}; refused")
        if member.filename in by_name:
            raise DataError(f"{path}: the part {member.filename!r} is there twice; which one counts is unknown")
        by_name[member.filename] = member
    return by_name


def _fault(member: zipfile.ZipInfo) -> str | None:
    if member.flag_bits & 1:
        return "is encrypted: save the document without password"
    if member.compress_type not in METHODS:
        return "is compressed by a method that is not read"
    if member.file_size > SMALL and member.file_size > RATIO * member.compress_size:
        return f"unpacks to {member.file_size >> 20} MiB, more than {RATIO} times its size"
    return None


def _cause(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__


# A part and how its slots are found in its tree, always in the same order.
Part = tuple[str, Callable[[Any], Iterable[Slot]]]
# The parts of a package that have text, and what a person should know.
Content = Callable[[Package], tuple[Iterable[Part], Iterable[str]]]


def read_parts(path: Path, format_name: str, content: Content) -> Document:
    """The document of a package. Raises DataError."""
    with open_package(path, format_name) as package:
        check_whole(package)
        parts, notices = content(package)
        units = [slot.unit for name, slots in parts for slot in slots(package.xml(name).root)]
        return Document(path, units, notices=tuple(notices))


def write_parts(
    document: Document, format_name: str, content: Content, translations: Translations, file: IO[bytes]
) -> None:
    """The package with the translations in place of its texts. Raises DataError."""
    with open_package(document.path, format_name) as package:
        changed = changed_parts(package, content(package)[0], translations, document.remarks)
        write_package(package, changed, file)


def changed_parts(
    package: Package, parts: Iterable[Part], translations: Translations, remarks: list[str]
) -> dict[str, bytes]:
    """The parts in which a translation differs from the source; `remarks` name those that are too long for the file.

    Each is read again: it must have the translations, and all elements that are no runs of text. Raises DataError.
    """
    changed = dict[str, bytes]()
    taken = iter(translations)
    for name, slots in parts:
        xml = package.xml(name)
        listed, elements = list(slots(xml.root)), _elements(xml.root)
        texts = [_fitting(slot, text, remarks) for slot, text in zip(listed, islice(taken, len(listed)), strict=True)]
        if put_all(listed, iter(texts)):
            changed[name] = serialise_xml(xml)
            root = parse_xml(f"{package.path}: {name}", changed[name]).root
            expected = (_letters(new or slot.source, slot.source) for slot, new in zip(listed, texts, strict=True))
            check_letters(package.path, expected, (_letters(slot.source, slot.source) for slot in slots(root)))
            if _elements(root) != elements:
                lost = f"{package.path}: {name} would lose elements"
                raise UnreadableTranslation(f"{lost}; nothing was written, please report it")
    assert next(taken, _END) is _END, "one translation for each unit"
    return changed


def _fitting(slot: Slot, translation: InlineText | None, remarks: list[str]) -> InlineText | None:
    """A translation that a file has space for, None for a longer one."""
    if translation in (None, slot.source) or slot.max_length is None or len(translation.text) <= slot.max_length:
        return translation
    remarks.append(f"{slot.location}: not translated, because the program allows {slot.max_length} characters")
    return None


_END: Any = object()


# Elements of which a translation may need more or fewer: runs and spans, spaces, the direction of a paragraph, hints
# of a program for itself.
_RUNS = frozenset(
    """r t rPr pPr bidi br span s soft-page-break proofErr lastRenderedPageBreak softHyphen noBreakHyphen rPh
    phoneticPr""".split()  # noqa: SIM905
)


def _elements(root: Any) -> Counter[str]:
    """How often each element occurs, without runs and what is inside of their properties."""
    counted, waiting = Counter[str](), [root]
    while waiting:
        element = waiting.pop()
        name = local(element)
        if name not in _RUNS:
            counted[name] += 1
        if name != "rPr":
            waiting.extend(element)
    return counted


def _letters(inline: InlineText, source: InlineText) -> str:
    """The letters of a translation without those that are copied, of which only the order is free."""
    copied = [source.text[begin:end] for begin, end in source.protected]
    text = inline.text
    for span in copied:
        text = text.replace(span, "", 1)
    letters = filter(str.isalpha, writable(text))
    return "".join(sorted(letters) if copied else letters)


def put_all(slots: Iterable[Slot], translations: Iterator[InlineText | None]) -> bool:
    """Put the next translations into the slots; whether any differs from its source."""
    differs = False
    for slot in list(slots):
        translation = next(translations, _END)
        assert translation is not _END, "one translation for each unit"
        if translation is not None and translation != slot.source:
            slot.put(translation)
            differs = True
    return differs


def text_slot(element: Any, location: str, attribute: str | None = None, context: str = "") -> list[Slot]:
    """The slot of an element that holds nothing but text, or of an attribute; none if it has no letter."""
    text = (element.text if attribute is None else element.get(attribute)) or ""
    if not any(map(str.isalpha, text)) or (attribute is None and len(element)):
        return []
    begin = len(text) - len(text.lstrip())
    head, tail = text[:begin], text[begin + len(text.strip()) :]

    def put(inline: InlineText) -> None:
        written = head + writable(inline.text) + tail
        if attribute is None:
            element.text = written
        else:
            element.set(attribute, written)

    return [Slot(InlineText(text.strip()), location, put, context)]


def local(element: Any) -> str:
    """The name of an element without its namespace; empty for a comment, an entity or an instruction."""
    tag = element.tag
    return tag[tag.find("}") + 1 :] if isinstance(tag, str) else ""
