"""Files written whole or not at all: a process killed at any instant leaves what was there, or what was meant."""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dragoman.errors import DragomanError


def restore(folder: Path) -> None:
    """Undo what a process killed between the two renames of `whole_folder` left."""
    # Asked first: "." and "/" are there, and have no name to go by.
    if not folder.exists() and folder.with_name(f".{folder.name}.old").exists():
        with _alone_in(folder.parent):  # who is between the two renames right now is not disturbed
            _restore(folder)


def _restore(folder: Path) -> None:
    old = folder.with_name(f".{folder.name}.old")
    if old.exists() and not folder.exists():
        old.rename(folder)


def partial_of(folder: Path) -> Path:
    """Where `whole_folder` fills what is to be `folder`."""
    return folder.with_name(f".{folder.name}.partial")


@contextmanager
def whole_folder(folder: Path, also: str = "what was saved before is intact") -> Iterator[Path]:
    """A new folder to fill, which takes the place of `folder` when the block ends well, and else vanishes.

    A process killed at any instant leaves what was there before. Raises DragomanError if the disk refuses, with
    `also` at the end of its message.
    """
    folder = Path(os.path.abspath(folder))  # "." has no name
    partial, old = partial_of(folder), folder.with_name(f".{folder.name}.old")
    try:
        with _alone_in(folder.parent):
            yield from _replacing(folder, partial, old)
    except OSError as error:
        raise storage_error(folder, error, f"; {also}") from None


def _replacing(folder: Path, partial: Path, old: Path) -> Iterator[Path]:
    """What `whole_folder` does while nobody else does it beside this folder."""
    try:
        _restore(folder)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        yield partial
        for path in partial.rglob("*"):
            _flush(path)
        shutil.rmtree(old, ignore_errors=True)
        if folder.exists():
            folder.rename(old)
        try:
            partial.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
        _flush(folder.parent)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def _alone_in(parent: Path) -> Iterator[None]:
    """Other processes that replace a folder below `parent` wait their turn.

    The lock is the system's, on the parent since that stays where it is, and goes with the process, however it ends.
    """
    if not parent.exists():
        parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def refuse_unwritable_folder(folder: Path) -> None:
    """Before long work that `whole_folder` is to keep: raises DragomanError where it may not make a folder."""
    place = next(parent for parent in Path(os.path.abspath(folder)).parents if parent.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        raise storage_error(folder, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def whole_text(path: Path, text: str) -> None:
    """Write a text file in place of an older one, or leave that as it is. Raises DragomanError."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A new file to write, which takes the place of `path` when the block ends well, and else vanishes.

    A device or a pipe that is there is written to, never replaced; and of a link what it leads to is replaced. Raises
    DragomanError if the disk refuses.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        try:
            yield path
        except OSError as error:
            raise storage_error(path, error) from None
        return
    path = path.resolve() if path.is_symlink() else path
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        _flush(partial)
        partial.replace(path)
    except OSError as error:
        raise storage_error(path, error) from None
    finally:
        with suppress(OSError):
            partial.unlink()


def storage_error(path: Path, error: OSError, also: str = "") -> DragomanError:
    """What the disk refused, and what to do, for a person."""
    remedy = {
        errno.ENOSPC: "free some space and try again",
        errno.EDQUOT: "free some of your quota and try again",
        errno.EACCES: "make the folder writable or choose another",
        errno.EROFS: "the file system is read-only; choose another folder",
    }.get(error.errno or 0, "check the path")
    return DragomanError(f"{path}: cannot be written: {error.strerror}; {remedy}{also}")


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
