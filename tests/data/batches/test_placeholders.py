"""Planted placeholders: the same on both sides, where both sides correspond, and always the same ones."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.batches.placeholders import MOST, NAMES, corresponding, plant
from dragoman.text.terms.protect import find_placeholders

SIDES = st.lists(
    st.sampled_from(["Tom", "3", "3.5", "개를", "%s", "{name}", "saw", '"', "(", ")", ",", "Excel", "에서", " ", ". "])
).map(" ".join)


def shown(spots: list[tuple[tuple[int, int], tuple[int, int]]], source: str, target: str) -> set[tuple[str, str]]:
    return {(source[a:b], target[c:d]) for (a, b), (c, d) in spots}


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (
            "In 2023 Excel had 5 bugs.",
            "2023년 Excel에는 버그가 5개 있었다.",
            {("2023", "2023"), ("Excel", "Excel"), ("5", "5")},
        ),
        ("Tom met Tom.", "Tom traf Tom.", set()),
        ("The war was over 1,000 days.", "Der war 1,000 Tage.", {("1,000", "1,000")}),
        ('She said "go on".', "그는 “계속”이라고 했다.", {("go on", "계속")}),
        ("Open {Excel} now", "{Excel} jetzt öffnen", set()),
    ],
)
def test_what_corresponds(source: str, target: str, expected: set[tuple[str, str]]) -> None:
    assert shown(corresponding(source, target), source, target) == expected


@given(SIDES, SIDES, st.integers(0, 99))
def test_both_sides_get_the_same_placeholders_and_keep_their_own(source: str, target: str, seed: int) -> None:
    found = plant((source, target), random.Random(seed))
    assert found == plant((source, target), random.Random(seed))
    if found is None:
        return
    new = []
    for before, after in zip((source, target), found, strict=True):
        had, has = (Counter(one.text for one in find_placeholders(text)) for text in (before, after))
        assert not had - has
        new.append(has - had)
    assert new[0] == new[1]
    assert 1 <= new[0].total() <= MOST + 2


def test_they_take_the_place_of_what_corresponds_in_any_order_of_words() -> None:
    source, target = "In 2023 Excel had 5 bugs", "Excel에는 2023년에 버그가 5개"
    orders = set()
    for seed in range(50):
        found = plant((source, target), random.Random(seed))
        assert found
        if found[0].startswith("In ") and "Excel" not in found[0] and "2023" not in found[0]:
            assert any(found[1].startswith(f"{name}에는") for name in NAMES)
            assert all(found[0].count(name) == found[1].count(name) for name in NAMES)
            orders.add(found)
    assert orders
