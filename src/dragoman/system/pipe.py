"""Lines as they come, of a pipe or of an iterator: whether the next is there is known without waiting for it.

A program that writes a line and reads its translation before it writes the next would otherwise wait for ever.
"""

import contextvars
import os
import select
import stat
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")
# Seconds in which the next line of a program that writes without a pause has come, and the looks at it: where
# processors are busy, each of them gives a thread that reads a turn.
PAUSE, LOOKS = 0.02, 5
_BLOCK = 1 << 16
# Bytes of a line; a file without line ends would otherwise be read until memory ends.
LONGEST_LINE = 1 << 26


class PipeLines(Iterator[bytes]):
    """The lines of a descriptor, each with its end."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._lines, self._rest, self._ended = list[bytes](), bytearray(), False

    def __next__(self) -> bytes:
        while not self._lines and not self._ended:
            self._read()
        if self._lines:
            return self._lines.pop()
        if self._rest:
            last, self._rest = bytes(self._rest), bytearray()
            return last
        raise StopIteration

    def waits(self) -> bool:
        """Whether a program has to be awaited for the next line, or for the end."""
        end = time.monotonic() + PAUSE
        while not self._lines and not self._ended:
            if not select.select([self.descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
                return True
            self._read()
        return False

    def _read(self) -> None:
        block = os.read(self.descriptor, _BLOCK)
        self._ended = not block
        head, *following = block.split(b"\n")
        self._rest += head
        if following:
            *lines, rest = self._rest, *following
            self._lines = [bytes(line) + b"\n" for line in reversed(lines)]
            self._rest = bytearray(rest)
        elif len(self._rest) > LONGEST_LINE:  # the reader refuses it
            self._lines, self._rest = [bytes(self._rest)], bytearray()


def pipe_lines(file: object) -> PipeLines | None:
    """The lines of an open file that is a pipe or a socket; None of any other, and where it cannot be known."""
    if sys.platform == "win32":
        return None
    try:
        descriptor = file.fileno()  # type: ignore[attr-defined]
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError):
        return None
    return PipeLines(descriptor) if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else None


class ReadAhead(Iterator[T], Generic[T]):
    """The items of an iterator, each read in a thread when it is wanted, never before.

    After `close`, and after the item that is awaited then, `finish` is called.
    """

    def __init__(self, items: Iterable[T], finish: Callable[[], None]) -> None:
        self._items, self._finish, self._turn = iter(items), finish, threading.Condition()
        self._come, self._wanted, self._closed = list[T](), False, False
        self._left = False
        """Whether it was closed while the thread awaited an item."""
        self._end: BaseException | None = None
        """What ended the iterator."""
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._read,), name="read ahead", daemon=True)
        self._thread.start()

    def __next__(self) -> T:
        with self._turn:
            self._want()
            while not self._come and not self._end:
                self._turn.wait()
            if self._come:
                return self._come.pop()
            assert self._end
            raise self._end

    def waits(self) -> bool:
        """Whether the next item has not come a moment after it is wanted; neither has an end."""
        with self._turn:
            self._want()
            for _ in range(LOOKS):
                if self._come or self._end:
                    return False
                self._turn.wait(PAUSE / LOOKS)
            return not (self._come or self._end)

    def close(self) -> None:
        """Read no more. The thread has ended then, unless it awaits an item: it cannot be woken, and ends after it."""
        with self._turn:
            self._closed = True
            self._left = self._wanted and not self._end
            self._turn.notify_all()
        if not self._left and not sys.is_finalizing():  # when Python ends, threads stand still
            if self._thread is not threading.current_thread():  # where a collector closes what was abandoned
                self._thread.join()
            self._finish()

    def _want(self) -> None:
        if not self._come and not self._end and not self._wanted:
            self._wanted = True
            self._turn.notify_all()

    def _read(self) -> None:
        self._read_all()
        if self._left:
            self._finish()

    def _read_all(self) -> None:
        end: BaseException | None = None
        while end is None:
            with self._turn:
                while not self._wanted and not self._closed:
                    self._turn.wait()
                if self._closed:
                    return
            item: list[T] = []
            try:
                item.append(next(self._items))
            except BaseException as raised:  # the reader raises it
                end = raised
            with self._turn:
                self._come, self._end, self._wanted = item, end, False
                self._turn.notify_all()


@contextmanager
def read_ahead(
    items: Iterable[T], source: object, threaded: bool
) -> Generator[tuple[Iterable[T], Callable[[], bool] | None], None, None]:
    """The items, and whether the next has to be awaited, which only a thread that reads them knows; None without one.

    At the end a generator is closed that the items are made by, and that of the `source` which they are read from: what
    it has open is not held until it is collected. Other iterators, such as a file, stay where they are.
    """

    def finish() -> None:
        for generator in (items, source):
            if isinstance(generator, Generator):
                generator.close()

    if not threaded:
        try:
            yield items, None
        finally:
            finish()
        return
    ahead = ReadAhead(items, finish)
    try:
        yield ahead, ahead.waits
    finally:
        ahead.close()


def may_wait(lines: object) -> bool:
    """Whether the next of these lines may be written only when a former one was answered: not of a list or a file."""
    if not isinstance(lines, Iterator):
        return False
    try:
        return not stat.S_ISREG(os.fstat(lines.fileno()).st_mode)  # type: ignore[attr-defined]
    except (AttributeError, OSError):
        return True
