"""The keys of [data]: the corpora for training, validation and test."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from dragoman.config.sections.base import REQUIRED, Fraction, NonNegative, Positive, Section, Share, Where

# The fraction of pairs in which placeholders are planted for a model that learns them, unless one is set.
PLANTED = 0.1


class CorpusConfig(Section):
    """Parallel text: two text files, or one `.tsv` or `.jsonl` file; each may be compressed (`.gz`, `.zst`)."""

    source: Where
    """File of source sentences, one per line; or a `.tsv` (two columns) or `.jsonl` file with both sides."""
    target: Where | None = None
    """File of target sentences: each line is the translation of the same line of `source`."""
    weight: Annotated[float, Field(gt=0, le=10_000)] = 1.0
    """How often each pair occurs in an epoch: 3 repeats it, 0.5 draws half of the pairs at random."""
    fields: tuple[str, str] = ("source", "target")
    """Names of the source and target fields of a `.jsonl` file."""
    languages: str = ""
    """Which of `project.pairs` it is, such as `ko-en`, or `pt-BR:en` for longer tags; empty: the first one."""
    both_directions: bool = False
    """Each pair of lines in both directions; both must be in `project.pairs`."""

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, corpus: Any) -> Any:
        return {"source": corpus} if isinstance(corpus, str | Path) else corpus

    @property
    def single_file(self) -> Literal["tsv", "jsonl"] | None:
        """The format of a file with both sides, from its name without `.gz` or `.zst`; None for two files."""
        name = self.source.name.lower().removesuffix(".gz").removesuffix(".zst")
        if name.endswith(".tsv"):
            return "tsv"
        return "jsonl" if name.endswith(".jsonl") else None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.source,) if self.target is None else (self.source, self.target)

    @model_validator(mode="after")
    def _two_sides(self) -> Self:
        if self.single_file and self.target is not None:
            raise ValueError(f"target: {self.source.name} contains both sides; remove `target`")
        if not self.single_file and self.target is None:
            raise ValueError(f"target: missing; {self.source.name} contains one side, name the file of the other")
        return self


class AugmentConfig(Section):
    """Fraction of training pairs altered per epoch, for each kind of change; at most one change per pair."""

    upper: Fraction = 0.0
    """Both sides in capital letters; pairs whose source script has no capitals stay unchanged."""
    title: Fraction = 0.0
    """Both sides With Every Word Capitalised; pairs whose source script has no capitals stay unchanged."""
    unpunctuated: Fraction = 0.0
    """Both sides without their final full stop, question or exclamation mark."""
    typos: Fraction = 0.0
    """The source with a letter swapped, dropped or doubled in up to three words."""
    fragments: Fraction = 0.0
    """One sentence of a pair of several sentences, if both sides have equally many."""
    placeholders: Fraction | Literal["auto"] = "auto"
    """Placeholders planted where both sides correspond: instead of numbers, names and quotations that both have, before
    and behind the text. `"auto"`: 0.1 with `data.protect`, 0 without."""

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if (total := self.total) > 1 + 1e-9:
            raise ValueError(f"upper: the fractions of all changes add up to {total:g}; lower them to 1 in total")
        return self

    @property
    def total(self) -> float:
        """The fraction of pairs that are altered; `"auto"` counts as 0."""
        return sum(rate for rate in self.model_dump().values() if rate != "auto")


class CleanConfig(Section):
    """Rules for pairs: `data check` counts the pairs that break one, `data clean` removes them; false or 0: no rule."""

    empty: bool = True
    """A side without text."""
    bad_bytes: bool = True
    """Bytes that are not UTF-8, and lines of a `.tsv` or `.jsonl` file that hold no pair."""
    header: bool = True
    """A first line of a file that names its columns, as `ko` and `en`, or `source` and `target`."""
    script: Share = 0.1
    """A side with at least 4 letters of which a smaller share is in a script of its language."""
    language: Share = 0.9
    """A side with at least 20 letters that is in another language with this probability or more."""
    copies: bool = True
    """A target that repeats the source, if that holds a letter."""
    length_ratio: Annotated[float, Field(ge=0, le=1000)] = 4.0
    """A ratio of lengths more than this factor, at least 1, away from the median of the first 49,152 pairs."""
    too_long: NonNegative = 2000
    """A side of more characters than this."""
    numbers: bool = True
    """Numbers of one side that the other lacks; those up to 12 may be written as words."""
    urls: bool = True
    """Web and mail addresses that differ."""
    placeholders: bool = True
    """Placeholders and tags that differ: `{name}`, `%s`, `<b>`."""
    entities: bool = True
    """HTML entities, such as `&amp;`."""
    mojibake: bool = True
    """Text that was decoded with a wrong encoding, such as `cafÃ©`."""
    control: bool = True
    """Control characters, and line breaks inside a line."""
    zero_width: bool = True
    """Invisible characters without width; joiners, which some scripts need, are allowed."""
    duplicate: bool = True
    """A pair that occurred before; case and spaces do not count."""
    near_duplicate: bool = False
    """A pair with the letters of an earlier one, on both sides, that differs in digits or punctuation; `data check`
    counts these with `duplicate`."""
    leakage: bool = True
    """A training pair whose source, or a near-duplicate of it, is in the validation or test text."""

    @model_validator(mode="after")
    def _factor(self) -> Self:
        if 0 < self.length_ratio < 1:
            raise ValueError(f"length_ratio: give a factor of at least 1, or 0 for no rule, not {self.length_ratio:g}")
        return self


class MixedCorpus(CorpusConfig):
    """A corpus to mix, with a tag for its domain."""

    tag: str = ""
    """Put before each source sentence, e.g. `<bible>`; must be one of `tokenizer.user_defined_symbols`."""

    @model_validator(mode="after")
    def _tag(self) -> Self:
        if self.tag and not re.fullmatch(r"<[^<>\s]+>", self.tag):
            raise ValueError(f"tag: give a name in angle brackets without spaces, such as <bible>, not {self.tag!r}")
        return self


class MixConfig(Section):
    """What `dragoman data mix` mixes into the first corpus of `data.train`."""

    corpora: tuple[MixedCorpus, ...] = ()
    """Corpora to mix; `weight` is how often each pair occurs, before `temperature` and `size`."""
    temperature: Annotated[float, Field(ge=1, le=100)] = 1.0
    """T: the share of a corpus of n pairs is in proportion to weight · n^(1/T); higher favours small corpora."""
    size: NonNegative = 0
    """Pairs of the mixture; 0: as many as all corpora have, each times its weight."""
    seed: NonNegative = 1
    """Of the order, and of the pairs chosen from a corpus that is not used whole."""


def _single_or_list(corpora: Any) -> str:
    return CORPUS_LIST if isinstance(corpora, list | tuple) else SINGLE_CORPUS


# One corpus, or a list: held-out text of several pairs of languages. In pydantic's errors these are parts of the key.
SINGLE_CORPUS, CORPUS_LIST = "<one>", "<several>"
HeldOutCorpora = Annotated[
    Annotated[CorpusConfig, Tag(SINGLE_CORPUS)]
    | Annotated[tuple[CorpusConfig, ...], Field(min_length=1), Tag(CORPUS_LIST)],
    Discriminator(_single_or_list),
]


class DataConfig(Section):
    """The text for training, validation and test."""

    train: Annotated[tuple[CorpusConfig, ...], REQUIRED] = ()
    """One or more training corpora."""
    valid: Annotated[HeldOutCorpora | None, REQUIRED] = None
    """Held-out pairs for validation during training; a list of corpora for several pairs of languages."""
    test: HeldOutCorpora | None = None
    """Held-out pairs for the scores on the model card, translated once after training; as `valid`."""
    general_test: CorpusConfig | None = None
    """Fine-tuning: held-out general text. The base model and the finished model translate it too, to show what is
    forgotten."""
    replay: tuple[CorpusConfig, ...] = ()
    """Fine-tuning: general text against forgetting, mixed into the training text; its pairs change from epoch to
    epoch."""
    replay_share: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Share of the pairs of an epoch that are from `replay`."""
    max_length: Positive = 200
    """Pairs with more tokens than this on either side are skipped in training, and reported."""
    shuffle_buffer: Positive = 500_000
    """Pairs in memory at once. A corpus of up to this size is shuffled as a whole, a larger one in parts."""
    protect: bool = False
    """Placeholders (`%s`, `{name}`, tags, addresses, …) become symbols of the tokenizer. The model learns to place and
    re-order them from the pairs that have some, and from `data.augment.placeholders`; a translation has them as the
    source does."""
    augment: AugmentConfig = AugmentConfig()
    """Data augmentation: random changes of the training text in each epoch."""
    clean: CleanConfig = CleanConfig()
    """What counts as a fault of a pair."""
    mix: MixConfig = MixConfig()
    """Several corpora as one training text, for `dragoman data mix`."""

    @model_validator(mode="after")
    def _both_or_neither(self) -> Self:
        if self.train and self.valid is None:
            raise ValueError("valid: missing; this key has no default")
        if not self.train and (self.valid or self.test):
            raise ValueError("train: missing; this key has no default")
        return self

    @property
    def augmentation(self) -> AugmentConfig:
        """`augment` with a number for the placeholders of a model that learns them."""
        if not self.protect or self.augment.placeholders != "auto":
            return self.augment
        return self.augment.model_copy(update={"placeholders": min(PLANTED, max(0.0, 1 - self.augment.total))})

    @property
    def valid_corpora(self) -> tuple[CorpusConfig, ...]:
        """The corpora of `valid`; none in a configuration without text, see `dragoman.config.file.require_text`."""
        return _as_tuple(self.valid)

    @property
    def test_corpora(self) -> tuple[CorpusConfig, ...]:
        return _as_tuple(self.test)

    @property
    def named_corpora(self) -> dict[str, CorpusConfig]:
        """Every corpus by its name in messages: valid, test, …, train[0], train[1], …; valid[0], … if it is a list."""
        names = ("valid", "test", "general_test", "replay", "train")
        return {
            f"{name}[{number}]" if isinstance(value, tuple) else name: corpus
            for name, value in ((name, getattr(self, name)) for name in names)
            for number, corpus in enumerate(_as_tuple(value))
        }


def _as_tuple(corpora: CorpusConfig | tuple[CorpusConfig, ...] | None) -> tuple[CorpusConfig, ...]:
    if corpora is None:
        return ()
    return corpora if isinstance(corpora, tuple) else (corpora,)
