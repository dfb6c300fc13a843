"""Placeholders and numbers in translations: a sentence that lost some is translated again until it has them.

A translation that has everything is left as it is. For the others, in this order:

1. **Search again**: all hypotheses of the beam, and the translations of variants of the source with stand-ins for what
   was lost (`control.placeholders.standins`), all in one call of the engine; where none is complete, one more call with
   the other kinds of stand-ins. Of those that are complete, the one with the best score for the real source is taken.
2. **Place**: what the best translation lacks is inserted, and what it has too often is deleted, where this costs
   least log P (`control.faults.edits`), with a warning.
3. **Report**: `check` compares the final text of every line, whatever was done before, and warns.

**Cost.** Two regular-expression searches for a sentence; one with faults is translated 3 times more, seldom 5, all
three in one call, and its edits have a budget of scored tokens. A sentence of letters alone costs a look for signs and
digits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import isfinite

from dragoman.config import DecodeConfig
from dragoman.control.faults.edits import EditTask, edit
from dragoman.control.faults.faults import Faults, Requirements, checked, detect_fault
from dragoman.control.faults.negation import NEGATIONS
from dragoman.control.faults.signs import FOREIGN, REPLACEMENT, ROMAN, SIGN, SUM
from dragoman.control.glossary.phrases import score_targets
from dragoman.control.glossary.terms import report_terms
from dragoman.control.placeholders.copied import write
from dragoman.control.placeholders.standins import SourceVariant, variants
from dragoman.control.placeholders.symbols import restore_translation
from dragoman.control.search.search import translate_sentences
from dragoman.control.search.sentences import Line, Sentence
from dragoman.engine import Engine, Query
from dragoman.system.groups import in_groups
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.protect import ICU_MESSAGE, blanked, is_prose
from dragoman.text.terms.symbols import Symbols, restore
from dragoman.text.tokens.tokenizer import UNK, Tokenizer
from dragoman.text.words.amounts import Amount
from dragoman.text.words.normalise import normalise
from dragoman.text.words.number_words import LARGE
from dragoman.translation import Candidate, Flag, Term, Translation

# A narrower beam is widened: of a few hypotheses, often one is complete.
LEAST_BEAM = 4
BROKEN = Flag("sign", "signs: bytes that are no character were left out of the translation; compare it")
COLOURS = Flag("sign", "signs: colours of a terminal were left out of the translation; compare it")
MESSAGE = Flag("copy", "an ICU message was copied, not translated; translate its branches, or the file that it is from")
INSERTED = Flag("inserted", "what the translation lacked was inserted where it costs least; check its place")
# Kinds of stand-ins that are tried first, and all that are tried: with the first search and the one for all hypotheses
# a sentence is searched for 6 times at most. Of 81 sentences of software messages, 68 are complete after the first.
FIRST, MOST = 2, 4


def repair(
    lines: Sequence[Line],
    engine: Engine,
    tokenizer: Tokenizer,
    options: DecodeConfig,
    glossary: Glossary | None = None,
) -> None:
    """Replace the translations of sentences that have faults by others, as far as any are found that have fewer.

    Symbols are placeholders too.
    """
    tasks = [task for line in lines for task in _tasks(line, options)]
    if tasks:
        repaired = _Repair(engine, tokenizer, options, glossary).repaired(tasks)
        for task, translation in zip(tasks, repaired, strict=True):
            task.line.parts[task.number] = translation
    for line in lines:
        line.parts = [
            _without_broken_bytes(part) if REPLACEMENT in part.text and REPLACEMENT not in part.source else part
            for part in line.parts
        ]


def _without_broken_bytes(translation: Translation) -> Translation:
    """The translation without U+FFFD, the rest of bytes that are no character, and with a warning."""
    candidates = tuple(
        replace(candidate, text=normalise(candidate.text.replace(REPLACEMENT, "")))
        for candidate in translation.candidates
    )
    return replace(translation, candidates=candidates, warnings=(*translation.warnings, BROKEN))


def check(lines: Sequence[Line], symbols: Symbols, options: DecodeConfig) -> None:
    """Restore what symbols replace; warn where a final text lacks or adds placeholders or numbers."""
    for line in lines:
        if symbols.names:
            line.translation = restore_translation(line.translation, line.source, line.table, symbols)
        source = line.source
        if line.read is not None:
            source, line.translation = restore(line.read, line.table), write(line, line.translation)
        if notes := tuple(_notes(line)):
            line.translation = replace(line.translation, warnings=(*line.translation.warnings, *notes))
        if line.frame is not None and not line.frame.columns:  # it was copied
            continue
        texts = [source, *(candidate.text for candidate in line.translation.candidates)]
        if not _are_prose(line, options, [*map(normalise, texts)]):
            requirements = Requirements.of(source, options, line.patterns, line.literals, line.languages)
            line.translation = checked(line.translation, requirements, source)


def _notes(line: Line) -> Iterator[Flag]:
    """What of a line is left out or copied although it is to be there or to be translated."""
    if line.source.count("\x1b") > line.translation.text.count("\x1b"):
        yield COLOURS
    if ICU_MESSAGE.search(line.source) and ICU_MESSAGE.search(line.translation.text):
        yield MESSAGE


def _are_prose(line: Line, options: DecodeConfig, texts: Sequence[str]) -> bool:
    """Whether these texts of a line, the first of which is a source, have nothing to compare for certain."""
    usual = options.placeholders is None and line.patterns is None and not line.literals
    if not usual or not all(is_prose(text) and not SIGN.search(text) for text in texts):
        return False
    source, *others = texts
    if not line.languages or not NEGATIONS.keys() >= set(line.languages):
        return True
    first, second = line.languages
    if (
        ROMAN.search(source)
        or (first == "ko" and SUM.search(source))
        or any(pattern.search(source) for pattern in LARGE)
    ):
        return False
    if NEGATIONS[first].sure.search(source) or FOREIGN[first].search(source):
        return False
    return not any(NEGATIONS[second].sure.search(text) or FOREIGN[second].search(text) for text in others)


@dataclass(frozen=True, slots=True)
class _Task:
    """The sentence `number` of a line, what its translation has to have, and the translation that has not."""

    line: Line
    number: int
    requirements: Requirements

    @property
    def sentence(self) -> Sentence:
        return self.line.sentences[self.number]

    @property
    def translation(self) -> Translation:
        return self.line.parts[self.number]


def _tasks(line: Line, options: DecodeConfig) -> list[_Task]:
    """The sentences of a line whose translations have faults."""
    tasks = []
    names = tuple(dict.fromkeys(map(normalise, (*line.literals, *line.table, *line.hidden))))
    for number, (sentence, translation) in enumerate(zip(line.sentences, line.parts, strict=True)):
        if line.table or line.hidden or not _are_prose(line, options, (sentence.text, translation.text)):
            literals = [name for name in names if name in sentence.text or name in translation.text]
            requirements = Requirements.of(sentence.text, options, line.patterns, literals, line.languages)
            faults = requirements.faults(translation.text)
            if faults.count or faults.doubts:
                tasks.append(_Task(line, number, requirements))
    return tasks


@dataclass(frozen=True, slots=True)
class _Repair:
    """What repairs translations: the engine and tokenizer to search and to score texts, the options, the glossary."""

    engine: Engine
    tokenizer: Tokenizer
    options: DecodeConfig
    glossary: Glossary | None

    def repaired(self, tasks: Sequence[_Task]) -> list[Translation]:
        """A translation for each task, with fewer faults if one is found."""
        candidates = self._searched(tasks)
        incomplete = [n for n, complete in enumerate(candidates) if not complete]
        inserted = dict.fromkeys(range(len(tasks)), False)
        for n, placed in zip(incomplete, self._placed([tasks[n] for n in incomplete]), strict=True):
            candidates[n], inserted[n] = placed
        return list(map(self._replaced, tasks, candidates, inserted.values()))

    def _searched(self, tasks: Sequence[_Task]) -> list[list[Candidate]]:
        """For each task the complete translations that searches find: all kinds of stand-ins only if the first fail."""
        faults = [task.requirements.faults(task.translation.text) for task in tasks]
        plans = [
            list(islice(variants(task.requirements, _to_replace(task.requirements, of_task)), MOST))
            if of_task.count
            else []
            for task, of_task in zip(tasks, faults, strict=True)
        ]
        first = [
            [SourceVariant(task.requirements.source, ()), *plan[:FIRST]]
            for task, plan in zip(tasks, plans, strict=True)
        ]
        complete = self._complete(tasks, first)
        left = [n for n, texts in enumerate(complete) if not texts and plans[n][FIRST:]]
        more = self._complete([tasks[n] for n in left], [plans[n][FIRST:] for n in left])
        for n, texts in zip(left, more, strict=True):
            complete[n] = texts
        return self._scored(tasks, complete)

    def _complete(
        self, tasks: Sequence[_Task], plans: Sequence[Sequence[SourceVariant]]
    ) -> list[dict[str, Candidate | None]]:
        """The complete texts that searches of these variants find, all in one call; of stand-ins the best of each."""
        beam = max(self.options.beam, LEAST_BEAM)
        changes = {"method": "beam", "beam": beam, "n_best": beam, "token_scores": False}
        options = self.options.model_copy(update=changes)
        groups = in_groups(self._variants, [[(task.sentence, variant) for variant in plan]
                                            for task, plan in zip(tasks, plans, strict=True)])  # fmt: skip
        searched = in_groups(
            lambda sentences: translate_sentences(
                self.engine, self.tokenizer, sentences, options, self.glossary, widen=False
            ),
            groups,
        )
        texts_of_tasks = []
        for task, plan, sentences, translations in zip(tasks, plans, groups, searched, strict=True):
            texts: dict[str, Candidate | None] = {
                candidate.text: candidate for candidate in task.translation.candidates[::-1]
            }
            for variant, sentence, translation in zip(plan, sentences, translations, strict=True):
                complete = _complete_texts(task, variant, sentence, translation, options)
                if variant.stand_ins:
                    texts |= {text: None for text in list(complete)[:1] if text not in texts}
                else:
                    texts = {**complete, **texts}
            outside = blanked(task.requirements.source, task.requirements.placeholders)
            if not task.sentence.prefix and not any(map(str.isalpha, outside)):  # there is nothing to translate
                texts.setdefault(task.requirements.source, None)
            texts_of_tasks.append(
                {text: candidate for text, candidate in texts.items() if not task.requirements.faults(text).count}
            )
        return texts_of_tasks

    def _variants(self, pairs: Sequence[tuple[Sentence, SourceVariant]]) -> list[Sentence]:
        """The sentences with the text of a variant."""
        ids = self.tokenizer.encode([variant.text for _, variant in pairs], "source")
        return [
            replace(sentence, text=variant.text, source=source)
            for (sentence, variant), source in zip(pairs, ids, strict=True)
        ]

    def _scored(
        self, tasks: Sequence[_Task], texts_of_tasks: Sequence[dict[str, Candidate | None]]
    ) -> list[list[Candidate]]:
        """The texts of each task as candidates; those that an engine gave keep their scores."""
        new = [
            [(task.sentence, text) for text, candidate in texts.items() if candidate is None]
            for task, texts in zip(tasks, texts_of_tasks, strict=True)
        ]
        lists = []
        for task, texts, scored in zip(tasks, texts_of_tasks, in_groups(self._score, new), strict=True):
            limit = self.options.limit(len(task.sentence.source))
            possible = {
                text: candidate
                for candidate in scored
                for text in [candidate.text]
                if isfinite(candidate.log_prob) and self.options.min_length <= len(candidate.tokens) <= limit
            }
            both = (candidate or possible.get(text) for text, candidate in texts.items())
            lists.append([candidate for candidate in both if candidate])
        return lists

    def _score(self, pairs: Sequence[tuple[Query, str]]) -> list[Candidate]:
        """Texts, each a translation of the source of a query, with their scores."""
        ids = self.tokenizer.encode([text for _, text in pairs], "target")
        targets = [tuple(token for token in tokens if token != UNK) for tokens in ids]
        scored = score_targets(self.engine, [query for query, _ in pairs], targets, self.options)
        return [
            Candidate(text, hypothesis.score, hypothesis.log_prob, tuple(hypothesis.tokens))
            for (_, text), hypothesis in zip(pairs, scored, strict=True)
        ]

    def _placed(self, tasks: Sequence[_Task]) -> list[tuple[list[Candidate], bool]]:
        """For each task its best translation, edited, and whether something was inserted.

        If that is no better, the candidates that it has.
        """
        edits = [
            EditTask(
                task.requirements,
                task.sentence,
                task.translation.text,
                len(self.tokenizer.decode([task.sentence.prefix], "target")[0]),
                self._keeps_terms(task),
            )
            for task in tasks
        ]
        edited = edit(self.engine, self.tokenizer, edits, self.options.exact)
        scored = self._scored(tasks, [{changed.text: None} for changed in edited])
        return [
            (candidates, changed.inserted)
            if candidates and _faults(task, candidates[0].text) < _faults(task, task.translation.text)
            else (list(task.translation.candidates), False)
            for task, changed, candidates in zip(tasks, edited, scored, strict=True)
        ]

    def _replaced(self, task: _Task, candidates: Sequence[Candidate], inserted: bool) -> Translation:
        """The translation with these candidates: those without a fault and with most terms first, then by score."""
        if candidates[0] is task.translation.candidates[0] and _faults(task, candidates[0].text):
            return task.translation
        terms: dict[str, tuple[Term, ...]] = {candidate.text: () for candidate in candidates}
        if self.glossary:
            line = task.requirements.source
            terms = {
                candidate.text: report_terms(self.glossary, self.tokenizer, line, candidate.tokens)
                for candidate in candidates
            }

        def rank(candidate: Candidate) -> tuple[bool, int, int, float]:
            unsatisfied = sum(not term.satisfied for term in terms[candidate.text])
            doubts = task.requirements.faults(candidate.text).doubts
            return bool(_fault(task, candidate)), unsatisfied, doubts, -candidate.score

        ordered = sorted(candidates, key=rank)[: self.options.n_best]
        if self.options.token_scores:
            queries, targets = [task.sentence] * len(ordered), [candidate.tokens for candidate in ordered]
            rows = self.engine.score(queries, targets, alone=self.options.exact)
            pairs = zip(ordered, rows, strict=True)
            ordered = [replace(candidate, log_probs=tuple(row)) for candidate, row in pairs]
        fault = _fault(task, ordered[0])
        warnings = ((fault,) if fault else ()) + ((INSERTED,) if inserted else ())
        return Translation(task.translation.source, tuple(ordered), warnings, terms[ordered[0].text])

    def _keeps_terms(self, task: _Task) -> Callable[[str], bool]:
        """Whether a text has as many of the glossary's terms as the translation has now."""
        count = sum(term.satisfied for term in task.translation.terms)
        if not self.glossary or not count:
            return lambda text: True
        glossary, line = self.glossary, task.requirements.source

        def keeps(text: str) -> bool:
            [ids] = self.tokenizer.encode([text], "target")
            return sum(term.satisfied for term in report_terms(glossary, self.tokenizer, line, ids)) >= count

        return keeps


def _complete_texts(
    task: _Task, variant: SourceVariant, sentence: Sentence, translation: Translation, options: DecodeConfig
) -> dict[str, Candidate | None]:
    """The complete translations among those of a variant, with what its stand-ins replace, best first."""
    limit = options.limit(len(sentence.source))
    # Where the limit cuts depends on what is searched together, and what is cut off is a fault.
    ended = [candidate for candidate in translation.candidates if len(candidate.tokens) < limit]
    restored = [(variant.restored(candidate.text), candidate) for candidate in ended]
    return {text: candidate for text, candidate in restored if text and not _faults(task, text)}


def _to_replace(requirements: Requirements, faults: Faults) -> list[Amount]:
    """The numbers for which a variant has others: amounts alone if only those are lost, so that years stay years."""
    if not faults.missing_numbers and not faults.extra_numbers:
        return []
    amounts = [number for number in requirements.numbers if number.has_power]
    only_amounts = faults.missing_numbers and faults.missing_numbers.keys() <= {number.value for number in amounts}
    return amounts if only_amounts else requirements.numbers


def _faults(task: _Task, text: str) -> int:
    return task.requirements.faults(text).count


def _fault(task: _Task, candidate: Candidate) -> Flag | None:
    return detect_fault(task.sentence.source, task.requirements.source, candidate.tokens)
