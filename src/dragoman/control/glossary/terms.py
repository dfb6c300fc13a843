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
from functools import cache, partial
from math import isfinite

from dragoman.config import DecodeConfig
from dragoman.control.glossary.erasure import erasure_losses
from dragoman.control.glossary.forms import SurfaceForms, starts_word
from dragoman.control.glossary.phrases import PhraseTask, force_phrases, score_targets
from dragoman.control.glossary.substitution import MissingTerm, SubstitutionTask, substitute
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Engine, Ids, Query
from dragoman.system.groups import in_groups
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
    texts: Sequence[str],
    queries: Sequence[Query],
    hypotheses: Sequence[Sequence[Hypothesis]],
    options: DecodeConfig,
) -> tuple[list[list[Hypothesis]], list[tuple[Term, ...]]]:
    """Make translations contain the translations that the glossary requires for the terms in their sources.

    `queries` are those of the `texts` and `hypotheses` the engine's; neither is empty. Output, in order: the hypotheses
    of each text, those with most of its terms first, and how the best one keeps to the glossary.
    """
    all_terms = [_LineTerms.of(glossary, text, tokenizer) for text in texts]
    with_terms = [n for n, terms in enumerate(all_terms) if terms.entries and hypotheses[n]]
    ranked, reports = list(map(list, hypotheses)), [tuple[Term, ...]()] * len(texts)
    lines = [_TermLine(all_terms[n], queries[n], list(hypotheses[n])) for n in with_terms]
    _substitute(engine, tokenizer, lines, options)
    # Only the best hypothesis is searched further, so that it is the same whatever `n_best` is.
    tasks = [line.terms.task(line.query, line.hypotheses[:1], line.anchors) for line in lines]
    anchored = force_phrases(engine, tasks, options)
    # A term that does not fit at its anchor, for example because another term is there now, is tried everywhere.
    unanchored = [
        line.terms.task(line.query, hypotheses_of_line, {})
        for line, hypotheses_of_line in zip(lines, anchored, strict=True)
    ]
    rescored = _rescore(engine, tasks, force_phrases(engine, unanchored, options), options)
    for n, line, searched in zip(with_terms, lines, rescored, strict=True):
        candidates = [*searched, *line.hypotheses, *hypotheses[n]]
        ranked[n] = _in_order(line.terms, candidates)[: options.n_best]
        reports[n] = line.terms.report(ranked[n][0].tokens)
    return ranked, reports


def report_terms(glossary: Glossary, tokenizer: Tokenizer, line: str, tokens: Ids) -> tuple[Term, ...]:
    """How a translation keeps to the terms of a line."""
    return _LineTerms.of(glossary, line, tokenizer).report(tokens)


@dataclass
class _TermLine:
    """A line with terms: its query, its hypotheses, and the first pieces of the words that missing terms explain."""

    terms: "_LineTerms"
    query: Query
    hypotheses: list[Hypothesis]
    anchors: dict[Entry, frozenset[str]] = field(default_factory=dict)


def _substitute(engine: Engine, tokenizer: Tokenizer, lines: Sequence[_TermLine], options: DecodeConfig) -> None:
    """Put missing terms in place, in all hypotheses in which they explain words, and set the anchors of each line.

    A line's anchors are the words that each entry that its best hypothesis misses explains.
    """
    places = [(line, rank) for line in lines for rank in range(len(line.hypotheses))]
    missing = [
        [(line, rank, entry) for entry in line.terms.missing(line.hypotheses[rank].tokens)] for line, rank in places
    ]
    losses = in_groups(partial(_losses, engine, tokenizer), missing)
    tasks: dict[int, SubstitutionTask] = {}
    for at, ((line, rank), entries, of_entries) in enumerate(zip(places, missing, losses, strict=True)):
        tokens = line.hypotheses[rank].tokens
        rows = [(entry, of_entry) for (*_, entry), of_entry in zip(entries, of_entries, strict=True)]
        if rank == 0:
            pieces = tokenizer.pieces(tokens, "target")
            line.anchors = {entry: _largest_losses(pieces, of_entry) for entry, of_entry in rows}
        if rows:
            terms = [MissingTerm(entry.translations, of_entry) for entry, of_entry in rows]
            tasks[at] = SubstitutionTask(line.query, tokens, terms)
    for at, new in zip(tasks, substitute(engine, tokenizer, list(tasks.values()), options), strict=True):
        line, rank = places[at]
        if new and _is_better(line, line.hypotheses[rank], new, options):
            line.hypotheses[rank] = new


def _losses(engine: Engine, tokenizer: Tokenizer, missing: Sequence[tuple[_TermLine, int, Entry]]) -> list[list[float]]:
    """By how much the tokens of a hypothesis of a line lose without the term of an entry."""
    erased = in_groups(
        lambda texts: tokenizer.encode(texts, "source"), [line.terms.erased(entry) for line, _, entry in missing]
    )
    return erasure_losses(
        engine,
        [
            (line.query, ways, line.hypotheses[rank].tokens)
            for (line, rank, _), ways in zip(missing, erased, strict=True)
        ],
    )


def _in_order(terms: "_LineTerms", hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """The hypotheses, each once: the first, then those that miss fewest terms."""
    distinct: dict[Ids, Hypothesis] = {}
    for hypothesis in hypotheses:
        distinct.setdefault(tuple(hypothesis.tokens), hypothesis)
    first, *rest = distinct.values()
    return [first, *sorted(rest, key=lambda hypothesis: len(terms.missing(hypothesis.tokens)))]


def _is_better(line: _TermLine, old: Hypothesis, new: Hypothesis, options: DecodeConfig) -> bool:
    """Whether a substituted translation is possible and misses fewer terms."""
    limit = options.limit(len(line.query.source))
    possible = isfinite(new.log_prob) and options.min_length <= len(new.tokens) <= limit
    return possible and len(line.terms.missing(new.tokens)) < len(line.terms.missing(old.tokens))


def _rescore(
    engine: Engine, tasks: Sequence[PhraseTask], searched: Sequence[list[Hypothesis]], options: DecodeConfig
) -> list[list[Hypothesis]]:
    """Hypotheses of which each new one has log P and score given the whole source."""
    new = [
        [(task.query, hypothesis.tokens) for hypothesis in hypotheses if hypothesis not in task.hypotheses]
        for task, hypotheses in zip(tasks, searched, strict=True)
    ]

    def score(pairs: Sequence[tuple[Query, tuple[int, ...]]]) -> list[Hypothesis]:
        return score_targets(engine, [query for query, _ in pairs], [tokens for _, tokens in pairs], options)

    rescored = []
    for task, hypotheses, scored in zip(tasks, searched, in_groups(score, new), strict=True):
        by_tokens = {hypothesis.tokens: hypothesis for hypothesis in scored}
        rescored.append([h if h in task.hypotheses else by_tokens[h.tokens] for h in hypotheses])
    return rescored


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

    def task(self, query: Query, hypotheses: Sequence[Hypothesis], anchors: Anchors) -> PhraseTask:
        """The entries as phrases; those without anchors may be inserted anywhere."""
        forms = SurfaceForms(self.tokenizer, self._text(hypotheses[0].tokens))
        phrases = [
            [ids for text in entry.translations for ids in forms.of(spelled(text), anchors.get(entry, frozenset()))]
            for entry in self.entries
        ]

        @cache
        def remaining_source(placed: frozenset[int]) -> Ids:
            text = self.without(*(self.entries[index] for index in placed))
            return self.tokenizer.encode([text], "source")[0] or query.source

        return PhraseTask(query, hypotheses, phrases, self._contains, forms.insertion_points, remaining_source)

    def missing(self, tokens: Ids) -> list[Entry]:
        return [entry for entry, there in zip(self.entries, self._contains(tokens), strict=True) if not there]

    def without(self, *entries: Entry, instead: str = "") -> str:
        text = self.line
        for match in reversed([match for match in self.matches if match.entry in entries]):
            text = text[: match.start] + instead + text[match.end :]
        return text

    def erased(self, entry: Entry) -> tuple[str, str]:
        """The line without the term of `entry`, and with a letter instead: each alone may break what follows it."""
        return self.without(entry), self.without(entry, instead=ERASED)

    def report(self, tokens: Ids) -> tuple[Term, ...]:
        texts = self._find(tokens)

        def term(entry: Entry, satisfied: bool) -> Term:
            written = [texts[text] for text in entry.translations if text in texts]
            return Term(entry.source, written[0] if written else spelled(entry.translations[0]), satisfied)

        return tuple(map(term, self.entries, self._contains(tokens)))

    def _contains(self, tokens: Ids) -> tuple[bool, ...]:
        texts = self._find(tokens)
        return tuple(any(text in texts for text in entry.translations) for entry in self.entries)

    def _find(self, tokens: Ids) -> dict[str, str]:
        """The required translations that the text of `tokens` contains, each as it is written there."""
        key = tuple(tokens)
        if key not in self.known:
            text = self._text(key)
            self.known[key] = {match.entry.term: text[match.start : match.end] for match in self.targets.find(text)}
        return self.known[key]

    def _text(self, tokens: Ids) -> str:
        return normalise(self.tokenizer.decode([tokens], "target")[0])
