"""Held-out text and training text → which characters and words of the former the latter lacks.

Only the characters and words of the held-out text are kept, so that memory does not grow with the training text. Words
are compared without case by their hashes; they are not counted where writing has no spaces between them.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dragoman.data.corpus.pair_block import SPACE, PairBlock, TextSide

_UNSPACED = frozenset({"Hani", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr", "Tibt"})
SIDES = ("source", "target")


@dataclass(slots=True)
class _Seen:
    """The characters and words of training text on one side."""

    characters: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0x110000, bool))
    wanted: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    occurs: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))


class VocabularyCoverage:
    """Collects held-out text first, training text then."""

    def __init__(self) -> None:
        self._held_out: dict[str, list[tuple[list[NDArray[np.uint32]], list[NDArray[np.uint64]]]]] = {}
        self._seen = (_Seen(), _Seen())

    def add_held_out(self, name: str, block: PairBlock) -> None:
        """Keep the characters and words of a block of a held-out corpus."""
        sides = self._held_out.setdefault(name, [([], []) for _ in SIDES])
        for side, (characters, words) in zip((block.source, block.target), sides, strict=True):
            characters.append(_characters(side))
            words.append(_words(side))

    def add_training(self, block: PairBlock) -> None:
        """Note which of them occur in a block of training text."""
        for number, side in enumerate((block.source, block.target)):
            seen = self._seen[number]
            seen.characters[side.codes] = True
            if not len(seen.wanted):
                wanted = [words for held_out in self._held_out.values() for words in held_out[number][1]]
                seen.wanted = np.unique(np.concatenate([np.zeros(1, np.uint64), *wanted]))
                seen.occurs = np.zeros(len(seen.wanted), bool)
            words = _words(side)
            at = np.minimum(np.searchsorted(seen.wanted, words), len(seen.wanted) - 1)
            seen.occurs[at[seen.wanted[at] == words]] = True

    def unseen(self, name: str) -> dict[str, float]:
        """The share of characters and words of a held-out corpus that no training text has, for each side."""
        shares = {}
        for side, seen, (characters, words) in zip(SIDES, self._seen, self._held_out.get(name, ()), strict=False):
            letters, tokens = np.concatenate(characters), np.concatenate(words)
            if len(letters):
                shares[f"{side}_characters"] = round(float(1 - seen.characters[letters].mean()), 6)
            if len(tokens) and len(seen.wanted):
                shares[f"{side}_words"] = round(float(1 - seen.occurs[np.searchsorted(seen.wanted, tokens)].mean()), 6)
        return shares


def _characters(side: TextSide) -> NDArray[np.uint32]:
    classes = side.classes
    return side.codes[(classes != 0) & (classes & SPACE == 0)]


def _words(side: TextSide) -> NDArray[np.uint64]:
    return np.zeros(0, np.uint64) if 4 * _unspaced(side) > max(int(side.letters.sum()), 1) else side.words[0]


def _unspaced(side: TextSide) -> int:
    return int(side.letters_in(_UNSPACED).sum())
