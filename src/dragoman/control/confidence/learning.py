"""What a model learns about its translations: from references, or from what people judged.

Input: translations with references, or with judgements. Output: a `Confidence`, and which translations are doubtful.
"""

from collections.abc import Sequence
from itertools import pairwise

from dragoman.control.confidence.calibration import calibration, cross_validated, fit_logistic
from dragoman.control.confidence.confidence import (
    Confidence,
    Doubts,
    Fitted,
    features,
    is_flagged,
    log_ratio,
    sentence_chrf,
)
from dragoman.errors import DataError, counted
from dragoman.translation import Translation

# chrF from which a translation counts as accepted.
ACCEPT = 50.0
# Fewer lines, or fewer of either outcome, would calibrate by chance.
MIN_LINES, MIN_EACH = 100, 10
# A translation with a warning is at most as probable as the share of such lines that were accepted, after this many
# that were not and ½ that was: log P is high in a loop, and most validation texts have none to learn from.
REJECTED_BEFORE, ACCEPTED_BEFORE = 9.5, 0.5
# Of the translations that are called doubtful at least this share is wrong, of the others at most that.
DOUBTFUL_WRONG, OTHERS_WRONG = 1 / 2, 1 / 5


def learn_confidence(
    translations: Sequence[Translation],
    references: Sequence[str],
    accept: float = ACCEPT,
    samples: Sequence[Sequence[str]] | None = None,
) -> Confidence:
    """Learn from translations of the model and their references; with `samples` of each line, from these too.

    Raises DataError if there are too few lines, or nearly all have the same outcome.
    """
    indices = [
        index
        for index, translation in enumerate(translations)
        if translation.source.strip() and references[index].strip()
    ]
    usable, score = [translations[index] for index in indices], sentence_chrf()
    outcomes = [
        score(translation.text, references[index]) >= accept for translation, index in zip(usable, indices, strict=True)
    ]
    _check_outcomes(outcomes, f"reach chrF {accept:g}", ", or another --accept")
    usual, limit = _usual_ratio(usable), _flagged_limit(usable, outcomes)
    sampled = None
    if samples is not None:
        sampled = _fit(
            [features(translation, usual, samples[index]) for translation, index in zip(usable, indices, strict=True)],
            outcomes,
        )
    return Confidence(
        accept,
        len(usable),
        sum(outcomes) / len(usable),
        usual,
        limit,
        _fit([features(translation, usual) for translation in usable], outcomes),
        max(len(samples[index]) for index in indices) if samples is not None else 0,  # equal ones of a line are one
        sampled,
    )


def learn_from_judgements(translations: Sequence[Translation], usable: Sequence[bool]) -> Confidence:
    """Learn from what people judged `usable`, and below which probability a translation is to be called doubtful.

    Raises DataError if there are too few lines, or nearly all have the same judgement.
    """
    _check_outcomes(usable, "were judged usable", "")
    usual = _usual_ratio(translations)
    rows = [features(translation, usual) for translation in translations]
    probabilities = cross_validated(rows, usable)
    limit, doubts = doubtful_limit(probabilities, usable)
    fitted = Fitted(fit_logistic(rows, usable), calibration(probabilities, usable))
    share, flagged = sum(usable) / len(usable), _flagged_limit(translations, usable)
    return Confidence(0.0, len(usable), share, usual, flagged, fitted, doubtful=limit, doubts=doubts)


def doubtful_limit(probabilities: Sequence[float], usable: Sequence[bool]) -> tuple[float, Doubts | None]:
    """The limit with which the fewest lines are called doubtful such that at most OTHERS_WRONG of the others are wrong.

    Of the doubtful ones at least DOUBTFUL_WRONG are; where both cannot be had, the fewest of the others are wrong.
    (0, None) if no limit has that.
    """
    order = sorted(zip(probabilities, usable, strict=True))
    total, wrong = len(order) - sum(usable), 0
    best: tuple[float, Doubts | None] = (0.0, None)
    for count, ((_, accepted), (limit, _)) in enumerate(pairwise(order), 1):
        wrong += not accepted
        doubts = Doubts(count, wrong / count, (total - wrong) / (len(order) - count))
        if doubts.wrong >= DOUBTFUL_WRONG and (best[1] is None or doubts.others_wrong < best[1].others_wrong):
            best = limit, doubts
            if doubts.others_wrong <= OTHERS_WRONG:
                break
    return best


def _check_outcomes(outcomes: Sequence[bool], what: str, otherwise: str) -> None:
    if len(outcomes) < MIN_LINES:
        raise DataError(f"confidence: {counted(len(outcomes), 'line')} with text; give at least {MIN_LINES}")
    if not MIN_EACH <= sum(outcomes) <= len(outcomes) - MIN_EACH:
        raise DataError(
            f"confidence: {sum(outcomes):,} of {len(outcomes):,} lines {what}, too few or too many to learn from; "
            f"give more lines{otherwise}"
        )


def _usual_ratio(translations: Sequence[Translation]) -> float:
    return sum(map(log_ratio, translations)) / len(translations)


def _flagged_limit(translations: Sequence[Translation], outcomes: Sequence[bool]) -> float:
    flagged = [outcome for translation, outcome in zip(translations, outcomes, strict=True) if is_flagged(translation)]
    return (sum(flagged) + ACCEPTED_BEFORE) / (len(flagged) + ACCEPTED_BEFORE + REJECTED_BEFORE)


def _fit(rows: Sequence[Sequence[float]], outcomes: Sequence[bool]) -> Fitted:
    return Fitted(fit_logistic(rows, outcomes), calibration(cross_validated(rows, outcomes), outcomes))
