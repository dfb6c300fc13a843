"""Departures from the paper, each against its own equation in plain Python: RMSNorm, RoPE, SwiGLU, SiLU, positions."""

import math
from collections.abc import Callable

import pytest
import torch
from torch.testing import assert_close

from dragoman.config import ModelConfig
from dragoman.config.sections.model import MODEL_PRESETS
from dragoman.model.layers import FeedForward, GatedFeedForward
from dragoman.model.parts.attention import MultiHeadAttention, attention_weights, rotate
from dragoman.model.parts.embedding import Embedding, positional_encoding
from dragoman.model.parts.norm import RMSNorm
from dragoman.model.transformer import Transformer


def test_rms_norm_divides_by_the_root_of_the_mean_square() -> None:
    """Zhang and Sennrich 2019, Eq. (4)."""
    norm = RMSNorm(3)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1.0, 2.0, -1.0]))
    x = [3.0, -4.0, 5.0]
    root = math.sqrt((9 + 16 + 25) / 3 + 1e-6)
    assert norm(torch.tensor([x]))[0].tolist() == pytest.approx([3 / root, -8 / root, -5 / root])


def test_the_gradient_of_rms_norm_is_that_of_its_equation() -> None:
    norm = RMSNorm(5).double()
    x = torch.randn(4, 3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, w: norm(x) * w, (x, norm.weight))


def test_rotary_positions_turn_pairs_by_their_angle() -> None:
    """Su et al. 2021, Eq. (15), pairing element i with i + d_k / 2."""
    x = [0.3, -1.2, 0.7, 2.0]
    found = rotate(torch.tensor([[[x, x, x]]]), start=5)[0, 0]
    for offset, row in enumerate(found.tolist()):
        for i in range(2):
            angle = (5 + offset) / 10000 ** (2 * i / 4)
            a, b = x[i], x[i + 2]
            assert row[i] == pytest.approx(a * math.cos(angle) - b * math.sin(angle), abs=1e-6)
            assert row[i + 2] == pytest.approx(b * math.cos(angle) + a * math.sin(angle), abs=1e-6)


def test_rotated_scores_depend_on_distance_alone() -> None:
    q, k = torch.randn(1, 2, 4, 8), torch.randn(1, 2, 4, 8)
    everything = torch.ones(1, 1, 4, 4, dtype=torch.bool)
    here = attention_weights(rotate(q, 0), rotate(k, 0), everything)
    there = attention_weights(rotate(q, 100), rotate(k, 100), everything)
    assert_close(here, there, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(here, attention_weights(q, k, everything))


def test_the_gated_network_is_swiglu() -> None:
    """Shazeer 2020, Eq. (6): (Swish(x W) ⊙ x V) W_2."""
    layer = GatedFeedForward(2, 3, bias=False)
    x = [0.5, -2.0]

    def times(weight: torch.Tensor, v: list[float]) -> list[float]:
        return [sum(w * value for w, value in zip(row, v, strict=True)) for row in weight.tolist()]

    gate, up = times(layer.w_1.weight, x), times(layer.w_3.weight, x)
    inner = [z / (1 + math.exp(-z)) * u for z, u in zip(gate, up, strict=True)]
    assert layer(torch.tensor([[x]]))[0, 0].tolist() == pytest.approx(times(layer.w_2.weight, inner), abs=1e-6)


@pytest.mark.parametrize("preset", ["tiny", "small", "base", "big"])
def test_the_presets_of_today_keep_positions_out_of_the_cross_attention(preset: str) -> None:
    """As CTranslate2 needs it: RoPE in self-attention only; no biases; half as many decoder layers or fewer."""
    shape = MODEL_PRESETS[preset] | {"d_model": 16, "d_ff": 8, "heads": 2}
    model = Transformer(ModelConfig.model_validate(shape), 20, 20)
    attentions = {name: part for name, part in model.named_modules() if isinstance(part, MultiHeadAttention)}
    assert {name for name, part in attentions.items() if part.rotary} == {
        name for name in attentions if name.endswith("self_attention")
    }
    assert not [name for name, _ in model.named_parameters() if name.endswith("bias")]
    assert 2 * len(model.decoder) <= len(model.encoder)


def test_the_plain_network_with_silu_is_its_equation() -> None:
    """Elfwing et al. 2018, Eq. (7): z σ(z) in the place of max(0, z) of Eq. (2)."""
    layer = FeedForward(2, 3, silu=True)
    x = [0.5, -2.0]

    def through(linear: torch.nn.Linear, v: list[float]) -> list[float]:
        rows = zip(linear.weight.tolist(), linear.bias.tolist(), strict=True)
        return [sum(w * value for w, value in zip(row, v, strict=True)) + b for row, b in rows]

    inner = [z / (1 + math.exp(-z)) for z in through(layer.w_1, x)]
    assert layer(torch.tensor([[x]]))[0, 0].tolist() == pytest.approx(through(layer.w_2, inner), abs=1e-6)


@pytest.mark.parametrize("d", [8, 512, 1024])
def test_the_frequencies_of_tensor2tensor_are_those_of_another_base(d: int) -> None:
    """Marian and M2M-100: pos · 10000^(−i / (d/2 − 1)) is the paper's pos / base^(2i/d)."""
    base = 10000 ** ((d / 2) / (d / 2 - 1))
    found = positional_encoding(7, 1, d, base)[0]
    for i in (0, 1, d // 4, d // 2 - 1):
        angle = 7 * 10000 ** (-i / (d / 2 - 1))
        assert found[2 * i : 2 * i + 2].tolist() == pytest.approx([math.sin(angle), math.cos(angle)], abs=1e-6)


def test_positions_may_be_counted_from_another_number() -> None:
    ids = torch.tensor([[4, 7, 4, 5, 5]])
    torch.manual_seed(0)
    counted = Embedding(9, 8, dropout=0.0, base=50.0, first=2)
    x = counted.weight[ids] * counted.scale
    assert torch.equal(counted(ids), x + positional_encoding(2, 5, 8, 50.0))
    assert torch.equal(counted(ids[:, 3:], start=3), (x + positional_encoding(2, 5, 8, 50.0))[:, 3:])


def test_a_bias_on_the_logits_is_added_to_each_pieces_score(build: Callable[..., Transformer]) -> None:
    model, source, target = build(output_bias=True), torch.tensor([[5, 6, 3]]), torch.tensor([[2, 8]])
    seen = torch.ones(1, 1, 1, 3, dtype=torch.bool)
    logits = model(source, seen, target)
    bias = model.projection_bias.detach().clone()
    with torch.no_grad():
        model.projection_bias.zero_()
    assert_close(logits, model(source, seen, target) + bias)
    assert build().projection_bias is None
    assert model.parameter_count == build().parameter_count + 13
