"""Compiled = as written: a layer is one program for all batches of rows, traced whole, here with no compiler behind."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from architectures import TRANSFORMERS
from dragoman.data.batches.batch import Example
from dragoman.data.batches.rows import NumberedText, PackedRows
from dragoman.training.objective.row_loss import RowLoss
from dragoman.training.update import layers
from numerics import assert_same


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # asked by the tracer
@pytest.mark.parametrize("preset", ["today", "post"])
def test_a_compiled_step_is_one_program_for_every_batch(
    build: Callable[..., Any], sentences: Callable[..., list[list[int]]], monkeypatch: pytest.MonkeyPatch, preset: str
) -> None:
    """Each layer, and what happens to the logits, is compiled as a whole, once, and gives the numbers of the layer."""
    sources, targets = sentences([3, 8, 5, 2, 1]), sentences([9, 2, 4, 6, 1], seed=2)
    examples = [Example(source, target, "") for source, target in zip(sources, targets, strict=True)]
    model, text = build(**{**TRANSFORMERS[preset], "layers": 1}), NumberedText(examples)
    batches = [text.batch(PackedRows(24, rows)) for rows in [((0, 3), (1,)), ((2, 4), ())]]
    plain = [RowLoss(model, 0.1)(*batch.tensors) for batch in batches]
    monkeypatch.setattr(layers, "BACKEND", "aot_eager")
    compiled = RowLoss(model, 0.1)
    layers.compile_row_loss(compiled)
    for layer in model.layers():
        layer.forward = torch.compile(layer.forward, dynamic=False, fullgraph=True, backend="aot_eager")
    for number, (batch, expected) in enumerate(zip(batches, plain, strict=True)):
        with torch._dynamo.config.patch(error_on_recompile=number > 0):
            loss = compiled(*batch.tensors)
        loss.backward()
        assert_same(loss, expected, scale=abs(expected.item()))
