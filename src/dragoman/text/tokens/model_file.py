"""The file of a SentencePiece model, a protobuf message: its fields, read and written without protobuf.

SentencePiece's own API has neither the kind of a model nor the types of its pieces, and cannot change a model. The
numbers are those of `sentencepiece_model.proto`.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

SPACE = "\u2581"  # SentencePiece's character for a space

# Fields of ModelProto; of its TrainerSpec and its NormalizerSpec; kinds of models.
PIECES, TRAINER_SPEC, NORMALIZER_SPEC = 1, 2, 3
MODEL_TYPE, VOCAB_SIZE = 3, 4
CHARACTER_MAP, ADD_DUMMY_PREFIX = 2, 3
BPE = 2
# Types of pieces.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

VARINT, SIZED = 0, 2
WIDTHS = {1: 8, 5: 4}  # bytes of the fields of fixed width


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a model: its text, its score (log probability, or −rank of its merge) and its type."""

    text: str
    score: float = 0.0
    type: int = NORMAL

    @classmethod
    def read(cls, message: bytes) -> "Piece":
        values = dict(fields(message))
        [score] = struct.unpack("<f", _sized(values.get(2, bytes(4))))
        kind = values.get(3, NORMAL)
        assert isinstance(kind, int)
        return cls(_sized(values[1]).decode(), score, kind)

    def message(self) -> bytes:
        return field(1, self.text.encode()) + b"\x15" + struct.pack("<f", self.score) + field(3, self.type)


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: number and value, an integer or bytes. Raises ValueError if the message is cut off."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind != SIZED and kind not in WIDTHS:
            raise ValueError(f"a field of the unknown kind {kind}")
        size, at = _varint(message, at) if kind == SIZED else (WIDTHS[kind], at)
        if at + size > len(message):
            raise ValueError("a field longer than the message")
        yield number, message[at : at + size]
        at += size


def field(number: int, value: int | bytes) -> bytes:
    """A field as bytes: a varint, or bytes after their length."""
    if isinstance(value, int):
        return _as_varint(number << 3 | VARINT) + _as_varint(value)
    return _as_varint(number << 3 | SIZED) + _as_varint(len(value)) + value


def model_pieces(serialized: bytes) -> list[Piece]:
    """The pieces of a model, in the order of their ids."""
    return [Piece.read(_sized(value)) for number, value in fields(serialized) if number == PIECES]


def section(serialized: bytes, number: int) -> dict[int, int | bytes]:
    """The fields of TRAINER_SPEC or NORMALIZER_SPEC that occur once."""
    return dict(fields(b"".join(_sized(value) for key, value in fields(serialized) if key == number)))


def replaced(message: bytes, values: dict[int, int | bytes]) -> bytes:
    """The message with these fields instead of its own of the same numbers; other fields stay byte for byte."""
    return b"".join(_kept(message, values.keys())) + b"".join(field(*item) for item in sorted(values.items()))


def _kept(message: bytes, without: Iterable[int]) -> Iterator[bytes]:
    at, left_out = 0, set(without)
    while at < len(message):
        start = at
        key, at = _varint(message, at)
        kind = key & 7
        size, at = _varint(message, at) if kind in (VARINT, SIZED) else (WIDTHS[kind], at)
        at += 0 if kind == VARINT else size
        if key >> 3 not in left_out:
            yield message[start:at]


def _sized(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number where a text is expected")
    return value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message):
            raise ValueError("a message that is cut off")
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _as_varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # as protobuf writes negative numbers
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])
