"""Does an imported model translate? Its references, scored under their own sources and under those of other pairs.

A model whose tokenizer is not the one that it was trained with loads without an error and translates to nonsense. Two
measurements show it, without a search: the mean log P per token of references, which is then near that of chance,
-ln V, and how much more likely a reference is under its own source than under those of pairs whose references have
about the same length: the t statistic of the differences, which is then about 0. `reproduce/import_trial.py` measured
on the two bundled models of 8,000 pieces, where -ln V is -9.0, on 32 references:

                                                  mean log P        t
    right, text of its domain                   -1.6 to -0.8     18 to 35
    right, news that it never saw               -5.4 to -4.7      5 to 9
    source pieces exchanged                     -6.6 to -5.3     -2 to 2
    half or all pieces exchanged               -11.1 to -7.2
    text of the other direction                -10.0 to -7.5
"""

import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from dragoman.engine import Engine, Ids, queries
from dragoman.errors import ModelError, QualityError, counted
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import UNK, Side, Tokenizer

# Pairs that are scored, and tokens of the longest sentence among them.
PAIRS, LONGEST = 32, 100
# A mean log P below CHANCE · -ln V is that of a wrong vocabulary; below STRANGE · -ln V, that of text hardly known.
CHANCE, STRANGE = 0.75, 0.5
# From FEW pairs on, a t statistic below LEAST is that of a model that does not read its source.
FEW, LEAST = 8, 2.5
# Pairs scored at once: the probabilities of all of a large vocabulary would take more memory than the weights.
AT_ONCE = 4
# Neighbours, in the order of the references' lengths, whose sources each reference is scored under.
NEIGHBOURS = (-2, -1, 1, 2)
# Warn from this share of unknown pieces in the sources.
UNKNOWN = 0.1
# Random ids whose pieces are decoded and encoded again, and the share that must keep their text.
PIECES, LEAST_UNCHANGED = 1000, 0.95


@dataclass(frozen=True)
class ImportTrial:
    """What was measured."""

    pairs: int
    log_prob: float
    """Mean log P, in nats per token, of the references under their own sources."""
    limit: float
    """The mean log P below which a model is refused."""
    t: float | None
    """t statistic of the differences between log P under the own source and under others; None for few pairs."""
    unknown: float
    """Share of the source pieces that the model does not know."""

    def facts(self) -> dict[str, Any]:
        """The entry "trial" of `bundle.json`."""
        return asdict(self)

    @property
    def summary(self) -> str:
        measured = (
            ""
            if self.t is None
            else f"; under other sources they are less likely, t = {self.t:.1f} (refused below {LEAST})"
        )
        return (
            f"{counted(self.pairs, 'reference')}: mean log P {self.log_prob:.2f} per token (refused below "
            f"{self.limit:.2f}){measured}"
        )

    def require(self) -> None:
        """Raise QualityError, with the reason, if the model does not translate."""
        if not self.log_prob >= self.limit:  # NaN too
            raise QualityError(
                f"it does not translate: mean log P of the references {self.log_prob:.2f} per token, that of a wrong "
                f"vocabulary (the limit is {self.limit:.2f}); the vocabulary does not belong to these weights, or the "
                "text is not of this pair"
            )
        if self.t is not None and not self.t >= LEAST:
            raise QualityError(
                f"it does not translate: the references are as likely under the sources of other pairs (t = "
                f"{self.t:.1f}, the limit is {LEAST}); the source vocabulary does not belong to these weights, or the "
                "lines of the text do not correspond"
            )

    @property
    def warnings(self) -> list[str]:
        """What is suspicious and not wrong for certain."""
        warnings = []
        if self.log_prob < self.limit * STRANGE / CHANCE:
            warnings.append(f"mean log P {self.log_prob:.2f} per token: the model knows little of this text")
        if self.unknown >= UNKNOWN:
            share = f"{100 * self.unknown:.0f} %"
            warnings.append(f"{share} of the source pieces are unknown to the model: is --pair right?")
        return warnings


def try_pairs(
    engine: Engine, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], marks: Marks = NO_MARKS
) -> ImportTrial | None:
    """Score up to 32 of the pairs; None if no pair has text on both sides that is short enough."""
    encoded = zip(
        tokenizer.encode([source for source, _ in pairs], "source"),
        tokenizer.encode([target for _, target in pairs], "target"),
        strict=True,
    )
    usable = [pair for pair in encoded if pair[0] and pair[1] and max(map(len, pair)) <= LONGEST]
    some = sorted(usable[:: max(1, len(usable) // PAIRS)][:PAIRS], key=lambda pair: len(pair[1]))
    if not some:
        return None
    sources, targets = [pair[0] for pair in some], [pair[1] for pair in some]
    chance = math.log(len(tokenizer.target))
    means = _means(_scores(engine, sources, targets, marks), chance)
    tokens = [token for source in sources for token in source]
    return ImportTrial(
        pairs=len(some),
        log_prob=fmean(means),
        limit=-CHANCE * chance,
        t=_t_statistic(engine, sources, targets, means, chance, marks) if len(some) >= FEW else None,
        unknown=tokens.count(UNK) / len(tokens),
    )


def _t_statistic(
    engine: Engine,
    sources: Sequence[Ids],
    targets: Sequence[Ids],
    means: Sequence[float],
    chance: float,
    marks: Marks,
) -> float:
    """Of the differences between each reference's mean log P under its own source and under its neighbours'."""
    shifted = [[sources[(index + by) % len(sources)] for index in range(len(sources))] for by in NEIGHBOURS]
    others = [_means(_scores(engine, some, targets, marks), chance) for some in shifted]
    gaps = [mine - fmean(theirs) for mine, *theirs in zip(means, *others, strict=True)]
    return fmean(gaps) / max(stdev(gaps) / math.sqrt(len(gaps)), 1e-9)


def _scores(engine: Engine, sources: Sequence[Ids], targets: Sequence[Ids], marks: Marks) -> list[list[float]]:
    """log P of the tokens of each target, a few pairs at a time."""
    pairs = queries(sources, marks)
    parts = range(0, len(sources), AT_ONCE)
    return [row for at in parts for row in engine.score(pairs[at : at + AT_ONCE], targets[at : at + AT_ONCE])]


def _means(rows: Sequence[Sequence[float]], chance: float) -> list[float]:
    """The mean log P of each row; a token that is never generated, as <unk>, counts for twice chance and no less."""
    return [fmean(max(value, -2 * chance) for value in row) for row in rows]


def check_pieces(tokenizer: Tokenizer, shared: bool, where: str) -> None:
    """Check that random pieces, decoded and encoded again, keep their text; if `shared`, that both sides agree.

    Raises ModelError.
    """
    if shared and not tokenizer.joint:
        ids = range(min(len(tokenizer.source), len(tokenizer.target)))
        pieces = [tokenizer.pieces(ids, side) for side in ("source", "target")]
        odd = next((token for token in ids if pieces[0][token] != pieces[1][token]), None)
        if odd is not None or len(tokenizer.source) != len(tokenizer.target):
            raise ModelError(f"{where}: piece {odd} differs between source and target; fetch the vocabulary again")
    sides: tuple[Side, ...] = ("source",) if tokenizer.joint else ("source", "target")
    for side in sides:
        _check_side(tokenizer, side, where)


def _check_side(tokenizer: Tokenizer, side: Side, where: str) -> None:
    vocabulary = getattr(tokenizer, side)
    processor, size = vocabulary.processor, len(vocabulary)
    drawn = random.Random(0).sample(range(size), min(PIECES, size))
    special = (processor.IsControl, processor.IsUnknown, processor.IsUnused, processor.IsByte)
    plain = [token for token in drawn if not any(is_kind(token) for is_kind in special)]
    texts = tokenizer.decode([[token] for token in plain], side)
    again = tokenizer.decode(tokenizer.encode(texts, side), side)
    changed = [(text, other) for text, other in zip(texts, again, strict=True) if text.split() != other.split()]
    if len(changed) > (1 - LEAST_UNCHANGED) * len(plain):
        text, other = changed[0]
        raise ModelError(
            f"{where}: {len(changed):,} of {counted(len(plain), f'{side} piece')} change when they are encoded again "
            f"({text!r} becomes {other!r}); fetch the tokenizer again"
        )
