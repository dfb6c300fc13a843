"""The keys of [decode]: how the model searches for a translation."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self, TypedDict, get_args

from pydantic import Field, model_validator

from dragoman.config.sections.base import HypothesisCount, NonNegative, Positive, Section, Where

Method = Literal["beam", "sample", "mbr"]
Precision = Literal["auto", "float32", "bfloat16"]
# The named patterns of `dragoman.text.terms.protect`, and those that are looked for unless others are named.
PatternName = Literal[
    "printf", "percent", "brace", "template", "shell", "i18next", "vue", "laravel", "tag", "entity", "escape",
    "accelerator", "url", "email", "path", "code", "emoji", "number", "date", "time", "phone", "identifier", "marker",
]  # fmt: skip
ON_REQUEST = ("laravel", "accelerator", "number")
PLACEHOLDERS: tuple[PatternName, ...] = tuple(name for name in get_args(PatternName) if name not in ON_REQUEST)


class DecodeConfig(Section):
    """How the model searches for a translation, section 6.1."""

    method: Method = "beam"
    """`beam`: beam search for the most probable translation. `sample`: random sampling. `mbr`: of `samples` random
    translations, the one most similar to the others by chrF (minimum Bayes risk, Eikema and Aziz 2022)."""
    beam: HypothesisCount = 4
    """Beam size; 1 is greedy search."""
    length_penalty: Annotated[float, Field(ge=0, le=10)] = 0.6
    """α of Wu et al. 2016, Eq. (14): scores are log P / ((5 + length) / 6)^α."""
    coverage_penalty: Annotated[float, Field(ge=0)] = 0.0
    """β of Wu et al. 2016, Eq. (14): penalises source tokens with little attention; 0 disables. Only the
    torch engine has it."""
    language_model: Where | None = None
    """Folder of a language model with the target pieces of the model (`dragoman train --language-model`): beam search
    finds the translation with the highest log P + β log P_LM (shallow fusion, Gulcehre et al. 2015); log P and scores
    that are reported stay the model's own. Only the torch engine has it, and a model does not keep it."""
    language_model_weight: Annotated[float, Field(gt=0, le=10)] = 0.2
    """β of `language_model`; often 0.1 to 0.3, best chosen on the validation text."""
    reverse_weight: Annotated[float, Field(ge=0, le=10)] = 0.4
    """w: with a reverse model (`--reverse`, `Translator.with_reverse`) the translation is, of at least 6 hypotheses of
    the beam, the one with the highest score + w · log P(source | translation) / ((5 + length of the source) / 6)^α, but
    none whose score is lower than the best by more than 0.4. 0: the usual one, at the usual speed. Without a reverse
    model it has no effect."""
    no_repeat_ngram: NonNegative = 0
    """Forbid repeated n-grams of this size; 0 disables."""
    min_length: NonNegative = 0
    """Minimum number of tokens of a translation."""
    extra_length: Positive = 50
    """Maximum number of tokens of a translation beyond the length of its source."""
    max_length: Positive | None = None
    """Maximum number of tokens of a translation, for any source; no further limit unless set."""
    n_best: HypothesisCount = 1
    """Number of translations returned per sentence, with different texts; fewer if no more are found."""
    temperature: Annotated[float, Field(ge=1e-4)] = 1.0
    """Sample from P^(1/temperature), normalised: below 1, likely tokens become more likely."""
    top_k: NonNegative = 0
    """Sample from this many of the most likely tokens; 0 for all."""
    top_p: Annotated[float, Field(ge=1e-4, le=1)] = 1.0
    """Sample from the most likely tokens whose probabilities add up to this (nucleus, Holtzman et al. 2020)."""
    samples: Annotated[int, Field(ge=2, le=1024)] = 32
    """Number of translations that `mbr` samples."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    """Random seed of sampling. With torch a sample depends on the seed and its sentence; with CTranslate2 on the other
    sentences of the call too, and the two engines draw differently."""
    exact: bool = False
    """Translate each sentence alone and on one thread: bit-identical in any batch, but slower."""
    shortlist: bool = False
    """Consider only the target tokens that the shortlist of the model has for the source, if there is a shortlist.
    Scores and log P are then over the list. CTranslate2 translates each sentence alone: one is faster, many are not."""
    token_scores: bool = False
    """Also return log P of each token of a translation."""
    confidence: bool = False
    """Also return the confidence of each translation: the probability that a person would accept it, as
    `dragoman model confidence` or training learned it."""
    doubtful: bool = True
    """Warn of a translation that is probably wrong (`doubtful`), if the model has learned below which confidence that
    is: the bundled models have, others by `dragoman model confidence --judged`."""
    confidence_samples: Annotated[int, Field(ge=0, le=1024)] = 0
    """With `confidence`: number of random translations that the translation is compared with; 0 uses only log P and
    lengths. 8 takes at least 5 times as long and finds more of the worst lines."""
    alignment: bool = False
    """Also link the words of each translation to the words of its source, by erasure (Li et al. 2016); a word ends at a
    space. Costs four scorings per sentence, more for one of more than sixteen words; one per word of the source where
    the export has no attention."""
    placeholders: tuple[PatternName, ...] | None = None
    """Names of the patterns whose finds a translation has exactly as often as its source
    (`dragoman.text.terms.protect`); empty: none. Unless set, all but `laravel`, `accelerator` and `number`."""
    keep: tuple[str, ...] = ()
    """Texts that every translation copies, such as names of products, and regular expressions between slashes, such as
    `/[A-Z]{2}-\\d+/`."""
    numbers: bool = True
    """Check that a translation has the numbers of its source, in whatever way their digits are grouped."""
    batch_tokens: Positive | Literal["auto"] = "auto"
    """Size of a batch: sentences × longest source, in tokens. `auto`: 4,096; with the torch engine on a GPU, 65,536,
    for which a GPU takes little longer."""
    precision: Precision = "auto"
    """Precision of the torch engine: `auto` is float32 on a CPU and bfloat16 on a GPU that computes in it. An export
    has its own precision, whatever this key is."""

    @model_validator(mode="after")
    def _enough_hypotheses(self) -> Self:
        if self.language_model and self.method != "beam":
            raise ValueError(f'language_model: works with method = "beam", not with "{self.method}"; leave one out')
        if self.method == "beam" and self.n_best > self.beam:
            raise ValueError(f"n_best: {self.n_best} is more than beam = {self.beam}; widen the beam")
        if self.method == "mbr" and self.n_best > self.samples:
            raise ValueError(f"n_best: {self.n_best} is more than samples = {self.samples}; draw more")
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(f"min_length: {self.min_length} is more than max_length = {self.max_length}; lower it")
        return self

    def limit(self, source_length: int) -> int:
        """Maximum number of tokens of the translation of a source of `source_length` tokens."""
        longest = max(source_length + self.extra_length, self.min_length)
        return longest if self.max_length is None else min(longest, self.max_length)


class DecodeOptions(TypedDict, total=False):
    """The keys of [decode] that a single call may change; None keeps a key as it is. `precision` and
    `language_model` belong to a translator."""

    method: Method | None
    beam: int | None
    length_penalty: float | None
    coverage_penalty: float | None
    language_model_weight: float | None
    reverse_weight: float | None
    no_repeat_ngram: int | None
    min_length: int | None
    extra_length: int | None
    max_length: int | None
    n_best: int | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    samples: int | None
    seed: int | None
    exact: bool | None
    shortlist: bool | None
    token_scores: bool | None
    alignment: bool | None
    confidence: bool | None
    doubtful: bool | None
    confidence_samples: int | None
    placeholders: Sequence[PatternName] | None
    keep: Sequence[str] | None
    numbers: bool | None
    batch_tokens: int | Literal["auto"] | None
