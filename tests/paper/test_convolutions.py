"""ConvS2S and ByteNet against their equations in plain Python, number by number; what they see, bit for bit."""

import math

import pytest
import torch
from torch import Tensor, nn

from dragoman.config import ByteNetConfig, ConvS2SConfig
from dragoman.model.others.bytenet import ByteNet
from dragoman.model.others.convolution import NormedLinear
from dragoman.model.others.convs2s import ConvS2S
from dragoman.model.parts.attention import padding_mask

Vector = list[float]
Matrix = list[Vector]
ROOT_HALF = math.sqrt(0.5)
SOURCE, TARGET = torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7]])


def times(matrix: Matrix, x: Vector) -> Vector:
    return [sum(a * b for a, b in zip(row, x, strict=True)) for row in matrix]


def plus(*vectors: Vector) -> Vector:
    return [sum(parts) for parts in zip(*vectors, strict=True)]


def scaled(x: Vector, factor: float) -> Vector:
    return [factor * value for value in x]


def shaken(module: nn.Module) -> None:
    """No weight is 0 or 1, so that none is left out unnoticed."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))


def normed(layer: NormedLinear, x: Vector) -> Vector:
    """W = g V / ‖V‖, row by row."""
    rows = [
        scaled(v, g / math.sqrt(sum(value * value for value in v)))
        for v, g in zip(layer.v.tolist(), layer.g.tolist(), strict=True)
    ]
    return plus(times(rows, x), layer.bias.tolist())


def glu(x: Vector) -> Vector:
    half = len(x) // 2
    return [a / (1 + math.exp(-b)) for a, b in zip(x[:half], x[half:], strict=True)]


@pytest.fixture
def convs2s() -> ConvS2S:
    torch.manual_seed(3)
    keys = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 4, "hidden": 3, "max_positions": 5, "dropout": 0.0}
    model = ConvS2S(ConvS2SConfig.model_validate(keys), 9, 9).double().eval()
    shaken(model)
    return model


def embedded(model: ConvS2S, ids: Tensor, side: str) -> Matrix:
    table = model.source_embedding if side == "source" else model.target_embedding
    return [
        plus(table.weight[token].tolist(), table.positions[place].tolist())
        for place, token in enumerate(ids[0].tolist())
    ]


def test_two_positions_of_convs2s(convs2s: ConvS2S) -> None:
    model, zero = convs2s, [0.0] * 3
    e = embedded(model, SOURCE, "source")
    x = [normed(model.encoder.w_in, one) for one in e]
    for layer in model.encoder.layers:
        around = [zero, *x, zero]
        v = [glu(normed(layer.w, around[i] + around[i + 1] + around[i + 2])) for i in range(3)]
        x = [scaled(plus(a, b), ROOT_HALF) for a, b in zip(v, x, strict=True)]
    z = [normed(model.encoder.w_out, one) for one in x]
    values = [scaled(plus(a, b), ROOT_HALF) for a, b in zip(z, e, strict=True)]
    g = embedded(model, TARGET, "target")
    h = [normed(model.decoder_in, one) for one in g]
    for layer in model.decoder:
        before = [zero, zero, *h]
        following = []
        for i in range(2):
            y = glu(normed(layer.convolution.w, before[i] + before[i + 1] + before[i + 2]))
            attention = layer.cross_attention
            d = scaled(plus(normed(attention.w_d, y), g[i]), ROOT_HALF)
            powers = [math.exp(sum(p * q for p, q in zip(d, key, strict=True))) for key in z]
            a = scaled(powers, 1 / sum(powers))
            c = [math.sqrt(3) * sum(a[j] * values[j][n] for j in range(3)) for n in range(4)]
            y = scaled(plus(normed(attention.w_c, c), y), ROOT_HALF)
            following.append(scaled(plus(y, h[i]), ROOT_HALF))
        h = following
    found, _ = model.decode_features(TARGET, model.encode(SOURCE, padding_mask(SOURCE, 0)))
    for i in range(2):
        assert found[0, i].tolist() == pytest.approx(normed(model.decoder_out, h[i]), abs=1e-12)


def test_the_gradient_of_z_is_divided_by_two_for_each_attention(
    convs2s: ConvS2S, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two attentions those of the encoder's matrices, which only z has, are a quarter."""

    def gradients() -> dict[str, Tensor]:
        convs2s.zero_grad()
        convs2s(SOURCE, padding_mask(SOURCE, 0), TARGET).square().sum().backward()
        return {name: one.grad.clone() for name, one in convs2s.named_parameters() if one.grad is not None}

    with_scale = gradients()
    monkeypatch.setattr("dragoman.model.others.convs2s.ScaledGradient.apply", lambda x, factor: x)
    without = gradients()
    for name, gradient in with_scale.items():
        if name.startswith("encoder."):
            torch.testing.assert_close(gradient, without[name] / 4)
        if name.startswith("decoder."):
            torch.testing.assert_close(gradient, without[name])


def test_a_layer_before_a_gate_starts_twice_as_wide_and_no_layer_changes_lengths() -> None:
    torch.manual_seed(1)
    plain, gated = NormedLinear(400, 500), NormedLinear(400, 500, keep_rate=0.75, gain=4.0)
    assert plain.v.std().item() == pytest.approx(1 / 20, rel=0.02)
    assert gated.v.std().item() == pytest.approx(math.sqrt(3) / 20, rel=0.02)
    torch.testing.assert_close(plain.fold(), plain.v.detach())


def test_a_decoder_sees_two_positions_back_for_each_convolution_and_attention_none(convs2s: ConvS2S) -> None:
    """Two layers of three positions: position 5 depends on the tokens 1 … 5."""
    mask = padding_mask(SOURCE, 0)
    one = torch.tensor([[2, 4, 5, 6, 7, 8]])
    before = convs2s(SOURCE, mask, one)
    for place in range(6):
        other = one.clone()
        other[0, place] = 3
        moved = (convs2s(SOURCE, mask, other) != before).any(-1)[0].tolist()
        assert moved == [place <= i <= place + 4 for i in range(6)]


@pytest.fixture
def bytenet() -> ByteNet:
    torch.manual_seed(4)
    keys = {"layers": 2, "d_model": 4, "max_dilation": 2, "stretch": 1.2, "extra": 1, "dropout": 0.0}
    model = ByteNet(ByteNetConfig.model_validate(keys), 9, 9).double().eval()
    shaken(model)
    return model


def linear(layer: nn.Linear, x: Vector) -> Vector:
    return plus(times(layer.weight.tolist(), x), layer.bias.tolist())


def normalised(norm: nn.LayerNorm, x: Vector) -> Vector:
    mean = sum(x) / len(x)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in x) / len(x) + norm.eps)
    return [
        weight * (value - mean) / deviation + bias
        for value, weight, bias in zip(x, norm.weight.tolist(), norm.bias.tolist(), strict=True)
    ]


def relu(x: Vector) -> Vector:
    return [max(0.0, value) for value in x]


def block(layer: nn.Module, x: Matrix, offsets: list[int]) -> Matrix:
    inner = [
        relu(normalised(layer.second_norm, linear(layer.w_1, relu(normalised(layer.first_norm, one))))) for one in x
    ]
    outputs = []
    for i, one in enumerate(x):
        joined = [value for o in offsets for value in (inner[i + o] if 0 <= i + o < len(x) else [0.0, 0.0])]
        outputs.append(plus(one, linear(layer.w_3, relu(normalised(layer.third_norm, linear(layer.w_2, joined))))))
    return outputs


def test_two_positions_of_bytenet(bytenet: ByteNet) -> None:
    """Three tokens are extended to ⌈1.2 · 3⌉ + 1 = 5 positions."""
    model = bytenet
    x = [*model.source_embedding(SOURCE)[0].tolist(), *[model.extension.tolist()] * 2]
    for layer, r in zip(model.encoder, (1, 2), strict=True):
        x = block(layer, x, [-r, 0, r])
    y = [plus(e, s) for e, s in zip(model.target_embedding(TARGET)[0].tolist(), x, strict=False)]
    for layer, r in zip(model.decoder, (1, 2), strict=True):
        y = block(layer, y, [-2 * r, -r, 0])
    state = model.encode(SOURCE, padding_mask(SOURCE, 0))
    assert state.source.shape == (1, 5, 4)
    found, _ = model.decode_features(TARGET, state)
    for i in range(2):
        assert found[0, i].tolist() == pytest.approx(relu(linear(model.decoder_out, y[i])), abs=1e-12)


def test_the_extension_is_of_each_sentence_and_exact(bytenet: ByteNet) -> None:
    for n in (1, 5, 10, 25, 1000):
        assert bytenet._stretched(n) == math.ceil(12 * n / 10) + 1
        assert bytenet._stretched(torch.tensor([n])).tolist() == [math.ceil(12 * n / 10) + 1]


def test_dilations_double_and_start_again() -> None:
    keys = {"layers": 7, "d_model": 4, "max_dilation": 16}
    model = ByteNet(ByteNetConfig.model_validate(keys), 9, 9)
    assert [layer.dilation for layer in model.decoder] == [1, 2, 4, 8, 16, 1, 2]
