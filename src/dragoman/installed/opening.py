"""Opening models by name or folder, and adapters together with their base models.

Input: the folder or the name of a model, and perhaps that of the base of an adapter. Output: verified bundles. The base
of an adapter is the one that was given, or the folder in which it was when the adapter was trained, or an installed
model with the same weights.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from dragoman.adapter import base_folder, is_adapter
from dragoman.bundle import Bundle, open_bundle
from dragoman.errors import ConfigError, checked_path
from dragoman.installed import installed_folder, installed_names, resolve_model
from dragoman.system.parsing import parse_json

ModelPath = str | os.PathLike[str]


def open_model(model: ModelPath, base: ModelPath | None = None) -> Bundle:
    """The verified bundle of this folder or name. Raises ModelError as `open_bundle` does."""
    folder = resolve_model(checked_path("model", model))
    base_folder = installed_base(folder) if base is None else resolve_model(checked_path("base", base))
    return open_bundle(folder, base_folder)


def open_models(models: Sequence[ModelPath], base: ModelPath | None = None) -> list[Bundle]:
    """Several of them. Raises ConfigError if a base is given and none of them is an adapter."""
    bundles = [open_model(model, base) for model in models]
    if base is not None and not any(bundle.base for bundle in bundles):
        names = ", ".join(str(bundle.folder) for bundle in bundles)
        raise ConfigError(f"--base {base}: is for adapters, and {names} is a whole model; leave it out")
    return bundles


def installed_base(folder: Path) -> Path | None:
    """The installed model that the adapter in `folder` belongs to, if its base is not where it was."""
    try:
        manifest = parse_json((folder / "bundle.json").read_bytes())
        if not is_adapter(manifest) or (base_folder(folder, manifest) / "bundle.json").is_file():
            return None
        expected = manifest["base"]["sha256"]
        for name in installed_names():
            candidate = installed_folder(name)
            if candidate and _weights_sha256(candidate) == expected:
                return candidate
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # opening the bundle reports what is wrong with it
    return None


def _weights_sha256(folder: Path) -> str | None:
    try:
        digest: str = parse_json((folder / "bundle.json").read_bytes())["files"]["model.safetensors"]["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return digest
