"""Held-out text by pair of languages: what a model of several is validated and scored on, pair by pair.

A model without language tokens has one pair, whose name appears nowhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from dragoman.config import CorpusConfig, DecodeConfig, PairConfig, RunConfig
from dragoman.control.languages import LanguagePair, Pairs
from dragoman.control.placeholders.symbols import mask_texts
from dragoman.data.corpus.corpus import Pair
from dragoman.data.corpus.directions import directions
from dragoman.engine import Engine
from dragoman.evaluation import Score, score_all
from dragoman.exporting.golden import COUNT, golden_sentences, golden_text
from dragoman.text.terms.symbols import NO_SYMBOLS, Symbols
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.translator import Translator
from dragoman.workflows.evaluate.evaluate import translate_all
from dragoman.workflows.listener import Listeners


@dataclass(frozen=True)
class HeldOutText:
    """Text of one pair of languages, line by line."""

    pair: PairConfig
    sources: tuple[str, ...]
    references: tuple[str, ...]

    def translator(
        self,
        tokenizer: Tokenizer,
        engine: Engine,
        options: DecodeConfig,
        max_source_tokens: int | None = None,
        symbols: Symbols = NO_SYMBOLS,
    ) -> Translator:
        """One for this pair, which warns of no language."""
        pair = LanguagePair(self.pair.source, None, Marks.of(self.pair, tokenizer))
        return Translator(
            tokenizer, engine, options, max_source_tokens=max_source_tokens, pairs=Pairs((pair,)), symbols=symbols
        )


def held_out_by_pair(config: RunConfig, corpora: Sequence[CorpusConfig], lines: int | None = None) -> list[HeldOutText]:
    """The text of each pair that the corpora have, in the order of the pairs; at most `lines` lines of all together."""
    corpus_directions, pairs = directions(config, corpora), held_out_pairs(config, corpora)
    pair_lines = None if lines is None else -(-lines // len(pairs)) if lines else 0
    return [
        _first(
            pair,
            chain.from_iterable(direction.read() for direction in corpus_directions if direction.pair == pair),
            pair_lines,
        )
        for pair in pairs
    ]


def held_out_pairs(config: RunConfig, corpora: Sequence[CorpusConfig]) -> list[PairConfig]:
    """The pairs that the corpora have, in the order of the project."""
    pairs = [direction.pair for direction in directions(config, corpora)]
    return [pair for pair in config.project.all_pairs if pair in pairs]


def _first(pair: PairConfig, text: Iterable[Pair], lines: int | None) -> HeldOutText:
    first_lines = list(islice(text, lines))
    return HeldOutText(pair, tuple(line.source for line in first_lines), tuple(line.target for line in first_lines))


@dataclass(frozen=True)
class ScoredText:
    """The translations of a held-out text, and what they and the source text itself score."""

    text: HeldOutText
    translator: Translator
    translations: Sequence[str]
    scores: Sequence[Score]
    copying: Sequence[Score]


def score_by_pair(
    config: RunConfig, tokenizer: Tokenizer, engine: Engine, options: DecodeConfig, listener: Listeners
) -> list[ScoredText]:
    """Translate and score the text of each pair: that of the test, or of validation if there is no test."""
    scored_texts = []
    for text in held_out_by_pair(config, config.data.test_corpora or config.data.valid_corpora):
        symbols = Symbols.of(config, tokenizer.symbols)
        translator = text.translator(tokenizer, engine, options, config.data.max_length, symbols)
        translations = translate_all(translator, text.sources, listener)
        scores, copying = (score_all(lines, text.references) for lines in (translations, text.sources))
        name = f"{text.pair.name}: " if config.project.pairs else ""
        for score, copied in zip(scores, copying, strict=True):
            listener.notice(f"  {name}{score.name} {score.value:.1f} (copying the source: {copied.value:.1f})")
        scored_texts.append(ScoredText(text, translator, translations, scores, copying))
    return scored_texts


def score_facts(config: RunConfig, scored: Sequence[ScoredText]) -> list[dict[str, object]]:
    """What `bundle.json` has about the scores."""
    on = "test" if config.data.test else "valid"
    return [
        ({"pair": scored_text.text.pair.name} if config.project.pairs else {})
        | {"on": on, "metric": score.name, "value": score.value, "signature": score.signature}
        for scored_text in scored
        for score in scored_text.scores
    ]


def golden_by_pair(config: RunConfig, tokenizer: Tokenizer, engine: Engine) -> str:
    """The golden sentences of each pair, of the validation text."""
    texts = held_out_by_pair(config, config.data.valid_corpora, COUNT)
    sentences, symbols = [], Symbols.of(config, tokenizer.symbols)
    for text in texts:
        marks = Marks.of(text.pair, tokenizer)
        name, count = text.pair.name if config.project.pairs else "", -(-COUNT // len(texts))
        masked, _ = mask_texts(text.sources, symbols)
        sentences += golden_sentences(tokenizer, engine, config.decode, masked, name, count, marks)
    return golden_text(sentences)
