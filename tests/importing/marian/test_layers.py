"""The layer walk: every tensor arrives under its name, and the order of d_model changes nothing that is computed."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from dragoman.config import ModelConfig
from dragoman.errors import ModelError
from dragoman.importing.marian.layers import check_positions, hugging_face_name, interleaving, our_weights, stream_axis
from dragoman.model.parts import embedding
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.embedding import positional_encoding
from dragoman.model.transformer import Transformer
from numerics import assert_same

Build = Callable[..., Transformer]
SAME_ROWS = torch.arange(13), torch.arange(13)


def name_of(ours: str) -> str:
    return hugging_face_name(ours) if ours.split(".")[0] in ("encoder", "decoder") or "_norm." in ours else ours


def renamed(model: Transformer) -> dict[str, Tensor]:
    return {name_of(name): parameter.detach().clone() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("tie", ["all", "target", "none"])
@pytest.mark.parametrize("order", ["post", "pre"])
def test_all_sines_before_all_cosines_is_the_same_network(
    build: Build, monkeypatch: pytest.MonkeyPatch, order: str, tie: str
) -> None:
    """A network whose residual stream is in the other order, with their positions, computes the same logits."""
    model = build(norm_order=order, tie=tie, output_bias=True)
    there = torch.argsort(interleaving(16))
    theirs = {
        name_of(ours): parameter.detach()
        if (axis := stream_axis(ours)) is None
        else parameter.index_select(axis, there)
        for ours, parameter in model.named_parameters()
    }
    source, target = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 8, 9]])
    expected = model(source, padding_mask(source, 0), target)

    other = build(norm_order=order, tie=tie, output_bias=True)
    with torch.no_grad():
        for ours, parameter in other.named_parameters():
            parameter.copy_(theirs[name_of(ours)])
    monkeypatch.setattr(
        embedding, "_known_positions", lambda n, d, base, device: positional_encoding(0, n, d)[:, there]
    )
    assert_same(other(source, padding_mask(source, 0), target), expected)

    back = our_weights(model.config, SAME_ROWS, theirs, name_of, permutation=interleaving(16))
    assert theirs == {}
    assert all(torch.equal(back[name], parameter) for name, parameter in model.named_parameters())


def test_rows_are_renumbered_and_dtypes_become_float32(build: Build) -> None:
    model = build(output_bias=True)
    theirs = {name: tensor.half() for name, tensor in renamed(model).items()}
    theirs["projection_bias"] = theirs["projection_bias"][None]
    order = torch.tensor([-1, 3, 12, 0, 4, 4])
    found = our_weights(model.config, (order, order), dict(theirs), name_of)
    assert {tensor.dtype for tensor in found.values()} == {torch.float32}
    for name in ("projection", "projection_bias"):
        expected = theirs[name].float().view(13, -1)
        assert not found[name][0].any()
        assert torch.equal(found[name].view(6, -1)[1:], expected[[3, 12, 0, 4, 4]])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.pop("model.encoder.layers.0.fc1.bias"), "fc1.bias is missing"),
        (lambda t: t.update(surplus=torch.ones(1)), "surplus is not one of this architecture"),
        (lambda t: t.update({"model.decoder.layers.1.fc2.weight": torch.ones(3, 4)}), "fc2.weight has shape 3 × 4"),
        (lambda t: t["projection"][1].fill_(torch.nan), "projection contains NaN"),
    ],
)
def test_a_tensor_that_does_not_fit_is_named(build: Build, change: Callable[..., object], says: str) -> None:
    model = build()
    theirs = renamed(model)
    change(theirs)
    with pytest.raises(ModelError, match=f"^where: tensor .*{says}"):
        our_weights(model.config, SAME_ROWS, theirs, name_of, where="where")


def test_a_vocabulary_with_more_ids_than_rows_is_refused(build: Build) -> None:
    model = build()
    rows = torch.tensor([0, 13])
    with pytest.raises(ModelError, match="projection has 13 rows, too few"):
        our_weights(model.config, (rows, rows), renamed(model), name_of)


def test_stored_positions_are_checked_against_the_formula() -> None:
    config = ModelConfig.model_validate({"layers": 1, "d_model": 8, "d_ff": 8, "heads": 2, "position_base": 123.0})
    theirs = partial(torch.Tensor.index_select, dim=1, index=torch.argsort(interleaving(8)))
    table = theirs(positional_encoding(0, 20, 8, 123.0))
    table[1] = 0
    check_positions(table.half(), config, "positions")
    for wrong in (table.flip(0), theirs(positional_encoding(0, 20, 8)), table[:, :6]):
        with pytest.raises(ModelError, match=r"^positions: not the sinusoidal positions"):
            check_positions(wrong, config, "positions")
    with pytest.raises(ModelError, match="d_model: an even number from 4 on is needed, not 7"):
        interleaving(7)
