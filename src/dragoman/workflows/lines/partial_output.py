"""An output file that is written over hours: what a killed process has done is kept, and continued exactly.

While the work lasts, `OUT.partial` holds the text written so far, and `OUT.partial.json` says what it belongs to: its
first line what the work was started with, then one line for each finished part, with the number of input lines and the
SHA-256 of the input and of the text up to there. At the end `OUT.partial` gets the name `OUT`, and the record goes.
A record follows its text to the disk, so that a process killed at any instant leaves one that is true of the text.
"""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dragoman.errors import ConfigError, DataError, DragomanError, Interrupted, ResumeError, counted
from dragoman.system.files import refuse_unwritable_file, storage_error

SCHEMA = "dragoman.partial/1"


@dataclass(frozen=True)
class Done:
    """How far the work has come: lines of the input, bytes of the output, and the SHA-256 of both up to there."""

    lines: int = 0
    bytes: int = 0
    source: str = hashlib.sha256().hexdigest()
    written: str = hashlib.sha256().hexdigest()


class PartialOutput:
    """The open partial file of an output, and the record next to it; see `partial_output`."""

    def __init__(self, output: Path, text: IO[bytes], record: IO[bytes], done: Done) -> None:
        self.output, self.done, self.resumed_at = output, done, done
        self._text, self._record, self._lines_seen = text, record, 0
        self._source, self._written = hashlib.sha256(), hashlib.sha256()

    def has(self, lines: Sequence[str]) -> bool:
        """Whether the next lines of the input were done before. Raises ResumeError if they were others then."""
        if self._lines_seen >= self.resumed_at.lines:
            return False
        self._see(lines)
        if self._lines_seen >= self.resumed_at.lines:
            self._refuse_other_input()
        return True

    def write(self, lines: Sequence[str], text: str) -> None:
        """Append the text for the next lines of the input; once it is on the disk, they are done."""
        self._see(lines)
        data = text.encode()
        self._written.update(data)
        try:
            self._text.write(data)
            _to_disk(self._text)
            size = self.done.bytes + len(data)
            done = Done(self._lines_seen, size, self._source.hexdigest(), self._written.hexdigest())
            self._record.write(json.dumps(vars(done)).encode() + b"\n")
            _to_disk(self._record)
        except OSError as error:
            kept = f"; saved up to line {self.done.lines:,}, continue with --resume" if self.done.lines else ""
            raise storage_error(self.output, error, kept) from None
        self.done = done

    def check_text(self) -> None:
        """Take the text that the record lists and drop what follows it. Raises DataError if it was changed."""
        for block in iter(lambda: self._text.read(min(1 << 20, self.done.bytes - self._text.tell())), b""):
            self._written.update(block)
        if self._written.hexdigest() != self.done.written:
            raise DataError(
                f"{partial_of(self.output)}: is damaged (its SHA-256 differs from the record); start again with --force"
            )
        self._text.truncate(self.done.bytes)
        self._text.seek(self.done.bytes)

    def check_input(self) -> None:
        """Raise ResumeError if the input ended before the lines that are done."""
        if self._lines_seen < self.resumed_at.lines:
            self._refuse_other_input()

    def _refuse_other_input(self) -> None:
        if (self._lines_seen, self._source.hexdigest()) != (self.resumed_at.lines, self.resumed_at.source):
            lines = counted(self.resumed_at.lines, "line")
            raise ResumeError(
                f"{partial_of(self.output)}: the first {lines} of the input are not those it "
                "was made from; restore the input, or start again with --force"
            )

    def _see(self, lines: Sequence[str]) -> None:
        self._lines_seen += len(lines)
        for line in lines:
            self._source.update(line.encode(errors="surrogatepass") + b"\n")


def partial_of(output: Path) -> Path:
    """Where the text of an unfinished `output` is."""
    return output.with_name(f"{output.name}.partial")


def _named(output: Path) -> Path:
    """The file that a symbolic link names: it is replaced, not the link."""
    return output.resolve() if output.is_symlink() else output


def _finish(partial: Path, output: Path, record: Path) -> None:
    partial.replace(output)
    _remove(record)


def _record_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.partial.json")


def refuse_existing(output: Path, *, resume: bool, force: bool) -> None:
    """Raise ConfigError if `output` or an unfinished one exists and neither flag says what to do with it."""
    output = _named(output)
    partial, record = partial_of(output), _record_of(output)
    for path in (partial, record):
        if path.is_dir() or (path.exists() and path.stat().st_size and not _header(record)):
            raise ConfigError(f"{path}: is not of an interrupted translation; move it elsewhere")
    lines = _last(record)[0].lines if partial.exists() else 0
    if lines and not (resume or force):
        raise ConfigError(
            f"{output}: an interrupted translation has {counted(lines, 'line')} in {partial.name}; continue with "
            "--resume, or start again with --force"
        )
    if output.exists() and not (force or (resume and lines and _header(record)["replaces"])):
        raise ConfigError(f"{output}: already exists; --force replaces it")
    refuse_unwritable_file(output)


def saved_lines(output: Path) -> int:
    """The number of lines of the input that an interrupted translation to `output` has done."""
    return _last(_record_of(_named(output)))[0].lines


@contextmanager
def partial_output(
    output: Path, started_with: Mapping[str, Any], *, resume: bool = False, force: bool = False
) -> Iterator[PartialOutput]:
    """The output file, to be written part by part; it gets its name when the block ends without an exception.

    Otherwise what is done is kept, the error says how to continue, and with `resume` the next call continues; nothing
    is kept of a block that has written nothing. `started_with` is what must be the same then, by name. Raises
    ConfigError, DataError, and DragomanError if writing fails.
    """
    output = _named(output)
    refuse_existing(output, resume=resume, force=force)
    partial, record = partial_of(output), _record_of(output)
    try:
        with _open(partial) as text, _open(record) as notes:
            _lock(text, partial, output)
            opened = _begin(output, text, notes, json.loads(json.dumps(started_with)), resume)
            try:
                yield opened
                opened.check_input()
            except BaseException as error:
                lines = _saved(notes, record)
                if not lines:
                    _remove(partial, record)
                if (advised := _with_remedy(error, lines)) is not error:
                    raise advised from error
                raise
            if os.name != "nt":  # while the lock is held; Windows renames no open file
                _finish(partial, output, record)
        if os.name == "nt":
            _finish(partial, output, record)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise storage_error(output, error) from None


def _begin(
    output: Path, text: IO[bytes], notes: IO[bytes], started_with: Mapping[str, Any], resume: bool
) -> PartialOutput:
    """Continue what the two open files hold, or empty them and write the first line of the record."""
    partial, record = partial_of(output), _record_of(output)
    done, end = _last(record)
    if resume and done.lines and text.seek(0, os.SEEK_END):
        _refuse_difference(partial, _header(record)["started_with"], started_with)
    else:
        done, end = Done(), 0
    notes.truncate(end)
    notes.seek(end)
    if not done.lines:
        header = {"schema": SCHEMA, "replaces": output.exists(), "started_with": started_with}
        notes.write(json.dumps(header).encode() + b"\n")
        notes.flush()
    text.seek(0)
    opened = PartialOutput(output, text, notes, done)
    opened.check_text()
    return opened


def _saved(notes: IO[bytes], record: Path) -> int:
    """The number of lines in a record: a signal may come between its last line and what follows in this process."""
    with suppress(OSError):
        notes.flush()
    return _last(record)[0].lines


def _with_remedy(error: BaseException, lines: int) -> BaseException:
    """The error, which also says how to continue if anything is done."""
    if not lines or isinstance(error, ResumeError):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Interrupted(f"stopped at line {lines:,}, saved; continue with --resume")
    if isinstance(error, DragomanError):
        return type(error)(f"{error}; saved up to line {lines:,}, continue with --resume")
    return error


def _open(path: Path) -> IO[bytes]:
    """A file of our own to read and write: no link that another user planted is followed."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
    return os.fdopen(descriptor, "r+b")


def _lock(file: IO[bytes], partial: Path, output: Path) -> None:
    """Have no second process write into the file; the system releases the lock when this one ends, however it ends."""
    with suppress(ImportError):  # Windows
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            renamed = not os.path.samestat(os.fstat(file.fileno()), partial.stat())
        except OSError:
            renamed = True
        if renamed:
            raise ConfigError(f"{output}: another process is writing it; wait for it, or choose another") from None


def _header(record: Path) -> dict[str, Any]:
    """What the work of a record was started with; empty if it is no record."""
    try:
        with record.open("rb") as file:
            found = json.loads(file.readline())
    except (OSError, ValueError, RecursionError):
        return {}
    known = isinstance(found, dict) and found.get("schema") == SCHEMA
    return found if known and isinstance(found.get("started_with"), dict) and "replaces" in found else {}


def _last(record: Path) -> tuple[Done, int]:
    """The last complete line of a record, and where the record ends after it."""
    done, end = Done(), 0
    with suppress(FileNotFoundError), record.open("rb") as file:
        end = len(file.readline())
        for line in file:
            try:
                done = Done(**json.loads(line))
            except (ValueError, TypeError, RecursionError):
                break  # the process was killed while it wrote this line
            end += len(line)
    return done, end


def _refuse_difference(partial: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    changed = sorted(name for name in {*then, *now} if then.get(name) != now.get(name))
    if changed:
        raise ConfigError(
            f"{partial}: was started with another {' and another '.join(changed)}; give the same, or start again with "
            "--force"
        )


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _remove(*paths: Path) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()
