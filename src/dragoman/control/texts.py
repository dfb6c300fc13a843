"""Sources → translated texts: search, choose among samples, keep to the glossary. No torch.

What all engines leave open is decided here, with nothing but an engine's search and its scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.config import DecodeConfig
from dragoman.control.mbr import rank_by_utility
from dragoman.control.phrases import Ids, Searcher
from dragoman.control.terms import Term, constrain
from dragoman.decode.hypothesis import Hypothesis
from dragoman.text.glossary import Glossary
from dragoman.text.normalise import normalise
from dragoman.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Source:
    """A sentence, its ids, and the ids that its translation begins with."""

    text: str
    ids: Ids
    prefix: Ids = ()


@dataclass(frozen=True, slots=True)
class Found:
    """Translations of a sentence, best first: hypotheses, their texts, log P of each token if that was asked for."""

    hypotheses: tuple[Hypothesis, ...]
    texts: tuple[str, ...]
    log_probs: tuple[tuple[float, ...], ...]
    terms: tuple[Term, ...] = ()
    """The glossary's terms that stand in the sentence, and whether the best translation keeps to them."""


def find(
    engine: Searcher,
    tokenizer: Tokenizer,
    sources: Sequence[Source],
    options: DecodeConfig,
    glossary: Glossary | None = None,
) -> list[Found]:
    """Up to `options.n_best` translations of each source, none of which is empty."""
    if not sources:
        return []
    hypotheses = _searched(engine, tokenizer, sources, options)
    terms: list[tuple[Term, ...]] = [()] * len(sources)
    if glossary:
        texts, ids = [source.text for source in sources], [source.ids for source in sources]
        kept = constrain(engine, tokenizer, glossary, texts, ids, hypotheses, options)
        hypotheses, terms = [list(one.hypotheses) for one in kept], [one.terms for one in kept]
    heard = [source.ids for source, several in zip(sources, hypotheses, strict=True) for _ in several]
    tokens = [hypothesis.tokens for several in hypotheses for hypothesis in several]
    said = iter(_texts(tokenizer, tokens))
    rows = iter(engine.score(heard, tokens) if options.token_scores else ())
    return [
        Found(
            tuple(several),
            tuple(next(said) for _ in several),
            tuple(tuple(next(rows, ())) for _ in several),
            of_source,
        )
        for several, of_source in zip(hypotheses, terms, strict=True)
    ]


def _searched(
    engine: Searcher, tokenizer: Tokenizer, sources: Sequence[Source], options: DecodeConfig
) -> list[list[Hypothesis]]:
    ids, prefixes = [source.ids for source in sources], [source.prefix for source in sources]
    if options.method != "mbr":
        return engine.translate(ids, options, prefixes)
    drawing = options.model_copy(update={"method": "sample", "n_best": options.samples})
    chosen = []
    for drawn in engine.translate(ids, drawing, prefixes):
        order = rank_by_utility(_texts(tokenizer, [hypothesis.tokens for hypothesis in drawn]))
        chosen.append([drawn[index] for index in order[: options.n_best]])
    return chosen


def _texts(tokenizer: Tokenizer, translations: Sequence[Ids]) -> list[str]:
    return [normalise(text) for text in tokenizer.decode(translations, "target")]
