"""Verification of an exported network against the reference: one that translates differently is not written."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import length_penalty
from dragoman.engine import Engine, Ids, Query
from dragoman.errors import QualityError, counted
from dragoman.exporting.golden import Golden, largest_difference
from dragoman.text.tokens.marks import NO_MARKS, Marks

# Tolerances: of a token's log P, in nats, and of what counts as equally good: the scores of two translations, or of a
# greedy search log P of two tokens.
LOG_PROB, NEAR_TIE = 1e-4, 1e-4
IDENTICAL = 0.995
# How far BLEU may fall on ENOUGH sentences. On fewer it varies by itself, as the root of their number: by 1 on twenty.
BLEU_DROP, ENOUGH = 0.3, 1000
BEAMS = (1, 4)
# Rules of the search that are tried on some golden sentences, whole and after the beginning of their translation.
RULES: tuple[dict[str, Any], ...] = (
    {"n_best": 4},
    {"no_repeat_ngram": 2},
    {"min_length": 12},
    {"max_length": 4},
    {"length_penalty": 2.0, "n_best": 4},
    {"exact": True},
    {"shortlist": True},
    {"method": "sample", "top_k": 1},
)
RULED_SENTENCES, PREFIX_TOKENS = 4, 2
# Sentences translated between two reports of progress.
CHUNK = 256


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was measured."""

    log_prob_difference: float
    sentences: int
    identical: Mapping[str, int] = field(default_factory=dict)
    """How many sentences translate to the same tokens, by `beam N`."""
    bleu: float | None = None
    bleu_of_reference: float | None = None

    @classmethod
    def worst(cls, verdicts: "Sequence[Verdict]") -> "Verdict":
        """One for several pairs of languages: largest difference, all sentences, BLEU where most of it is lost."""
        if len(verdicts) == 1:
            return verdicts[0]
        lost = max(verdicts, key=lambda verdict: (verdict.bleu_of_reference or 0.0) - (verdict.bleu or 0.0))
        identical = Counter[str]()
        for verdict in verdicts:
            identical.update(verdict.identical)
        difference = max(verdict.log_prob_difference for verdict in verdicts)
        sentences = sum(verdict.sentences for verdict in verdicts)
        return cls(difference, sentences, dict(identical), lost.bleu, lost.bleu_of_reference)


def verify_float32(
    reference: Engine,
    candidate: Engine,
    options: DecodeConfig,
    queries: Sequence[Query],
    golden: Sequence[Golden],
    marks: Marks = NO_MARKS,
    progress: Callable[[int], None] = lambda sentences: None,
) -> Verdict:
    """Check for the same results: log P within 1e-4, and the same tokens except in near-ties.

    `progress` is called with the number of sentences translated since its last call. Raises QualityError.
    """
    difference = largest_difference(candidate, golden, marks)
    if difference > LOG_PROB:
        raise QualityError(f"log P of a golden sentence differs by {difference:.2g}, more than {LOG_PROB:g}")
    identical = {}
    for beam in BEAMS:
        wanted = options.model_copy(update={"beam": beam, "n_best": 1, "method": "beam", "shortlist": False})
        ours = _best(reference, queries, wanted, progress)
        theirs = _best(candidate, queries, wanted, progress)
        differing = [n for n, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]]
        # At the limit of length only `exact` promises what the reference finds.
        exact = wanted.model_copy(update={"exact": True})
        again = _best(candidate, [queries[n] for n in differing], exact, lambda _: None)
        pairs = {n: (ours[n], best) for n, best in zip(differing, again, strict=True) if best != ours[n]}
        identical[f"beam {beam}"] = len(queries) - len(pairs)
        if identical[f"beam {beam}"] < IDENTICAL * len(queries):
            raise QualityError(
                f"at beam {beam} only {identical[f'beam {beam}']:,} of {len(queries):,} sentences translate to the same"
            )
        far = _farthest(reference, wanted, [queries[n] for n in pairs], [*pairs.values()])
        if far > NEAR_TIE:
            what = "score is" if beam > 1 else "first other token has a log P"
            raise QualityError(f"at beam {beam} a translation differs whose {what} {far:.2g} from the reference's")
    verify_rules(reference, candidate, golden, marks)
    return Verdict(difference, len(queries), identical)


def verify_rules(reference: Engine, candidate: Engine, golden: Sequence[Golden], marks: Marks = NO_MARKS) -> None:
    """Check what each search promises under every rule, on a few golden sentences. Raises QualityError.

    With `exact` it finds what the reference finds: lists are compared by score, because of two translations as good as
    each other either may be found. Without, it obeys the rule and reports the model's own log P.
    """
    some = golden[:RULED_SENTENCES]
    for rule in RULES:
        sampled = rule.get("method") == "sample"
        for length in (0,) if sampled else (0, PREFIX_TOKENS):
            queries = [Query(sentence.tokens, tuple(sentence.translation[:length]), marks) for sentence in some]
            wanted = DecodeConfig(beam=4, **rule)
            named = ", ".join(f"{key}={value}" for key, value in rule.items())
            exact = wanted.model_copy(update={"exact": True})
            lists = [engine.translate(queries, exact) for engine in (reference, candidate)]
            for ours, theirs in zip(*lists, strict=True):
                gaps = [abs(hypothesis.score - other.score) for hypothesis, other in zip(ours, theirs, strict=False)]
                if len(ours) != len(theirs) or max(gaps, default=0.0) > NEAR_TIE:
                    raise QualityError(f"under {named} a golden sentence is translated differently from the reference")
            for query, hypotheses in zip(queries, candidate.translate(queries, wanted), strict=True):
                if not all(_obeys(query, hypothesis.tokens, wanted) for hypothesis in hypotheses):
                    raise QualityError(f"under {named} the translation of a golden sentence does not obey")
                log_probs = reference.score([query] * len(hypotheses), [hypothesis.tokens for hypothesis in hypotheses])
                pairs = zip(hypotheses, log_probs, strict=True)
                # With a shortlist log P is over the list.
                if not wanted.shortlist and any(abs(h.log_prob - sum(row)) > LOG_PROB * len(row) for h, row in pairs):
                    raise QualityError(f"under {named} log P is not the model's own")


def _obeys(query: Query, tokens: tuple[int, ...], options: DecodeConfig) -> bool:
    """Whether a translation has the prefix, a length within the limits, and no repetition behind the prefix."""
    size, begin = options.no_repeat_ngram, len(query.prefix)
    grams = [tokens[start : start + size] for start in range(len(tokens) - size + 1)] if size else []
    repeats = any(gram in grams[:start] for start, gram in enumerate(grams) if start + size > begin)
    within = options.min_length <= len(tokens) <= max(options.limit(len(query.source)), begin)
    return tokens[:begin] == query.prefix and within and not repeats


def verify_quantised(
    reference: Engine,
    candidate: Engine,
    options: DecodeConfig,
    queries: Sequence[Query],
    golden: Sequence[Golden],
    bleu: Callable[[Sequence[Ids]], float],
    marks: Marks = NO_MARKS,
    progress: Callable[[int], None] = lambda sentences: None,
) -> Verdict:
    """Check the quality: `bleu` of its translations at most 0.3 below that of the reference. Raises QualityError.

    On fewer than ENOUGH sentences, n, it may be lower by √(ENOUGH / n) times as much.
    """
    best = options.model_copy(update={"n_best": 1})
    scores = [bleu(_best(engine, queries, best, progress)) for engine in (reference, candidate)]
    allowed = BLEU_DROP * math.sqrt(max(1.0, ENOUGH / len(queries)))
    if scores[0] - scores[1] > allowed:
        lower = f"BLEU {scores[1]:.2f} is {scores[0] - scores[1]:.2f} below float32, more than {allowed:.1f}"
        raise QualityError(f"{lower} on {counted(len(queries), 'sentence')}; keep to float32")
    difference = largest_difference(candidate, golden, marks)
    return Verdict(difference, len(queries), bleu=scores[1], bleu_of_reference=scores[0])


def _best(
    engine: Engine, queries: Sequence[Query], options: DecodeConfig, progress: Callable[[int], None]
) -> list[Ids]:
    best: list[Ids] = []
    for start in range(0, len(queries), CHUNK):
        chunk = queries[start : start + CHUNK]
        best += [hypotheses[0].tokens for hypotheses in engine.translate(chunk, options)]
        progress(len(chunk))
    return best


def _farthest(
    reference: Engine, options: DecodeConfig, queries: Sequence[Query], pairs: Sequence[tuple[Ids, Ids]]
) -> float:
    """How much worse, at most, the reference finds one translation of a pair than the other.

    By their scores; with a beam of 1 by log P of the first tokens that differ: what a greedy search takes there does
    not depend on what follows, and of two tokens that are equally good one may lead to a much better translation.
    """
    both = [reference.score(queries, [pair[side] for pair in pairs]) for side in (0, 1)]
    if options.beam == 1:
        first = [_first_difference(*pair) for pair in pairs]
        values = [[row[at] for row, at in zip(rows, first, strict=True)] for rows in both]
    else:
        values = [[sum(row) / length_penalty(len(row), options.length_penalty) for row in rows] for rows in both]
    return max((abs(a - b) for a, b in zip(*values, strict=True)), default=0.0)


def _first_difference(ours: Ids, theirs: Ids) -> int:
    """Where two translations first differ: at a token, or where the shorter ends."""
    shorter = min(len(ours), len(theirs))
    return next((at for at in range(shorter) if ours[at] != theirs[at]), shorter)
