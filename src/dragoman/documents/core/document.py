"""What every format of documents has in common: units of text, and a skeleton that takes their translations.

A format is a module with `read` and `write`, and an entry in `documents.formats`:

    read(path, options)                        file → `Document`: its units in order, its skeleton
    write(document, translations, options, file)   one translation per unit → the bytes of the translated file

A unit whose translation is None stays as it is in the source: writing with nothing but None gives back the same bytes
where the format allows it, otherwise an equal tree.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from dragoman.memory import MemoryMatch
from dragoman.text.words.inline import InlineText


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    """What the reader and the writer of a document are asked for."""

    source: str
    """Language of the text to translate, a BCP-47 tag."""
    target: str
    """Language of the translation, a BCP-47 tag: for a header, an attribute, a plural rule."""
    update: bool = False
    """Keep the translations that the document has: only units without one are read."""
    columns: tuple[str, ...] = ()
    """Of a table (`.csv`, `.tsv`): the columns to translate, by name or by number from 1; empty: all."""
    mark: bool = False
    """Mark each written translation as unreviewed where the format can: `fuzzy` in PO, `needs-review` in XLIFF."""
    suffix: str = ""
    """How the name of the translation ends, for a format that is written as others: ".docx" or ".md" for a PDF."""
    similar: Callable[[str], Sequence[MemoryMatch]] = lambda text: ()
    """Translations of similar texts, which PO and XLIFF name next to a translation."""
    target_column: int | None = None
    """Of a table: the number from 1 of the column for the translations of `columns`; None: in place of the texts."""
    any_language: bool = False
    """Read the translations that a PO or XLIFF file has even if it says that they are in another language."""
    confirmed: bool = False
    """Read what a person has confirmed: locked segments of XLIFF too; with `update`, what waits for a review is read as
    if it had no translation."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a document that is translated as a whole: a paragraph, a message, a cell."""

    source: InlineText
    location: str
    """Where it is, for people: "line 12", "slide 3", "messages.hello"."""
    context: str = ""
    """What the document says about it: a context, a comment, a key."""
    patterns: tuple[str, ...] | None = None
    """Names of the patterns of `text.terms.protect` that find its placeholders; None: the usual ones."""
    max_length: int | None = None
    """The most characters of its translation that the document allows."""
    existing: InlineText | None = None
    """The translation that the document already has, complete or not."""
    label: InlineText | None = None
    """What the document has for `source`, where that is without the mark of an accelerator key."""


@dataclass(frozen=True, slots=True)
class Document:
    """What `read` found. `units` can be iterated over more than once, and need not be in memory."""

    path: Path
    units: Iterable[Unit]
    skeleton: Any = None
    """All the rest, as the format's own `write` needs it."""
    notices: tuple[str, ...] = ()
    """What a person should know: "a digital signature, which is no longer valid"."""
    remarks: list[str] = field(default_factory=list)
    """What `write` adds for people: "line 4: not translated, because the markup around it would change"."""
    again: DocumentOptions | None = None
    """What the reader of its translation is asked for, where that is not the same: the columns that were guessed."""


Translations = Iterable[InlineText | None]


class Format(Protocol):
    """The module of a format."""

    def read(self, path: Path, options: DocumentOptions) -> Document:
        """The document of a file. Raises DataError, with the line if there are lines, for what is not of the format."""

    def write(self, document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
        """Write the document with `translations`: one for each unit, in order, each taken when its turn comes."""
