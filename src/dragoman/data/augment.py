"""Training pairs as people also type them: in capitals, without a full stop, with a slip of the finger, in fragments.

Enters a pair and a generator, leaves the pair or a changed one. Nothing here knows a language: letters, cases and
marks are Unicode's, a letter being what a reader sees as one (a base with its marks, a Hangul syllable however it is
typed, a conjunct). Placeholders, tags, digits, addresses and file names stay as they are. A change that would not
show in the source is not made: nothing could tell the model when to write such a target.
"""

import random
import re
import unicodedata
from collections.abc import Callable

from dragoman.config import AugmentConfig
from dragoman.text.normalise import normalise

Sides = tuple[str, str]

# {name}, <b>, %s, %(name)d, %1$s, &amp;
_PLACEHOLDER = r"\{[^{}]*\}|<[^<>]*>|%(?:\(\w+\)|\d+\$)?[-+#0]*\d*(?:\.\d+)?[a-zA-Z@]|&#?\w+;"
_PIECE = re.compile(rf"(?P<placeholder>{_PLACEHOLDER})|[!-$'-;=?-z|~]+")  # or a run of ASCII without %&<>{{}}
# What makes such a run an address, a path, a name in a program: a digit, a sign, a point or colon inside it.
_TECHNICAL = re.compile(r"[\d@/\\_=$#|~^]|\w[.:]\w")

# Ends of sentences; after the latter ones the next may begin without a space. No expression here looks at a long
# line more than once.
_ENDS, _UNSPACED = ".!?…؟۔।॥።။។։", "。！？｡．"
_CLOSING = "\"'”’»›」』）)\\]】》〉"
_FIRST = rf"(?<![{_ENDS}{_UNSPACED}])"
_FINAL = re.compile(rf"\s?{_FIRST}[{_ENDS}{_UNSPACED}]+([{_CLOSING}]*)$")
_SENTENCE_END = re.compile(
    rf"{_FIRST}(?:(?<!\d)\.|[{_ENDS[1:]}{_UNSPACED}])[{_ENDS}{_UNSPACED}]*[{_CLOSING}]*(?=\s|$)"
    rf"|{_FIRST}[{_UNSPACED}]+(?=[^\W\d_]|[「『（“《【])"
)

SHORTEST = 3  # a word of fewer letters is spared from typos: it could become another word


def augment(source: str, target: str, rates: AugmentConfig, rng: random.Random) -> Sides:
    """The pair with at most one change, each kind of it with its probability in `rates`.

    A pair that the change drawn does not suit stays as it is. What is changed leaves normalised, as all text does
    when it is tokenised, and no side is ever emptied.
    """
    clean = normalise(source), normalise(target)
    chance = rng.random()
    changes: tuple[tuple[float, Callable[[], Sides | None]], ...] = (
        (rates.upper, lambda: _case(clean, _upper)),
        (rates.title, lambda: _case(clean, _title)),
        (rates.unpunctuated, lambda: _unpunctuated(clean)),
        (rates.typos, lambda: (_mistyped(clean[0], rng), clean[1])),
        (rates.fragments, lambda: _fragment(clean, rng)),
    )
    for rate, change in changes:
        if chance < rate:
            changed = change() or clean
            source_, target_ = normalise(changed[0]), normalise(changed[1])
            return (source_, target_) if source_ and target_ and source_ != clean[0] else (source, target)
        chance -= rate
    return source, target


# --- case ----------------------------------------------------------------------------------------------------------


def _case(sides: Sides, change: Callable[[str], str]) -> Sides | None:
    """Both sides changed, if most letters of the source have a case to show it by."""
    letters = [character for character in sides[0] if character.isalpha()]
    cased = sum(letter.lower() != letter.upper() for letter in letters)
    return (change(sides[0]), change(sides[1])) if letters and 2 * cased >= len(letters) else None


def _upper(text: str) -> str:
    return "".join(part if kept else part.upper() for part, kept in _parts(text))


def _title(text: str) -> str:
    """Every word with a capital; the rest of it as written."""
    written, begins = [], True
    for part, kept in _parts(text):
        if kept:
            written.append(part)
            begins = begins and part.startswith("<")  # a tag stands before a word, anything else is one
            continue
        for character in part:
            written.append(character.title() if begins else character)
            begins = character.isspace() or (begins and not character.isalnum())
    return "".join(written)


def _parts(text: str) -> list[tuple[str, bool]]:
    """`text` in parts, each with whether it has to stay as it is."""
    parts, end = [], 0
    for piece in _PIECE.finditer(text):
        if piece["placeholder"] or _TECHNICAL.search(piece[0]):
            parts += [(text[end : piece.start()], False), (piece[0], True)]
            end = piece.end()
    return [*parts, (text[end:], False)]


# --- punctuation ---------------------------------------------------------------------------------------------------


def _unpunctuated(sides: Sides) -> Sides | None:
    """Both sides without their last full stop, question or exclamation mark; closing quotes stay."""
    if not all(_FINAL.search(side) for side in sides):
        return None
    source, target = (_FINAL.sub(r"\1", side) for side in sides)
    return (source, target) if _says_something(source) and _says_something(target) else None


def _says_something(text: str) -> bool:
    return any(character.isalnum() for character in text)


# --- typos -------------------------------------------------------------------------------------------------------


def _mistyped(text: str, rng: random.Random) -> str:
    """Up to three words, and one in four, with two letters swapped, one dropped or one doubled."""
    letters: list[str] = []
    words = [range(0)]  # the letters of each
    for part, kept in _parts(text):
        for letter in [part] if kept else clusters(part):
            if not kept and letter[0].isalpha():
                begun = words.pop() if words[-1].stop == len(letters) else range(len(letters), len(letters))
                words.append(range(begun.start, len(letters) + 1))
            letters.append(letter)
    words = [word for word in words if len(word) >= SHORTEST]
    for word in rng.sample(words, min(len(words), rng.randint(1, max(1, min(3, len(words) // 4))))):
        kind, at = rng.choice(("swap", "drop", "double")), rng.choice(word[:-1])
        if kind == "swap" and letters[at] != letters[at + 1]:
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
        elif kind == "drop":
            letters[at] = ""
        else:
            letters[at] *= 2
    return "".join(letters)


def clusters(text: str) -> list[str]:
    """What a reader takes for single letters: near enough to the grapheme clusters of UAX 29 to move them about."""
    found: list[str] = []
    for character in text:
        if found and _joins(found[-1][-1], character):
            found[-1] += character
        else:
            found.append(character)
    return found


def _joins(last: str, character: str) -> bool:
    if character.isascii():
        return False
    return (
        unicodedata.category(character)[0] == "M"
        or character in "\u200c\u200d\u0e33\u0eb3"  # joiners; Thai and Lao am
        or last == "\u200d"
        or (unicodedata.combining(last) == 9 and character.isalpha())  # after a virama: a conjunct
        or "\u1160" <= character <= "\u11ff"  # Hangul vowels and finals typed as letters of their own
        or "\ud7b0" <= character <= "\ud7fb"
        or (_leads(last) and (_leads(character) or "\uac00" <= character <= "\ud7a3"))
    )


def _leads(character: str) -> bool:
    """Whether it is an initial consonant of Hangul, waiting for its vowel."""
    return "\u1100" <= character <= "\u115f" or "\ua960" <= character <= "\ua97c"


# --- fragments -----------------------------------------------------------------------------------------------------


def _fragment(sides: Sides, rng: random.Random) -> Sides | None:
    """One sentence of several, if both sides have as many and the two seem to translate each other."""
    sources, targets = (_sentences(side) for side in sides)
    if len(sources) != len(targets) or len(sources) < 2:
        return None
    scale = sum(map(len, targets)) / sum(map(len, sources))
    alike = [
        (source, target)
        for source, target in zip(sources, targets, strict=True)
        if 0.5 <= len(target) / len(source) / scale <= 2.0
        and sorted(re.findall(_PLACEHOLDER, source)) == sorted(re.findall(_PLACEHOLDER, target))
        and all(_says_something(side) and _balanced(side) for side in (source, target))
    ]
    return rng.choice(alike) if alike else None


def _sentences(text: str) -> list[str]:
    inside: set[int] = set()  # what stays as it is
    found, start = [], 0
    for part, kept in _parts(text):
        inside.update(range(start + 1, start + len(part)) if kept else ())
        start += len(part)
    start = 0
    for match in _SENTENCE_END.finditer(text):
        end, before = match.end(), text[max(0, match.start() - 2) : match.start()]
        initial = match[0] == "." and before[-1:].isupper() and not before[:-1].isalnum()
        goes_on = text[end : end + 2].lstrip()[:1].islower()
        if not (initial or goes_on or end in inside):
            found.append(text[start:end].strip())
            start = end
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def _balanced(text: str) -> bool:
    """Whether no quotation or bracket is open at the end or closed without a beginning."""
    kinds = [unicodedata.category(character) for character in text if character != "’"]  # mostly an apostrophe
    opened, closed = (sum(kind in pair for kind in kinds) for pair in (("Ps", "Pi"), ("Pe", "Pf")))
    return opened == closed and text.count('"') % 2 == 0
