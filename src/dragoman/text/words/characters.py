"""Characters that belong together, and closing quotation marks: one definition for all of this package.

Input: characters or a text. Output: whether two characters belong together, or the letters as a reader sees them. Only
Unicode properties are used, no rules of a language.
"""

import unicodedata

CLOSING_QUOTES = "\"'”’»›」』》〉"
CLOSING_BRACKETS = ")）]】"

_JOINERS_AND_AM = "\u200c\u200d\u0e33\u0eb3"  # zero-width (non-)joiner, Thai and Lao am
_VIRAMA = 9  # its canonical combining class


def joined(before: str, after: str) -> bool:
    """Whether `after` belongs to the letter or sign that ends in `before`, as in a grapheme cluster (UAX 29)."""
    if after.isascii():
        return False
    return (
        unicodedata.category(after)[0] == "M"
        or after in _JOINERS_AND_AM
        or before == "\u200d"
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or (unicodedata.combining(before) == _VIRAMA and after.isalpha())  # a conjunct
        or "\u1160" <= after <= "\u11ff"  # vowels and final consonants of decomposed Hangul
        or "\ud7b0" <= after <= "\ud7fb"
        or (_is_initial_consonant(before) and (_is_initial_consonant(after) or "\uac00" <= after <= "\ud7a3"))
    )


def clusters(text: str) -> list[str]:
    """The letters and signs of `text` as a reader sees them: close to the grapheme clusters of UAX 29."""
    groups: list[str] = []
    for character in text:
        if groups and joined(groups[-1][-1], character):
            groups[-1] += character
        else:
            groups.append(character)
    return groups


def _is_initial_consonant(character: str) -> bool:
    """Whether it is an initial consonant of decomposed Hangul, which a vowel follows."""
    return "\u1100" <= character <= "\u115f" or "\ua960" <= character <= "\ua97c"
