"""LayerNorm on a GPU: the paper's, in the type of its input."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from dragoman.model.parts.norm import LayerNorm


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_without_conversion_it_is_layer_norm_in_the_type_of_its_input(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    ours, plain = LayerNorm(16), nn.LayerNorm(16)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.normal_()
    plain.load_state_dict(ours.state_dict())
    x = torch.randn(5, 16, dtype=dtype)
    with torch.autocast("cpu", torch.bfloat16):
        y = ours.unconverted(x)
    assert y.dtype == dtype
    assert_close(y.float(), plain(x.float()), atol=1e-6 if dtype == torch.float32 else 5e-2, rtol=0)
    y.float().square().sum().backward()
    assert ours.weight.grad is not None
    assert ours.weight.grad.dtype == torch.float32
