"""How numbers are written, and that they are read again as the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.control.faults.amounts import find_amounts
from dragoman.text.words.number_words import written


@pytest.mark.parametrize(
    ("value", "english", "korean"),
    [
        (7, "7", "7"),
        (9_500, "9,500", "9,500"),
        (38_000, "38,000", "38,000"),
        (50_000, "50,000", "5만"),
        (1_200_000, "1.2 million", "120만"),
        (1_253_000, "1,253,000", "1,253,000"),
        (35_000_000, "35 million", "3,500만"),
        (230_000_000, "230 million", "2억 3,000만"),
        (9_876_543_210, "9,876,543,210", "98억 7,654만 3,210"),
        (10**13, "10 trillion", "10조"),
        (-20_000, "-20,000", "-2만"),
    ],
)
def test_a_number_is_written_as_newspapers_write_it(value: int, english: str, korean: str) -> None:
    assert (written(value, "en"), written(value, "ko")) == (english, korean)


round_numbers = st.tuples(st.integers(1, 9999), st.integers(0, 11)).map(lambda pair: pair[0] * 10 ** pair[1])


@given(round_numbers | st.integers(-(10**15), 10**15), st.sampled_from(["en", "ko"]))
def test_what_is_written_is_read_as_the_same_number(value: int, language: str) -> None:
    for text in (f"It costs {written(value, language)} won.", f"모두 {written(value, language)} 원이다."):
        assert [amount.value for amount in find_amounts(text)] == [value]
