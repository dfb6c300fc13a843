"""Glossary terms in real translations, by an untrained model: nonsense that must contain what was asked for."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import pytest
import torch
from searching import attention

from dragoman.config import DecodeConfig, ModelConfig, TokenizerConfig
from dragoman.control.glossary.erasure import erasure_losses
from dragoman.control.glossary.terms import apply_glossary
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.engine import Engine, Ids, Query
from dragoman.engine.torch import TorchEngine
from dragoman.model.transformer import Transformer
from dragoman.text.terms.glossary import Glossary
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.text.words.normalise import normalise
from dragoman.translation import Term
from stand_ins import FakeEngine, queries

KOREAN = ["서버를", "깃발이", "새를", "빨간", "두", "본다", "나무가"]
ENGLISH = ["server", "flag", "bird", "red", "two", "sees", "tree"]
PAIRS = [
    (f"{KOREAN[a]} {KOREAN[b]} {KOREAN[c]}", f"{ENGLISH[a]} {ENGLISH[b]}, {ENGLISH[c]}.")
    for a in range(7)
    for b in range(7)
    for c in range(3)
]
OPTIONS = DecodeConfig(beam=3, n_best=1, extra_length=24, batch_tokens=600)
LINES = ["빨간 새가 서버를 본다", "나무가 본다", "깃발이 두 나무가", "서버", "빨간 깃발과 서버에"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return learn(PAIRS, TokenizerConfig(vocab_size=300))


@pytest.fixture(scope="module")
def engine(tokenizer: Tokenizer) -> TorchEngine:
    torch.manual_seed(3)
    shape = ModelConfig.model_validate({"layers": 1, "d_model": 16, "d_ff": 16, "heads": 2})
    model = Transformer(shape, len(tokenizer.source), len(tokenizer.target))
    with torch.no_grad():  # larger than at birth, so that predictions differ clearly
        for parameter in model.parameters():
            parameter.mul_(2.0)
    return TorchEngine(model, torch.device("cpu"))


class Result(NamedTuple):
    """The hypotheses of a line and how the best keeps to the glossary."""

    hypotheses: tuple[Hypothesis, ...]
    terms: tuple[Term, ...] = ()


def constrain(
    engine: Engine,
    tokenizer: Tokenizer,
    glossary: Glossary,
    lines: Sequence[str],
    sources: Sequence[Ids],
    found: Sequence[Sequence[Hypothesis]],
    options: DecodeConfig,
) -> list[Result]:
    rows = apply_glossary(engine, tokenizer, glossary, lines, queries(sources), found, options)
    return [Result(tuple(hypotheses), terms) for hypotheses, terms in zip(*rows, strict=True)]


class Run:
    """What was found for lines with and without a glossary."""

    def __init__(self, engine: TorchEngine, tokenizer: Tokenizer, lines: Sequence[str], options: DecodeConfig) -> None:
        self.engine, self.tokenizer, self.lines, self.options = engine, tokenizer, lines, options
        self.sources = tokenizer.encode(lines, "source")
        self.free = engine.translate(queries(self.sources), options)

    def under(self, glossary: Glossary) -> list[Result]:
        return constrain(self.engine, self.tokenizer, glossary, self.lines, self.sources, self.free, self.options)

    def text(self, hypothesis: Hypothesis) -> str:
        return normalise(self.tokenizer.decode([hypothesis.tokens], "target")[0])


@pytest.fixture
def run(engine: TorchEngine, tokenizer: Tokenizer) -> Run:
    return Run(engine, tokenizer, LINES, OPTIONS)


def test_every_line_says_its_terms_and_keeps_its_place(run: Run) -> None:
    results = run.under(Glossary.of({"서버": "server", "깃발": ["flag", "pennant"]}))
    assert [[term.source for term in result.terms] for result in results] == [
        ["서버"],
        [],
        ["깃발"],
        ["서버"],
        ["깃발", "서버"],
    ]
    for result in results:
        for term in result.terms:
            assert term.satisfied
            assert Glossary.of({term.target: "x"}).find(run.text(result.hypotheses[0]))
    assert results[1] == Result(tuple(run.free[1]))


def test_scores_are_those_of_the_engine(run: Run) -> None:
    results = run.under(Glossary.of({"서버": "server", "깃발": "flag"}))
    found = [result.hypotheses[0] for result in results]
    log_probs = run.engine.score(queries(run.sources), [hypothesis.tokens for hypothesis in found])
    assert [h.log_prob for h in found] == pytest.approx([sum(each) for each in log_probs], abs=1e-3)


def test_scores_count_the_coverage_penalty_of_the_whole_line(engine: TorchEngine, tokenizer: Tokenizer) -> None:
    run = Run(engine, tokenizer, LINES, OPTIONS.model_copy(update={"coverage_penalty": 0.3}))
    results = run.under(Glossary.of({"서버": "server", "깃발": "flag"}))
    assert all(term.satisfied for result in results for term in result.terms)
    for result, source in zip(results, run.sources, strict=True):
        [best] = result.hypotheses
        attended = attention(engine.models.models[0], source, list(best.tokens)).sum(0).tolist()
        penalty = 0.3 * sum(math.log(min(each, 1.0)) for each in attended)
        total = sum(engine.score(queries([source]), [best.tokens])[0])
        assert best.log_prob == pytest.approx(total, abs=1e-3)
        assert best.score == pytest.approx(total / length_penalty(len(best.tokens) + 1, 0.6) + penalty, abs=1e-3)


def test_a_translation_that_says_the_term_stays_as_it_is(run: Run, tokenizer: Tokenizer) -> None:
    for line, source in zip(LINES, run.sources, strict=True):
        word, [target_ids] = line.split()[0], tokenizer.encode(["two servers, red."], "target")
        free = [Hypothesis(tuple(target_ids), -5.0, -2.0)]
        glossary = Glossary.of({word: ["two", "nothing"], "본다": "Red"})
        [result] = constrain(run.engine, tokenizer, glossary, [line], [source], [free], OPTIONS)
        assert result.hypotheses == tuple(free)
        assert result.terms[0] == Term(word, "two", True)
        assert result.terms[1:] in ((), (Term("본다", "red", True),))


@pytest.mark.slow
def test_lines_together_are_as_each_alone(run: Run) -> None:
    glossary = Glossary.of({"서버": "server", "깃발": "flag", "새": "bird"})
    for line, together in zip(LINES, run.under(glossary), strict=True):
        [alone] = Run(run.engine, run.tokenizer, [line], OPTIONS).under(glossary)
        assert alone.terms == together.terms
        assert [h.tokens for h in alone.hypotheses] == [h.tokens for h in together.hypotheses]


def test_of_several_hypotheses_the_first_is_the_one_found_alone(engine: TorchEngine, tokenizer: Tokenizer) -> None:
    glossary, says = Glossary.of({"서버": "server"}), Glossary.of({"server": "x"})
    several = Run(engine, tokenizer, LINES, OPTIONS.model_copy(update={"n_best": 3}))
    for [best], result in zip(
        (alone.hypotheses for alone in Run(engine, tokenizer, LINES, OPTIONS).under(glossary)),
        several.under(glossary),
        strict=True,
    ):
        assert len({one.tokens for one in result.hypotheses}) == 3
        assert result.hypotheses[0] == best
        if result.terms:
            finds = [bool(says.find(several.text(one))) for one in result.hypotheses]
            assert finds == sorted(finds, reverse=True)


def test_what_cannot_be_generated_is_reported(engine: TorchEngine, tokenizer: Tokenizer) -> None:
    options = OPTIONS.model_copy(update={"max_length": 4})
    run, glossary = Run(engine, tokenizer, LINES, options), Glossary.of({"서버": "a word of so many letters"})
    results = run.under(glossary)
    assert [term for result in results for term in result.terms] == [
        Term("서버", "a word of so many letters", False)
    ] * 3
    assert [list(result.hypotheses) for result in results] == run.free


def test_a_word_without_tokens_is_reported() -> None:
    poor = learn(PAIRS, TokenizerConfig(vocab_size=46, byte_fallback=False))
    shape = ModelConfig.model_validate({"layers": 1, "d_model": 16, "d_ff": 16, "heads": 2})
    torch.manual_seed(1)
    engine = TorchEngine(Transformer(shape, len(poor.source), len(poor.target)), torch.device("cpu"))
    run = Run(engine, poor, LINES[:1], OPTIONS)
    [result] = run.under(Glossary.of({"서버": "Ωmega"}))
    assert result.terms == (Term("서버", "Ωmega", False),)
    assert list(result.hypotheses) == run.free[0]


class Fixed(FakeEngine):
    """An engine that says its prefix and then the rest of one sentence."""

    def __init__(self, tokenizer: Tokenizer, rest: str) -> None:
        super().__init__(lambda query, _: [Hypothesis((*query.prefix, *self.rest), -1.0, -1.0 - len(query.prefix))])
        self.tokenizer, self.rest = tokenizer, tokenizer.encode([rest], "target")[0]

    @property
    def asked(self) -> list[str]:
        """The prefixes of the queries."""
        return self.tokenizer.decode([query.prefix for query, _ in self.searched], "target")

    @property
    def sources_searched(self) -> list[str]:
        """Their sources."""
        return self.tokenizer.decode([query.source for query, _ in self.searched], "source")


def asked(tokenizer: Tokenizer, free: str, terms: dict[str, str], line: str = "서버") -> list[str]:
    """The beginnings that are tried where a translation without constraints was `free`."""
    engine, tokens = Fixed(tokenizer, "."), tuple(tokenizer.encode([free], "target")[0])
    sources = tokenizer.encode([line], "source")
    constrain(
        engine, tokenizer, Glossary.of(terms), [line], sources, [[Hypothesis(tokens, -1.0, -1.0)]], DecodeConfig()
    )
    return engine.asked


def test_a_phrase_goes_where_words_and_signs_begin(tokenizer: Tokenizer) -> None:
    assert asked(tokenizer, "two birds, red.", {"서버": "server"}) == [
        "server",
        "two server",
        "two birds server",
        "two birds, server",
        "two birds, red server",
    ]


def test_a_sentence_that_began_with_a_capital_may_do_so_again(tokenizer: Tokenizer) -> None:
    assert asked(tokenizer, "Red.", {"서버": "server"}) == ["server", "Red server", "Server"]


def test_where_there_are_no_spaces_a_phrase_gets_none(tokenizer: Tokenizer) -> None:
    tried = asked(tokenizer, "我的慢", {"서버": "服务"})
    assert "服务" in tried
    assert all("\ufffd" not in text for text in tried)


def test_a_longer_term_is_not_taken_for_a_shorter_one(tokenizer: Tokenizer) -> None:
    terms = {"서버": "server", "서버실": "server room"}
    assert asked(tokenizer, "server room.", terms, "서버실") == []
    assert "server" in asked(tokenizer, "server room.", terms, "서버실의 서버")


class Dictionary(Fixed):
    """An engine that finds a word of a translation likely only if the source holds its Korean."""

    unlikely = -1.5

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        lines = self.tokenizer.decode([query.source for query in queries], "source")
        meant = [{ENGLISH[at] for at, word in enumerate(KOREAN) if word in line} for line in lines]
        target_pieces = [self.tokenizer.pieces(target, "target") for target in targets]
        return [
            [-1.0 if piece.strip("▁") in words else self.unlikely for piece in pieces] + [-1.0]
            for words, pieces in zip(meant, target_pieces, strict=True)
        ]


def test_a_term_that_explains_little_goes_where_its_word_is_and_the_rest_comes_from_the_rest_of_the_line(
    tokenizer: Tokenizer,
) -> None:
    engine, line = Dictionary(tokenizer, "."), "빨간 서버를 두 깃발이 본다"
    free = Hypothesis(tuple(tokenizer.encode(["red server two flag, sees."], "target")[0]), -1.0, -1.0)
    sources = tokenizer.encode([line], "source")
    [result] = constrain(engine, tokenizer, Glossary.of({"두": "twain"}), [line], sources, [[free]], DecodeConfig())
    assert engine.asked == ["red twain", "red server twain"]
    assert set(engine.sources_searched) == {"빨간 서버를 깃발이 본다"}
    assert result.terms == (Term("두", "twain", True),)


def test_a_term_that_explains_a_word_is_written_in_its_place_without_a_search(tokenizer: Tokenizer) -> None:
    engine, line = Dictionary(tokenizer, "."), "빨간 서버를 두 깃발이 본다"
    engine.unlikely = -9.0
    free = Hypothesis(tuple(tokenizer.encode(["red server two flag, sees."], "target")[0]), -1.0, -1.0)
    sources, glossary = tokenizer.encode([line], "source"), Glossary.of({"두": "twain", "빨간": "Ruby"})
    [result] = constrain(engine, tokenizer, glossary, [line], sources, [[free]], DecodeConfig())
    assert engine.asked == []
    assert tokenizer.decode([result.hypotheses[0].tokens], "target") == ["Ruby server twain flag, sees."]
    assert result.terms == (Term("빨간", "Ruby", True), Term("두", "twain", True))


def test_a_substituted_translation_that_would_be_too_long_is_not_returned(tokenizer: Tokenizer) -> None:
    engine, line = Dictionary(tokenizer, "."), "두 서버를"
    engine.unlikely = -9.0
    free = Hypothesis(tuple(tokenizer.encode(["two server"], "target")[0]), -1.0, -1.0)
    sources, options = tokenizer.encode([line], "source"), DecodeConfig(max_length=len(free.tokens))
    glossary = Glossary.of({"두": "a number of so many letters"})
    [result] = constrain(engine, tokenizer, glossary, [line], sources, [[free]], options)
    assert result == ((free,), (Term("두", "a number of so many letters", False),))


def test_a_term_whose_position_is_gone_is_generated_elsewhere(tokenizer: Tokenizer) -> None:
    engine, line = Dictionary(tokenizer, "."), "두 서버를"
    free = Hypothesis(tuple(tokenizer.encode(["two server."], "target")[0]), -1.0, -1.0)
    glossary = Glossary.of({"두": "twain", "서버": "host"})
    sources = tokenizer.encode([line], "source")
    [result] = constrain(engine, tokenizer, glossary, [line], sources, [[free]], DecodeConfig())
    assert [term.satisfied for term in result.terms] == [True, True]


def test_what_a_part_of_the_source_explains_loses_by_its_absence(engine: TorchEngine, tokenizer: Tokenizer) -> None:
    whole, without, nothing = tokenizer.encode(["두 새를 본다", "새를 본다", ""], "source")
    target_ids = tokenizer.encode(["two bird sees"], "target")[0]
    before, after = engine.score(queries([whole]), [target_ids])[0], engine.score(queries([without]), [target_ids])[0]
    [lost, none] = erasure_losses(
        engine, [(Query(whole), [without], target_ids), (Query(whole), [nothing], target_ids)]
    )
    assert lost == pytest.approx([a - b for a, b in zip(before, after, strict=True)][:-1], abs=1e-4)
    assert none == pytest.approx([0.0] * len(target_ids), abs=1e-4)
    [least] = erasure_losses(engine, [(Query(whole), [without, whole, nothing], target_ids)])
    assert least == pytest.approx([min(each, 0.0) for each in lost], abs=1e-4)
    assert erasure_losses(engine, []) == []
