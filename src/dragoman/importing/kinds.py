"""Which kind of model a path is, by its files alone; what cannot be imported is refused here, with the reason.

Nothing but names, the first bytes of files and `model_type` in config.json is read.
"""

import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from dragoman.errors import ConfigError, ModelError
from dragoman.importing.foreign import Foreign
from dragoman.parsing import parse_json

Reader = Callable[..., Foreign]
# The kinds of --as, and the function that reads each.
KINDS = {
    "marian": ("dragoman.importing.marian", "read_marian"),
    "m2m": ("dragoman.importing.m2m", "read_m2m"),
    "npz": ("dragoman.importing.npz", "read_npz"),
    "ctranslate2": ("dragoman.importing.ctranslate2", "read_ctranslate2"),
    "argos": ("dragoman.importing.argos", "read_argos"),
}
# model_type in config.json → the kind that reads it.
MODEL_TYPES = {"marian": "marian", "m2m_100": "m2m"}
LOOKED_FOR = (
    "config.json and model.safetensors or pytorch_model.bin (Hugging Face), decoder.yml or .npz (Marian), "
    "metadata.json and model/ or .argosmodel (Argos), model.bin (CTranslate2)"
)
OPUS = "take an OPUS-MT model of this pair, as `hf:Helsinki-NLP/opus-mt-ko-en`"
LFS = b"version https://git-lfs"
# The largest config.json that is read.
LARGEST_JSON = 1 << 20


def reader_of(kind: str) -> Reader:
    """The function that reads a kind. Raises ConfigError for another word."""
    if kind not in KINDS:
        raise ConfigError(f"--as {kind}: choose one of: {', '.join(KINDS)}")
    module, name = KINDS[kind]
    reader: Reader = getattr(import_module(module), name)
    return reader


def kind_of(path: Path) -> str:
    """The kind of the model at `path`. Raises ModelError if it is none that can be imported, with the reason."""
    if not path.exists():
        raise ModelError(f"{path}: no such file or folder; give the model's folder, or hf:NAME to download one")
    kind = _kind_of_folder(path) if path.is_dir() else _kind_of_file(path)
    if kind is None:
        raise ModelError(f"{path}: not a model that can be imported; looked for: {LOOKED_FOR}")
    return kind


def _kind_of_folder(folder: Path) -> str | None:
    names = {path.name for path in folder.iterdir()}
    _refuse_pointers(folder, names)
    if "bundle.json" in names:
        raise ModelError(f"{folder}: is a model of Dragoman already; use it with -m {folder}")
    if "metadata.json" in names and "model" in names:
        return "argos"
    if "config.json" in names and names & {"model.safetensors", "pytorch_model.bin"}:
        return _kind_of_config(folder)
    if "model.bin" in names:
        return "ctranslate2"
    if "decoder.yml" in names or any(name.endswith(".npz") for name in names):
        return "npz"
    return None


def _kind_of_file(path: Path) -> str | None:
    _refuse_pointer(path)
    if path.suffix == ".npz":
        return "npz"
    return "argos" if zipfile.is_zipfile(path) else None


def _kind_of_config(folder: Path) -> str:
    """The kind that `model_type` of config.json names. Raises ModelError."""
    config = _read_json(folder / "config.json")
    found = config.get("model_type") if isinstance(config, dict) else None
    if found not in MODEL_TYPES:
        raise ModelError(f"{folder / 'config.json'}: model_type {found}: is not one that can be imported")
    return MODEL_TYPES[str(found)]


def _read_json(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            return parse_json(file.read(LARGEST_JSON))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {error}; fetch the file again") from None


def _refuse_pointers(folder: Path, names: set[str]) -> None:
    for name in sorted(names):
        _refuse_pointer(folder / name)


def _refuse_pointer(path: Path) -> None:
    """Raise ModelError for a file that Git LFS left in place of the real one."""
    if not path.is_file() or path.stat().st_size > 1024:
        return
    with path.open("rb") as file:
        if file.read(len(LFS)) == LFS:
            size = path.stat().st_size
            raise ModelError(f"{path}: {size} bytes, a Git LFS pointer; fetch the file itself with `git lfs pull`")
