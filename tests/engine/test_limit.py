"""Where CTranslate2's own search stays although hypotheses reach the length limit, and in retries."""

from collections.abc import Sequence

import pytest

from dragoman.config import DecodeConfig
from dragoman.control.search.search import retry_options
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.engine.ctranslate2 import are_settled
from dragoman.engine.network import Result
from dragoman.text.tokens.tokenizer import EOS

LIMIT = 60
OPTIONS = DecodeConfig(beam=3)
TEXT = tuple(range(100, 120))
SURE: Result = ((*TEXT, EOS), -5.0)
UNSURE: Result = ((*TEXT, EOS), -95.0)
RUNAWAYS: list[Result] = [((*range(100, 159), last), -90.0 - last) for last in range(4, 7)]


def best(result: Result, end: float = 0.0) -> list[Hypothesis]:
    """`result` as the best hypothesis, ended with EOS of log P `end`."""
    tokens, log_prob = tuple(token for token in result[0] if token != EOS), result[1] + end
    return [Hypothesis(tokens, log_prob, log_prob / length_penalty(len(tokens) + 1, 0.6))]


@pytest.mark.parametrize(
    ("found", "results", "settled"),
    [
        (best(RUNAWAYS[0], -3.0), RUNAWAYS, False),  # a finished one of log P -95 may be missing
        (best(SURE), [SURE, *RUNAWAYS[:2]], True),
        (best(UNSURE), [*RUNAWAYS[:2], UNSURE], False),  # one more of log P -95 may be missing
        (best(RUNAWAYS[0], -9.0), [SURE, *RUNAWAYS[:2]], False),  # EOS made it less likely than a missing one
        ([*best(SURE), *best(RUNAWAYS[0], -9.0)], [SURE, *RUNAWAYS[:2]], False),
    ],
)
def test_a_search_at_its_limit_is_settled_if_no_missing_hypothesis_can_be_among_the_best(
    found: Sequence[Hypothesis], results: Sequence[Result], settled: bool
) -> None:
    assert are_settled(found, results, 20, LIMIT, OPTIONS) is settled


def test_a_translation_that_runs_away_is_taken_as_it_is() -> None:
    assert are_settled(best(RUNAWAYS[0], -30.0), RUNAWAYS, LIMIT - 50, LIMIT, OPTIONS)
    assert not are_settled(best(RUNAWAYS[0], -30.0), [UNSURE, *RUNAWAYS[:2]], LIMIT - 50, LIMIT, OPTIONS)


def test_a_retry_leaves_the_rules_to_the_engine_unless_the_caller_has_some() -> None:
    options, best_effort = retry_options(DecodeConfig(beam=3))
    assert best_effort
    assert (options.beam, options.no_repeat_ngram, options.min_length) == (3, 4, 2)
    for own in (DecodeConfig(exact=True), DecodeConfig(min_length=3), DecodeConfig(no_repeat_ngram=5)):
        assert not retry_options(own)[1]
