"""Marian's files and options: which files a model consists of, and the keys of [model] that its options mean.

Input: a folder or a .npz file; `special:model.yml`, the options inside of it. Output: paths; keys.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.errors import ModelError
from dragoman.importing.files.settings import read_text

_KEY = re.compile(r"([\w-]+):(?:\s+(.*))?")
_ITEM = re.compile(r"\s*-\s+(.*)")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
# What a backslash makes of a letter; of other characters it makes themselves.
_LETTERS = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"}
_LETTERS |= {"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}

Settings = dict[str, str | list[str]]


def parse_settings(text: str) -> Settings:
    """The keys at the beginning of lines, with their values as texts, or as lists of texts."""
    settings: Settings = {}
    items: list[str] = []
    for line in (line.split(" #")[0].rstrip() for line in text.splitlines()):
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


@dataclass(frozen=True)
class Files:
    """The files of a model."""

    folder: Path
    network: Path
    vocabularies: tuple[Path, Path]
    """Source and target: YAML files or SentencePiece models; the same path twice for one numbering."""
    models: tuple[Path, Path]
    """The SentencePiece models of source and target."""
    settings: Settings
    """decoder.yml."""

    @property
    def names(self) -> list[str]:
        """The files in the folder that were read."""
        paths = [self.network, *self.vocabularies, *self.models, self.folder / "decoder.yml"]
        return sorted({path.name for path in paths if path.is_file() and path.parent == self.folder})


def find_files(path: Path) -> Files:
    """The files that decoder.yml names, or that are alone in the folder. Raises ModelError."""
    folder = path if path.is_dir() else path.parent
    names = sorted(entry.name for entry in folder.iterdir())
    listed = parse_settings(read_text(folder / "decoder.yml")) if "decoder.yml" in names else {}
    network = path if path.is_file() else _only(folder, _listed(listed, "models"), names, ".npz")
    if bpe := [name for name in names if name.endswith(".bpe")]:
        raise ModelError(
            f"{folder / bpe[0]}: text is segmented by Moses and BPE, which is not supported; take the SentencePiece "
            "model of this pair"
        )
    vocabularies = [_inside(folder, name) for name in _listed(listed, "vocabs")]
    if not vocabularies:
        vocabularies = [_only(folder, [], names, ".vocab.yml" if any(".vocab." in name for name in names) else ".yml")]
    if len(vocabularies) > 2:
        raise ModelError(f"{folder / 'decoder.yml'}: vocabs: {len(vocabularies)} sources or factors; {OTHER}")
    ends = vocabularies[0], vocabularies[-1]
    models = ends if ends[0].suffix == ".spm" else (folder / "source.spm", folder / "target.spm")
    return Files(folder, network, ends, models, listed)


def _only(folder: Path, listed: list[str], names: list[str], suffix: str) -> Path:
    """The file that is listed, or the only one of this kind. Raises ModelError."""
    candidates = listed or [name for name in names if name.endswith(suffix) and name != "decoder.yml"]
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


# --- options → [model] -----------------------------------------------------------------------------------------------


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


def marian_base(d_model: int) -> float:
    """The base with which the paper's formula is Marian's: 10000^(−i / (d/2 − 1)) = base^(−2i / d)."""
    return float(10000.0 ** ((d_model / 2) / (d_model / 2 - 1)))


def _option(options: Settings, key: str) -> str:
    value = options.get(key, "")
    return " ".join(value) if isinstance(value, list) else value


def _number(options: Settings, key: str, where: str) -> int:
    value = _option(options, key)
    if not value.isdecimal() or not 0 < int(value) < 1 << 20:
        raise ModelError(f"{where}: {key}: a whole number above 0 is needed, not {value!r}; fetch the file again")
    return int(value)
