"""An inspection → what its page is made of: facts that JSON can hold, and arrays in the order of their worth.

A page has room for so many bytes. The weights of every attention come first, then what the walk needs of one encoder
and one decoder layer, then the other layers, until the room is full. What follows from arrays that are there is not
stored: the page computes Q Kᵀ from Q and K, the sum from its terms. Of a sentence too long for its weights, arrays
hold the means of blocks of neighbouring positions.
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
from dragoman.inspection.look import Array, Inspection
from dragoman.inspection.record import record
from dragoman.model.attention import padding_mask
from dragoman.text.tokenizer import PAD

CANDIDATES = 24
"""Of so many words per position the page knows the logits."""
PADDED = 40
"""So many tokens of the source, at most, are shown beside padding."""
PADDING = 4
NODES = 20_000
"""Of so many nodes, as near as may be, the page has the tree of a search."""

Facts = dict[str, Any]
Floats = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Payload:
    """What a page is made of."""

    facts: Facts
    blob: bytes
    """Arrays, float32 little-endian one after the other; `facts["arrays"]` tells where each begins."""


def gather(
    inspection: Inspection,
    *,
    name: str,
    languages: tuple[str, str],
    room: int,
    layers: Sequence[int] = (),
    options: DecodeConfig | None = None,
    analyses: Facts | None = None,
    maps: Mapping[str, Array] | None = None,
) -> Payload:
    """Everything of `inspection` that fits into `room` bytes of JSON and base64.

    `layers`, counted from 1, come before the others of both stacks; unless given, the encoder's first and the
    decoder's last, which the embeddings and the vocabulary touch. `analyses` and `maps`, arrays of positions by
    positions, are added.
    """
    top, logits, logsumexp = _candidates(inspection)
    facts: Facts = {
        "languages": {"source": languages[0], "target": languages[1]},
        "model": _model(inspection, name),
        "source": inspection.source,
        "translation": inspection.text,
        "forced": inspection.tree is None,
        "pieces": inspection.pieces,
        "steps": [{"candidates": words, "said": said} for words, said in top],
        "beam": _beam(inspection, options or DecodeConfig()),
        "padding": PADDING,
        "padded_layer": _first(layers, inspection.model.config.encoder_layers, default=0),
        **(analyses or {}),
    }
    parts = {"logits": logits, "logsumexp": logsumexp, "padding.scaled": _padded(inspection, layers)}
    left = (room - len(json.dumps(facts, ensure_ascii=False).encode()) - 60_000) * 3 // 4
    index, blob = _pack(inspection, parts, maps or {}, _by_worth(inspection, layers), left)
    return Payload(facts | {"arrays": index}, blob)


def _model(inspection: Inspection, name: str) -> Facts:
    config = inspection.model.config
    keys = ("d_model", "d_ff", "heads", "d_k", "d_v", "encoder_layers", "decoder_layers")
    kinds = ("norm_order", "norm", "positions", "feed_forward", "bias", "tie")
    vocabulary = inspection.model.projection.size(0)
    counts = {"parameters": inspection.model.parameter_count, "vocabulary": vocabulary}
    return {"name": name} | {key: getattr(config, key) for key in keys + kinds} | counts


def _candidates(inspection: Inspection) -> tuple[list[tuple[list[str], int]], Array, Array]:
    """Per position the likeliest pieces and which of them was said; their logits (T, C), and log Σ exp (T, 1).

    The marks that no translation contains are left out, as in a search.
    """
    said = torch.tensor(inspection.target_tokens)
    logits = inspection.logits.masked_fill(inspection.distribution.isneginf(), -torch.inf)
    ids = logits.topk(min(CANDIDATES, logits.size(1)), dim=1).indices
    ids[~(ids == said[:, None]).any(1), -1] = said[~(ids == said[:, None]).any(1)]
    places = (ids == said[:, None]).int().argmax(1).tolist()
    words = [inspection.tokenizer.pieces(row, "target") for row in ids.tolist()]
    axes, labels = ("position", "candidate"), {"position": inspection.pieces["input"]}
    chosen = Array(logits.gather(1, ids).float().numpy(), axes, labels)
    total = Array(logits.logsumexp(1, keepdim=True).float().numpy(), ("position", "one"), labels)
    return list(zip(words, places, strict=True)), chosen, total


def _beam(inspection: Inspection, options: DecodeConfig) -> Facts | None:
    tree, tokenizer = inspection.tree, inspection.tokenizer
    if tree is None:
        return None
    nodes = thinned(tree.nodes, NODES)
    pieces = tokenizer.pieces([node.token for node in nodes], "target")
    texts = tokenizer.decode([hypothesis.tokens for hypothesis in tree.hypotheses], "target")
    return {
        "beam": options.beam,
        "alpha": options.length_penalty,
        "nodes": [
            [node.parent, node.step, piece, _short(node.probability), _short(node.log_prob), node.fate]
            for node, piece in zip(nodes, pieces, strict=True)
        ],
        "left_out": len(tree.nodes) - len(nodes),
        "hypotheses": [
            {
                "text": text,
                "score": _short(found.score),
                "log_prob": _short(found.log_prob),
                "length": len(found.tokens),
            }
            for text, found in zip(texts, tree.hypotheses, strict=True)
        ],
    }


def _short(number: float) -> float:
    return float(f"{number:.5g}")


@torch.inference_mode()
def _padded(inspection: Inspection, layers: Sequence[int]) -> Array:
    """Q Kᵀ / √d_k of an encoder layer that reads the sentence with padding behind it, as in a batch (H, S', S')."""
    tokens = inspection.source_tokens[:PADDED]
    source = torch.tensor([[*tokens, *[PAD] * PADDING]])
    with record(inspection.model) as seen:
        inspection.model.encode(source, padding_mask(source, PAD))
    layer = _first(layers, inspection.model.config.encoder_layers, default=0)
    values = seen[f"encoder.{layer}.self_attention"].scaled[0].float().numpy()
    pieces = tuple(inspection.tokenizer.pieces(source[0].tolist(), "source"))
    return Array(values, ("head", "position", "seen"), {"position": pieces, "seen": pieces})


def _first(layers: Sequence[int], depth: int, default: int) -> int:
    """The first of `layers` (from 1) that a stack of this depth has, from 0."""
    return next((layer - 1 for layer in layers if 1 <= layer <= depth), default)


def _pack(
    inspection: Inspection, parts: Mapping[str, Array], maps: Mapping[str, Array], worth: Iterable[str], room: int
) -> tuple[Facts, bytes]:
    """`parts` as they are, the weights and `maps` in blocks if they must be, and of `worth` what fits."""
    weights = {name: inspection[name] for name in inspection if name.endswith(".weights")} | dict(maps)
    factor = _factor([array.values.shape for array in weights.values()], room // 2)
    sides = {labels: side for side, labels in inspection.pieces.items()}
    index: Facts = {}
    blob = bytearray()
    reduced = {name: _reduced(array, factor) for name, array in weights.items()}
    wanted = chain(parts.items(), reduced.items(), ((name, _reduced(inspection[name], factor)) for name in worth))
    for name, array in wanted:
        if len(blob) + array.values.nbytes > room and name not in weights and name not in parts:
            continue
        if name.endswith(".active") and factor == 1 and inspection.model.config.feed_forward == "relu":
            continue  # which follows from `inner`; but means of blocks do not
        entry: Facts = {"shape": list(array.values.shape), "axes": list(array.axes), "offset": len(blob)}
        entry["labels"] = {axis: sides.get(labels, labels) for axis, labels in array.labels.items()}
        index[name] = entry | ({"reduced": factor} if factor > 1 and name not in parts else {})
        blob += np.ascontiguousarray(array.values, dtype="<f4").tobytes()
    return index, bytes(blob)


def _factor(shapes: Iterable[tuple[int, ...]], room: int) -> int:
    """The smallest side of a block at which all these maps fit; if none does, that of one block a map."""
    sizes = [(math.prod(shape[:-2]), *shape[-2:]) for shape in shapes]
    factor, longest = 1, max(max(rows, columns) for _, rows, columns in sizes)
    while (
        factor < longest
        and sum(4 * h * -(-rows // factor) * -(-columns // factor) for h, rows, columns in sizes) > room
    ):
        factor += 1
    return factor


def _reduced(array: Array, factor: int) -> Array:
    values = array.values
    for axis, kind in enumerate(array.axes):
        if kind in ("position", "seen"):
            values = block_means(values, axis, factor)
    return Array(values, array.axes, array.labels)


def block_means(values: Floats, axis: int, factor: int) -> Floats:
    """The mean of every `factor` neighbours along `axis`; of what remains, in the last block."""
    if factor == 1:
        return values
    starts = np.arange(0, values.shape[axis], factor)
    counts = np.diff([*starts, values.shape[axis]]).reshape(
        [-1 if place == axis else 1 for place in range(values.ndim)]
    )
    means: Floats = (np.add.reduceat(values, starts, axis=axis) / counts).astype(np.float32)
    return means


def _by_worth(inspection: Inspection, layers: Sequence[int]) -> Iterator[str]:
    """Names of what the walk needs and cannot compute, the first layers of `layers` before the others."""
    config = inspection.model.config
    yield from ("source_embedding.scaled", "target_embedding.scaled")
    encoder = _order(layers, config.encoder_layers, default=0)
    decoder = _order(layers, config.decoder_layers, default=config.decoder_layers - 1)
    yield from _layer(f"encoder.{encoder[0]}", ("self_attention",))
    yield from _layer(f"decoder.{decoder[0]}", ("self_attention", "cross_attention"))
    yield from ("memory", "features")
    for place in range(1, max(len(encoder), len(decoder))):
        if place < len(encoder):
            yield from _layer(f"encoder.{encoder[place]}", ("self_attention",))
        if place < len(decoder):
            yield from _layer(f"decoder.{decoder[place]}", ("self_attention", "cross_attention"))


def _order(layers: Sequence[int], depth: int, default: int) -> list[int]:
    asked = [layer - 1 for layer in layers if 1 <= layer <= depth] or [default]
    return list(dict.fromkeys([*asked, *range(depth)]))


def _layer(layer: str, attentions: Sequence[str]) -> Iterator[str]:
    yield f"{layer}.add_norm.0.x"
    for place, attention in enumerate(attentions):
        yield from (f"{layer}.{attention}.{leaf}" for leaf in ("q", "k", "v", "heads", "output"))
        yield f"{layer}.add_norm.{place}.normed"
    yield f"{layer}.feed_forward.output"
    yield f"{layer}.add_norm.{len(attentions)}.normed"
    yield from (f"{layer}.feed_forward.inner", f"{layer}.feed_forward.active")
