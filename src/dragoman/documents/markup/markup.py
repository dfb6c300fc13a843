"""XML of any kind as a text: a whole document, or a fragment of one such as `Press <b>Stop</b>.`

Some tags are the borders of units, others are codes inside of a sentence. Which, is given by name or found out: an
element that has text next to it somewhere is inside of sentences wherever it occurs, so are those that usually are
(`b`, `span`, `g`), and the others are borders. Only text is translated; tags, attributes and comments stay byte for
byte.
"""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.spans import Item, located, pieces, splices, written
from dragoman.documents.core.splice import Decoded, UnreadableTranslation, spliced
from dragoman.documents.markup.html import INLINE
from dragoman.documents.xml.elements import Element, plain_text, read_elements
from dragoman.documents.xml.spans import text_items
from dragoman.documents.xml.text import escape

# XLIFF's, besides those of HTML.
_INLINE = INLINE | frozenset(("g", "x", "bx", "ex", "ph", "pc", "bpt", "ept", "it", "mrk", "sc", "ec", "cp"))
# Of HTML, DocBook and the like: their tags are borders wherever they are.
_BLOCKS = frozenset((
    "body", "caption", "dd", "div", "dl", "dt", "entry", "h1", "h2", "h3", "h4", "h5", "h6", "head", "item", "li",
    "list", "listitem", "ol", "p", "par", "para", "paragraph", "row", "section", "table", "td", "th", "title", "tr",
    "ul",
))  # fmt: skip
# Characters of ignored text that the model sees in its sentence.
_SHOWN = 100


class LostTags(UnreadableTranslation):
    """A translation that has not all of the tags of its source."""


@dataclass(frozen=True, slots=True)
class Tags:
    """What tags mean, by the names of their elements, with their prefixes."""

    splitting: frozenset[str] = frozenset()
    """Those that are the borders of units."""
    non_splitting: frozenset[str] = frozenset()
    """Those that are inside of sentences."""
    ignored: frozenset[str] = frozenset()
    """Those whose content is copied."""
    outline: bool = True
    """Whether it is found out which others are borders; otherwise none is."""
    lines: bool = False
    """Whether a line break is one of the translation; otherwise it is white space."""
    shown: bool = True
    """Whether the model sees what is ignored in its sentence, if that is short."""


ANY_TAGS = Tags()


def parse(path: Path, content: bytes, tags: Tags) -> Document:
    """The units of XML; `path` is for errors.

    Raises DataError with line and column for what is not well-formed, nested deeper than 256 elements or declares
    entities.
    """
    decoded, root = _read(path, content)
    reader = _MarkupReader(decoded.text, root, tags)
    listed = [piece for run in reader.runs for piece in pieces(run, decoded.text)]
    return Document(path, located(decoded.text, listed), (decoded, root, listed))


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The XML with the translations in place of its texts. Raises LostTags if a tag of the source would be missing."""
    decoded, root, listed = document.skeleton
    changes = splices(
        decoded.text, listed, translations, lambda piece, text, source: written(piece, text, escape, source)
    )
    content = spliced(decoded, changes)
    again, other = _read(document.path, content)
    if _tags(decoded, root) != _tags(again, other):
        raise LostTags(f"{document.path}: its translation has other tags; nothing was written, please report it")
    file.write(content)


def _read(path: Path, content: bytes) -> tuple[Decoded, Element]:
    """The text, and an element around all of it, or around its root."""
    head = content.removeprefix(b"\xef\xbb\xbf")
    if not head.startswith((b"<?xml", b"<!DOCTYPE")):
        return read_elements(str(path), content, namespaces=False, fragment=True)
    decoded, root = read_elements(str(path), content, namespaces=False)
    return decoded, replace(root, name="", opened=root.begin, closing=root.end, children=[root])


def _tags(decoded: Decoded, root: Element) -> Counter[str]:
    """How often there is each start tag, as it is written."""
    return Counter(decoded.text[element.begin : element.opened] for element in root.walk() if element.name)


class _MarkupReader:
    """The runs of text of an element and of all below it."""

    def __init__(self, text: str, root: Element, tags: Tags) -> None:
        self.text, self.root, self.tags = text, root, tags
        self._in_text = self._names_in_text() if tags.outline else set()
        ignored = [element for element in root.walk() if element.name in tags.ignored]
        texts = {(text[element.begin : element.end], self._ignored_text(element)) for element in ignored}
        self._seen = Counter(seen for _, seen in texts)
        self.runs: list[list[Item]] = [[]]
        """The items between two borders."""
        self._collect(root)

    def _collect(self, element: Element) -> None:
        at = element.opened
        for child in element.children:
            self.runs[-1] += text_items(self.text, at, child.begin, lines=self.tags.lines)
            if child.name in self.tags.ignored:
                self.runs[-1].append(self._ignored(child))
            elif self._is_border(child.name):
                self.runs.append([])
                self._collect(child)
                self.runs.append([])
            elif not child.children and not self.text[child.opened : child.closing].strip():
                self.runs[-1].append(Item("alone", child.begin, child.end, child.name))
            else:
                self.runs[-1].append(Item("open", child.begin, child.opened, child.name))
                self._collect(child)
                self.runs[-1].append(Item("close", child.closing, child.end, child.name))
            at = child.end
        self.runs[-1] += text_items(self.text, at, element.closing, lines=self.tags.lines)

    def _is_border(self, name: str) -> bool:
        if name in self.tags.splitting or not self.tags.outline or name in self.tags.non_splitting:
            return name in self.tags.splitting
        local = name.rpartition(":")[2].lower()
        return local not in _INLINE and (local in _BLOCKS or name not in self._in_text)

    def _names_in_text(self) -> set[str]:
        """The names of elements with text next to them, but for those that only hold several others."""
        names = set[str]()
        for parent in self.root.walk():
            if self._has_text(parent):
                names |= {child.name for child in parent.children if len(child.children) < 2 or self._has_text(child)}
        return names

    def _has_text(self, element: Element) -> bool:
        begins = [element.opened, *(child.end for child in element.children)]
        ends = [*(child.begin for child in element.children), element.closing]
        parts = (text_items(self.text, *span, lines=False) for span in zip(begins, ends, strict=True))
        return any(item.kind == "text" and item.text.strip() for part in parts for item in part)

    def _ignored(self, element: Element) -> Item:
        """An element that is copied: by its text if the model is to see it, and no other has the same."""
        seen = self._ignored_text(element)
        if self.tags.shown and 0 < len(seen) <= _SHOWN and self._seen[seen] == 1:
            return Item("protected", element.begin, element.end, seen)
        return Item("alone", element.begin, element.end, element.name)

    def _ignored_text(self, element: Element) -> str:
        return " ".join(plain_text(self.text, element).split())
