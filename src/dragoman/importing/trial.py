"""Does an imported model translate? Its references, scored under their own sources and under those of other pairs.

A model whose tokenizer is not the one that it was trained with loads without an error and translates to nonsense. Two
measurements show it, without a search: the mean log P per token of references, which is then near that of chance,
-ln V, and how often a reference is more likely under its own source than under the source of another pair whose
reference has about the same length, which is then half of the time. Measured on models of 8,000 pieces, where -ln V is
-9.0: with their own vocabulary -0.9 to -5.6, with one of which half or all pieces are wrong -7.8 to -10.5, on text of
the other direction -7.4 to -8.7.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dragoman.engine import Engine
from dragoman.errors import ModelError, QualityError, counted
from dragoman.text.tokenizer import UNK, Side, Tokenizer

# Pairs that are scored, and tokens of the longest sentence among them.
PAIRS, LONGEST = 32, 100
# A mean log P below CHANCE · -ln V is that of a wrong vocabulary.
CHANCE = 0.75
# From FEW pairs on, wins count: at most half of them is what any sources would win, less than SURE of them is little.
FEW, SURE = 16, 28 / 32
# Warn from this share of unknown pieces in the sources.
UNKNOWN = 0.1
# Random ids whose pieces are decoded and encoded again, and the share that must keep their text.
PIECES, KEPT = 1000, 0.95


@dataclass(frozen=True)
class Trial:
    """What was measured."""

    pairs: int
    log_prob: float
    """Mean log P, in nats per token, of the references under their own sources."""
    limit: float
    """The mean log P below which a model is refused."""
    wins: int
    """References that are more likely under their own source than under another."""
    unknown: float
    """Share of the source pieces that the model does not know."""

    def facts(self) -> dict[str, Any]:
        """The entry "trial" of `bundle.json`."""
        return asdict(self)

    @property
    def summary(self) -> str:
        """One line."""
        return (
            f"{counted(self.pairs, 'reference')}: mean log P {self.log_prob:.2f} per token (refused below "
            f"{self.limit:.2f}), {self.wins} more likely under their own source than under another"
        )

    def require(self) -> None:
        """Raise QualityError, with the reason, if the model does not translate."""
        if not self.log_prob >= self.limit:  # NaN too
            raise QualityError(
                f"it does not translate: mean log P of the references {self.log_prob:.2f} per token, that of a wrong "
                f"vocabulary (the limit is {self.limit:.2f}); the vocabulary does not belong to these weights, or the "
                "text is not of this pair"
            )
        if self.pairs >= FEW and 2 * self.wins <= self.pairs:
            raise QualityError(
                f"it does not translate: only {self.wins} of {counted(self.pairs, 'reference')} are more likely under "
                "their own source than under another; the source vocabulary does not belong to these weights, or the "
                "text is not of this pair"
            )

    @property
    def warnings(self) -> list[str]:
        """What is suspicious and not wrong for certain."""
        found = []
        if self.pairs >= FEW and self.wins < SURE * self.pairs:
            found.append(
                f"{self.wins} of {counted(self.pairs, 'reference')} are more likely under their own source than under "
                "another: the model knows little of this text"
            )
        if self.unknown >= UNKNOWN:
            found.append(f"{100 * self.unknown:.0f} % of the source pieces are unknown to the model: is --pair right?")
        return found


def try_pairs(engine: Engine, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> Trial | None:
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
    own = [math.fsum(row) / len(row) for row in engine.score(sources, targets)]
    neighbours = [sources[index ^ 1 if index ^ 1 < len(some) else index - 1] for index in range(len(some))]
    other = [math.fsum(row) / len(row) for row in engine.score(neighbours, targets)] if len(some) > 1 else own
    tokens = [token for source in sources for token in source]
    return Trial(
        pairs=len(some),
        log_prob=math.fsum(own) / len(own),
        limit=-CHANCE * math.log(len(tokenizer.target)),
        wins=sum(mine > theirs for mine, theirs in zip(own, other, strict=True)),
        unknown=tokens.count(UNK) / len(tokens),
    )


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
    plain = [
        token
        for token in drawn
        if not (
            processor.IsControl(token)
            or processor.IsUnknown(token)
            or processor.IsUnused(token)
            or processor.IsByte(token)
        )
    ]
    texts = tokenizer.decode([[token] for token in plain], side)
    again = tokenizer.decode(tokenizer.encode(texts, side), side)
    changed = [(text, found) for text, found in zip(texts, again, strict=True) if text.split() != found.split()]
    if len(changed) > (1 - KEPT) * len(plain):
        text, found = changed[0]
        raise ModelError(
            f"{where}: {len(changed):,} of {counted(len(plain), f'{side} piece')} change when they are encoded again "
            f"({text!r} becomes {found!r}); fetch the tokenizer again"
        )
