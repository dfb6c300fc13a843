"""Faults of translations that show in the text: loops, lost or invented text, copies of the source.

Input: the ids, or the texts, of source and translation. Output: a warning. The thresholds are beyond what
correct translations reach: a fault costs a second search and a warning, and warnings are only read if they are rare.
"""

import re
from collections import Counter
from collections.abc import Hashable, Sequence

from dragoman.text.words.normalise import folded, normalise
from dragoman.translation import Flag

# A block of up to BLOCK tokens repeated MAX_CONSECUTIVE times in a row ("salad salad …"); emphasis repeats three.
BLOCK, MAX_CONSECUTIVE = 4, 6
# MAX_REPEATED tokens repeated word for word are a sentence. Long names and legal formulas stay below a dozen.
N_GRAM, MAX_REPEATED = 4, 16
# One side may be RATIO times as long as the other plus SLACK tokens: pairs of languages and vocabularies stay below 2.
RATIO, SLACK = 3, 20
# A copied text is no name or title if it has more plain words than this, or letters where words are not spaced.
PLAIN_WORDS, PLAIN_LETTERS, COPIED_SHARE = 3, 12, 0.9

# Characters within a word that make it an address, a path or a formula; and what is around a word.
CODE = re.compile(r"[\d_/\\@.:=<>#]")
_AROUND = re.compile(r"^\W+|\W+$")

FLAGS = {
    "loop": Flag("loop", "the translation repeats itself; check it by hand"),
    "length": Flag("length", "source and translation differ much in length; look for lost or invented text"),
    "empty": Flag("empty", "the translation is empty; translate the line by hand"),
    "copy": Flag("copy", "the source was copied, not translated; check it by hand, and the training text for copies"),
}


def detect_fault(source_ids: Sequence[int], source: str, target_ids: Sequence[int]) -> Flag | None:
    """The fault of a translation's tokens, given the ids and the text of its source; None if there is none.

    What the source repeats may be repeated up to twice as often: the laugh "ㅋㅋㅋㅋㅋㅋ" is one token or six.
    """
    repeats = max_consecutive_repeats(target_ids)
    if repeats >= MAX_CONSECUTIVE and repeats > 2 * max(map(max_consecutive_repeats, (source_ids, source))):
        return FLAGS["loop"]
    span = longest_repeated_span(target_ids)
    if span >= MAX_REPEATED and span > 2 * longest_repeated_span(source_ids):
        return FLAGS["loop"]
    short, long = sorted((len(source_ids), len(target_ids)))
    return FLAGS["length"] if long > RATIO * short + SLACK else None


def max_consecutive_repeats(items: Sequence[Hashable]) -> int:
    """The most times in a row that a block of up to BLOCK items occurs; at least 1."""
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
    """The length of the longest span of which every n-gram occurred before; 0 if there is none."""
    seen: set[tuple[Hashable, ...]] = set()
    longest = span = 0
    for start in range(len(items) - N_GRAM + 1):
        gram = tuple(items[start : start + N_GRAM])
        span = span + 1 if gram in seen else 0
        longest = max(longest, span)
        seen.add(gram)
    return longest + N_GRAM - 1 if longest else 0


def is_copy(source: str, translation: str) -> bool:
    """Whether a translation repeats its source although the source has something to translate.

    Names, numbers, addresses and code are copied correctly: capitalised words and words with other characters than
    letters do not count.
    """
    plain = plain_words(source)
    if len(plain) <= PLAIN_WORDS and sum(unspaced(letter) for word in plain for letter in word) <= PLAIN_LETTERS:
        return False
    if folded(source) == folded(translation):
        return True
    common = Counter(plain) & Counter(plain_words(translation))
    return len(plain) > PLAIN_WORDS and common.total() >= COPIED_SHARE * len(plain)


def unspaced(character: str) -> bool:
    """Whether a letter has no case: some of those scripts write no spaces, so that words cannot be counted."""
    return character.isalpha() and character.lower() == character.upper()


def plain_words(text: str) -> list[str]:
    """The words of a text that are to be translated: in lower case, and neither addresses nor code."""
    text = normalise(text)
    is_code = CODE.search if CODE.search(text) else lambda word: None  # most texts have none, and their words neither
    words = (word if word.isalnum() else _AROUND.sub("", word) for word in text.split())
    return [word for word in words if word[:1].isalpha() and not word[0].isupper() and not is_code(word)]
