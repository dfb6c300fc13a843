"""A source and the beginning of its translation → the words that may come next, each with the best whole translation.

For a page on which a person clicks a word: what is before it stays, and translations that continue with another word
are offered. Several tokens may begin the same word, so more translations are searched than words are wanted.
"""

import re
from dataclasses import dataclass

from dragoman.text.words.normalise import normalise
from dragoman.text.words.words import is_unspaced
from dragoman.translator import Translator

# Translations that are searched for each word that is wanted.
WIDENING = 2
_WORD = re.compile(r"\s*\S+")


@dataclass(frozen=True, slots=True)
class NextWord:
    """A word that may come next, and the best translation that continues with it."""

    word: str
    text: str
    """The whole translation, which begins with the prefix."""
    score: float
    log_prob: float


def next_words(translator: Translator, text: str, prefix: str, count: int) -> list[NextWord]:
    """Up to `count` translations of a line with different words after the `prefix`, best first; blocks.

    A prefix that ends with a space has whole words; without one, its last word may be continued. Raises what
    `Translator.alternatives` raises.
    """
    beginning = normalise(prefix)
    beginning += " " if beginning and prefix[-1].isspace() else ""
    words: dict[str, NextWord] = {}
    for candidate in translator.alternatives(text, prefix, WIDENING * count) if text.strip() else ():
        if candidate.text.startswith(beginning):
            word = _first_word(candidate.text[len(beginning) :])
            words.setdefault(word, NextWord(word, candidate.text, candidate.score, candidate.log_prob))
    return list(words.values())[:count]


def _first_word(rest: str) -> str:
    """The rest up to the next space; of a script without spaces its first character, and "" at the end."""
    match = _WORD.match(rest)
    word = match.group().strip() if match else ""
    return word[:1] if word and is_unspaced(word[0]) else word
