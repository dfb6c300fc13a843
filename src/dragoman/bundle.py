"""A model on disk: a folder that explains itself, written whole or not at all, never pickle.

    bundle.json         format, name, languages (BCP-47), architecture, data, scores, sha256 and size of every file
    README.md           the model card
    config.toml         the run that made it
    model.safetensors   the weights
    tokenizer/          SentencePiece models

Reading checks format, names, sizes and hashes before anything is used. Opening a bundle needs no torch; loading
its weights does.
"""

import errno
import hashlib
import json
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from dragoman.config import RunConfig
from dragoman.configfile import build_config, dump_config, portable
from dragoman.errors import ConfigError, DragomanError, ModelError
from dragoman.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.model.transformer import Transformer

FORMAT = 1


@dataclass(frozen=True)
class Bundle:
    """An opened, verified model folder."""

    folder: Path
    manifest: dict[str, Any]
    config: RunConfig
    tokenizer: Tokenizer

    def load_model(self) -> "Transformer":
        """The network with its weights, on the CPU, ready to translate. Raises ModelError."""
        try:
            from dragoman.model.transformer import Transformer
        except ImportError:
            raise ModelError(f'{self.folder}: the torch engine needs `pip install "dragoman[train]"`') from None
        model = Transformer(self.config.model, len(self.tokenizer.source), len(self.tokenizer.target))
        load_weights(model, self.folder / "model.safetensors")
        return model.eval()


def open_bundle(folder: Path) -> Bundle:
    """Read and verify the bundle in `folder`. Raises ModelError, naming the file that is wrong."""
    manifest = _read_manifest(folder)
    for name, expected in manifest["files"].items():
        _verify(folder, name, expected)
    where = folder / "config.toml"
    try:
        config = build_config(tomllib.loads(where.read_text(encoding="utf-8")), str(where), folder)
    except ConfigError as error:
        raise ModelError(f"{error}; it was written by another version of dragoman") from None
    except ValueError as error:
        raise ModelError(f"{where}: not TOML: {error}; copy the bundle again") from None
    return Bundle(folder, manifest, config, Tokenizer.load(folder / "tokenizer"))


def write_bundle(
    folder: Path,
    *,
    config: RunConfig,
    tokenizer: Tokenizer,
    model: "Transformer",
    card: str,
    facts: Mapping[str, Any],
) -> None:
    """Write a bundle in place of whatever `folder` held; `facts` (data, scores, …) go into `bundle.json`.

    Raises DragomanError if the disk refuses; an earlier bundle is then still there.
    """
    with whole_folder(folder) as partial:
        (partial / "tokenizer").mkdir()
        tokenizer.save(partial / "tokenizer")
        save_tensors(partial / "model.safetensors", dict(model.named_parameters()))
        (partial / "config.toml").write_text(dump_config(portable(config)), encoding="utf-8")
        (partial / "README.md").write_text(card, encoding="utf-8")
        files = sorted(path for path in partial.rglob("*") if path.is_file())
        manifest = {
            "format": FORMAT,
            "name": config.project.name,
            "languages": {"source": config.project.source, "target": config.project.target},
            "architecture": "transformer",
            "parameters": model.parameter_count,
            **facts,
            "files": {path.relative_to(partial).as_posix(): _fingerprint(path) for path in files},
        }
        text = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
        (partial / "bundle.json").write_text(text, encoding="utf-8")


def save_tensors(path: Path, tensors: Mapping[str, "Tensor"]) -> None:
    """Write named tensors as safetensors."""
    from safetensors.torch import save

    path.write_bytes(save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}))


def load_tensors(path: Path) -> dict[str, "Tensor"]:
    """Read named tensors. Raises ModelError."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: cannot be read as safetensors: {error}") from None


def read_weights(model: "Transformer", path: Path) -> dict[str, "Tensor"]:
    """The weights in `path` for `model`. Raises ModelError if a tensor is missing, surplus or of another shape."""
    tensors = load_tensors(path)
    parameters = dict(model.named_parameters())
    if tensors.keys() != parameters.keys():
        odd = sorted(tensors.keys() ^ parameters.keys())[0]
        raise ModelError(f"{path}: tensor {odd} is not on both sides; weights and configuration do not belong together")
    for name, parameter in parameters.items():
        if parameter.shape != tensors[name].shape:
            shapes = f"{tuple(tensors[name].shape)}, expected {tuple(parameter.shape)}"
            raise ModelError(f"{path}: tensor {name} is {shapes}; weights and configuration differ")
    return tensors


def load_weights(model: "Transformer", path: Path) -> None:
    """Fill `model` from `path`. Raises ModelError as `read_weights` does."""
    import torch

    tensors = read_weights(model, path)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])


def restore(folder: Path) -> None:
    """Undo what a process killed between the two renames of `whole_folder` left."""
    if not folder.exists():  # asked first: "." and "/" are there, and have no name to go by
        old = folder.with_name(f".{folder.name}.old")
        if old.exists():
            old.rename(folder)


def partial_of(folder: Path) -> Path:
    """Where `whole_folder` fills what is to be `folder`."""
    return folder.with_name(f".{folder.name}.partial")


@contextmanager
def whole_folder(folder: Path, also: str = "what was saved before is intact") -> Iterator[Path]:
    """A new folder to fill, which takes the place of `folder` when the block ends well, and else vanishes.

    A process killed at any instant leaves what was there before. Raises DragomanError if the disk refuses, with
    `also` at the end of its message.
    """
    folder = Path(os.path.abspath(folder))  # "." has no name
    partial, old = partial_of(folder), folder.with_name(f".{folder.name}.old")
    try:
        restore(folder)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        yield partial
        for path in partial.rglob("*"):
            _flush(path)
        shutil.rmtree(old, ignore_errors=True)
        if folder.exists():
            folder.rename(old)
        try:
            partial.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
        _flush(folder.parent)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise storage_error(folder, error, f"; {also}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def whole_text(path: Path, text: str) -> None:
    """Write a text file in place of an older one, or leave that as it is. Raises DragomanError."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        _flush(partial)
        partial.replace(path)
    except OSError as error:
        raise storage_error(path, error) from None
    finally:
        with suppress(OSError):
            partial.unlink()


def storage_error(path: Path, error: OSError, also: str = "") -> DragomanError:
    """What the disk refused, and what to do, for a person."""
    remedy = {
        errno.ENOSPC: "free some space and try again",
        errno.EDQUOT: "free some of your quota and try again",
        errno.EACCES: "make the folder writable or choose another",
        errno.EROFS: "the file system is read-only; choose another folder",
    }.get(error.errno or 0, "check the path")
    return DragomanError(f"{path}: cannot be written: {error.strerror}; {remedy}{also}")


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _fingerprint(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / "bundle.json"
    restore(folder)
    if folder.is_file():
        raise ModelError(f"{folder}: is a file; a model is the folder that holds bundle.json, give that")
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model folder; `dragoman train` writes one")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{folder}: no bundle.json, so not a model; give the folder that holds it") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {error}; copy the bundle again") from None
    if isinstance(manifest, dict) and manifest.get("format", FORMAT) != FORMAT:
        raise ModelError(f"{path}: format {manifest['format']}, this version reads {FORMAT}; update dragoman")
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise ModelError(f"{path}: not a bundle's manifest; copy the bundle again")
    if lacking := {"format", "name", "languages", "parameters"} - manifest.keys():
        raise ModelError(f"{path}: does not tell its {min(lacking)}; copy the bundle again")
    present = {path.relative_to(folder).as_posix() for path in (folder / "tokenizer").glob("*")}
    missing = ({"config.toml", "model.safetensors"} | present) - manifest["files"].keys()
    if missing:
        raise ModelError(f"{path}: does not list {min(missing)}; copy the bundle again")
    return manifest


def _verify(folder: Path, name: str, expected: Any) -> None:
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or PurePosixPath(name).is_absolute() or "\\" in name:
        raise ModelError(f"{folder}/bundle.json: {name!r} leaves the folder; do not trust this bundle")
    path = folder / name
    if path.exists() and not path.resolve().is_relative_to(folder.resolve()):
        raise ModelError(f"{folder}/bundle.json: {name!r} leaves the folder; do not trust this bundle")
    if not path.is_file():
        raise ModelError(f"{path}: missing; copy the bundle again")
    if not isinstance(expected, dict) or path.stat().st_size != expected.get("bytes"):
        raise ModelError(f"{path}: {path.stat().st_size:,} bytes is not what was written; copy the bundle again")
    if _fingerprint(path)["sha256"] != expected.get("sha256"):
        raise ModelError(f"{path}: its sha256 differs from bundle.json; the file was altered, copy the bundle again")
