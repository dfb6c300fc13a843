"""The SentencePiece models next to a folder of CTranslate2 → a tokenizer with one numbering for network and text.

CTranslate2 speaks pieces, so SentencePiece's ids mean nothing to it, and each side of the tokenizer gets this order:
`<pad> <unk> <s> </s>`, the pieces of the network's vocabulary in their order, and then the pieces that only the
SentencePiece model has. These must stay pieces, or the text around them would be segmented differently; to the network
they are unknown. Pieces that only the network has never result from text, but may be generated.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import ModelError, counted
from dragoman.importing.ct2_folder import CT2Folder
from dragoman.text.model_file import (
    BPE,
    BYTE,
    CONTROL,
    MODEL_TYPE,
    NORMAL,
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
from dragoman.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, Vocabulary

# Names of SentencePiece files: of each side, and of one for both.
SOURCE = ("source.spm", "src.spm.model", "source.model")
TARGET = ("target.spm", "tgt.spm.model", "target.model")
JOINT = (
    "sentencepiece.model", "joint.spm.model", "joint.model", "sentencepiece.bpe.model", "spm.128k.model",
    "spiece.model", "spm.model",
)  # fmt: skip
BPE_FILES = ("bpe.model", "source.bpe", "target.bpe", "bpe.codes")
# The largest SentencePiece model that is read.
LARGEST = 1 << 26
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
# Fields of TrainerSpec: the ids of the special tokens and their pieces.
SPECIAL_IDS = {40: UNK, 41: BOS, 42: EOS, 43: PAD}
SPECIAL_PIECES = {45 + number: SPECIAL[token] for number, token in enumerate(SPECIAL_IDS.values())}
# Language tokens of other toolkits, which no text may contain: >>kor<<, __ko__, <2ko>, kor_Hang, ko_KR.
LANGUAGE_TOKEN = re.compile(r">>.+<<|__[a-z]{2,4}__|<2\w+>|[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2}")
# Of the pieces of a SentencePiece model, the least share that its own network knows.
SHARE = 0.5


@dataclass(frozen=True)
class FolderTokenizer:
    """A tokenizer, and the order of its pieces on each side; the same list if the ids mean the same."""

    tokenizer: Tokenizer
    source: list[str]
    target: list[str]
    files: tuple[str, ...]
    kind: str
    byte_fallback: bool
    notes: tuple[str, ...]


def read_tokenizer(folder: CT2Folder, where: Path | None = None, control: Collection[str] = ()) -> FolderTokenizer:
    """The tokenizer of a folder, from the SentencePiece files in it or in `where`; no text contains a `control` piece.

    Raises ModelError.
    """
    place = where or folder.path
    names = _files(place)
    models = [_read(place / name) for name in names]
    pieces = [_pieces(model, place / name) for model, name in zip(models, names, strict=True)]
    for name, own, vocabulary in zip(names, pieces, (folder.source, folder.target), strict=False):
        _check_share(place / name, own, vocabulary)
    if folder.shared:
        orders = [_order(folder.source, [*pieces[0], *pieces[-1]])] * 2
    else:
        orders = [_order(folder.source, pieces[0]), _order(folder.target, pieces[-1])]
    control = {folder.config["bos_token"], *control} - set(SPECIAL)
    sides = [
        Vocabulary.load(_numbered(models[side], pieces[side], orders[side], control), str(place / names[side]))
        for side in (0, -1)
    ]
    joint = folder.shared and len(models) == 1
    trainer = section(models[0], TRAINER_SPEC)
    return FolderTokenizer(
        Tokenizer(sides[0], sides[0] if joint else sides[1]),
        source=orders[0],
        target=orders[1],
        files=names,
        kind="bpe" if trainer.get(MODEL_TYPE) == BPE else "unigram",
        byte_fallback=any(piece.type == BYTE for piece in pieces[0]),
        notes=_notes(folder, pieces[0]),
    )


def _files(place: Path) -> tuple[str, ...]:
    """The names of the SentencePiece files: source and target, or one for both. Raises ModelError."""
    sides = [next((name for name in names if (place / name).is_file()), None) for names in (SOURCE, TARGET)]
    if all(sides):
        return tuple(filter(None, sides))
    joint = next((name for name in JOINT if (place / name).is_file()), None)
    if joint:
        return (joint,)
    if bpe := next((name for name in BPE_FILES if (place / name).exists()), None):
        raise ModelError(
            f"{place / bpe}: cut by Moses and BPE, which is not supported; take the SentencePiece model of this pair"
        )
    if sides[0]:  # pieces are joined without a model of their own
        return (sides[0],)
    raise ModelError(
        f"{place}: no SentencePiece model, without which text cannot be segmented; looked for: source.spm and "
        f"target.spm, src.spm.model and tgt.spm.model, {', '.join(JOINT)}"
    )


def _read(path: Path) -> bytes:
    if path.stat().st_size > LARGEST:
        raise ModelError(f"{path}: more than {LARGEST >> 20} MiB, which no SentencePiece model needs")
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}; fetch the file again") from None


def _pieces(model: bytes, path: Path) -> list[Piece]:
    try:
        found = model_pieces(model)
        section(model, TRAINER_SPEC)
    except (ValueError, LookupError):
        found = []
    if not found:
        raise ModelError(f"{path}: not a SentencePiece model; fetch the file again")
    return found


def _check_share(path: Path, pieces: Sequence[Piece], vocabulary: Sequence[str]) -> None:
    own = {piece.text for piece in pieces if piece.type == NORMAL}
    if len(own & set(vocabulary)) < SHARE * len(own):
        raise ModelError(f"{path}: does not belong to this vocabulary, which has few of its pieces; take its own")


def _order(vocabulary: Sequence[str], pieces: Sequence[Piece]) -> list[str]:
    texts = [piece.text for piece in pieces if piece.type != UNKNOWN]
    return list(dict.fromkeys([*SPECIAL, *vocabulary, *texts]))


def _numbered(model: bytes, pieces: Sequence[Piece], order: Sequence[str], control: Collection[str]) -> bytes:
    """The SentencePiece model with the pieces of `order`; those that it lacks are never cut out of text."""
    own = {piece.text: piece for piece in pieces}
    written = [_piece(token, text, own.get(text), control) for token, text in enumerate(order)]
    rest = [(number, value) for number, value in fields(model) if number not in (PIECES, TRAINER_SPEC)]
    [trainer] = [value for number, value in fields(model) if number == TRAINER_SPEC] or [b""]
    assert isinstance(trainer, bytes)
    values: dict[int, int | bytes] = {VOCAB_SIZE: len(order), **SPECIAL_IDS}
    values |= {key: text.encode() for key, text in SPECIAL_PIECES.items()}
    message = b"".join(field(PIECES, piece.message()) for piece in written)
    return message + field(TRAINER_SPEC, replaced(trainer, values)) + b"".join(field(*item) for item in rest)


def _piece(token: int, text: str, own: Piece | None, control: Collection[str]) -> Piece:
    if token < len(SPECIAL):
        return Piece(text, 0.0, UNKNOWN if token == UNK else CONTROL)
    if text in control or LANGUAGE_TOKEN.fullmatch(text):
        return Piece(text, 0.0, CONTROL)
    return own or Piece(text, 0.0, UNUSED)


def _notes(folder: CT2Folder, pieces: Sequence[Piece]) -> tuple[str, ...]:
    learned = set(folder.source)
    unlearned = sum(piece.type == NORMAL and piece.text not in learned for piece in pieces)
    return (f"{counted(unlearned, 'source piece')} that the model never learned: unknown to it",) if unlearned else ()
