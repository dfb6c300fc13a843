"""The similarity of two texts that signatures estimate, by its definition in plain Python."""

import re
import unicodedata

from dragoman.data.corpus.near_duplicates import NGRAM


def letters(text: str) -> str:
    """Its letters in lower case without accents, Korean syllables as their letters; all of a text that has none."""
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    spoken = "".join(c for c in text if unicodedata.category(c)[0] in "LM" and not 0x300 <= ord(c) <= 0x36F)
    return spoken or re.sub("[\u200b]", "", text)


def jaccard(left: str, right: str) -> float:
    """The share of the n-grams of either text that both have."""
    a, b = (
        {text[i : i + NGRAM] for i in range(len(text))} for text in (letters(left), letters(right))
    )  # with the shorter ones at the end
    return len(a & b) / len(a | b)
