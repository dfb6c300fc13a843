"""Atomic files and folders, locks and hashes: one of each, on Linux, macOS and Windows.

Input: a path and what to write there. Output: the complete file or folder, or the one that was there before, even if
the process is killed while it writes. Nothing here follows a symbolic link that another user planted: partial files
have random names and are created exclusively.
"""

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout, lock_descriptor

from dragoman.errors import ConfigError, DragomanError

# A partial file of this age belongs to a process that was killed.
STALE_SECONDS = 24 * 3600


def sha256(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(path: Path) -> dict[str, object]:
    """Size and SHA-256 of a file, as `bundle.json` and the notes of checkpoints record them. Raises OSError."""
    return {"bytes": path.stat().st_size, "sha256": sha256(path)}


def fingerprints(folder: Path, leaving_out: Set[str] = frozenset()) -> dict[str, dict[str, object]]:
    """`fingerprint` of every file below `folder`, by its path from there, except `leaving_out`. Raises OSError."""
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: fingerprint(path) for name, path in files.items() if name not in leaving_out}


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock file `path`, so that other processes wait for it.

    The operating system releases the lock when the process ends, however it ends. Raises BlockingIOError if another
    process holds it and `wait` is false, OSError if the file cannot be created.
    """
    lock = FileLock(path, blocking=wait)
    try:
        lock.acquire()
    except Timeout:
        raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK)) from None
    try:
        yield
    finally:
        with suppress(OSError):  # while the lock is held, so that no other process has the file; Windows refuses
            path.unlink()
        lock.release()


def lock_open_file(file: IO[bytes], path: Path) -> None:
    """Hold the lock of `file`, which was opened as `path`, until it is closed: for files that no lock file is next to.

    Raises BlockingIOError if another process holds it, or has given the file another name meanwhile.
    """
    held = lock_descriptor(file.fileno(), blocking=False)
    with suppress(FileNotFoundError):
        if held and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return
    raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK))


# --- folders -------------------------------------------------------------------------------------------------------


def restore(folder: Path) -> None:
    """Move `folder` back if a process was killed between the two renames of `atomic_folder`."""
    # `exists` is checked first because "." and "/" exist and have no name.
    if not folder.exists() and _next_to(folder, "old").exists():
        try:
            with locked(_next_to(folder, "lock")):  # a concurrent writer between its two renames must not be disturbed
                _restore(folder)
        except OSError as error:
            raise storage_error(folder, error) from None


def _restore(folder: Path) -> None:
    if _next_to(folder, "old").exists() and not folder.exists():
        _next_to(folder, "old").rename(folder)


def partial_folder(folder: Path) -> Path:
    """Where `atomic_folder` prepares `folder`: a fixed name, because several processes may write into it."""
    return _next_to(folder, "partial")


def _next_to(folder: Path, kind: str) -> Path:
    return folder.with_name(f".{folder.name}.{kind}")


@contextmanager
def atomic_folder(folder: Path, also: str = "what was saved before is intact") -> Iterator[Path]:
    """A new empty folder to fill, which replaces `folder` when the block ends without an exception.

    If the block raises or the process is killed, `folder` is unchanged. Raises DragomanError if writing fails, with
    `also` at the end of its message.
    """
    folder = Path(os.path.abspath(folder))  # "." has no name
    try:
        if folder.parent.exists() and not folder.parent.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(_next_to(folder, "lock")):
            yield from _replacing(folder, partial_folder(folder), _next_to(folder, "old"))
    except OSError as error:
        raise storage_error(folder, error, f"; {also}") from None


def _replacing(folder: Path, partial: Path, old: Path) -> Iterator[Path]:
    """The body of `atomic_folder`, under its lock."""
    try:
        _restore(folder)
        _remove(partial)
        partial.mkdir()  # fails if the name is taken, and so follows no link
        yield partial
        for path in partial.rglob("*"):
            _flush(path)
        _remove(old)
        if folder.exists():
            folder.rename(old)
        try:
            partial.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
        _flush(folder.parent)
        _remove(old)
    finally:
        _remove(partial)


@contextmanager
def folder_next_to(target: Path) -> Iterator[Path]:
    """A temporary folder on the same disk as `target`, which needs the space anyway; removed when the block ends.

    Raises DragomanError if writing fails, in the block too.
    """
    parent = target.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        temporary = tempfile.TemporaryDirectory(prefix=".dragoman-", dir=parent)
    except OSError as error:
        raise storage_error(target, error) from None
    with temporary as folder:
        try:
            yield Path(folder)
        except OSError as error:  # of what else is written within the block
            raise storage_error(target, error) from None


def _remove(path: Path) -> None:
    """Remove a folder or a file, or a link in its place but not what the link names; nothing where it cannot be."""
    with suppress(OSError):
        path.unlink()
    shutil.rmtree(path, ignore_errors=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder, which is gone at once or still whole, even if the process is killed.

    What a killed process left of it is removed when `folder` is written again. Raises DragomanError if it stays.
    """
    folder = Path(os.path.abspath(folder))
    try:
        with locked(_next_to(folder, "lock")):
            _restore(folder)
            partial = partial_folder(folder)
            _remove(partial)
            _remove(_next_to(folder, "old"))  # or else it would be restored
            folder.rename(partial)
            _flush(folder.parent)
            _remove(partial)
    except OSError as error:
        raise storage_error(folder, error, "; nothing was removed") from None


def refuse_unwritable_folder(folder: Path) -> None:
    """Raise DragomanError, before long work, if `atomic_folder` could not create `folder`."""
    absolute = Path(os.path.abspath(folder))
    parent = next(parent for parent in (*absolute.parents, absolute) if parent.exists())  # the root has no parents
    if not parent.is_dir():
        raise storage_error(folder, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
    if not os.access(parent, os.W_OK | os.X_OK):
        raise storage_error(folder, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


# --- files ---------------------------------------------------------------------------------------------------------


def write_text_atomically(path: Path, text: str) -> None:
    """Write `text` in UTF-8 to `path`, or leave the file as it was. Raises DragomanError if writing fails."""
    with atomic_file(path) as file:
        file.write(text.encode())


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A new file, open for writing, which replaces `path` when the block ends without an exception.

    A device or a pipe is written to directly; if `path` is a symbolic link, the file that it names is replaced.
    Raises DragomanError if writing fails.
    """
    try:
        if is_special(path):
            with path.open("wb") as file:
                yield file
            return
        path = path.resolve() if path.is_symlink() else path
        with _partial_files([path]) as [partial]:
            with partial.open("xb") as file:
                yield file
            _flush(partial)
            partial.replace(path)
    except BrokenPipeError:  # the reader of a pipe went away, as `head` does
        raise
    except OSError as error:
        raise storage_error(path, error) from None


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Where a file of the same name may be written and read: it replaces `path` when the block ends well.

    For what is checked by its readers before it gets its name. Folders that are missing are created. Raises
    DragomanError if writing fails.
    """
    try:
        path = path.resolve() if path.is_symlink() else path
        path.parent.mkdir(parents=True, exist_ok=True)
        with _partial_files([path]) as [partial]:
            partial.mkdir()  # fails if the name is taken, and so follows no link
            yield partial / path.name
            _flush(partial / path.name)
            (partial / path.name).replace(path)
    except OSError as error:
        raise storage_error(path, error) from None


@contextmanager
def atomic_new_files(paths: Sequence[Path]) -> Iterator[list[IO[bytes]]]:
    """Files that do not exist yet, open for writing: all get their names when the block ends well, otherwise none.

    Raises OSError if writing fails.
    """
    named: list[Path] = []
    with _partial_files(paths) as partials:
        with ExitStack() as stack:
            yield [stack.enter_context(partial.open("xb")) for partial in partials]
        try:
            for path, partial in zip(paths, partials, strict=True):
                _flush(partial)
                partial.rename(path)
                named.append(path)
        except BaseException:
            for path in named:
                path.unlink(missing_ok=True)
            raise


def open_in_place(path: Path) -> IO[bytes]:
    """The regular file `path` to read and write, created if it does not exist; no link is followed. Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
    return os.fdopen(descriptor, "r+b")


def refuse_unwritable_file(path: Path) -> None:
    """Raise DragomanError, before long work, if `atomic_file` could not write `path`."""
    try:
        if not is_special(path):
            with _partial_files([path]) as [trial]:
                trial.touch(exist_ok=False)
    except OSError as error:
        raise storage_error(path, error) from None


def refuse_existing(paths: Iterable[Path], remedy: str = "--force replaces it") -> None:
    """Raise ConfigError if there is something at one of `paths`: every writer asks before it replaces what it finds.

    Devices and pipes are written to, and nothing is lost.
    """
    for path in paths:
        if path.exists() and not is_special(path):
            raise ConfigError(f"{path}: already exists; {remedy}")


def is_special(path: Path) -> bool:
    """Whether `path` is a device, a pipe or an open descriptor, which is written to and never replaced."""
    if path.is_absolute() and path.parts[1:2] in (("dev",), ("proc",)) and path.exists():
        return not path.is_dir()
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def _partial_files(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Random names next to `paths`, whose files are removed at the end if they still exist.

    No other process uses or can guess such a name. Files of a process that was killed a day ago or more are removed.
    Raises IsADirectoryError for a folder in the place of a file, before anything is written.
    """
    for path in paths:
        if path.is_dir():  # "." and "/" have no name, others would be refused once all is written
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        _remove_stale(path)
    partials = [path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial") for path in paths]
    try:
        yield partials
    finally:
        for partial in partials:
            _remove(partial)


def _remove_stale(path: Path) -> None:
    """Remove what writers of `path` left that were killed: such a file is written in seconds, not days."""
    partial_name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.partial")
    with suppress(OSError):
        for other in path.parent.iterdir():
            if partial_name.fullmatch(other.name) and time.time() - other.lstat().st_mtime > STALE_SECONDS:
                _remove(other)


# A random name of `_partial_files`, which no message has: the file that it becomes is meant.
_PARTIAL = re.compile(r"\.(.+)\.[0-9a-f]{8}\.partial")


# --- errors --------------------------------------------------------------------------------------------------------


def storage_error(path: Path, error: OSError, also: str = "") -> DragomanError:
    """A DragomanError that says why writing failed and what to do."""
    remedy = {
        errno.ENOSPC: "free some space and try again",
        errno.EDQUOT: "free some of your quota and try again",
        errno.EACCES: "make the folder writable or choose another",
        errno.EFBIG: "it is larger than the file system or a limit allows (`ulimit -f`); choose another folder",
        errno.EROFS: "the file system is read-only; choose another folder",
    }.get(error.errno or 0, "check the path")
    path = path.with_name(_PARTIAL.sub(r"\1", path.name)) if path.name else path
    return DragomanError(f"{path}: cannot be written: {error.strerror}; {remedy}{also}")


def _flush(path: Path) -> None:
    """Have the operating system write a file or a folder to the disk."""
    windows = os.name == "nt"
    if windows and path.is_dir():  # which opens no folder, and flushes only files open for writing
        return
    descriptor = os.open(path, os.O_RDWR if windows else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
