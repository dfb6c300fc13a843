"""The file model.bin of CTranslate2: its variables, checked before C++ reads them, and written again.

The format, little-endian, of versions 4 to 6:

    u32 version · string name of the specification · u32 its revision
    u32 number of variables · each: string name · u8 rank · u32 × rank shape · u8 type · u32 bytes · the data
    u32 number of aliases · each: string alias · string name of a variable

A string is a u16 length, which counts a final NUL, and its bytes. CTranslate2 trusts every number in it: one that lies
can end the process, so all of them are compared with the file's size here.
"""

import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import ModelError

Array = NDArray[Any]

VERSIONS, WRITTEN_VERSION = range(4, 7), 6
# The element type of each number; NumPy has no bfloat16, whose bits are kept.
TYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")
STORED = (np.float32, np.int8, np.int16, np.int32, np.float16, np.uint16)
HIGHEST_RANK = 8
REMEDY = "fetch the file again, or convert the model again"


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable and where its data are in the file."""

    shape: tuple[int, ...]
    type: str
    offset: int


@dataclass(frozen=True)
class ModelBin:
    """What the headers of a model.bin say; data are read on request."""

    path: Path
    version: int
    specification: str
    revision: int
    variables: Mapping[str, Variable]
    aliases: Mapping[str, str]

    def __contains__(self, name: str) -> bool:
        return name in self.variables or name in self.aliases

    def find(self, name: str) -> Variable | None:
        """The variable with this name, or that an alias names; None if there is none."""
        return self.variables.get(self.aliases.get(name, name))

    def array(self, name: str) -> Array:
        """The data, mapped from the file; bfloat16 as its bits."""
        variable = self.find(name)
        assert variable
        kind = STORED[TYPES.index(variable.type)]
        if not math.prod(variable.shape):
            return np.zeros(variable.shape, kind)
        return np.memmap(self.path, kind, "r", variable.offset, variable.shape or (1,)).reshape(variable.shape)

    def floats(self, name: str) -> NDArray[np.float32]:
        """The data as float32, dequantised: w = q / scale, of each row or of the matrix."""
        owner = self.aliases.get(name, name)  # an alias of a matrix has no scale of its own
        variable, data = self.variables[owner], self.array(owner)
        if variable.type == "bfloat16":
            return (data.astype(np.uint32) << 16).view(np.float32)
        floats: NDArray[np.float32] = data.astype(np.float32)
        if variable.type in ("int8", "int16") and f"{owner}_scale" in self:
            scale = self.floats(f"{owner}_scale")
            floats /= scale[:, None] if scale.ndim else scale
        return floats

    def number(self, name: str, default: int) -> int:
        """The value of a variable that is a single number."""
        return int(self.array(name)) if name in self and not self.find(name).shape else default  # type: ignore[union-attr]

    def flag(self, name: str, default: bool = False) -> bool:
        """The value of a variable that is true or false."""
        return bool(self.number(name, default))

    @property
    def parameters(self) -> int:
        """The number of learned weights, each counted once."""
        learned = ("weight", "bias", "gamma", "beta")
        return sum(math.prod(variable.shape) for name, variable in self.variables.items() if name.endswith(learned))


def read_model_bin(path: Path) -> ModelBin:
    """Read the headers of a model.bin. Raises ModelError if they disagree with the file."""
    try:
        with path.open("rb") as file:
            return _BinaryReader(path, file).read()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}; {REMEDY}") from None


class _BinaryReader:
    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file, self.size = path, file, path.stat().st_size

    def read(self) -> ModelBin:
        version = self._number("I")
        if version not in VERSIONS:
            raise ModelError(
                f"{self.path}: version {version} of CTranslate2's format; {VERSIONS[0]} to {VERSIONS[-1]} can be "
                "imported, convert the model again"
            )
        specification, revision = self._string(), self._number("I")
        variables: dict[str, Variable] = {}
        for _ in range(self._number("I")):
            name = self._string()
            if name in variables:
                raise self._damaged(f"the variable {name} is there twice")
            variables[name] = self._variable(name)
        aliases: dict[str, str] = {}
        for _ in range(self._number("I")):
            alias, name = self._string(), self._string()
            if name not in variables or alias in variables or alias in aliases:
                raise self._damaged(f"the alias {alias} of {name} is wrong")
            aliases[alias] = name
        if rest := self.size - self.file.tell():
            raise self._damaged(f"{rest:,} bytes follow its last variable")
        return ModelBin(self.path, version, specification, revision, variables, aliases)

    def _variable(self, name: str) -> Variable:
        rank = self._number("B")
        if rank > HIGHEST_RANK:
            raise self._damaged(f"the variable {name} has {rank} dimensions")
        shape = tuple(self._number("I") for _ in range(rank))
        kind, held, offset = self._number("B"), self._number("I"), self.file.tell()
        if kind >= len(TYPES):
            raise self._damaged(f"the variable {name} is of the unknown type {kind}")
        if held != math.prod(shape) * np.dtype(STORED[kind]).itemsize:
            raise self._damaged(f"the variable {name} has {held:,} bytes, which is not what its shape {shape} needs")
        if offset + held > self.size:
            raise self._damaged(f"the variable {name} goes beyond the file's end")
        self.file.seek(offset + held)
        return Variable(shape, TYPES[kind], offset)

    def _number(self, kind: str) -> int:
        [number] = struct.unpack(f"<{kind}", self._bytes(struct.calcsize(f"<{kind}")))
        return int(number)

    def _string(self) -> str:
        content = self._bytes(self._number("H"))
        try:
            text = content[:-1].decode()
        except UnicodeDecodeError:
            text = "\0"
        if not content.endswith(b"\0") or "\0" in text:
            raise self._damaged("a name is not text")
        return text

    def _bytes(self, count: int) -> bytes:
        content = self.file.read(count)
        if len(content) < count:
            raise self._damaged("the file ends too early")
        return content

    def _damaged(self, what: str) -> ModelError:
        return ModelError(f"{self.path}: not a model of CTranslate2: {what}; {REMEDY}")


@dataclass(frozen=True, slots=True)
class Written:
    """Data of a variable to write; `chunks` together have its shape. The type is the number's name in `TYPES`."""

    shape: tuple[int, ...]
    type: str
    chunks: Iterable[Array]


def write_model_bin(
    path: Path, model: ModelBin, changed: Mapping[str, Written], aliases: Mapping[str, str], leave_out: Iterable[str]
) -> None:
    """Write `model` with some variables `changed` or added, others left out, and these aliases."""
    names = sorted((model.variables.keys() | changed.keys()) - set(leave_out))
    with path.open("wb") as file:
        file.write(struct.pack("<I", WRITTEN_VERSION) + _string(model.specification))
        file.write(struct.pack("<II", model.revision, len(names)))
        for name in names:
            variable = changed.get(name) or unchanged(model, name)
            number = TYPES.index(variable.type)
            size = math.prod(variable.shape) * np.dtype(STORED[number]).itemsize
            file.write(_string(name) + struct.pack("<B", len(variable.shape)))
            file.write(struct.pack(f"<{len(variable.shape)}IBI", *variable.shape, number, size))
            for chunk in variable.chunks:
                file.write(np.ascontiguousarray(chunk).tobytes())
        file.write(struct.pack("<I", len(aliases)))
        for alias, name in sorted(aliases.items()):
            file.write(_string(alias) + _string(name))


def unchanged(model: ModelBin, name: str) -> Written:
    """A variable as the file has it."""
    variable = model.variables[name]
    return Written(variable.shape, variable.type, [model.array(name)])


def _string(text: str) -> bytes:
    content = text.encode() + b"\0"
    return struct.pack("<H", len(content)) + content
