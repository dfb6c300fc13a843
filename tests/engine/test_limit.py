"""Which limits of length CTranslate2 searches up to at once, and the rules of a retry."""

import pytest

from dragoman.config import DecodeConfig
from dragoman.control.search.search import retry_options
from dragoman.engine import Query
from dragoman.engine.ctranslate2 import MARGIN, is_near_limit


@pytest.mark.parametrize(
    ("options", "prefix", "near"),
    [
        (DecodeConfig(), (), False),
        (DecodeConfig(max_length=20 + MARGIN), (), False),
        (DecodeConfig(max_length=20 + MARGIN - 1), (), True),
        (DecodeConfig(max_length=3), (), True),
        (DecodeConfig(max_length=3, beam=1), (), False),  # cut, which is the same for one hypothesis
        (DecodeConfig(extra_length=1), (), True),
        (DecodeConfig(min_length=65), (), True),
        (DecodeConfig(), tuple(range(5, 70)), True),
    ],
)
def test_a_limit_is_near_if_it_is_hardly_beyond_the_likely_length(
    options: DecodeConfig, prefix: tuple[int, ...], near: bool
) -> None:
    assert is_near_limit(Query(range(5, 25), prefix), options) is near


def test_a_retry_forbids_repetitions_and_an_empty_translation() -> None:
    options = retry_options(DecodeConfig(beam=3))
    assert (options.beam, options.no_repeat_ngram, options.min_length) == (3, 4, 2)
    stricter = retry_options(DecodeConfig(min_length=3, no_repeat_ngram=2, exact=True))
    assert (stricter.no_repeat_ngram, stricter.min_length, stricter.exact) == (2, 3, True)
