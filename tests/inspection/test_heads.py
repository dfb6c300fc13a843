"""Entropy and roles against their formulas in plain Python, and of attentions that are nothing but a role."""

import math
from typing import Any

import pytest
import torch

from dragoman.inspection.attribution import erasure
from dragoman.inspection.heads import attention_roles, roles
from dragoman.inspection.inspection import Inspection
from dragoman.inspection.record import AttentionRecord


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_roles_are_their_formulas_in_plain_python(inspection: Inspection) -> None:
    head_roles = roles(inspection)
    wheres = [f"encoder.{layer}.self_attention" for layer in range(2)]
    wheres += [f"decoder.{layer}.{kind}_attention" for layer in range(2) for kind in ("self", "cross")]
    assert [(role.where, role.head) for role in head_roles] == [(where, head) for where in wheres for head in range(4)]
    for role in head_roles:
        w = inspection.recording[role.where].weights[0, role.head].tolist()
        rows, columns = len(w), len(w[0])
        entropies = [-sum(p * math.log(p) for p in row if p > 0) for row in w]
        assert role.entropy == pytest.approx(mean(entropies), abs=1e-5)
        visible = [i + 1 if role.where.startswith("decoder") and "self" in role.where else columns for i in range(rows)]
        parts = [entropy / math.log(n) for entropy, n in zip(entropies, visible, strict=True) if n > 1]
        assert role.normalised_entropy == pytest.approx(mean(parts), abs=1e-5)
        along = {
            offset: [w[i][i + offset] for i in range(rows) if 0 <= i + offset < columns]
            for offset in range(-rows, columns)
        }
        assert role.previous == pytest.approx(mean(along[-1]), abs=1e-6)
        assert role.same == pytest.approx(mean(along[0]), abs=1e-6)
        means = {offset: mean(some) for offset, some in along.items() if 2 * len(some) >= min(rows, columns)}
        assert role.positional == pytest.approx(max(means.values()), abs=1e-6)
        assert means[role.offset] == pytest.approx(role.positional, abs=1e-6)
        assert role.alignment is None


def test_alignment_is_the_share_of_words_that_erasure_names_too(inspection: Inspection) -> None:
    lost = erasure(inspection).tolist()
    for role in roles(inspection, torch.tensor(lost)):
        if not role.where.endswith("cross_attention"):
            assert role.alignment is None
            continue
        w = inspection.recording[role.where].weights[0, role.head].tolist()
        same = [
            max(range(5), key=w[t].__getitem__) == max(range(5), key=lost[t].__getitem__) for t in range(6)
        ]  # five source words and six of the target, end marks aside
        assert role.alignment == pytest.approx(mean(same))


def drawn(weights: torch.Tensor, mask: torch.Tensor) -> AttentionRecord:
    """An attention with these weights (T, S) and zeros for everything else."""
    scores = torch.where(weights > 0, weights.log(), torch.tensor(-1e4))  # one-hot keys give the scores back
    keys, root = torch.eye(weights.size(1)), math.sqrt(weights.size(1))
    queries, positions = weights.shape
    values, heads, flat = torch.zeros(1, 1, positions, 1), torch.zeros(1, 1, queries, 1), torch.zeros(1, queries, 1)
    return AttentionRecord(root * scores[None, None], keys[None, None], values, mask[None, None], heads, flat, flat)


@pytest.mark.parametrize("offset", [-2, -1, 0, 1])
def test_a_head_that_points_at_a_neighbour_is_known(offset: int) -> None:
    weights = torch.full((6, 6), 0.0)
    for i in range(6):
        weights[i, min(max(i + offset, 0), 5)] = 1.0
    (role,) = attention_roles("encoder.0.self_attention", drawn(weights, torch.ones(6, 6, dtype=torch.bool)), None)
    assert role.offset == offset
    assert role.positional == pytest.approx(1.0)
    assert role.entropy == pytest.approx(0.0, abs=1e-6)
    assert role.previous == pytest.approx(1.0 if offset == -1 else 0.2 if offset == -2 else 0.0)


def test_a_head_that_sees_n_positions_alike_has_entropy_log_n() -> None:
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    weights = mask / mask.sum(-1, keepdim=True)
    (role,) = attention_roles("decoder.0.self_attention", drawn(weights, mask), None)
    assert role.normalised_entropy == pytest.approx(1.0, abs=1e-5)
    assert role.entropy == pytest.approx(mean([math.log(n) for n in range(1, 6)]), abs=1e-5)


def test_a_translation_without_a_word_has_the_roles_that_are_defined(look_at: Any) -> None:
    empty = look_at("5", "")
    for role in roles(empty, erasure(empty)):
        assert role.alignment is None
        if role.where.startswith("decoder"):
            assert role.previous is None
        if role.where == "decoder.0.self_attention":
            assert role.normalised_entropy is None
