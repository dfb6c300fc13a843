"""An exported network is held to the reference before it is used: nothing that translates otherwise is handed out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import length_penalty
from dragoman.engine import Engine, Ids
from dragoman.errors import QualityError
from dragoman.exporting.golden import Golden, largest_difference

# What may differ: a token's log P in nats; the scores of two translations of which either may be the best.
LOG_PROB, NEAR_TIE = 1e-4, 1e-4
IDENTICAL = 0.995
BLEU_DROP = 0.3
BEAMS = (1, 4)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was measured."""

    log_prob_difference: float
    sentences: int
    identical: Mapping[str, int] = field(default_factory=dict)
    """How many sentences translate to the same tokens, by `beam N`."""
    bleu: float | None = None
    bleu_of_reference: float | None = None


def verify_float32(
    reference: Engine, candidate: Engine, options: DecodeConfig, sources: Sequence[Ids], golden: Sequence[Golden]
) -> Verdict:
    """The same mathematics: log P to 1e-4, translations token for token but for near-ties. Raises QualityError."""
    difference = largest_difference(candidate, golden)
    if difference > LOG_PROB:
        raise QualityError(f"log P of a golden sentence differs by {difference:.2g}, more than {LOG_PROB:g}")
    identical = {}
    for beam in BEAMS:
        wanted = options.model_copy(update={"beam": beam, "n_best": 1, "method": "beam", "shortlist": False})
        ours = [found[0].tokens for found in reference.translate(sources, wanted)]
        theirs = [found[0].tokens for found in candidate.translate(sources, wanted)]
        other = [n for n, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]]
        identical[f"beam {beam}"] = len(sources) - len(other)
        if identical[f"beam {beam}"] < IDENTICAL * len(sources):
            raise QualityError(
                f"at beam {beam} only {identical[f'beam {beam}']:,} of {len(sources):,} sentences translate to the same"
            )
        far = _farthest(reference, wanted, [sources[n] for n in other], [(ours[n], theirs[n]) for n in other])
        if far > NEAR_TIE:
            raise QualityError(f"at beam {beam} a translation differs whose score is {far:.2g} from the reference's")
    return Verdict(difference, len(sources), identical)


def verify_quantised(
    reference: Engine,
    candidate: Engine,
    options: DecodeConfig,
    sources: Sequence[Ids],
    golden: Sequence[Golden],
    bleu: Callable[[Sequence[Ids]], float],
) -> Verdict:
    """As good: `bleu` of its translations at most 0.3 below that of the reference's. Raises QualityError."""
    best = options.model_copy(update={"n_best": 1})
    scores = [bleu([found[0].tokens for found in engine.translate(sources, best)]) for engine in (reference, candidate)]
    if scores[0] - scores[1] > BLEU_DROP:
        raise QualityError(
            f"BLEU {scores[1]:.2f} is {scores[0] - scores[1]:.2f} below float32, more than {BLEU_DROP}; keep to float32"
        )
    difference = largest_difference(candidate, golden)
    return Verdict(difference, len(sources), bleu=scores[1], bleu_of_reference=scores[0])


def _farthest(
    reference: Engine, options: DecodeConfig, sources: Sequence[Ids], pairs: Sequence[tuple[Ids, Ids]]
) -> float:
    """By how much the reference prefers one of two translations to the other, at the most."""
    both = [
        [
            sum(log_probs) / length_penalty(len(log_probs), options.length_penalty)
            for log_probs in reference.score(sources, [pair[side] for pair in pairs])
        ]
        for side in (0, 1)
    ]
    return max((abs(a - b) for a, b in zip(*both, strict=True)), default=0.0)
