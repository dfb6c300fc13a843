"""An output file that is written over hours: what a killed process has done is kept, and continued exactly.

While the work lasts, `OUT.partial` holds the text written so far, and `OUT.partial.json` says what it belongs to: its
first line what the work was started with, then one line for each finished part, with the number of input lines and the
SHA-256 of the input and of the text up to there. At the end `OUT.partial` gets the name `OUT`, compressed if that ends
in `.gz` or `.zst`, and the record goes.
A record follows its text to the disk, so that a process killed at any instant leaves one that is true of the text.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dragoman.data.corpus.corpus import compressed_writer
from dragoman.errors import DataError, ResumeError, counted
from dragoman.system.files import (
    atomic_file,
    lock_open_file,
    open_in_place,
    refuse_existing,
    refuse_unwritable_file,
    storage_error,
)
from dragoman.workflows.journal import (
    ResumableWork,
    as_stored,
    foreign_file_error,
    remove_files,
    saved_work,
    write_to_disk,
)

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

    def __init__(self, work: ResumableWork, text: IO[bytes], record: IO[bytes], done: Done) -> None:
        self.work, self.done, self.resumed_at = work, done, done
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
            write_to_disk(self._text, data)
            size = self.done.bytes + len(data)
            done = Done(self._lines_seen, size, self._source.hexdigest(), self._written.hexdigest())
            write_to_disk(self._record, json.dumps(vars(done)).encode() + b"\n")
        except OSError as error:
            raise storage_error(self.work.output, error) from None
        self.done = done

    def saved(self) -> int:
        """The number of lines in the record: a signal may come between its last line and what follows in `write`."""
        with suppress(OSError):
            self._record.flush()
        return _last(_record_of(self.work))[0].lines

    def check_text(self) -> None:
        """Take the text that the record lists and drop what follows it. Raises DataError if it was changed."""
        for block in iter(lambda: self._text.read(min(1 << 20, self.done.bytes - self._text.tell())), b""):
            self._written.update(block)
        if self._written.hexdigest() != self.done.written:
            raise DataError(
                f"{self.work.partial}: is damaged (its SHA-256 differs from the record); start again with --force"
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
                f"{self.work.partial}: the first {lines} of the input are not those it "
                "was made from; restore the input, or start again with --force"
            )

    def _see(self, lines: Sequence[str]) -> None:
        self._lines_seen += len(lines)
        for line in lines:
            self._source.update(line.encode(errors="surrogatepass") + b"\n")


def _work(output: Path) -> ResumableWork:
    """The work on the file that a symbolic link names: it is replaced, not the link."""
    return ResumableWork(output.resolve() if output.is_symlink() else output, "line")


def _record_of(work: ResumableWork) -> Path:
    return work.partial.with_name(f"{work.partial.name}.json")


def refuse_taken(output: Path, *, resume: bool, force: bool) -> None:
    """Raise ConfigError if `output` or an unfinished one exists and neither flag says what to do with it."""
    work = _work(output)
    output, partial, record = work.output, work.partial, _record_of(work)
    for path in (partial, record):
        if path.is_dir() or (path.exists() and path.stat().st_size and not _header(record)):
            raise foreign_file_error(path)
    lines = _last(record)[0].lines if partial.exists() else 0
    work.refuse_interrupted(lines, resume=resume, force=force)
    if not (force or (resume and lines and _header(record)["replaces"])):
        refuse_existing([output])
    refuse_unwritable_file(output)


def saved_lines(output: Path) -> int:
    """The number of lines of the input that an interrupted translation to `output` has done."""
    return _last(_record_of(_work(output)))[0].lines


@contextmanager
def partial_output(
    output: Path, started_with: Mapping[str, Any], *, resume: bool = False, force: bool = False
) -> Iterator[PartialOutput]:
    """The output file, to be written part by part; it gets its name when the block ends without an exception.

    Otherwise what is done is kept, the error says how to continue, and with `resume` the next call continues; nothing
    is kept of a block that has written nothing. `started_with` is what must be the same then, by name. Raises
    ConfigError, DataError, and DragomanError if writing fails.
    """
    refuse_taken(output, resume=resume, force=force)
    work = _work(output)
    try:
        with open_in_place(work.partial) as text, open_in_place(_record_of(work)) as notes:
            try:
                lock_open_file(text, work.partial)
            except BlockingIOError:
                raise work.locked_error() from None
            yield from _filled(_begin(work, text, notes, as_stored(started_with), resume))
            if os.name != "nt":  # while the lock is held; Windows renames no open file
                _finish(work)
        if os.name == "nt":
            _finish(work)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise storage_error(work.output, error) from None


def _finish(work: ResumableWork) -> None:
    """Give the text its name, compressed if the name says so: until then it is there as it is, and can be continued."""
    if work.output.suffix in (".gz", ".zst"):
        with work.partial.open("rb") as text, atomic_file(work.output) as file, ExitStack() as stack:
            shutil.copyfileobj(text, compressed_writer(file, work.output.name, stack))
        remove_files(work.partial)
    else:
        work.partial.replace(work.output)
    remove_files(_record_of(work))


def _filled(output: PartialOutput) -> Iterator[PartialOutput]:
    """The body of `partial_output`, under its lock."""
    with saved_work(
        lambda: f"stopped at line {output.saved():,}, saved;",
        lambda: f"saved up to line {lines:,}" if (lines := output.saved()) else "",
    ):
        try:
            yield output
            output.check_input()
        except BaseException:
            if not output.saved():
                remove_files(output.work.partial, _record_of(output.work))
            raise


def _begin(
    work: ResumableWork, text: IO[bytes], notes: IO[bytes], started_with: Mapping[str, Any], resume: bool
) -> PartialOutput:
    """Continue what the two open files hold, or empty them and write the first line of the record."""
    record = _record_of(work)
    done, end = _last(record)
    if resume and done.lines and text.seek(0, os.SEEK_END):
        work.refuse_difference(_header(record)["started_with"], started_with)
    else:
        done, end = Done(), 0
    notes.truncate(end)
    notes.seek(end)
    if not done.lines:
        header = {"schema": SCHEMA, "replaces": work.output.exists(), "started_with": started_with}
        notes.write(json.dumps(header).encode() + b"\n")
        notes.flush()
    text.seek(0)
    output = PartialOutput(work, text, notes, done)
    output.check_text()
    return output


def _header(record: Path) -> dict[str, Any]:
    """What the work of a record was started with; empty if it is no record."""
    try:
        with record.open("rb") as file:
            header = json.loads(file.readline())
    except (OSError, ValueError, RecursionError):
        return {}
    known = isinstance(header, dict) and header.get("schema") == SCHEMA
    return header if known and isinstance(header.get("started_with"), dict) and "replaces" in header else {}


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
