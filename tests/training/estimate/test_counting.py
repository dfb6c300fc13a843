"""Counted operations, chains and memory, against arithmetic."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.training.estimate.counting import counted, single_thread


def chain(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = x @ x
    return x


@pytest.mark.parametrize("n", [1, 5])
def test_a_chain_is_as_long_as_its_links(n: int) -> None:
    x = torch.eye(4)
    cost = counted(lambda: chain(x, n))
    assert (cost.flops, cost.depth, cost.operations) == (n * 2 * 4**3, n, n)
    assert cost.peak_bytes == 64 * min(n, 2)  # a link and the one before


def test_work_side_by_side_is_no_longer_chain() -> None:
    x = torch.eye(4)
    cost = counted(lambda: sum(chain(x, 3) for _ in range(2)))
    assert cost.depth == 3 + 2  # 0 + the first, + the second
    assert cost.operations == 6 + 2


def test_writing_in_place_lengthens_the_chain_and_a_view_does_not() -> None:
    x = torch.zeros(4)
    assert counted(lambda: x.view(2, 2).add_(1).mul_(2)).depth == 2


def test_the_fused_kernel_of_attention_is_counted_as_its_products() -> None:
    q = torch.randn(2, 3, 5, 8, requires_grad=True)
    k, v = torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 8)
    forward = 2 * (2 * 3) * 5 * 7 * (8 + 8)
    assert counted(lambda: F.scaled_dot_product_attention(q, k, v)).flops == forward
    assert counted(lambda: F.scaled_dot_product_attention(q, k, v).sum().backward()).flops == 3 * forward


def test_the_fused_kernel_of_a_recurrent_layer_is_a_chain_over_its_positions() -> None:
    layer, x = nn.LSTM(4, 6), torch.randn(9, 2, 4)
    with single_thread():
        short, long = (counted(lambda x=x: layer(x)) for x in (x[:5], x))  # type: ignore[misc]
    assert long.depth - short.depth == 4
    assert long.flops == 2 * 9 * 2 * (24 * 4 + 24 * 6)
