"""Placeholders as symbols: a model that was trained with `data.protect` sees `⟦0⟧`, `⟦1⟧`, … in their place.

Input: text and its placeholders. Output: text in which each is a symbol, and a table from symbols to what they replace.
`restore` is the inverse of `mask` for every text. Symbols are numbered by their first occurrence; the same placeholder
is the same symbol wherever it occurs, in both sides of a pair too.

A symbol begins with `⟦` and ends with `⟧`, white square brackets of mathematics that no writing system uses, and there
are digits between them: so no symbol overlaps another, whatever is next to it. A text that has one of its own, such as
this one, keeps it: what looks like a symbol is itself a placeholder, and has a symbol before any other.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dragoman.config import RunConfig
from dragoman.text.terms.protect import find_placeholders
from dragoman.text.words.normalise import INVISIBLE

Table = Mapping[str, str]
"""What each symbol of a text replaces."""

_SYMBOL = re.compile("⟦[0-9]+⟧")
LONGEST = 8
# Invisible characters inside of one would be removed before the text is encoded.
_GAP = f"{INVISIBLE.pattern}*"
_LOOKALIKE = re.compile(f"⟦{_GAP}[0-9](?:{_GAP}[0-9])*{_GAP}⟧")


class Found(Protocol):
    """A placeholder: its characters in the text, from `begin` to before `end`."""

    @property
    def begin(self) -> int:
        """Its first character."""

    @property
    def end(self) -> int:
        """What is after it."""


Spans = list[tuple[int, int]]


def symbol(number: int) -> str:
    """The name of a symbol, which is also its piece in the vocabulary."""
    return f"⟦{number}⟧"


def mask(text: str, placeholders: Iterable[Found], symbols: Sequence[str]) -> tuple[str, Table]:
    """`text` with symbols in place of its placeholders, and what they replace.

    Of more different placeholders than `symbols` the last ones stay text.
    """
    own = _lookalikes(text, symbols)
    spans = _spans(placeholders, own)
    distinct = list(dict.fromkeys(text[begin:end] for begin, end in spans))
    if len(distinct) > len(symbols):
        looks_alike = {text[begin:end] for begin, end in own}
        ranked = sorted(distinct, key=lambda one: (one not in symbols, one not in looks_alike))
        kept = set(ranked[: len(symbols)])
        distinct = [one for one in distinct if one in kept]
    names = dict(zip(distinct, symbols, strict=False))
    return _replaced(text, spans, names), {name: found for found, name in names.items()}


def restore(text: str, table: Table) -> str:
    """`text` with what its symbols replace; a symbol that is not in the table stays."""
    return _SYMBOL.sub(lambda found: table.get(found[0], found[0]), text) if table else text


def find_symbols(text: str) -> list[tuple[str, int, int]]:
    """What has the form of a symbol, and where."""
    return [(found[0], *found.span()) for found in _SYMBOL.finditer(text)]


def is_inside_symbol(text: str, position: int) -> bool:
    """Whether a cut at this position would divide a symbol."""
    near = _SYMBOL.finditer(text, max(0, position - LONGEST), position + LONGEST)
    return any(found.start() < position < found.end() for found in near)


def drop_unknown(text: str, table: Table, symbols: Sequence[str]) -> str:
    """`text`, which a model wrote, without those of its `symbols` that the source did not have."""
    if "⟦" not in text:
        return text
    unknown = set(symbols) - set(table)
    return _SYMBOL.sub(lambda found: "" if found[0] in unknown else found[0], text)


@dataclass(frozen=True, slots=True)
class Symbols:
    """How a model sees placeholders: by its symbols, none where it knows none, and the patterns that find them."""

    names: tuple[str, ...] = ()
    patterns: tuple[str, ...] | None = None
    """Names of patterns; None: those found by default."""

    @classmethod
    def of(cls, config: RunConfig, names: Sequence[str]) -> "Symbols":
        """That of a run or a bundle whose tokenizer has these symbols."""
        return cls(tuple(names)) if config.data.protect else NO_SYMBOLS

    def mask(self, text: str) -> tuple[str, Table]:
        """`text` with symbols in place of its placeholders, and what they replace."""
        return mask(text, find_placeholders(text, self.patterns), self.names) if self.names else (text, {})

    def mask_as(self, text: str, table: Table) -> str:
        """`text` with the symbols that `table` has for its placeholders; others, and all else, stay as they are."""
        if not self.names:
            return text
        spans = self._spans(text)
        names = {text[begin:end]: _broken(text[begin:end]) for begin, end in spans}
        return _replaced(text, spans, names | {found: name for name, found in table.items()})

    def mask_pair(self, source: str, target: str, first: int = 0) -> tuple[str, str]:
        """A pair with symbols in place of the placeholders that both sides have equally often.

        A placeholder that is missing on one side stays text, because a symbol would teach the model to drop symbols.
        The numbers count from `first`, and from 0 again after the last.
        """
        if not self.names:
            return source, target
        sides = [(text, self._spans(text)) for text in (source, target)]
        ours, theirs = (Counter(text[begin:end] for begin, end in spans) for text, spans in sides)
        if not ours and not theirs:
            return source, target
        size = len(self.names)
        shared = [one for one, count in ours.items() if theirs[one] == count][:size]
        names = {one: self.names[(first + index) % size] for index, one in enumerate(shared)}
        names = {one: _broken(one) for one in ours | theirs} | names
        masked = [_replaced(text, spans, names) for text, spans in sides]
        return masked[0], masked[1]

    def mask_pairs(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Each pair as `mask_pair` returns it."""
        return [self.mask_pair(source, target) for source, target in pairs]

    def _spans(self, text: str) -> Spans:
        return _spans(find_placeholders(text, self.patterns), _lookalikes(text, self.names))


NO_SYMBOLS = Symbols()


def _broken(text: str) -> str:
    """`text` in which nothing is a symbol."""
    return _LOOKALIKE.sub(lambda found: found[0].replace("⟦", "⟦ "), text)


def _lookalikes(text: str, symbols: Sequence[str]) -> Spans:
    """Where the text has one of the symbols already."""
    if "⟦" not in text:
        return []
    return [found.span() for found in _LOOKALIKE.finditer(text) if INVISIBLE.sub("", found[0]) in symbols]


def _spans(placeholders: Iterable[Found], own: Spans) -> Spans:
    """The placeholders and the symbols that the text has already, in order; none overlaps another."""
    return list(_apart(sorted([*own, *_outside(placeholders, own)])))


def _outside(placeholders: Iterable[Found], own: Spans) -> Iterator[tuple[int, int]]:
    for found in placeholders:
        if found.end > found.begin and all(found.end <= begin or found.begin >= end for begin, end in own):
            yield found.begin, found.end


def _apart(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    reached = 0
    for begin, end in spans:
        if begin >= reached:
            yield begin, end
            reached = end


def _replaced(text: str, spans: Spans, names: Mapping[str, str]) -> str:
    parts, reached = [], 0
    for begin, end in spans:
        if (name := names.get(text[begin:end])) is not None:
            parts += [text[reached:begin], name]
            reached = end
    return "".join([*parts, text[reached:]])
