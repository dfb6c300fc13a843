"""Which cases of a test `make test` runs; the others are marked slow and are left to `make test-all`."""

from collections.abc import Container, Iterable, Mapping
from itertools import product
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


def covering(*axes: Iterable[Any]) -> list[Any]:
    """The product of `axes`, of which a diagonal is quick: every value of every axis is in it at least once."""
    tables = [_named(axis) for axis in axes]
    diagonal = [tuple(row % len(table) for table in tables) for row in range(max(map(len, tables)))]
    parameters = []
    for numbers in product(*(range(len(table)) for table in tables)):
        chosen = [table[number] for table, number in zip(tables, numbers, strict=True)]
        name = "-".join(str(value) if name is None else name for name, value in chosen)
        marks = () if numbers in diagonal else slow
        parameters.append(pytest.param(*(value for _, value in chosen), id=name, marks=marks))
    return parameters
