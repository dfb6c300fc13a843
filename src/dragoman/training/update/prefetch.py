"""Draw the next update while the current one is computed, so that a GPU does not wait for tokenisation.

Updates, and the position in each, are those of the stream itself. On a CPU the stream is used directly: a thread that
tokenises would take a core from the arithmetic.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace

from dragoman.data.batches.stream import BatchStream, Update


class Prefetched:
    """A `BatchStream` that is one update ahead; `pinned` batches can be copied to a GPU asynchronously."""

    def __init__(self, stream: BatchStream, pinned: bool) -> None:
        self.stream, self.pinned = stream, pinned
        self._position = stream.position
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._ahead: tuple[int, Future[Update]] | None = None

    def next_update(self, accumulate: int) -> Update:
        """The next update of the stream. Raises the errors of `BatchStream.next_update`."""
        if self._ahead and self._ahead[0] != accumulate:
            self.load_state_dict(asdict(self._position))
        _, future = self._ahead or self._draw(accumulate)
        update = future.result()
        self._position = update.position
        self._ahead = self._draw(accumulate)
        return update

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continue from `state`; an update drawn ahead is dropped."""
        if self._ahead:
            self._ahead[1].exception()  # waits until the thread is done with the stream
            self._ahead = None
        self.stream.load_state_dict(state)
        self._position = self.stream.position

    def _draw(self, accumulate: int) -> tuple[int, Future[Update]]:
        def draw() -> Update:
            update = self.stream.next_update(accumulate)
            return replace(update, batches=[batch.pinned() for batch in update.batches]) if self.pinned else update

        return accumulate, self._thread.submit(draw)
