"""Zip formats: parts are checked and read one by one, and written again in their order.

A part that is not changed keeps its bytes, its compression and its date. Nothing is unpacked to disk, and no name in
the archive decides where something is written.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dragoman.documents.xml.xml import Xml, parse_xml
from dragoman.errors import DataError
from dragoman.system.archives import name_fault

MOST_PARTS = 10_000
# All parts together, a part that is parsed, and how often its compressed size a part may be, beyond a small one.
LARGEST, LARGEST_XML, RATIO, SMALL = 4 << 30, 128 << 20, 100, 10 << 20
BLOCK = 1 << 20
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile raises for a damaged archive, depending on the byte at fault.
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, RuntimeError, OverflowError, OSError)


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
        except DAMAGE as error:
            raise DataError(f"{self.path}: {name} is damaged ({_cause(error)}); get the file again") from None


@contextmanager
def open_package(path: Path, format_name: str) -> Iterator[Package]:
    """Open a zip and check it; `format_name` is what it should be: "a Word document (.docx)". Raises DataError."""
    try:
        file = zipfile.ZipFile(path)
    except DAMAGE as error:
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
