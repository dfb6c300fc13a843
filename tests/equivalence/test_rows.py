"""Packed = padded: the loss and gradient of pairs that share rows are those of a padded batch; alone = in any row."""

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

from architectures import TRANSFORMERS
from dragoman.data.batches.batch import Batch, Example, collate
from dragoman.data.batches.rows import NumberedText, PackedRows, pack_rows
from dragoman.model.parts.rows import row_layout
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD
from dragoman.training.objective.objective import batch_loss
from dragoman.training.objective.row_loss import RowLoss
from numerics import assert_same, assert_same_gradients

Draw = Callable[..., list[list[int]]]
MARKED = Marks((4, 5), (6,))


@pytest.fixture(params=TRANSFORMERS.values(), ids=TRANSFORMERS)
def model(request: pytest.FixtureRequest, build: Callable[..., Any]) -> Transformer:
    return build(**request.param)


def pairs_of(sentences: Draw, marks: Marks = NO_MARKS) -> list[Example]:
    sources, targets = sentences([3, 8, 5, 2, 1, 6]), sentences([9, 2, 4, 6, 1, 3], seed=2)
    return [Example(source, target, "", marks) for source, target in zip(sources, targets, strict=True)]


def packed(pairs: list[Example], width: int = 16, budget: int = 64) -> list[Batch]:
    text = NumberedText(pairs)
    return [text.batch(rows) for rows in pack_rows(text.lengths, budget, width, random.Random(1))]


@pytest.mark.parametrize("marks", [NO_MARKS, MARKED], ids=["plain", "languages"])
def test_packed_is_padded(model: Transformer, sentences: Draw, marks: Marks) -> None:
    pairs, parameters = pairs_of(sentences, marks), list(model.parameters())
    batches = packed(pairs)
    assert any(len(row) > 1 for row in (batch.lengths for batch in batches))
    loss = torch.stack([RowLoss(model, 0.1)(*batch.tensors) for batch in batches]).sum()
    expected = batch_loss(model, collate(pairs), 0.1)
    assert_same(loss, expected, scale=abs(expected.item()))
    gradients = torch.autograd.grad(loss, parameters)
    assert_same_gradients(list(gradients), list(torch.autograd.grad(expected, parameters)))


def features(model: Transformer, batch: Batch) -> torch.Tensor:
    layout = row_layout(batch.src, batch.tgt_in, bos=BOS, eos=EOS, pad=PAD)
    return model.decode_features(batch.tgt_in, model.encode(batch.src, layout.source_mask, layout), layout)[0]


@pytest.mark.parametrize("dtype", [torch.float64], ids=["float64"])
def test_a_pair_alone_is_the_pair_in_any_row(model: Transformer, sentences: Draw, dtype: torch.dtype) -> None:
    text = NumberedText(pairs_of(sentences))
    alone = features(model, text.batch(PackedRows(16, ((3,),))))[0, :7]
    for rows, row, start in [(((0, 3), (1,)), 0, 10), (((2, 4, 3),), 0, 7), (((1,), (), (3, 4)), 2, 0)]:
        assert_same(features(model, text.batch(PackedRows(18, rows)))[row, start : start + 7], alone)


def test_no_row_of_a_mask_is_empty_and_nobody_sees_another_sentence(sentences: Draw) -> None:
    [batch] = packed(pairs_of(sentences), width=32)
    layout = row_layout(batch.src, batch.tgt_in, bos=BOS, eos=EOS, pad=PAD)
    for mask in (layout.source_mask, layout.target_mask, layout.memory_mask):
        assert mask.any(-1).all()
    for row, (src, tgt) in enumerate(zip(batch.src.tolist(), batch.tgt_in.tolist(), strict=True)):
        sentence = [src[:at].count(EOS) + 1 if token != PAD else 0 for at, token in enumerate(src)]
        target = [tgt[: at + 1].count(BOS) if token != PAD else 0 for at, token in enumerate(tgt)]
        assert layout.source_mask[row, 0].tolist() == [[a == b for b in sentence] for a in sentence]
        assert layout.memory_mask[row, 0].tolist() == [[a in (0, b) for b in sentence] for a in target]
        causal = [[a == b and j <= i for j, b in enumerate(target)] for i, a in enumerate(target)]
        assert layout.target_mask[row, 0].tolist() == causal
        places = [sentence[:at].count(number) for at, number in enumerate(sentence)]
        words = [at for at, number in enumerate(sentence) if number]
        assert [layout.source_places[row, at].item() for at in words] == [places[at] for at in words]


def test_what_is_computed_does_not_depend_on_the_pairs(model: Transformer, sentences: Draw) -> None:
    """The operations of a step and their shapes are those of any other batch of these rows."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Listed(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[tuple[str, list[tuple[int, ...]]]] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            shapes = [tuple(value.shape) for value in args if isinstance(value, torch.Tensor)]
            self.seen.append((func._schema.name, shapes))
            return func(*args, **(kwargs or {}))

    def steps(rows: tuple[tuple[int, ...], ...]) -> list[Any]:
        batch = NumberedText(pairs_of(sentences)).batch(PackedRows(16, rows))
        with Listed() as listed:
            RowLoss(model, 0.1)(*batch.tensors).backward()
        model.zero_grad()
        return listed.seen

    steps(((0,), (1,)))  # tables of positions are made once
    assert steps(((0, 4), (1, 3))) == steps(((2,), ()))
