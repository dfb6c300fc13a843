"""Sentences → translations, by any engine: search, choice among samples, glossary, detection of faults. No torch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat

from dragoman.config import DecodeConfig
from dragoman.control.faults.faults import FLAGS, detect_fault, is_copy
from dragoman.control.glossary.terms import apply_glossary
from dragoman.control.languages.languages import LanguageCheck
from dragoman.control.search.distinct import search_distinct
from dragoman.control.search.mbr import rank_by_utility
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Engine, Ids
from dragoman.text.segment import Segment, separator
from dragoman.text.terms.glossary import Glossary
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.normalise import normalise
from dragoman.translation import Candidate, Flag, Term, Translation


@dataclass(frozen=True, slots=True)
class Sentence:
    """A segment of a line, its ids, and the ids that its translation begins with."""

    segment: Segment
    source_ids: list[int]
    target_prefix: tuple[int, ...] = ()


def translate_sentences(
    engine: Engine,
    tokenizer: Tokenizer,
    sentences: Sequence[Sentence],
    options: DecodeConfig,
    glossary: Glossary | None = None,
) -> list[Translation]:
    """Up to `options.n_best` candidates of each sentence, none of which is empty, with a warning if a fault shows."""
    if not sentences:
        return []
    found = _search(engine, tokenizer, sentences, options)
    sources = [sentence.source_ids for sentence in sentences]
    lines = [sentence.segment.text for sentence in sentences]
    terms: list[tuple[Term, ...]] = [()] * len(sentences)
    if glossary:
        found, terms = apply_glossary(engine, tokenizer, glossary, lines, sources, found, options)
    each = [
        (source, hypothesis.tokens) for source, several in zip(sources, found, strict=True) for hypothesis in several
    ]
    targets = [tokens for _, tokens in each]
    texts = iter(_decode(tokenizer, targets))
    of_each = [source for source, _ in each]
    log_probs = iter(engine.score(of_each, targets, alone=options.exact) if options.token_scores else repeat(()))
    translations = []
    for line, source, several, of_line in zip(lines, sources, found, terms, strict=True):
        candidates = tuple(
            Candidate(next(texts), h.score, h.log_prob, h.tokens, tuple(next(log_probs))) for h in several
        )
        fault = detect_fault(source, line, candidates[0].tokens)
        if not fault and not candidates[0].text and any(map(str.isalpha, line)):
            fault = FLAGS["empty"]
        translations.append(Translation(line, candidates, (fault,) if fault else (), of_line))
    return translations


def _search(
    engine: Engine, tokenizer: Tokenizer, sentences: Sequence[Sentence], options: DecodeConfig
) -> list[list[Hypothesis]]:
    """The engine's hypotheses of each sentence; with `mbr`, its samples that are most like the others."""
    sources = [sentence.source_ids for sentence in sentences]
    prefixes = [sentence.target_prefix for sentence in sentences]
    if options.method == "beam" and options.n_best > 1:
        return search_distinct(engine, partial(_decode, tokenizer), sources, prefixes, options)
    if options.method != "mbr":
        return engine.translate(sources, options, prefixes)
    sampling = options.model_copy(update={"method": "sample", "n_best": options.samples})
    chosen = []
    for samples in engine.translate(sources, sampling, prefixes):
        order = rank_by_utility(_decode(tokenizer, [hypothesis.tokens for hypothesis in samples]))
        chosen.append([samples[index] for index in order[: options.n_best]])
    return chosen


def _decode(tokenizer: Tokenizer, translations: Sequence[Ids]) -> list[str]:
    return [normalise(text) for text in tokenizer.decode(translations, "target")]


def join(text: str, sentences: Sequence[Sentence], translations: Sequence[Translation]) -> Translation:
    """The translation of `text` from those of its sentences, of which there is at least one; see `Candidate`."""
    if len(translations) == 1:
        candidates = translations[0].candidates
    else:
        candidates = tuple(_join(sentences, ranked) for ranked in _by_rank(translations))
    warnings = dict.fromkeys(flag for translation in translations for flag in translation.warnings)
    terms = tuple(term for translation in translations for term in translation.terms)
    return Translation(text, candidates, tuple(warnings), terms)


def join_line(
    line: str, sentences: Sequence[Sentence], translations: Sequence[Translation], check: LanguageCheck | None = None
) -> Translation:
    """The translation of a whole line; a blank line, which has no sentences, has a blank translation."""
    if not sentences:
        return Translation(line, (Candidate("", 0.0, 0.0),))
    whole = join(line, sentences, translations)
    warnings = list(whole.warnings)
    if is_copy(line, whole.text):
        warnings.append(FLAGS["copy"])
    if check:
        ids = [token for sentence in sentences for token in sentence.source_ids]
        warnings += check.flags(line, ids, whole.text)
    if len(sentences) > 1:
        warnings.append(Flag("segmented", f"translated in {len(sentences)} parts"))
    return Translation(line, whole.candidates, tuple(warnings), whole.terms)


def _by_rank(translations: Sequence[Translation]) -> Iterator[list[Candidate]]:
    """The best candidates of all translations, then the second ones, …; a translation with fewer repeats its last."""
    for rank in range(max(len(translation.candidates) for translation in translations)):
        yield [each.candidates[min(rank, len(each.candidates) - 1)] for each in translations]


def _join(sentences: Sequence[Sentence], candidates: Sequence[Candidate]) -> Candidate:
    pairs = zip(sentences, candidates, strict=True)
    return Candidate(
        normalise(
            "".join(candidate.text + separator(sentence.segment, candidate.text) for sentence, candidate in pairs)
        ),
        sum(candidate.score for candidate in candidates) / len(candidates),
        sum(candidate.log_prob for candidate in candidates),
        tuple(token for candidate in candidates for token in candidate.tokens),
        tuple(log_prob for candidate in candidates for log_prob in candidate.log_probs),
    )
