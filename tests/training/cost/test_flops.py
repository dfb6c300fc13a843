"""Counted operations against PyTorch's own counter, and against a page of arithmetic by hand.

PyTorch's counter knows every product but those inside the CPU's fused attention kernel, so attention is taken apart
here. It counts products only, as we do: the numbers are equal, and no tolerance is needed.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from dragoman.config import ModelConfig, TrainConfig
from dragoman.data.batches.batch import Example, collate
from dragoman.model.parts.attention import ScaledDotProduct, attention_weights, padding_mask
from dragoman.model.transformer import Transformer
from dragoman.training.cost.flops import forward_flops, peak_flops, training_flops
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator

VOCAB = 50
SHAPES: list[dict[str, Any]] = [
    {"layers": 2, "d_model": 16, "d_ff": 40, "heads": 4},
    {"encoder_layers": 3, "decoder_layers": 1, "d_model": 24, "d_ff": 16, "heads": 2, "norm_order": "post"},
    {"layers": 1, "d_model": 8, "d_ff": 8, "heads": 3, "d_k": 5, "d_v": 7, "tie": "none"},
    {"layers": 1, "d_model": 16, "d_ff": 8, "heads": 2, "feed_forward": "swiglu", "norm": "rms", "bias": False},
]


class PlainAttention(nn.Module):
    """Eq. (1) as two products that can be counted."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        return attention_weights(q, k, mask) @ v


def countable(shape: ModelConfig) -> Transformer:
    model = Transformer(shape, VOCAB, VOCAB)
    for module in model.modules():
        for name, child in module.named_children():
            if isinstance(child, ScaledDotProduct):
                setattr(module, name, PlainAttention())
    return model


def counted(run: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


@pytest.mark.parametrize("keys", SHAPES)
def test_forward_and_backward_are_what_pytorch_counts(keys: dict[str, Any]) -> None:
    shape = ModelConfig.model_validate(keys)
    model = countable(shape)
    src, tgt = torch.randint(4, VOCAB, (3, 11)), torch.randint(4, VOCAB, (3, 7))
    logits = model(src, padding_mask(src, 0), tgt)

    assert counted(lambda: model(src, padding_mask(src, 0), tgt)) == forward_flops(shape, VOCAB, 3, 11, 7)
    forward, both = forward_flops(shape, VOCAB, 3, 11, 7), training_flops(shape, VOCAB, 3, 11, 7)
    assert counted(lambda: logits.sum().backward()) == both - forward


@pytest.mark.parametrize("keys", SHAPES)
def test_an_update_of_the_trainer_is_what_pytorch_counts(keys: dict[str, Any]) -> None:
    shape = ModelConfig.model_validate(keys)
    gradient = GradientAccumulator(
        countable(shape), TrainConfig(precision="float32"), ProcessGroup(), torch.device("cpu")
    )
    batch = collate([Example([5] * 8, [6] * 12, "")] * 4)  # 9 and 13 positions with their marks

    assert counted(lambda: gradient.backward([batch], batch.target_tokens)) == training_flops(shape, VOCAB, 4, 9, 13)


def test_a_token_costs_what_it_costs_by_hand() -> None:
    shape = ModelConfig.model_validate({"layers": 1, "d_model": 2, "d_ff": 4, "heads": 1})
    # S = 3, T = 2, V = 5; in multiply-adds:
    encoder = (12 + 24 + 36 + 12) + (24 + 24)  # queries, keys and values, 3 × 3 scores and sums, W^O; W_1, W_2
    decoder = (8 + 16 + 16 + 8) + (8 + 24 + 24 + 8) + (16 + 16)
    logits = 20
    by_hand = 3 * 2 * (encoder + decoder + logits)

    assert by_hand == 1776
    assert training_flops(shape, vocab=5, sentences=1, source=3, target=2) == by_hand
    # 888 a target token, however many sentences there are.
    assert training_flops(shape, vocab=5, sentences=70, source=3, target=2) / (70 * 2) == 888


@pytest.mark.slow
def test_short_sentences_cost_six_operations_a_weight() -> None:
    shape = ModelConfig.model_validate({"preset": "paper-base"})
    model = Transformer(shape, 1000, 1000)
    weights = sum(parameter.numel() for parameter in model.parameters() if parameter.dim() == 2)
    # Source and target of one length: every weight multiplies every token once. The rest are scores and sums.
    per_token = training_flops(shape, 1000, 1, 10, 10) / 10

    assert 6 * weights < per_token < 1.01 * 6 * weights


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA H200", 989e12),
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA L4", 121e12),
        ("NVIDIA L40", None),
        ("NVIDIA GeForce RTX 4090", 165e12),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("Tesla V100-SXM2-16GB", 125e12),
        ("Tesla T4", 65e12),
        ("NVIDIA T400", None),
        ("AMD EPYC", None),
    ],
)
def test_a_device_is_known_by_its_name(name: str, peak: float | None) -> None:
    assert peak_flops(name) == peak
