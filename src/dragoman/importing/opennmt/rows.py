"""A network of CTranslate2 with its vocabulary renumbered, so that it is an export like Dragoman's own.

Only the rows of the embeddings and of the projection are moved; every other byte stays. Two things are added: rows for
pieces of the tokenizer that the network never learned, which are copies of the unknown piece's, and a bias that keeps
PAD, UNK, BOS and those pieces from being generated, as in every export.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.decode.hypothesis import FORBIDDEN_IDS, FORBIDDEN_LOGIT
from dragoman.errors import ModelError
from dragoman.importing.files.model_bin import Array, ModelBin, Written, unchanged, write_model_bin
from dragoman.importing.opennmt.folder import CONFIG, WEIGHTS, CT2Folder
from dragoman.text.tokens.tokenizer import BOS

# FORBIDDEN_LOGIT in float16, which has no such number.
FORBIDDEN_FLOAT16 = -6e4
SOURCE_TABLES = ("encoder/embeddings_0/weight", "encoder/embeddings/weight")
TARGET_TABLES = ("decoder/embeddings/weight", "decoder/projection/weight")
BIAS = "decoder/projection/bias"
# What older models hold in model.bin, and newer ones in config.json.
IN_CONFIG = ("with_source_bos", "with_source_eos", "with_target_bos", "user_decoder_start_tokens")
# Rows that are moved at a time.
CHUNK = 4096


@dataclass(frozen=True)
class Renumbering:
    """For each piece of the new order its row in the network, and whether the network knows it."""

    order: Sequence[str]
    rows: NDArray[np.int64]
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, order: Sequence[str], pieces: Sequence[str], start: str) -> "Renumbering":
        """From a network's own order to another, whose first pieces are the special tokens; `start` begins targets."""
        row_of = {piece: row for row, piece in enumerate(pieces)}
        unknown = row_of["<unk>"]
        rows = np.array([row_of.get(piece, unknown) for piece in order], dtype=np.int64)
        known = np.array([piece in row_of for piece in order])
        if not known[BOS]:
            rows[BOS] = row_of.get(start, unknown)
        return cls(order, rows, known)


def write_engine_folder(folder: CT2Folder, source: Renumbering, target: Renumbering, parent: Path) -> Path:
    """Write the renumbered network into a new folder of `parent`, named by its quantization. Raises ModelError."""
    folder_of_engine = parent / f"ct2-{quantization(folder.model)}"
    folder_of_engine.mkdir()
    changed, aliases = _changed(folder, source, target)
    write_model_bin(folder_of_engine / WEIGHTS, folder.model, changed, aliases, IN_CONFIG)
    config = dict(folder.config)
    if config["decoder_start_token"] not in target.order:  # a model that starts from a zero vector may name any
        config["decoder_start_token"] = "<s>"
    _write_json(folder_of_engine / CONFIG, config)
    if source.order is target.order:
        _write_json(folder_of_engine / "shared_vocabulary.json", target.order)
    else:
        _write_json(folder_of_engine / "source_vocabulary.json", source.order)
        _write_json(folder_of_engine / "target_vocabulary.json", target.order)
    return folder_of_engine


def quantization(model: ModelBin) -> str:
    """The quantization of a network by CTranslate2's name."""
    table, other = model.find(TARGET_TABLES[0]), _type_of_vectors(model)
    kind = table.type if table else "float32"
    return f"int8_{other}" if kind == "int8" and other != "float32" else kind


def source_table(model: ModelBin) -> str:
    """The name of the source embedding."""
    return next((name for name in SOURCE_TABLES if name in model), SOURCE_TABLES[0])


def _changed(folder: CT2Folder, source: Renumbering, target: Renumbering) -> tuple[dict[str, Written], dict[str, str]]:
    """The variables to write in place of the network's own, and the aliases that remain."""
    model = folder.model
    tables = {source_table(model): source} | dict.fromkeys(TARGET_TABLES, target)
    aliases, changed = dict(model.aliases), dict[str, Written]()
    for name, numbering in tables.items():
        _check_rows(model, name, len(folder.source if numbering is source else folder.target))
        owner = model.aliases.get(name, name)
        if owner != name and tables.get(owner) is numbering:
            continue
        changed[name] = _renumbered(model, owner, numbering)
        if f"{owner}_scale" in model:
            changed[f"{name}_scale"] = _renumbered(model, f"{owner}_scale", numbering)
    changed[BIAS] = _bias(model, len(folder.target), target)
    for alias in changed.keys() & aliases.keys():
        del aliases[alias]
    expected = {*tables, *(f"{name}_scale" for name in tables)}
    for alias, owner in list(aliases.items()):  # a vector that happened to be equal, and keeps its values
        if owner in changed and alias not in expected:
            del aliases[alias]
            changed[alias] = unchanged(model, owner)
    return changed, aliases


def _check_rows(model: ModelBin, name: str, pieces: int) -> None:
    variable = model.find(name)
    if variable is None:
        raise ModelError(f"{model.path}: has no {name}, so it is not a Transformer with embeddings; not supported")
    if len(variable.shape) != 2 or variable.shape[0] != pieces:
        raise ModelError(
            f"{model.path}: {name} is of the shape {variable.shape}, but the vocabulary has {pieces:,} pieces; "
            "is it of another model?"
        )


def _renumbered(model: ModelBin, name: str, numbering: Renumbering) -> Written:
    """The rows of a matrix, or of its scales; int16 has one scale for the matrix."""
    variable = model.find(name)
    assert variable
    if not variable.shape:
        return Written((), variable.type, [model.array(name)])
    shape = (len(numbering.rows), *variable.shape[1:])
    table, rows = model.array(name), numbering.rows
    chunks = (table[rows[start : start + CHUNK]] for start in range(0, len(rows), CHUNK))
    return Written(shape, variable.type, chunks)


def _bias(model: ModelBin, pieces: int, target: Renumbering) -> Written:
    """The bias on the logits, which never lets a forbidden piece win; of the type of the network's other vectors."""
    known = model.find(BIAS)
    if known and known.shape != (pieces,):
        raise ModelError(
            f"{model.path}: {BIAS} is of the shape {known.shape}, not ({pieces},); is it of another model?"
        )
    values = model.floats(BIAS)[target.rows] if known else np.zeros(len(target.rows), np.float32)
    values[list(FORBIDDEN_IDS)] = FORBIDDEN_LOGIT
    values[~target.known] = FORBIDDEN_LOGIT
    kind = _type_of_vectors(model)
    return Written(values.shape, kind, [_as_type(values, kind)])


def _type_of_vectors(model: ModelBin) -> str:
    gain = model.find("decoder/layer_0/ffn/layer_norm/gamma")
    return gain.type if gain else "float32"


def _as_type(values: NDArray[np.float32], kind: str) -> Array:
    if kind == "float16":
        return np.maximum(values, FORBIDDEN_FLOAT16).astype(np.float16)
    if kind == "bfloat16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values


def _write_json(path: Path, content: Mapping[str, Any] | Sequence[str]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
