"""The SentencePiece models next to a folder of CTranslate2 → a tokenizer with one numbering for network and text.

CTranslate2 speaks pieces, so SentencePiece's ids mean nothing to it, and each side of the tokenizer gets this order:
`<pad> <unk> <s> </s>`, the pieces of the network's vocabulary in their order, and then the pieces that only the
SentencePiece model has. These must stay pieces, or the text around them would be segmented differently; to the network
they are unknown. Pieces that only the network has never result from text, but may be generated.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.errors import ModelError, counted
from dragoman.importing.files.languages import choose, tags_of
from dragoman.importing.files.pieces import Renumbered, SpecialIds, read_model, renumber, tokenizer_keys
from dragoman.importing.opennmt.folder import CT2Folder
from dragoman.text.tokens.model_file import NORMAL, model_pieces
from dragoman.text.tokens.tokenizer import Tokenizer

# Names of SentencePiece files: of each side, and of one for both.
SOURCE = ("source.spm", "src.spm.model", "source.model")
TARGET = ("target.spm", "tgt.spm.model", "target.model")
JOINT = (
    "sentencepiece.model", "joint.spm.model", "joint.model", "sentencepiece.bpe.model", "spm.128k.model",
    "spiece.model", "spm.model",
)  # fmt: skip
BPE_FILES = ("bpe.model", "source.bpe", "target.bpe", "bpe.codes")
# Language tokens of other toolkits, which no text may contain, and where they are: before the source, the target's
# (OPUS-MT, MADLAD), or each before its own side (M2M-100, NLLB-200, mBART-50).
OF_TARGET = (re.compile(r">>(.+)<<"), re.compile(r"<2(\w+)>"))
OF_EACH = (re.compile(r"__([a-z]{2,3})__"), re.compile(r"([a-z]{3}_[A-Z][a-z]{3})"), re.compile(r"([a-z]{2}_[A-Z]{2})"))


@dataclass(frozen=True)
class FolderTokenizer:
    """A tokenizer, and the order of its pieces on each side; the same list if the ids mean the same."""

    tokenizer: Tokenizer
    source: list[str]
    target: list[str]
    files: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def keys(self) -> dict[str, Any]:
        joint = self.tokenizer.joint
        return {
            **tokenizer_keys(self.tokenizer.source.serialized),
            "vocab_size": max(16, len(self.source)),
            "joint": joint,
            "shared": not joint and self.source == self.target,
        }


def read_tokenizer(folder: CT2Folder, where: Path | None = None, control: Collection[str] = ()) -> FolderTokenizer:
    """The tokenizer of a folder, from the SentencePiece files in it or in `where`; no text contains a `control` piece.

    Raises ModelError.
    """
    place = where or folder.path
    names = _files(place)
    models = {place / name: read_model(place / name) for name in names}
    first, last = place / names[0], place / names[-1]
    normal = {piece.text for model in models.values() for piece in model_pieces(model) if piece.type == NORMAL}

    def is_mark(piece: str) -> bool:
        return piece in control or piece == folder.config["bos_token"] or (is_language(piece) and piece not in normal)

    def numbered(vocabulary: list[str], *paths: Path) -> Renumbered:
        ids = {piece: row for row, piece in enumerate(vocabulary)}
        special = SpecialIds(ids["<unk>"], ids.get("<s>", ids["<unk>"]), ids["</s>"])
        return renumber({path: models[path] for path in paths}, ids, special, is_mark, folder.path / folder.files[-1])

    source = numbered(folder.source, *(models if folder.shared else [first]))
    target = source if folder.shared else numbered(folder.target, last)
    tokenizer, lacking = Tokenizer(source.models[0], target.models[-1]), source.lacking[0]
    orders = [tokenizer.pieces(range(len(tokenizer.source)), "source")]
    orders.append(orders[0] if folder.shared else tokenizer.pieces(range(len(tokenizer.target)), "target"))
    note = f"{counted(lacking, 'source piece')} that the model never learned: unknown to it"
    return FolderTokenizer(tokenizer, orders[0], orders[1], names, (note,) if lacking else ())


def is_language(piece: str) -> bool:
    """Whether a piece has the form of a language token."""
    return any(form.fullmatch(piece) for form in (*OF_TARGET, *OF_EACH))


def language_pair(folder: CT2Folder, folder_tokenizer: FolderTokenizer, pair: tuple[str, str]) -> dict[str, Any] | None:
    """The pair with its language tokens, an entry of `project.pairs`; None for a model without any.

    Raises ConfigError that lists the languages of the model if the pair is not among them.
    """
    if folder.config["add_source_bos"] and is_language(folder.config["bos_token"]):
        return None  # CTranslate2 puts it before each source by itself
    processor = folder_tokenizer.tokenizer.target.processor
    for form in (*OF_TARGET, *OF_EACH):
        tokens = {match[1]: piece for piece in folder_tokenizer.target if (match := form.fullmatch(piece))}
        tokens = {code: piece for code, piece in tokens.items() if processor.IsControl(processor.PieceToId(piece))}
        tags = tags_of(tokens)
        if not tags:
            continue
        target = tokens[choose(pair[1], tags)]
        names = {"source": pair[0], "target": pair[1]}
        if form in OF_TARGET:
            return {**names, "source_marks": [target]}
        return {**names, "source_marks": [tokens[choose(pair[0], tags)]], "target_marks": [target]}
    return None


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
