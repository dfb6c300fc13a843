"""A network of CTranslate2 back to weights that can be trained: dequantised, by the names of our Transformer.

CTranslate2 writes the projections of queries, keys and values as one matrix, those of keys and values of the attention
to the memory as another, and int8 as w = q / scale with a scale for each row. Dequantised weights are the network that
CTranslate2 runs, not the one that was quantised: a start for fine-tuning.
Exported to int8 again they are the same int8.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from dragoman.config import ModelConfig
from dragoman.decode.hypothesis import FORBIDDEN_IDS, FORBIDDEN_LOGIT
from dragoman.errors import ModelError
from dragoman.importing.files.model_bin import ModelBin
from dragoman.importing.files.settings import model_config
from dragoman.importing.marian.layers import interleaving, marian_base, our_weights
from dragoman.importing.opennmt.arrays import KINDS, POSITION_ERROR, POSITIONS, our_names
from dragoman.importing.opennmt.folder import CT2Folder
from dragoman.importing.opennmt.rows import BIAS, TARGET_TABLES, Renumbering, source_table
from dragoman.model.parts.embedding import positional_encoding
from dragoman.text.tokens.tokenizer import BOS, PAD

REMEDY = "import it without --weights"
# Of the norms: below it, the difference is that of rounding.
LARGEST_EPSILON = 1e-5


def weights_of(
    folder: CT2Folder, config: ModelConfig, source: Renumbering, target: Renumbering
) -> tuple[ModelConfig, dict[str, Tensor]]:
    """The weights, and the shape with what the tables say about positions. Raises ModelError for other networks."""
    model = folder.model
    _check_numbers(folder)
    permutation, keys = _positions(model, config)
    unlearned = bool((~target.known[4:]).any())
    changes = {**keys, "output_bias": config.output_bias or unlearned}
    shape = model_config(config.model_dump(exclude={"layers", "preset"}) | changes, folder.path)
    rows = torch.from_numpy(source.rows.copy()), torch.from_numpy(target.rows.copy())
    for order in rows:
        order[PAD] = -1
    rows[1][BOS] = folder.start_row  # that of </s>, for example, although there is a <s>
    if shape.tie == "all" and not folder.shared:
        raise ModelError(f"{model.path}: one matrix for two vocabularies; not supported")
    weights = our_weights(
        shape,
        rows,
        dict(_theirs(model, shape)),
        lambda name: name,
        permutation=permutation,
        where=model.path,
    )
    if shape.output_bias:  # what was never learned is never generated; our network masks special tokens by itself
        weights["projection_bias"][torch.from_numpy(~target.known)] = FORBIDDEN_LOGIT
        weights["projection_bias"][list(FORBIDDEN_IDS)] = 0.0
    return shape, weights


def _theirs(model: ModelBin, config: ModelConfig) -> Iterator[tuple[str, Tensor]]:
    """Every learned tensor by our name; one that we have no name for keeps its own, and is refused later."""
    yield "projection", _tensor(model, TARGET_TABLES[1])
    if config.tie == "none":
        yield "target_embedding.weight", _tensor(model, TARGET_TABLES[0])
    if config.tie != "all":
        yield "source_embedding.weight", _tensor(model, source_table(model))
    if config.output_bias and BIAS in model:
        yield "projection_bias", _tensor(model, BIAS)
    tables = {*TARGET_TABLES, source_table(model), BIAS}
    for name in (*model.variables, *model.aliases):
        kind = name.rpartition("/")[2]
        if name in tables or kind not in KINDS:
            continue
        names = our_names(name)
        if not names:
            yield name, torch.zeros(0)
            continue
        yield from zip(names, _tensor(model, name).chunk(len(names)), strict=True)


def _tensor(model: ModelBin, name: str) -> Tensor:
    return torch.from_numpy(model.floats(name).copy())


def _positions(model: ModelBin, config: ModelConfig) -> tuple[Tensor | None, dict[str, Any]]:
    """How the axis of d_model is permuted, and base and first position; by comparing the table with the formulas."""
    if config.positions == "rotary":
        return None, {}
    if POSITIONS not in model:
        raise ModelError(f"{model.path}: has no table of positions, so its formula is not known; {REMEDY}")
    table, width = _tensor(model, POSITIONS), config.d_model
    length = min(len(table), 256)
    orders: list[Tensor | None] = [None] if width % 2 else [None, interleaving(width)]
    for base in (10000.0, marian_base(width)):
        for first in (0, 1, 2):
            expected = positional_encoding(first, length, width, base)
            for order in orders:
                positions = table[:length] if order is None else table[:length, order]
                if positions.shape == expected.shape and (positions - expected).abs().max() < POSITION_ERROR:
                    return order, {"position_base": base, "first_position": first}
    raise ModelError(f"{model.path}: its positions are learned, or of another formula; {REMEDY}")


def _check_numbers(folder: CT2Folder) -> None:
    """Raise ModelError for numbers that our network has otherwise."""
    epsilon = folder.config.get("layer_norm_epsilon")
    if isinstance(epsilon, int | float) and epsilon > LARGEST_EPSILON:
        raise ModelError(f"{folder.path}: layer_norm_epsilon {epsilon:g}: ours is {LARGEST_EPSILON:g}; {REMEDY}")
    attention = "encoder/layer_0/self_attention"
    for name in ("rotary_dim", "rotary_interleave"):
        if folder.model.number(f"{attention}/{name}", 0):
            raise ModelError(f"{folder.model.path}: {name}: heads are rotated in another way; {REMEDY}")
