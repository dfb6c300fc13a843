"""The keys of [train.risk] and [train.dual]: objectives other than likelihood."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.sections.base import Section, Where


class RiskConfig(Section):
    """Minimum risk training, with `train.objective = "risk"`: the expected cost of translations that are sampled."""

    form: Literal["expected", "reinforce"] = "expected"
    """`expected`: the mean cost under Q(y) ∝ P(y | x)^α over the different samples of a source (Shen et al. 2016).
    `reinforce`: the mean over samples as they were drawn, each against the mean of the others as baseline."""
    samples: Annotated[int, Field(le=1024)] = 20
    """Samples of each source, at least 2."""
    sharpness: Annotated[float, Field(gt=0, le=1000)] = 5e-3
    """α of `expected`."""
    reward: Literal["bleu", "gleu", "chrf"] = "bleu"
    """What a sample is worth, of 0 to 1, sentence by sentence: smoothed `bleu` or `chrf` of the text, by sacreBLEU, or
    `gleu` of the pieces, EOS among them (Wu et al. 2016). The cost is its negative."""
    reference: bool = True
    """Whether the reference is one of the samples of `expected`."""
    likelihood: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """Weight of the likelihood of the reference, per token, that is added; Wu et al. 2016 add 0.017."""

    @model_validator(mode="after")
    def _at_least_two_samples(self) -> Self:
        if self.samples < 2:
            raise ValueError(f"samples: {self.samples} cannot be compared with anything; draw at least 2")
        return self


class DualConfig(Section):
    """Dual supervised learning, with `train.objective = "dual"` (Xia et al. 2017), of a model of both directions."""

    weight: Annotated[float, Field(ge=0, le=1000)] = 0.01
    """λ of the squared duality gap, log P(x) + log P(y | x) − log P(y) − log P(x | y), in nats of a whole sentence."""
    language_models: tuple[Where, ...] = ()
    """Folders of two language models, one for each language, with the pieces of the model; they stay as they are."""
