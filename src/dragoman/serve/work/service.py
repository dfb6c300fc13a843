"""Requests → threads → answers: admission, deadline, cancellation, and the golden sentence. No HTTP.

A request is translated in a thread of its own, which mostly waits for the batcher. There are `places` threads, and a
key has at most half of them; a request beyond that, or with more tokens waiting than `queue_tokens`, is refused at
once: a client that knows can come again, one that waits for minutes cannot.
"""

import asyncio
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from dragoman.errors import DragomanError
from dragoman.serve.models.html_files import HtmlFiles
from dragoman.serve.models.loading import golden_source
from dragoman.serve.models.looking import Looking
from dragoman.serve.models.memories import Memories
from dragoman.serve.models.models import Models
from dragoman.serve.requests.record import OnRequest, current_record
from dragoman.serve.requests.ticket import QueueFull, Ticket
from dragoman.serve.search.batcher import Batcher
from dragoman.serve.search.engine import for_request
from dragoman.serve.store.corrections import CorrectionStore
from dragoman.serve.store.database import ServiceState
from dragoman.serve.store.glossaries import Glossaries
from dragoman.serve.store.keys import KeyStore
from dragoman.serve.store.rates import Rates, SharedRates
from dragoman.serve.watch.metrics import Metrics, as_text
from dragoman.serve.work.stream import StreamedSentence, stream
from dragoman.serve.work.text import Prepare, TextRequest
from dragoman.system.machine import usable_processors
from dragoman.system.processes import checked_by
from dragoman.translator import Translator

T = TypeVar("T")
log = logging.getLogger("dragoman.serve")

# Seconds from one look at the folders of the models to the next.
WATCH = 1.0
# Threads for what is no translation: keys, glossaries, the language of a text.
SHORT_THREADS = 16


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """What the service accepts."""

    places: int = 256
    """Requests that are worked on at a time."""
    queue_tokens: int = 200_000
    """Tokens that may wait when a request is accepted."""
    seconds: float = 60.0
    """Until an answer, for a request of text."""
    characters: int = 100_000
    """Of all texts of a request."""
    texts: int = 1000
    """Texts of a request."""
    body_bytes: int = 4 << 20
    """Of a request."""


class Service:
    """The models, and one batcher for all of them, which searches as many batches at a time as models have threads.

    It is used from one event loop.
    """

    def __init__(
        self,
        models: Models,
        limits: ServiceLimits | None = None,
        memories: Memories | None = None,
        state: ServiceState | None = None,
    ) -> None:
        self.models, self.limits, self.metrics = models, limits or ServiceLimits(), Metrics()
        self.memories, self.state = memories, state or ServiceState()
        self.glossaries, self.looking, self.html_files = Glossaries(self.state.database), Looking(), HtmlFiles()
        self.corrections = CorrectionStore(self.state)
        self.on_request: list[OnRequest] = [self.metrics.on_request]
        """What is called with each request that was answered."""
        models.loader.on_event = lambda name, event: self.metrics.models.labels(name, event).inc()
        self.keys = KeyStore(self.state.database)
        self.rates = SharedRates(self.state.database) if self.state.database.is_server else Rates()
        self.take: Callable[[str, int], Awaitable[float]] = self._take
        """Takes one of a key's requests per minute, as `Rates.take` does; replicas without a server ask elsewhere."""
        self.all_metrics: Callable[[], Awaitable[bytes]] = self._own_metrics
        """The metrics in the text format of Prometheus; one of several processes on a port has those of all."""
        self.open_to_all = False
        """Whether a request needs no key although there are keys."""
        self.batcher = Batcher(
            models.loader.threads or usable_processors(),
            on_batch=self.metrics.on_batch,
            on_queued=self.metrics.queue_seconds.observe,
        )
        self.ready, self.draining = False, False
        self._watching = threading.Thread(target=self._watch, name="models", daemon=True)
        self._closed = threading.Event()
        self.translated_characters, self._counting = 0, threading.Lock()
        self._open = Counter[str]()
        self._threads = ThreadPoolExecutor(self.limits.places, "request")
        self._short_threads = ThreadPoolExecutor(SHORT_THREADS, "short")
        self.metrics.queue_tokens.set_function(lambda: self.batcher.tokens)
        self.metrics.rate.set_function(lambda: self.batcher.tokens_per_second)
        self.metrics.open.set_function(self._open.total)

    async def stream(
        self, request: TextRequest, key: str, gone: Callable[[], "asyncio.Future[None]"]
    ) -> AsyncIterator[StreamedSentence]:
        """The sentences of one text in order, each as soon as it is translated."""
        with self._admitted(key) as ticket:
            sentences = iter(stream(request, self.models, self._prepare(ticket)))
            while (window := await self._run(ticket, partial(next, sentences, None), gone)) is not None:
                for sentence in window:
                    yield sentence

    async def ask(self, work: Callable[[Prepare], T], key: str, gone: Callable[[], "asyncio.Future[None]"]) -> T:
        """`work(prepare)` in a thread, as a request of the sender `key`; `prepare` gives a translator its engine.

        It is cancelled when `gone()` is done. Raises QueueFull, Expired, Cancelled, and what `work` raises.
        """
        with self._admitted(key) as ticket:
            return await self._run(ticket, partial(work, self._prepare(ticket)), gone)

    def run(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """The result of a short work in a thread, such as checking a key: it waits for no translation."""
        return asyncio.get_running_loop().run_in_executor(self._short_threads, work)

    def count_characters(self, characters: int) -> None:
        """Characters of sources have been translated, as the dialect of DeepL reports them."""
        with self._counting:
            self.translated_characters += characters

    async def start(self) -> None:
        """Translate a golden sentence of the first model; from then on the service is ready. Raises ModelError."""
        await self.run(self.golden)
        self._watching.start()
        self.ready = True

    def golden(self) -> None:
        """Translate a golden sentence of the first model; blocks. Raises ModelError."""
        model = next(iter(self.models.models.values()))
        translator = self.models.translator(model, model.pairs[0])
        for_request(translator, self.batcher, Ticket()).translate(golden_source(model.folder))

    def close(self) -> None:
        """End all threads; no request is open."""
        self._closed.set()
        if self._watching.is_alive():
            self._watching.join()
        self._threads.shutdown()
        self._short_threads.shutdown()
        self.batcher.close()
        self.html_files.close()
        if self.memories:
            self.memories.close()
        self.keys.close()
        self.corrections.close()
        self.state.close()

    async def _take(self, key: str, per_minute: int) -> float:
        if isinstance(self.rates, SharedRates):
            return await self.run(partial(self.rates.take, key, per_minute))
        return self.rates.take(key, per_minute)

    async def _own_metrics(self) -> bytes:
        return as_text(self.metrics.collect())

    def _watch(self) -> None:
        """Serve what the folders of the models have, until the end."""
        while not self._closed.wait(WATCH):
            try:
                self.models.refresh()
            except Exception:
                log.exception("the folders of the models could not be looked at")

    def _prepare(self, ticket: Ticket) -> Prepare:
        """Gives a translator the engine of the request, and the memory of its pair."""

        def prepare(translator: Translator) -> Translator:
            shared = for_request(translator, self.batcher, ticket)
            return self.memories.joined(shared) if self.memories else shared

        return prepare

    @contextmanager
    def _admitted(self, key: str) -> Iterator[Ticket]:
        """A ticket for a request, and its place. Raises QueueFull."""
        if self.draining:
            raise QueueFull("the service is about to stop; ask another one, or try again later", 5)
        limits, waiting = self.limits, self.batcher.tokens
        share = math.ceil(limits.places / 2)
        if self._open.total() >= limits.places or self._open[key] >= share or waiting > limits.queue_tokens:
            seconds = max(1, math.ceil(waiting / max(self.batcher.tokens_per_second, 1.0)))
            raise QueueFull("the service has as much work as it accepts; try again later", seconds)
        self._open[key] += 1
        try:
            yield Ticket(key, time.monotonic() + limits.seconds, current_record())
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]

    async def _run(self, ticket: Ticket, work: Callable[[], T], gone: Callable[[], "asyncio.Future[None]"]) -> T:
        """`work()` in a thread; the ticket is cancelled when the client leaves. The thread has ended afterwards."""
        working = asyncio.get_running_loop().run_in_executor(self._threads, partial(_checked, ticket, work))
        leaving = gone()
        try:
            both: list[asyncio.Future[Any]] = [working, leaving]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                ticket.cancel()
            return await working
        except asyncio.CancelledError:  # the server does not wait any longer
            ticket.cancel()
            working.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # else asyncio logs it
            raise
        finally:
            leaving.cancel()


def _checked(ticket: Ticket, work: Callable[[], T]) -> T:
    """`work()`, which looks now and then whether the ticket is valid. Raises Cancelled, Expired, and what it raises."""
    with checked_by(ticket.check):
        return work()


class TooLarge(DragomanError):
    """A request with more text than is accepted."""


def check_size(request: TextRequest, limits: ServiceLimits) -> None:
    """Raises DragomanError for a request of more texts or characters than are accepted."""
    characters = sum(map(len, request.texts))
    if len(request.texts) > limits.texts:
        raise TooLarge(f"{len(request.texts):,} texts; send at most {limits.texts:,} at a time")
    if characters > limits.characters:
        raise TooLarge(f"{characters:,} characters; send at most {limits.characters:,} at a time")
