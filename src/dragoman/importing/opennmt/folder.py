"""A folder of CTranslate2: configuration, vocabularies and the headers of its weights.

A folder holds `model.bin`, `config.json` (from version 6 of the format; before, the same facts are in model.bin), and
`shared_vocabulary` or `source_vocabulary` and `target_vocabulary`, each .json or, in early versions, .txt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.errors import ModelError
from dragoman.importing.files.model_bin import ModelBin, read_model_bin
from dragoman.importing.files.settings import read_json, read_settings, read_text

# The specifications of encoder-decoder Transformers, the last two of early versions.
TRANSFORMERS = ("TransformerSpec", "TransformerBase", "TransformerBig")
# What a vocabulary of another toolkit calls the padding, in order of preference.
PADDING = ("<pad>", "<blank>", "[PAD]")
CONFIG, WEIGHTS = "config.json", "model.bin"
# What every engine but CTranslate2 does to a model of OpenNMT.
ENDED = "its sources get </s> at their end, which the network was trained without"


@dataclass(frozen=True)
class CT2Folder:
    """What a folder of CTranslate2 says, with the special tokens renamed to those of every Dragoman vocabulary."""

    path: Path
    model: ModelBin
    config: dict[str, Any]
    """With each key that matters here set, and with the new names."""
    source: list[str]
    """The pieces in the order of their rows; the same list as `target` for a shared vocabulary."""
    target: list[str]
    files: tuple[str, ...]
    """The names of the files that were read."""
    notes: tuple[str, ...] = ()

    @property
    def shared(self) -> bool:
        return self.source is self.target

    @property
    def start_row(self) -> int:
        """The row of the target embedding that every target begins with; −1 for a vector of zeros."""
        start = self.config["decoder_start_token"]
        if self.model.flag("decoder/start_from_zero_embedding"):
            return -1
        return self.target.index(start if start in self.target else "<unk>")

    def refuse_source_start(self) -> None:
        """Raise ModelError if CTranslate2 puts a piece before each source, which no other engine does."""
        if self.config["add_source_bos"]:
            raise ModelError(
                f"{self.path}: CTranslate2 puts {self.config['bos_token']} before each source, and no other engine "
                "does; import the original model, not its copy for CTranslate2"
            )


def read_ct2_folder(folder: Path, start: str | None = None) -> CT2Folder:
    """Read and check a folder of CTranslate2; `start` begins targets where the folder leaves that to its user.

    Raises ModelError.
    """
    model = read_model_bin(folder / WEIGHTS)
    if model.specification not in TRANSFORMERS:
        raise ModelError(f"{folder / WEIGHTS}: {model.specification}: not a translation model; give one of those")
    config, files = _config(folder, model), [WEIGHTS]
    if model.version >= 6:
        files.append(CONFIG)
    config["decoder_start_token"] = config["decoder_start_token"] or start
    if config["decoder_start_token"] is None:
        raise ModelError(
            f"{folder / CONFIG}: names no decoder_start_token, as models of several languages from fairseq; set it to "
            "the token of the target language"
        )
    vocabularies = dict(_vocabulary(folder, side) for side in ("source", "target"))  # one if it is shared
    files += vocabularies
    for name, pieces in vocabularies.items():
        _check_pieces(folder / name, pieces, config)
    notes = _complete(config, model)
    renamed = _new_names(config, vocabularies[files[-1]])
    sides = [[renamed.get(piece, piece) for piece in pieces] for pieces in vocabularies.values()]
    for key in ("unk_token", "eos_token", "bos_token", "decoder_start_token"):
        config[key] = renamed.get(config[key], config[key])
    return CT2Folder(folder, model, config, sides[0], sides[-1], tuple(files), notes)


def _config(folder: Path, model: ModelBin) -> dict[str, Any]:
    """config.json with defaults; of an older folder, what its model.bin says instead."""
    config: dict[str, Any] = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    config |= {"decoder_start_token": "<s>", "add_source_bos": False, "add_source_eos": False}
    if model.version < 6:
        start = config["bos_token"] if model.flag("with_target_bos", True) else config["eos_token"]
        return config | {
            "add_source_bos": model.flag("with_source_bos"),
            "add_source_eos": model.flag("with_source_eos"),
            "decoder_start_token": None if model.flag("user_decoder_start_tokens") else start,
        }
    path = folder / CONFIG
    config |= read_settings(path)
    for key in ("unk_token", "bos_token", "eos_token", "decoder_start_token"):
        if not isinstance(config[key], str) and (key, config[key]) != ("decoder_start_token", None):
            raise ModelError(f"{path}: {key}: a piece in quotes, not {config[key]!r}; convert the model again")
    for key in ("add_source_bos", "add_source_eos"):
        if not isinstance(config[key], bool):
            raise ModelError(f"{path}: {key}: true or false, not {config[key]!r}; convert the model again")
    return config


def _complete(config: dict[str, Any], model: ModelBin) -> tuple[str, ...]:
    """Set add_source_eos where the toolkit's own tokenizer appends EOS, which SentencePiece does not.

    Models of Hugging Face and fairseq were trained on sources with EOS; their decoder starts from EOS, padding or a
    zero vector. Those of OpenNMT start from <s> and were trained without. Without its EOS a source is not recognised as
    complete, and its translation repeats itself.
    """
    start = config["decoder_start_token"]
    appended = start == config["eos_token"] or start in PADDING or model.flag("decoder/start_from_zero_embedding")
    if not appended or config["add_source_eos"]:
        return ()
    config["add_source_eos"] = True
    return (f"{config['eos_token']} is appended to each source, as the tokenizer of its toolkit does",)


def _new_names(config: dict[str, Any], target: Sequence[str]) -> dict[str, str]:
    padding = next((name for name in PADDING if name in target), "<pad>")
    return {config["unk_token"]: "<unk>", config["eos_token"]: "</s>", padding: "<pad>"}


def _check_pieces(path: Path, pieces: list[str], config: dict[str, Any]) -> None:
    """Raise ModelError unless each piece is there once, before and after special tokens get their new names."""
    if len(set(pieces)) < len(pieces):
        twice = next(piece for piece in pieces if pieces.count(piece) > 1)
        raise ModelError(f"{path}: the piece {twice!r} is there twice; convert the model again")
    if config["unk_token"] not in pieces:
        raise ModelError(f"{path}: has no {config['unk_token']}, the unknown piece of config.json; not supported")
    if config["eos_token"] not in pieces:
        raise ModelError(f"{path}: has no {config['eos_token']}, the end of a sentence; is it of another model?")
    for piece, name in _new_names(config, pieces).items():
        if piece != name and name in pieces:
            raise ModelError(f"{path}: has both {piece!r}, which config.json names, and {name!r}; not supported")


def _vocabulary(folder: Path, side: str) -> tuple[str, list[str]]:
    """The file of a side's vocabulary, and its pieces. Raises ModelError."""
    if list(folder.glob("source_[0-9]_vocabulary.*")) or list(folder.glob("source_vocabulary_[0-9].*")):
        raise ModelError(f"{folder}: its sources have several vocabularies (word features), which is not supported")
    names = [f"{which}_vocabulary.{kind}" for which in ("shared", side) for kind in ("json", "txt")]
    name = next((name for name in names if (folder / name).is_file()), None)
    if name is None:
        raise ModelError(f"{folder}: no vocabulary; looked for: {', '.join(names)}")
    path = folder / name
    pieces = read_json(path) if name.endswith("json") else read_text(path).removesuffix("\n").split("\n")
    if not isinstance(pieces, list) or not pieces or not all(isinstance(piece, str) and piece for piece in pieces):
        raise ModelError(f"{path}: not a list of pieces; convert the model again")
    return name, pieces
