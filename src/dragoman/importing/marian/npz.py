"""Marian's own files (Junczys-Dowmunt et al. 2018), as in the archives of OPUS-MT: .npz, vocabulary, SentencePiece.

Such a model is our Transformer: Post-LN or Pre-LN, sinusoids, biases. What differs in form is removed here: matrices
are [in, out], the transpose of ours; all sines come before all cosines; the decoder starts from a zero vector, so that
BOS is a row of zeros. Marian's frequencies are 10000^(−i / (d/2 − 1)), which is the paper's formula with another base.
Copies of such models in Hugging Face's form compute them with the paper's base instead.
"""

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.errors import ConfigError, ModelError
from dragoman.importing.files.foreign import Foreign, foreign_config, origin_of_folder
from dragoman.importing.files.languages import is_target_mark, languages, listed, tags_of
from dragoman.importing.files.pieces import NumberedSides, Renumbered, SpecialIds, read_model, renumber
from dragoman.importing.files.settings import model_config, read_text
from dragoman.importing.marian.layers import interleaving, marian_base, our_weights
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
SETTINGS = "special:model.yml"
SSRU = "an SSRU decoder, which neither engine has; take an OPUS-MT model of this pair"
OTHER = "the model has another architecture; take its copy in Hugging Face's form, or another model of this pair"
# Options of Marian with the values that they may have; the first is that of a file that leaves the option out.
REQUIRED: dict[str, tuple[str, ...]] = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-postprocess-emb": ("d", ""),
    "transformer-no-projection": ("false",),
    "transformer-train-position-embeddings": ("false",),
    "transformer-ffn-depth": ("2",),
    "transformer-decoder-ffn-depth": ("0", "2"),
    "factors-dim-emb": ("0",),
    "lemma-dim-emb": ("0",),
    "transformer-tied-layers": ("",),
    "tied-embeddings-src": ("false",),
}
# Before a sub-layer, after it, after the last layer: n is a norm, a the residual sum, d dropout.
ORDERS = {("", "dan", ""): "post", ("", "an", ""): "post", ("n", "da", "n"): "pre", ("n", "a", "n"): "pre"}
ACTIVATIONS = {"relu": "relu", "swish": "silu"}
_KEY = re.compile(r"([\w-]+):(?:\s+(.*))?")
_ITEM = re.compile(r"\s*-\s+(.*)")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
# What a backslash makes of a letter; of other characters it makes themselves.
_LETTERS = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"}
_LETTERS |= {"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}

Settings = dict[str, str | list[str]]


@dataclass(frozen=True)
class Files:
    """The files of a model."""

    folder: Path
    network: Path
    vocabularies: tuple[Path, Path]
    """Source and target: YAML files or SentencePiece models; the same path twice for one numbering."""
    models: tuple[Path, Path]
    """The SentencePiece models of source and target."""
    settings: Path
    """What Marian calls decoder.yml; it need not be there."""

    @property
    def names(self) -> list[str]:
        """The files in the folder that were read."""
        paths = [self.network, *self.vocabularies, *self.models, self.settings]
        return sorted({path.name for path in paths if path.is_file() and path.parent == self.folder})


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


def find_files(path: Path) -> Files:
    """The files that decoder.yml names, or that are alone in the folder. Raises ModelError.

    Marian itself writes `model.npz.decoder.yml` next to a model that it trains, and an optimizer as another .npz.
    """
    folder = path if path.is_dir() else path.parent
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.endswith(".optimizer.npz"))
    of_models = [name for name in names if name.endswith(".npz.decoder.yml")]
    name = f"{path.name}.decoder.yml" if path.is_file() else of_models[0] if len(of_models) == 1 else ""
    file = folder / (name if name in of_models else "decoder.yml")
    settings = parse_settings(read_text(file)) if file.is_file() else {}
    network = path if path.is_file() else _only(folder, _listed(settings, "models"), names, ".npz")
    if bpe := [name for name in names if name.endswith(".bpe")]:
        raise ModelError(
            f"{folder / bpe[0]}: text is segmented by Moses and BPE, which is not supported; take the SentencePiece "
            "model of this pair"
        )
    vocabularies = [_inside(folder, name) for name in _listed(settings, "vocabs")]
    if not vocabularies:
        vocabularies = [_only(folder, _vocabularies(names), names, ".vocab.yml")]
    if len(vocabularies) > 2:
        raise ModelError(f"{file}: vocabs: {len(vocabularies)} sources or factors; {OTHER}")
    ends = vocabularies[0], vocabularies[-1]
    models = ends if ends[0].suffix == ".spm" else (folder / "source.spm", folder / "target.spm")
    return Files(folder, network, ends, models, file)


def _vocabularies(names: list[str]) -> list[str]:
    """The names of files that may be the only vocabulary: YAML, or else one SentencePiece model for both sides."""
    lists = [name for name in names if name.endswith(".yml") and name != "decoder.yml" and ".npz." not in name]
    joint = [name for name in names if name.endswith(".spm") and name not in ("source.spm", "target.spm")]
    return [name for name in lists if ".vocab." in name] or lists or joint


def _only(folder: Path, stated: list[str], names: list[str], suffix: str) -> Path:
    """The file that is listed, or the only one of this kind. Raises ModelError."""
    candidates = stated or [name for name in names if name.endswith(suffix) and name != "decoder.yml"]
    if len(candidates) != 1:
        named = "none" if not candidates else ", ".join(candidates[:5])
        raise ModelError(f"{folder}: one *{suffix} is needed, found: {named}; give the .npz, with its decoder.yml")
    return _inside(folder, candidates[0])


def _inside(folder: Path, name: str) -> Path:
    """The file of this name in `folder`, whatever folder decoder.yml names: that is of the machine that trained."""
    return folder / re.split(r"[\\/]", name)[-1]


def _listed(settings: Settings, key: str) -> list[str]:
    value = settings.get(key, [])
    return [value] if isinstance(value, str) else value


def model_keys(options: Settings, where: str) -> dict[str, Any]:
    """The keys of [model] of a model with Marian's `options`. Raises ModelError if it is another architecture."""
    if _option(options, "transformer-decoder-autoreg") == "rnn":
        raise ModelError(f"{where}: {SSRU}")
    for key, allowed in REQUIRED.items():
        value = _option(options, key) or allowed[0]
        if value not in allowed:
            raise ModelError(f"{where}: {key}: must be {allowed[0] or 'empty'}, not {value}; {OTHER}")
    order = tuple(_option(options, f"transformer-{key}") for key in ("preprocess", "postprocess", "postprocess-top"))
    if order not in ORDERS:
        named = " and ".join(repr(part) for part in order)
        raise ModelError(f"{where}: transformer-preprocess, postprocess and postprocess-top: {named}; {OTHER}")
    activation = _option(options, "transformer-ffn-activation") or "swish"
    if activation not in ACTIVATIONS:
        raise ModelError(f"{where}: transformer-ffn-activation: {activation} is none of relu, swish; {OTHER}")
    width, inner = _number(options, "dim-emb", where), _number(options, "transformer-dim-ffn", where)
    if _option(options, "transformer-decoder-dim-ffn") not in ("", "0", str(inner)):
        raise ModelError(f"{where}: transformer-decoder-dim-ffn: differs from the encoder's; {OTHER}")
    if width < 4 or width % 2 or width % (heads := _number(options, "transformer-heads", where)):
        raise ModelError(f"{where}: dim-emb: {width} must be even and a multiple of transformer-heads; {OTHER}")
    tied = next((k for k in ("all", "") if _option(options, f"tied-embeddings{k and '-' + k}") == "true"), None)
    return {
        "encoder_layers": _number(options, "enc-depth", where),
        "decoder_layers": _number(options, "dec-depth", where),
        "d_model": width,
        "d_ff": inner,
        "heads": heads,
        "norm_order": ORDERS[order],
        "position_base": marian_base(width),
        "feed_forward": ACTIVATIONS[activation],
        "tie": {"all": "all", "": "target", None: "none"}[tied],
    }


def _option(options: Settings, key: str) -> str:
    value = options.get(key, "")
    return " ".join(value) if isinstance(value, list) else value


def _number(options: Settings, key: str, where: str) -> int:
    value = _option(options, key)
    if not value.isdecimal() or not 0 < int(value) < 1 << 20:
        raise ModelError(f"{where}: {key}: a whole number above 0 is needed, not {value!r}; fetch the file again")
    return int(value)


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
    tags = tags_of(mark[2:-2] for mark in source.marks)
    if not pair:
        into = f"this model translates into {listed(list(tags))}; choose"
        what = into if tags else f"{path} does not say its languages; give them"
        raise ConfigError(f"--pair: {what}, as in --pair ko-en")
    return languages(path, {}, source.marks, pair)[0]


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
        (source, target),
        arrays,
        lambda ours: names.get(ours) or marian_name(ours, config.norm_order == "pre"),
        permutation=interleaving(config.d_model),
        extras=extras,
        where=where,
    )
    return keys, weights


def parse_settings(text: str) -> Settings:
    """The keys at the beginning of lines, with their values as texts, or as lists of texts."""
    settings: Settings = {}
    items: list[str] = []
    for line in (line.split(" #")[0].rstrip() for line in text.split("\n")):
        if match := _KEY.fullmatch(line):
            value = (match[2] or "").strip()
            listed = value.startswith("[") and value.endswith("]")
            items = [_scalar(item) for item in value[1:-1].split(",") if item.strip()] if listed else []
            settings[match[1]] = items if listed or not value else _scalar(value)
        elif match := _ITEM.fullmatch(line):
            items.append(_scalar(match[1]))
    return settings


def parse_vocabulary(text: str, where: Path) -> dict[str, int]:
    """Piece → id, from lines `piece: id`. Raises ModelError for another line, and for a piece or an id twice."""
    vocabulary: dict[str, int] = {}
    key: str | None = None
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line or line in ("---", "..."):
            continue
        if line.startswith("? "):  # a long key has a line of its own
            key = line[2:]
            continue
        piece, _, id_ = (key or "", ":", line[1:]) if line.startswith(": ") and key else line.rpartition(":")
        if not piece or not id_.strip().isdecimal():
            raise ModelError(f"{where}:{number}: not a piece and its id; fetch the file again")
        piece, key = _scalar(piece), None
        if piece in vocabulary:
            raise ModelError(f"{where}:{number}: {piece!r} is there twice; fetch the file again")
        vocabulary[piece] = int(id_)
    if len(set(vocabulary.values())) != len(vocabulary):
        raise ModelError(f"{where}: two pieces have the same id; fetch the file again")
    return vocabulary


def _scalar(text: str) -> str:
    """The text of a plain, 'single' or "double" quoted scalar."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return _ESCAPE.sub(_unescaped, text[1:-1])
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def _unescaped(match: "re.Match[str]") -> str:
    code = match[1] or match[2] or match[3]
    return chr(int(code, 16)) if code else _LETTERS.get(match[4], match[4])
