"""Long text → parts that a model can translate, and the seams to join their translations by.

Enters one line of normalised text; leave segments which, put together again, are that line to the character.

A model translates what it saw in training: mostly single sentences, none longer than `data.max_length` tokens. So

- a line of several sentences is cut into them. Models of single sentences drop what comes second: with a Multi30k
  model two captions on a line had half the BLEU of the same two one by one
  (`reproduce/segmentation.py`), and length makes it worse (Variš and Bojar 2021, "Sequence Length is a Domain");
- but a line of up to a twentieth of that length, 10 tokens by default, stays whole: "Oh. Really?" is one saying,
  stands so in training text, and its words mean little alone;
- a sentence above the limit itself is halved until its parts fit: at a clause, else at a space, else in a word.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sentencex

# The share of the limit up to which a line of several sentences stays whole.
WHOLE_SHARE = 0.05
# What closes a quotation, an apostrophe included.
CLOSING = "\"'”’」』》»"
# Korean says whose words these were after the quotation, at times after a space: `"가자!" 하고 말했다.`
QUOTATIVE = re.compile("이?라(고|며|면서|는)|하(고|며|면서|는|던) |했")
# Where a clause or a sentence ends: before a space, or after a full-width mark, which needs none.
CLAUSE = re.compile(r"[,;:.!?،؛؟।–—][\"'”’»)\]]*\s|[、，；：。！？][”’」』》）]*\s?")
# Marks and joiners that a cut within a word would part from their letter are followed at the most so far.
CLUSTER = 32

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a line, and the space that stood between it and the next: one or none."""

    text: str
    separator: str


def segments(text: str, language: str, longest: int, count: Count) -> list[Segment]:
    """The parts of a line of normalised text, each of up to `longest` tokens as `count` counts them.

    `language` (BCP-47) tells where sentences end; English rules serve for those sentencex does not know. Only a
    single character of more tokens than `longest` is a segment above it.
    """
    parts = [part for sentence in sentences(text, language) for part in _fitting(sentence, longest, count)]
    return [Segment(part.rstrip(" "), " " if part.endswith(" ") else "") for part in parts]


def sentences(text: str, language: str) -> list[str]:
    """The sentences of a text, each with the space after it: sentencex's, with quotations and numbers re-joined."""
    groups: list[list[str]] = []
    for part in sentencex.segment(re.split("[-_]", language)[0].lower(), text):
        if groups and _goes_on(groups[-1][-1], part):
            groups[-1].append(part)
        else:
            groups.append([part])
    if len(groups) > 1 and not _has_letters("".join(groups[-1])):
        last = groups.pop()
        groups[-1] += last
    return ["".join(group) for group in groups]


def separator(source: Segment, translation: str) -> str:
    """What stands between the translation of `source` and the next: the space that the source has there.

    Where the source writes none though it ends a clause, as Chinese and Japanese do, a translation into a language
    that spaces its words gets one. Where a word was cut there is none.
    """
    if source.separator or not translation:
        return source.separator
    cut_word = source.text[-1:].isalnum() and not _wide(source.text[-1])
    return "" if cut_word or _wide(translation[-1]) else " "


def _goes_on(before: str, after: str) -> bool:
    """Whether sentencex parted what belongs together: said and by whom, or a number and what it counts."""
    if not _has_letters(before):
        return True
    end = before.rstrip(" ")
    if end != before:
        return end[-1] in CLOSING and bool(QUOTATIVE.match(after))
    # A letter right after a quotation (`"가자!"라고`, `「行こう！」と`, `“走吧！”然后`) or a stop (`file.BAK`).
    return after[0].isalnum() and end[-1] in CLOSING + ".!?"


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


def _fitting(text: str, longest: int, count: Count) -> Iterator[str]:
    if len(text.rstrip(" ")) < 2 or count(text) <= longest:
        yield text
        return
    position = _cut(text)
    yield from _fitting(text[:position], longest, count)
    yield from _fitting(text[position:], longest, count)


def _cut(text: str) -> int:
    """Where to halve: after a clause, else after a space, else in a word; within the middle half, near the middle."""
    middle, low, high = len(text) // 2, len(text) // 4, len(text) - len(text) // 4
    ends = [match.end() for match in CLAUSE.finditer(text, low, high)]
    ends = ends or [match.end() for match in re.compile(" ").finditer(text, low, high)]
    ends = [end for end in ends if 0 < end < len(text) and text[end] != " "]
    return min(ends, key=lambda end: abs(end - middle)) if ends else _between_characters(text, middle)


def _between_characters(text: str, position: int) -> int:
    """The first position from `position` on that parts no accent and no joined emoji, unless it is far."""
    for end in range(position, min(position + CLUSTER, len(text))):
        if not _joined(text[end - 1], text[end]):
            return end
    return position


def _joined(before: str, after: str) -> bool:
    """Whether `after` is a mark, a skin tone or a space, which belong to what they follow, or a joiner is between."""
    extends = unicodedata.category(after) in ("Mn", "Mc", "Me") or "\U0001f3fb" <= after <= "\U0001f3ff"
    return extends or after == " " or "\u200d" in (before, after)


def _wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in ("W", "F")
