"""Threads that translate the stored documents: by the workflow of documents, through the batcher of all requests.

A document has its own turns in the batcher, as any request has, and asks for little at a time: a short text that comes
waits for the batches that are being searched and not for the document.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Query
from dragoman.errors import ConfigError, DataError, DragomanError
from dragoman.serve.documents.document import DocumentRequest, Facts, StoredDocument
from dragoman.serve.documents.store import DocumentStore
from dragoman.serve.models.models import Models, ServedModel, ServedPair
from dragoman.serve.requests.ticket import Cancelled, Ticket
from dragoman.serve.search.engine import SharedEngine, for_request
from dragoman.serve.work.service import Service, TooLarge
from dragoman.serve.work.text import choice_by_text
from dragoman.system.processes import checked_by
from dragoman.translator import Translator
from dragoman.workflows.documents.documents import DocumentTask, run_documents
from dragoman.workflows.listener import Listeners, Progress

log = logging.getLogger("dragoman.serve")

# Of the batcher's budget: the most that a document has in the queue. And the most warnings kept.
BATCHES, MOST_WARNINGS = 4, 100


class DocumentWorkers:
    """The threads, for the documents of a store, with the models, the batcher and the memory of a service."""

    def __init__(self, store: DocumentStore, service: Service) -> None:
        self.store, self.service = store, service
        works: list[Callable[[], None]] = [self._work] * store.limits.workers
        self._threads = [threading.Thread(target=work, daemon=True) for work in (*works, self._expire)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self, seconds: float = 30.0) -> None:
        """Wait for the end of the threads; the store has been closed."""
        for thread in self._threads:
            if thread.ident:
                thread.join(seconds)

    def _expire(self) -> None:
        while self.store.wait(min(30.0, self.store.limits.seconds / 4)):
            self.store.expire()

    def _work(self) -> None:
        while document := self.store.take():
            state, error = "failed", "the service failed on this document; its log names the cause by the document's id"
            try:
                self._translate(document)
                state, error = "done", ""
            except Cancelled:
                state, error = "queued", ""
            except DragomanError as raised:
                error = _plain(raised, document)
            except Exception as raised:  # whatever it is, the service lives
                hidden = type("Hidden", (Exception,), {})(type(raised).__name__).with_traceback(raised.__traceback__)
                log.error("document %s: %s", document.facts.id, type(raised).__name__, exc_info=hidden)
            finally:
                if state != "queued":  # before anyone sees that it has ended
                    self.service.metrics.documents_ended.labels(state).inc()
                self.store.end(document, state, error)

    def _translate(self, document: StoredDocument) -> None:
        """Translate a document; what an earlier attempt has finished is not translated again."""
        facts, request = document.facts, document.facts.request
        facts.attempts += 1
        document.ticket = Ticket(facts.sender)
        self.store.save(document)
        if document.removed or self.store.closing:
            raise Cancelled("nobody waits for it any more")
        task = DocumentTask(
            (document.source,),
            glossary=request.glossary,
            update=request.update,
            columns=tuple(request.columns),
            mark=request.mark,
            max_chars=request.max_chars,
            resume=True,
            force=True,
        )
        facts.warnings = []
        listener = _Watcher(document)

        def choose(texts: Sequence[str]) -> Translator:
            service = self.service
            model, pair = chosen(request, service.models, texts, facts.models)
            facts.model, facts.source, facts.target = model.name, pair.source, pair.target
            translator = service.models.translator(model, pair)
            shared = for_request(translator, service.batcher, document.ticket, PatientEngine)
            return service.memories.joined(shared) if service.memories else shared

        journals = list(document.source.parent.glob("*.partial"))
        with checked_by(document.ticket.check), self._charged(facts) as charge:
            try:
                result = run_documents(task, choose, [listener], charge)
            except ConfigError:
                if not journals:
                    raise
                for journal in journals:  # of another model or version, or damaged
                    journal.unlink(missing_ok=True)
                result = run_documents(task, choose, [listener], charge)
        (file,) = result.files
        facts.result, facts.units, facts.flagged = file.target.name, file.units, file.flagged
        facts.characters = file.characters
        self.service.count_characters(file.characters)

    @contextmanager
    def _charged(self, facts: Facts) -> Iterator[Callable[[int], None]]:
        """Counts the characters of a document for its key when they are known, unless the block fails.

        Raises TooLarge and OverQuota if the key may not have that number.
        """
        keys, counted = self.service.keys, list[tuple[int, str]]()

        def charge(characters: int) -> None:
            if facts.most is not None and characters > facts.most:
                raise TooLarge(f"{characters:,} characters; the key may send at most {facts.most:,} at a time")
            if facts.account and not counted:
                counted.append((characters, keys.use(facts.account, characters, facts.per_day)))

        try:
            yield charge
        except BaseException:
            for characters, day in counted:
                keys.give_back(facts.account, characters, day)
            raise


class PatientEngine(SharedEngine):
    """A `SharedEngine` that has few sentences in the queue at a time, so that there is place for others."""

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        """`Engine.translate`; what depends on the other queries of a call stays one call."""
        if options.method != "beam":
            return super().translate(queries, options)
        hypotheses: list[list[Hypothesis]] = []
        begin, most = 0, BATCHES * self.batcher.budget
        while begin < len(queries):
            end, tokens = begin, 0
            while end < len(queries) and (end == begin or tokens + len(queries[end].source) <= most):
                tokens += len(queries[end].source)
                end += 1
            hypotheses += super().translate(queries[begin:end], options)
            begin = end
        return hypotheses


def chosen(
    request: DocumentRequest, models: Models, texts: Sequence[str], allowed: Sequence[str]
) -> tuple[ServedModel, ServedPair]:
    """The model and the pair for a document with these texts, of the models that are `allowed`, or of all.

    Raises UnknownLanguage, UnknownModel, DataError.
    """
    names = [request.model] if request.model else allowed
    if request.source:
        return models.choose(request.source, request.target, names)
    sources = models.sources_to(request.target, names)
    choice = choice_by_text("\n".join(texts), sources, models, request.target, names)
    if choice is None:
        raise DataError(f"the document is in {request.target} already")
    return choice.model, choice.pair


class _Watcher(Listeners):
    """Keeps the progress of a document, and what is not as intended."""

    def __init__(self, document: StoredDocument) -> None:
        super().__init__()
        self.document = document

    def on_progress(self, progress: Progress) -> None:
        if progress.task == "translating" and progress.total:
            self.document.total, self.document.done = progress.total, progress.done

    def on_warning(self, text: str) -> None:
        if len(self.document.facts.warnings) < MOST_WARNINGS:
            self.document.facts.warnings.append(_without_folder(text, self.document.source.parent))


def _plain(error: DragomanError, document: StoredDocument) -> str:
    """The error without folders of the service, and without what is to be done on a command line."""
    first = error.__cause__ if isinstance(error.__cause__, DragomanError) else error
    return _without_folder(" ".join(str(first).split()), document.source.parent)


def _without_folder(text: str, folder: Path) -> str:
    return text.replace(f"{folder}/", "").replace(str(folder), "")
