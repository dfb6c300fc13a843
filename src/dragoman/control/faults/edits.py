"""Edits: a translation that still has faults is corrected by the smallest changes, one after the other.

A placeholder that the translation invented becomes one that it lacks; what it lacks is inserted where a word begins,
with the quotation marks it has in the source; what it has too often is deleted. Of all places the engine's log P
chooses. Every change removes a fault, so that an end is sure; what no change can remove stays.

**Cost.** All drafts of a sentence together have at most `BUDGET` times as many tokens as the sentence, however many
faults there are: each change gets its share, of places evenly spread. Where the share is less than two drafts, what is
missing goes where it is in the source, unscored; after `MAX_CHANGES` the rest stays.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.control.faults.debris import debris_spans
from dragoman.control.faults.faults import Faults, Requirements, may_be_a_word, numbers_outside
from dragoman.engine import Engine, Query
from dragoman.text.tokens.tokenizer import UNK, Tokenizer
from dragoman.text.words.normalise import normalise
from dragoman.text.words.particles import hangul_run, is_particles
from dragoman.text.words.words import is_unspaced

# Scored tokens of a sentence's drafts for each of its own: scoring a text costs a tenth of searching for it.
BUDGET = 12
# Tokens that a draft counts for besides its own: EOS, and a share of its source.
OVERHEAD = 2
# Changes of one translation.
MAX_CHANGES = 24
# Drafts that are looked at beyond those that may be scored, as some remove no fault.
SPARE = 8
_ENCLOSING = ("“”", "‘’", "「」", "『』", "()", "[]", '""', "''", "«»", "<>", "``")
_END = re.compile(r"[\s.!?。！？…:]*$")


@dataclass(frozen=True, slots=True)
class EditTask:
    """A source, its translation with faults, and how many of its characters (of a target prefix) must stay."""

    requirements: Requirements
    query: Query
    text: str
    fixed: int = 0
    allowed: Callable[[str], bool] = lambda text: True
    """Whether a changed text may be taken: one without a term of a glossary may not."""


class Edited(NamedTuple):
    """A text after its changes, and whether one of them was an insertion."""

    text: str
    inserted: bool = False


def edit(engine: Engine, tokenizer: Tokenizer, tasks: Sequence[EditTask], exact: bool = False) -> list[Edited]:
    """The translation of each task with as few faults as changes can reach; `exact`: whatever the others are."""
    texts = [Edited(task.text) for task in tasks]
    budgets = [BUDGET * len(task.query.source) for task in tasks]
    left = list(range(len(tasks)))
    for _ in range(MAX_CHANGES):
        sizes = [len(ids) + OVERHEAD for ids in tokenizer.encode([texts[n].text for n in left], "target")]
        drafts: list[tuple[int, Edited]] = []
        for n, size in zip(left, sizes, strict=True):
            changed = _drafts(tasks[n], texts[n].text, budgets[n] // size)
            drafts += [(n, Edited(draft.text, draft.inserted or texts[n].inserted)) for draft in changed]
        counts = Counter(n for n, _ in drafts)
        compared = [(tasks[n].query, draft.text) for n, draft in drafts if counts[n] > 1]
        scores = iter(_scores(engine, tokenizer, compared, exact))
        best: dict[int, tuple[float, Edited]] = {}
        for n, draft in drafts:
            score, size = next(scores) if counts[n] > 1 else (0.0, 0)
            budgets[n] = max(budgets[n] - size, 0)
            if n not in best or score > best[n][0]:
                best[n] = score, draft
        for n, (_, draft) in best.items():
            texts[n] = draft
        left = [n for n in left if n in best and tasks[n].requirements.faults(texts[n].text).count]
        if not left:
            break
    return texts


def _scores(
    engine: Engine, tokenizer: Tokenizer, pairs: Sequence[tuple[Query, str]], exact: bool
) -> list[tuple[float, int]]:
    """log P of each text given its source, and how many tokens it has; what the vocabulary cannot write is neither."""
    targets = [
        [token for token in ids if token != UNK] for ids in tokenizer.encode([text for _, text in pairs], "target")
    ]
    if not pairs:
        return []
    rows = engine.score([query for query, _ in pairs], targets, alone=exact)
    return [(sum(row), len(row)) for row in rows]


def _drafts(task: EditTask, text: str, affordable: int) -> list[Edited]:
    """The text with one change, in places where it removes a fault; the kind of change that disturbs least.

    `affordable` drafts may be scored for all changes that are left.
    """
    faults = task.requirements.faults(text)
    count = affordable // max(faults.changes, 1)
    for changes in (_replacements, _fragments, _clearings, _insertions, _deletions):
        possible = list(dict.fromkeys(map(normalise, changes(task, text, faults))))
        if count < 2 and changes is _insertions:
            possible = _nearest(possible, _relative_position(task.requirements, faults))
        drafts = [
            draft
            for draft in _spread(possible, count + SPARE)
            if draft[: task.fixed] == text[: task.fixed]
            and task.requirements.faults(draft).count < faults.count
            and task.allowed(draft)
        ]
        if drafts:
            chosen = _spread(drafts, count) if count > 1 else drafts[:1]
            return [Edited(draft, changes is _insertions) for draft in chosen]
    return []


def _spread(items: list[str], count: int) -> list[str]:
    """At most `count` of the items, evenly spread, with the first and the last."""
    if len(items) <= count:
        return items
    return [items[at * (len(items) - 1) // (count - 1)] for at in range(count)]


def _nearest(drafts: list[str], share: float) -> list[str]:
    """The drafts, in order of their places, from the one at this share of all outwards."""
    middle = share * (len(drafts) - 1)
    order = sorted(range(len(drafts)), key=lambda at: abs(at - middle))
    return [drafts[at] for at in order[: SPARE + 1]]


def _relative_position(requirements: Requirements, faults: Faults) -> float:
    """Where what is to be inserted is in the source, from 0 to 1."""
    begins = [mark.begin for mark in requirements.placeholders if mark.text in faults.missing]
    begins = begins or [number.begin for number in requirements.numbers if number.value in faults.missing_numbers]
    return begins[0] / len(requirements.source) if begins else 1.0


def _replacements(task: EditTask, text: str, faults: Faults) -> Iterator[str]:
    """An invented placeholder becomes one that is missing, another number the missing number."""
    placeholders = task.requirements.find(text)
    for missing in faults.missing:
        for span in placeholders:
            if span.text in faults.extra:
                yield text[: span.begin] + missing + text[span.end :]
    if faults.report_numbers or faults.in_words:
        return
    for source in task.requirements.numbers:
        if source.value in faults.missing_numbers:
            for number in numbers_outside(text, placeholders):
                if number.value in faults.extra_numbers:
                    yield (
                        text[: number.first]
                        + task.requirements.source[source.first : source.last]
                        + text[number.last :]
                    )


def _fragments(task: EditTask, text: str, faults: Faults) -> Iterator[str]:
    """What the translation has of a missing placeholder, such as `%`, becomes the placeholder."""
    placeholders = task.requirements.find(text)
    for missing in faults.missing:
        for size in range(len(missing) - 1, 0, -1):
            fragment = missing[:size]
            if fragment.isalnum():
                continue
            for match in re.finditer(re.escape(fragment), text):
                inside = any(span.begin < match.end() and match.start() < span.end for span in placeholders)
                if not inside and text[match.start() - 1 : match.start()] != fragment[0]:
                    yield text[: match.start()] + missing + text[match.end() :]


def _clearings(task: EditTask, text: str, faults: Faults) -> Iterator[str]:
    """What is left next to placeholders is deleted."""
    for begin, end in debris_spans(text, task.requirements.find(text), faults.debris):
        yield text[:begin] + text[end:]


def _insertions(task: EditTask, text: str, faults: Faults) -> Iterator[str]:
    """What is missing is inserted before each word, and at the end."""
    names = [(name, _enclosed(task.requirements, name)) for name in faults.missing]
    if not names and not (faults.report_numbers or faults.in_words):
        missing = [value for value in faults.missing_numbers if not may_be_a_word(value)]
        numbers = [number for number in task.requirements.numbers if number.value in missing]
        names = [(task.requirements.source[number.first : number.last],) * 2 for number in numbers]
    for name, written in names[:1]:
        for position in _word_starts(text):
            before, after = text[:position], text[position:]
            if name.startswith("</"):
                yield before.rstrip() + name + after[: len(before) - len(before.rstrip())] + " " + after
            elif name.startswith("<") and not name.endswith("/>"):
                yield before + name + after
            elif before and after and is_unspaced(before[-1]) and is_unspaced(after[0]):
                yield before + written + after
            else:
                yield f"{before} {written} {after}" if not _END.fullmatch(after) else f"{before} {written}{after}"


def _deletions(task: EditTask, text: str, faults: Faults) -> Iterator[str]:
    """What occurs too often is deleted with its particles and its quotation marks, or with the word it is in."""
    placeholders = task.requirements.find(text)
    spans = [(mark.begin, mark.end) for mark in placeholders if mark.text in faults.extra]
    if not spans and not (faults.report_numbers or faults.in_words):
        spans = [
            (mark.first, mark.last)
            for mark in numbers_outside(text, placeholders)
            if mark.value in faults.extra_numbers and mark.value in {ours.value for ours in task.requirements.numbers}
        ]
    for begin, end in spans:
        for outer in _enclosing(text, begin, end), _word(text, begin, end):
            yield text[: outer[0]] + text[outer[1] :]


def _enclosing(text: str, begin: int, end: int) -> tuple[int, int]:
    """The span with the quotation marks or brackets directly around it, and with the particles after them."""
    if text[begin - 1 : begin] + text[end : end + 1] in _ENCLOSING and begin:
        begin, end = begin - 1, end + 1
    run = hangul_run(text, end)
    return begin, run if run > end and is_particles("가나", text[end:run], agree=False) else end


def _word(text: str, begin: int, end: int) -> tuple[int, int]:
    """The span of characters between two spaces."""
    after = text.find(" ", end)
    return text.rfind(" ", 0, begin) + 1, len(text) if after < 0 else after


def _enclosed(requirements: Requirements, name: str) -> str:
    """A placeholder with the quotation marks that it has in the source."""
    span = next(span for span in requirements.placeholders if span.text == name)
    begin, end = span.begin - 1, span.end + 1
    around = requirements.source[begin : span.begin] + requirements.source[span.end : end] if begin >= 0 else ""
    return requirements.source[begin:end] if around in _ENCLOSING else name


def _word_starts(text: str) -> list[int]:
    """Where a word may be inserted: before each word or unspaced character, and before the last stop."""
    last = _END.search(text)
    end = last.start() if last else len(text)

    def begins(at: int) -> bool:
        before = text[at - 1 : at]
        return not before or before.isspace() or (is_unspaced(before) and is_unspaced(text[at]))

    return [*(at for at in range(end) if not text[at].isspace() and begins(at)), end]
