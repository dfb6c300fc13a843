"""Rules of a search, each on both engines: obeyed, in any batch alike, and by CTranslate2's own search unless `exact`.

Where the reference finds another translation under a rule is in `docs/decisions/0019-parity.md`.
"""

import random
from typing import Any

import ctranslate2
import pytest

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.engine import Ids, Query
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.translator import Translator
from parity import NEAR, SHORT, Engines, assert_same, draw_prefixes, draw_sentences
from stand_ins import queries
from suites import cases

RULES: dict[str, dict[str, Any]] = {
    "min_length": {"min_length": 9},
    "a short min_length": {"min_length": 2},
    "no_repeat_ngram 1": {"no_repeat_ngram": 1, "extra_length": 4},
    "no_repeat_ngram 2": {"no_repeat_ngram": 2},
    "max_length": {"max_length": 4},
    "extra_length": {"extra_length": 1},
    "both lengths": {"min_length": 6, "max_length": 6},
    "all": {"min_length": 7, "no_repeat_ngram": 2, "max_length": 8},
    "none": {},
    "shortlist": {"shortlist": True},
    "shortlist and rules": {"shortlist": True, "min_length": 5, "max_length": 7, "no_repeat_ngram": 2},
}


def obeys(query: Query, found: Hypothesis, options: DecodeConfig) -> bool:
    """Whether the hypothesis has the prefix, the length, and no n-gram after the prefix that is there before."""
    tokens, size, begin = found.tokens, options.no_repeat_ngram, len(query.prefix)
    grams = [tokens[start : start + size] for start in range(len(tokens) - size + 1)] if size else []
    free = [gram not in grams[:start] for start, gram in enumerate(grams) if start + size > begin]
    longest = max(options.limit(len(query.source)), begin)
    return tokens[:begin] == query.prefix and options.min_length <= len(tokens) <= longest and all(free)


@pytest.mark.parametrize("engine", cases({"torch": 0, "ctranslate2": 1}, quick=["ctranslate2"]))
@pytest.mark.parametrize("prefixed", [False, True], ids=["whole", "prefixed"])
@pytest.mark.parametrize("beam", cases([4, 1], quick=[4]))
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_obeyed(
    toy_engines: Engines, toy_tokenizer: Tokenizer, rule: str, beam: int, prefixed: bool, engine: int
) -> None:
    sources, options = draw_sentences(toy_tokenizer, 10), DecodeConfig(beam=beam, n_best=beam, **SHORT | RULES[rule])
    asked = queries(sources, draw_prefixes(toy_tokenizer, 10) if prefixed else None)
    for query, hypotheses in zip(asked, toy_engines[engine].translate(asked, options), strict=True):
        assert 1 <= len(hypotheses) <= beam
        assert all(obeys(query, hypothesis, options) for hypothesis in hypotheses)
        assert len({hypothesis.tokens for hypothesis in hypotheses}) == len(hypotheses)
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        if not options.shortlist:  # of which scores are over the list
            own = toy_engines[0].score([query] * len(hypotheses), [h.tokens for h in hypotheses])
            assert [h.log_prob for h in hypotheses] == pytest.approx(list(map(sum, own)), abs=10 * NEAR)


@pytest.mark.parametrize("rule", RULES)
def test_a_sentence_is_the_same_in_any_batch(toy_engines: Engines, toy_tokenizer: Tokenizer, rule: str) -> None:
    asked = queries(draw_sentences(toy_tokenizer, 24), draw_prefixes(toy_tokenizer, 24))
    options = DecodeConfig(n_best=2, **SHORT | RULES[rule])
    alone = [toy_engines[1].translate([query], options)[0] for query in asked]
    assert_same(toy_engines[1].translate(asked, options), alone)
    shuffled = random.Random(3).sample(range(24), 24)
    in_small = toy_engines[1].translate([asked[n] for n in shuffled], options.model_copy(update={"batch_tokens": 30}))
    assert_same(in_small, [alone[n] for n in shuffled])


def directly(engines: Engines, tokenizer: Tokenizer, query: Query, options: DecodeConfig, limit: int) -> Ids:
    """The best target that CTranslate2, called by itself for this sentence alone, finds up to `limit` tokens."""
    [result] = ctranslate2.Translator(str(engines[1].folder)).translate_batch(
        [tokenizer.pieces(query.source, "source")],
        target_prefix=[tokenizer.pieces(query.prefix, "target")] if query.prefix else None,
        beam_size=options.beam,
        num_hypotheses=options.beam,
        length_penalty=1e-9,
        min_decoding_length=options.min_length,
        no_repeat_ngram_size=options.no_repeat_ngram,
        max_decoding_length=limit,
        return_scores=True,
    )
    ids = {piece: token for token, piece in enumerate(tokenizer.pieces(range(len(tokenizer.target)), "target"))}
    targets = [[ids[piece] for piece in pieces] for pieces in result.hypotheses]
    scores = [
        log_prob / length_penalty(len(target) + 1, options.length_penalty)
        for target, log_prob in zip(targets, result.scores, strict=True)
    ]
    return targets[scores.index(max(scores))]


@pytest.mark.parametrize("rule", [name for name in RULES if "shortlist" not in name])
def test_under_rules_the_best_is_that_of_ctranslate2_called_directly(
    toy_engines: Engines, toy_tokenizer: Tokenizer, rule: str
) -> None:
    asked, options = queries(draw_sentences(toy_tokenizer, 12)), DecodeConfig(**SHORT | RULES[rule])
    for query, [best] in zip(asked, toy_engines[1].translate(asked, options), strict=True):
        limit = options.limit(len(query.source))
        longer = directly(toy_engines, toy_tokenizer, query, options, limit + 1)
        # Only where the limit is near, or is reached, does the search end there.
        expected = [directly(toy_engines, toy_tokenizer, query, options, limit), longer]
        expected = expected[: 1 if len(longer) >= limit else 2]
        if len(query.source) >= 2 * options.min_length > 0 and not options.no_repeat_ngram:  # a rule may not be needed
            free = options.model_copy(update={"min_length": 0})
            plain = [directly(toy_engines, toy_tokenizer, query, free, limit + more) for more in (0, 1)]
            expected += [target for target in plain if len(target) >= options.min_length]
        assert [*best.tokens] in expected


class Stepwise(Exception):
    """The reference's search on CTranslate2 was called."""


@pytest.fixture
def no_stepwise(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise Stepwise

    monkeypatch.setattr("dragoman.engine.ctranslate2.search_stepwise", refuse)


# A value of every key of [decode] that the engine has, other than its default.
VALUES: dict[str, Any] = {
    "method": "mbr", "beam": 2, "length_penalty": 2.0, "no_repeat_ngram": 2, "min_length": 4, "extra_length": 2,
    "max_length": 3, "n_best": 3, "temperature": 0.5, "top_k": 3, "top_p": 0.5, "samples": 2, "seed": 2,
    "shortlist": True, "token_scores": True, "alignment": True, "placeholders": (), "numbers": False,
    "keep": ("cats",), "doubtful": False,
    "batch_tokens": 50, "precision": "float32",
}  # fmt: skip
ELSEWHERE = {
    "exact", "coverage_penalty", "language_model", "language_model_weight", "reverse_weight", "confidence",
    "confidence_samples",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("no_stepwise")
@pytest.mark.parametrize("prefix", ["", "red"])
def test_no_key_takes_the_references_search(toy_engines: Engines, toy_tokenizer: Tokenizer, prefix: str) -> None:
    assert VALUES.keys() | ELSEWHERE == DecodeConfig.model_fields.keys()
    translator = Translator(toy_tokenizer, toy_engines[1], DecodeConfig(), max_source_tokens=9)
    for key, value in VALUES.items():
        changes = {"extra_length": 20, key: value}  # random weights seldom end a translation
        changes |= {"method": "sample"} if key in ("temperature", "top_k", "top_p", "seed") else {}
        changes |= {"samples": 4} if key == "method" else {}  # the candidates are compared pair by pair
        lines = ["red dog", "two {n} cats", "bird " * 12]
        translations = translator.translate(lines, target_prefix=prefix, options=DecodeConfig(**changes))
        assert all(translation.candidates for translation in translations)


@pytest.mark.usefixtures("no_stepwise")
@pytest.mark.parametrize("rule", ["min_length", "no_repeat_ngram 2", "max_length", "both lengths", "extra_length"])
def test_with_exact_a_rule_takes_the_references_search(
    toy_engines: Engines, toy_tokenizer: Tokenizer, rule: str
) -> None:
    asked = queries(draw_sentences(toy_tokenizer, 6))
    toy_engines[1].translate(asked, DecodeConfig(**RULES[rule]))
    with pytest.raises(Stepwise):
        toy_engines[1].translate(asked, DecodeConfig(exact=True, **RULES[rule]))
