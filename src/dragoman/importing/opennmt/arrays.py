"""A network of CTranslate2 as NumPy arrays by the names of our Transformer, int8 as it is stored. Needs no torch.

CTranslate2 writes the projections of queries, keys and values as one matrix, those of keys and values of the attention
to the memory as another, and int8 as w = q / scale with a scale for each row.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import ModelError
from dragoman.importing.files.model_bin import Array, ModelBin
from dragoman.importing.opennmt.folder import CT2Folder
from dragoman.importing.opennmt.rows import BIAS, SOURCE_TABLES, TARGET_TABLES, source_table
from dragoman.text.tokens.tokenizer import BOS

# Our modules of a layer, by CTranslate2's names.
MODULES = {
    "self_attention/linear_0": ("self_attention.w_q", "self_attention.w_k", "self_attention.w_v"),
    "self_attention/linear_1": ("self_attention.w_o",),
    "attention/linear_0": ("cross_attention.w_q",),
    "attention/linear_1": ("cross_attention.w_k", "cross_attention.w_v"),
    "attention/linear_2": ("cross_attention.w_o",),
    "ffn/linear_0": ("feed_forward.w_1",),
    "ffn/linear_0_noact": ("feed_forward.w_3",),
    "ffn/linear_1": ("feed_forward.w_2",),
    "self_attention/layer_norm": ("self_attention_norm.norm",),
    "attention/layer_norm": ("cross_attention_norm.norm",),
    "ffn/layer_norm": ("feed_forward_norm.norm",),
}
KINDS = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}
POSITIONS = "encoder/position_encodings/encodings"
# The largest difference of a stored position from its formula: float16 is the coarsest.
POSITION_ERROR = 2e-3
# How many rows of the table are compared with the formula.
COMPARED = 256


def our_names(name: str) -> tuple[str, ...]:
    """Our names of the parts of a variable, one after another in its rows; empty for one that we have no name for."""
    path, _, kind = name.rpartition("/")
    if kind not in KINDS:
        return ()
    if match := re.fullmatch(r"(encoder|decoder)/layer_norm", path):
        return (f"{match[1]}_norm.{KINDS[kind]}",)
    match = re.fullmatch(r"(encoder|decoder)/layer_(\d+)/(.*)", path)
    parts = MODULES.get(match[3], ()) if match else ()
    return tuple(f"{match[1]}.{match[2]}.{part}.{KINDS[kind]}" for part in parts) if match else ()


def arrays_of(folder: CT2Folder) -> dict[str, tuple[Array, NDArray[np.float32] | None]]:
    """The values of each tensor by our name and, of int8, the factor of each row; a tied matrix is one object.

    The row of BOS is that of the piece which targets begin with. Raises ModelError for a model whose sources begin with
    a piece that CTranslate2 puts there.
    """
    model = folder.model
    tables = {
        "source_embedding.weight": source_table(model),
        "target_embedding.weight": TARGET_TABLES[0],
        "projection": TARGET_TABLES[1],
    }
    folder.refuse_source_start()
    read = {name: _stored(model, name) for name in dict.fromkeys(model.aliases.get(v, v) for v in tables.values())}
    _start_with(folder.start_row, *read[model.aliases.get(TARGET_TABLES[0], TARGET_TABLES[0])])
    arrays = {ours: read[model.aliases.get(theirs, theirs)] for ours, theirs in tables.items()}
    if BIAS in model:
        arrays["projection_bias"] = _stored(model, BIAS)
    for name in (*model.variables, *model.aliases):
        if name not in {*SOURCE_TABLES, *TARGET_TABLES, BIAS}:
            arrays |= dict(_parts(model, name))
    return arrays


def _start_with(row: int, table: Array, scales: NDArray[np.float32] | None) -> None:
    """Make the row of BOS, which is never generated, that of the piece which targets begin with; −1: zeros."""
    table[BOS] = 0 if row < 0 else table[row]
    if scales is not None and row >= 0:
        scales[BOS] = scales[row]


def _parts(model: ModelBin, name: str) -> Iterator[tuple[str, tuple[Array, NDArray[np.float32] | None]]]:
    names = our_names(name)
    if not names:
        return
    values, scales = _stored(model, name)
    rows = np.split(values, len(names))
    factors = [None] * len(names) if scales is None else np.split(scales, len(names))
    yield from zip(names, zip(rows, factors, strict=True), strict=True)


def _stored(model: ModelBin, name: str) -> tuple[Array, NDArray[np.float32] | None]:
    owner = model.aliases.get(name, name)
    if model.variables[owner].type != "int8" or f"{owner}_scale" not in model:
        return model.floats(owner), None
    return np.array(model.array(owner)), np.float32(1) / model.floats(f"{owner}_scale")


def positions_of(folder: CT2Folder, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Base, first position and order of sinusoids, by comparing the table of a network with the formulas.

    Raises ModelError for positions that are of no formula.
    """
    if keys["positions"] != "sinusoidal":
        return {}
    table, width = folder.model.floats(POSITIONS)[:COMPARED], keys["d_model"]
    bases = [10000.0, 10000 ** ((width / 2) / (width / 2 - 1))] if width > 2 else [10000.0]
    for base in bases:
        for first in (0, 1, 2):
            places, even = np.arange(first, first + len(table))[:, None], np.arange(0, width, 2)
            angles = places / base ** (even / width)
            for halves in (False, True):
                pair = (np.sin(angles), np.cos(angles))
                known = np.concatenate(pair, 1) if halves else np.stack(pair, -1).reshape(len(table), -1)[:, :width]
                if known.shape == table.shape and np.abs(known - table).max() < POSITION_ERROR:
                    return {"position_base": base, "first_position": first, "position_halves": halves}
    raise ModelError(f"{folder.model.path}: its positions are learned, or of another formula; a page cannot run it")
