"""Sections 5.3, 5.4 and 6.1: learning rate, label smoothing, length penalty."""

import math

import pytest
import torch

from dragoman.config import TrainConfig
from dragoman.decode.hypothesis import length_penalty
from dragoman.training.objective.loss import projected_loss, smoothed_cross_entropy
from dragoman.training.update.schedule import learning_rate, noam


def test_the_learning_rate_is_equation_3() -> None:
    for step in (1, 10, 3999, 4000, 4001, 100_000):
        expected = 1 / math.sqrt(512) * min(1 / math.sqrt(step), step / 4000**1.5)
        assert noam(step, 512, 4000) == pytest.approx(expected)


def test_the_learning_rate_rises_in_a_line_then_falls_with_the_root() -> None:
    assert noam(2000, 512, 4000) == pytest.approx(noam(4000, 512, 4000) / 2)
    assert noam(16_000, 512, 4000) == pytest.approx(noam(4000, 512, 4000) / 2)
    assert max(range(1, 10_000), key=lambda step: noam(step, 512, 4000)) == 4000


def test_a_given_peak_is_reached_at_the_end_of_the_warm_up_on_the_same_curve() -> None:
    given = TrainConfig(learning_rate=5e-3, warmup=400)
    assert learning_rate(400, 128, given, 0) == pytest.approx(5e-3)
    assert learning_rate(1600, 128, given, 0) == pytest.approx(2.5e-3)
    assert learning_rate(7, 128, TrainConfig(warmup=400), 0) == pytest.approx(noam(7, 128, 400))


@pytest.mark.parametrize(
    ("step", "minutes", "expected"),
    [
        (1, 0, 1e-5),
        (100, 0, 1e-3),
        (501, 0, 1e-3 * 500 / 901),
        (501, 10, 1e-3 * 500 / 901),
        (501, 45, 2.5e-4),
        (1000, 0, 1e-3 / 901),
        (501, 61, 0),
    ],
)
def test_the_linear_schedule_falls_to_0_at_the_nearer_end(step: int, minutes: float, expected: float) -> None:
    train = TrainConfig(schedule="linear", learning_rate=1e-3, warmup=100, max_steps=1000, max_minutes=60)
    assert learning_rate(step, 128, train, minutes) == pytest.approx(expected)
    without = train.model_copy(update={"max_minutes": None})
    assert learning_rate(501, 128, without, minutes) == pytest.approx(1e-3 * 500 / 901)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_label_smoothing_is_the_cross_entropy_with_a_softened_target(smoothing: float) -> None:
    torch.manual_seed(0)
    logits, gold = torch.randn(3, 5), [1, 4, 0]
    expected = 0.0
    for row, y in zip(logits.tolist(), gold, strict=True):
        log_z = math.log(sum(math.exp(z) for z in row))
        target = [smoothing / 5 + (1 - smoothing) * (v == y) for v in range(5)]
        expected -= sum(q * (z - log_z) for q, z in zip(target, row, strict=True))
    found = smoothed_cross_entropy(logits, torch.tensor(gold), smoothing)
    assert found.item() == pytest.approx(expected, rel=1e-5)
    assert projected_loss(logits, torch.eye(5), torch.tensor(gold), smoothing).item() == pytest.approx(
        expected, rel=1e-5
    )


def test_the_length_penalty_is_that_of_wu_et_al() -> None:
    assert length_penalty(7, 0.6) == pytest.approx((12 / 6) ** 0.6)
    assert length_penalty(1, 0.6) == 1
    assert length_penalty(50, 0.0) == 1
