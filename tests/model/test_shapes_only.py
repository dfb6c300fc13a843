"""A network without values has the shapes of one with values, and costs neither memory nor random numbers."""

import subprocess
import sys

import pytest
import torch

from architectures import TRANSFORMERS, tiny
from dragoman.config import ByteNetConfig, ConvS2SConfig, ModelConfig, RnnConfig
from dragoman.model.build import build_network
from dragoman.model.parts.device import without_values

CONFIGS = [*(tiny(**keys) for keys in TRANSFORMERS.values()), RnnConfig(), ConvS2SConfig(), ByteNetConfig()]


@pytest.mark.parametrize("config", CONFIGS, ids=[*TRANSFORMERS, "rnn", "convs2s", "bytenet"])
def test_shapes_are_those_of_a_network_with_values(config: ModelConfig) -> None:
    random = torch.get_rng_state()
    with without_values():
        empty = build_network(config, 13, 13)
    assert torch.equal(random, torch.get_rng_state())
    full = build_network(config, 13, 13)
    assert {tensor.device.type for tensor in empty.state_dict().values()} == {"meta"}
    shapes, others = (
        [(name, tensor.shape, tensor.dtype) for name, tensor in network.named_parameters()] for network in (empty, full)
    )
    assert shapes == others


def test_what_has_memory_is_filled() -> None:
    with without_values():
        filled = torch.nn.init.ones_(torch.empty(3, device="cpu"))
        assert filled.fill_(2.0).tolist() == [2.0] * 3


@pytest.mark.slow
def test_torchs_compiler_is_not_loaded() -> None:
    code = """
import sys
from dragoman.config import ModelConfig
from dragoman.model.build import build_network
from dragoman.model.parts.device import without_values
with without_values():
    build_network(ModelConfig(), 13, 13)
sys.exit("torch._dynamo" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
