"""Which cases of a test `make test` runs; the others are marked slow and are left to `make test-all`."""

from collections.abc import Container, Iterable, Mapping
from itertools import combinations, product
from typing import Any

import pytest

slow = pytest.mark.slow


def _named(values: Iterable[Any]) -> list[tuple[str | None, Any]]:
    return list(values.items()) if isinstance(values, Mapping) else [(None, value) for value in values]


def cases(values: Iterable[Any], quick: Container[Any]) -> list[Any]:
    """`values` as parameters, of which those in `quick` are quick: by name in a table, by value in a sequence."""
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            id=name,
            marks=() if (value if name is None else name) in quick else slow,
        )
        for name, value in _named(values)
    ]


def _pairs(row: tuple[int, ...]) -> set[Any]:
    return {*combinations(enumerate(row), 2)}


def covering(*axes: Iterable[Any], quick: int | None = None) -> list[Any]:
    """Rows with every pair of values of two axes; as many are quick as the longest axis has values, with each value.

    `quick`: the most that are.

    Of two axes that is their product; of more, what depends on three values at once is not looked for.
    """
    tables = [_named(axis) for axis in axes]
    # Once an axis begins again it is shifted, so that values are not always paired with the same ones.
    diagonal = [
        tuple((row + number * (row // len(table))) % len(table) for number, table in enumerate(tables))
        for row in range(max(map(len, tables)))
    ]
    pairs = {row: _pairs(row) for row in product(*(range(len(table)) for table in tables))}
    quickest = {*diagonal[:quick]}
    rows, missing = {*diagonal}, set[Any]().union(*pairs.values()).difference(*map(_pairs, diagonal))
    while missing:
        row = max(pairs, key=lambda candidate: len(pairs[candidate] & missing))
        rows.add(row)
        missing -= pairs[row]
    parameters = []
    for numbers in sorted(rows):
        chosen = [table[number] for table, number in zip(tables, numbers, strict=True)]
        name = "-".join(str(value) if name is None else name for name, value in chosen)
        marks = () if numbers in quickest else slow
        parameters.append(pytest.param(*(value for _, value in chosen), id=name, marks=marks))
    return parameters
