"""Weights as one block of bytes with an index: what the engine of a page reads."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Numbers = Literal["int8", "float16"]
# Each array begins at a multiple of this, so that any type of numbers can be read in place.
ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class Tensor:
    """A matrix or vector: float32, float16, or int8 with a factor for each row, w = q · factor."""

    values: NDArray[Any]
    factors: NDArray[np.float32] | None = None

    @property
    def floats(self) -> NDArray[np.float32]:
        """The numbers that the page computes with."""
        floats = self.values.astype(np.float32)
        return floats if self.factors is None else floats * self.factors[:, None]


def rounded(values: NDArray[np.float32], numbers: Numbers) -> Tensor:
    """A matrix in fewer bits, int8 as CTranslate2 rounds it; vectors, which are small, stay float32."""
    if values.ndim < 2:
        return Tensor(values)
    if numbers == "float16":
        return Tensor(values.astype(np.float16))
    largest = np.abs(values).max(axis=1)
    largest[largest == 0] = 127
    scale = np.float32(127) / largest
    return Tensor(np.rint(values * scale[:, None]).astype(np.int8), np.float32(1) / scale)


@dataclass(frozen=True, slots=True)
class Block:
    """The bytes of all tensors, and where each is."""

    content: bytes
    index: Mapping[str, Any]

    @property
    def checksum(self) -> int:
        """Adler-32, which finds a file that was cut or changed on its way."""
        return zlib.adler32(self.content)


def pack(tensors: Mapping[str, Tensor]) -> Block:
    """All tensors one after another; a tensor with two names is there once."""
    parts: list[bytes] = []
    size = 0

    def add(array: NDArray[Any]) -> int:
        nonlocal size
        at = size
        content = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        content += bytes(-len(content) % ALIGNMENT)
        parts.append(content)
        size += len(content)
        return at

    index: dict[str, Any] = {}
    names: dict[int, str] = {}
    for name, tensor in tensors.items():
        if (first := names.setdefault(id(tensor.values), name)) != name:
            index[name] = first
            continue
        index[name] = {"kind": tensor.values.dtype.name, "shape": list(tensor.values.shape), "at": add(tensor.values)}
        if tensor.factors is not None:
            index[name]["scales"] = add(tensor.factors)
    return Block(b"".join(parts), index)
