"""Forced attention: of the layer that is named, the mean of its heads, for each target token that is predicted."""

from collections.abc import Callable

import pytest
import torch

from architectures import ATTENDING, OTHERS, WITHOUT_ATTENTION
from dragoman.config import DecodeConfig, ModelConfig
from dragoman.decode.attention import aligning_layer, cross_attention, forced_attention
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ConfigError
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.network import EncoderDecoder
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD
from stand_ins import queries


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(3)
    shape = {"encoder_layers": 1, "decoder_layers": 3, "d_model": 16, "d_ff": 24, "heads": 4}
    return Transformer(ModelConfig.model_validate(shape), 40, 40).eval()


@pytest.mark.parametrize(("layers", "expected"), [(1, 0), (2, 1), (3, 1), (6, 4)])
def test_the_last_layer_but_one_aligns_and_of_two_the_last(layers: int, expected: int) -> None:
    assert aligning_layer(layers) == expected


def test_every_row_is_a_distribution_and_what_comes_later_changes_nothing(model: Transformer) -> None:
    src, tgt = torch.tensor([[5, 6, 7, EOS]]), torch.tensor([[BOS, 8, 9, 10]])
    whole = forced_attention(model, src, tgt)
    assert whole.shape == (1, 4, 4)
    torch.testing.assert_close(whole.sum(2), torch.ones(1, 4))
    torch.testing.assert_close(whole[:, :2], forced_attention(model, src, tgt[:, :2]))


def test_it_is_the_mean_of_the_heads_of_that_layer(model: Transformer) -> None:
    src, tgt = torch.tensor([[5, 6, EOS]]), torch.tensor([[BOS, 8]])
    with torch.inference_mode(), cross_attention(model, {0, 1, 2}) as weights:
        model.decode_features(tgt, model.encode(src, padding_mask(src, PAD)))
    found = forced_attention(model, src, tgt)
    torch.testing.assert_close(found, weights[1])
    assert not torch.allclose(found, weights[0], atol=1e-3)


def test_padded_equals_alone(model: Transformer) -> None:
    src = torch.tensor([[5, 6, 7, 8, EOS], [9, EOS, PAD, PAD, PAD]])
    tgt = torch.tensor([[BOS, 8, 9], [BOS, 11, PAD]])
    both = forced_attention(model, src, tgt)
    alone = forced_attention(model, src[1:, :2], tgt[1:, :2])
    torch.testing.assert_close(both[1:, :2, :2], alone)


@pytest.mark.parametrize("shape", ATTENDING.values(), ids=ATTENDING)
def test_another_architecture_aligns_every_position_as_one_after_the_other(
    build: Callable[..., EncoderDecoder], shape: dict[str, object]
) -> None:
    model = build(**shape)
    src, tgt = torch.tensor([[5, 6, 7, EOS], [8, EOS, PAD, PAD]]), torch.tensor([[BOS, 8, 9], [BOS, 4, 5]])
    whole = forced_attention(model, src, tgt)
    torch.testing.assert_close(whole.sum(2), torch.ones(2, 3))
    assert whole[1, :, 2:].abs().max() == 0
    layer = aligning_layer(len(model.cross_attentions()))
    with torch.inference_mode(), cross_attention(model, {layer}) as weights:
        state = model.encode(src, padding_mask(src, PAD))
        for place, token in enumerate(tgt.split(1, dim=1)):
            _, state = model.decode(token, state)
            torch.testing.assert_close(weights[layer][:, 0], whole[:, place])


@pytest.mark.parametrize("name", sorted(WITHOUT_ATTENTION))
def test_a_network_without_attention_says_so(build: Callable[..., EncoderDecoder], name: str) -> None:
    model = build(**OTHERS[name])
    with pytest.raises(ConfigError, match="alignment: needs encoder-decoder attention"):
        forced_attention(model, torch.tensor([[5, EOS]]), torch.tensor([[BOS, 8]]))
    with pytest.raises(ConfigError, match="coverage_penalty"):
        TorchEngine(model, torch.device("cpu")).translate(queries([[5]]), DecodeConfig(coverage_penalty=0.2))
