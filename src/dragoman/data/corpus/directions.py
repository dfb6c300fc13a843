"""Corpora in the directions in which they are read: a pair of languages, and which side is the source.

Input: a configuration. Output: `Direction`s, each of which reads pairs as a corpus does. Without `project.pairs` there
is one for each corpus, without language tokens.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dragoman.config import CorpusConfig, LanguageModelConfig, PairConfig, RunConfig
from dragoman.data.corpus.corpus import Pair, read_pairs, sample_evenly


@dataclass(frozen=True, slots=True)
class Direction:
    """A corpus as text of one pair of languages; None: the only pair of a model without language tokens."""

    corpus: CorpusConfig
    pair: PairConfig | None = None
    reverse: bool = False
    """Whether the target side of the corpus is the source."""
    alone: bool = False
    """Whether the target is read without its source, for a language model."""

    def read(self) -> Iterator[Pair]:
        """The pairs of `read_pairs`, from the source of this direction to its target."""
        pairs = read_pairs(self.corpus)
        if self.alone:
            return (Pair("", pair.source if self.reverse else pair.target, pair.line) for pair in pairs)
        return (Pair(pair.target, pair.source, pair.line) for pair in pairs) if self.reverse else pairs


def directions(config: RunConfig, corpora: Iterable[CorpusConfig]) -> list[Direction]:
    """The corpora in order, those of both directions twice; of a language model those that have its language."""
    if isinstance(config.model, LanguageModelConfig):
        return _of_language(config, corpora, config.model.language)
    return [
        Direction(corpus, pair, reverse)
        for corpus in corpora
        for pair, reverse in zip(config.pairs_of(corpus), (False, True), strict=False)
    ]


def _of_language(config: RunConfig, corpora: Iterable[CorpusConfig], language: str) -> list[Direction]:
    """The side of each corpus that is in a language, without sources and language tokens."""
    directions = []
    for corpus in corpora:
        pair = config.project.pair(corpus.languages)
        if pair and language in (pair.source, pair.target):
            directions.append(Direction(corpus, None, reverse=language == pair.source, alone=True))
    return directions


def sample_directions(corpora: Iterable[Direction], size: int) -> list[tuple[str, str]]:
    """Up to `size` pairs of normalised text, drawn evenly; the same for every seed of a run."""
    return sample_evenly((pair for direction in corpora for pair in direction.read()), size, seed=1)
