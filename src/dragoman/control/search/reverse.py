"""Translations chosen by two models: of what a beam search finds, the one from which the source is likely, too.

A model of one direction likes translations that are usual, and does not notice a word that they lack; the model of the
other direction does. What a beam holds is ordered by score + w · log P(source | translation) / lp(source), where lp is
the length penalty of the scores (a noisy channel, Yee et al. 2019, "Simple and Effective Noisy Channel Modeling"; Li
and Jurafsky 2016 call it mutual information). Scores and log P that are reported stay those of the first model.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from dragoman.config import DecodeConfig
from dragoman.control.languages import LanguagePair, Pairs
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.engine import Attention, Engine, Ids, Query
from dragoman.errors import ConfigError
from dragoman.system.groups import in_groups
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import UNK, Tokenizer
from dragoman.text.words.language import primary_language

# Hypotheses, at least, among which is chosen, and by how much the score of one may be lower than the best. More of
# either gains little (`benchmarks/control/reverse.py`).
CANDIDATES, WITHIN = 6, 0.4


def reverse_marks(pairs: Pairs, reverse: Pairs) -> dict[Marks, Marks]:
    """The language tokens of the opposite of each pair that the `reverse` model has. Raises ConfigError for none."""
    marks = {
        pair.marks: other.marks
        for pair in pairs.pairs
        for other in reversed(reverse.pairs)  # of several the first remains
        if pair.target and other.target and _languages(pair) == _languages(other)[::-1]
    }
    if not marks:
        raise ConfigError(f"reverse: {reverse.names} is given for {pairs.names}; give a model of the other direction")
    return marks


def plain_engine(engine: Engine) -> Engine:
    """The engine without the help of a reverse model."""
    return engine.engine if isinstance(engine, ReverseEngine) else engine


def _languages(pair: LanguagePair) -> tuple[str, str]:
    return primary_language(pair.source), primary_language(pair.target or "")


class ReverseEngine:
    """An `Engine` whose beam is ordered with the help of the `reverse` engine; all else is that of `engine`.

    `marks` are those of `reverse_marks`; a query of another pair has the order of `engine`.
    """

    def __init__(
        self,
        engine: Engine,
        tokenizer: Tokenizer,
        reverse: Engine,
        reverse_tokenizer: Tokenizer,
        marks: Mapping[Marks, Marks],
    ) -> None:
        self.engine, self.tokenizer = engine, tokenizer
        self.reverse, self.reverse_tokenizer, self.marks = reverse, reverse_tokenizer, marks

    def __getattr__(self, name: str) -> Any:
        """What only some engines have: `device`, `batch_tokens`, `price`."""
        if name.startswith("__") or name == "engine":
            raise AttributeError(name)
        return getattr(self.engine, name)

    def one_thread_a_call(self) -> "ReverseEngine":
        """For a service; see `CTranslate2Engine.one_thread_a_call`."""
        engine, reverse = map(_one_thread_a_call, (self.engine, self.reverse))
        return ReverseEngine(engine, self.tokenizer, reverse, self.reverse_tokenizer, self.marks)

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        """Hypotheses as `Engine.translate` returns them; those of a beam in the order that both models give them."""
        if options.method != "beam" or options.beam == 1 or not options.reverse_weight:
            return self.engine.translate(queries, options)
        if options.language_model:  # its share in the order is in no score
            raise ConfigError("decode.language_model: works without a reverse model; leave one of them out")
        helped = [query for query in queries if query.marks in self.marks]
        others = [query for query in queries if query.marks not in self.marks]
        plain = iter(self.engine.translate(others, options) if others else [])
        chosen = iter(self._choose(helped, options) if helped else [])
        return [next(chosen if query.marks in self.marks else plain) for query in queries]

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        """`Engine.score`, by the first model."""
        return self.engine.score(queries, targets, alone)

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        """`Engine.attention`, of the first model."""
        return self.engine.attention(queries, targets)

    def _choose(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        """The hypotheses of queries whose pair has an opposite."""
        beam = max(options.beam, CANDIDATES)
        beams = self.engine.translate(queries, options.model_copy(update={"beam": beam, "n_best": beam}))
        near = [_near_the_best(hypotheses) for hypotheses in beams]
        scores = self._scores_of_sources(queries, near, options)
        return [
            [*self._order(some, row, options), *hypotheses[len(some) :]][: options.n_best]
            for some, row, hypotheses in zip(near, scores, beams, strict=True)
        ]

    def _order(
        self, hypotheses: Sequence[Hypothesis], of_source: Sequence[float], options: DecodeConfig
    ) -> list[Hypothesis]:
        """The hypotheses, the best by both scores first."""
        both = [
            hypothesis.score + options.reverse_weight * score
            for hypothesis, score in zip(hypotheses, of_source, strict=True)
        ]
        order = sorted(range(len(both)), key=lambda k: -both[k])
        return [hypotheses[k] for k in order]

    def _scores_of_sources(
        self, queries: Sequence[Query], beams: Sequence[Sequence[Hypothesis]], options: DecodeConfig
    ) -> list[list[float]]:
        """The score of each query's source as a translation of each hypothesis; 0 where there is nothing to ask."""
        sources = self.tokenizer.decode([query.source for query in queries], "source")
        expected = self.reverse_tokenizer.encode(sources, "target")
        read = in_groups(self._read, [[hypothesis.tokens for hypothesis in beam] for beam in beams])
        groups = [
            [(Query(ids, (), self.marks[query.marks]), target) for ids in rows if len(rows) > 1]
            for query, target, rows in zip(queries, expected, read, strict=True)
        ]
        scores = in_groups(lambda pairs: self._scores(pairs, options), groups)
        return [row or [0.0] * len(beam) for row, beam in zip(scores, beams, strict=True)]

    def _read(self, targets: Sequence[Ids]) -> list[Ids]:
        """The tokens of translations as sources of the reverse model, which has none for an empty one."""
        texts = self.tokenizer.decode(targets, "target")
        return [ids or (UNK,) for ids in self.reverse_tokenizer.encode(texts, "source")]

    def _scores(self, pairs: Sequence[tuple[Query, Ids]], options: DecodeConfig) -> list[float]:
        rows = self.reverse.score([query for query, _ in pairs], [target for _, target in pairs], options.exact)
        return [sum(row) / length_penalty(len(row), options.length_penalty) for row in rows]


def _near_the_best(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """The first ones, which the other model may put in another order."""
    return [*takewhile(lambda hypothesis: hypothesis.score >= hypotheses[0].score - WITHIN, hypotheses)]


def _one_thread_a_call(engine: Engine) -> Engine:
    make = getattr(engine, "one_thread_a_call", None)
    return make() if make else engine
