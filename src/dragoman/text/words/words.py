"""Where words begin and end in any script, which characters belong together, and the forms in which a term is written.

A boundary follows from the kinds of the characters (`_kind`); after Hangul a word also ends before its particles
(`text.words.particles`). A term in Latin letters has the plural forms of English; a term that ends with `*` is a stem.
Only Unicode properties are used: no language is known by name.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from dragoman.text.words.particles import hangul_run, is_particles

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


# Scripts by the first word of a character's Unicode name, as far as word boundaries depend on them.
_NO_SPACES = re.compile("(CJK|IDEOGRAPHIC|HIRAGANA|BOPOMOFO|THAI|LAO|KHMER|MYANMAR|TIBETAN|JAVANESE|YI)[ -]")
_OWN_KIND = re.compile("(?:HALFWIDTH )?(HANGUL|KATAKANA)[ -]")
_JOINERS = "\u200c\u200d"
_STEM, _LITERAL_STAR = "*", "\\*"
_LATIN_LETTERS = re.compile("[a-z]+", re.IGNORECASE)


def is_unspaced(character: str) -> bool:
    """Whether the script of `character` puts no spaces between words."""
    return _kind(character) == "no spaces"


def is_abbreviation(term: str) -> bool:
    """Whether `term` has several letters, all capitals."""
    return term.isupper() and sum(map(str.isupper, term)) > 1


def is_stem(term: str) -> bool:
    """Whether a term as listed ends with the mark of a stem: `*` after a letter or a digit."""
    return term.endswith(_STEM) and bool(_kind(term[-2:-1] or " "))


def spelled(term: str) -> str:
    """A term as listed, without its mark; a star of its own is written `\\*`."""
    if term.endswith(_LITERAL_STAR):
        return term.removesuffix(_LITERAL_STAR) + _STEM
    return term.removesuffix(_STEM) if is_stem(term) else term


def listed(text: str) -> str:
    """A term as a glossary lists it, from its text: a star at its end is its own."""
    return f"{text[:-1]}\\*" if text.endswith(_STEM) else text


def forms(term: str) -> list[str]:
    """The written forms of a term as listed: as spelled, and as a plural if its last word has Latin letters only."""
    text = spelled(term)
    last = text.rpartition(" ")[2]
    if is_stem(term) or not _LATIN_LETTERS.fullmatch(last) or len(last) < 2:
        return [text]
    return [text, *(text.removesuffix(last) + plural for plural in _plurals(last))]


def _plurals(word: str) -> Iterator[str]:
    """The plural forms of an English noun, as far as rules give them: boxes, policies, shelves, servers, GPUs."""
    lower = word.lower()
    if is_abbreviation(word):
        yield word + "s"
    elif re.search("([sxz]|ch|sh)$", lower):
        yield word + "es"
    elif re.search("[^aeiou]y$", lower):
        yield word[:-1] + "ies"
    else:
        yield word + "s"
        if lower.endswith("o"):
            yield word + "es"
        if match := re.search("[^f]fe?$", lower):
            yield word[: match.start() + 1] + "ves"


def begins_word(text: str, position: int) -> bool:
    """Whether a word may begin at `position`."""
    kind = _kind(text[position])
    return kind != "+" and (kind == "no spaces" or kind != _kind_before(text, position) or not kind)


def ends_word(text: str, start: int, end: int) -> bool:
    """Whether a word may end at `end`, its particles left out, if what ends there begins at `start`."""
    kind = _kind(text[end]) if end < len(text) else ""
    before = _kind_before(text, end)
    if kind == before == "HANGUL":
        run = hangul_run(text, end)
        noun = text[start:end].rpartition(" ")[2]
        return run > end and is_particles(noun, text[end:run], agree=text[run : run + 1] != "(")
    return kind != "+" and (before == "no spaces" or kind != before or not kind)


def end_of_word(text: str, position: int) -> int:
    """Where the word ends that is written up to `position` and further."""
    kind = _kind_before(text, position)
    while kind and kind != "no spaces" and position < len(text) and _kind(text[position]) in (kind, "+"):
        position += 1
    return position


@lru_cache(maxsize=1 << 14)
def _kind(character: str) -> str:
    """The kind of a character for word boundaries: "" separates words, "+" belongs to the character before it."""
    if character in _JOINERS or unicodedata.category(character) in ("Mn", "Mc", "Me", "Lm"):
        return "+"
    if not character.isalnum() and character != "_":  # as in names of programs: `PTR_STRING` is one word
        return ""
    name = unicodedata.name(character, "")
    if _NO_SPACES.match(name):
        return "no spaces"
    script = _OWN_KIND.match(name)
    return script[1] if script else "word"


def _kind_before(text: str, position: int) -> str:
    """The kind of the character before `position`, combining marks skipped."""
    while position and (kind := _kind(text[position - 1])) == "+":
        position -= 1
    return kind if position else ""
