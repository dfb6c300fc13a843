"""Translations that have to be shorter: searched again, for another hypothesis and then with a limit on the tokens.

A limit may cut a sentence off. A hypothesis found under one counts only if the model itself would end there: if EOS is
not improbable. No torch.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dragoman.translation import Translation

# The beam of the searches: a short hypothesis is seldom among the first.
BEAM = 8
# Parts of the tokens that the limit of characters allows by the ratio of the first translation.
SHARES = (1.0, 0.8)
LEAST_END = math.log(0.1)

Search = Callable[[Sequence[int], dict[str, Any]], list[Translation]]
"""The translations of the lines of these indices, under changed options."""


def shorten(translations: Sequence[Translation], limits: Sequence[int], search: Search) -> list[Translation]:
    """Each translation, or another one with at most its limit of characters, if one is found; none gains a warning."""
    found = list(translations)
    several = {"method": "beam", "beam": BEAM, "n_best": BEAM, "length_penalty": 0.0, "token_scores": True}
    for share in (None, *SHARES):
        groups: dict[int | None, list[int]] = {}
        for index, one in enumerate(found):
            if limits[index] > 0 and len(one.text) > limits[index]:
                longest = max(1, int(share * len(one.tokens) * limits[index] / len(one.text))) if share else None
                groups.setdefault(longest, []).append(index)
        for longest, indices in groups.items():
            given = {**several, "max_length": longest, "min_length": 0} if longest else several
            for index, other in zip(indices, search(indices, given), strict=True):
                best = next(_fitting(other, found[index], limits[index], bool(longest)), None)
                found[index] = best or found[index]
    return found


def _fitting(other: Translation, known: Translation, limit: int, was_cut: bool) -> Iterator[Translation]:
    """The candidates that fit, best first, each as a translation."""
    if {flag.kind for flag in other.warnings} - {flag.kind for flag in known.warnings}:
        return
    for one in other.candidates:
        if one.text and len(one.text) <= limit and not (was_cut and one.log_probs[-1:] < (LEAST_END,)):
            yield Translation(other.source, (one,), known.warnings, other.terms, known.confidence)
