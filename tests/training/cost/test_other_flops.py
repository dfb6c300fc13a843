"""The operations of other architectures by formula = those counted while the network runs."""

from functools import partial

import pytest
import torch

from architectures import OTHERS, tiny
from dragoman.model.build import build_network
from dragoman.model.parts.attention import padding_mask
from dragoman.training.cost.flops import forward_flops, training_flops
from dragoman.training.estimate.counting import counted


@pytest.mark.parametrize("shape", OTHERS.values(), ids=OTHERS)
def test_the_formula_is_what_a_counter_counts(shape: dict[str, object]) -> None:
    config = tiny(**shape)
    model = build_network(config, 13, 13).train(config.architecture == "moe")  # noise is of training alone
    src, tgt = torch.randint(4, 13, (3, 7)), torch.randint(4, 13, (3, 5))
    with torch.no_grad():
        found = counted(partial(model, src, padding_mask(src, 0), tgt)).flops
    formula = forward_flops(config, 13, 3, 7, 5)
    assert training_flops(config, 13, 3, 7, 5) == 3 * formula
    assert found == formula
