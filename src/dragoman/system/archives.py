"""A zip of unknown origin: its members are checked by name and size, and read one by one.

The archive is never unpacked as a whole, and no name in it decides where something is written: the caller does.
"""

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dragoman.errors import ModelError

# Together the members may be this large; each at most RATIO times its compressed size, beyond a small one.
LARGEST, RATIO, SMALL = 8 << 30, 200, 1 << 20
MOST_MEMBERS = 10_000
BLOCK = 1 << 20
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile raises for a damaged archive, depending on the byte at fault; some of it has no text.
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, RuntimeError, OverflowError)


@dataclass(frozen=True)
class Archive:
    """An open zip, all of whose members have been checked."""

    path: Path
    members: dict[str, zipfile.ZipInfo]
    """The files by their names, without folders."""
    file: zipfile.ZipFile

    def read(self, name: str, largest: int) -> bytes:
        """The content of a member of at most `largest` bytes. Raises ModelError."""
        size = self.members[name].file_size
        if size > largest:
            raise ModelError(f"{self.path}: {name} is of {size:,} bytes, more than such a file has; do not trust it")
        return b"".join(self._blocks(name))

    def extract(self, name: str, file: Path) -> None:
        """Write a member to `file`, which the caller has chosen. Raises ModelError."""
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as written:
            for block in self._blocks(name):
                written.write(block)

    def _blocks(self, name: str) -> Iterator[bytes]:
        """The content, which must be as long as the archive says."""
        promised, count = self.members[name].file_size, 0
        try:
            with self.file.open(name) as member:
                while block := member.read(BLOCK):
                    count += len(block)
                    if count > promised:
                        break
                    yield block
        except (*DAMAGE, OSError) as error:
            raise ModelError(f"{self.path}: {name} cannot be read: {_cause(error)}; fetch the file again") from None
        if count != promised:
            raise ModelError(f"{self.path}: {name} is not of the size that the archive says; do not trust it")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a zip and check its members. Raises ModelError."""
    try:
        file = zipfile.ZipFile(path)
    except DAMAGE as error:
        raise ModelError(f"{path}: not a zip archive: {_cause(error)}; fetch the file again") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}; fetch the file again") from None
    with file:
        yield Archive(path, _checked(path, file.infolist()), file)


def _checked(path: Path, members: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    if len(members) > MOST_MEMBERS:
        raise ModelError(f"{path}: {len(members):,} members, more than {MOST_MEMBERS:,}; do not trust this archive")
    if sum(member.file_size for member in members) > LARGEST:
        raise ModelError(f"{path}: unpacks to more than {LARGEST >> 30} GiB; do not trust this archive")
    files: dict[str, zipfile.ZipInfo] = {}
    names = set[str]()
    for member in members:
        if fault := _fault(member):
            raise ModelError(f"{path}: {member.orig_filename!r} {fault}; do not trust this archive")
        name = PurePosixPath(member.filename).as_posix().casefold()  # as a file system may compare them
        if name in names:
            raise ModelError(f"{path}: {member.filename!r} is there twice; do not trust this archive")
        names.add(name)
        if not member.is_dir():
            files[member.filename] = member
    return files


def name_fault(member: zipfile.ZipInfo) -> str | None:
    """Why the name or the kind of a member is refused."""
    name, kind = member.orig_filename, stat.S_IFMT(member.external_attr >> 16)
    if "\\" in name or "\0" in name:
        return "has a backslash or a null character in its name"
    if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in PurePosixPath(name).parts:
        return "leaves its folder"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device"
    return None


def _fault(member: zipfile.ZipInfo) -> str | None:
    if fault := name_fault(member):
        return fault
    if member.flag_bits & 1:
        return "is encrypted"
    if member.compress_type not in METHODS:
        return "is compressed by a method that is not read"
    if member.file_size > max(SMALL, RATIO * member.compress_size):
        return f"unpacks to more than {RATIO} times its size"
    return None


def _cause(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else str(error)) or "it is damaged"
