"""Substitution in place: a required translation instead of the words that a term explains. By any engine that scores.

Input: a translation that misses terms, and for each by how much every token loses log P without the term in the source
(`control.glossary.erasure`). Output: the translation with the required words in place of those that lose most.

**Where.** Of words that lose about as much, the first: a word after it loses too, because it followed the first. Words
of the same spelling that lose are replaced with it. **What.** Particles and punctuation of the word stay, particles in
the shape that agrees, and so does its capital letter; an article `a` or `an` that agreed with the word agrees with the
new one. Where the word ends in `s`, the plural is a draft as well, and a word of several pieces may keep those after
the one that loses most, such as the ending of a verb. The engine scores the drafts and the best one stays.

**Cost.** One scoring for each draft of a term, mostly one or two, at most MAX_DRAFTS, and one for the translation.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from dragoman.config import DecodeConfig
from dragoman.control.glossary.forms import starts_word
from dragoman.control.glossary.phrases import score_targets
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Engine, Ids, Query
from dragoman.system.groups import in_groups
from dragoman.text.tokens.tokenizer import UNK, Tokenizer
from dragoman.text.words.normalise import normalise
from dragoman.text.words.particles import hangul_run, particles_start, with_particles
from dragoman.text.words.words import forms, is_unspaced

# A term explains a word that loses at least this many nats, and this share of what the word that loses most does.
MIN_LOSS, MIN_SHARE = 1.0, 0.45
MAX_DRAFTS = 16
# An article that agrees is worth this many nats: `a entity` may score better only because `entity` is odd. What is no
# article, such as `a` in Spanish, would lose far more as `an`.
ARTICLE_FAVOUR = 8.0

_ARTICLE = re.compile(r"\b(an?)( +)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MissingTerm:
    """A term's alternative translations as listed, and the losses of each token of the translation without it."""

    translations: tuple[str, ...]
    losses: Sequence[float]


@dataclass(frozen=True, slots=True)
class SubstitutionTask:
    """A source, its translation and the terms that this misses."""

    query: Query
    target_ids: Ids
    missing: Sequence[MissingTerm]


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a translation: its characters without punctuation and particles, those that lose, and the loss."""

    start: int
    end: int
    end_of_loss: int
    loss: float


@dataclass(frozen=True, slots=True)
class _Edit:
    """The characters start:end are replaced."""

    start: int
    end: int
    written: str


@dataclass(frozen=True, slots=True)
class _Draft:
    """Edits that write one term, and nats in their favour."""

    edits: tuple[_Edit, ...]
    favour: float


def substitute(
    engine: Engine, tokenizer: Tokenizer, tasks: Sequence[SubstitutionTask], options: DecodeConfig
) -> list[Hypothesis | None]:
    """For each task its translation with all the missing terms that explain a word; None if none of them does.

    The log P of a result is not finite if the model cannot give it.
    """
    texts = [tokenizer.decode([task.target_ids], "target")[0] for task in tasks]
    drafts = [
        [_drafts(tokenizer, text, task.target_ids, term) for term in task.missing]
        for text, task in zip(texts, tasks, strict=True)
    ]
    score = partial(_score, engine, tokenizer, options)
    written = [
        [[(task.query, _apply(text, draft.edits)) for draft in of_term] for of_term in terms]
        for task, text, terms in zip(tasks, texts, drafts, strict=True)
    ]
    scored = in_groups(partial(in_groups, score), written)  # of each draft, of each term, of each task
    chosen = [
        _choose([list(zip(of_term, scores, strict=True)) for of_term, scores in zip(terms, of_terms, strict=True)])
        for terms, of_terms in zip(drafts, scored, strict=True)
    ]
    edited = [
        [(task.query, _apply(text, edits))] if edits else []
        for task, text, edits in zip(tasks, texts, chosen, strict=True)
    ]
    return [next(iter(whole), None) for whole in in_groups(score, edited)]


def _choose(terms: Sequence[Sequence[tuple[_Draft, Hypothesis]]]) -> list[_Edit]:
    """The edits of the best draft of each term; a term whose word another one has taken gets none."""
    edits: list[_Edit] = []
    for drafts in terms:
        free = [(draft, scored) for draft, scored in drafts if not _overlap(draft.edits, edits)]
        if free:
            edits += max(free, key=lambda pair: pair[0].favour + pair[1].log_prob)[0].edits
    return edits


def _score(
    engine: Engine, tokenizer: Tokenizer, options: DecodeConfig, pairs: Sequence[tuple[Query, str]]
) -> list[Hypothesis]:
    targets = [tuple(ids) for ids in tokenizer.encode([text for _, text in pairs], "target")]
    return score_targets(engine, [query for query, _ in pairs], targets, options)


def _drafts(tokenizer: Tokenizer, text: str, target_ids: Ids, term: MissingTerm) -> list[_Draft]:
    """The ways to write a term in place of what it explains; none if it explains nothing."""
    words = [word for word in _words(tokenizer, text, target_ids, term.losses) if word.end > word.start]
    least = max(MIN_LOSS, MIN_SHARE * max((word.loss for word in words), default=0.0))
    explained = _join_unspaced(text, [word for word in words if word.loss >= least])
    if not explained:
        return []
    articles = [word for word in explained if _ARTICLE.fullmatch(text[word.start : word.end] + " ")]
    first = next((word for word in explained if word not in articles), explained[0])
    spelling = text[first.start : first.end].casefold()
    same = [word for word in explained if text[word.start : word.end].casefold() == spelling]
    drafts = list(dict.fromkeys(draft for listed in term.translations for draft in _ways(text, same, listed)))
    written = tokenizer.encode([_apply(text, draft.edits) for draft in drafts], "target")
    return [draft for draft, ids in zip(drafts, written, strict=True) if UNK not in ids][:MAX_DRAFTS]


def _join_unspaced(text: str, words: Sequence[_Word]) -> list[_Word]:
    """The words, those that follow each other in a script without spaces as one."""
    joined: list[_Word] = []
    for word in words:
        last = joined[-1] if joined else None
        if last and last.end == word.start and is_unspaced(text[word.start]) and is_unspaced(text[last.end - 1]):
            joined[-1] = _Word(last.start, word.end, word.end, max(last.loss, word.loss))
        else:
            joined.append(word)
    return joined


def _ways(text: str, words: Sequence[_Word], listed: str) -> Iterator[_Draft]:
    """Drafts that write `listed` instead of all the `words`."""
    singular, *plurals = forms(listed)
    for written in (*plurals, singular) if text[words[0].start : words[0].end].endswith("s") else (singular,):
        for ends in ([word.end for word in words], [word.end_of_loss for word in words]):
            replaced = [_replace(text, word, end, written) for word, end in zip(words, ends, strict=True)]
            yield _Draft(tuple(replaced), 0.0)
            articles = tuple(_with_article(text, edit) for edit in replaced)
            if articles != tuple(replaced):
                yield _Draft(articles, ARTICLE_FAVOUR)


def _replace(text: str, word: _Word, end: int, written: str) -> _Edit:
    """Replace a word up to `end`, in its case."""
    if text[word.start].isupper() and written[0].islower():
        written = written[0].upper() + written[1:]
    after = hangul_run(text, end)
    return _Edit(word.start, after, with_particles(written, text[end:after]))


def _with_article(text: str, edit: _Edit) -> _Edit:
    """The edit with the article before it in the other shape, if it agreed with the old word and not with the new."""
    before, vowels = _ARTICLE.search(text, 0, edit.start), "aeiouAEIOU"
    if not before or not (len(before[1]) == 2) == (text[edit.start] in vowels) != (edit.written[0] in vowels):
        return edit
    other = before[1][0] + ("n" if len(before[1]) == 1 else "")
    return _Edit(before.start(), edit.end, other + before[2] + edit.written)


def _words(tokenizer: Tokenizer, text: str, target_ids: Ids, losses: Sequence[float]) -> Iterator[_Word]:
    """The words of a translation, each piece of a script without spaces being one."""
    pieces = tokenizer.pieces(target_ids, "target")
    starts = [
        index
        for index, piece in enumerate(pieces)
        if index == 0 or starts_word(piece) or is_unspaced(piece[0]) or is_unspaced(pieces[index - 1][-1])
    ]
    ends = [*starts[1:], len(pieces)][: len(starts)]
    # Where each piece ends in the text.
    offsets = [
        len(prefix) for prefix in tokenizer.decode([target_ids[:end] for end in range(len(pieces) + 1)], "target")
    ]
    for start, end in zip(starts, ends, strict=True):
        word = text[offsets[start] : offsets[end]]
        first = offsets[start] + len(word) - len(re.sub(r"^\W+", "", word))
        noun = text[first : offsets[start] + len(re.sub(r"\W+$", "", word))]
        last = first + particles_start(noun) if noun else first
        total = sum(losses[start:end])
        worst = max(range(start, end), key=lambda index: losses[index])
        yield _Word(first, last, min(max(offsets[worst + 1], first + 1), last), total)


def _apply(text: str, edits: Sequence[_Edit]) -> str:
    for edit in sorted(edits, key=lambda edit: -edit.start):
        text = text[: edit.start] + edit.written + text[edit.end :]
    return normalise(text)


def _overlap(some: Sequence[_Edit], others: Sequence[_Edit]) -> bool:
    return any(edit.start < other.end and other.start < edit.end for edit in some for other in others)
