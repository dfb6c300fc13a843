"""What a finished model knows about itself: its confidence and its robustness, for its bundle and its card."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dragoman.config import RunConfig
from dragoman.control.confidence.confidence import NAME
from dragoman.errors import DataError
from dragoman.translator import Translator
from dragoman.workflows.evaluate.confidence import calibrate, confidence_facts, confidence_section
from dragoman.workflows.evaluate.evaluate import TestSet
from dragoman.workflows.evaluate.held_out import held_out_by_pair
from dragoman.workflows.evaluate.robustness import LINES, measure_robustness, robustness_section
from dragoman.workflows.listener import Listeners

# The suite translates every line about nine times. With a line of TEST_SHARE lines it takes less than half of the time
# that the test set took; a small test set is used up to FEWEST lines.
TEST_SHARE, FEWEST = 20, 20


@dataclass
class Quality:
    """Files and facts for the bundle, and sections of its card by title."""

    files: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    sections: dict[str, str] = field(default_factory=dict)


def measure_quality(
    translator: Translator, config: RunConfig, test_set: TestSet, translations: Sequence[str], listener: Listeners
) -> Quality:
    """Confidence from at most `train.card_lines` validation lines, robustness from a part of the scored test set.

    Of a model of several pairs of languages both are those of the first pair of its validation text.
    """
    quality, most = Quality(), config.train.card_lines
    if not most:
        return quality
    first = held_out_by_pair(config, config.data.valid_corpora)[0]
    pairs = [*zip(first.sources, first.references, strict=True)][:most]
    try:
        learned = calibrate(translator, pairs, listener=listener)
    except DataError as why:  # too little text: a model without confidence is a model too
        cause = str(why).removeprefix("confidence: ").partition(";")[0]
        later = "`dragoman model confidence` learns it from more text"
        listener.notice(f"no confidence is learned from the validation text: {cause}; {later}")
    else:
        calibration = learned.plain.calibration
        listener.notice(
            f"  confidence: calibration error {calibration.ece:.3f}, area under the ROC curve {calibration.auc:.2f} "
            f"({learned.lines:,} validation lines)"
        )
        quality.files[NAME] = learned.text()
        quality.facts["confidence"] = confidence_facts(learned)
        quality.sections["Confidence"] = confidence_section(learned)
    lines = min(max(len(test_set.sources) // TEST_SHARE, FEWEST), LINES, most)
    known: Mapping[int, str] = dict(enumerate(translations))
    try:
        robustness = measure_robustness(translator, test_set, lines=lines, known=known, listener=listener)
    except DataError as why:
        listener.notice(f"robustness is not measured: {why}")
        return quality
    if not robustness.rows:
        listener.notice("robustness is not measured: chrF of the translations is 0")
        return quality
    listener.notice(f"  robustness {robustness.score:.2f} (share of chrF kept, {len(robustness.rows)} changes)")
    quality.facts["robustness"] = {"score": robustness.score, **asdict(robustness)}
    quality.sections["Robustness"] = robustness_section(robustness)
    return quality
