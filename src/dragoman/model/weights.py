"""Weights on disk: named tensors as safetensors, read and checked. Importing this module needs no torch."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.model.parts.network import EncoderDecoder


# The names of dtypes in safetensors.
DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "bool": "BOOL",
    "uint8": "U8",
    **{f"int{bits}": f"I{bits}" for bits in (64, 32, 16, 8)},
}


def save_tensors(path: Path, tensors: Mapping[str, "Tensor"]) -> None:
    """Write named tensors as safetensors, one after the other: the library's `save` copies all of them first, and its
    `save_file` does not say which error of the disk it had."""
    import torch

    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))  # every tensor is aligned
    header, end = {}, 0
    for name in order:
        start, end = end, end + tensors[name].numel() * tensors[name].element_size()
        kind = DTYPES[str(tensors[name].dtype).removeprefix("torch.")]
        header[name] = {"dtype": kind, "shape": list(tensors[name].shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            flat = tensors[name].detach().cpu().contiguous().reshape(-1)
            file.write(flat.view(torch.uint8).numpy().data)


def load_tensors(path: Path) -> dict[str, "Tensor"]:
    """Read named tensors, each into memory of its own: the library maps the file, and a copy of what is mapped would
    be in memory twice. Raises ModelError."""
    import torch

    tensor_shapes(path)  # the library checks the header against the file
    kinds = {kind: getattr(torch, name) for name, kind in DTYPES.items()}
    tensors = {}
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
            header.pop("__metadata__", None)
            for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
                tensors[name] = tensor = torch.empty(entry["shape"], dtype=kinds[entry["dtype"]])
                file.seek(8 + length + entry["data_offsets"][0])
                flat = tensor.reshape(-1).view(torch.uint8).numpy()
                if file.readinto(flat.data) != flat.nbytes:
                    raise ModelError(f"{path}: ends within {name}; copy the model again")
    except (OSError, KeyError) as error:
        raise ModelError(f"{path}: cannot be read as safetensors: {error}") from None
    return tensors


def tensor_shapes(path: Path) -> dict[str, list[int]]:
    """The shape of each tensor in a safetensors file, without reading it. Raises ModelError."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: cannot be read as safetensors: {error}") from None


def read_weights(model: "EncoderDecoder", path: Path) -> dict[str, "Tensor"]:
    """The weights in `path` for `model`. Raises ModelError if a tensor is missing, unexpected, not finite or of
    another shape or type."""
    tensors = load_tensors(path)
    parameters = dict(model.named_parameters())
    if tensors.keys() != parameters.keys():
        odd = sorted(tensors.keys() ^ parameters.keys())[0]
        why = "the weights are of another configuration, or of an earlier dragoman: train the model again"
        raise ModelError(f"{path}: missing or unexpected tensor {odd}; {why}")
    for name, parameter in parameters.items():
        if parameter.shape != tensors[name].shape:
            shapes = f"{tuple(tensors[name].shape)}, expected {tuple(parameter.shape)}"
            raise ModelError(f"{path}: tensor {name} is {shapes}; weights and configuration differ")
        if parameter.dtype != tensors[name].dtype:
            kinds = [str(kind).removeprefix("torch.") for kind in (tensors[name].dtype, parameter.dtype)]
            raise ModelError(f"{path}: tensor {name} is {kinds[0]}, expected {kinds[1]}; copy the model again")
        if not is_finite(tensors[name]):
            raise ModelError(f"{path}: tensor {name} contains NaN or infinity; copy the model again")
    return tensors


def is_finite(tensor: "Tensor") -> bool:
    """Whether there is no NaN and no infinity, without a copy of the tensor as `isfinite` makes one."""
    return not tensor.numel() or all(limit.isfinite().item() for limit in tensor.aminmax())


def load_weights(model: "EncoderDecoder", path: Path) -> None:
    """Make the weights in `path` those of `model`, which may be on the device `meta`, where it takes no memory.

    Raises ModelError as `read_weights` does.
    """
    use_weights(model, read_weights(model, path))


def use_weights(model: "EncoderDecoder", tensors: dict[str, "Tensor"]) -> None:
    """Make `tensors`, by the names of the parameters, the weights of the model, without a copy."""
    import torch

    for name, parameter in model.named_parameters():
        swapped = torch.nn.Parameter(tensors[name], requires_grad=parameter.requires_grad)
        torch.utils.swap_tensors(parameter, swapped)  # in place: a shared matrix stays shared
