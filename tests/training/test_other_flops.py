"""The operations of other architectures by formula = those counted while the network runs."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from architectures import OTHERS, tiny
from dragoman.model.attention import padding_mask
from dragoman.model.build import build_network
from dragoman.training.flops import forward_flops

# One fused operation of an LSTM is none of those that the counter knows; a GRU is written in products here.
COUNTED = {name: keys for name, keys in OTHERS.items() if keys.get("cell") == "gru"}


@pytest.mark.parametrize("shape", COUNTED.values(), ids=COUNTED)
def test_the_formula_is_what_a_counter_counts(shape: dict[str, object]) -> None:
    config = tiny(**shape)
    model = build_network(config, 13, 13).eval()
    src, tgt = torch.randint(4, 13, (3, 7)), torch.randint(4, 13, (3, 5))
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(src, padding_mask(src, 0), tgt)
    bridges = 2 * sum(bridge.weight.numel() for bridge in model.decoder.bridges or ())
    scores = 2 * 7 * 5 * config.attention_width if config.attention in ("additive", "concat") else 0
    known = counter.get_total_flops() - 3 * bridges  # a few numbers of a sentence, not of a position
    assert known in (forward_flops(config, 13, 3, 7, 5), forward_flops(config, 13, 3, 7, 5) - 3 * scores)
