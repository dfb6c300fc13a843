"""The documents of all senders: private folders on disk, what each sender may store, whose turn it is, when they end.

In the state folder they survive the service: finished ones wait there until they expire, others are queued again and
continue where they stopped.

Several services, such as replicas, may share the state folder. Each translates what was uploaded to it, in a folder of
its own. Any of them answers for all: it reads the facts of a document as they are now, sends its files, and removes it
by removing its facts, which its own service notices. How far a translation is that another service is at, nobody else
knows.
"""

import logging
import math
import re
import secrets
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pydantic import ValidationError

from dragoman.errors import DragomanError
from dragoman.serve.documents.document import FACTS, FILES, DocumentRequest, Facts, StoredDocument, hashed
from dragoman.serve.http.problems import Problem, too_large
from dragoman.serve.store.keys import ApiKey
from dragoman.serve.watch.metrics import DocumentTally
from dragoman.system.files import locked, storage_error

log = logging.getLogger("dragoman.serve")

ID = re.compile(r"[0-9A-F]{32}")
# A document that ended the service this often is not tried again.
MOST_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """What the service accepts of documents."""

    bytes: int = 32 << 20
    """Of one document."""
    documents: int = 20
    """Of one sender, from the upload until they are removed."""
    stored_bytes: int = 256 << 20
    """Of one sender, sources and translations."""
    seconds: float = 3600.0
    """After which a finished document is removed."""
    workers: int = 8
    """Documents that are translated at a time; at most half of them are of one sender."""


@dataclass(eq=False)
class Incoming:
    """A document that is being uploaded, and the bytes that have come."""

    sender: str
    folder: Path
    bytes: int = 0


class DocumentStore:
    """The documents; `open` before use. Its methods may be called from any thread."""

    def __init__(self, state: Path, limits: DocumentLimits | None = None) -> None:
        self.limits = limits or DocumentLimits()
        self._state, self._homes = state, list[Path]()
        self._documents: dict[str, StoredDocument] = {}
        self._incoming: list[Incoming] = []
        self.closing = False
        self._changed = threading.Condition()
        self._held = ExitStack()

    def open(self) -> None:
        """Take the folder, and the documents that an earlier service left in it. Raises DragomanError."""
        try:
            for number in count(1):
                home = self._state / ("documents" if number == 1 else f"documents-{number}")
                if not home.exists() and self._homes:
                    break
                self._claim(home)
        except OSError as error:
            raise storage_error(self._state, error) from None
        documents = [
            document for home in self._homes for folder in sorted(home.iterdir()) if (document := _taken_over(folder))
        ]
        for document in sorted(documents, key=lambda document: document.facts.created):
            self._adopt(document)

    def _claim(self, home: Path) -> None:
        """Use a folder unless another service does."""
        home.mkdir(mode=0o700, exist_ok=True)
        home.chmod(0o700)
        with suppress(BlockingIOError):
            self._held.enter_context(locked(home.with_name(f".{home.name}.lock"), wait=False))
            self._homes.append(home)

    def _adopt(self, document: StoredDocument) -> None:
        facts = document.facts
        if facts.state == "translating":
            facts.state = "queued"
            if facts.attempts >= MOST_ATTEMPTS:
                facts.state, facts.error = "failed", "the service ended while it was translated, several times"
                facts.expires = time.time() + self.limits.seconds
            document.save()
        if facts.expires is not None:
            left = min(max(0.0, facts.expires - time.time()), self.limits.seconds)
            document.deadline = time.monotonic() + left
        self._documents[facts.id] = document

    def close(self) -> None:
        """Let `take` end, and cancel what is translated. What is on disk stays there."""
        with self._changed:
            self.closing = True
            tickets = [document.ticket for document in self._documents.values()]
            self._changed.notify_all()
        for ticket in tickets:
            ticket.cancel()

    def release(self) -> None:
        """Unlock the folders; no thread works in them any more."""
        self._held.close()

    # --- uploads ---------------------------------------------------------------------------------------------------

    @contextmanager
    def incoming(self, sender: str, size: int) -> Iterator[Incoming]:
        """A private folder for an upload of about `size` bytes; what `add` did not take is removed. Raises Problem."""
        folder = None
        with self._changed:
            if not self._homes or self.closing:
                raise Problem(503, "starting", "The service is busy", "the service starts or stops; try again", 5)
        others = self._others_of(sender)
        with self._changed:
            self._refuse_more(sender, size, others)
            incoming = Incoming(sender, self._homes[0])
            self._incoming.append(incoming)
        try:
            try:
                folder = Path(tempfile.mkdtemp(prefix=".upload-", dir=self._homes[0]))  # of mode 0700
                incoming.folder = folder
                (folder / FILES).mkdir()
            except OSError as error:
                detail = f"the document cannot be stored: {(error.strerror or 'refused').lower()}; try again later"
                raise Problem(507, "storage", "The document cannot be stored", detail) from None
            yield incoming
        finally:
            with self._changed:
                self._incoming.remove(incoming)
            if folder:
                shutil.rmtree(folder, ignore_errors=True)  # which `add` has renamed

    def count(self, incoming: Incoming, size: int) -> None:
        """Bytes have come. Raises Problem if they are more than accepted."""
        incoming.bytes += size
        if incoming.bytes > self.limits.bytes:
            raise too_large(f"the document is larger than {self.limits.bytes:,} bytes; divide it")
        with self._changed:
            self._refuse_more(incoming.sender, 0)

    def assign(self, incoming: Incoming, sender: str) -> None:
        """The upload is of this sender, whose key it has brought. Raises Problem if that sender has too much."""
        if sender == incoming.sender:
            return
        others = self._others_of(sender)
        with self._changed:
            self._refuse_more(sender, max(1, incoming.bytes), others)
            incoming.sender = sender

    def _refuse_more(self, sender: str, size: int, others: Sequence[StoredDocument] = ()) -> None:
        """Raises Problem if this is too much for the sender, also without the documents that give way."""
        documents = [*others, *(document for document in self._documents.values() if document.facts.sender == sender)]
        documents.sort(key=lambda document: document.facts.created)
        removed: list[StoredDocument] = []
        while detail := self._excess(sender, size, documents):
            old = next((document for document in documents if document.gives_way), None)
            if old is None:
                ends = [document.deadline for document in documents if document.deadline is not None]
                wait = max(1, math.ceil(min(ends) - time.monotonic())) if ends else 60
                raise Problem(429, "too-many-documents", "Too many documents", f"{detail}; fetch and delete some", wait)
            documents.remove(old)
            removed.append(old)
        for old in removed:
            self.remove(old)

    def _excess(self, sender: str, size: int, documents: Sequence[StoredDocument]) -> str:
        """What would be too much with `size` bytes more; "" if nothing is."""
        coming = [incoming for incoming in self._incoming if incoming.sender == sender]
        stored = sum(document.size for document in documents) + sum(incoming.bytes for incoming in coming)
        if size and len(documents) + len(coming) >= self.limits.documents:
            return f"{len(documents) + len(coming):,} of your documents are here"
        if stored + size > self.limits.stored_bytes:
            return f"your documents would have more than {self.limits.stored_bytes:,} bytes"
        return ""

    def add(
        self, incoming: Incoming, source: Path, request: DocumentRequest, account: ApiKey | None = None
    ) -> tuple[StoredDocument, str]:
        """The upload as a document in the queue, on disk, and its key, which is kept nowhere.

        Its characters are counted for the `account`. Raises DragomanError.
        """
        key = secrets.token_hex(32).upper()
        facts = Facts(
            id=secrets.token_hex(16).upper(),
            key_hash=hashed(key),
            sender=incoming.sender,
            name=source.name,
            request=request,
            created=time.time(),
        )
        if account:
            facts.account, facts.per_day, facts.most = account.id, account.characters_per_day, account.characters
            facts.models = account.models
        document = StoredDocument(incoming.folder, facts, incoming.bytes)
        document.save()
        try:
            folder = incoming.folder.rename(self._homes[0] / facts.id)
        except OSError as error:
            raise storage_error(Path(facts.name), error) from None
        with self._changed:
            document.folder = folder
            self._documents[facts.id] = document
            self._changed.notify_all()
        return document, key

    # --- requests --------------------------------------------------------------------------------------------------

    def named(self, name: str) -> StoredDocument | None:
        """The document with this id, of any sender."""
        with self._changed:
            document = self._documents.get(name)
        if document is None:
            document = self._other(name)
        elif not _is_there(document):
            self.remove(document)
            return None
        return None if document is None or _is_expired(document) else document

    def of(self, sender: str) -> list[StoredDocument]:
        """The documents of a sender, in the order in which they came."""
        with self._changed:
            here = [
                document
                for document in self._documents.values()
                if document.facts.sender == sender and _is_there(document)
            ]
        documents = [*here, *self._others_of(sender)]
        return sorted(
            (document for document in documents if not _is_expired(document)),
            key=lambda document: document.facts.created,
        )

    def tally(self) -> DocumentTally:
        """What is stored here, of all senders."""
        with self._changed:
            documents = [*self._documents.values()]
        states = Counter[str](document.facts.state for document in documents)
        waiting = [document.facts.created for document in documents if not document.is_finished]
        age = max(0.0, time.time() - min(waiting)) if waiting else 0.0
        return DocumentTally(states, sum(document.size for document in documents), age)

    def remove(self, document: StoredDocument) -> None:
        """Forget a document; its files go now, or as soon as nobody works on them."""
        with self._changed:
            if document.removed:
                return
            document.removed = True
            self._documents.pop(document.facts.id, None)  # that of another service is not in it
            works = document.facts.state == "translating"
        with suppress(OSError):
            (document.folder / FACTS).unlink()  # first: a service that is killed now does not find it again
        document.ticket.cancel()
        if not works:
            shutil.rmtree(document.folder, ignore_errors=True)

    def expire(self) -> None:
        """Remove what is finished long enough, and what another service has removed."""
        with self._changed:
            expired = [
                document for document in self._documents.values() if _is_expired(document) or not _is_there(document)
            ]
        for document in expired:
            self.remove(document)

    def _other_homes(self) -> list[Path]:
        return [home for home in sorted(self._state.glob("documents*")) if home not in self._homes and home.is_dir()]

    def _other(self, name: str) -> StoredDocument | None:
        """The document with this id in the folder of another service."""
        homes = self._other_homes() if ID.fullmatch(name) else []
        return next((document for home in homes if (document := _read(home / name))), None)

    def _others_of(self, sender: str) -> list[StoredDocument]:
        """The documents of a sender in the folders of other services."""
        folders = list[Path]()
        for home in self._other_homes():
            with suppress(OSError):
                folders += sorted(folder for folder in home.iterdir() if ID.fullmatch(folder.name))
        documents = filter(None, map(_read, folders))
        return [document for document in documents if document.facts.sender == sender]

    # --- workers ---------------------------------------------------------------------------------------------------

    def take(self) -> StoredDocument | None:
        """The next document to translate, when there is one: of the sender with the fewest that are; None: the end."""
        with self._changed:
            while not self.closing:
                documents = self._documents.values()
                busy = Counter(document.facts.sender for document in documents if document.facts.state == "translating")
                share = math.ceil(self.limits.workers / 2)
                queued = [
                    document
                    for document in documents
                    if document.facts.state == "queued" and busy[document.facts.sender] < share and _is_there(document)
                ]
                if queued:
                    next_document = min(queued, key=lambda document: busy[document.facts.sender])
                    next_document.facts.state, next_document.started = "translating", time.monotonic()
                    return next_document
                self._changed.wait()
        return None

    def wait(self, seconds: float) -> bool:
        """Whether the store is still open after this time."""
        with self._changed:
            return not self._changed.wait_for(lambda: self.closing, seconds)

    def save(self, document: StoredDocument) -> None:
        """Write the facts of a document, unless it was removed meanwhile. Raises DragomanError."""
        with self._changed:
            if _is_there(document):
                document.save()

    def end(self, document: StoredDocument, state: str, error: str = "") -> None:
        """A worker has done what it can: `done`, `failed`, or `queued` again because the service stops."""
        facts = document.facts
        if not _is_there(document):
            self.remove(document)
        with self._changed:
            facts.error = error
            if state == "queued":
                facts.state, facts.attempts = "queued", facts.attempts - 1
            else:
                facts.state = "done" if state == "done" else "failed"
                facts.expires = time.time() + self.limits.seconds
                document.deadline = time.monotonic() + self.limits.seconds
            if not document.removed:
                with suppress(DragomanError, OSError):  # a full disk: it is known until the service ends
                    document.measure()
                    document.save()
            self._changed.notify_all()
        if document.removed:
            shutil.rmtree(document.folder, ignore_errors=True)


def _read(folder: Path) -> StoredDocument | None:
    try:
        document = StoredDocument(folder, Facts.model_validate_json((folder / FACTS).read_bytes()))
        document.measure()
    except (OSError, ValidationError):
        return None
    if (expires := document.facts.expires) is not None:
        document.deadline = time.monotonic() + max(0.0, expires - time.time())
    return document


def _taken_over(folder: Path) -> StoredDocument | None:
    """The document in a folder; what is none, such as an upload that was not finished, is removed."""
    if not folder.is_dir() or folder.is_symlink():
        return None
    document = _read(folder)
    if document and document.facts.id == folder.name and (folder / FILES / Path(document.facts.name).name).is_file():
        return document
    log.warning("a folder without a whole document was removed")
    shutil.rmtree(folder, ignore_errors=True)
    return None


def _is_there(document: StoredDocument) -> bool:
    """Whether no service has removed it."""
    return not document.removed and (document.folder / FACTS).exists()


def _is_expired(document: StoredDocument) -> bool:
    return document.deadline is not None and document.deadline <= time.monotonic()
