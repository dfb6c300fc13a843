"""Placeholders and numbers in translations: a sentence that lost some is translated again until it has them.

A translation that has everything is left as it is. For the others, in this order:

1. **Search again**: all hypotheses of the beam, and the translations of variants of the source with stand-ins for what
   was lost (`control.placeholders.standins`), all in one call of the engine; where none is complete, one more call with
   the other kinds of stand-ins. Of those that are complete, the one with the best score for the real source is taken.
2. **Place**: what the best translation lacks is inserted, and what it has too often is deleted, where this costs
   least log P (`control.faults.edits`).
3. **Report**: `control.faults.final_check` compares the final text of every line, whatever was done before, and warns.

**Cost.** Two regular-expression searches for a sentence; one with faults is translated 4 times more, seldom 7, and
each of its edits is one scoring for each word. No torch.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from math import isfinite

from dragoman.config import DecodeConfig
from dragoman.config.sections.decode import RetryOptions
from dragoman.control.faults.edits import EditTask, edit
from dragoman.control.faults.faults import detect_fault
from dragoman.control.faults.kept import USUAL, Kept, Protection
from dragoman.control.glossary.phrases import score_targets
from dragoman.control.glossary.terms import report_terms
from dragoman.control.placeholders.standins import Variant, variants
from dragoman.control.search.sentences import Sentence
from dragoman.engine import Engine
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.protect import blanked
from dragoman.text.terms.symbols import Table
from dragoman.text.tokens.tokenizer import UNK, Tokenizer
from dragoman.translation import Candidate, Flag, Term, Translation

# A narrower beam is widened: of a few hypotheses, often one is complete.
LEAST_BEAM = 4
# Kinds of stand-ins that are tried first: of 184 sentences of PO files they complete 9 of 10.
FIRST = 3

Search = Callable[[Sequence[Sentence], DecodeConfig], list[Translation]]


@dataclass(frozen=True, slots=True)
class _Task:
    """A sentence, what its translation has to have, and the translation that has not."""

    sentence: Sentence
    kept: Kept
    translation: Translation


@dataclass(frozen=True, slots=True)
class Repair:
    """What repairs translations: a search with the glossary, the engine and tokenizer to score texts, the options."""

    search: Search
    engine: Engine
    tokenizer: Tokenizer
    options: DecodeConfig
    glossary: Glossary | None = None

    def by_line(
        self,
        lines: Sequence[Sequence[Sentence]],
        translations: Sequence[Translation],
        tables: Sequence[Table],
        protections: Sequence[Protection] | None = None,
    ) -> list[list[Translation]]:
        """The translations of the sentences of each line, as `__call__` gives them; symbols are placeholders too."""
        named = zip(lines, protections or repeat(USUAL), tables, strict=False)
        each = ((line, replace(own, literals=(*own.literals, *table))) for line, own, table in named)
        kept = [Kept.of(one.segment.text, self.options, own) for line, own in each for one in line]
        repaired = iter(self([sentence for line in lines for sentence in line], translations, kept))
        return [[next(repaired) for _ in line] for line in lines]

    def __call__(
        self, sentences: Sequence[Sentence], translations: Sequence[Translation], kept: Sequence[Kept]
    ) -> list[Translation]:
        """The translations; those with faults replaced by others as far as any are found that have fewer."""
        repaired = list(translations)
        tasks = {
            n: _Task(sentence, own, translation)
            for n, (sentence, translation, own) in enumerate(zip(sentences, translations, kept, strict=True))
            if own.faults(translation.text).count
        }
        if not tasks:
            return repaired
        found = dict(zip(tasks, self._searched(list(tasks.values())), strict=True))
        placed = self._placed([task for n, task in tasks.items() if not found[n]])
        for n, task in tasks.items():
            repaired[n] = self._replaced(task, found[n] or next(placed))
        return repaired

    def _searched(self, tasks: Sequence[_Task]) -> list[list[Candidate]]:
        """For each task the complete translations that searches find: all kinds of stand-ins only if the first fail."""
        plans = [list(variants(task.kept, bool(_numbers_differ(task)))) for task in tasks]
        first = [[Variant(task.kept.source, ()), *own[:FIRST]] for task, own in zip(tasks, plans, strict=True)]
        found = self._complete(tasks, first)
        left = [n for n, texts in enumerate(found) if not texts and plans[n][FIRST:]]
        more = self._complete([tasks[n] for n in left], [plans[n][FIRST:] for n in left])
        for n, texts in zip(left, more, strict=True):
            found[n] = texts
        return self._scored(tasks, found)

    def _complete(
        self, tasks: Sequence[_Task], plans: Sequence[Sequence[Variant]]
    ) -> list[dict[str, Candidate | None]]:
        """The complete texts that searches of these variants find, all in one call; of stand-ins the best of each."""
        flat = [(task, variant) for task, own in zip(tasks, plans, strict=True) for variant in own]
        ids = self.tokenizer.encode([variant.text for _, variant in flat], "source")
        given = [
            replace(task.sentence, segment=replace(task.sentence.segment, text=variant.text), source_ids=own)
            for (task, variant), own in zip(flat, ids, strict=True)
        ]
        options = self._search_options()
        translated = zip(given, self.search(given, options), strict=True)
        each = []
        for task, own in zip(tasks, plans, strict=True):
            texts: dict[str, Candidate | None] = {one.text: one for one in task.translation.candidates[::-1]}
            for variant in own:
                sentence, translation = next(translated)
                limit = options.limit(len(sentence.source_ids))
                # Where the limit cuts depends on what is searched together, and what is cut off is a fault.
                ended = [one for one in translation.candidates if len(one.tokens) < limit]
                restored = [(variant.restored(one.text), one) for one in ended]
                complete = [(text, one) for text, one in restored if text and not task.kept.faults(text).count]
                if variant.stand_ins:
                    texts |= {text: None for text, _ in complete[:1] if text not in texts}
                else:
                    texts = {**dict(complete), **texts}
            if not task.sentence.target_prefix and not _has_words(task.kept):
                texts.setdefault(task.kept.source, None)
            each.append({text: old for text, old in texts.items() if not task.kept.faults(text).count})
        return each

    def _search_options(self) -> DecodeConfig:
        """All hypotheses of a beam, in the engine's own, faster way unless `exact` asks for another."""
        beam = max(self.options.beam, LEAST_BEAM)
        changes = {"method": "beam", "beam": beam, "n_best": beam, "token_scores": False}
        if self.options.exact:
            return self.options.model_copy(update=changes)
        return RetryOptions.model_construct(**{**dict(self.options), **changes})

    def _scored(self, tasks: Sequence[_Task], each: Sequence[dict[str, Candidate | None]]) -> list[list[Candidate]]:
        """The texts of each task as candidates; those that an engine gave keep their scores."""
        new = [(task, text) for task, texts in zip(tasks, each, strict=True) for text, old in texts.items() if not old]
        ids = self.tokenizer.encode([text for _, text in new], "target")
        written = [tuple(token for token in own if token != UNK) for own in ids]
        sources = [task.sentence.source_ids for task, _ in new]
        scored = iter(score_targets(self.engine, sources, written, self.options))
        candidates = []
        for task, texts in zip(tasks, each, strict=True):
            own = []
            for text, old in texts.items():
                if old is None:
                    found = next(scored)
                    limit = self.options.limit(len(task.sentence.source_ids))
                    if not isfinite(found.log_prob) or not self.options.min_length <= len(found.tokens) <= limit:
                        continue
                    old = Candidate(text, found.score, found.log_prob, tuple(found.tokens))
                own.append(old)
            candidates.append(own)
        return candidates

    def _placed(self, tasks: Sequence[_Task]) -> Iterator[list[Candidate]]:
        """For each task its best translation, edited; the candidates that it has, if that is no better."""
        edits = [
            EditTask(
                task.kept,
                task.sentence.source_ids,
                task.translation.text,
                self._prefix_length(task),
                self._keeps_terms(task),
            )
            for task in tasks
        ]
        texts = edit(self.engine, self.tokenizer, edits, self.options.exact)
        found = self._scored(tasks, [{text: None} for text in texts])
        return iter(
            own
            if own and task.kept.faults(own[0].text).count < task.kept.faults(task.translation.text).count
            else list(task.translation.candidates)
            for task, own in zip(tasks, found, strict=True)
        )

    def _replaced(self, task: _Task, candidates: Sequence[Candidate]) -> Translation:
        """The translation with these candidates: those without a fault and with most terms first, then by score."""
        if candidates[0] is task.translation.candidates[0] and task.kept.faults(candidates[0].text).count:
            return task.translation
        terms = {one.text: self._terms(task, one) for one in candidates}

        def rank(one: Candidate) -> tuple[bool, int, float]:
            unsatisfied = sum(not term.satisfied for term in terms[one.text])
            return bool(self._fault(task, one)), unsatisfied, -one.score

        ordered = sorted(candidates, key=rank)[: self.options.n_best]
        if self.options.token_scores:
            sources, targets = [task.sentence.source_ids] * len(ordered), [one.tokens for one in ordered]
            rows = self.engine.score(sources, targets, alone=self.options.exact)
            ordered = [replace(one, log_probs=tuple(row)) for one, row in zip(ordered, rows, strict=True)]
        fault = self._fault(task, ordered[0])
        warnings = (fault,) if fault else ()
        return Translation(task.translation.source, tuple(ordered), warnings, terms[ordered[0].text])

    def _fault(self, task: _Task, candidate: Candidate) -> Flag | None:
        return detect_fault(task.sentence.source_ids, task.kept.source, candidate.tokens)

    def _terms(self, task: _Task, candidate: Candidate) -> tuple[Term, ...]:
        if not self.glossary:
            return ()
        return report_terms(self.glossary, self.tokenizer, task.kept.source, candidate.tokens)

    def _keeps_terms(self, task: _Task) -> Callable[[str], bool]:
        """Whether a text has as many of the glossary's terms as the translation has now."""
        kept = sum(term.satisfied for term in task.translation.terms)
        if not self.glossary or not kept:
            return lambda text: True
        glossary, line = self.glossary, task.kept.source

        def keeps(text: str) -> bool:
            [ids] = self.tokenizer.encode([text], "target")
            return sum(term.satisfied for term in report_terms(glossary, self.tokenizer, line, ids)) >= kept

        return keeps

    def _prefix_length(self, task: _Task) -> int:
        prefix = task.sentence.target_prefix
        return len(self.tokenizer.decode([prefix], "target")[0]) if prefix else 0


def _numbers_differ(task: _Task) -> bool:
    faults = task.kept.faults(task.translation.text)
    return bool(faults.missing_numbers or faults.extra_numbers)


def _has_words(kept: Kept) -> bool:
    """Whether a source has letters outside of its placeholders."""
    return any(map(str.isalpha, blanked(kept.source, kept.placeholders)))
