"""SentencePiece models and the vocabulary that numbers their pieces → models in which an id is that of the network.

Other toolkits keep two things: SentencePiece models, which segment text, and a file that numbers pieces for the
network, `vocab.json`. One numbering often serves two models, one for each language. Here each model is written again
with all pieces of the vocabulary, in this order:

    <pad> <unk> <s> </s>   0 to 3, as everywhere in Dragoman
    the vocabulary         in its order, without its own special tokens
    extras                 pieces of any of the models that the vocabulary lacks

In each model its own pieces keep score and type, language tokens are CONTROL, which no text reaches, and the others are
UNUSED: SentencePiece never segments text into them, but knows their text. Their scores are below all others, because
a BPE model merges into an UNUSED piece too, and divides it only at the end: such merges must come last. Extras stay
pieces, because without them the text around them would be segmented differently; for the network they are its unknown
token.
"""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sentencepiece import SentencePieceProcessor

from dragoman.errors import ModelError, counted
from dragoman.importing.files.settings import read_file, read_json
from dragoman.text.tokens.model_file import (
    BPE,
    CONTROL,
    MODEL_TYPE,
    NORMALIZER_SPEC,
    PIECES,
    TRAINER_SPEC,
    UNKNOWN,
    UNUSED,
    VOCAB_SIZE,
    Piece,
    field,
    fields,
    model_pieces,
    replaced,
    section,
)
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, Vocabulary

SURROGATE = re.compile("[\ud800-\udfff]")
NAMES = ("<pad>", "<unk>", "<s>", "</s>")  # of PAD, UNK, BOS, EOS
TYPES = (CONTROL, UNKNOWN, CONTROL, CONTROL)
DENORMALIZER_SPEC = 5
# Fields of TrainerSpec: the ids of unk, bos, eos, pad, and their pieces; whether unknown characters are bytes.
SPECIAL_IDS: dict[int, int | bytes] = {40: UNK, 41: BOS, 42: EOS, 43: PAD}
SPECIAL_PIECES: dict[int, int | bytes] = {45 + at: NAMES[id_].encode() for at, id_ in enumerate((UNK, BOS, EOS, PAD))}
BYTE_FALLBACK = 35
# Of a model's pieces, the share that its vocabulary must have.
LEAST_SHARE = 0.5


@dataclass(frozen=True)
class SpecialIds:
    """The network's ids of what Dragoman calls UNK, BOS and EOS, and further ids that are no pieces of text."""

    unk: int
    bos: int
    eos: int
    others: tuple[int, ...] = ()


@dataclass(frozen=True)
class Renumbered:
    """Models of one numbering, and which of the network's rows each id is."""

    models: tuple[Vocabulary, ...]
    rows: tuple[int, ...]
    """For each id the network's row; −1 for PAD, which has none."""
    extras: int
    """How many ids at the end are pieces that the vocabulary lacks; their rows are that of the unknown token."""
    lacking: tuple[int, ...]
    """Of each model, how many pieces the vocabulary lacks."""
    marks: tuple[str, ...]
    """The language tokens, in the vocabulary's order."""


@dataclass(frozen=True)
class NumberedSides:
    """Source and target; the same object twice if both have one numbering."""

    source: Renumbered
    target: Renumbered

    @property
    def shared(self) -> bool:
        return self.source is self.target

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer(self.source.models[0], self.target.models[-1])

    @property
    def keys(self) -> dict[str, Any]:
        source, joint = self.tokenizer.source, self.tokenizer.joint
        sizes = {"vocab_size": len(source), "joint": joint, "shared": self.shared and not joint}
        return {**sizes, **tokenizer_keys(source.serialized)}

    @property
    def notes(self) -> list[str]:
        """What the user is to know of pieces that the network never learned."""
        lacking = (("source", self.source.lacking[0]), ("target", self.target.lacking[-1]))
        return [f"{counted(count, f'{side} piece')} unknown to the network" for side, count in lacking if count]


def read_model(path: Path) -> bytes:
    """The file of a SentencePiece model. Raises ModelError if it is none."""
    serialized = read_file(path)
    try:
        SentencePieceProcessor().LoadFromSerializedProto(serialized)
        pieces = model_pieces(serialized)
    except (RuntimeError, ValueError, KeyError, struct.error):
        pieces = []
    if not pieces:
        raise ModelError(f"{path}: not a SentencePiece model; fetch the file again")
    return serialized


def read_vocabulary(path: Path) -> dict[str, int]:
    """Piece → id from a JSON file, the ids dense from 0. Raises ModelError."""
    vocabulary = read_json(path)
    if not isinstance(vocabulary, dict) or not all(type(id_) is int for id_ in vocabulary.values()):
        raise ModelError(f"{path}: not pieces with their ids; fetch the file again")
    size = len(vocabulary)
    if sorted(vocabulary.values()) != list(range(size)):
        gap = next((id_ for id_, other in enumerate(sorted(vocabulary.values())) if id_ != other), size)
        raise ModelError(f"{path}: the ids are not those from 0 to {size - 1:,}: see {gap:,}; fetch it again")
    return vocabulary


def renumber(
    models: Mapping[Path, bytes],
    vocabulary: Mapping[str, int],
    special: SpecialIds,
    is_mark: Callable[[str], bool],
    where: Path,
) -> Renumbered:
    """Models with the pieces of `vocabulary` and the ids of Dragoman. Raises ModelError if they do not belong together.

    `where` is the vocabulary's file, for messages.
    """
    texts = [{piece.text: piece for piece in model_pieces(content) if _is_text(piece)} for content in models.values()]
    lacking = []
    for path, pieces in zip(models, texts, strict=True):
        lacking.append(len(pieces.keys() - vocabulary.keys()))
        if len(pieces) - lacking[-1] < LEAST_SHARE * len(pieces):
            raise ModelError(f"{path}: does not belong to {where.name}, which has few of its pieces; fetch both again")
    without = {special.unk, special.bos, special.eos, *special.others}
    known = [piece for piece in vocabulary if vocabulary[piece] not in without and piece not in NAMES]
    known.sort(key=vocabulary.__getitem__)
    if "" in known:
        raise ModelError(f"{where}: an empty piece; fetch the file again")
    if SURROGATE.search("".join(known)):
        raise ModelError(f"{where}: a piece with an unpaired surrogate; fetch the file again")
    extras = [piece for piece in dict.fromkeys(text for pieces in texts for text in pieces) if piece not in vocabulary]
    marks = tuple(filter(is_mark, known))
    order = [*known, *extras]
    return Renumbered(
        tuple(
            Vocabulary.load(_written(content, pieces, order, frozenset(marks)), str(path))
            for (path, content), pieces in zip(models.items(), texts, strict=True)
        ),
        (-1, special.unk, special.bos, special.eos, *map(vocabulary.__getitem__, known), *[special.unk] * len(extras)),
        len(extras),
        tuple(lacking),
        marks,
    )


def tokenizer_keys(content: bytes) -> dict[str, Any]:
    """The keys of [tokenizer] that a SentencePiece model says."""
    trainer = section(content, TRAINER_SPEC)
    kind = "bpe" if trainer.get(MODEL_TYPE) == BPE else "unigram"
    return {"kind": kind, "byte_fallback": bool(trainer.get(BYTE_FALLBACK, 0))}


def _written(content: bytes, by_text: Mapping[str, Piece], order: Sequence[str], marks: frozenset[str]) -> bytes:
    """The model with the special tokens and then the pieces of `order`; what it does to text stays the same."""
    pieces = [Piece(name, 0.0, type_) for name, type_ in zip(NAMES, TYPES, strict=True)]
    lowest = min((piece.score for piece in by_text.values()), default=0.0) - 1.0
    for text in order:
        piece = by_text.get(text) or Piece(text, lowest, UNUSED)
        pieces.append(Piece(text, 0.0, CONTROL) if text in marks else piece)
    specs = {number: value for number, value in fields(content) if number in (NORMALIZER_SPEC, DENORMALIZER_SPEC)}
    trainer = next((value for number, value in fields(content) if number == TRAINER_SPEC), b"")
    assert isinstance(trainer, bytes)
    trainer = replaced(trainer, {VOCAB_SIZE: len(pieces), **SPECIAL_IDS, **SPECIAL_PIECES})
    written = [field(PIECES, piece.message()) for piece in pieces]
    return b"".join([*written, field(TRAINER_SPEC, trainer), *(field(*item) for item in sorted(specs.items()))])


def _is_text(piece: Piece) -> bool:
    return piece.type not in (CONTROL, UNKNOWN, UNUSED) and piece.text not in NAMES
