"""An inspection → the contents of its page: facts as JSON values, and arrays in order of priority.

A page has a byte budget. The weights of every attention come first, then what the walk through the paper needs of one
encoder and one decoder layer, then the other layers, until the budget is used up. What can be computed from stored
arrays is not stored: the page computes Q Kᵀ from Q and K, and a sum from its terms. If the sentence is too long for all
weights, arrays hold the means of blocks of neighbouring positions.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch

from dragoman.config import DecodeConfig
from dragoman.inspection.beam import thinned
from dragoman.inspection.inspection import Array, Inspection
from dragoman.inspection.record import record
from dragoman.model.parts.attention import padding_mask
from dragoman.text.tokens.tokenizer import PAD

CANDIDATES = 24
"""Pieces per position whose logits the page has."""
PADDED = 40
"""The most source tokens in the example of a padded sentence, and the padding after them."""
PADDING = 4
NODES = 20_000
"""About the largest number of nodes of the search tree on the page."""

Facts = dict[str, Any]
Floats = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Payload:
    """The contents of a page."""

    facts: Facts
    blob: bytes
    """The arrays in float32, little-endian, one after the other; `facts["arrays"]` has the offset of each."""


def gather(
    inspection: Inspection,
    *,
    name: str,
    languages: tuple[str, str],
    byte_budget: int,
    layers: Sequence[int] = (),
    options: DecodeConfig | None = None,
    analyses: Facts | None = None,
    maps: Mapping[str, Array] | None = None,
) -> Payload:
    """Everything of `inspection` that fits into `byte_budget` bytes of JSON and base64.

    `layers`, counted from 1, come before the others of both stacks. The default is the encoder's first layer and the
    decoder's last, which are next to the embedding and the projection. `analyses` are further facts, `maps` further
    arrays of positions by positions.
    """
    top, logits, logsumexp = _candidates(inspection)
    facts: Facts = {
        "languages": {"source": languages[0], "target": languages[1]},
        "model": _model(inspection, name),
        "source": inspection.source,
        "translation": inspection.text,
        "forced": inspection.tree is None,
        "pieces": inspection.pieces,
        "ids": {"source": inspection.source_ids, "target": inspection.target_ids},
        "predictions": [{"candidates": pieces, "chosen": chosen} for pieces, chosen in top],
        "beam": _beam(inspection, options or DecodeConfig()),
        "padding": PADDING,
        "padded_layer": _order(layers, inspection.model.config.encoder_layers, default=0)[0],
        **(analyses or {}),
    }
    parts = {"logits": logits, "logsumexp": logsumexp, "padding.scaled": _padded(inspection, layers)}
    left = (byte_budget - len(json.dumps(facts, ensure_ascii=False).encode()) - 60_000) * 3 // 4
    index, blob = _pack(inspection, parts, maps or {}, _by_priority(inspection, layers), left)
    return Payload(facts | {"arrays": index}, blob)


def rounded(value: Any) -> Any:
    """Every float with five digits, in nested lists and dictionaries too: all digits would be half of a long page."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


def _model(inspection: Inspection, name: str) -> Facts:
    config = inspection.model.config
    keys = ("d_model", "d_ff", "heads", "d_k", "d_v", "encoder_layers", "decoder_layers")
    positions = ("positions", "position_base", "first_position")
    kinds = ("norm_order", "norm", *positions, "feed_forward", "bias", "output_bias", "tie")
    vocabulary = inspection.model.projection.size(0)
    counts = {"parameters": inspection.model.parameter_count, "vocabulary": vocabulary}
    return {"name": name} | {key: getattr(config, key) for key in keys + kinds} | counts


def _candidates(inspection: Inspection) -> tuple[list[tuple[list[str], int]], Array, Array]:
    """Per position the likeliest pieces and the index of the chosen one; their logits (T, C), and log Σ exp (T, 1).

    Special tokens that no translation contains are left out, as in a search.
    """
    target = torch.tensor(inspection.target_ids)
    logits = inspection.logits.masked_fill(inspection.distribution.isneginf(), -torch.inf)
    ids = logits.topk(min(CANDIDATES, logits.size(1)), dim=1).indices
    missing = ~(ids == target[:, None]).any(1)
    ids[missing, -1] = target[missing]
    indices = (ids == target[:, None]).int().argmax(1).tolist()
    pieces = [inspection.tokenizer.pieces(row, "target") for row in ids.tolist()]
    axes, labels = ("position", "candidate"), {"position": inspection.pieces["input"]}
    chosen = Array(logits.gather(1, ids).float().numpy(), axes, labels)
    total = Array(logits.logsumexp(1, keepdim=True).float().numpy(), ("position", "one"), labels)
    return list(zip(pieces, indices, strict=True)), chosen, total


def _beam(inspection: Inspection, options: DecodeConfig) -> Facts | None:
    tree = inspection.tree
    if tree is None:
        return None
    nodes = thinned(tree.nodes, NODES)
    pieces = inspection.tokenizer.pieces([node.token for node in nodes], "target")
    texts = inspection.texts(tree.hypotheses)
    return {
        "beam": options.beam,
        "alpha": options.length_penalty,
        "nodes": [
            [node.parent, node.step, piece, rounded(node.probability), rounded(node.log_prob), node.fate]
            for node, piece in zip(nodes, pieces, strict=True)
        ],
        "omitted": len(tree.nodes) - len(nodes),
        "hypotheses": [
            {
                "text": text,
                "score": rounded(hypothesis.score),
                "log_prob": rounded(hypothesis.log_prob),
                "length": len(hypothesis.tokens),
            }
            for text, hypothesis in zip(texts, tree.hypotheses, strict=True)
        ],
    }


@torch.inference_mode()
def _padded(inspection: Inspection, layers: Sequence[int]) -> Array:
    """Q Kᵀ / √d_k of an encoder layer for the sentence with padding after it, as in a batch: (H, S', S')."""
    tokens = inspection.source_ids[:PADDED]
    source = torch.tensor([[*tokens, *[PAD] * PADDING]])
    with record(inspection.model) as recording:
        inspection.model.encode(source, padding_mask(source, PAD))
    layer = _order(layers, inspection.model.config.encoder_layers, default=0)[0]
    values = recording[f"encoder.{layer}.self_attention"].scaled[0].float().numpy()
    pieces = tuple(inspection.tokenizer.pieces(source[0].tolist(), "source"))
    return Array(values, ("head", "position", "key"), {"position": pieces, "key": pieces})


def _pack(
    inspection: Inspection,
    parts: Mapping[str, Array],
    maps: Mapping[str, Array],
    by_priority: Iterable[str],
    byte_budget: int,
) -> tuple[Facts, bytes]:
    """`parts` whole, the weights and `maps` (in blocks if needed), then of the names `by_priority` what fits."""
    weights = {name: inspection[name] for name in inspection if name.endswith(".weights")} | dict(maps)
    factor = block_side([array.values.shape for array in weights.values()], byte_budget // 2)
    sides = {labels: side for side, labels in inspection.pieces.items()}
    index: Facts = {}
    blob = bytearray()
    reduced = {name: _reduced(array, factor) for name, array in weights.items()}
    wanted = chain(parts.items(), reduced.items(), ((name, _reduced(inspection[name], factor)) for name in by_priority))
    for name, array in wanted:
        if len(blob) + array.values.nbytes > byte_budget and name not in weights and name not in parts:
            continue
        if name.endswith(".active") and factor == 1 and inspection.model.config.feed_forward == "relu":
            continue  # computed from `inner`, which block means do not allow
        entry: Facts = {"shape": list(array.values.shape), "axes": list(array.axes), "offset": len(blob)}
        entry["labels"] = {axis: sides.get(labels, labels) for axis, labels in array.labels.items()}
        index[name] = entry | ({"reduced": factor} if factor > 1 and name not in parts else {})
        blob += np.ascontiguousarray(array.values, dtype="<f4").tobytes()
    return index, bytes(blob)


def block_side(shapes: Iterable[tuple[int, ...]], byte_budget: int) -> int:
    """The smallest block side at which all these maps fit, or the side at which each map is a single block."""
    sizes = [(math.prod(shape[:-2]), *shape[-2:]) for shape in shapes]
    factor, longest = 1, max(max(rows, columns) for _, rows, columns in sizes)
    while (
        factor < longest
        and sum(4 * h * -(-rows // factor) * -(-columns // factor) for h, rows, columns in sizes) > byte_budget
    ):
        factor += 1
    return factor


def _reduced(array: Array, factor: int) -> Array:
    values = array.values
    for axis, kind in enumerate(array.axes):
        if kind in ("position", "key"):
            values = block_means(values, axis, factor)
    return Array(values, array.axes, array.labels)


def block_means(values: Floats, axis: int, factor: int) -> Floats:
    """The mean of every `factor` neighbours along `axis`; the last block may have fewer."""
    if factor == 1:
        return values
    starts = np.arange(0, values.shape[axis], factor)
    counts = np.diff([*starts, values.shape[axis]]).reshape([-1 if dim == axis else 1 for dim in range(values.ndim)])
    return (np.add.reduceat(values, starts, axis=axis) / counts).astype(np.float32)


def _by_priority(inspection: Inspection, layers: Sequence[int]) -> Iterator[str]:
    """Names of what the walk needs and cannot compute, the given `layers` before the others."""
    config = inspection.model.config
    yield from ("source_embedding.scaled", "target_embedding.scaled")
    encoder = _order(layers, config.encoder_layers, default=0)
    decoder = _order(layers, config.decoder_layers, default=config.decoder_layers - 1)
    yield from _layer(f"encoder.{encoder[0]}", ("self_attention",))
    yield from _layer(f"decoder.{decoder[0]}", ("self_attention", "cross_attention"))
    yield from ("memory", "features")
    for index in range(1, max(len(encoder), len(decoder))):
        if index < len(encoder):
            yield from _layer(f"encoder.{encoder[index]}", ("self_attention",))
        if index < len(decoder):
            yield from _layer(f"decoder.{decoder[index]}", ("self_attention", "cross_attention"))


def _order(layers: Sequence[int], depth: int, default: int) -> list[int]:
    """All layers of a stack of this depth, from 0: those of `layers` (from 1) that it has, or `default`, first."""
    first = [layer - 1 for layer in layers if 1 <= layer <= depth] or [default]
    return list(dict.fromkeys([*first, *range(depth)]))


def _layer(layer: str, attentions: Sequence[str]) -> Iterator[str]:
    yield f"{layer}.self_attention_norm.x"
    for attention in attentions:
        yield from (f"{layer}.{attention}.{leaf}" for leaf in ("q", "k", "v", "heads", "output"))
        yield f"{layer}.{attention}_norm.normed"
    yield f"{layer}.feed_forward.output"
    yield f"{layer}.feed_forward_norm.normed"
    yield from (f"{layer}.feed_forward.inner", f"{layer}.feed_forward.active")
