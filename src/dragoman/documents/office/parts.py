"""The parts of a zip format that have text: read as units, written with their translations."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from dragoman.documents.core.document import Translations, Unit
from dragoman.documents.core.rewrite import check_letters
from dragoman.documents.office.tokens import Slot
from dragoman.documents.office.zip import Package
from dragoman.documents.xml.text import writable
from dragoman.documents.xml.xml import parse_xml, serialise_xml
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

# A part and how its slots are found in its tree, always in the same order.
Part = tuple[str, Callable[[Any], Iterable[Slot]]]


def units_of(package: Package, parts: Iterable[Part]) -> Iterator[Unit]:
    """The units of all parts in order."""
    for name, slots in parts:
        for slot in slots(package.xml(name).root):
            yield Unit(slot.source, slot.location, slot.context)


def changed_parts(package: Package, parts: Iterable[Part], translations: Translations) -> dict[str, bytes]:
    """The parts in which a translation differs from the source.

    Each is read again: it must have the translations, and all elements that are no runs of text. Raises DataError.
    """
    changed = dict[str, bytes]()
    taken = iter(translations)
    for name, slots in parts:
        xml = package.xml(name)
        listed, elements = list(slots(xml.root)), _elements(xml.root)
        texts = list(islice(taken, len(listed)))
        if put_all(listed, iter(texts)):
            changed[name] = serialise_xml(xml)
            root = parse_xml(f"{package.path}: {name}", changed[name]).root
            expected = (_letters(new or slot.source, slot.source) for slot, new in zip(listed, texts, strict=True))
            check_letters(package.path, expected, (_letters(slot.source, slot.source) for slot in slots(root)))
            if _elements(root) != elements:
                raise DataError(f"{package.path}: {name} would lose elements; nothing was written, please report it")
    assert next(taken, _END) is _END, "one translation for each unit"
    return changed


_END: Any = object()


# Elements of which a translation may need more or fewer: runs and spans, spaces, the direction of a paragraph, hints
# of a program for itself.
_RUNS = frozenset(
    """r t rPr pPr bidi br span s soft-page-break proofErr lastRenderedPageBreak softHyphen noBreakHyphen rPh
    phoneticPr""".split()  # noqa: SIM905
)


def _elements(root: Any) -> Counter[str]:
    """How often each element occurs, without runs and what is inside of their properties."""
    counted, waiting = Counter[str](), [root]
    while waiting:
        element = waiting.pop()
        name = local(element)
        if name not in _RUNS:
            counted[name] += 1
        if name != "rPr":
            waiting.extend(element)
    return counted


def _letters(inline: InlineText, source: InlineText) -> str:
    """The letters of a translation without those that are copied, of which only the order is free."""
    copied = [source.text[begin:end] for begin, end in source.protected]
    text = inline.text
    for span in copied:
        text = text.replace(span, "", 1)
    letters = filter(str.isalpha, writable(text))
    return "".join(sorted(letters) if copied else letters)


def put_all(slots: Iterable[Slot], translations: Iterator[InlineText | None]) -> bool:
    """Put the next translations into the slots; whether any differs from its source."""
    differs = False
    for slot in list(slots):
        translation = next(translations, _END)
        assert translation is not _END, "one translation for each unit"
        if translation is not None and translation != slot.source:
            slot.put(translation)
            differs = True
    return differs


def text_slot(element: Any, location: str, attribute: str | None = None, context: str = "") -> list[Slot]:
    """The slot of an element that holds nothing but text, or of an attribute; none if it has no letter."""
    text = (element.text if attribute is None else element.get(attribute)) or ""
    if not any(map(str.isalpha, text)) or (attribute is None and len(element)):
        return []
    begin = len(text) - len(text.lstrip())
    head, tail = text[:begin], text[begin + len(text.strip()) :]

    def put(inline: InlineText) -> None:
        written = head + writable(inline.text) + tail
        if attribute is None:
            element.text = written
        else:
            element.set(attribute, written)

    return [Slot(InlineText(text.strip()), location, put, context)]


def local(element: Any) -> str:
    """The name of an element without its namespace; empty for a comment, an entity or an instruction."""
    tag = element.tag
    return tag[tag.find("}") + 1 :] if isinstance(tag, str) else ""
