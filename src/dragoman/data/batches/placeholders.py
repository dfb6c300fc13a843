"""Placeholders planted into a pair, at places that correspond, so that a model learns to place and re-order them.

Input: a normalised pair and a random generator. Output: the pair with some placeholders more. Where both sides have the
same number, name or word once, or one quotation or bracket each, a placeholder takes its place: that is where a
translation has it, whatever the order of words. Otherwise, and now and then besides, they are put before or behind both
texts. Corpora of prose have no placeholders; with these a model sees them in sentences of every kind.
"""

import random
import re
from collections import Counter

from dragoman.text.terms.protect import LEARNED, find_placeholders

Sides = tuple[str, str]
Span = tuple[int, int]

# What is planted. With `data.protect` each becomes a symbol; without, a model learns to copy these.
NAMES = ("{name}", "{0}", "{count}", "{{user}}", "{{ item }}", "%(total)s", "{1}", "{file}", "{{title}}", "%(path)s")
MOST = 3
# Characters of a side: no sentence is longer, and the time of a search in one is not linear in its length.
LONGEST = 2000
# Shares of the planted pairs: in the middle where it is possible, and at the edges too.
INSIDE, BOTH = 0.8, 0.2

# A number, or a word of at least three letters of one script: before Korean particles a Latin name ends. A short word
# without a capital may be the same by chance, as German and English `war`.
_LATIN = "A-Za-z\u00c0-\u024f"
_WORD = re.compile(rf"\d+(?:[.,:]\d+)*(?!\d)|[{_LATIN}]{{3,}}|[^\W\d_{_LATIN}]{{3,}}")
SHORT = 4
_QUOTED = re.compile(
    r"(?<=\()[^()]{1,60}(?=\))|(?<=[“\"])[^“”\"]{1,60}(?=[”\"])|(?<=‘)[^‘’]{1,60}(?=’)|(?<=[「『《〈])[^「」『』《》〈〉]{1,60}(?=[」』》〉])"
)
_END = re.compile(r"\s?[.!?…。！？।]+[\"'”’»)」』]*$")


def plant(sides: Sides, rng: random.Random) -> Sides | None:
    """The pair with placeholders planted on both sides; None if one would not be found there again, or for a side
    longer than LONGEST."""
    if max(map(len, sides)) > LONGEST:
        return None
    names = [name for name in NAMES if all(name not in side for side in sides)]
    rng.shuffle(names)
    spots = corresponding(*sides)
    inside = bool(spots) and rng.random() < INSIDE
    planted, used = sides, 0
    if inside:
        chosen = _apart(rng.sample(spots, len(spots)))[: rng.randint(1, MOST)]
        used = min(len(chosen), len(names))
        planted = tuple(  # type: ignore[assignment]
            _replaced(side, [(spot[index], name) for spot, name in zip(chosen, names, strict=False)])
            for index, side in enumerate(sides)
        )
    if len(names) >= used + 2 and (not inside or rng.random() < BOTH):
        planted = _at_the_edges(planted, names[used], names[used + 1], rng)
    return planted if _found_again(sides, planted) else None


def corresponding(source: str, target: str) -> list[tuple[Span, Span]]:
    """Spans of both sides that translate each other: what both have exactly once, and the only quotation of each."""
    ours, theirs = _once(source), _once(target)
    spots = [(ours[word], theirs[word]) for word in ours if word in theirs]
    quoted = [_outside(side, [match.span() for match in _QUOTED.finditer(side)]) for side in (source, target)]
    if len(quoted[0]) == len(quoted[1]) == 1:
        spots.append((quoted[0][0], quoted[1][0]))
    return spots


def _once(text: str) -> dict[str, Span]:
    """The numbers and words that a text has once, outside of placeholders, and where."""
    spans = [match.span() for match in _WORD.finditer(text)]
    counts = Counter(text[begin:end] for begin, end in spans)
    once = {text[begin:end]: (begin, end) for begin, end in _outside(text, spans) if counts[text[begin:end]] == 1}
    return {word: span for word, span in once.items() if len(word) >= SHORT or not word.islower()}


def _outside(text: str, spans: list[Span]) -> list[Span]:
    taken = [(placeholder.begin, placeholder.end) for placeholder in find_placeholders(text, LEARNED)]
    return [(begin, end) for begin, end in spans if all(end <= start or begin >= stop for start, stop in taken)]


def _apart(spots: list[tuple[Span, Span]]) -> list[tuple[Span, Span]]:
    """The spots that overlap no earlier one, on either side."""
    apart: list[tuple[Span, Span]] = []
    for spot in spots:
        if all(a[1] <= b[0] or b[1] <= a[0] for other in apart for a, b in zip(spot, other, strict=True)):
            apart.append(spot)
    return apart


def _replaced(text: str, planted: list[tuple[Span, str]]) -> str:
    for (begin, end), name in sorted(planted, reverse=True):
        text = text[:begin] + name + text[end:]
    return text


def _at_the_edges(sides: Sides, first: str, second: str, rng: random.Random) -> Sides:
    """Both sides with one placeholder before or behind the text, or with two around it as tags are."""
    kind = rng.choice(("before", "label", "behind", "bracket", "quoted", "around"))
    if kind in ("before", "label"):
        written = [f"{first}{' ' if kind == 'before' else ': '}{side}" for side in sides]
    elif kind == "around":
        written = [f"{first}{side}{second}" for side in sides]
    else:
        shown = {"behind": f" {first}", "bracket": f" ({first})", "quoted": f': "{first}"'}[kind]
        marks = [_END.search(side) for side in sides]
        ends = [mark.start() if all(marks) and mark else len(side) for mark, side in zip(marks, sides, strict=True)]
        written = [side[:end] + shown + side[end:] for end, side in zip(ends, sides, strict=True)]
    return written[0], written[1]


def _found_again(before: Sides, after: Sides) -> bool:
    """Whether all placeholders of both sides are found, those of before and as many new ones on each."""
    new = []
    for old, now in zip(before, after, strict=True):
        had, has = (
            Counter(placeholder.text for placeholder in find_placeholders(text, LEARNED)) for text in (old, now)
        )
        if had - has:
            return False
        new.append(has - had)
    return bool(new[0]) and new[0] == new[1]
