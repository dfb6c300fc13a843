"""How much of a subtitle can be read: widths of lines, characters per second, and where a text is divided.

The limits are those that subtitlers of a language are used to (Netflix's timed text guides), not rules of the formats.
"""

import re
from dataclasses import dataclass
from itertools import accumulate

from dragoman.text.words.language import primary_language


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """The width of a line, the characters per second, and whether words are divided by spaces."""

    line: int = 42
    speed: int = 17
    spaced: bool = True
    wide: bool = False
    """Whether Latin letters, digits, spaces and marks count half."""


_LIMITS = {
    "en": ReadingLimits(speed=20),
    "ko": ReadingLimits(16, 12, wide=True),
    "ja": ReadingLimits(13, 4, spaced=False, wide=True),
    "zh": ReadingLimits(16, 9, spaced=False, wide=True),
    "th": ReadingLimits(35, spaced=False),
}
_MARK = re.compile(r"[,.;:!?…،。、，！？؟]['\")\]»”’」』]*$")
_ENDS = re.compile(r"[.!?…。！？؟]['\")\]»”’」』]*$")
# What does not begin a line.
_CLOSING = re.compile(r"[\s,.;:!?…)\]»”’」』。、，！？ーぁぃぅぇぉっゃゅょァィゥェォッャュョ]")


def limits_of(language: str) -> ReadingLimits:
    """The limits of a language, by its BCP-47 tag."""
    return _LIMITS.get(primary_language(language), ReadingLimits())


def width(text: str, limits: ReadingLimits) -> float:
    """The width of a line of text."""
    if not limits.wide:
        return float(len(text))
    return sum(0.5 if ord(character) < 0x1100 else 1.0 for character in text)


def ends_sentence(text: str) -> bool:
    """Whether a text ends with the mark of a sentence's end."""
    return _ENDS.search(text.rstrip()) is not None


def divided(text: str, shares: list[int], limits: ReadingLimits) -> list[str] | None:
    """A text in parts of about these shares, divided between words, rather after marks; None: it has too few words."""
    if limits.spaced:
        borders = [match.start() for match in re.finditer(r"\s+", text)]
    else:
        borders = [index for index in range(1, len(text)) if not _CLOSING.match(text, index)]
    if len(borders) < len(shares) - 1:
        return None
    cuts: list[int] = []
    free = 0
    for number, sum_of_shares in enumerate(list(accumulate(shares))[:-1]):
        ideal = len(text) * sum_of_shares / sum(shares)
        last = len(borders) - (len(shares) - 2 - number)
        best = min(range(free, last), key=lambda index: _cost(text, borders[index], ideal))
        cuts.append(borders[best])
        free = best + 1
    return [text[begin:end].strip() for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _cost(text: str, border: int, ideal: float) -> float:
    """How far a border is from the ideal one; a mark before it is worth a sixth of the text."""
    before = text[max(0, border - 4) : border]
    bonus = len(text) / 4 if _ENDS.search(before) else len(text) / 6 if _MARK.search(before) else 0
    return abs(border - ideal) - bonus


def wrapped(text: str, lines: int, limits: ReadingLimits) -> list[str]:
    """A text in as few lines as its width allows, at most `lines`."""
    for count in range(1, lines):
        parts = divided(text, [1] * count, limits)
        if parts is not None and all(width(part, limits) <= limits.line for part in parts):
            return parts
    return divided(text, [1] * lines, limits) or [text]
