"""Golden sentences: translations and log P of the reference engine, in the bundle, to verify other engines with.

A line of `golden.jsonl` has the `source` text, its ids `tokens`, the ids of its best `translation`, and `log_probs`,
log P in nats of each token of the translation and of its EOS. A model of several pairs of languages has `pair` too.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dragoman.config import DecodeConfig
from dragoman.engine import Engine, queries
from dragoman.errors import ModelError
from dragoman.system.parsing import json_lines, parse_json
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import Tokenizer

FILE = "golden.jsonl"
COUNT = 32


@dataclass(frozen=True, slots=True)
class Golden:
    """One sentence and its translation by the reference engine."""

    source: str
    tokens: list[int]
    translation: list[int]
    log_probs: list[float]
    pair: str = ""


def golden_sentences(
    tokenizer: Tokenizer,
    reference: Engine,
    options: DecodeConfig,
    texts: Sequence[str],
    pair: str = "",
    count: int = COUNT,
    marks: Marks = NO_MARKS,
) -> list[Golden]:
    """The first `count` texts that are not empty, translated and scored with the language tokens of their pair."""
    pairs = [(text, ids) for text, ids in zip(texts, tokenizer.encode(texts, "source"), strict=True) if ids][:count]
    sources = queries([ids for _, ids in pairs], marks)
    best = [list(hypotheses[0].tokens) for hypotheses in reference.translate(sources, options)]
    scored = reference.score(sources, best)
    rows = zip(pairs, best, scored, strict=True)
    return [Golden(text, ids, translation, log_probs, pair) for (text, ids), translation, log_probs in rows]


def golden_text(sentences: Sequence[Golden]) -> str:
    """The content of `golden.jsonl`."""
    fields = [{key: value for key, value in asdict(sentence).items() if value != ""} for sentence in sentences]
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in fields)


def read_golden(folder: Path, tokenizer: Tokenizer) -> list[Golden]:
    """The golden sentences of a bundle; none if the file is missing, as in older bundles. Raises ModelError."""
    path = folder / FILE
    try:
        lines = json_lines(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {error}; copy the bundle again") from None
    return [_golden(line, tokenizer, f"{path}:{number}") for number, line in enumerate(lines, 1)]


def _golden(line: str, tokenizer: Tokenizer, where: str) -> Golden:
    try:
        golden = Golden(**parse_json(line))
        tokenizer.pieces(golden.tokens, "source")
        tokenizer.pieces(golden.translation, "target")
        whole = all(type(token) is int for token in (*golden.tokens, *golden.translation))
        if not whole or not golden.tokens or len(list(map(float, golden.log_probs))) != len(golden.translation) + 1:
            raise ValueError
    except (ValueError, TypeError, IndexError):
        raise ModelError(f"{where}: not a golden sentence of this model; copy the bundle again") from None
    return golden


def largest_difference(engine: Engine, sentences: Sequence[Golden], marks: Marks = NO_MARKS) -> float:
    """The largest difference, in nats, between the log P of a golden token in this engine and in the reference."""
    scored = engine.score(queries([s.tokens for s in sentences], marks), [s.translation for s in sentences])
    expected = [s.log_probs for s in sentences]
    differences = (
        abs(a - b) for mine, theirs in zip(scored, expected, strict=True) for a, b in zip(mine, theirs, strict=True)
    )
    return max((math.inf if math.isnan(d) else d for d in differences), default=0.0)
