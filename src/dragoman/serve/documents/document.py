"""A document that was uploaded: what is kept of it on disk, and what is known while it is translated.

Its folder has `facts.json`, written whole at each change, and `files/` with the source, the journal of an interrupted
translation, the translation and its table for review. A folder without `facts.json` is none: it is removed. A file
`fetched` says that the translation was sent and gives way to new documents of its sender.
"""

import hashlib
import hmac
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from dragoman.serve.requests.ticket import Ticket
from dragoman.system.files import write_text_atomically

State = Literal["queued", "translating", "done", "failed"]
FACTS, FILES, FETCHED = "facts.json", "files", "fetched"


class DocumentRequest(BaseModel):
    """How a document is to be translated; `source` None: detected, `target` None: the only one that there is."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)

    source: str | None = None
    """Source language, BCP-47; `auto` or none: detected among those that are served."""
    target: str | None = None
    """Target language, BCP-47; may be left out where there is only one."""
    model: str | None = None
    """Name of a model of `/v1/models`; none: the first one that has the languages."""
    glossary: dict[str, str | list[str]] | None = None
    """Terms and their required translations; the first of several is preferred."""
    glossary_id: str | None = None
    """Also the terms of this glossary of `/v1/glossaries`, or of several with commas between; `source` is needed."""
    columns: list[str] = []
    """Of a table: the columns to translate, by name or number."""
    max_chars: int | None = None
    """The most characters of each translation; what stays longer is flagged."""
    mark: bool = False
    """Mark translations as unreviewed where the format can."""
    update: bool = False
    """Keep the translations that the document has."""


class Facts(BaseModel):
    """What is kept of a document. Times are seconds since 1970."""

    id: str
    key_hash: str
    """Of the key that DeepL's and LibreTranslate's dialects ask for."""
    sender: str
    account: str = ""
    """The id of the key for which its characters are counted; empty: none was needed."""
    per_day: int | None = None
    """Characters that the key may have translated on a day; None: any number."""
    most: int | None = None
    """The most characters that the key may send at a time; None: any number."""
    models: tuple[str, ...] = ()
    """Names of the models that the key may use; none: any."""
    name: str
    request: DocumentRequest
    created: float
    expires: float | None = None
    """When it is removed; None: it is not finished."""
    state: State = "queued"
    attempts: int = 0
    """How often its translation was started and neither ended nor interrupted."""
    error: str = ""
    result: str = ""
    """Name of the translation."""
    source: str = ""
    target: str = ""
    model: str = ""
    """Who translated it, once that is known."""
    units: int = 0
    characters: int = 0
    flagged: int = 0
    warnings: list[str] = []


@dataclass(eq=False)
class StoredDocument:
    """A document in its folder. It is changed under the lock of its store."""

    folder: Path
    facts: Facts
    size: int = 0
    """Bytes of its files."""
    deadline: float | None = None
    """When it expires, on the monotonic clock: the clock of the wall may be set."""
    removed: bool = False
    done: int = 0
    total: int = 0
    started: float | None = None
    ticket: Ticket = field(default_factory=Ticket)

    @property
    def source(self) -> Path:
        """The document as it was uploaded."""
        return self.folder / FILES / self.facts.name

    @property
    def result(self) -> Path:
        """The translated document."""
        return self.folder / FILES / self.facts.result

    @property
    def is_finished(self) -> bool:
        """Whether it is translated, has failed, or was removed."""
        return self.removed or self.facts.state in ("done", "failed")

    @property
    def gives_way(self) -> bool:
        """Whether it is removed where its sender has too many: any service may have sent its translation."""
        return (self.folder / FETCHED).exists()

    @property
    def seconds_left(self) -> float | None:
        """An estimate, by what is done so far; None before the first texts."""
        if self.facts.state != "translating" or self.started is None or not self.done or not self.total:
            return None
        return (time.monotonic() - self.started) * max(0, self.total - self.done) / self.done

    def opens_with(self, key: str) -> bool:
        """Whether this is the key of the document."""
        return hmac.compare_digest(hashed(key), self.facts.key_hash)

    def give_way(self) -> None:
        """The translation was sent to a client that cannot delete it. Raises OSError."""
        (self.folder / FETCHED).touch(mode=0o600)

    def save(self) -> None:
        """Write `facts.json`. Raises DragomanError."""
        write_text_atomically(self.folder / FACTS, self.facts.model_dump_json())

    def measure(self) -> None:
        """Set `size` to the bytes of the files."""
        self.size = sum(path.stat().st_size for path in (self.folder / FILES).iterdir() if path.is_file())


def hashed(key: str) -> str:
    """A key as it is kept: it is random, so that no slow hash is needed."""
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()
