"""Translations that differ from the first free token on, and lists of translations without repeats."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dragoman.config import DecodeConfig
from dragoman.config.file import build_section
from dragoman.control.search.sentences import Line, Sentence, whole_translation
from dragoman.engine import Engine
from dragoman.errors import ConfigError
from dragoman.translation import Candidate, Translation

# A line has at most this many; more would be searched for than fits in memory.
MAX_COUNT = 1024
# Each first token is searched to the end; if texts repeat, up to this many times as many are tried.
WIDENING = 2

Translate = Callable[[Sequence[Sentence], DecodeConfig], list[Translation]]


def alternatives(
    line: Line, engine: Engine, translate: Translate, count: int, options: DecodeConfig
) -> tuple[Candidate, ...]:
    """Up to `count` translations of a line with different texts, the highest score first.

    Each continues the target prefix of the first sentence with its own next token, from the likeliest on. Raises
    ConfigError for a `count` that is too large.
    """
    if count > MAX_COUNT:
        raise ConfigError(f"count: {count:,} is more than {MAX_COUNT:,}; ask for fewer")
    if not line.sentences:
        return (Candidate(line.frame.text, 0.0, 0.0),) if line.frame else ()
    first, *rest = line.sentences
    single = options.model_copy(update={"method": "beam", "n_best": 1})
    others = translate(rest, single)
    candidates: list[Candidate] = []
    tried = 0
    for wanted in (count, WIDENING * count):
        prefixes = _first_tokens(engine, first, wanted, options)[tried:]
        tried += len(prefixes)
        forked = translate([replace(first, prefix=prefix) for prefix in prefixes], single)
        wholes = (whole_translation(line, [way, *others]) for way in forked)
        candidates = distinct([*candidates, *(whole.candidates[0] for whole in wholes)])
        if len(candidates) >= count:
            break
    return tuple(sorted(candidates[:count], key=lambda candidate: -candidate.score))


def _first_tokens(engine: Engine, sentence: Sentence, count: int, options: DecodeConfig) -> list[tuple[int, ...]]:
    """The prefix of a sentence with each of the `count` likeliest tokens after it, the likeliest first."""
    length = len(sentence.prefix) + 1
    fork = {"method": "beam", "beam": count, "n_best": count, "min_length": length, "max_length": length}
    fork["reverse_weight"] = 0  # one token says nothing about a source
    [hypotheses] = engine.translate([sentence], build_section(options, fork, "decode"))
    return [hypothesis.tokens for hypothesis in hypotheses]


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The first candidate of each text."""
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        first.setdefault(candidate.text, candidate)
    return list(first.values())
