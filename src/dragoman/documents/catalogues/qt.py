"""Translations of Qt (`.ts`): each `<source>` is translated into `<translation>`. All else stays.

With `update` only messages that are unfinished or empty. What is vanished or obsolete stays. A message with numbers has
as many forms as Qt counts with in the target language. The mark of an accelerator key (`&Open`) is set again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from dragoman.documents.catalogues.po_header import rule_of
from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.labels import length_limit, with_mark, without_mark
from dragoman.documents.core.passage import ENTITY, UNFIT, plain, units_of
from dragoman.documents.core.splice import Decoded, Splice, indent_before
from dragoman.documents.core.values import Value, Values, document_of, write_values
from dragoman.documents.xml.elements import Element, plain_text, read_elements, with_attribute
from dragoman.documents.xml.text import escape
from dragoman.errors import DataError
from dragoman.text.words.language import primary_language, same_language

_KEEP = re.compile(rf"%L?(?:n|\d{{1,2}})|{ENTITY}")
_COMMENTS = ("comment", "extracomment", "translatorcomment")
# Where Qt counts otherwise than gettext.
_FORMS = {"ga": 3, "mk": 3, "cy": 5, "br": 2, "hy": 2}


@dataclass(frozen=True, slots=True)
class _QtMessage:
    """A message; `forms` is how many it has, None if it has no numbers."""

    holder: Element
    source: Element
    translation: Element | None
    name: str
    forms: int | None
    existing: str


def read(path: Path, options: DocumentOptions) -> Document:
    """The sources of a file; with `update` those whose translation is not finished."""
    decoded, root = read_elements(str(path), path.read_bytes())
    if root.name != "TS":
        raise DataError(f"{path}:{root.line}: no translations of Qt, but <{root.name}>; check the file")
    values, messages, notices = [], dict[int, _QtMessage](), []
    for message in _messages(decoded.text, root, options):
        text, line = plain_text(decoded.text, message.source), message.source.line
        if message.source.children or UNFIT.search(text):
            notices.append(f"line {line}: has characters that no text has; left unchanged")
            continue
        notes = [plain_text(decoded.text, child) for child in message.holder.children if child.name in _COMMENTS]
        comment = "; ".join(" ".join(note.split()) for note in (message.name, *notes) if note.strip())
        place = message.translation or replace(message.source, begin=message.source.end)
        existing = plain(message.existing, _KEEP).inline
        content, target = plain(text, _KEEP), (place.begin, place.end)
        messages[message.source.opened] = message
        begin, end = message.source.opened, message.source.closing
        values.append(Value(begin, end, f"line {line}", (content,), comment, existing, target))

    def encode(value: Value, text: str) -> str:
        return _translation(decoded, messages[value.begin], text, options.mark)

    start = decoded.text[root.begin : root.opened]
    same = same_language(root.attributes.get("language", ""), options.target)
    tag = start if same else with_attribute(start, "language", options.target.replace("-", "_"), decoded.encoding)
    skeleton = Values(decoded, values, encode, [] if same else [Splice(root.begin, root.opened, tag)])
    document = document_of(path, skeleton, notices)
    units = [
        replace(
            unit,
            source=without_mark(unit.source),
            existing=without_mark(unit.source, unit.existing) if unit.existing else None,
            max_length=length_limit(unit.context),
        )
        for unit in document.units
    ]
    return replace(document, units=units)


def _messages(text: str, root: Element, options: DocumentOptions) -> Iterator[_QtMessage]:
    known = rule_of(options.target)
    forms = _FORMS.get(primary_language(options.target)) or (known[0] if known else 2)
    language = root.attributes.get("language", "")
    is_target = same_language(language, options.target)
    written = root.attributes.get("sourcelanguage", "")
    is_foreign = bool(written) and options.source != "und" and not same_language(written, options.source)
    is_other = bool(language) and not is_target  # whose translations say nothing about ours
    contexts = [root, *(element for element in root.children if element.name == "context")]
    for owner, element in ((context, element) for context in contexts for element in context.children):
        source, translation, title = element.child("source"), element.child("translation"), owner.child("name")
        if element.name != "message" or source is None:
            continue
        kind = translation.attributes.get("type", "") if translation else "unfinished"
        if kind in ("vanished", "obsolete"):
            continue
        parts = [child for child in translation.children if child.name == "numerusform"] if translation else []
        texts = [plain_text(text, part) for part in parts] or ([plain_text(text, translation)] if translation else [])
        if options.update and not is_other and kind != "unfinished" and texts and all(map(str.strip, texts)):
            continue
        count = len(parts) if is_target and len(parts) > 1 else forms
        numerus = element.attributes.get("numerus") == "yes"
        name = plain_text(text, title) if title else ""
        existing = texts[-1] if texts and not is_other and not is_foreign else ""
        yield _QtMessage(element, source, translation, name, count if numerus else None, existing)


def _translation(decoded: Decoded, message: _QtMessage, text: str, mark: bool) -> str:
    """The element of a translation, with its other attributes, and what is before a new one."""
    place = message.translation or message.source
    indent = indent_before(decoded.text, place.begin)
    tag = decoded.text[place.begin : place.opened] if message.translation else "<translation>"
    tag = re.sub(r"""\s+(?:type|variants)\s*=\s*(?:"[^"]*"|'[^']*')""", "", tag)
    tag = f"{tag[:-2].rstrip()}>" if tag.endswith("/>") else tag
    tag = with_attribute(tag, "type", "unfinished", decoded.encoding) if mark else tag
    body = escape(text, decoded.encoding)
    if message.forms is not None:
        form = f"{indent}    <numerusform>{body}</numerusform>"
        body = form * message.forms + indent
    return f"{'' if message.translation else indent}{tag}{body}</translation>"


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The file with a translation for each source that is translated, and with the target language."""
    sources = (inline for value in document.skeleton.values for _, inline in units_of(value.message))
    marked = [new and with_mark(source, new) for source, new in zip(sources, translations, strict=True)]
    write_values(document, marked, options, file)
