"""One step of the recurrent network against the equations in plain Python, number by number."""

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from dragoman.config import RnnConfig
from dragoman.model.others.recurrence import Recurrence
from dragoman.model.others.recurrent import Recurrent
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.scores import AdditiveAttention, DotAttention

Vector = list[float]
Matrix = list[Vector]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def times(matrix: Matrix, x: Vector) -> Vector:
    return [sum(a * b for a, b in zip(row, x, strict=True)) for row in matrix]


def plus(*vectors: Vector) -> Vector:
    return [sum(parts) for parts in zip(*vectors, strict=True)]


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def softmax(scores: Vector) -> Vector:
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def lstm(layer: Recurrence, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
    """Gates in the order i, f, g, o."""
    gates = plus(times(layer.w_x.tolist(), x), times(layer.w_h.tolist(), h), layer.bias.tolist())
    i, f, g, o = (gates[start : start + len(h)] for start in range(0, 4 * len(h), len(h)))
    c = [sigmoid(f[n]) * c[n] + sigmoid(i[n]) * math.tanh(g[n]) for n in range(len(h))]
    return [sigmoid(o[n]) * math.tanh(c[n]) for n in range(len(h))], c


def gru(layer: Recurrence, x: Vector, h: Vector) -> Vector:
    """Bahdanau et al. 2015, A.1.1: the reset gate is inside of U (r ⊙ h); z keeps what is new."""
    n = len(h)
    w, u, b = layer.w_x.tolist(), layer.w_h.tolist(), layer.bias.tolist()
    z = [sigmoid(value) for value in plus(times(w[:n], x), times(u[:n], h), b[:n])]
    r = [sigmoid(value) for value in plus(times(w[n : 2 * n], x), times(u[n : 2 * n], h), b[n : 2 * n])]
    reset = [r[k] * h[k] for k in range(n)]
    new = [math.tanh(value) for value in plus(times(w[2 * n :], x), times(u[2 * n :], reset), b[2 * n :])]
    return [(1 - z[k]) * h[k] + z[k] * new[k] for k in range(n)]


def shaken(module: torch.nn.Module) -> None:
    """No weight is 0 or 1, so that none is left out unnoticed."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_three_steps_of_a_layer(cell: str) -> None:
    torch.manual_seed(1)
    layer = Recurrence(3, 2, cell).double()  # type: ignore[arg-type]
    shaken(layer)
    x = torch.randn(1, 3, 3, dtype=torch.float64)
    found, _ = layer(x, layer.empty(1))
    h, c = [0.0, 0.0], [0.0, 0.0]
    carry = layer.empty(1)
    for place, given in enumerate(x[0].tolist()):
        h, c = lstm(layer, given, h, c) if cell == "lstm" else (gru(layer, given, h), c)
        carry = layer.step(layer.gates(x[:, place]), None, carry)
        assert found[0, place].tolist() == pytest.approx(h, abs=1e-12)
        assert carry[0][0].tolist() == pytest.approx(h, abs=1e-12)


def test_an_input_in_two_parts_is_the_input() -> None:
    torch.manual_seed(2)
    layer = Recurrence(5, 2, "lstm").double()
    x = torch.randn(4, 5, dtype=torch.float64)
    whole = layer.step(layer.gates(x), None, layer.empty(4))
    parts = layer.step(layer.gates(x[:, :3]), x[:, 3:], layer.empty(4))
    torch.testing.assert_close(whole, parts)


def test_the_forget_gate_starts_open_and_the_other_biases_at_zero() -> None:
    layer = Recurrence(4, 3, "lstm")
    assert layer.bias.tolist() == [0.0] * 3 + [1.0] * 3 + [0.0] * 6
    for gate in layer.w_h.chunk(4):
        torch.testing.assert_close(gate @ gate.T, torch.eye(3))


def test_the_scores_of_two_keys() -> None:
    q, keys = [0.5, -1.0], [[1.0, 2.0], [-0.5, 0.25]]
    as_tensors = torch.tensor([[[q]]], dtype=torch.float64), torch.tensor([[keys]], dtype=torch.float64)
    assert DotAttention().scores(*as_tensors).flatten().tolist() == pytest.approx([dot(q, key) for key in keys])
    scaled = DotAttention(1 / math.sqrt(2)).scores(*as_tensors).flatten().tolist()
    assert scaled == pytest.approx([dot(q, key) / math.sqrt(2) for key in keys])
    additive = AdditiveAttention(2).double()
    v = additive.v.tolist()
    expected = [dot(v, [math.tanh(value) for value in plus(q, key)]) for key in keys]
    assert additive.scores(*as_tensors).flatten().tolist() == pytest.approx(expected)
    values = torch.tensor([[keys]], dtype=torch.float64)
    a = softmax(expected)
    mean = [a[0] * keys[0][n] + a[1] * keys[1][n] for n in range(2)]
    assert additive(*as_tensors, values, None).flatten().tolist() == pytest.approx(mean)


def network(**keys: object) -> Recurrent:
    torch.manual_seed(3)
    shape = {"layers": 1, "d_model": 4, "dropout": 0.0, **keys}
    model = Recurrent(RnnConfig.model_validate(shape), 9, 9).double().eval()
    shaken(model)
    return model


SOURCE, TARGET = torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7]])


def embedded(model: Recurrent, ids: Tensor) -> Matrix:
    return model.target_embedding(ids)[0].tolist()  # one matrix for both sides


def annotations(model: Recurrent, cell: str) -> tuple[Matrix, Vector]:
    """h_j = [h_j forward; h_j backward], and the backward state at the first position."""
    layer, words = model.encoder.layers[0], embedded(model, SOURCE)

    def read(direction: Recurrence, of: Matrix) -> Matrix:
        h, c, states = [0.0] * direction.hidden, [0.0] * direction.hidden, []
        for x in of:
            h, c = lstm(direction, x, h, c) if cell == "lstm" else (gru(direction, x, h), c)
            states.append(h)
        return states

    forwards, backwards = read(layer.forwards, words), read(layer.backwards, words[::-1])[::-1]
    return [a + b for a, b in zip(forwards, backwards, strict=True)], backwards[0]


def test_two_steps_of_bahdanau() -> None:
    model = network(cell="gru", attention="additive", hidden=3, encoder_hidden=6, attention_width=2)
    decoder, attention = model.decoder, model.decoder.cross_attention
    h, last = annotations(model, "gru")
    s = [math.tanh(v) for v in plus(times(decoder.bridges[0].weight.tolist(), last), decoder.bridges[0].bias.tolist())]
    found, _ = model.decode_features(TARGET, model.encode(SOURCE, padding_mask(SOURCE, 0)))
    for place, e in enumerate(embedded(model, TARGET)):
        q = times(attention.w_q.weight.tolist(), s)
        scores = [
            dot(attention.attend.v.tolist(), [math.tanh(v) for v in plus(q, times(attention.w_k.weight.tolist(), key))])
            for key in h
        ]
        a = softmax(scores)
        c = [sum(a[j] * h[j][n] for j in range(3)) for n in range(6)]
        s = gru(decoder.layers[0], e + c, s)
        t = plus(times(decoder.w_o.weight.tolist(), s + e + c), decoder.w_o.bias.tolist())
        maxout = [max(pair) for pair in list(pairwise(t))[::2]]
        assert found[0, place].tolist() == pytest.approx(maxout, abs=1e-12)


@pytest.mark.parametrize("feeding", [True, False])
def test_two_steps_of_luong(feeding: bool) -> None:
    model = network(attention="general", hidden=4, input_feeding=feeding)
    decoder, attention = model.decoder, model.decoder.cross_attention
    h, last = annotations(model, "lstm")
    s = [math.tanh(v) for v in plus(times(decoder.bridges[0].weight.tolist(), last), decoder.bridges[0].bias.tolist())]
    cell, fed = [0.0] * 4, [0.0] * 4
    found, _ = model.decode_features(TARGET, model.encode(SOURCE, padding_mask(SOURCE, 0)))
    for place, e in enumerate(embedded(model, TARGET)):
        s, cell = lstm(decoder.layers[0], e + fed if feeding else e, s, cell)
        q = times(attention.w_q.weight.tolist(), s)
        a = softmax([dot(q, key) for key in h])
        c = [sum(a[j] * h[j][n] for j in range(3)) for n in range(4)]
        fed = [math.tanh(v) for v in times(decoder.w_c.weight.tolist(), c + s)]
        assert found[0, place].tolist() == pytest.approx(fed, abs=1e-12)


def test_without_attention_the_decoder_starts_with_the_state_of_the_reversed_source() -> None:
    model = network(attention="none", directions="backward")
    h, c = [0.0] * 4, [0.0] * 4
    for x in embedded(model, SOURCE)[::-1]:
        h, c = lstm(model.encoder.layers[0].backwards, x, h, c)
    found, _ = model.decode_features(TARGET, model.encode(SOURCE, padding_mask(SOURCE, 0)))
    for place, e in enumerate(embedded(model, TARGET)):
        h, c = lstm(model.decoder.layers[0], e, h, c)
        assert found[0, place].tolist() == pytest.approx(h, abs=1e-12)


def test_residual_connections_begin_with_the_third_layer() -> None:
    model = network(attention="none", directions="forward", layers=4, start="bridge")
    assert [layer.residual for layer in model.encoder.layers] == [False, False, True, True]
    x = torch.randn(1, 4, dtype=torch.float64)
    assert [bool((model.decoder._over(n, x, 2 * x) == 3 * x).all()) for n in range(4)] == [False, False, True, True]
