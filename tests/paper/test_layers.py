"""Sections 3.1, 3.3, 5.4: sub-layers, residual connections, LayerNorm, dropout; Figure 1 in plain Python."""

import plain
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from dragoman.config import ModelConfig
from dragoman.model.layers import AddNorm, DecoderLayer, EncoderLayer, FeedForward
from dragoman.model.parts.attention import MultiHeadAttention, look_ahead_mask, padding_mask
from dragoman.model.parts.dropout import Dropout
from dragoman.model.transformer import Transformer

Matrix = list[list[float]]


def config(norm_order: str, **keys: object) -> ModelConfig:
    shape = {"layers": 1, "d_model": 6, "d_ff": 5, "heads": 2, "dropout": 0.0, "norm_order": norm_order}
    return ModelConfig.model_validate({**shape, **keys})


def randomised(module: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return module.eval()


def linear(layer: nn.Linear, x: Matrix) -> Matrix:
    return plain.linear(x, layer.weight.tolist(), layer.bias.tolist())


def feed_forward(layer: FeedForward, x: Matrix) -> Matrix:
    """Eq. (2)."""
    return linear(layer.w_2, [[max(0.0, value) for value in row] for row in linear(layer.w_1, x)])


def heads(layer: MultiHeadAttention, x: Matrix, memory: Matrix, seen: list[list[bool]]) -> Matrix:
    q, k, v = linear(layer.w_q, x), linear(layer.w_k, memory), linear(layer.w_v, memory)
    width, joined = len(q[0]) // layer.heads, [[] for _ in x]
    for head in range(layer.heads):
        part = slice(head * width, (head + 1) * width)
        out = plain.attention([r[part] for r in q], [r[part] for r in k], [r[part] for r in v], seen)
        joined = [row + more for row, more in zip(joined, out, strict=True)]
    return linear(layer.w_o, joined)


def norm(layer: nn.LayerNorm, x: Matrix) -> Matrix:
    return [plain.layer_norm(row, layer.weight.tolist(), layer.bias.tolist(), layer.eps) for row in x]


def around(add_norm: AddNorm, x: Matrix, sublayer) -> Matrix:  # type: ignore[no-untyped-def]
    """Post-LN: LayerNorm(x + Sublayer(x)); Pre-LN: x + Sublayer(LayerNorm(x))."""
    if add_norm.post:
        return norm(add_norm.norm, plain.add(x, sublayer(x)))
    return plain.add(x, sublayer(norm(add_norm.norm, x)))


def test_the_feed_forward_network_is_equation_2_in_loops() -> None:
    layer = randomised(FeedForward(4, 7))
    x = torch.randn(1, 3, 4)
    assert isinstance(layer, FeedForward)
    assert_close(layer(x)[0], torch.tensor(feed_forward(layer, x[0].tolist())))


def test_layer_norm_leaves_mean_0_and_variance_1_before_gain_and_bias() -> None:
    add_norm = AddNorm(config("post", d_model=64, heads=2))
    x = 5 + 3 * torch.randn(2, 3, 64)
    out = add_norm.after(x, torch.zeros_like(x))
    assert_close(out.mean(-1), torch.zeros(2, 3), atol=1e-5, rtol=0)
    assert_close(out.var(-1, unbiased=False), torch.ones(2, 3), atol=1e-4, rtol=0)


@pytest.mark.parametrize("order", ["post", "pre"])
def test_an_encoder_layer_is_figure_1_left(order: str) -> None:
    layer = randomised(EncoderLayer(config(order)))
    assert isinstance(layer, EncoderLayer)
    x, mask = torch.randn(1, 4, 6), torch.tensor([[[[True, True, True, False]]]])
    seen = [[True, True, True, False]] * 4
    expected = around(layer.self_attention_norm, x[0].tolist(), lambda y: heads(layer.self_attention, y, y, seen))
    expected = around(layer.feed_forward_norm, expected, lambda y: feed_forward(layer.feed_forward, y))
    assert_close(layer(x, mask)[0], torch.tensor(expected), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("order", ["post", "pre"])
def test_a_decoder_layer_is_figure_1_right(order: str) -> None:
    layer = randomised(DecoderLayer(config(order)))
    assert isinstance(layer, DecoderLayer)
    x, memory = torch.randn(1, 3, 6), torch.randn(1, 4, 6)
    memory_mask = torch.tensor([[[[True, True, False, True]]]])
    causal, seen = [[j <= i for j in range(3)] for i in range(3)], [[True, True, False, True]] * 3
    source = memory[0].tolist()
    expected = around(layer.self_attention_norm, x[0].tolist(), lambda y: heads(layer.self_attention, y, y, causal))
    expected = around(layer.cross_attention_norm, expected, lambda y: heads(layer.cross_attention, y, source, seen))
    expected = around(layer.feed_forward_norm, expected, lambda y: feed_forward(layer.feed_forward, y))
    found, _ = layer(x, None, layer.cross_attention.keys_values(memory), look_ahead_mask(3, 3), memory_mask)
    assert_close(found[0], torch.tensor(expected), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("order", ["post", "pre"])
def test_the_stacks_end_as_each_order_of_normalisation_asks(order: str) -> None:
    """Pre-LN needs one more norm after the last layer; Post-LN has just normalised."""
    transformer = Transformer(config(order), 9, 9)
    assert isinstance(transformer.encoder_norm, nn.LayerNorm) == (order == "pre")
    assert isinstance(transformer.decoder_norm, nn.LayerNorm) == (order == "pre")


def test_dropout_is_on_embeddings_and_on_every_sub_layers_output_and_nowhere_else() -> None:
    """Section 5.4: 2 embeddings, 2 sub-layers an encoder layer, 3 a decoder layer."""
    transformer = Transformer(config("post", layers=3, dropout=0.25), 9, 9)
    places = [name for name, module in transformer.named_modules() if isinstance(module, Dropout)]
    assert len(places) == 2 + 3 * 2 + 3 * 3
    assert all("_norm.add" in name or "embedding" in name for name in places)
    assert {module.rate for module in transformer.modules() if isinstance(module, Dropout)} == {0.25}


def test_dropout_keeps_the_mean_and_drops_at_its_rate() -> None:
    torch.manual_seed(0)
    layer, x = Dropout(0.3).train(), torch.ones(999, 1001)
    dropped = layer(x)
    assert dropped.mean().item() == pytest.approx(1, abs=0.005)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.3, abs=0.003)
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.7])
    again = layer(x)
    assert ((dropped == 0) & (again == 0)).float().mean().item() == pytest.approx(0.09, abs=0.003)


def test_dropout_does_nothing_outside_training() -> None:
    x = torch.randn(3, 5)
    assert Dropout(0.9).eval()(x) is x


def test_the_gradient_of_dropout_passes_where_the_value_passed() -> None:
    x = torch.randn(50, requires_grad=True)
    out = Dropout(0.5).train()(x)
    out.sum().backward()
    assert isinstance(x.grad, Tensor)
    assert ((x.grad == 0) == (out == 0)).all()


def test_a_whole_batch_of_padding_at_the_end_changes_nothing() -> None:
    transformer = randomised(Transformer(config("pre"), 9, 9))
    assert isinstance(transformer, Transformer)
    src, tgt = torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7]])
    longer = torch.tensor([[5, 6, 3, 0, 0]])
    assert_close(
        transformer(longer, padding_mask(longer, 0), tgt),
        transformer(src, padding_mask(src, 0), tgt),
        atol=1e-5,
        rtol=1e-5,
    )
