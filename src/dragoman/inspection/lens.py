"""The prediction after each decoder layer, and statistics of the residual stream before and after each norm.

The logit lens (nostalgebraist 2020) passes the residual stream after a layer to the decoder's last norm and the
projection (section 3.4), as if there were no further layers. After the last layer it is the model's prediction.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.decode.hypothesis import FORBIDDEN_IDS
from dragoman.inspection.inspection import Inspection
from dragoman.inspection.record import AddNormRecord

# Positions projected onto the vocabulary at once: their logits take this many rows of memory.
POSITIONS_PER_PROJECTION = 128

Ranked = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class NormStatistics:
    """One norm at each position: mean and variance over the d_model numbers of its input and of its output."""

    where: str
    """`encoder.L.self_attention_norm` and the like, and in Pre-LN `encoder_norm` and `decoder_norm`."""
    mean_before: tuple[float, ...]
    variance_before: tuple[float, ...]
    mean_after: tuple[float, ...]
    variance_after: tuple[float, ...]


@torch.inference_mode()
def logit_lens(inspection: Inspection, count: int = 3) -> tuple[tuple[Ranked, ...], ...]:
    """For each decoder layer and position, the `count` likeliest pieces and their probabilities, likeliest first."""
    return tuple(_likeliest(inspection, layer, count) for layer in range(len(inspection.model.decoder)))


def _likeliest(inspection: Inspection, layer: int, count: int) -> tuple[Ranked, ...]:
    model, ranked = inspection.model, []
    for x in inspection.recording[f"decoder.{layer}"][0].split(POSITIONS_PER_PROJECTION):
        logits = model.project(model.decoder_norm(x)).float()
        logits[:, FORBIDDEN_IDS] = -torch.inf
        values, tokens = logits.topk(min(count, logits.size(1) - len(FORBIDDEN_IDS)))
        probabilities = (values - logits.logsumexp(-1, keepdim=True)).exp()
        pieces = [inspection.tokenizer.pieces(row, "target") for row in tokens.tolist()]
        ranked += [tuple(zip(*row, strict=True)) for row in zip(pieces, probabilities.tolist(), strict=True)]
    return tuple(ranked)


def norm_statistics(inspection: Inspection) -> tuple[NormStatistics, ...]:
    """Every norm, in the order of computation.

    Post-LN normalises the sum of the residual stream and the sub-layer. Pre-LN normalises the input of the sub-layer,
    so the stream itself grows until a final norm, which Post-LN does not have.
    """
    recording, statistics = inspection.recording, []
    for stack in ("encoder", "decoder"):
        layers = len(inspection.model.get_submodule(stack))  # type: ignore[arg-type]  # a ModuleList
        for layer in range(layers):
            statistics += [
                _statistics(name, activation.unnormed, activation.normed)
                for name, activation in recording.items()
                if name.startswith(f"{stack}.{layer}.") and isinstance(activation, AddNormRecord)
            ]
        if inspection.model.config.norm_order == "pre":
            statistics.append(
                _statistics(f"{stack}_norm", recording[f"{stack}.{layers - 1}"], recording[f"{stack}_norm"])
            )
    return tuple(statistics)


def _statistics(where: str, before: Tensor, after: Tensor) -> NormStatistics:
    values = [
        tuple(statistic.tolist())
        for x in (before[0].float(), after[0].float())
        for statistic in (x.mean(-1), x.var(-1, correction=0))
    ]
    return NormStatistics(where, *values)
