"""What a served model computes for one sentence: `look`, by a network of its own, one sentence at a time.

Needs torch and the weights of the model. The network that was used last is kept; imports of torch happen inside.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dragoman.errors import DataError, DragomanError, ModelError
from dragoman.installed.opening import open_models
from dragoman.serve.models.models import ServedModel, ServedPair
from dragoman.serve.requests.ticket import QueueFull

if TYPE_CHECKING:
    from dragoman.inspection.inspect import BundleInspection

# Tokens of a sentence, on either side: a page of more would be beyond what a browser shows.
MOST_TOKENS = 100
# Requests that may wait for their turn, and for how many seconds.
WAITING, SECONDS = 4, 30.0
ALTERNATIVES = 10


class CannotLook(DragomanError):
    """A model that has no weights to compute with, or no torch."""


class Looking:
    """Inspections of sentences, one after the other. Threads may share it."""

    def __init__(self) -> None:
        self._turn, self._places = threading.Lock(), threading.Semaphore(WAITING)
        self._last: tuple[tuple[Path, int], Any, Any] | None = None

    def summary(self, model: ServedModel, pair: ServedPair, text: str, translation: str | None) -> dict[str, Any]:
        """What `look --json` prints, and the cross-attention by layers. Raises CannotLook, DataError, QueueFull."""
        with self._turn_for(model):
            from dragoman.inspection.summary import cross_attention, summary

            inspection = self._inspected(model, pair, text, translation)
            return {**summary(inspection, ALTERNATIVES), "cross_attention": cross_attention(inspection)}

    def page(self, model: ServedModel, pair: ServedPair, text: str, translation: str | None) -> str:
        """The page of `look --html`. Raises CannotLook, DataError, QueueFull."""
        with self._turn_for(model), TemporaryDirectory(prefix="dragoman-look-") as folder:
            path = Path(folder) / "page.html"
            self._inspected(model, pair, text, translation).to_html(path)
            return path.read_text(encoding="utf-8")

    @contextmanager
    def _turn_for(self, model: ServedModel) -> Iterator[None]:
        """Within the block it is the turn of one request; others wait, up to WAITING of them."""
        if find_spec("torch") is None:
            raise CannotLook(f"{model.name}: looking inside needs PyTorch where it is served, `dragoman[train]`")
        if not self._places.acquire(blocking=False):
            raise QueueFull("others look inside now; try again later", 5)
        try:
            if not self._turn.acquire(timeout=SECONDS):
                raise QueueFull("others look inside now; try again later", 5)
            try:
                yield
            finally:
                self._turn.release()
        finally:
            self._places.release()

    def _inspected(
        self, model: ServedModel, pair: ServedPair, text: str, translation: str | None
    ) -> "BundleInspection":
        from dragoman.inspection.inspect import inspect_bundle

        bundle, network = self._opened(model)
        for side, line in (("source", text), ("target", translation or "")):
            tokens = len(bundle.tokenizer.encode([line], side)[0])
            if tokens > MOST_TOKENS:
                raise DataError(f"{side}: {tokens:,} tokens; look inside at most {MOST_TOKENS}")
        try:
            return inspect_bundle(bundle, network, text, translation, bundle.config.decode, pair.target)
        except ModelError:
            raise CannotLook(f"{model.name}: is of an architecture that cannot be looked into") from None

    def _opened(self, model: ServedModel) -> tuple[Any, Any]:
        """The bundle of a model and its network, which may be those of the call before."""
        key = (model.folder, (model.folder / "bundle.json").stat().st_mtime_ns)
        if self._last is None or self._last[0] != key:
            self._last = None
            from dragoman.workflows.models.dequantise import dequantised

            (bundle,) = open_models([model.folder])
            try:
                self._last = (key, *dequantised(bundle))
            except ModelError as error:
                raise CannotLook(str(error)) from None
        return self._last[1:]
