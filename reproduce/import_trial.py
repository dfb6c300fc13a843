"""What the trial of an import measures where the vocabulary is right, and where it is wrong.

    DRAGOMAN_DATA=/path/to/data python reproduce/import_trial.py

Both bundled models, five draws of 32 pairs each of the embedded text and of korean_news. A wrong vocabulary is imitated
in front of the engine: ids of the source, or of both sides, are exchanged at random (all or half of them) or shifted by
one; "the other direction" gives the sides in the wrong order. Prints the range of mean log P and t by case; the last
line is JSON.
"""

import json
import os
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bundled_models import lines

from dragoman.bundle import open_bundle
from dragoman.bundled import HOME
from dragoman.engine import Engine, Query
from dragoman.engine.load import load_engine
from dragoman.importing.trial import try_pairs
from dragoman.text.tokens.tokenizer import EOS, Tokenizer
from dragoman.workflows.importing.import_model import embedded_text

DRAWS, PAIRS = 5, 32
Pairs = Sequence[tuple[str, str]]


class Renumbered:
    """An engine whose ids are exchanged before it reads them: the vocabulary of another model."""

    def __init__(self, engine: Engine, source: Sequence[int], target: Sequence[int]) -> None:
        self.engine, self.source, self.target = engine, source, target

    def score(self, queries: Sequence[Query], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """log P of each token, as the engine has it for the other ids."""
        theirs = [replace(query, source=[self.source[token] for token in query.source]) for query in queries]
        return self.engine.score(theirs, [[self.target[token] for token in row] for row in targets])


def exchanged(size: int, share: float, seed: int) -> list[int]:
    """The ids, a share of those of text in another order."""
    ids = list(range(size))
    some = [token for token in ids[EOS + 1 :] if random.Random(f"{seed}/{token}").random() < share]
    for token, other in zip(some, random.Random(seed).sample(some, len(some)), strict=True):
        ids[token] = other
    return ids


def cases(engine: Engine, tokenizer: Tokenizer, seed: int) -> dict[str, object]:
    """The engine behind each vocabulary."""
    size = len(tokenizer.source)
    same, half, other = list(range(size)), exchanged(size, 0.5, seed), exchanged(size, 1.0, seed)
    shifted = [*range(EOS + 1), *range(EOS + 2, size), EOS + 1]
    return {
        "right": engine,
        "source pieces exchanged": Renumbered(engine, other, same),
        "half of all pieces exchanged": Renumbered(engine, half, half),
        "all pieces shifted by one": Renumbered(engine, shifted, shifted),
        "all pieces exchanged": Renumbered(engine, other, other),
    }


def main() -> None:
    """Measure every case and print the table."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for name in ("en-ko", "ko-en"):
        bundle = open_bundle(HOME / name)
        engine, tokenizer = load_engine(bundle), bundle.tokenizer
        news = Path(os.environ["DRAGOMAN_DATA"]) / "korean_news"
        sides = (lines(news / f"dev.{side}.gz") for side in name.split("-"))
        texts: dict[str, Pairs] = {
            "embedded text": embedded_text(bundle.config.project).pairs,
            "news": [pair for pair in zip(*sides, strict=True) if all(pair)],
        }
        for text, pairs in texts.items():
            for seed in range(DRAWS):
                some = random.Random(seed).sample(list(pairs), PAIRS)
                for case, tried in cases(engine, tokenizer, seed).items():
                    trial = try_pairs(tried, tokenizer, some)  # type: ignore[arg-type]
                    found[f"{case}, {text}"].append((trial.log_prob, trial.t))
                trial = try_pairs(engine, tokenizer, [(target, source) for source, target in some])
                found[f"text of the other direction, {text}"].append((trial.log_prob, trial.t))
    table = {}
    for case, rows in found.items():
        log_prob, t = ([round(bound(column), 1) for bound in (min, max)] for column in zip(*rows, strict=True))
        table[case] = {"log_prob": log_prob, "t": t}
        print(f"{case:45} mean log P {log_prob[0]:5} to {log_prob[1]:5}   t {t[0]:4} to {t[1]:4}")
    print(json.dumps(table))


if __name__ == "__main__":
    main()
