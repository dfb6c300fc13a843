"""Which kind of model a path is, by its files alone; what cannot be imported is refused here, with the reason.

Nothing but names, the first bytes of files and `model_type` in config.json is read.
"""

import re
import zipfile
from collections.abc import Callable, Set
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path, PurePosixPath

from dragoman.errors import ConfigError, ModelError
from dragoman.importing.files.foreign import Foreign
from dragoman.importing.files.settings import read_settings

Reader = Callable[..., Foreign]
# The kinds of --as, and the function that reads each.
KINDS = {
    "marian": ("dragoman.importing.marian.marian", "read_marian"),
    "m2m": ("dragoman.importing.marian.m2m", "read_m2m"),
    "npz": ("dragoman.importing.marian.npz", "read_npz"),
    "ctranslate2": ("dragoman.importing.opennmt.ctranslate2", "read_ctranslate2"),
    "argos": ("dragoman.importing.opennmt.argos", "read_argos"),
}
# Those that only CTranslate2 runs, unless their weights are asked for.
WITHOUT_WEIGHTS = ("ctranslate2", "argos")
# model_type in config.json → the kind that reads it; and types that CTranslate2 converts to a folder of its own.
MODEL_TYPES = {"marian": "marian", "m2m_100": "m2m"}
CONVERTIBLE = ("bart", "mbart", "mt5", "pegasus", "t5", "umt5")
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
LOOKED_FOR = (
    "config.json with model.safetensors or pytorch_model.bin (Hugging Face), .npz with decoder.yml (Marian), "
    ".argosmodel, or metadata.json and model/ (Argos), model.bin (CTranslate2)"
)
ELSEWHERE = "take an OPUS-MT model of this pair, such as hf:Helsinki-NLP/opus-mt-ko-en"
OBJECTS = f"holds Python objects, which are not loaded, because loading can execute code; {ELSEWHERE}"
ARCHIVE = "an archive; unpack it, and give the folder"
# What cannot be imported: patterns of names, of which one occurs, and why. The first that fits counts.
STRANGERS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("*.intgemm*.bin", "*.alphas.bin", "lex.*.s2t.bin"),
        f"a Firefox (Bergamot) model, with an SSRU decoder, which neither engine has; {ELSEWHERE}",
    ),
    (
        ("*source.bpe*", "*target.bpe*", "bpe.model", "*.bpe", "bpecodes", "bpe.codes"),
        "its text is divided by Moses and subword-nmt (BPE), which is not supported; take the SentencePiece model of "
        "this pair, which has source.spm",
    ),
    (("params.best", "params.0*", "vocab.src.0.json"), f"a Sockeye model, which is not supported; {ELSEWHERE}"),
    (("dict.*.txt",), f"a fairseq model: its checkpoint {OBJECTS}"),
    (("*.ckpt", "trainer_state.ckpt"), f"a JoeyNMT or Lightning checkpoint, which {OBJECTS}"),
    (
        ("*.pt", "*.pth"),
        f"a checkpoint of OpenNMT-py or fairseq, which {OBJECTS}, or convert it with CTranslate2's converter and "
        "import that folder",
    ),
    (("*.onnx", "*.ort"), "an ONNX model, without weights to import; take the model that it was made from"),
    (
        ("tf_model.h5", "flax_model.msgpack", "rust_model.ot"),
        "has weights for TensorFlow, Flax or Rust only; take a copy with model.safetensors or pytorch_model.bin",
    ),
    (("*.zip", "*.tar", "*.tar.gz", "*.tgz", "*.tar.bz2", "*.tar.xz"), ARCHIVE),
    (
        ("adapter_config.json", "adapter_model.*"),
        "an adapter of PEFT, without the weights of its base model; save the whole after `merge_and_unload()`",
    ),
    (("*.gguf", "*.ggml"), f"a model of llama.cpp, which is not supported; {ELSEWHERE}"),
)
INDICES = tuple(f"{name}.index.json" for name in WEIGHTS)
# One of the files of weights in several, or their index.
PART = re.compile(r"(?:model|pytorch_model)(?:-\d+-of-\d+)?\.(?:safetensors|bin)(?:\.index\.json)?")
# The first bytes of the file that Git LFS leaves in place of a large one.
POINTER, LARGEST_POINTER = b"version https://git-lfs", 1024


def reader_of(kind: str) -> Reader:
    """The function that reads a kind. Raises ConfigError for another word."""
    if kind not in KINDS:
        raise ConfigError(f"--as {kind}: choose one of: {', '.join(KINDS)}")
    module, name = KINDS[kind]
    reader: Reader = getattr(import_module(module), name)
    return reader


def check_files(path: Path) -> None:
    """Raise ModelError if `path` does not exist, and for files in it that hold nothing to read."""
    if not path.exists():
        raise ModelError(f"{path}: no such file or folder; give the model's folder, or hf:NAME to download one")
    inside = path / "model"  # of Argos
    files = [*path.iterdir(), *(inside.iterdir() if inside.is_dir() else ())] if path.is_dir() else [path]
    for file in sorted(files):
        if file.exists() and not file.is_dir() and not file.is_file():
            raise ModelError(f"{file}: a pipe or a device, not a file; put the file itself there")
        _refuse_pointer(file)


def kind_of(path: Path) -> str:
    """The kind of the model at `path`. Raises ModelError if it is none that can be imported, with the reason."""
    check_files(path)
    names = {file.name for file in path.iterdir()} if path.is_dir() else {path.name}
    kind = _kind_of_folder(path, names) if path.is_dir() else _kind_of_file(path)
    if kind is None or (kind == "npz" and path.is_dir()):  # Marian's files may be those of a model with BPE
        _refuse_stranger(path, names)
    if kind is None:
        raise ModelError(f"{path}: not a model that can be imported; looked for: {LOOKED_FOR}")
    return kind


def _kind_of_folder(folder: Path, names: Set[str]) -> str | None:
    if "bundle.json" in names:
        raise ModelError(f"{folder}: a model of Dragoman, which needs no import; use it with -m {folder}")
    if "metadata.json" in names and "model" in names:
        return "argos"
    if "config.json" in names and names & {*WEIGHTS, *INDICES}:
        return _kind_of_config(folder / "config.json")
    if "model.bin" in names:
        return "ctranslate2"
    if any(name.endswith(".npz") for name in names):
        return "npz"
    if "snapshots" in names and (commits := sorted((folder / "snapshots").glob("*/"))):
        raise ModelError(f"{folder}: a folder of Hugging Face's cache; give the model in it, {commits[-1]}")
    if lacking := _lacking(names):
        raise ModelError(f"{folder}: {lacking}")
    return None


def _lacking(names: Set[str]) -> str | None:
    """What is missing in a folder that is recognised and not whole."""
    if "config.json" in names and any(map(PART.fullmatch, names)):
        return f"has weights in several files and neither {' nor '.join(INDICES)}, which lists them; fetch it too"
    strange = [pattern for patterns, _ in STRANGERS for pattern in patterns]
    if "config.json" in names and not any(fnmatch(name, pattern) for name in names for pattern in strange):
        return f"has config.json and neither {' nor '.join(WEIGHTS)}; fetch the weights too"
    if "decoder.yml" in names:
        return "has decoder.yml and no .npz; fetch the weights too"
    return None


def _kind_of_file(path: Path) -> str | None:
    if path.suffix == ".npz":
        return "npz"
    if path.suffix == ".argosmodel":
        return "argos"
    if path.name in (*WEIGHTS, "model.bin", "config.json", "decoder.yml") or PART.fullmatch(path.name):
        raise ModelError(f"{path}: one file of a model; give the folder, {path.absolute().parent}")
    checkpoint = path.name.endswith((".pt", ".pth", ".ckpt"))
    return _kind_of_zip(path) if zipfile.is_zipfile(path) and not checkpoint else None


def _kind_of_zip(path: Path) -> str:
    """The kind of an archive: a package of Argos, whatever its name. Raises ModelError for another, with the reason."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = {PurePosixPath(name).name for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        names = {"metadata.json"}  # damaged: its reader says how
    if "bundle.json" in names:
        raise ModelError(f"{path}: a packed model of Dragoman; `dragoman model install {path}` installs it")
    if "metadata.json" not in names:
        raise ModelError(f"{path}: {ARCHIVE}")
    return "argos"


def _kind_of_config(path: Path) -> str:
    """The kind that `model_type` of config.json names. Raises ModelError."""
    model_type = str(read_settings(path).get("model_type"))
    if model_type in MODEL_TYPES:
        return MODEL_TYPES[model_type]
    if model_type in CONVERTIBLE:
        raise ModelError(
            f"{path}: model_type {model_type}: runs on CTranslate2 only; convert it with ct2-transformers-converter "
            "and import that folder"
        )
    known = ", ".join(MODEL_TYPES)
    raise ModelError(
        f"{path}: model_type {model_type}: an architecture that cannot be imported (known: {known}); {ELSEWHERE}"
    )


def _refuse_stranger(path: Path, names: Set[str]) -> None:
    """Raise ModelError, with the reason, for a model of a toolkit that is known and not supported."""
    for patterns, why in STRANGERS:
        if file := next((name for name in sorted(names) if any(fnmatch(name, pattern) for pattern in patterns)), None):
            raise ModelError(f"{path / file if path.is_dir() else path}: {why}")


def _refuse_pointer(path: Path) -> None:
    """Raise ModelError for a file that Git LFS left in place of the real one."""
    if not path.is_file() or path.stat().st_size > LARGEST_POINTER:
        return
    with path.open("rb") as file:
        if file.read(len(POINTER)) == POINTER:
            size = path.stat().st_size
            raise ModelError(f"{path}: {size} bytes, a Git LFS pointer; fetch the file itself, with `git lfs pull`")
