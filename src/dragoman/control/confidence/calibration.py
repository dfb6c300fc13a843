"""Probabilities from features: logistic regression, and how well its probabilities agree with what happened.

Input: rows of features and for each whether it was a success. Output: weights, probabilities, expected calibration
error (Guo et al. 2017), Brier score, and the area under the ROC curve.
"""

import math
from collections.abc import Sequence
from itertools import groupby

from dragoman.control.confidence.confidence import Calibration, Logistic, Row

# Bins of equal width for the calibration error, as in Guo et al. 2017, section 4.
BINS = 15
# Parts of the cross-validation. Row i is in part i mod FOLDS.
FOLDS = 5
# Gaussian prior on the weights of standardised features (not on the bias): keeps them finite where classes separate.
RIDGE = 1.0
# Newton's method converges within a dozen steps.
STEPS, TOLERANCE = 50, 1e-10


def fit_logistic(rows: Sequence[Row], outcomes: Sequence[bool]) -> Logistic:
    """Maximum a posteriori weights by Newton's method (iteratively reweighted least squares)."""
    import numpy as np

    features = np.asarray(rows, dtype=np.float64)
    means, scales = features.mean(axis=0), features.std(axis=0)
    scales[scales == 0] = 1.0
    design = np.column_stack([np.ones(len(features)), (features - means) / scales])
    target = np.asarray(outcomes, dtype=np.float64)
    prior = np.diag([0.0, *[RIDGE] * features.shape[1]])
    weights = np.zeros(design.shape[1])
    share = (target.sum() + 0.5) / (len(target) + 1)
    weights[0] = math.log(share / (1 - share))
    for _ in range(STEPS):
        probability = np.clip(1 / (1 + np.exp(-np.clip(design @ weights, -30, 30))), 1e-9, 1 - 1e-9)
        gradient = design.T @ (target - probability) - prior @ weights
        hessian = (design * (probability * (1 - probability))[:, None]).T @ design + prior
        step = np.linalg.solve(hessian, gradient)
        weights += step
        if float(np.abs(step).max()) < TOLERANCE:
            break
    bias, *slopes = weights.tolist()
    return Logistic(tuple(means.tolist()), tuple(scales.tolist()), tuple(slopes), bias)


def cross_validated(rows: Sequence[Row], outcomes: Sequence[bool]) -> list[float]:
    """The probability of each row by a model that has not seen it: fitted on the other FOLDS − 1 parts."""
    probabilities = [0.0] * len(rows)
    for fold in range(FOLDS):
        learned = [index for index in range(len(rows)) if index % FOLDS != fold]
        model = fit_logistic([rows[index] for index in learned], [outcomes[index] for index in learned])
        for index in range(fold, len(rows), FOLDS):
            probabilities[index] = model.probability(rows[index])
    return probabilities


def calibration(probabilities: Sequence[float], outcomes: Sequence[bool]) -> Calibration:
    """How well probabilities agree with outcomes, of which there is at least one."""
    pairs = list(zip(probabilities, outcomes, strict=True))
    brier = sum((probability - outcome) ** 2 for probability, outcome in pairs) / len(pairs)
    gaps = (count * abs(mean - share) for count, mean, share in reliability(probabilities, outcomes))
    return Calibration(sum(gaps) / len(pairs), brier, area_under_roc(probabilities, outcomes))


def reliability(probabilities: Sequence[float], outcomes: Sequence[bool]) -> list[tuple[int, float, float]]:
    """For each bin that is not empty, lowest first: its size, its mean probability, its share of successes."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for probability, outcome in zip(probabilities, outcomes, strict=True):
        bins[min(int(probability * BINS), BINS - 1)].append((probability, outcome))
    return [
        (len(members), sum(p for p, _ in members) / len(members), sum(o for _, o in members) / len(members))
        for members in bins
        if members
    ]


def area_under_roc(scores: Sequence[float], outcomes: Sequence[bool]) -> float:
    """The Mann-Whitney statistic: ties count half; 0.5 if all outcomes are the same."""
    order = sorted(range(len(scores)), key=scores.__getitem__)
    successes = sum(outcomes)
    failures = len(outcomes) - successes
    if not successes or not failures:
        return 0.5
    rank_sum, end = 0.0, 0
    for _, group in groupby(order, key=scores.__getitem__):
        equal = [outcomes[index] for index in group]
        start, end = end, end + len(equal)
        rank_sum += (start + 1 + end) / 2 * sum(equal)
    return (rank_sum - successes * (successes + 1) / 2) / (successes * failures)
