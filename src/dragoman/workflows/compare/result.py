"""What a comparison has measured: each system by itself, and all of them on the test set that they share."""

from dataclasses import dataclass
from pathlib import Path

from dragoman.evaluation import Comparison, Score
from dragoman.workflows.compare.budget import Equal
from dragoman.workflows.compare.measures import AttentionMap, Chain, CurvePoint, LengthScore, TrainingCost
from dragoman.workflows.evaluate.evaluate import TestSet


@dataclass(frozen=True)
class ComparedRun:
    """What one system is, what it cost and what it can do."""

    name: str
    folder: Path
    architecture: str
    parameters: int
    cost: TrainingCost
    scores: tuple[Score, ...]
    """BLEU, chrF and TER, with intervals."""
    lines_per_second: float
    """Translated lines of the test set, with the search of its [decode]."""
    target_tokens_per_second: float
    """Generated in that time."""
    curve: tuple[CurvePoint, ...]
    by_length: tuple[LengthScore, ...]
    chains: tuple[Chain, ...]
    attention: AttentionMap | None
    """Of the example sentence; None for a network without attention."""
    translations: tuple[str, ...]
    config: str
    """Its configuration as TOML."""


@dataclass(frozen=True)
class RunComparison:
    """The systems in the order given, the first being what the others are tested against."""

    runs: tuple[ComparedRun, ...]
    test_set: TestSet
    tests: Comparison
    """Paired tests of each system against the first."""
    equal: Equal | None
    example: int
    """The line of the test set, counted from 0, whose attention is shown."""
