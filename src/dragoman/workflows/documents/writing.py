"""Translations → a file that is read again: a text with which it would be wrong stays in the language of the source.

A document is written whole. If it is not read again as it was meant, the shortest part of it from its beginning with
which it fails is looked for by halving, and the last text of this part stays; and so on until the file is right. What
fails even if every text stays is no fault of a translation, and is raised.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from dragoman.documents import Document
from dragoman.documents.core.splice import UnreadableTranslation
from dragoman.text.words.inline import InlineText

# After this number of texts that stay, twice as many stay at once: an end even where every translation fails.
ROUNDS = 8

Texts = Sequence[InlineText | None]
Write = Callable[[Callable[[], Iterable[InlineText | None]]], None]
"""Writes the document with these texts and reads it again. Raises UnreadableTranslation if it is not as meant."""


def write_readable(write: Write, document: Document, texts: Texts) -> set[int]:
    """Write a document with the translations `texts`; the numbers of those that could not be written.

    Raises DataError if there is no text with which it can be written.
    """

    def fault(left: Collection[int], count: int) -> UnreadableTranslation | None:
        some = [text if n < count and n not in left else None for n, text in enumerate(texts)]
        try:
            write(lambda: some)
        except UnreadableTranslation as error:
            return error
        return None

    left, rounds = set[int](), 0
    wordless = {n for n, text in enumerate(texts) if text is not None and not any(map(str.isalnum, text.visible))}
    changed = [n for n, (unit, text) in enumerate(zip(document.units, texts, strict=True)) if text != unit.source]
    first = fault(left, len(texts))
    if first is None:
        return left
    if fault(left, 0) is not None:
        raise first
    if wordless and fault(wordless, len(texts)) is None:
        return {n for n in changed if n in wordless}
    while fault(left, len(texts)) is not None:
        at = _first_fault(partial(fault, frozenset(left)), changed)
        left |= {*changed[at : at + (1 << rounds // ROUNDS)]}
        rounds += 1
        if len(left) == len(changed):
            raise first
    return left


def _first_fault(fault: Callable[[int], Exception | None], changed: Sequence[int]) -> int:
    """The place among the texts that change of the last one of the shortest beginning that fails."""
    low, high = -1, len(changed) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fault(changed[middle] + 1) else (middle, high)
    return high
