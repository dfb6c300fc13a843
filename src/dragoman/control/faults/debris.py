"""What a model leaves next to a placeholder that it has copied: `{{name}}}`, `“{name}.”me}.”`.

A translation may have every placeholder and yet more of the signs that they consist of than its source has elsewhere,
or the end of a placeholder once more. Which signs count, the placeholders of the source tell; `50%` and `$50` are text.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from dragoman.text.terms.protect import Placeholder, blanked

_SIGNS = frozenset("{}<>%$\\`@#")
_AMOUNT = re.compile(r"(?<=\d)\s?%|\$(?=\s?\d)")
_LETTER, _BEFORE, _AFTER = re.compile(r"[A-Za-z0-9_]"), re.compile(r"[A-Za-z0-9_]+$"), re.compile(r"[A-Za-z0-9_]+")
# A letter that follows may be an ending: `{file}s`.
LEAST_GLUED = 2
# Characters between a placeholder and what is left of it.
NEAR = 24


def debris(source: str, placeholders: Sequence[Placeholder], text: str, copies: Sequence[Placeholder]) -> Counter[str]:
    """What the text has too much of the placeholders of its source; `copies` are the placeholders of the text."""
    signs = {sign for placeholder in placeholders for sign in placeholder.text} & _SIGNS
    if not placeholders:
        return Counter()
    ours = _signs(source, placeholders, signs) + _glued(source, placeholders)
    return _signs(text, copies, signs) + _glued(text, copies) - ours


def debris_spans(text: str, placeholders: Sequence[Placeholder], signs: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where that may be in a text, the longest span first: a sign with the letters before it, the sign alone, letters.

    A span begins at the end of a placeholder if what is between comes again after it, as in `{name}.”me}.”`.
    """
    wanted = set(signs)
    hidden, ends = blanked(text, placeholders), [placeholder.end for placeholder in placeholders]
    for at, sign in enumerate(hidden):
        if sign in wanted:
            begin = _letters_before(hidden, at)
            for end in ends[bisect_left(ends, begin - NEAR) : bisect_left(ends, begin)]:
                if text.startswith(text[end:begin], at + 1):
                    yield end, at + 1
            yield begin, at + 1
            yield at, at + 1
    for run, begin in _runs(text, placeholders):
        if run in wanted:
            yield begin, begin + len(run)


def _signs(text: str, placeholders: Iterable[Placeholder], signs: set[str]) -> Counter[str]:
    outside = _AMOUNT.sub(" ", blanked(text, placeholders))
    return Counter(sign for sign in outside if sign in signs)


def _glued(text: str, placeholders: Sequence[Placeholder]) -> Counter[str]:
    return Counter(run for run, _ in _runs(text, placeholders))


def _letters_before(text: str, at: int) -> int:
    """Where the letters begin that end before `at`; `at` if there are none."""
    while at and _LETTER.match(text, at - 1):
        at -= 1
    return at


def _runs(text: str, placeholders: Sequence[Placeholder]) -> Iterator[tuple[str, int]]:
    """The letters directly next to a placeholder that it has itself, and where they begin."""
    hidden = blanked(text, placeholders)
    for span in placeholders:
        if after := _AFTER.match(hidden, span.end):
            run, begin = after[0], span.end
            if len(run) >= LEAST_GLUED and run in span.text:
                yield run, begin
        before = _BEFORE.search(hidden[max(span.begin - NEAR, 0) : span.begin])
        if before and len(before[0]) >= LEAST_GLUED and before[0] in span.text:
            yield before[0], span.begin - len(before[0])
