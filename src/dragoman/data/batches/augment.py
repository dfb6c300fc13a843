"""Augmentation: training pairs as people also type them: in capitals, without full stop, with typing errors, in parts.

Input: a pair and a random generator. Output: the pair, or a changed one. Nothing here depends on the language: letters,
cases and punctuation are Unicode's. A letter is what a reader sees as one (a base with its combining marks, a Hangul
syllable in any composition, a conjunct). Placeholders, tags, digits, addresses and file names stay unchanged. A change
that would not be visible in the source is not made, because the model could not learn when to produce such a target.

Sentences are found by punctuation alone and not by `dragoman.text.segment`: both sides of a pair are split without
knowing their languages, and a resumed run must find the same sentences whatever the version of a library.
"""

import random
import re
import unicodedata
from collections.abc import Callable

from dragoman.config import AugmentConfig
from dragoman.data.batches.placeholders import plant
from dragoman.text.words.normalise import normalise
from dragoman.text.words.words import CLOSING_BRACKETS, CLOSING_QUOTES, clusters

Sides = tuple[str, str]

# {name}, <b>, %s, %(name)d, %1$s, &amp;
_PLACEHOLDER = r"\{[^{}]*\}|<[^<>]*>|%(?:\(\w+\)|\d+\$)?[-+#0]*\d*(?:\.\d+)?[a-zA-Z@]|&#?\w+;"
_PIECE = re.compile(rf"(?P<placeholder>{_PLACEHOLDER})|[!-$'-;=?-z|~]+")  # or a run of ASCII without %&<>{{}}
# Signs of an address, a path or an identifier: a digit, a symbol, or a point or colon inside.
_TECHNICAL = re.compile(r"[\d@/\\_=$#|~^]|\w[.:]\w")

# Ends of sentences; after those of the second string the next sentence may begin without a space. Each expression
# takes linear time.
_ENDS, _UNSPACED = ".!?…؟۔।॥።။។։", "。！？｡．"
_CLOSING = re.escape(CLOSING_QUOTES + CLOSING_BRACKETS)
_FIRST = rf"(?<![{_ENDS}{_UNSPACED}])"
_FINAL = re.compile(rf"\s?{_FIRST}[{_ENDS}{_UNSPACED}]+([{_CLOSING}]*)$")
_SENTENCE_END = re.compile(
    rf"{_FIRST}(?:(?<!\d)\.|[{_ENDS[1:]}{_UNSPACED}])[{_ENDS}{_UNSPACED}]*[{_CLOSING}]*(?=\s|$)"
    rf"|{_FIRST}[{_UNSPACED}]+(?=[^\W\d_]|[「『（“《【])"
)

SHORTEST = 3  # shorter words get no typing errors: they could become other words


def augment(source: str, target: str, rates: AugmentConfig, rng: random.Random) -> Sides:
    """The pair with at most one change, of each kind with its probability in `rates`.

    The pair stays as it is if the change that was drawn is not possible or would leave a side empty. Changed text is
    normalised, as all text is when it is tokenised.
    """
    clean = normalise(source), normalise(target)
    chance = rng.random()
    changes: tuple[tuple[float, Callable[[], Sides | None]], ...] = (
        (rates.upper, lambda: _case(clean, upper_case)),
        (rates.title, lambda: _case(clean, title_case)),
        (rates.unpunctuated, lambda: _unpunctuated(clean)),
        (rates.typos, lambda: (mistyped(clean[0], rng), clean[1])),
        (rates.fragments, lambda: _fragment(clean, rng)),
        (0.0 if rates.placeholders == "auto" else rates.placeholders, lambda: plant(clean, rng)),
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
    """Both sides changed, if at least half of the letters of the source have case."""
    return (change(sides[0]), change(sides[1])) if mostly_cased(sides[0]) else None


def mostly_cased(text: str) -> bool:
    """Whether at least half of the letters, of which there are some, have case."""
    letters = [character for character in text if character.isalpha()]
    return bool(letters) and 2 * sum(letter.lower() != letter.upper() for letter in letters) >= len(letters)


def upper_case(text: str) -> str:
    """All letters as capitals, except in placeholders, addresses and the like."""
    return "".join(part if fixed else part.upper() for part, fixed in _parts(text))


def title_case(text: str) -> str:
    """The first letter of every word capitalised, the other letters unchanged."""
    written, begins = [], True
    for part, fixed in _parts(text):
        if fixed:
            written.append(part)
            begins = begins and part.startswith("<")  # a word may follow a tag; anything else is itself a word
            continue
        for character in part:
            written.append(character.title() if begins else character)
            begins = character.isspace() or (begins and not character.isalnum())
    return "".join(written)


def _parts(text: str) -> list[tuple[str, bool]]:
    """`text` in parts, each with whether it must stay unchanged."""
    parts, end = [], 0
    for piece in _PIECE.finditer(text):
        if piece["placeholder"] or _TECHNICAL.search(piece[0]):
            parts += [(text[end : piece.start()], False), (piece[0], True)]
            end = piece.end()
    return [*parts, (text[end:], False)]


# --- punctuation ---------------------------------------------------------------------------------------------------


def final_mark(text: str) -> re.Match[str] | None:
    """The final full stop, question or exclamation mark, with the space before it; group 1: closing quotes after it."""
    return _FINAL.search(text)


def _unpunctuated(sides: Sides) -> Sides | None:
    """Both sides without the final full stop, question or exclamation mark; closing quotes stay."""
    if not all(_FINAL.search(side) for side in sides):
        return None
    source, target = (_FINAL.sub(r"\1", side) for side in sides)
    return (source, target) if _has_words(source) and _has_words(target) else None


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


# --- typos -------------------------------------------------------------------------------------------------------


def mistyped(text: str, rng: random.Random) -> str:
    """Two letters swapped, or one dropped or doubled, in up to three words and at most a quarter of all words."""
    letters: list[str] = []
    words = [range(0)]  # the letters of each
    for part, fixed in _parts(text):
        for letter in [part] if fixed else clusters(part):
            if not fixed and letter[0].isalpha():
                word = words.pop() if words[-1].stop == len(letters) else range(len(letters), len(letters))
                words.append(range(word.start, len(letters) + 1))
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


# --- fragments -----------------------------------------------------------------------------------------------------


def _fragment(sides: Sides, rng: random.Random) -> Sides | None:
    """One sentence of several, if both sides have equally many and the two sentences seem to correspond."""
    sources, targets = (_sentences(side) for side in sides)
    if len(sources) != len(targets) or len(sources) < 2:
        return None
    scale = sum(map(len, targets)) / sum(map(len, sources))
    alike = [
        (source, target)
        for source, target in zip(sources, targets, strict=True)
        if 0.5 <= len(target) / len(source) / scale <= 2.0
        and sorted(re.findall(_PLACEHOLDER, source)) == sorted(re.findall(_PLACEHOLDER, target))
        and all(_has_words(side) and _balanced(side) for side in (source, target))
    ]
    return rng.choice(alike) if alike else None


def _sentences(text: str) -> list[str]:
    inside: set[int] = set()  # positions within parts that must stay unchanged
    sentences, start = [], 0
    for part, fixed in _parts(text):
        inside.update(range(start + 1, start + len(part)) if fixed else ())
        start += len(part)
    start = 0
    for match in _SENTENCE_END.finditer(text):
        end, before = match.end(), text[max(0, match.start() - 2) : match.start()]
        initial = match[0] == "." and before[-1:].isupper() and not before[:-1].isalnum()
        continues = text[end : end + 2].lstrip()[:1].islower()
        if not (initial or continues or end in inside):
            sentences.append(text[start:end].strip())
            start = end
    rest = text[start:].strip()
    return [*sentences, rest] if rest else sentences


def _balanced(text: str) -> bool:
    """Whether every quotation and bracket is both opened and closed."""
    kinds = [unicodedata.category(character) for character in text if character != "’"]  # mostly an apostrophe
    opened, closed = (sum(kind in pair for kind in kinds) for pair in (("Ps", "Pi"), ("Pe", "Pf")))
    return opened == closed and text.count('"') % 2 == 0
