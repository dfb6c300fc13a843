"""LoRA, Hu et al. (2021): the base at the start, one network whether merged or not, and gradients of A and B alone."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from dragoman.config import TrainConfig
from dragoman.data.batches.batch import Example, collate
from dragoman.model.lora import GROUPS, adapted_matrices, attach, load_merged
from dragoman.model.parts.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.training.objective.objective import batch_loss
from numerics import assert_same, assert_same_gradients

Sentences = Callable[..., list[list[int]]]
RANK, ALPHA = 3, 6.0


def lora(**keys: object) -> TrainConfig:
    return TrainConfig.model_validate({"start_from": "base", "lora_rank": RANK, "lora_alpha": ALPHA, **keys})


def adapted(model: Transformer, **keys: object) -> Transformer:
    """A copy of the model with an adapter attached."""
    copy = Transformer(model.config, model.source_embedding.weight.size(0), model.projection.size(0))
    copy.load_state_dict(model.state_dict())
    attach(copy, lora(**keys))
    return copy.eval()


def randomise(model: Transformer) -> None:
    """Another B than zero."""
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)


def logits(model: Transformer, sentences: Sentences) -> Tensor:
    src, tgt = torch.tensor(sentences([5, 5])), torch.tensor(sentences([4, 4], seed=2))
    return model(src, padding_mask(src, 0), tgt)


def test_the_start_is_the_base_to_the_last_bit(model: Transformer, sentences: Sentences) -> None:
    assert torch.equal(logits(adapted(model), sentences), logits(model, sentences))


def test_only_a_and_b_are_parameters_and_a_shared_matrix_stays_shared(build: Callable[..., Transformer]) -> None:
    model = adapted(build(tie="all"))
    names = {name for name, _ in model.named_parameters()}
    matrices = adapted_matrices(build(tie="all"), GROUPS)
    assert names == {f"{name}.lora_{half}" for name in matrices for half in "ab"}
    assert len(matrices) == 2 * (4 + 2) + 2 * (8 + 2)
    assert model.projection is model.source_embedding.weight is model.target_embedding.weight
    assert not model.projection.requires_grad


@pytest.mark.slow
def test_next_to_the_weights_or_merged_into_them_it_is_one_network(model: Transformer, sentences: Sentences) -> None:
    low = adapted(model)
    randomise(low)
    whole = Transformer(model.config, 13, 13).eval()
    load_merged(whole, low, dict(low.named_parameters()), ALPHA / RANK)
    assert_same(logits(whole, sentences), logits(low, sentences))
    assert (logits(whole, sentences) - logits(model, sentences)).abs().max() > 0.1
    again = Transformer(model.config, 13, 13).eval()
    load_merged(again, model, dict(low.named_parameters()), ALPHA / RANK)  # from the plain base: the same weights
    assert all(torch.equal(one, other) for one, other in zip(again.parameters(), whole.parameters(), strict=True))


def test_gradients_follow_from_that_of_the_whole_matrix(model: Transformer, sentences: Sentences) -> None:
    """With W = W₀ + s B A: ∂A = s Bᵀ ∂W and ∂B = s ∂W Aᵀ."""
    low, scale = adapted(model), ALPHA / RANK
    randomise(low)
    whole = Transformer(model.config, 13, 13).eval()
    halves = dict(low.named_parameters())
    load_merged(whole, low, halves, scale)
    batch = collate(
        [Example(one, two, "") for one, two in zip(sentences([5, 3]), sentences([4, 6], seed=2), strict=True)]
    )
    for network in (low, whole):
        batch_loss(network, batch, 0.1).backward()
    for name in adapted_matrices(model, GROUPS):
        of_whole = whole.get_parameter(f"{name}.weight").grad
        assert of_whole is not None
        a, b = halves[f"{name}.lora_a"], halves[f"{name}.lora_b"]
        expected = [scale * b.detach().T @ of_whole, scale * of_whole @ a.detach().T]
        assert_same_gradients([half.grad for half in (a, b) if half.grad is not None], expected)


def test_dropout_is_of_the_adapter_alone(build: Callable[..., Transformer], sentences: Sentences) -> None:
    model = build()
    low = adapted(model, lora_dropout=0.5)
    assert torch.equal(logits(low.train(), sentences), logits(model, sentences))  # B is zero
    randomise(low)
    assert not torch.equal(logits(low, sentences), logits(low, sentences))
    assert torch.equal(logits(low.eval(), sentences), logits(low, sentences))


@pytest.mark.parametrize(("matrices", "count"), [(["w_q", "w_v"], 12), (["attention"], 24), (["feed_forward"], 12)])
def test_matrices_are_chosen_by_name_or_group(
    build: Callable[..., Transformer], matrices: list[str], count: int
) -> None:
    gated = build(feed_forward="swiglu", bias=False)
    assert len(adapted_matrices(gated, matrices)) == count
    assert len(list(adapted(gated, lora_matrices=matrices).parameters())) == 2 * count
