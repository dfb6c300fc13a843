"""A lexical shortlist: which target pieces a source may need, so that an engine scores a thousand and not all.

The projection onto the vocabulary is the larger part of a small model's work on a CPU. A shortlist keeps the target
pieces that are always allowed and, for each source piece, those that translated it in the training text (see
`dragoman.shortlist.learn`); after Jean et al. (2015), section 3.2, and Kim et al. (2019), section 3.2.

On disk it is what CTranslate2 reads as `vmap.txt`, so that one file serves both engines. A line is a source piece, a
tab, and its target pieces separated by spaces; the line without a source piece names those that are always allowed:

    ⇥<pad> <unk> <s> </s> <0x00> … ▁der ▁ein
    ▁dog⇥▁Hund ▁Hunde ▁Hundes

CTranslate2 4.8.5 takes the union of the sentences of a batch, adds <unk>, <s>, </s> and the tokens of a target prefix,
does not look up the source's EOS, reads an unknown piece as <unk>, and fails on an empty file.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.errors import ModelError
from dragoman.text.tokens.tokenizer import UNK, Tokenizer, Vocabulary

NAME = "shortlist.txt"
MAPPING = "vmap.txt"  # CTranslate2's name for it
# What separates fields or lines, for Python or for CTranslate2.
SEPARATORS = frozenset(" \t\r\n")


@dataclass(frozen=True)
class Shortlist:
    """Target ids that are always candidates, and those that each source id adds, likeliest first."""

    always: tuple[int, ...]
    by_source: Mapping[int, tuple[int, ...]]

    def candidates(self, source: Iterable[int]) -> list[int]:
        """The target ids that a translation of these source ids may use, ascending; never empty."""
        candidates_of_source = set(self.always)
        for token in set(source):
            candidates_of_source.update(self.by_source.get(token, ()))
        return sorted(candidates_of_source)

    def text(self, tokenizer: Tokenizer) -> str:
        """The file's content. Raises ModelError for a piece with a separator in it."""
        sources = _writable(tokenizer.pieces(list(self.by_source), "source"))
        lines = ["\t" + " ".join(_writable(tokenizer.pieces(self.always, "target")))]
        for piece, targets in zip(sources, self.by_source.values(), strict=True):
            lines.append(f"{piece}\t{' '.join(_writable(tokenizer.pieces(targets, 'target')))}")
        return "\n".join(lines) + "\n"

    @classmethod
    def load(cls, path: Path, tokenizer: Tokenizer) -> "Shortlist":
        """Read a file with the `text` of a shortlist for this tokenizer. Raises ModelError, naming the line."""
        try:
            lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"{path}: cannot be read: {error}; `dragoman model shortlist` makes one") from None
        rules: dict[int, tuple[int, ...]] = {}
        always: tuple[int, ...] = ()
        for number, line in enumerate(lines, 1):
            where = f"{path}:{number}"
            piece, tab, targets = line.partition("\t")
            if not tab or not targets:
                raise ModelError(f"{where}: not a source piece, a tab and target pieces; make the file again")
            targets_of_source = tuple(_id(target, tokenizer.target, where) for target in targets.split(" "))
            if piece:
                rules[_id(piece, tokenizer.source, where)] = targets_of_source
            else:
                always = targets_of_source
        if not always:
            raise ModelError(f"{path}: no line of pieces that are always allowed; make the file again")
        return cls(always, rules)

    @classmethod
    def of_bundle(cls, bundle: Bundle) -> "Shortlist | None":
        """The shortlist of an opened bundle, or None. A file that the manifest does not list is not used."""
        return cls.load(bundle.folder / NAME, bundle.tokenizer) if NAME in bundle.manifest["files"] else None


@dataclass(frozen=True)
class Coverage:
    """How much of the target text of some pairs a shortlist covers."""

    pairs: int
    share: float
    """The fraction of target tokens that are candidates of their sentence."""
    size: float
    """Candidates of a sentence, on average."""
    vocabulary: int
    """Target pieces in all."""


def coverage(shortlist: Shortlist, pairs: Iterable[tuple[list[int], list[int]]], vocabulary: int) -> Coverage:
    """The coverage of `shortlist` on pairs of source and target ids, of which there is at least one."""
    sentences = size = tokens = held = 0
    for source, target in pairs:
        candidates = set(shortlist.candidates(source))
        sentences += 1
        size += len(candidates)
        tokens += len(target)
        held += sum(token in candidates for token in target)
    return Coverage(sentences, held / tokens, size / sentences, vocabulary)


def _writable(pieces: list[str]) -> list[str]:
    for piece in pieces:
        if not piece or SEPARATORS & set(piece):
            raise ModelError(
                f"{piece!r}: a piece with a space in it cannot be in a shortlist; "
                "learn pieces without it (tokenizer.user_defined_symbols)"
            )
    return pieces


def _id(piece: str, vocabulary: Vocabulary, where: str) -> int:
    token = int(vocabulary.processor.PieceToId(piece))
    if token == UNK and piece != vocabulary.processor.IdToPiece(UNK):
        raise ModelError(f"{where}: {piece!r} is not a piece of this model; make the file again")
    return token
