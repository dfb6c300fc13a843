"""Confidence: the probability that a person would accept a translation, learned from validation lines.

"Accepted" is what people judged to be usable or, because nobody judges validation lines, a proxy: sentence-level chrF
of at least `accept` against the reference. Judgements also give a limit: a translation below it is called doubtful. The
features are log P, the lengths of both sides, and, where random samples are drawn, how they agree with the translation:
what the model means, its samples say too (Fomicheva et al. 2020, "Unsupervised Quality Estimation").
A model keeps what was learned in `confidence.json` of its bundle.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.config import DecodeConfig
from dragoman.errors import ConfigError, ModelError
from dragoman.system.parsing import parse_json
from dragoman.translation import NO_FAULTS, Flag, Translation

NAME = "confidence.json"
FORMAT = 1
Row = Sequence[float]
"""The features of a translation."""
Sample = Callable[[DecodeConfig], list[Translation]]
"""The translations of the same lines under other options."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """P(success) = 1 / (1 + exp(−bias − Σ weight · (feature − mean) / scale))."""

    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def probability(self, row: Row) -> float:
        terms = zip(row, self.means, self.scales, self.weights, strict=True)
        logit = self.bias + sum(weight * (value - mean) / scale for value, mean, scale, weight in terms)
        return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


@dataclass(frozen=True, slots=True)
class Calibration:
    """How probabilities agree with outcomes; all from 0 to 1."""

    ece: float
    """Expected calibration error: mean distance of the probability from the share of successes, over equal bins."""
    brier: float
    """Mean square of the difference between probability and outcome."""
    auc: float
    """The probability that a success has a higher probability than a failure; 0.5 is chance."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model of acceptance, and how well it is calibrated on lines that it has not seen (cross-validation)."""

    model: Logistic
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class Doubts:
    """How a limit of the probability divides judged lines, by cross-validation."""

    lines: int
    """Lines below the limit."""
    wrong: float
    """The share of them that people rejected."""
    others_wrong: float
    """The share of the other lines that people rejected."""


@dataclass(frozen=True, slots=True)
class Confidence:
    """What a model has learned about its own translations."""

    accept: float
    """chrF of an accepted translation; 0: people judged."""
    lines: int
    accepted: float
    """Share of the lines that were accepted."""
    usual_ratio: float
    """Mean of log(characters of the translation / characters of the source)."""
    flagged_limit: float
    """The most that a translation with a warning gets."""
    plain: Fitted
    samples: int = 0
    """Random translations of each line that `sampled` was learned with; 0: none was."""
    sampled: Fitted | None = None
    doubtful: float = 0.0
    """A translation of a lower probability is called doubtful; 0: none is."""
    doubts: "Doubts | None" = None
    """How well that limit divides the lines."""

    def probability(self, translation: Translation, samples: Sequence[str] = ()) -> float:
        """The probability that the translation is accepted; with `samples`, their agreement counts too."""
        fitted = self.sampled if samples else self.plain
        assert fitted is not None
        probability = fitted.model.probability(features(translation, self.usual_ratio, samples))
        return min(probability, self.flagged_limit) if is_flagged(translation) else probability

    def text(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def read(cls, path: Path) -> "Confidence":
        """Read what `text` gave. Raises ModelError for a malformed file."""
        remedy = "learn it again with `dragoman model confidence`"
        try:
            tree = parse_json(path.read_bytes())
            if (version := tree.pop("format")) != FORMAT:
                raise ModelError(f"{path}: format {version}, this version reads {FORMAT}; {remedy}")
            sampled = _fitted(tree["sampled"]) if tree["sampled"] else None
            doubts = Doubts(**tree["doubts"]) if tree.get("doubts") else None
            return cls(**{**tree, "plain": _fitted(tree["plain"]), "sampled": sampled, "doubts": doubts})
        except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise ModelError(f"{path}: cannot be read: {error}; {remedy}") from None


def _fitted(tree: Any) -> Fitted:
    model = tree["model"]
    means, scales, weights = (tuple(map(float, model[key])) for key in ("means", "scales", "weights"))
    return Fitted(Logistic(means, scales, weights, float(model["bias"])), Calibration(**tree["calibration"]))


def check_learned(learned: Confidence | None, options: DecodeConfig) -> None:
    """Raises ConfigError if `options` ask for a confidence that the model has not learned."""
    if options.confidence and learned is None:
        raise ConfigError(
            "decode.confidence: the model has learned none; "
            "`dragoman model confidence -m MODEL SOURCE REFERENCE` learns it from validation text"
        )
    if options.confidence and options.confidence_samples and learned and learned.sampled is None:
        raise ConfigError(
            "decode.confidence_samples: the model's confidence was learned without samples; learn it again with "
            "`dragoman model confidence --samples 8`, or leave the key out"
        )


def add_confidence(
    translations: list[Translation], learned: Confidence | None, options: DecodeConfig, sample: Sample
) -> list[Translation]:
    """The translations with their confidence, as the model has `learned` it, if `options` ask for it, and with a
    warning where it is under the limit of what is `doubtful`.

    A blank line has neither. `check_learned` has found that the model has learned what `options` ask for.
    """
    if learned is None:
        return translations
    if not options.confidence:
        return [with_doubts(translation, learned) for translation in translations] if options.doubtful else translations
    samples: Sequence[Sequence[str]] = [()] * len(translations)
    if options.confidence_samples:
        samples = draw(options, options.confidence_samples, sample)
    sure = [
        replace(translation, confidence=learned.probability(translation, drawn))
        if translation.source.strip()
        else translation
        for translation, drawn in zip(translations, samples, strict=True)
    ]
    return [with_doubts(translation, learned) for translation in sure] if options.doubtful else sure


def with_doubts(translation: Translation, learned: Confidence) -> Translation:
    """The translation, with a warning if its confidence is under the limit that the model has learned.

    A translation with a fault has its warning already, and one that is as its source had nothing to translate.
    """
    best = translation.candidates[0]
    if not learned.doubtful or not best.tokens or best.text == translation.source or is_flagged(translation):
        return translation
    confidence = translation.confidence or learned.probability(translation)
    if confidence >= learned.doubtful or translation.match is not None:
        return translation
    shown = min(confidence, round(learned.doubtful, 2) - 0.01)  # rounded, it is under the limit too
    text = f"probably wrong: confidence {max(shown, 0):.2f} is under {learned.doubtful:.2f}; read it again"
    return replace(translation, warnings=(*translation.warnings, Flag("doubtful", text)))


def draw(options: DecodeConfig, count: int, sample: Sample) -> list[list[str]]:
    """`count` random translations of each line, of the model's own distribution."""
    sampling = {"method": "sample", "n_best": count, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    nothing_else = {
        "token_scores": False,
        "alignment": False,
        "confidence": False,
        "doubtful": False,
        "confidence_samples": 0,
    }
    drawn = sample(options.model_copy(update=sampling | nothing_else))
    return [[candidate.text for candidate in translation.candidates] for translation in drawn]


def features(translation: Translation, usual_ratio: float, samples: Sequence[str] = ()) -> list[float]:
    """What the probability depends on; the same for a line alone and in any batch, except for its samples."""
    best = translation.candidates[0]
    per_token = best.log_prob / (len(best.tokens) + 1)
    ratio = log_ratio(translation) - usual_ratio
    values = [
        per_token,
        math.exp(per_token),  # the geometric mean of the tokens' probabilities
        math.sqrt(max(-best.log_prob, 0.0)),  # a long line has more that may be wrong
        math.log1p(len(translation.source)),
        ratio,
        abs(ratio),
    ]
    if samples:
        score = sentence_chrf()
        # The logarithm, because the worst lines differ most between 0 and 20 of 100.
        values.append(math.log1p(sum(score(best.text, sample) for sample in samples) / len(samples)))
    return values


def is_flagged(translation: Translation) -> bool:
    """Whether a warning names a fault of the translation; `language` is the source's."""
    return any(flag.kind not in NO_FAULTS and flag.kind != "language" for flag in translation.warnings)


def log_ratio(translation: Translation) -> float:
    """How much longer the translation is than its source, in characters, as a logarithm."""
    return math.log((len(translation.text) + 1) / (len(translation.source) + 1))


def sentence_chrf() -> Callable[[str, str], float]:
    """chrF of a sentence, from 0 to 100."""
    from sacrebleu.metrics.chrf import CHRF  # slow to import

    metric = CHRF()
    return lambda text, reference: float(metric.sentence_score(text, [reference]).score)
