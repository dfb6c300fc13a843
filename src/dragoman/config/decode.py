"""The keys of [decode]: how translations are searched for."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.base import HypothesisCount, NonNegative, Positive, Section


class DecodeConfig(Section):
    """How translations are searched for, section 6.1."""

    method: Literal["beam", "sample", "mbr"] = "beam"
    """`beam`: the most probable, by beam search. `sample`: drawn at random. `mbr`: of `samples` drawn at random the
    one most like the others by chrF (minimum Bayes risk, Eikema and Aziz 2022)."""
    beam: HypothesisCount = 4
    """Hypotheses kept per sentence; 1 is greedy search."""
    length_penalty: Annotated[float, Field(ge=0)] = 0.6
    """α of Wu et al. 2016, Eq. (14): scores are log P / ((5 + length) / 6)^α."""
    coverage_penalty: Annotated[float, Field(ge=0)] = 0.0
    """β of Wu et al. 2016, Eq. (14): source tokens that got little attention cost; 0 for none."""
    no_repeat_ngram: NonNegative = 0
    """No n tokens in a row are said twice in a translation; 0 lets them."""
    min_length: NonNegative = 0
    """A translation has at least this many tokens."""
    extra_length: Positive = 50
    """A translation has at most this many tokens more than its source."""
    max_length: Positive | None = None
    """A translation has at most this many tokens, whatever its source."""
    n_best: HypothesisCount = 1
    """Hypotheses returned per sentence."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    """Sampling from P^(1/temperature), normalised: below 1 the likely becomes likelier."""
    top_k: NonNegative = 0
    """Sampling among this many of the likeliest tokens; 0 for all."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Sampling among the likeliest tokens that have this much of the probability together (Holtzman et al. 2020)."""
    samples: Annotated[int, Field(ge=2, le=1024)] = 32
    """Translations that `mbr` draws."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    """Seed of the sampling."""
    exact: bool = False
    """Each sentence by itself, on one thread: bit for bit the same whatever its neighbours; slower."""
    shortlist: bool = False
    """Only words that the model's shortlist names for a source are considered, where the model has a shortlist."""
    token_scores: bool = False
    """log P of each token of a translation is told too."""
    batch_tokens: Positive = 4096
    """Sentences × longest source of a batch."""

    @model_validator(mode="after")
    def _enough_hypotheses(self) -> Self:
        if self.method == "beam" and self.n_best > self.beam:
            raise ValueError(f"n_best: {self.n_best} is more than beam = {self.beam}; widen the beam")
        if self.method == "mbr" and self.n_best > self.samples:
            raise ValueError(f"n_best: {self.n_best} is more than samples = {self.samples}; draw more")
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(f"min_length: {self.min_length} is more than max_length = {self.max_length}; lower it")
        return self

    def limit(self, source_length: int) -> int:
        """The most tokens that a translation of `source_length` tokens may have."""
        longest = max(source_length + self.extra_length, self.min_length)
        return longest if self.max_length is None else min(longest, self.max_length)
