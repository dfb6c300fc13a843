"""Replay against forgetting: general text as a fixed share of each epoch (mixed fine-tuning, Chu et al. 2017).

Input: `data.replay` and the reports on the text. Output: training corpora, those of `replay` with weights that draw
other pairs in each epoch; the stream needs to know no more.
"""

from collections.abc import Sequence

from dragoman.config import CorpusConfig, DataConfig
from dragoman.data.corpus.report import CorpusReport


def training_pairs(data: DataConfig, reports: Sequence[CorpusReport]) -> float:
    """Pairs of an epoch that are the run's own: those of the training corpora by their weights."""
    train = reports[-len(data.train) :]
    return sum(report.pairs * _times(corpus) for report, corpus in zip(train, data.train, strict=True))


def _times(corpus: CorpusConfig) -> float:
    """How often a pair of lines occurs in an epoch."""
    return corpus.weight * (2 if corpus.both_directions else 1)


def epoch_pairs(data: DataConfig, reports: Sequence[CorpusReport]) -> float:
    """Pairs of an epoch with those of `replay`."""
    pairs = training_pairs(data, reports)
    return pairs / (1 - data.replay_share) if data.replay else pairs


def replay_weight(data: DataConfig, reports: Sequence[CorpusReport]) -> float:
    """How often a pair of `replay` occurs in an epoch, next to the weight of its corpus."""
    replayed = [report for report in reports if report.name.startswith("replay")]
    held = sum(report.pairs * _times(corpus) for report, corpus in zip(replayed, data.replay, strict=True))
    wanted = epoch_pairs(data, reports) - training_pairs(data, reports)
    return wanted / held if held else 0.0


def with_replay(data: DataConfig, weight: float) -> DataConfig:
    """`data` with the corpora of `replay` as training corpora of this weight."""
    drawn = (corpus.model_copy(update={"weight": corpus.weight * weight}) for corpus in data.replay)
    return data.model_copy(update={"train": (*data.train, *drawn), "replay": ()})
