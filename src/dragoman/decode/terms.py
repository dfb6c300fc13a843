"""Glossary terms in translations: text around `satisfy`. Lines and hypotheses go in; hypotheses with a report leave.

A translation contains a term when the glossary's own matching finds one of its translations in the text, once,
however often the source says it (a pronoun may stand for the rest). The longest of all that is required is found first,
so a `server room` is no `server`.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.config import DecodeConfig
from dragoman.decode.constraints import Ids, Searcher, Task, satisfy
from dragoman.decode.hypothesis import Hypothesis
from dragoman.errors import DataError
from dragoman.text.glossary import Entry, Glossary, joins
from dragoman.text.normalise import normalise
from dragoman.text.tokenizer import UNK, Tokenizer

SPACE = "▁"  # SentencePiece's sign for a space
_BYTE = re.compile("<0x[0-9A-F]{2}>")


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a source line and the translation that was found, or, if violated, the first that would have done."""

    source: str
    target: str
    satisfied: bool


@dataclass(frozen=True, slots=True)
class Constrained:
    """The hypotheses of a line, best first, and how the best keeps to the glossary; no terms, nothing changed."""

    hypotheses: tuple[Hypothesis, ...]
    terms: tuple[Term, ...] = ()


def constrain(
    engine: Searcher,
    tokenizer: Tokenizer,
    glossary: Glossary,
    lines: Sequence[str],
    sources: Sequence[Ids],
    hypotheses: Sequence[Sequence[Hypothesis]],
    options: DecodeConfig,
    *,
    strict: bool = False,
) -> list[Constrained]:
    """Make the translations of `lines` contain what the glossary says of the terms in them.

    `sources` are the ids of the lines and `hypotheses` what the engine found for them; neither is empty, so leave out
    empty lines. As many come out as went in, in order. With `strict`, raises DataError at the first violated term.
    """
    wanted = [_Wanted.of(glossary, line, tokenizer) for line in lines]
    tasks = [
        wish.task(source, found)
        for wish, source, found in zip(wanted, sources, hypotheses, strict=True)
        if wish.entries and found
    ]
    satisfied = iter(satisfy(engine, tasks, options))
    results = [
        Constrained(tuple(best := next(satisfied)), wish.report(best[0].tokens))
        if wish.entries and found
        else Constrained(tuple(found))
        for wish, found in zip(wanted, hypotheses, strict=True)
    ]
    if strict:
        _refuse_violations(lines, results)
    return results


def _refuse_violations(lines: Sequence[str], results: Sequence[Constrained]) -> None:
    for line, result in zip(lines, results, strict=True):
        for term in result.terms:
            if not term.satisfied:
                raise DataError(
                    f"{line!r}: the model cannot be made to translate {term.source!r} with {term.target!r} here; give "
                    f"another translation of the term, raise decode.extra_length, or do not ask for strictness"
                )


@dataclass(frozen=True)
class _Wanted:
    """The entries that stand in a line, each once, and what is known of translations seen so far."""

    entries: tuple[Entry, ...]
    tokenizer: Tokenizer
    targets: Glossary
    seen: dict[tuple[int, ...], dict[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, glossary: Glossary, line: str, tokenizer: Tokenizer) -> "_Wanted":
        entries = tuple(dict.fromkeys(match.entry for match in glossary.find(line)))
        said = dict.fromkeys(text for entry in entries for text in entry.translations)
        return cls(entries, tokenizer, Glossary(tuple(Entry(text, ()) for text in said)))

    def task(self, source: Ids, hypotheses: Sequence[Hypothesis]) -> Task:
        """What `satisfy` is asked for."""
        forms = _Forms(self.tokenizer, self._text(hypotheses[0].tokens))
        phrases = [[ids for text in entry.translations for ids in forms.of(text)] for entry in self.entries]
        return Task(source, hypotheses, phrases, self._says, forms.places)

    def report(self, tokens: Ids) -> tuple[Term, ...]:
        """How a translation keeps to the glossary."""
        there = self._found(tokens)
        return tuple(
            Term(entry.term, next((there[t] for t in entry.translations if t in there), entry.translations[0]), said)
            for entry, said in zip(self.entries, self._says(tokens), strict=True)
        )

    def _says(self, tokens: Ids) -> tuple[bool, ...]:
        there = self._found(tokens)
        return tuple(any(text in there for text in entry.translations) for entry in self.entries)

    def _found(self, tokens: Ids) -> dict[str, str]:
        """The required translations that stand in the text of `tokens`, each with how it is written there."""
        key = tuple(tokens)
        if key not in self.seen:
            text = self._text(key)
            self.seen[key] = {match.entry.term: text[match.start : match.end] for match in self.targets.find(text)}
        return self.seen[key]

    def _text(self, tokens: Ids) -> str:
        return normalise(self.tokenizer.decode([tokens], "target")[0])


class _Forms:
    """How translations are written in tokens, and where each way of writing may be put.

    As a word, with its space, it goes where a word or a sign begins. Written to the end of what has no spaces (`前` +
    `服务器`), it goes behind such. With a capital it goes to the beginning of a translation that began with one.
    """

    def __init__(self, tokenizer: Tokenizer, unconstrained: str) -> None:
        self.tokenizer, self.capital = tokenizer, unconstrained[:1].isupper()
        self.glued: set[tuple[int, ...]] = set()
        self.first: set[tuple[int, ...]] = set()

    def of(self, text: str) -> list[tuple[int, ...]]:
        """The ways to write `text`; none if the vocabulary cannot."""
        word = self._ids(text)
        forms = [word]
        if self.capital and text[0].islower() and (capital := self._ids(text[0].upper() + text[1:])) != word:
            self.first.add(capital)
            forms.append(capital)
        if joins(text[0]) and (glued := self._ids_within(text)) != word:
            self.glued.add(glued)
            forms.append(glued)
        return [form for form in forms if form and UNK not in form]

    def places(self, tokens: Ids, form: Ids) -> list[int]:
        """Where in `tokens` the form may be put."""
        form = tuple(form)
        if form in self.first:
            return [0]
        pieces = self.tokenizer.pieces(tokens, "target")
        if form in self.glued:
            return [place for place in range(1, len(pieces) + 1) if joins(pieces[place - 1][-1])]
        return [0, *(place for place in range(1, len(pieces)) if _begins(pieces[place])), len(pieces)]

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode([text], "target")[0])

    def _ids_within(self, text: str) -> tuple[int, ...]:
        """The ids of `text` without a space before it, found behind a full stop."""
        stop, both = self._ids("。"), self._ids(f"。{text}")
        return both[len(stop) :] if both[: len(stop)] == stop else ()


def _begins(piece: str) -> bool:
    """Whether a piece begins a word, or a sign that may follow one."""
    sign = unicodedata.category(piece[0])[0] in "PS" and not _BYTE.fullmatch(piece)
    return piece.startswith(SPACE) or sign
