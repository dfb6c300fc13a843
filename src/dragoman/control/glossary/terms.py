"""Glossary terms in translations: which terms a line has, and where `force_phrases` inserts the missing ones.

A translation contains a term if the glossary's own matching finds one of its translations in the text, once, however
often the source has it (a pronoun may stand for the others). Of all required translations the longest is matched first,
so that a `server room` does not count as a `server`.

**A missing term is substituted** for the word that it explains: the required translation is written in place of the
words that lose most when the term is erased from the source (`control.glossary.substitution`). Where the model has
translated the term in its own words, this is better than a search: the rest of the translation stays, and no score has
to weigh a word that the model finds odd against what follows it (decision 0018).

**A term that explains no word** of the translation is inserted by search (`force_phrases`), at its anchor, the word
that loses most, or at the word before. Tried everywhere, a word that the model would never choose costs least where it
disturbs least, after the last full stop. What follows is translated from the line without the term, because the model
would otherwise also write its own word for it. At the end scores are computed from the whole line; they do not change
the order, in which a translation that has a thing twice, once in each word, might come too early.

**Cost** of a line with m missing terms and n hypotheses: 3 m scorings to find the words and a few for the drafts, for
each hypothesis. Only if a term explains no word: mostly 2 searches for each alternative of each such term in at most m
rounds, and a scoring of what is returned. Terms that do not fit at their anchors are tried everywhere. Lines without
terms, or whose translations have them, cost only the matching.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isfinite

from dragoman.config import DecodeConfig
from dragoman.control.glossary.erasure import erasure_losses
from dragoman.control.glossary.forms import SurfaceForms, starts_word
from dragoman.control.glossary.phrases import PhraseTask, force_phrases, score_targets
from dragoman.control.glossary.substitution import MissingTerm, SubstitutionTask, substitute
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Engine, Ids
from dragoman.text.terms.glossary import Entry, Glossary, Match
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.normalise import normalise
from dragoman.text.words.words import spelled
from dragoman.translation import Term

# A term explains the word that loses most without it; with the second as well, terms are confused with each other.
MAX_ANCHORS = 1

# What a term is replaced by to see what it explains.
ERASED = "X"

Anchors = Mapping[Entry, frozenset[str]]


def apply_glossary(
    engine: Engine,
    tokenizer: Tokenizer,
    glossary: Glossary,
    lines: Sequence[str],
    sources: Sequence[Ids],
    hypotheses: Sequence[Sequence[Hypothesis]],
    options: DecodeConfig,
) -> tuple[list[list[Hypothesis]], list[tuple[Term, ...]]]:
    """Make the translations of `lines` contain the translations that the glossary requires for the terms in them.

    `sources` are the ids of the lines and `hypotheses` the engine's; neither is empty. Output, in order: the hypotheses
    of each line, those with most of its terms first, and how the best one keeps to the glossary.
    """
    requirements = [_LineTerms.of(glossary, line, tokenizer) for line in lines]
    with_terms = [n for n, line in enumerate(requirements) if line.entries and hypotheses[n]]
    found, terms = list(map(list, hypotheses)), [tuple[Term, ...]()] * len(lines)
    selected = [(requirements[n], sources[n], hypotheses[n]) for n in with_terms]
    substituted, anchors = _substitute(engine, tokenizer, selected, options)
    # Only the best hypothesis is searched further, so that it is the same whatever `n_best` is.
    tasks = [
        line.task(source, own[:1], at)
        for (line, source, _), own, at in zip(selected, substituted, anchors, strict=True)
    ]
    anchored = force_phrases(engine, tasks, options)
    # A term that does not fit at its anchor, for example because another term is there now, is tried everywhere.
    unanchored = [line.task(source, own, {}) for (line, source, _), own in zip(selected, anchored, strict=True)]
    rescored = _rescore(engine, tasks, force_phrases(engine, unanchored, options), options)
    for n, searched, others in zip(with_terms, rescored, substituted, strict=True):
        found[n] = _in_order(requirements[n], [*searched, *others, *hypotheses[n]])[: options.n_best]
        terms[n] = requirements[n].report(found[n][0].tokens)
    return found, terms


def report_terms(glossary: Glossary, tokenizer: Tokenizer, line: str, tokens: Ids) -> tuple[Term, ...]:
    """How a translation keeps to the terms of a line."""
    return _LineTerms.of(glossary, line, tokenizer).report(tokens)


def _substitute(
    engine: Engine,
    tokenizer: Tokenizer,
    lines: "Sequence[tuple[_LineTerms, Ids, Sequence[Hypothesis]]]",
    options: DecodeConfig,
) -> tuple[list[list[Hypothesis]], list[Anchors]]:
    """The hypotheses of each line, those that miss terms with the terms in place if they can be; and the anchors.

    A line's anchors are the words that each entry that its best hypothesis misses explains, as their first pieces.
    """
    flat = [(n, hypothesis) for n, (*_, several) in enumerate(lines) for hypothesis in several]
    missing = [(n, at, entry) for at, (n, own) in enumerate(flat) for entry in lines[n][0].missing(own.tokens)]
    erased = iter(tokenizer.encode([text for n, _, entry in missing for text in lines[n][0].erased(entry)], "source"))
    erasures = [(lines[n][1], [next(erased), next(erased)], flat[at][1].tokens) for n, at, _ in missing]
    by_hypothesis: dict[int, list[MissingTerm]] = {}
    anchors: list[dict[Entry, frozenset[str]]] = [{} for _ in lines]
    for (n, at, entry), losses in zip(missing, erasure_losses(engine, erasures), strict=True):
        by_hypothesis.setdefault(at, []).append(MissingTerm(entry.translations, losses))
        if flat[at][1] is lines[n][2][0]:
            anchors[n][entry] = _largest_losses(tokenizer.pieces(flat[at][1].tokens, "target"), losses)
    tasks = [SubstitutionTask(lines[flat[at][0]][1], flat[at][1].tokens, own) for at, own in by_hypothesis.items()]
    for at, new in zip(by_hypothesis, substitute(engine, tokenizer, tasks, options), strict=True):
        n, old = flat[at]
        if new and _is_better(lines[n][0], lines[n][1], old, new, options):
            flat[at] = n, new
    return [[hypothesis for of, hypothesis in flat if of == n] for n in range(len(lines))], list(anchors)


def _in_order(line: "_LineTerms", hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """The hypotheses, each once: the first, then those that miss fewest terms."""
    distinct: dict[Ids, Hypothesis] = {}
    for hypothesis in hypotheses:
        distinct.setdefault(tuple(hypothesis.tokens), hypothesis)
    first, *rest = distinct.values()
    return [first, *sorted(rest, key=lambda hypothesis: len(line.missing(hypothesis.tokens)))]


def _is_better(line: "_LineTerms", source: Ids, old: Hypothesis, new: Hypothesis, options: DecodeConfig) -> bool:
    """Whether a substituted translation is possible and misses fewer terms."""
    possible = isfinite(new.log_prob) and options.min_length <= len(new.tokens) <= options.limit(len(source))
    return possible and len(line.missing(new.tokens)) < len(line.missing(old.tokens))


def _rescore(
    engine: Engine, tasks: Sequence[PhraseTask], found: Sequence[list[Hypothesis]], options: DecodeConfig
) -> list[list[Hypothesis]]:
    """The same hypotheses, each new one with log P and score given the whole source."""
    new = [
        (task.source_ids, hypothesis.tokens)
        for task, own in zip(tasks, found, strict=True)
        for hypothesis in own
        if hypothesis not in task.hypotheses
    ]
    rescored = iter(score_targets(engine, [source for source, _ in new], [tokens for _, tokens in new], options))
    return [
        [hypothesis if hypothesis in task.hypotheses else next(rescored) for hypothesis in own]
        for task, own in zip(tasks, found, strict=True)
    ]


def _largest_losses(pieces: Sequence[str], losses: Sequence[float]) -> frozenset[str]:
    """The first pieces of the words that lose most."""
    starts = [position for position, piece in enumerate(pieces) if position == 0 or starts_word(piece)]
    words = zip(starts, [*starts[1:], len(pieces)][: len(starts)], strict=True)  # none in an empty translation
    by_loss = sorted(((sum(losses[start:end]), pieces[start]) for start, end in words), reverse=True)
    return frozenset(piece for loss, piece in by_loss[:MAX_ANCHORS] if loss > 0)


@dataclass(frozen=True)
class _LineTerms:
    """The glossary entries found in a line, each once, and a cache of the terms found in translations."""

    line: str
    matches: tuple[Match, ...]
    entries: tuple[Entry, ...]
    tokenizer: Tokenizer
    targets: Glossary
    known: dict[tuple[int, ...], dict[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, glossary: Glossary, line: str, tokenizer: Tokenizer) -> "_LineTerms":
        matches = tuple(glossary.find(line))
        entries = tuple(dict.fromkeys(match.entry for match in matches))
        texts = dict.fromkeys(text for entry in entries for text in entry.translations)
        return cls(normalise(line), matches, entries, tokenizer, Glossary(tuple(Entry(text, ()) for text in texts)))

    def task(self, source_ids: Ids, hypotheses: Sequence[Hypothesis], anchors: Anchors) -> PhraseTask:
        """The entries as phrases; those without anchors may be inserted anywhere."""
        forms = SurfaceForms(self.tokenizer, self._text(hypotheses[0].tokens))
        phrases = [
            [ids for text in entry.translations for ids in forms.of(spelled(text), anchors.get(entry, frozenset()))]
            for entry in self.entries
        ]

        @cache
        def remaining_source(placed: frozenset[int]) -> Ids:
            text = self.without(*(self.entries[index] for index in placed))
            return self.tokenizer.encode([text], "source")[0] or source_ids

        return PhraseTask(source_ids, hypotheses, phrases, self._contains, forms.insertion_points, remaining_source)

    def missing(self, tokens: Ids) -> list[Entry]:
        """The entries that a translation does not contain."""
        return [entry for entry, there in zip(self.entries, self._contains(tokens), strict=True) if not there]

    def without(self, *entries: Entry) -> str:
        """The line without the terms of `entries`."""
        text = self.line
        for match in reversed([match for match in self.matches if match.entry in entries]):
            text = text[: match.start] + text[match.end :]
        return text

    def erased(self, entry: Entry) -> tuple[str, str]:
        """The line without the term of `entry`, and with a letter instead: each alone may break what follows it."""
        text = self.line
        for match in reversed([match for match in self.matches if match.entry == entry]):
            text = text[: match.start] + ERASED + text[match.end :]
        return self.without(entry), text

    def report(self, tokens: Ids) -> tuple[Term, ...]:
        """How a translation keeps to the glossary."""
        found = self._find(tokens)

        def term(entry: Entry, satisfied: bool) -> Term:
            written = [found[text] for text in entry.translations if text in found]
            return Term(entry.source, written[0] if written else spelled(entry.translations[0]), satisfied)

        return tuple(map(term, self.entries, self._contains(tokens)))

    def _contains(self, tokens: Ids) -> tuple[bool, ...]:
        found = self._find(tokens)
        return tuple(any(text in found for text in entry.translations) for entry in self.entries)

    def _find(self, tokens: Ids) -> dict[str, str]:
        """The required translations that the text of `tokens` contains, each as it is written there."""
        key = tuple(tokens)
        if key not in self.known:
            text = self._text(key)
            self.known[key] = {match.entry.term: text[match.start : match.end] for match in self.targets.find(text)}
        return self.known[key]

    def _text(self, tokens: Ids) -> str:
        return normalise(self.tokenizer.decode([tokens], "target")[0])
