"""Translations that differ from the first free token on, and lists of translations without repeats. No torch."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dragoman.config import DecodeConfig
from dragoman.config.file import build_section
from dragoman.control.search.sentences import Sentence, join
from dragoman.engine import Engine
from dragoman.errors import ConfigError
from dragoman.translation import Candidate, Translation

# A line has at most this many; more would be searched for than fits in memory.
MAX_COUNT = 1024
# Each first token is searched to the end; if texts repeat, up to this many times as many are tried.
WIDENING = 2

Translate = Callable[[Sequence[Sentence], DecodeConfig], list[Translation]]


def alternatives(
    engine: Engine, translate: Translate, line: str, parts: Sequence[Sentence], count: int, options: DecodeConfig
) -> tuple[Candidate, ...]:
    """Up to `count` translations of a line with different texts, best first.

    Each continues the target prefix of the first part with its own next token, from the likeliest on. Raises
    ConfigError for a `count` that is too large.
    """
    if count > MAX_COUNT:
        raise ConfigError(f"count: {count:,} is more than {MAX_COUNT:,}; ask for fewer")
    if not parts:
        return ()
    first, *rest = parts
    one = options.model_copy(update={"method": "beam", "n_best": 1})
    others = translate(rest, one)
    found: list[Candidate] = []
    tried = 0
    for wanted in (count, WIDENING * count):
        ways = _first_tokens(engine, first, wanted, options)[tried:]
        tried += len(ways)
        forked = translate([replace(first, target_prefix=way) for way in ways], one)
        found = distinct([*found, *(join(line, parts, [way, *others]).candidates[0] for way in forked)])
        if len(found) >= count:
            break
    return tuple(sorted(found[:count], key=lambda candidate: -candidate.score))


def _first_tokens(engine: Engine, sentence: Sentence, count: int, options: DecodeConfig) -> list[tuple[int, ...]]:
    """The prefix of a sentence with each of the `count` likeliest tokens after it, the likeliest first."""
    length = len(sentence.target_prefix) + 1
    fork = {"method": "beam", "beam": count, "n_best": count, "min_length": length, "max_length": length}
    search = build_section(options, fork, "decode")
    [found] = engine.translate([sentence.source_ids], search, [sentence.target_prefix])
    return [hypothesis.tokens for hypothesis in found]


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The first candidate of each text."""
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        first.setdefault(candidate.text, candidate)
    return list(first.values())
