"""The next update is drawn while this one is computed, so that a GPU never waits for text.

What is given, and the position that a checkpoint keeps, are those of the stream itself. On a CPU, where a thread that
tokenises would take its core from the arithmetic, the stream is used as it is.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from dragoman.data.batch import Batch
from dragoman.data.stream import BatchStream, Position, Skipped


@dataclass(frozen=True)
class _Drawn:
    batches: list[Batch]
    tokens: int
    position: Position
    skipped: Skipped


class Prefetched:
    """A `BatchStream` one update ahead of those who read it; `pinned` batches are copied to a GPU while it works."""

    def __init__(self, stream: BatchStream, pinned: bool) -> None:
        self.stream, self.pinned = stream, pinned
        self.position, self.skipped, self.update_tokens = stream.position, stream.skipped, 0
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._ahead: tuple[int, Future[_Drawn]] | None = None

    @property
    def batch_tokens(self) -> int:
        """The stream's own."""
        return self.stream.batch_tokens

    @batch_tokens.setter
    def batch_tokens(self, tokens: int) -> None:
        self.stream.batch_tokens = tokens

    def next_update(self, accumulate: int) -> list[Batch]:
        """As `BatchStream.next_update`, and as ready as it can be."""
        if self._ahead and self._ahead[0] != accumulate:
            self.load_state_dict(self.state_dict())
        _, future = self._ahead or self._draw(accumulate)
        drawn = future.result()
        self.position, self.skipped, self.update_tokens = drawn.position, drawn.skipped, drawn.tokens
        self._ahead = self._draw(accumulate)
        return drawn.batches

    def state_dict(self) -> dict[str, int]:
        """Where the last update given ended."""
        return self.stream.state_dict(self.position)

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from `state`; what was drawn ahead is forgotten."""
        if self._ahead:
            self._ahead[1].exception()  # the thread has left the stream
            self._ahead = None
        self.stream.load_state_dict(state)
        self.position = self.stream.position

    def _draw(self, accumulate: int) -> tuple[int, Future[_Drawn]]:
        def draw() -> _Drawn:
            batches = self.stream.next_update(accumulate)
            if self.pinned:
                batches = [batch.pinned() for batch in batches]
            skipped = Skipped(self.stream.skipped.count, self.stream.skipped.first)
            return _Drawn(batches, self.stream.update_tokens, self.stream.position, skipped)

        return accumulate, self._thread.submit(draw)
