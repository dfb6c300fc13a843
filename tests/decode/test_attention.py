"""Forced attention: of the layer that is named, the mean of its heads, for each target token that is predicted."""

import pytest
import torch

from dragoman.config import ModelConfig
from dragoman.decode.attention import aligning_layer, cross_attention, forced_attention
from dragoman.model.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.text.tokenizer import BOS, EOS, PAD


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
