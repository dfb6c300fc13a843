"""What a model leaves next to a placeholder that it has copied: `{{name}}}`, `“{name}.”me}.”`. No torch.

A translation may have every placeholder and yet more of the signs that they consist of than its source has elsewhere,
or the end of a placeholder once more. Which signs count, the placeholders of the source tell; `50%` and `$50` are text.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from dragoman.text.protect import Placeholder

_SIGNS = frozenset("{}<>%$\\`@#")
_AMOUNT = re.compile(r"(?<=\d)\s?%|\$(?=\s?\d)")
_BEFORE, _AFTER = re.compile(r"[A-Za-z0-9_]+$"), re.compile(r"[A-Za-z0-9_]+")
# A letter that follows may be an ending: `{file}s`.
LEAST_GLUED = 2
# Characters between a placeholder and what is left of it.
NEAR = 24


def debris(source: str, placeholders: Sequence[Placeholder], text: str, found: Sequence[Placeholder]) -> Counter[str]:
    """What the text has too much of the placeholders of its source; `found` are those of the text."""
    signs = {sign for one in placeholders for sign in one.text} & _SIGNS
    if not placeholders:
        return Counter()
    ours = _signs(source, placeholders, signs) + _glued(source, placeholders)
    return _signs(text, found, signs) + _glued(text, found) - ours


def debris_spans(text: str, found: Sequence[Placeholder], signs: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where that may be in a text, the longest span first: a sign with the letters before it, the sign alone, letters.

    A span begins at the end of a placeholder if what is between comes again after it, as in `{name}.”me}.”`.
    """
    wanted = set(signs)
    hidden = _hidden(text, found)
    for at, sign in enumerate(hidden):
        if sign in wanted:
            letters = _BEFORE.search(hidden[:at])
            begin = letters.start() if letters else at
            for one in found:
                between = text[one.end : begin]
                if 0 <= begin - one.end <= NEAR and between and text.startswith(between, at + 1):
                    yield one.end, at + 1
            yield begin, at + 1
            yield at, at + 1
    for run, begin in _runs(text, found):
        if run in wanted:
            yield begin, begin + len(run)


def _signs(text: str, found: Iterable[Placeholder], signs: set[str]) -> Counter[str]:
    outside = _AMOUNT.sub(" ", _hidden(text, found))
    return Counter(sign for sign in outside if sign in signs)


def _glued(text: str, found: Sequence[Placeholder]) -> Counter[str]:
    return Counter(run for run, _ in _runs(text, found))


def _runs(text: str, found: Sequence[Placeholder]) -> Iterator[tuple[str, int]]:
    """The letters directly next to a placeholder that it has itself, and where they begin."""
    hidden = _hidden(text, found)
    for one in found:
        if after := _AFTER.match(hidden, one.end):
            run, begin = after[0], one.end
            if len(run) >= LEAST_GLUED and run in one.text:
                yield run, begin
        before = _BEFORE.search(hidden[max(one.begin - NEAR, 0) : one.begin])
        if before and len(before[0]) >= LEAST_GLUED and before[0] in one.text:
            yield before[0], one.begin - len(before[0])


def _hidden(text: str, found: Iterable[Placeholder]) -> str:
    """The text with spaces in place of the placeholders."""
    for one in found:
        text = text[: one.begin] + " " * (one.end - one.begin) + text[one.end :]
    return text
