"""Translations that went wrong in ways which show: loops, lost or invented text, copies of the source.

Enter the tokens, or the texts, of source and translation; leaves the kind of the fault. No torch. Thresholds are set
where sound translations do not come: a fault costs a second search and a warning, which must stay rare to be read.
"""

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.text.normalise import folded, normalise

Kind = Literal["loop", "length", "copy", "segmented"]

# A block of up to BLOCK tokens said so many times in a row ("salad salad salad …"); emphasis says it three times.
BLOCK, IN_A_ROW = 4, 6
# So many tokens said again word for word: a sentence, where long names and formulas of law stay below a dozen.
N_GRAM, SAID_AGAIN = 4, 16
# One side may be so many times the other and SLACK tokens more: pairs of languages and of vocabularies stay below 2.
RATIO, SLACK = 3, 20
# A copy is told from a name or a title by more than so many plain words, or letters where words are not spaced.
PLAIN_WORDS, PLAIN_LETTERS, COPIED_SHARE = 3, 12, 0.9

# Within a word: a sign of an address, a path or a formula.
CODE = re.compile(r"[\d_/\\@.:=<>#]")


@dataclass(frozen=True, slots=True)
class Flag:
    """What a reader should know of a translation: its kind for programs, a text for people."""

    kind: Kind
    text: str


FLAGS = {
    "loop": Flag("loop", "the translation repeats itself; check it by hand"),
    "length": Flag("length", "source and translation differ much in length; look for what is lost or made up"),
    "copy": Flag("copy", "the source was copied, not translated; check it by hand, and the training text for copies"),
}


def fault(heard: Sequence[int], text: str, said: Sequence[int]) -> Flag | None:
    """What is wrong with a translation's tokens, given its source's tokens and text; None for nothing.

    What the source repeats may be repeated, in twice the number: "ㅋㅋㅋㅋㅋㅋ" laughs in one token or in six.
    """
    in_a_row = max_consecutive_repeats(said)
    if in_a_row >= IN_A_ROW and in_a_row > 2 * max(max_consecutive_repeats(heard), max_consecutive_repeats(text)):
        return FLAGS["loop"]
    again = longest_repeated_span(said)
    if again >= SAID_AGAIN and again > 2 * longest_repeated_span(heard):
        return FLAGS["loop"]
    short, long = sorted((len(heard), len(said)))
    return FLAGS["length"] if long > RATIO * short + SLACK else None


def max_consecutive_repeats(items: Sequence[Hashable]) -> int:
    """The most times that a block of up to BLOCK items stands in a row."""
    most = 1
    for size in range(1, BLOCK + 1):
        equal = longest = 0
        for before, now in zip(items, items[size:], strict=False):
            equal = equal + 1 if before == now else 0
            if equal > longest:
                longest = equal
        most = max(most, 1 + longest // size)
    return most


def longest_repeated_span(items: Sequence[Hashable]) -> int:
    """The length of the longest stretch of which every n-gram was said before; 0 for none."""
    seen: set[tuple[Hashable, ...]] = set()
    longest = stretch = 0
    for start in range(len(items) - N_GRAM + 1):
        gram = tuple(items[start : start + N_GRAM])
        stretch = stretch + 1 if gram in seen else 0
        longest = max(longest, stretch)
        seen.add(gram)
    return longest + N_GRAM - 1 if longest else 0


def is_copy(source: str, translation: str) -> bool:
    """Whether a translation is its source again, though there was something to translate in it.

    Names, numbers, addresses and code are right to be copied: words that are capitalised, or not of letters alone,
    do not count.
    """
    plain = _plain_words(source)
    letters = sum(unspaced(character) for word in plain for character in word)
    if len(plain) <= PLAIN_WORDS and letters <= PLAIN_LETTERS:
        return False
    if folded(source) == folded(translation):
        return True
    common = Counter(plain) & Counter(_plain_words(translation))
    return len(plain) > PLAIN_WORDS and common.total() >= COPIED_SHARE * len(plain)


def unspaced(character: str) -> bool:
    """Whether a letter has no case: of those scripts some write no spaces, so that words cannot be counted."""
    return character.isalpha() and character.lower() == character.upper()


def _plain_words(text: str) -> list[str]:
    words = (re.sub(r"^\W+|\W+$", "", word) for word in normalise(text).split())
    return [word for word in words if word[:1].isalpha() and not word[0].isupper() and not CODE.search(word)]
