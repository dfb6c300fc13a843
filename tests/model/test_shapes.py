"""The shapes in signatures are checked where tensors are tested."""

import pytest
import torch
from jaxtyping import TypeCheckError

from dragoman.model.parts.attention import attention_weights


def test_a_wrong_shape_is_refused_here(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("jaxtyping_packages"):
        pytest.skip("this run does not check shapes")
    q, mask = torch.zeros(1, 2, 3, 4), torch.ones(1, 1, 3, 5, dtype=torch.bool)
    attention_weights(q, torch.zeros(1, 2, 5, 4), mask)
    with pytest.raises(TypeCheckError):
        attention_weights(q, torch.zeros(1, 2, 6, 4), mask)
