"""A folder of CTranslate2 with its SentencePiece models → a bundle that only CTranslate2 runs.

Input: what ct2-transformers-converter, OpenNMT-py, Eole (quickmt), Marian's or fairseq's converter wrote, with the
SentencePiece files in the same folder. Output: the network with its vocabulary renumbered (`rows`), a tokenizer of
the same numbering (`tokenizer`), and a configuration whose [model] is read from the headers of model.bin.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dragoman.config import ModelConfig
from dragoman.errors import ConfigError, ModelError
from dragoman.importing.files.foreign import Foreign, Origin, foreign_config, origin_of_folder
from dragoman.importing.files.model_bin import ModelBin
from dragoman.importing.opennmt.folder import ENDED, CT2Folder, read_ct2_folder
from dragoman.importing.opennmt.rows import TARGET_TABLES, Renumbering, quantization, source_table, write_engine_folder
from dragoman.importing.opennmt.tokenizer import FolderTokenizer, is_language, language_pair, read_tokenizer

CHANGES = ("The vocabulary is renumbered; the weights, and what the network computes, are the same.",)
DEQUANTISED = "The weights were dequantised."
REMEDY = "import it without --weights"
# CTranslate2's numbers of activations that our networks have.
RELU, SWISH = 0, 2


def read_ctranslate2(path: Path, *, pair: tuple[str, str] | None, scratch: Path, weights: bool = False) -> Foreign:
    """Read a folder of CTranslate2, with `weights` as a network that can be trained, which needs torch.

    Raises ConfigError without a pair of languages, and ModelError.
    """
    if pair is None:
        raise ConfigError("--pair: a folder of CTranslate2 names no languages; give them, as in --pair en-ko")
    folder = read_ct2_folder(path)
    folder_tokenizer = read_tokenizer(folder)
    marked = language_pair(folder, folder_tokenizer, pair)
    project = {"pairs": [marked]} if marked else {}
    origin = origin_of_folder("ctranslate2", path, [*folder.files, *folder_tokenizer.files], CHANGES)
    return foreign_of(folder, folder_tokenizer, path, pair, origin, scratch, project=project, weights=weights)


def foreign_of(
    folder: CT2Folder,
    folder_tokenizer: FolderTokenizer,
    path: Path,
    pair: tuple[str, str],
    origin: Origin,
    scratch: Path,
    *,
    project: Mapping[str, Any],
    weights: bool,
    decode: Mapping[str, Any] = {},
    notes: Sequence[str] = (),
) -> Foreign:
    """The model of a checked folder that was read from `path`; its files for the engine are written to `scratch`."""
    start = folder.config["decoder_start_token"]
    target = Renumbering.of(folder_tokenizer.target, folder.target, start)
    source = target if folder.shared else Renumbering.of(folder_tokenizer.source, folder.source, start)
    shape, has_network = model_shape(folder)
    languages = {"source": pair[0], "target": pair[1], **project}
    if weights and folder.config["add_source_bos"]:
        languages["pairs"] = [_beginning_with_its_mark(folder, pair, project)]
    config = foreign_config(path, languages, model=shape, tokenizer=folder_tokenizer.keys, decode=decode)
    notes = [*folder.notes, *folder_tokenizer.notes, *notes]
    foreign = Foreign(config, folder_tokenizer.tokenizer, origin, notes=notes)
    if not weights:
        if not has_network:
            notes.append("a network that Dragoman's own has no options for: [model] gives its sizes")
        engine_folder = write_engine_folder(folder, source, target, scratch)
        return replace(foreign, engine_folder=engine_folder, parameters=folder.model.parameters)
    if not has_network:
        raise ModelError(f"{folder.model.path}: an architecture that Dragoman's network has no options for; {REMEDY}")
    try:
        from dragoman.importing.opennmt.weights import weights_of
    except ImportError:
        raise ModelError(f'{folder.path}: --weights needs `pip install "dragoman[train]"`') from None
    assert isinstance(config.model, ModelConfig), "CTranslate2 runs Transformers alone"
    network, tensors = weights_of(folder, config.model, source, target)
    if quantization(folder.model) != "float32":
        origin = replace(origin, changes=(*origin.changes, DEQUANTISED))
    if not folder.config["add_source_eos"]:
        origin = replace(origin, changes=(*origin.changes, f"{ENDED.capitalize()}."))
        notes.append(f"{ENDED}: it may translate worse until it is trained further")
    return replace(foreign, config=config.model_copy(update={"model": network}), origin=origin, tensors=tensors)


def _beginning_with_its_mark(folder: CT2Folder, pair: tuple[str, str], project: Mapping[str, Any]) -> dict[str, Any]:
    """The pair with the language token that CTranslate2 puts before each source by itself. Raises ModelError."""
    if not is_language(folder.config["bos_token"]):
        folder.refuse_source_start()
    marked = {"source": pair[0], "target": pair[1], **dict(*project.get("pairs", ()))}
    return marked | {"source_marks": [folder.config["bos_token"]]}


def model_shape(folder: CT2Folder) -> tuple[dict[str, Any], bool]:
    """The keys of [model] by the headers of model.bin, and whether they describe the whole network.

    A network of another architecture has its sizes there. Raises ModelError if a size is missing.
    """
    model, layer = folder.model, "encoder/layer_0"
    widths = {name: model.find(f"{layer}/{name}/weight") for name in ("ffn/linear_0", "self_attention/linear_1")}
    inner, heads_side_by_side = widths.values()
    heads = model.number("encoder/num_heads", 16 if model.specification == "TransformerBig" else 8)
    if not inner or not heads_side_by_side or heads < 1 or len(heads_side_by_side.shape) != 2:
        raise ModelError(f"{model.path}: has no {layer} with attention and feed-forward network; not supported")
    d_model = heads_side_by_side.shape[0]
    glu, swish = f"{layer}/ffn/linear_0_noact/weight" in model, model.number("encoder/activation", RELU) == SWISH
    rotary = f"{layer}/self_attention/rotary_dim" in model
    keys = {
        "encoder_layers": _layers(model, "encoder"),
        "decoder_layers": _layers(model, "decoder"),
        "d_model": d_model,
        "d_ff": inner.shape[0],
        "heads": heads,
        "d_k": heads_side_by_side.shape[1] // heads,
        "d_v": heads_side_by_side.shape[1] // heads,
        "norm_order": "pre" if model.flag("encoder/pre_norm", True) else "post",
        "norm": "layer" if f"{layer}/self_attention/layer_norm/beta" in model else "rms",
        "positions": "rotary" if rotary else "sinusoidal",
        "feed_forward": "swiglu" if glu else "silu" if swish else "relu",
        "bias": f"{layer}/ffn/linear_0/bias" in model,
        "output_bias": "decoder/projection/bias" in model,
        "tie": _tie(folder),
    }
    return keys, _is_ours(model, keys)


def _is_ours(model: ModelBin, keys: Mapping[str, Any]) -> bool:
    activation = model.number("encoder/activation", RELU)
    others = ("relative_position_keys", "relative_attention_bias", "num_heads_kv", "q_norm/gamma")
    return (
        activation == (SWISH if keys["feed_forward"] != "relu" else RELU)
        and (keys["positions"] == "rotary" or "encoder/position_encodings/encodings" in model)
        and model.flag("encoder/scale_embeddings", True)
        and "encoder/layernorm_embedding/gamma" not in model
        and not any(f"encoder/layer_0/self_attention/{name}" in model for name in others)
    )


def _layers(model: ModelBin, stack: str) -> int:
    names = {re.match(rf"{stack}/layer_(\d+)/", name) for name in (*model.variables, *model.aliases)}
    return len({match[1] for match in names if match})


def _tie(folder: CT2Folder) -> str:
    model = folder.model
    tables = [model.aliases.get(name, name) for name in (source_table(model), *TARGET_TABLES)]
    if tables[1] != tables[2]:
        return "none"
    return "all" if tables[0] == tables[1] and folder.shared else "target"
