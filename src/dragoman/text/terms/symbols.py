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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dragoman.config import RunConfig
from dragoman.text.terms.protect import LEARNED, Placeholder, find_placeholders
from dragoman.text.words.normalise import INVISIBLE

Table = Mapping[str, str]
"""What each symbol of a text replaces."""

_SYMBOL = re.compile("⟦[0-9]+⟧")
LONGEST = 8
# Invisible characters inside of one would be removed before the text is encoded.
_GAP = f"{INVISIBLE.pattern}*"
_LOOKALIKE = re.compile(f"⟦{_GAP}[0-9](?:{_GAP}[0-9])*{_GAP}⟧")


Spans = list[tuple[int, int]]


def symbol(number: int) -> str:
    """The name of a symbol, which is also its piece in the vocabulary."""
    return f"⟦{number}⟧"


def mask(text: str, placeholders: Iterable[Placeholder], symbols: Sequence[str]) -> tuple[str, Table]:
    """`text` with symbols in place of its placeholders, and what they replace.

    Of more different placeholders than `symbols` the last ones stay text.
    """
    present = _lookalikes(text, symbols)
    spans = _spans(placeholders, present)
    distinct = list(dict.fromkeys(text[begin:end] for begin, end in spans))
    if len(distinct) > len(symbols):
        looks_alike = {text[begin:end] for begin, end in present}
        ranked = sorted(distinct, key=lambda text: (text not in symbols, text not in looks_alike))
        chosen = set(ranked[: len(symbols)])
        distinct = [original for original in distinct if original in chosen]
    names = dict(zip(distinct, symbols, strict=False))
    return _replaced(text, spans, names), {name: original for original, name in names.items()}


def restore(text: str, table: Table) -> str:
    """`text` with what its symbols replace; a symbol that is not in the table stays."""
    return _SYMBOL.sub(lambda match: table.get(match[0], match[0]), text) if table else text


def find_symbols(text: str) -> list[tuple[str, int, int]]:
    """What has the form of a symbol, and where."""
    return [(match[0], *match.span()) for match in _SYMBOL.finditer(text)]


def is_inside_symbol(text: str, position: int) -> bool:
    """Whether a cut at this position would divide a symbol."""
    near = _SYMBOL.finditer(text, max(0, position - LONGEST), position + LONGEST)
    return any(match.start() < position < match.end() for match in near)


def drop_unknown(text: str, table: Table, symbols: Sequence[str]) -> str:
    """`text`, which a model wrote, without those of its `symbols` that the source did not have."""
    if "⟦" not in text:
        return text
    unknown = set(symbols) - set(table)
    return _SYMBOL.sub(lambda match: "" if match[0] in unknown else match[0], text)


@dataclass(frozen=True, slots=True)
class Symbols:
    """How a model sees placeholders: by its symbols, none where it knows none, and the patterns that find them."""

    names: tuple[str, ...] = ()
    patterns: tuple[str, ...] = LEARNED
    """Names of patterns."""

    @classmethod
    def of(cls, config: RunConfig, names: Sequence[str]) -> "Symbols":
        """The symbols of a run or a bundle, the `names` that its tokenizer has; none if it protects none."""
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
        return _replaced(text, spans, names | {original: name for name, original in table.items()})

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
        shared = [original for original, count in ours.items() if theirs[original] == count][:size]
        names = {original: self.names[(first + index) % size] for index, original in enumerate(shared)}
        names = {original: _broken(original) for original in ours | theirs} | names
        masked = [_replaced(text, spans, names) for text, spans in sides]
        return masked[0], masked[1]

    def mask_pairs(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        return [self.mask_pair(source, target) for source, target in pairs]

    def _spans(self, text: str) -> Spans:
        return _spans(find_placeholders(text, self.patterns), _lookalikes(text, self.names))


NO_SYMBOLS = Symbols()


def _broken(text: str) -> str:
    """`text` in which nothing is a symbol."""
    return _LOOKALIKE.sub(lambda match: match[0].replace("⟦", "⟦ "), text)


def _lookalikes(text: str, symbols: Sequence[str]) -> Spans:
    """Where the text has one of the symbols already."""
    if "⟦" not in text:
        return []
    return [match.span() for match in _LOOKALIKE.finditer(text) if INVISIBLE.sub("", match[0]) in symbols]


def _spans(placeholders: Iterable[Placeholder], present: Spans) -> Spans:
    """The placeholders and the symbols that the text has already, in order; none overlaps another."""
    listed = [(placeholder.begin, placeholder.end) for placeholder in placeholders]
    outside = [(first, last) for first, last in listed if all(last <= begin or first >= end for begin, end in present)]
    apart: Spans = []
    for begin, end in sorted([*present, *outside]):
        if begin < end and (not apart or begin >= apart[-1][1]):
            apart.append((begin, end))
    return apart


def _replaced(text: str, spans: Spans, names: Mapping[str, str]) -> str:
    parts, reached = [], 0
    for begin, end in spans:
        if (name := names.get(text[begin:end])) is not None:
            parts += [text[reached:begin], name]
            reached = end
    return "".join([*parts, text[reached:]])
