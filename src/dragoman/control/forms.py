"""How a phrase is written in the tokens of a translation, and where it may stand among them. No torch."""

import re
import unicodedata

from dragoman.control.phrases import Ids
from dragoman.text.glossary import joins
from dragoman.text.tokenizer import UNK, Tokenizer

SPACE = "▁"  # SentencePiece's sign for a space
_BYTE = re.compile("<0x[0-9A-F]{2}>")


class Forms:
    """How translations are written in tokens, and where each way of writing may be put.

    As a word, with its space, it goes where a word or a sign begins. Written to the end of what has no spaces (`前` +
    `服务器`), it goes behind such. With a capital it goes to the beginning of a translation that began with one.
    """

    def __init__(self, tokenizer: Tokenizer, unconstrained: str) -> None:
        self.tokenizer, self.capital = tokenizer, unconstrained[:1].isupper()
        self.glued: set[tuple[int, ...]] = set()
        self.first: set[tuple[int, ...]] = set()
        self.homes: dict[tuple[int, ...], frozenset[str]] = {}

    def of(self, text: str, homes: frozenset[str]) -> list[tuple[int, ...]]:
        """The ways to write `text`; none if the vocabulary cannot. They go at words that begin as `homes` do."""
        word = self._ids(text)
        forms = [word]
        if self.capital and text[0].islower() and (capital := self._ids(text[0].upper() + text[1:])) != word:
            self.first.add(capital)
            forms.append(capital)
        if joins(text[0]) and (glued := self._ids_within(text)) != word:
            self.glued.add(glued)
            forms.append(glued)
        self.homes.update((form, self.homes.get(form, frozenset()) | homes) for form in forms)
        return [form for form in forms if form and UNK not in form]

    def places(self, tokens: Ids, form: Ids, fixed: int) -> list[int]:
        """Where in `tokens`, from `fixed` on, the form may be put: at its homes, or anywhere if it has none."""
        form, pieces = tuple(form), self.tokenizer.pieces(tokens, "target")
        if form in self.glued:
            return [place for place in range(max(fixed, 1), len(pieces) + 1) if joins(pieces[place - 1][-1])]
        starts = [place for place in range(fixed, len(pieces)) if place == 0 or begins(pieces[place])]
        if form in self.first:
            return [place for place in starts if place == 0]
        homes, following = self.homes[form], [*starts[1:], len(pieces)]
        near = [
            place
            for place, after in zip(starts, following, strict=False)
            if homes & set(pieces[place : place + 1] + pieces[after : after + 1])
        ]
        ended = bool(starts) and _sign(pieces[-1])  # what could be put behind the full stop is put before it
        return near if homes else starts if ended else [*starts, len(pieces)]

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode([text], "target")[0])

    def _ids_within(self, text: str) -> tuple[int, ...]:
        """The ids of `text` without a space before it, found behind a full stop."""
        stop, both = self._ids("。"), self._ids(f"。{text}")
        return both[len(stop) :] if both[: len(stop)] == stop else ()


def begins(piece: str) -> bool:
    """Whether a piece begins a word, or a sign that may follow one."""
    return piece.startswith(SPACE) or _sign(piece)


def _sign(piece: str) -> bool:
    return unicodedata.category(piece[0])[0] in "PS" and not piece.startswith(SPACE) and not _BYTE.fullmatch(piece)
