"""What is recorded is what happened: against the fused kernel, and position by position as in a search."""

from collections import defaultdict
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from dragoman.inspection.record import AddNormRecord, AttentionRecord, EmbeddingRecord, FeedForwardRecord, record
from dragoman.model.parts.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD
from numerics import assert_same

SRC = torch.tensor([[5, 6, 7, 8, EOS]])
TGT = torch.tensor([[BOS, 9, 10, 11]])


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    """Also float64: what rounding could hide in float32 shows there."""
    return request.param


def test_weights_computed_again_are_those_of_the_fused_kernel(model: Transformer) -> None:
    with record(model) as recording, torch.inference_mode():
        model(SRC, padding_mask(SRC, PAD), TGT)
    looks = [activation for activation in recording.values() if isinstance(activation, AttentionRecord)]
    assert len(looks) == 6
    for look in looks:
        everyone = torch.eye(look.k.size(2), dtype=look.k.dtype).expand(*look.k.shape[:2], -1, -1)
        fused = F.scaled_dot_product_attention(look.q, look.k, everyone, attn_mask=look.mask)
        assert_same(look.weights, fused)
        assert_same(look.weights @ look.v, look.heads)
        assert_same(look.heads.transpose(1, 2).flatten(2), look.concat)
        assert_same(look.masked.softmax(-1), look.weights)


@torch.inference_mode()
def test_each_quantity_follows_from_the_one_before(model: Transformer) -> None:
    with record(model) as recording, torch.inference_mode():
        logits = model(SRC, padding_mask(SRC, PAD), TGT)
    stream = recording["source_embedding"].output
    assert_same(stream, recording["source_embedding"].scaled + recording["source_embedding"].positions)
    for number in range(2):
        for sublayer in ("self_attention", "feed_forward"):
            step = recording[f"encoder.{number}.{sublayer}_norm"]
            assert_same(step.x, stream)
            assert_same(step.added, recording[f"encoder.{number}.{sublayer}"].output)
            total = step.x + step.added
            norm = model.get_submodule(f"encoder.{number}.{sublayer}_norm.norm")
            assert_same(norm(step.unnormed), step.normed)
            post = model.config.norm_order == "post"
            assert_same(step.unnormed, total if post else step.x)
            assert_same(step.output, step.normed if post else total)
            stream = step.output
        assert_same(recording[f"encoder.{number}"], stream)
    assert_same(model.encoder_norm(stream), recording["encoder_norm"])
    assert_same(model.project(recording["decoder_norm"]), logits)


def test_a_search_is_recorded_step_by_step(model: Transformer) -> None:
    with record(model) as whole, torch.inference_mode():
        model(SRC, padding_mask(SRC, PAD), TGT)
    history: dict[str, list[Any]] = defaultdict(list)
    with record(model) as recording, torch.inference_mode():
        state = model.encode(SRC, padding_mask(SRC, PAD))
        for token in TGT.T:
            _, state = model.decode(token[None], state)
            for name in list(recording):
                history[name].append(recording.pop(name))
    for name, activation in whole.items():
        steps = history[name]
        if not name.startswith(("decoder", "target")):
            assert len(steps) == 1
        elif isinstance(activation, AttentionRecord):
            last = steps[-1]
            assert_same(last.weights[:, :, 0], activation.weights[:, :, -1])
            assert_same(steps[0].weights[0, :, 0], activation.weights[0, :, 0, : steps[0].k.size(2)])
        elif isinstance(activation, EmbeddingRecord | FeedForwardRecord | AddNormRecord):
            assert_same(torch.cat([step.output for step in steps], 1), activation.output)
        else:
            assert_same(torch.cat(steps, 1), activation)


def test_who_is_not_watched_has_no_hooks(model: Transformer) -> None:
    with record(model), pytest.raises(ZeroDivisionError):
        _ = 1 / 0
    with record(model):
        assert any(module._forward_hooks for module in model.modules())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_what_is_watched_keeps_its_gradients(model: Transformer) -> None:
    with record(model) as recording:
        model(SRC, padding_mask(SRC, PAD), TGT)
    recording["encoder.0.self_attention"].weights.square().sum().backward()
    assert model.source_embedding.weight.grad.abs().sum() > 0
