"""The keys of [data]: the corpora to train, validate and test on."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.base import Fraction, Positive, Section, Where


class CorpusConfig(Section):
    """Parallel text: two files of lines, or one `.tsv` or `.jsonl` file; each may end in `.gz` or `.zst`."""

    source: Where
    """File of source sentences, or a `.tsv` (two columns) or `.jsonl` file that holds both sides."""
    target: Where | None = None
    """File of target sentences, line by line the translations of `source`."""
    weight: Annotated[float, Field(gt=0, le=10_000)] = 1.0
    """How many times an epoch shows each pair: 3 repeats, 0.5 draws half of them."""
    fields: tuple[str, str] = ("source", "target")
    """Names of the two fields of a `.jsonl` file."""

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, given: Any) -> Any:
        return {"source": given} if isinstance(given, str | Path) else given

    @property
    def single_file(self) -> Literal["tsv", "jsonl"] | None:
        """The format of a file that holds both sides, by its name without `.gz` or `.zst`."""
        name = self.source.name.removesuffix(".gz").removesuffix(".zst")
        if name.endswith(".tsv"):
            return "tsv"
        return "jsonl" if name.endswith(".jsonl") else None

    @property
    def files(self) -> tuple[Path, ...]:
        """The one or two files of this corpus."""
        return (self.source,) if self.target is None else (self.source, self.target)

    @model_validator(mode="after")
    def _two_sides(self) -> Self:
        if self.single_file and self.target is not None:
            raise ValueError(f"target: {self.source.name} holds both sides already; remove `target`")
        if not self.single_file and self.target is None:
            raise ValueError(f"target: missing; {self.source.name} holds one side, name the file of the other")
        return self


class AugmentConfig(Section):
    """Shares of the training pairs that an epoch shows changed, one change a pair, where the pair allows the change."""

    upper: Fraction = 0.0
    """Both sides in capitals, where the source's script has them."""
    title: Fraction = 0.0
    """Both sides With Every Word Capitalised, where the source's script has capitals."""
    unpunctuated: Fraction = 0.0
    """Both sides without their final full stop, question or exclamation mark."""
    typos: Fraction = 0.0
    """The source with letters swapped, dropped or doubled in up to three words."""
    fragments: Fraction = 0.0
    """One sentence of a pair that has several, as many on each side."""

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if (total := sum(self.model_dump().values())) > 1 + 1e-9:
            raise ValueError(f"upper: with the other shares it makes {total:g}; lower them to 1 in all at the most")
        return self


class DataConfig(Section):
    """Which text is learned from, watched and tested on."""

    train: Annotated[tuple[CorpusConfig, ...], Field(min_length=1)]
    """One corpus or more to learn from."""
    valid: CorpusConfig
    """Held-out pairs watched during training."""
    test: CorpusConfig | None = None
    """Held-out pairs scored once, after training, for the model card."""
    max_length: Positive = 200
    """Pairs with more tokens than this on a side are counted, reported and skipped in training."""
    shuffle_buffer: Positive = 500_000
    """Pairs held in memory at once: a corpus up to this size is shuffled whole, a larger one by parts."""
    augment: AugmentConfig = AugmentConfig()
    """Changes of the training text on the fly."""
