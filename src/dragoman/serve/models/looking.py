"""What a served model computes for one sentence: `look`, by a network of its own, one sentence at a time.

Needs torch and the weights of the model. The network that was used last is kept; imports of torch happen inside.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.errors import ConfigError, DataError, DragomanError, ModelError
from dragoman.installed.opening import open_models
from dragoman.serve.models.models import ServedModel, ServedPair
from dragoman.serve.requests.ticket import QueueFull

if TYPE_CHECKING:
    from dragoman.inspection.inspect import BundleInspection
    from dragoman.inspection.page import LiveModel

# Tokens of a sentence, on either side: a page of more would be beyond what a browser shows.
MOST_TOKENS = 100
# Requests that may wait for their turn, and for how many seconds.
WAITING, SECONDS = 4, 30.0
ALTERNATIVES = 10


class CannotLook(DragomanError):
    """A model that has no weights to compute with, or no torch."""


@dataclass(frozen=True, slots=True)
class _OpenModel:
    """A model that is looked into, with what stays the same from sentence to sentence."""

    key: tuple[Path, int]
    """Its folder, and the time of its last change."""
    bundle: Any
    network: Any
    live: "LiveModel | None"
    """The model for a page, or None for one that no page can run."""
    why_recorded: str
    """Why none can; else empty."""


class Looking:
    """Inspections of sentences, one after the other. Threads may share it."""

    def __init__(self) -> None:
        self._turn, self._places = threading.Lock(), threading.Semaphore(WAITING)
        self._last: _OpenModel | None = None

    def summary(self, model: ServedModel, pair: ServedPair, text: str, translation: str | None) -> dict[str, Any]:
        """What `look --json` prints, and the cross-attention by layers. Raises CannotLook, DataError, QueueFull."""
        with self._turn_for(model):
            from dragoman.inspection.summary import cross_attention, summary

            opened = self._opened(model)
            inspection = _inspected(opened, model, pair, text, translation)
            facts = {**summary(inspection, ALTERNATIVES), "cross_attention": cross_attention(inspection)}
            return facts | {"why_recorded": opened.why_recorded or None}

    def page(self, model: ServedModel, pair: ServedPair, text: str, translation: str | None) -> tuple[bytes, ...]:
        """The page of `look --html` in parts, of which the weights are the same object in each.

        It runs the model where a page can. It has no film, which would be computed again for each request. Raises
        CannotLook, DataError, QueueFull.
        """
        with self._turn_for(model):
            from dragoman.inspection.page import render, render_parts
            from dragoman.workflows.models.look import searching_as

            opened = self._opened(model)
            inspection = replace(_inspected(opened, model, pair, text, translation), why_recorded=opened.why_recorded)
            if opened.live is None:
                return (render([inspection.payload()]).encode(),)
            live = searching_as(opened.live, inspection)
            return render_parts([inspection.payload(live=live)], live)

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

    def _opened(self, model: ServedModel) -> _OpenModel:
        """The bundle of a model and its network, which may be those of the call before."""
        key = (model.folder, (model.folder / "bundle.json").stat().st_mtime_ns)
        if self._last is None or self._last.key != key:
            self._last = None
            from dragoman.workflows.models.dequantise import dequantised

            (bundle,) = open_models([model.folder])
            try:
                self._last = _OpenModel(key, *dequantised(bundle), *_packed(bundle, model))
            except ModelError as error:
                raise CannotLook(str(error)) from None
        return self._last


def _packed(bundle: Any, model: ServedModel) -> tuple["LiveModel | None", str]:
    """The model for a page; None, and why, for one that no page can run."""
    from dragoman.workflows.models.look import packed

    try:
        return packed(bundle), ""
    except (ConfigError, ModelError) as error:
        return None, str(error).replace(str(model.folder), model.name)


def _inspected(
    opened: _OpenModel, model: ServedModel, pair: ServedPair, text: str, translation: str | None
) -> "BundleInspection":
    """A sentence without the film of its model's run. Raises CannotLook, DataError."""
    from dragoman.inspection.inspect import inspect_bundle

    bundle = opened.bundle
    for side, line in (("source", text), ("target", translation or "")):
        tokens = len(bundle.tokenizer.encode([line], side)[0])
        if tokens > MOST_TOKENS:
            raise DataError(f"{side}: {tokens:,} tokens; look inside at most {MOST_TOKENS}")
    try:
        search = bundle.config.decode
        inspection = inspect_bundle(bundle, opened.network, text, translation, search, pair.target, pair.source)
    except ModelError:
        raise CannotLook(f"{model.name}: is of an architecture that cannot be looked into") from None
    return replace(inspection, run=None)
