"""What the decoder would say after each layer, and what each norm makes of the residual stream.

The logit lens (nostalgebraist 2020): the residual stream after a layer is given to the decoder's last norm and the
projection (section 3.4) as if the layers above were not there. After the last layer it is what the model says.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.decode.hypothesis import FORBIDDEN_IDS
from dragoman.inspection.look import Inspection
from dragoman.inspection.record import AddNormSeen

# Positions projected onto the vocabulary at once.
POSITIONS = 128

Ranked = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class NormStatistics:
    """A norm at each position: mean and variance over the d_model numbers that enter and leave it."""

    where: str
    """`encoder.L.add_norm.I` or `decoder.L.add_norm.I`, and in Pre-LN `encoder_norm` and `decoder_norm`."""
    mean_before: tuple[float, ...]
    variance_before: tuple[float, ...]
    mean_after: tuple[float, ...]
    variance_after: tuple[float, ...]


@torch.inference_mode()
def logit_lens(inspection: Inspection, count: int = 3) -> tuple[tuple[Ranked, ...], ...]:
    """By decoder layer, by position: the `count` likeliest pieces with their probabilities, likeliest first."""
    return tuple(_likeliest(inspection, layer, count) for layer in range(len(inspection.model.decoder)))


def _likeliest(inspection: Inspection, layer: int, count: int) -> tuple[Ranked, ...]:
    model, found = inspection.model, []
    for x in inspection.seen[f"decoder.{layer}"][0].split(POSITIONS):
        logits = model.project(model.decoder_norm(x)).float()
        logits[:, FORBIDDEN_IDS] = -torch.inf
        values, tokens = logits.topk(min(count, logits.size(1) - len(FORBIDDEN_IDS)))
        probabilities = (values - logits.logsumexp(-1, keepdim=True)).exp()
        pieces = [inspection.tokenizer.pieces(row, "target") for row in tokens.tolist()]
        found += [tuple(zip(*row, strict=True)) for row in zip(pieces, probabilities.tolist(), strict=True)]
    return tuple(found)


def norm_statistics(inspection: Inspection) -> tuple[NormStatistics, ...]:
    """Every norm, in the order of the computation.

    Post-LN normalises the sum of stream and sub-layer, Pre-LN what the sub-layer reads; the stream itself goes on
    growing then, until a last norm that Post-LN does not have.
    """
    seen, found = inspection.seen, []
    for stack in ("encoder", "decoder"):
        layers = len(inspection.model.get_submodule(stack))  # type: ignore[arg-type]  # a ModuleList
        for layer in range(layers):
            steps = [name for name in seen if name.startswith(f"{stack}.{layer}.add_norm.")]
            found += [
                _statistics(name, seen[name].unnormed, seen[name].normed)
                for name in sorted(steps)
                if isinstance(seen[name], AddNormSeen)
            ]
        if inspection.model.config.norm_order == "pre":
            found.append(_statistics(f"{stack}_norm", seen[f"{stack}.{layers - 1}"], seen[f"{stack}_norm"]))
    return tuple(found)


def _statistics(where: str, before: Tensor, after: Tensor) -> NormStatistics:
    values = [
        tuple(told.tolist())
        for x in (before[0].float(), after[0].float())
        for told in (x.mean(-1), x.var(-1, correction=0))
    ]
    return NormStatistics(where, *values)
