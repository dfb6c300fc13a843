"""Where CTranslate2's own search stays although hypotheses reach the length limit, and in retries."""

from dragoman.config import DecodeConfig
from dragoman.config.decode import RetryOptions
from dragoman.control.retry import _retry_options
from dragoman.engine.ctranslate2 import _ends_at_limit
from dragoman.engine.network import Result

LIMIT = 60
ENDED = Result(tuple(range(10, 30)), -20.0, True)
RUNAWAY = Result(tuple(range(100, 161)), -90.0, False)


def test_what_reaches_the_limit_is_searched_stepwise_but_not_in_a_retry() -> None:
    assert not _ends_at_limit([ENDED], LIMIT, DecodeConfig())
    assert _ends_at_limit([ENDED, RUNAWAY], LIMIT, DecodeConfig())


def test_a_retry_leaves_the_rules_to_the_engine_unless_the_caller_has_some() -> None:
    free = _retry_options(DecodeConfig(beam=3))
    assert isinstance(free, RetryOptions)
    assert (free.beam, free.no_repeat_ngram, free.min_length) == (3, 4, 2)
    assert not _ends_at_limit([RUNAWAY], LIMIT, free)
    for asked in (DecodeConfig(exact=True), DecodeConfig(min_length=3), DecodeConfig(no_repeat_ngram=5)):
        assert not isinstance(_retry_options(asked), RetryOptions)
