"""Marian's own files (Junczys-Dowmunt et al. 2018), as in the archives of OPUS-MT: .npz, vocabulary, SentencePiece.

Such a model is our Transformer: Post-LN or Pre-LN, sinusoids, biases. What differs in form is removed here: matrices
are [in, out], the transpose of ours; all sines come before all cosines; the decoder starts from a zero vector, so that
BOS is a row of zeros. Marian's frequencies are 10000^(−i / (d/2 − 1)), which is the paper's formula with another base.
Copies of such models in Hugging Face's form compute them with the paper's base instead.
"""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.errors import ConfigError, ModelError
from dragoman.importing.files.foreign import Foreign, foreign_config, origin_of_folder
from dragoman.importing.files.languages import choose, is_target_mark, listed, tags_of
from dragoman.importing.files.npz_files import (
    OTHER,
    SETTINGS,
    Files,
    Settings,
    find_files,
    model_keys,
    parse_settings,
    parse_vocabulary,
)
from dragoman.importing.files.pieces import NumberedSides, Renumbered, SpecialIds, read_model, renumber
from dragoman.importing.files.settings import model_config, read_text
from dragoman.importing.marian.layers import interleaving, make_unlikely, our_weights
from dragoman.text.tokens.model_file import model_pieces
from dragoman.text.tokens.tokenizer import BOS

PARTS = {"self_attention": "self", "cross_attention": "context", "feed_forward": "ffn"}
NORMS = {"self_attention_norm": "self_Wo", "cross_attention_norm": "context_Wo", "feed_forward_norm": "ffn_ffn"}
LOGITS, BIAS = "decoder_ff_logit_out", "decoder_ff_logit_out_b"
# Marian does not compress its archives; one that grows more than this is none of its.
LARGEST_RATIO = 20
CHANGES = (
    "Dragoman renumbered the pieces, and with them the rows of the embeddings and of the projection.",
    "Dragoman transposed the matrices and permuted the axis of d_model; the function is the same.",
)


def read_npz(path: Path, *, pair: tuple[str, str] | None = None, scratch: Path | None = None) -> Foreign:
    """The model in the folder of an archive, or of a .npz file with its other files next to it.

    Raises ModelError if the model is not whole or of another architecture, ConfigError without a `pair`.
    """
    files = find_files(path)
    arrays, options = read_arrays(files.network)
    model = model_keys(options, f"{files.network}: {SETTINGS}")
    sides = _read_tokenizer(files)
    project = _languages(path, sides.source, pair)
    if model["tie"] == "all" and not sides.shared:
        raise ModelError(f"{files.folder}: tied-embeddings-all with two vocabularies; {OTHER}")
    model, weights = _weights(arrays, model, sides, files.network)
    config = foreign_config(path, project, model=model, tokenizer=sides.keys, decode={"beam": 4})
    origin = origin_of_folder("npz", files.folder, files.names, CHANGES)
    return Foreign(config, sides.tokenizer, origin, tensors=weights, notes=sides.notes)


# --- arrays ---------------------------------------------------------------------------------------------------------


def read_arrays(path: Path) -> tuple[dict[str, Tensor], Settings]:
    """The tensors in a .npz file by Marian's names, and Marian's options. Raises ModelError; no object is unpickled."""
    again = "fetch the file again"
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > LARGEST_RATIO * path.stat().st_size:
            raise ModelError(f"{path}: unpacks to {size:,} bytes, so it is none of Marian's; {again}")
        with np.load(path, allow_pickle=False) as archive:
            if SETTINGS not in archive.files:
                raise ModelError(f"{path}: no {SETTINGS} in it, so not a model of Marian; {again}")
            options = parse_settings(archive[SETTINGS].tobytes().rstrip(b"\0").decode())
            arrays = {name: _tensor(archive[name], f"{path}: {name}") for name in archive.files if name != SETTINGS}
    except (zipfile.BadZipFile, OSError, ValueError, EOFError, NotImplementedError) as error:
        raise ModelError(f"{path}: cannot be read: {error}; {again}") from None
    return arrays, options


def _tensor(array: Any, where: str) -> Tensor:
    """A matrix of Marian, transposed to [out, in] unless its rows are pieces. Raises ModelError."""
    if array.dtype not in (np.float32, np.float16, np.float64) or array.ndim != 2:
        raise ModelError(f"{where}: {array.dtype} of {array.ndim} dimensions, expected a matrix of float32; {OTHER}")
    tensor = torch.from_numpy(array)
    name = where.rpartition(" ")[2]
    is_linear = re.search(r"_W[qkvo12]?$", name) is not None
    return tensor.T if is_linear else tensor


# --- vocabulary → tokenizer ------------------------------------------------------------------------------------------


def _read_tokenizer(files: Files) -> NumberedSides:
    models = [(path, read_model(path)) for path in files.models]
    vocabularies = [_read_vocabulary(path) for path in files.vocabularies]
    if vocabularies[0] == vocabularies[1]:
        shared = _renumbered(models, vocabularies[0], files, 0)
        return NumberedSides(shared, shared)
    source, target = (_renumbered([models[side]], vocabularies[side], files, side) for side in (0, 1))
    return NumberedSides(source, target)


def _renumbered(models: list[tuple[Path, bytes]], vocabulary: dict[str, int], files: Files, side: int) -> Renumbered:
    where = files.vocabularies[side]
    for piece in ("<unk>", "</s>"):
        if piece not in vocabulary:
            raise ModelError(f"{where}: has no {piece}; fetch the file again")
    end = vocabulary["</s>"]
    special = SpecialIds(vocabulary["<unk>"], end, end)
    return renumber(dict(models), vocabulary, special, is_target_mark, where)


def _read_vocabulary(path: Path) -> dict[str, int]:
    if path.suffix == ".spm":  # Marian's own use of SentencePiece: ids are those of the model
        return {piece.text: id_ for id_, piece in enumerate(model_pieces(read_model(path)))}
    return parse_vocabulary(read_text(path), path)


def _languages(path: Path, source: Renumbered, pair: tuple[str, str] | None) -> dict[str, Any]:
    """The keys of [project] but for its name. Raises ConfigError."""
    tags = tags_of(mark[2:-2] for mark in source.marks)
    if not pair:
        into = f"this model translates into {listed(list(tags))}; choose"
        what = into if tags else f"{path} does not say its languages; give them"
        raise ConfigError(f"--pair: {what}, as in --pair ko-en")
    languages = {"source": pair[0], "target": pair[1]}
    if not tags:
        return languages
    return {**languages, "pairs": [{**languages, "source_marks": [f">>{choose(pair[1], tags)}<<"]}]}


# --- tensors ---------------------------------------------------------------------------------------------------------


def marian_name(ours: str, pre: bool) -> str:
    """Marian's name of a tensor of a layer, or of the norm after the last layer (Pre-LN)."""
    kind = "scale" if ours.endswith("weight") else "bias"
    if ours.startswith(("encoder_norm.", "decoder_norm.")):
        return f"{ours[:7]}_top_ln_{kind}"
    stack, number, module, leaf, _ = ours.split(".")
    layer = f"{stack}_l{int(number) + 1}"
    if module in NORMS:
        return f"{layer}_{NORMS[module]}_ln_{kind}" + ("_pre" if pre else "")
    return f"{layer}_{PARTS[module]}_{'W' if kind == 'scale' else 'b'}{leaf[-1]}"


def _weights(
    arrays: dict[str, Tensor], model: Mapping[str, Any], sides: NumberedSides, where: Path
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The keys of [model], with `output_bias`, and our weights. Raises ModelError."""
    source, target = (torch.tensor(side.rows) for side in (sides.source, sides.target))
    source[BOS] = target[BOS] = -1
    extras = sides.target.extras
    keys = {**model, "output_bias": BIAS in arrays or extras > 0}
    if extras and BIAS not in arrays:
        arrays[BIAS] = torch.zeros(1, int(target.max()) + 1)
    shared = "Wemb" if "Wemb" in arrays else None
    names = {
        "projection_bias": BIAS,
        "source_embedding.weight": shared or "encoder_Wemb",
        "target_embedding.weight": shared or "decoder_Wemb",
    }
    logits = LOGITS + ("_Wt" if f"{LOGITS}_Wt" in arrays else "_W")
    names["projection"] = logits if model["tie"] == "none" else names["target_embedding.weight"]
    config = model_config(keys, where)
    weights = our_weights(
        config,
        (len(source), len(target)),
        arrays,
        lambda ours: names.get(ours) or marian_name(ours, config.norm_order == "pre"),
        rows={"source_embedding.weight": source}
        | dict.fromkeys(("target_embedding.weight", "projection", "projection_bias"), target),
        permutation=interleaving(config.d_model),
        where=where,
    )
    make_unlikely(weights, extras)
    return keys, weights
