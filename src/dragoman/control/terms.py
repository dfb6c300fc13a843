"""Glossary terms in translations: text around `force_phrases`.

A translation contains a term when the glossary's own matching finds one of its translations in the text, once,
however often the source says it (a pronoun may stand for the rest). The longest of all that is required is found first,
so a `server room` is no `server`.

A missing term is put where the translation speaks of it: at the word that the term explains by `erasure`, or at the
word before. Tried everywhere, a word that the model would never say costs least where it disturbs least, behind the
last full stop. What follows is translated from the line without the term, or the model would say it in its own word
too. Scores are given anew at the end, by the whole line; they do not change the order, in which a translation that
says a thing twice, once in each word, might come too early.

**Cost** of a line with m missing terms: 2 m scorings to find their places, then mostly 2 searches for each alternative
of each in each of at most m rounds (see `force_phrases`), and a scoring of what is returned. Terms that fit nowhere
there are tried everywhere. Lines without terms, or that say them already, cost the matching alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from dragoman.config import DecodeConfig
from dragoman.control.erasure import losses
from dragoman.control.forms import Forms, begins
from dragoman.control.phrases import Ids, Searcher, Task, force_phrases, scored
from dragoman.decode.hypothesis import Hypothesis
from dragoman.text.glossary import Entry, Glossary, Match
from dragoman.text.normalise import normalise
from dragoman.text.tokenizer import Tokenizer

# A term explains the word that loses most without it; with the second as well, terms change places.
MOST_LOST = 1


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a source line and the translation that was found, or, if violated, the first that would have done."""

    source: str
    target: str
    satisfied: bool


@dataclass(frozen=True, slots=True)
class Constrained:
    """The hypotheses of a line, best first, and how the best keeps to the glossary; no terms, nothing changed.

    Where terms were put in, those that say most of them come first, and of these the best by the search; see above.
    """

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
) -> list[Constrained]:
    """Make the translations of `lines` contain what the glossary says of the terms in them.

    `sources` are the ids of the lines and `hypotheses` what the engine found for them; neither is empty, so leave out
    empty lines. As many come out as went in, in order.
    """
    wanted = [_Wanted.of(glossary, line, tokenizer) for line in lines]
    asked = [one for one in zip(wanted, sources, hypotheses, strict=True) if one[0].entries and one[2]]
    homes = _homes(engine, tokenizer, asked)
    tasks = [wish.task(source, found, home) for (wish, source, found), home in zip(asked, homes, strict=True)]
    at_home = force_phrases(engine, tasks, options)
    # What its home has no place for, as when another term stands there now, goes on from there to anywhere.
    again = [wish.task(source, found, {}) for (wish, source, _), found in zip(asked, at_home, strict=True)]
    satisfied = iter(_rescored(engine, tasks, force_phrases(engine, again, options), options))
    return [
        Constrained(tuple(best := next(satisfied)), wish.report(best[0].tokens))
        if wish.entries and found
        else Constrained(tuple(found))
        for wish, found in zip(wanted, hypotheses, strict=True)
    ]


def _rescored(
    engine: Searcher, tasks: Sequence[Task], found: Sequence[list[Hypothesis]], options: DecodeConfig
) -> list[list[Hypothesis]]:
    """The same hypotheses, each new one with its log P given the whole source and the score of that."""
    new = [(task.source, one.tokens) for task, mine in zip(tasks, found, strict=True) for one in _new(task, mine)]
    again = iter(scored(engine, [source for source, _ in new], [tokens for _, tokens in new], options))
    return [
        [one if one in task.hypotheses else next(again) for one in mine]
        for task, mine in zip(tasks, found, strict=True)
    ]


def _new(task: Task, found: Sequence[Hypothesis]) -> list[Hypothesis]:
    return [one for one in found if one not in task.hypotheses]


def _homes(
    engine: Searcher, tokenizer: Tokenizer, asked: "Sequence[tuple[_Wanted, Ids, Sequence[Hypothesis]]]"
) -> list[dict[Entry, frozenset[str]]]:
    """For each wish, the words that each of its missing entries explains, as their first pieces."""
    places = [(index, entry) for index, (wish, _, found) in enumerate(asked) for entry in wish.missing(found[0].tokens)]
    erased = tokenizer.encode([asked[index][0].without(entry) for index, entry in places], "source")
    questions = [(asked[i][1], rest, asked[i][2][0].tokens) for (i, _), rest in zip(places, erased, strict=True)]
    homes: list[dict[Entry, frozenset[str]]] = [{} for _ in asked]
    for (index, entry), question, lost in zip(places, questions, losses(engine, questions), strict=True):
        homes[index][entry] = _most_lost(tokenizer.pieces(question[2], "target"), lost)
    return homes


def _most_lost(pieces: Sequence[str], lost: Sequence[float]) -> frozenset[str]:
    """The first pieces of the words that lost most."""
    starts = [place for place, piece in enumerate(pieces) if place == 0 or begins(piece)]
    words = zip(starts, [*starts[1:], len(pieces)][: len(starts)], strict=True)  # none in an empty translation
    by_loss = sorted(((sum(lost[start:end]), pieces[start]) for start, end in words), reverse=True)
    return frozenset(piece for loss, piece in by_loss[:MOST_LOST] if loss > 0)


@dataclass(frozen=True)
class _Wanted:
    """The entries that stand in a line, each once, and what is known of translations seen so far."""

    line: str
    matches: tuple[Match, ...]
    entries: tuple[Entry, ...]
    tokenizer: Tokenizer
    targets: Glossary
    seen: dict[tuple[int, ...], dict[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, glossary: Glossary, line: str, tokenizer: Tokenizer) -> "_Wanted":
        matches = tuple(glossary.find(line))
        entries = tuple(dict.fromkeys(match.entry for match in matches))
        said = dict.fromkeys(text for entry in entries for text in entry.translations)
        return cls(normalise(line), matches, entries, tokenizer, Glossary(tuple(Entry(text, ()) for text in said)))

    def task(self, source: Ids, hypotheses: Sequence[Hypothesis], homes: Mapping[Entry, frozenset[str]]) -> Task:
        """What `force_phrases` is asked for; `homes` are the words at which entries are to be put."""
        forms = Forms(self.tokenizer, self._text(hypotheses[0].tokens))
        phrases = [
            [ids for text in entry.translations for ids in forms.of(text, homes.get(entry, frozenset()))]
            for entry in self.entries
        ]

        @cache
        def rest(put: frozenset[int]) -> Ids:
            text = self.without(*(self.entries[index] for index in put))
            return self.tokenizer.encode([text], "source")[0] or source

        return Task(source, hypotheses, phrases, self._says, forms.places, rest)

    def missing(self, tokens: Ids) -> list[Entry]:
        """The entries that a translation does not say."""
        return [entry for entry, there in zip(self.entries, self._says(tokens), strict=True) if not there]

    def without(self, *entries: Entry) -> str:
        """The line without the terms of `entries`."""
        text = self.line
        for match in reversed([match for match in self.matches if match.entry in entries]):
            text = text[: match.start] + text[match.end :]
        return text

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
