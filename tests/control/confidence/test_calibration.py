"""Calibration: probabilities that hold, measured against sums in plain Python and against what was drawn."""

import math
import random

import pytest

from dragoman.control.confidence.calibration import (
    BINS,
    Logistic,
    area_under_roc,
    calibration,
    cross_validated,
    fit_logistic,
    reliability,
)


def draw(count: int, seed: int = 0) -> tuple[list[list[float]], list[bool], list[float]]:
    """Rows of two features, outcomes, and the probabilities that they were drawn with."""
    rng = random.Random(seed)
    rows = [[rng.gauss(3, 2), rng.uniform(-1, 1)] for _ in range(count)]
    truth = [1 / (1 + math.exp(-(0.8 * (one - 3) - 1.5 * other + 0.3))) for one, other in rows]
    return rows, [rng.random() < probability for probability in truth], truth


@pytest.mark.slow
def test_the_weights_are_those_that_the_outcomes_were_drawn_with() -> None:
    rows, outcomes, truth = draw(20_000)
    model = fit_logistic(rows, outcomes)
    slopes = [weight / scale for weight, scale in zip(model.weights, model.scales, strict=True)]
    assert slopes == pytest.approx([0.8, -1.5], abs=0.08)
    assert max(abs(model.probability(row) - true) for row, true in zip(rows, truth, strict=True)) < 0.03


def test_the_gradient_of_the_likelihood_is_zero() -> None:
    rows, outcomes, _ = draw(300)
    model = fit_logistic(rows, outcomes)
    errors = [outcome - model.probability(row) for row, outcome in zip(rows, outcomes, strict=True)]
    assert sum(errors) == pytest.approx(0, abs=1e-6)
    for column, (mean, scale, weight) in enumerate(zip(model.means, model.scales, model.weights, strict=True)):
        slope = sum(e * (row[column] - mean) / scale for e, row in zip(errors, rows, strict=True))
        assert slope - weight == pytest.approx(0, abs=1e-6)  # a ridge of 1


def test_what_separates_perfectly_has_finite_weights_and_what_is_constant_none() -> None:
    rows = [[float(index), 7.0] for index in range(40)]
    model = fit_logistic(rows, [index >= 20 for index in range(40)])
    assert 0 < model.weights[0] < 100
    assert model.weights[1] == 0
    assert model.probability([0.0, 7.0]) < 0.1 < 0.9 < model.probability([39.0, 7.0])


@pytest.mark.parametrize("outcome", [True, False])
def test_outcomes_that_are_all_the_same_have_finite_weights(outcome: bool) -> None:
    rows, _, _ = draw(80)
    model = fit_logistic(rows, [outcome] * 80)
    assert all(map(math.isfinite, (model.bias, *model.weights)))
    assert abs(model.probability(rows[0]) - outcome) < 1e-3


def test_a_model_that_has_not_seen_a_row_gives_its_probability() -> None:
    rows, outcomes, _ = draw(50)
    found = cross_validated(rows, outcomes)
    learned = [index for index in range(50) if index % 5 != 2]
    model = fit_logistic([rows[index] for index in learned], [outcomes[index] for index in learned])
    assert found[7] == model.probability(rows[7])


@pytest.mark.slow
def test_true_probabilities_are_calibrated_and_pushed_ones_are_not() -> None:
    _, outcomes, truth = draw(20_000)
    pushed = [p**3 for p in truth]
    assert calibration(truth, outcomes).ece < 0.015
    assert calibration(pushed, outcomes).ece == pytest.approx(
        abs(sum(outcomes) - sum(pushed)) / len(outcomes), abs=0.01
    )  # too low in every bin
    assert calibration(truth, outcomes).auc == pytest.approx(calibration(pushed, outcomes).auc)
    assert calibration(truth, outcomes).brier < calibration(pushed, outcomes).brier


def test_the_bins_hold_every_line_once() -> None:
    probabilities = [0.0, 1 / BINS - 1e-9, 1 / BINS, 0.5, 1.0]
    assert [size for size, _, _ in reliability(probabilities, [True] * 5)] == [2, 1, 1, 1]
    assert calibration([0.0, 1.0], [False, True]).ece == 0
    assert calibration([0.0, 1.0], [True, False]).ece == 1
    assert calibration([0.3, 0.3], [True, False]).ece == pytest.approx(0.2)


def test_the_area_is_the_share_of_pairs_in_the_right_order() -> None:
    rng = random.Random(4)
    scores, outcomes = [rng.randint(0, 9) / 10 for _ in range(60)], [rng.random() < 0.4 for _ in range(60)]
    pairs = [
        1.0 if good > bad else 0.5 if good == bad else 0.0
        for good, accepted in zip(scores, outcomes, strict=True)
        if accepted
        for bad, rejected in zip(scores, outcomes, strict=True)
        if not rejected
    ]
    assert area_under_roc(scores, outcomes) == pytest.approx(sum(pairs) / len(pairs))
    assert area_under_roc([0.1, 0.2], [True, True]) == 0.5


def test_extreme_rows_have_probabilities() -> None:
    model = Logistic((0.0,), (1.0,), (1.0,), 0.0)
    assert model.probability([-1e6]) == 0
    assert model.probability([1e6]) == 1
