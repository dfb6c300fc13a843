"""Section 3.2: scaled dot-product attention, the masks, many heads."""

import math

import plain
import pytest
import torch
from torch.testing import assert_close

from dragoman.model.parts.attention import (
    MultiHeadAttention,
    ScaledDotProduct,
    attention_weights,
    look_ahead_mask,
    padding_mask,
)

KEYS = torch.tensor([[10.0, 0, 0], [0, 10, 0], [0, 0, 10], [0, 0, 10]])
VALUES = torch.tensor([[1.0, 0], [10, 0], [100, 5], [1000, 6]])
EXAMPLES = [
    ([0.0, 10, 0], [0.0, 1, 0, 0], [10.0, 0]),
    ([0.0, 0, 10], [0.0, 0, 0.5, 0.5], [550.0, 5.5]),
    ([10.0, 10, 0], [0.5, 0.5, 0, 0], [5.5, 0]),
]
EVERYTHING = torch.ones(1, 1, 1, 4, dtype=torch.bool)


def attend(queries: list[list[float]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights and output of the worked example's keys and values."""
    q, k, v = torch.tensor(queries)[None, None], KEYS[None, None], VALUES[None, None]
    return attention_weights(q, k, EVERYTHING)[0, 0], ScaledDotProduct()(q, k, v, EVERYTHING)[0, 0]


@pytest.mark.parametrize(("query", "weights", "output"), EXAMPLES, ids=["one key", "two alike", "between two"])
def test_a_query_takes_the_values_of_the_keys_it_is_like(
    query: list[float], weights: list[float], output: list[float]
) -> None:
    found_weights, found_output = attend([query])
    assert_close(found_weights, torch.tensor([weights]), atol=1e-6, rtol=0)
    assert_close(found_output, torch.tensor([output]), atol=1e-3, rtol=0)


def test_three_queries_at_once_are_answered_as_each_alone() -> None:
    weights, output = attend([query for query, _, _ in EXAMPLES])
    assert_close(weights, torch.tensor([row for _, row, _ in EXAMPLES]), atol=1e-6, rtol=0)
    assert_close(output, torch.tensor([row for _, _, row in EXAMPLES]), atol=1e-3, rtol=0)


def test_padding_is_not_seen_and_weighs_exactly_nothing() -> None:
    mask = padding_mask(torch.tensor([[1, 21, 777, 0, 0]]), pad=0)
    assert mask.tolist() == [[[[True, True, True, False, False]]]]
    q, k = torch.randn(1, 2, 5, 3), torch.randn(1, 2, 5, 3)
    weights = attention_weights(q, k, mask)
    assert (weights[..., 3:] == 0).all()
    assert_close(weights.sum(-1), torch.ones(1, 2, 5))


def test_looking_ahead_leaves_the_lower_triangle() -> None:
    assert look_ahead_mask(4, 4)[0, 0].tolist() == [[j <= i for j in range(4)] for i in range(4)]
    weights = attention_weights(torch.randn(1, 1, 4, 3), torch.randn(1, 1, 4, 3), look_ahead_mask(4, 4))
    assert (weights.triu(1) == 0).all()
    assert (weights.tril() > 0).sum() == 10


def test_the_last_rows_of_the_mask_are_those_of_new_positions() -> None:
    assert look_ahead_mask(2, 5).equal(look_ahead_mask(5, 5)[..., 3:, :])


@pytest.mark.parametrize(("d_k", "d_v"), [(3, 3), (5, 2)])
def test_attention_is_equation_1_in_loops(d_k: int, d_v: int) -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 2, 3, d_k), torch.randn(2, 2, 4, d_k), torch.randn(2, 2, 4, d_v)
    mask = torch.tensor([[True, True, False, True], [True, False, False, False]])[:, None, None]
    weights, output = attention_weights(q, k, mask), ScaledDotProduct()(q, k, v, mask)
    for b in range(2):
        seen = [mask[b, 0, 0].tolist()] * 3
        for h in range(2):
            args = (q[b, h].tolist(), k[b, h].tolist())
            assert_close(weights[b, h], torch.tensor(plain.weights(*args, seen)))
            assert_close(output[b, h], torch.tensor(plain.attention(*args, v[b, h].tolist(), seen)))


def test_scaling_keeps_the_variance_of_scores_at_one() -> None:
    """Section 3.2.1, footnote 4: a dot product of d_k products of variance 1 has variance d_k."""
    torch.manual_seed(0)
    q, k = torch.randn(1, 1, 400, 512), torch.randn(1, 1, 400, 512)
    assert (q @ k.mT).var().item() == pytest.approx(512, rel=0.1)
    assert ((q @ k.mT) / math.sqrt(512)).var().item() == pytest.approx(1, rel=0.1)


def test_with_eight_heads_of_512_each_has_64_dimensions_and_they_join_again() -> None:
    attention = MultiHeadAttention(d_model=512, heads=8, d_k=512 // 8, d_v=512 // 8)
    x = torch.randn(2, 7, 512)
    q, (k, v) = attention.queries(x), attention.keys_values(x)
    assert q.shape == k.shape == v.shape == (2, 8, 7, 64)
    assert attention.attend(q, k, v, None).shape == (2, 8, 7, 64)
    assert attention(q, k, v, None).shape == (2, 7, 512)


@pytest.mark.parametrize(("d_k", "d_v"), [(2, 2), (3, 5)])
def test_many_heads_are_each_head_alone_joined_and_projected(d_k: int, d_v: int) -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(d_model=4, heads=2, d_k=d_k, d_v=d_v)
    x, memory = torch.randn(1, 3, 4), torch.randn(1, 5, 4)
    found = attention(attention.queries(x), *attention.keys_values(memory), None)[0]

    def project(layer: torch.nn.Linear, rows: torch.Tensor) -> list[list[float]]:
        return plain.linear(rows[0].tolist(), layer.weight.tolist(), layer.bias.tolist())

    q, k, v = project(attention.w_q, x), project(attention.w_k, memory), project(attention.w_v, memory)
    joined: list[list[float]] = [[], [], []]
    for head in range(2):
        keys, values = slice(head * d_k, (head + 1) * d_k), slice(head * d_v, (head + 1) * d_v)
        everything = [[True] * 5] * 3
        out = plain.attention([r[keys] for r in q], [r[keys] for r in k], [r[values] for r in v], everything)
        joined = [row + part for row, part in zip(joined, out, strict=True)]
    expected = plain.linear(joined, attention.w_o.weight.tolist(), attention.w_o.bias.tolist())
    assert_close(found, torch.tensor(expected))
