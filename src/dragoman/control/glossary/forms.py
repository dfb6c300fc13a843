"""How a phrase is written in target tokens, and where in a translation each form may be inserted."""

import re
import unicodedata

from dragoman.engine import Ids
from dragoman.text.tokens.model_file import SPACE
from dragoman.text.tokens.tokenizer import UNK, Tokenizer
from dragoman.text.words.words import is_unspaced

_BYTE = re.compile("<0x[0-9A-F]{2}>")


class SurfaceForms:
    """The tokens in which phrases are written, and where each form may be inserted.

    A word with its space goes where a word or a sign begins. An unspaced form (`服务器` after `前`) goes after a
    character of a script without spaces. A capitalised form goes to the start of a translation that starts with one.
    """

    def __init__(self, tokenizer: Tokenizer, unconstrained: str) -> None:
        self.tokenizer, self.starts_capitalised = tokenizer, unconstrained[:1].isupper()
        self.unspaced_forms: set[tuple[int, ...]] = set()
        self.sentence_initial_forms: set[tuple[int, ...]] = set()
        self.anchors: dict[tuple[int, ...], frozenset[str]] = {}

    def of(self, text: str, anchors: frozenset[str]) -> list[tuple[int, ...]]:
        """The forms of `text` that the vocabulary can write; they go to words whose first piece is an anchor."""
        word = self._ids(text)
        forms = [word]
        if self.starts_capitalised and text[0].islower():
            capitalised = self._ids(text[0].upper() + text[1:])
            if capitalised != word:
                self.sentence_initial_forms.add(capitalised)
                forms.append(capitalised)
        if is_unspaced(text[0]):
            unspaced = self._ids_without_space(text)
            if unspaced != word:
                self.unspaced_forms.add(unspaced)
                forms.append(unspaced)
        for form in forms:
            self.anchors[form] = self.anchors.get(form, frozenset()) | anchors
        return [form for form in forms if form and UNK not in form]

    def insertion_points(self, tokens: Ids, form: Ids, fixed: int) -> list[int]:
        """The positions in `tokens`, from `fixed` on, where the form may be inserted: at its anchors if it has any."""
        form, pieces = tuple(form), self.tokenizer.pieces(tokens, "target")
        if form in self.unspaced_forms:
            return [
                position for position in range(max(fixed, 1), len(pieces) + 1) if is_unspaced(pieces[position - 1][-1])
            ]
        starts = [position for position in range(fixed, len(pieces)) if position == 0 or starts_word(pieces[position])]
        if form in self.sentence_initial_forms:
            return [position for position in starts if position == 0]
        if anchors := self.anchors[form]:
            following = [*starts[1:], len(pieces)]
            return [
                start
                for start, after in zip(starts, following, strict=False)
                if anchors & {*pieces[start : start + 1], *pieces[after : after + 1]}
            ]
        if starts and _is_sign(pieces[-1]):  # what could go after the full stop goes before it
            return starts
        return [*starts, len(pieces)]

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode([text], "target")[0])

    def _ids_without_space(self, text: str) -> tuple[int, ...]:
        """The ids of `text` without a space before it: those it has after a full stop."""
        stop, both = self._ids("。"), self._ids(f"。{text}")
        return both[len(stop) :] if both[: len(stop)] == stop else ()


def starts_word(piece: str) -> bool:
    """Whether a piece begins a word, or a sign that may follow one."""
    return piece.startswith(SPACE) or _is_sign(piece)


def _is_sign(piece: str) -> bool:
    return unicodedata.category(piece[0])[0] in "PS" and not piece.startswith(SPACE) and not _BYTE.fullmatch(piece)
