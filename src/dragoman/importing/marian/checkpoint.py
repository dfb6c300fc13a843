"""The weights of another toolkit's model: safetensors, or a file of `torch.save`, which is never executed.

Input: a folder with `model.safetensors` or `pytorch_model.bin`, or with parts of either and their index, as Hugging
Face writes a large model. Output: a mapping of names to tensors from which each
tensor is taken (`pop`). Of safetensors one tensor at a time is read; the other format is read whole, and shrinks as
tensors are taken. So little is in memory twice.

`torch.save` writes a pickle, which may contain any program. It is read by PyTorch's restricted unpickler, which knows
tensors and their containers only (`weights_only`; CVE-2025-32434 is fixed in every PyTorch that Dragoman allows), and
anything but a flat dictionary of tensors is refused.
"""

from collections import UserDict
from collections.abc import Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dragoman.errors import ModelError, counted
from dragoman.importing.files.settings import read_settings

SAFETENSORS, PICKLED = "model.safetensors", "pytorch_model.bin"
INDEX = ".index.json"
AGAIN = "fetch the file again"


class Tensors(UserDict[str, Tensor]):
    """Tensors by name, of floating-point numbers, each read or kept until it is taken."""

    def __init__(self, path: Path, parts: Sequence[Path] = ()) -> None:
        """`path` has the tensors, or is the index of the files that have them. Raises ModelError."""
        super().__init__()
        self.path, self.parts = path, tuple(parts) or (path,)
        self.data: dict[str, Any] = {}  # None: not read yet
        self._part_of: dict[str, Path] = {}
        for part in self.parts:
            if part.suffix == ".safetensors":
                names = dict.fromkeys(_names_in(part))
                self._part_of |= dict.fromkeys(names, part)
                self.data |= names
            else:
                self.data |= _unpickled(part)

    @property
    def files(self) -> list[str]:
        """The names of the files that were read."""
        return [path.name for path in dict.fromkeys((self.path, *self.parts))]

    @property
    def notes(self) -> list[str]:
        pickled = [part.name for part in self.parts if part.suffix != ".safetensors"]
        return [f"{', '.join(pickled)}: a pickle, read without executing anything in it"] if pickled else []

    def __getitem__(self, name: str) -> Tensor:
        """Raises ModelError for a tensor of another kind than floating-point numbers."""
        tensor: Tensor = self._read(name) if self.data[name] is None else self.data[name]
        stored = tensor.layout == torch.strided and tensor.device.type == "cpu" and not tensor.is_quantized
        if not stored or not tensor.is_floating_point():
            raise ModelError(f"{self.path}: tensor {name} is not a plain tensor of floating-point numbers; {AGAIN}")
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise ModelError(f"{self.path}: tensor {name} is larger than what the file holds; {AGAIN}")
        return tensor.detach()

    def _read(self, name: str) -> Tensor:
        # Opened each time: what has been read from a mapped file counts as memory until it is closed.
        try:
            with safe_open(self._part_of[name], framework="pt") as file:
                return file.get_tensor(name)
        except (SafetensorError, OSError) as error:
            raise ModelError(f"{self._part_of[name]}: tensor {name} cannot be read: {error}; {AGAIN}") from None


def open_tensors(folder: Path) -> Tensors:
    """The tensors in a folder, from safetensors where both are there. Raises ModelError."""
    for name in (SAFETENSORS, PICKLED):
        if (folder / name).is_file():
            return Tensors(folder / name)
        if (index := folder / f"{name}{INDEX}").is_file():
            return Tensors(index, _parts(index))
    raise ModelError(f"{folder}: no {SAFETENSORS} and no {PICKLED}; fetch the weights")


def _parts(index: Path) -> list[Path]:
    """The files in which the tensors of an index are. Raises ModelError."""
    parts = read_settings(index).get("weight_map")
    names = sorted(set(map(str, parts.values()))) if isinstance(parts, dict) else []
    if not names or any(Path(name).name != name for name in names):
        raise ModelError(f"{index}: not an index of files with weights; {AGAIN}")
    for name in names:
        if not (index.parent / name).is_file():
            files = counted(len(names), "file")
            raise ModelError(f"{index.parent / name}: missing; the weights are in {files}, fetch all of them")
    return [index.parent / name for name in names]


def _names_in(path: Path) -> list[str]:
    try:
        with safe_open(path, framework="pt") as file:
            return list(file.keys())
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: cannot be read as safetensors: {error}; {AGAIN}") from None


def take_one_of(tensors: Tensors, names: tuple[str, ...]) -> str:
    """Keep one of the names of a tensor and return it. Raises ModelError if the tensors differ, or none is there."""
    present = [name for name in names if name in tensors]
    if not present:
        raise ModelError(f"{tensors.path}: tensor {names[0]} is missing; {AGAIN}")
    first = present[0]
    for other in present[1:]:
        reference, copy = tensors[first], tensors[other]
        if reference.data_ptr() != copy.data_ptr() and not torch.equal(reference, copy):
            raise ModelError(f"{tensors.path}: tensors {first} and {other} differ, but config.json ties them; {AGAIN}")
        del tensors[other]
    return first


def _unpickled(path: Path) -> dict[str, Tensor]:
    """The tensors of a file of `torch.save`. Raises ModelError; code in the file is not executed."""
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except UnpicklingError as error:
        if "nsupported" in str(error):
            raise ModelError(
                f"{path}: holds Python objects, which are not loaded; use a copy as {SAFETENSORS}"
            ) from None
        raise ModelError(f"{path}: cannot be read: truncated or damaged; {AGAIN}") from None
    except Exception as error:  # what the unpickler raises for a damaged file depends on where the damage is
        cause = next(iter(str(error).splitlines()), type(error).__name__)[:200]
        raise ModelError(f"{path}: cannot be read: {cause}; {AGAIN}") from None
    if not isinstance(tensors, dict) or not all(isinstance(name, str) for name in tensors):
        raise ModelError(f"{path}: not a dictionary of tensors; use a copy as {SAFETENSORS}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ModelError(f"{path}: {name} is not a tensor but {type(tensor).__name__}; use a copy as {SAFETENSORS}")
    return dict(tensors)
