"""One call for the members of many groups: what an engine or a tokenizer does for all at once costs least."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Member = TypeVar("Member")
Outcome = TypeVar("Outcome")


def in_groups(
    call: Callable[[list[Member]], Iterable[Outcome]], groups: Sequence[Sequence[Member]]
) -> list[list[Outcome]]:
    """`call` on the members of all groups at once; its results in the same groups."""
    results = iter(call([member for group in groups for member in group]))
    return [[next(results) for _ in group] for group in groups]
