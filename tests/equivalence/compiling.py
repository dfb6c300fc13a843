"""`python compiling.py NAME ...`: the step of tiny Transformers, compiled and as written, over batches of rows.

A process of its own: what checks shapes under pytest cannot be traced. Each layer, and what happens to the logits, is
traced as a whole and once; no compiler is behind the tracer, which would take a minute.
"""

import sys
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parent.parent))

from architectures import TRANSFORMERS, tiny
from dragoman.data.batches.batch import Example
from dragoman.data.batches.rows import NumberedText, PackedRows
from dragoman.model.parts.dropout import Dropout
from dragoman.model.parts.norm import LayerNorm
from dragoman.model.transformer import Transformer
from dragoman.training.objective.row_loss import RowLoss
from dragoman.training.update import layers
from numerics import assert_same

PAIRS = [([5, 6, 7], [8, 9, 4, 5]), ([4] * 8, [7, 6]), ([9, 8, 7, 6, 5], [5] * 6), ([12], [11]), ([4, 5], [10, 12, 4])]


def main(name: str) -> None:
    """Compare the loss of two batches; the second is computed by what was traced for the first."""
    torch.manual_seed(0)
    config = tiny(**{**TRANSFORMERS[name], "layers": 1, "dropout": 0.0})
    model = Transformer(config, 13, 13).train()  # type: ignore[arg-type]
    text = NumberedText([Example(source, target, "") for source, target in PAIRS])
    batches = [text.batch(PackedRows(24, rows)) for rows in [((0, 3), (1, 4)), ((2, 4), ())]]
    # Of one of them in bfloat16, where the weights of the layers are replaced for a pass.
    in_bfloat16 = torch.autocast("cpu", torch.bfloat16, enabled=name == "today")
    with in_bfloat16:
        plain = [RowLoss(model, 0.1)(*batch.tensors) for batch in batches]
    with mock.patch.multiple(Dropout, forward=dropped), mock.patch.multiple(LayerNorm, forward=LayerNorm.unconverted):
        compare(model, batches, plain, in_bfloat16)


def dropped(self: Dropout, x: torch.Tensor) -> torch.Tensor:
    """The branch of a GPU."""
    return F.dropout(x, self.rate, self.training)


def compare(model: Transformer, batches: list[Any], plain: list[torch.Tensor], in_bfloat16: torch.autocast) -> None:
    """Each layer traced, and the losses those of the model as written."""
    torch.compiler.reset()
    layers.BACKEND = "aot_eager"
    compiled = RowLoss(model, 0.1)
    layers.compile_row_loss(compiled)
    for layer in model.layers():
        layer.forward = torch.compile(layer.forward, dynamic=False, fullgraph=True, backend="aot_eager")
    for number, (batch, expected) in enumerate(zip(batches, plain, strict=True)):
        with torch._dynamo.config.patch(error_on_recompile=number > 0), in_bfloat16:
            loss = compiled(*batch.tensors)
        loss.backward()
        assert_same(loss, expected, scale=abs(expected.item()))


if __name__ == "__main__":
    for shape in sys.argv[1:]:
        main(shape)
        print(shape)
