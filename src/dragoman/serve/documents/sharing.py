"""The documents of the other services of a state folder, such as other replicas: found on disk, by their facts alone.

Each service translates what was uploaded to it, in a folder of its own. Any of them answers for all: it reads the
facts of a document as they are now, sends its files, and removes it by removing its facts, which its own service
notices. How far a translation is that another service is at, nobody else knows.
"""

import re
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from dragoman.serve.documents.document import FACTS, Facts, StoredDocument

ID = re.compile(r"[0-9A-F]{32}")


def other_document(state: Path, own_homes: Collection[Path], name: str) -> StoredDocument | None:
    """The document with this id in the home of another service."""
    if not ID.fullmatch(name):
        return None
    documents = (_read(home / name) for home in _homes(state, own_homes))
    return next((document for document in documents if document), None)


def other_documents(state: Path, own_homes: Collection[Path], sender: str) -> Iterator[StoredDocument]:
    """The documents of a sender in the homes of other services."""
    for home in _homes(state, own_homes):
        with suppress(OSError):
            for folder in sorted(home.iterdir()):
                document = _read(folder) if ID.fullmatch(folder.name) else None
                if document and document.facts.sender == sender:
                    yield document


def is_there(document: StoredDocument) -> bool:
    """Whether no service has removed it."""
    return not document.removed and (document.folder / FACTS).exists()


def _homes(state: Path, own_homes: Collection[Path]) -> list[Path]:
    return [home for home in sorted(state.glob("documents*")) if home not in own_homes and home.is_dir()]


def _read(folder: Path) -> StoredDocument | None:
    try:
        facts = Facts.model_validate_json((folder / FACTS).read_bytes())
        document = StoredDocument(folder, facts)
        document.measure()
    except (OSError, ValidationError):
        return None
    if facts.expires is not None:
        document.deadline = time.monotonic() + max(0.0, facts.expires - time.time())
    return document
