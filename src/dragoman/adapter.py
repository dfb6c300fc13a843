"""An adapter on disk: what its bundle.json says of the base model that it needs, and where that model is.

    "kind": "adapter",
    "adapter": {"rank": 8, "alpha": 16.0, "parameters": 540672},
    "base": {"name": "ko-en", "sha256": "…", "path": "../../../base/model"}

`sha256` is that of the base's model.safetensors, `path` its folder as seen from that of the adapter.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

KIND = "adapter"
ADAPTER = "adapter.safetensors"


@dataclass(frozen=True)
class Adapter:
    """A trained adapter, to be written, and the base model that it belongs to."""

    tensors: "Mapping[str, Tensor]"
    rank: int
    alpha: float
    base: Path
    """The folder of the base model, here and now."""
    base_name: str
    base_sha256: str

    @property
    def parameters(self) -> int:
        """How many numbers it has."""
        return sum(tensor.numel() for tensor in self.tensors.values())

    def facts(self, folder: Path) -> dict[str, Any]:
        """What the bundle.json in `folder` says of it."""
        try:
            path = Path(os.path.relpath(self.base.resolve(), folder.resolve()))
        except ValueError:  # on another drive
            path = self.base.resolve()
        return {
            "kind": KIND,
            "adapter": {"rank": self.rank, "alpha": self.alpha, "parameters": self.parameters},
            "base": {"name": self.base_name, "sha256": self.base_sha256, "path": path.as_posix()},
        }


def is_adapter(manifest: Mapping[str, Any]) -> bool:
    """Whether a bundle.json is that of an adapter."""
    return manifest.get("kind") == KIND


def check_facts(path: Path, manifest: Mapping[str, Any]) -> None:
    """Raise ModelError unless the facts above are there and of their types."""
    facts, base = manifest.get("adapter"), manifest.get("base")
    numbers = isinstance(facts, dict) and facts.get("rank", 0), isinstance(facts, dict) and facts.get("alpha", 0)
    texts = [isinstance(base, dict) and isinstance(base.get(key), str) for key in ("name", "sha256", "path")]
    if not all(isinstance(number, int | float) and number > 0 for number in numbers) or not all(texts):
        raise ModelError(f"{path}: not an adapter's manifest; copy the adapter again")


def base_folder(folder: Path, manifest: Mapping[str, Any]) -> Path:
    """Where the base model was, as seen from the adapter's `folder`."""
    return Path(os.path.normpath(folder.resolve() / manifest["base"]["path"]))


def locate_base(folder: Path, manifest: Mapping[str, Any], base: Path | None) -> Path:
    """The folder of the base model: `base`, or where it was. Raises ModelError if it is not there."""
    if base:
        return base
    where = base_folder(folder, manifest)
    if not (where / "bundle.json").is_file():
        raise ModelError(
            f"{folder}: an adapter of the model {manifest['base']['name']}, which is neither in {where} nor installed; "
            "install it, or give it as --base"
        )
    return where


def check_base(folder: Path, manifest: Mapping[str, Any], base: Path, sha256: str | None) -> None:
    """Raise ModelError if the weights of `base` are not those that the adapter was trained on."""
    expected = manifest["base"]
    if sha256 != expected["sha256"]:
        has = f"are sha256 {sha256[:12]}…" if sha256 else "are missing"
        raise ModelError(
            f"{folder}: an adapter of {expected['name']}, weights sha256 {expected['sha256'][:12]}…; those of {base} "
            f"{has}; give its own base with --base"
        )
