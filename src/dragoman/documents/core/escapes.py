"""Strings with escapes: which characters of a file stand for each character of the text."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.documents.core.passage import Verbatim


@dataclass(frozen=True, slots=True)
class Escaped:
    """A string as the file writes it, `raw`, its `text`, and where in `raw` each character of the text begins."""

    raw: str
    text: str
    starts: Sequence[int]

    def slice(self, begin: int, end: int) -> str:
        """What the file writes for these characters of the text."""
        return self.raw[self.starts[begin] : self.starts[end]]

    def pieces(self, begin: int, end: int, keep: re.Pattern[str]) -> Iterator[str | Verbatim]:
        """What the file writes for a part of the text; what `keep` finds in the text is kept."""
        at = begin
        for match in keep.finditer(self.text, begin, end):
            yield self.slice(at, match.start())
            yield Verbatim(match[0], (self.slice(*match.span()),))
            at = match.end()
        yield self.slice(at, end)


def unescape(raw: str, escape: re.Pattern[str], value: Callable[[str], str]) -> Escaped:
    """The text of `raw`, in which `value` gives the text of whatever `escape` finds."""
    text, at = "", 0
    starts: list[int] = []
    for match in escape.finditer(raw):
        starts += range(at, match.start())
        plain = value(match[0])
        starts += [match.start()] * len(plain)
        text += raw[at : match.start()] + plain
        at = match.end()
    return Escaped(raw, text + raw[at:], [*starts, *range(at, len(raw) + 1)])
