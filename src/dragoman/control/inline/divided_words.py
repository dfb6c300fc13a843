"""Words that inline codes divide and that a translation has as they are: `H<sub>2</sub>O`, `CO<sub>2</sub>`. No torch.

No alignment is asked where the codes of such a word belong: each of its pieces comes from the same piece of the source.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from dragoman.control.inline.placement import Weights
from dragoman.translation import Span

# Without Hangul, whose particles follow such words: `H2O는`.
_LETTER = "[^\\W_가-힣]"
_WORD = re.compile(f"{_LETTER}+")
Pieces = list[tuple[Span, Span]]
"""Spans of the source, and those of the translation that are the same."""


def divided_words(source: str, positions: Sequence[int], target: str) -> Pieces:
    """The pieces of words that codes at these positions divide and that occur as often in the translation."""
    found: Pieces = []
    words = list(_WORD.finditer(source))
    divided = {match[0] for match in words if any(match.start() < at < match.end() for at in positions)}
    for word in sorted(divided):
        ours = [match.start() for match in words if match[0] == word]
        theirs = [match.start() for match in re.finditer(f"(?<!{_LETTER}){re.escape(word)}(?!{_LETTER})", target)]
        if len(ours) == len(theirs):
            for begin, other in zip(ours, theirs, strict=True):
                cuts = [begin, *(at for at in positions if begin < at < begin + len(word)), begin + len(word)]
                found += [(Span(a, b), Span(a, b).moved(other - begin)) for a, b in pairwise(sorted(set(cuts)))]
    return sorted(found)


def with_divided(weights: Weights, sources: Sequence[Span], targets: Sequence[Span], pieces: Pieces) -> Weights:
    """`weights` (targets, sources) in which the pieces of these words come from themselves, and nothing else does."""
    if not pieces:
        return weights
    weights = weights.copy()
    at = {span: number for number, span in enumerate(sources)}, {span: number for number, span in enumerate(targets)}
    for own, other in pieces:
        column, row = at[0].get(own), at[1].get(other)
        if column is not None and row is not None:
            weights[row] = 0
            weights[:, column] = 0
            weights[row, column] = 1
    return weights
