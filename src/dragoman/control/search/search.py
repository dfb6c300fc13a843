"""Sentences → translations, by any engine: search, choice among samples, glossary, faults, and retries of those.

A sentence whose translation shows a fault is translated again without repetitions, then in parts.
"""

from collections.abc import Callable, Sequence
from functools import partial

from dragoman.config import DecodeConfig
from dragoman.control.faults.faults import FLAGS, detect_fault
from dragoman.control.glossary.terms import apply_glossary
from dragoman.control.search.n_best import Decode, rank_by_utility, search_distinct
from dragoman.control.search.sentences import Line, Sentence, halve, join_translations
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Engine, Ids
from dragoman.system.groups import in_groups
from dragoman.text.terms.glossary import Glossary
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.normalise import normalise
from dragoman.translation import Candidate, Term, Translation

# The n-gram size that a second search may not repeat: a phrase may come again, a sentence may not.
RETRY_NO_REPEAT_NGRAM = 4


Translate = Callable[[Sequence[Sentence], DecodeConfig], list[Translation]]


def search(
    lines: Sequence[Line],
    engine: Engine,
    tokenizer: Tokenizer,
    options: DecodeConfig,
    glossary: Glossary | None = None,
    language: str | None = None,
) -> None:
    """Give each line the translations of its sentences, of all lines together.

    What shows a fault is searched again, if the `language` of the source is known.
    """
    translate = partial(translate_sentences, engine, tokenizer, glossary=glossary)

    def translated(sentences: Sequence[Sentence]) -> list[Translation]:
        translations = translate(sentences, options)
        if language is not None and any(translation.warnings for translation in translations):
            _retry(translations, translate, tokenizer, sentences, options, language)
        return translations

    for line, parts in zip(lines, in_groups(translated, [line.sentences for line in lines]), strict=True):
        line.parts = parts


def _retry(
    translations: list[Translation],
    translate: Translate,
    tokenizer: Tokenizer,
    sentences: Sequence[Sentence],
    options: DecodeConfig,
    language: str,
) -> None:
    """Replace the translations with a fault by those of a retry without one; otherwise they keep their warnings."""
    changed = retry_options(options)
    for in_parts in (False, True):
        flagged = [index for index, translation in enumerate(translations) if translation.warnings]
        if not flagged:
            return
        again = [sentences[index] for index in flagged]
        if in_parts:
            parts = [halve(tokenizer, sentence, language) for sentence in again]
            groups = in_groups(lambda flat: translate(flat, changed), parts)
            retried = [
                join_translations(sentence.text, some, group)
                for sentence, some, group in zip(again, parts, groups, strict=True)
            ]
        else:
            retried = translate(again, changed)
        for index, translation in zip(flagged, retried, strict=True):
            if not translation.warnings:
                translations[index] = translation


def retry_options(options: DecodeConfig) -> DecodeConfig:
    """The options of a retry, whose translation has no repetitions and is not empty."""
    size = min(options.no_repeat_ngram or RETRY_NO_REPEAT_NGRAM, RETRY_NO_REPEAT_NGRAM)
    rules = {"no_repeat_ngram": size, "min_length": _more_than_nothing(options)}
    return options.model_copy(update=rules)


def _more_than_nothing(options: DecodeConfig) -> int:
    """A minimum of two tokens where the options allow it: one may be a lone space."""
    return max(options.min_length, min(2, options.max_length or 2))


def translate_sentences(
    engine: Engine,
    tokenizer: Tokenizer,
    sentences: Sequence[Sentence],
    options: DecodeConfig,
    glossary: Glossary | None = None,
    widen: bool = True,
) -> list[Translation]:
    """Up to `options.n_best` candidates of each sentence, none of which is empty, with a warning if a fault shows.

    `widen`: where too few have different texts, as `search_distinct` does.
    """
    if not sentences:
        return []
    decode = _decoder(tokenizer)
    ranked = _hypotheses(engine, decode, sentences, options, widen)
    terms: Sequence[tuple[Term, ...]] = [()] * len(sentences)
    if glossary:
        texts = [sentence.text for sentence in sentences]
        ranked, terms = apply_glossary(engine, tokenizer, glossary, texts, sentences, ranked, options)
    candidates = _candidates(engine, decode, sentences, ranked, options)
    return list(map(_translation, sentences, candidates, terms))


def _hypotheses(
    engine: Engine, decode: Decode, sentences: Sequence[Sentence], options: DecodeConfig, widen: bool
) -> list[list[Hypothesis]]:
    """The engine's hypotheses of each sentence; with `mbr`, its samples that are most like the others."""
    if options.method == "beam" and options.n_best > 1:
        return search_distinct(engine, decode, sentences, options, widen)
    if options.method != "mbr":
        return engine.translate(sentences, options)
    sampling = options.model_copy(update={"method": "sample", "n_best": options.samples})
    chosen = []
    for samples in engine.translate(sentences, sampling):
        order = rank_by_utility(decode([hypothesis.tokens for hypothesis in samples]))
        chosen.append([samples[index] for index in order[: options.n_best]])
    return chosen


def _candidates(
    engine: Engine,
    decode: Decode,
    sentences: Sequence[Sentence],
    ranked: Sequence[Sequence[Hypothesis]],
    options: DecodeConfig,
) -> list[tuple[Candidate, ...]]:
    """The hypotheses of each sentence as text; with log P of each token if the options ask for it."""
    targets = [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in ranked]
    texts = in_groups(decode, targets)
    log_probs: list[list[list[float]]] = [[[]] * len(hypotheses) for hypotheses in ranked]
    if options.token_scores:
        queries = [sentence for sentence, tokens in zip(sentences, targets, strict=True) for _ in tokens]
        log_probs = in_groups(lambda flat: engine.score(queries, flat, alone=options.exact), targets)
    return [
        tuple(
            Candidate(text, hypothesis.score, hypothesis.log_prob, hypothesis.tokens, tuple(row))
            for text, hypothesis, row in zip(*rows, strict=True)
        )
        for rows in zip(texts, ranked, log_probs, strict=True)
    ]


def _translation(sentence: Sentence, candidates: tuple[Candidate, ...], terms: tuple[Term, ...]) -> Translation:
    """The translation of a sentence, with a warning if it shows a fault."""
    best = candidates[0]
    fault = detect_fault(sentence.source, sentence.text, best.tokens)
    if not fault and not best.text and any(map(str.isalpha, sentence.text)):
        fault = FLAGS["empty"]
    return Translation(sentence.text, candidates, (fault,) if fault else (), terms)


def _decoder(tokenizer: Tokenizer) -> Decode:
    """Tokens → texts, each written once: where texts have to differ, they are compared before they are candidates."""
    known: dict[tuple[int, ...], str] = {}

    def decode(targets: Sequence[Ids]) -> list[str]:
        rows = [*map(tuple, targets)]
        new = [row for row in dict.fromkeys(rows) if row not in known]
        known.update(zip(new, map(normalise, tokenizer.decode(new, "target")), strict=True))
        return [known[row] for row in rows]

    return decode
