"""Both engines under every key of [decode]: the whole list of hypotheses is the same, token for token.

Under rules (a prefix, limits of length, no repetitions) that is the law of `exact`; otherwise they are CTranslate2's
own, `test_rules.py`. What is drawn at random differs between the engines. There the law is about the distribution: the
same tokens are possible, and are as frequent as the model says; made so sharp that one token is left, a sample is the
greedy search.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman.config import DecodeConfig, RunConfig
from dragoman.control.search.search import translate_sentences
from dragoman.control.search.sentences import Sentence
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Query
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ConfigError, QualityError
from dragoman.exporting import verify
from dragoman.exporting.golden import golden_sentences
from dragoman.exporting.verify import verify_rules
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.translator import Translator
from parity import NEAR, SHORT, Engines, assert_same, both_engines, draw_prefixes, draw_sentences
from stand_ins import queries
from suites import cases, slow

# For each key, options; under rules both engines find the same with `exact` only.
RULES = {"no_repeat_ngram", "min_length", "extra_length", "max_length"}
SAME: dict[str, list[dict[str, Any]]] = {
    "method": [{"method": "beam"}],
    "beam": [{"beam": 1}, {"beam": 2}, {"beam": 12}],
    "length_penalty": [{"length_penalty": 0.0}, {"length_penalty": 2.0}],
    "no_repeat_ngram": [{"no_repeat_ngram": n} for n in (1, 2, 4)] + [{"no_repeat_ngram": 2, "beam": 1}],
    "min_length": [{"min_length": 9}, {"min_length": 9, "beam": 1}, {"min_length": 4, "max_length": 4}],
    "extra_length": [{"extra_length": 1}],
    "max_length": [{"max_length": 4}, {"max_length": 4, "beam": 1}, {"max_length": 1}],
    "n_best": [{"n_best": 1}, {"n_best": 4}],
    "exact": [{"exact": True}, {"exact": True, "min_length": 5}],
    "shortlist": [
        {"shortlist": True},
        {"shortlist": True, "beam": 1, "max_length": 4},
        {"shortlist": True, "min_length": 7},
    ],
    "batch_tokens": [{"batch_tokens": 20}],
    "precision": [{"precision": "float32"}],
    # Only one token is left to draw.
    "temperature": [{"method": "sample", "temperature": 1e-4}],
    "top_k": [{"method": "sample", "top_k": 1}, {"method": "sample", "top_k": 1, "max_length": 3, "n_best": 2}],
    "top_p": [{"method": "sample", "top_p": 1e-4}],
}
# Those that have a test of their own below.
OTHERS = {"coverage_penalty", "samples", "seed", "token_scores", "alignment"}
# Only one engine has it, and the other refuses it; see `tests/decode/test_fusion.py`.
TORCH_ONLY = {"language_model", "language_model_weight"}
# Computed from log P, lengths, samples and text, which the laws here are about; see `tests/control`.
DERIVED = {"confidence", "confidence_samples", "doubtful", "placeholders", "keep", "numbers", "reverse_weight"}


def test_every_key_of_decode_is_compared() -> None:
    assert SAME.keys() | OTHERS | TORCH_ONLY | DERIVED == DecodeConfig.model_fields.keys()


def compare(engines: Engines, options: DecodeConfig, sources: list[list[int]], prefixes: list[list[int]]) -> None:
    """Without `exact` a beam is not compared where a hypothesis reaches the limit of its length."""
    ours, theirs = (engine.translate(queries(sources, prefixes), options) for engine in engines)
    longest = [max(len(hypothesis.tokens) for hypothesis in hypotheses) for hypotheses in ours]
    cut = [length >= options.limit(len(source)) for length, source in zip(longest, sources, strict=True)]
    all_alike = options.exact or options.beam == 1 or options.method == "sample"
    alike = [n for n in range(len(sources)) if all_alike or not cut[n]]
    assert len(alike) > 1
    assert_same([ours[n] for n in alike], [theirs[n] for n in alike])


def options_of(case: dict[str, Any], prefixed: bool = False) -> DecodeConfig:
    beam, exact = case.get("beam", 4), prefixed or not RULES.isdisjoint(case)
    n_best = beam if case.get("method", "beam") == "beam" else 1
    return DecodeConfig(**{"beam": beam, "n_best": n_best, "exact": exact, **(SHORT if exact else {}), **case})


ALL_CASES = {f"{key}-{number}": case for key, values in SAME.items() for number, case in enumerate(values)}


@pytest.mark.parametrize(
    ("case", "prefixed"),
    [
        pytest.param(case, prefixed, id=f"{name}-{'prefixed' if prefixed else 'whole'}", marks=() if quick else slow)
        for name, case in ALL_CASES.items()
        for prefixed in (False, True)
        for quick in [name.endswith("-0") and (not prefixed or name in ("beam-0", "min_length-0"))]
    ],
)
def test_both_engines_find_the_same(
    toy_engines: Engines, toy_tokenizer: Tokenizer, case: dict[str, Any], prefixed: bool
) -> None:
    options = options_of(case, prefixed)
    sources = draw_sentences(toy_tokenizer, 6 if options.exact else 16)  # without `exact` some are not compared
    prefixes = draw_prefixes(toy_tokenizer, len(sources)) if prefixed else [[]] * len(sources)
    compare(toy_engines, options, sources, prefixes)


def random_options(rng: random.Random) -> DecodeConfig:
    beam = rng.choice([1, 2, 3, 5])
    return DecodeConfig(
        beam=beam,
        n_best=rng.randint(1, beam),
        length_penalty=rng.choice([0.0, 0.6, 1.5]),
        no_repeat_ngram=rng.choice([0, 0, 1, 2, 3]),
        min_length=rng.choice([0, 0, 3, 8]),
        max_length=rng.choice([None, 8, 14]),
        exact=True,
        shortlist=rng.random() < 0.3,
        **SHORT,
    )


@pytest.mark.parametrize("seed", cases(range(6), quick=range(2)))
def test_both_engines_find_the_same_under_several_keys(
    toy_engines: Engines, toy_tokenizer: Tokenizer, seed: int
) -> None:
    rng, sources = random.Random(seed), draw_sentences(toy_tokenizer, 8)
    compare(toy_engines, random_options(rng), sources, draw_prefixes(toy_tokenizer, 8) if seed % 2 else [[]] * 8)


@pytest.mark.slow
def test_a_prefix_after_which_the_translation_ends_is_found(toy_engines: Engines, toy_tokenizer: Tokenizer) -> None:
    """CTranslate2 itself ignores EOS right after a prefix unless it is the likeliest token."""
    ours, exported = toy_engines
    sources, options = draw_sentences(toy_tokenizer, 12), DecodeConfig(beam=24, n_best=24, exact=True, **SHORT)
    prefixes = [prefix + [9] for prefix in draw_prefixes(toy_tokenizer, 12)]
    found = ours.translate(queries(sources, prefixes), options)
    assert any(map(_ends, prefixes, found))
    assert_same(found, exported.translate(queries(sources, prefixes), options))


def _ends(prefix: list[int], found: Sequence[Hypothesis]) -> bool:
    """Whether a hypothesis is the prefix itself, and not the likeliest."""
    ranked = sorted(found, key=lambda hypothesis: -hypothesis.log_prob)
    return any(list(hypothesis.tokens) == prefix for hypothesis in ranked[1:])


@pytest.mark.slow
@pytest.mark.parametrize("engine", cases({"torch": 0, "ctranslate2": 1}, quick=["ctranslate2"]))
@pytest.mark.parametrize("beam", cases([1, 4], quick=[1]))
def test_with_a_shortlist_a_sentence_is_the_same_in_any_batch(
    toy_engines: Engines, toy_tokenizer: Tokenizer, engine: int, beam: int
) -> None:
    sources, options = draw_sentences(toy_tokenizer, 8), DecodeConfig(beam=beam, n_best=beam, shortlist=True, **SHORT)
    prefixes = draw_prefixes(toy_tokenizer, 8)
    for some in (prefixes, [[]] * 8):
        alone = [
            toy_engines[engine].translate(queries([source], [it]), options)[0]
            for source, it in zip(sources, some, strict=True)
        ]
        assert_same(toy_engines[engine].translate(queries(sources, some), options), alone)


@pytest.mark.parametrize("keys", [{}, {"temperature": 1.7}, {"temperature": 0.6, "top_p": 0.5}, {"top_k": 3}], ids=str)
def test_both_engines_draw_from_the_same_distribution(
    toy_engines: Engines, toy_tokenizer: Tokenizer, keys: dict[str, Any]
) -> None:
    count = 1500
    options = DecodeConfig(method="sample", n_best=count, max_length=1, seed=3, **keys)
    [source] = draw_sentences(toy_tokenizer, 1)
    ours, theirs = (
        Counter(h.tokens for h in engine.translate(queries([source]), options)[0]) for engine in toy_engines
    )
    often = {tokens for tokens, times in (ours + theirs).items() if times > 30}
    assert often <= ours.keys() & theirs.keys(), "what one draws often, the other draws too"
    for tokens in often:
        p = (ours[tokens] + theirs[tokens]) / (2 * count)
        assert abs(ours[tokens] - theirs[tokens]) <= 5 * (2 * count * p * (1 - p)) ** 0.5, (
            "within 5 standard deviations"
        )


@pytest.mark.parametrize("engine", [0, 1], ids=["torch", "ctranslate2"])
def test_a_seed_draws_the_same_again(toy_engines: Engines, toy_tokenizer: Tokenizer, engine: int) -> None:
    """Not the same on both engines: `DecodeConfig.seed` says so."""
    sources, options = draw_sentences(toy_tokenizer, 5), DecodeConfig(method="sample", n_best=3, seed=7, extra_length=2)
    first = toy_engines[engine].translate(queries(sources), options)
    assert first == toy_engines[engine].translate(queries(sources), options)
    assert first != toy_engines[engine].translate(queries(sources), options.model_copy(update={"seed": 8}))


def test_a_coverage_penalty_is_the_torch_engines_alone(toy_engines: Engines, toy_tokenizer: Tokenizer) -> None:
    sources, options = draw_sentences(toy_tokenizer, 2), DecodeConfig(coverage_penalty=0.2)
    assert toy_engines[0].translate(queries(sources), options)
    with pytest.raises(ConfigError, match="only the torch engine has it; use --engine torch"):
        toy_engines[1].translate(queries(sources), options)


def test_samples_behind_a_prefix_with_a_shortlist_are_the_torch_engines_alone(
    toy_engines: Engines, toy_tokenizer: Tokenizer
) -> None:
    sources, options = draw_sentences(toy_tokenizer, 2), DecodeConfig(method="sample", shortlist=True)
    assert toy_engines[0].translate(queries(sources, [[9], []]), options)
    with pytest.raises(ConfigError, match="only the torch engine samples with it after a target prefix"):
        toy_engines[1].translate(queries(sources, [[9], []]), options)


@pytest.mark.parametrize("keys", [{"token_scores": True}, {"method": "mbr", "samples": 4, "top_k": 1}], ids=str)
def test_what_is_built_on_the_engines_is_the_same(
    toy_engines: Engines, toy_tokenizer: Tokenizer, keys: dict[str, Any]
) -> None:
    sentences = [Sentence(source, text="") for source in draw_sentences(toy_tokenizer, 6)]
    ours, theirs = (
        translate_sentences(engine, toy_tokenizer, sentences, DecodeConfig(**keys)) for engine in toy_engines
    )
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.text == other.text
        assert mine.score == pytest.approx(other.score, abs=NEAR)
        assert mine.candidates[0].log_probs == pytest.approx(other.candidates[0].log_probs, abs=NEAR)


def test_both_engines_align_the_same_words(toy_engines: Engines, toy_tokenizer: Tokenizer) -> None:
    lines = ["red dog", "two big cat sees", "bird"]
    ours, theirs = (
        Translator(toy_tokenizer, engine, DecodeConfig(max_length=9)).translate(lines, alignment=True)
        for engine in toy_engines
    )
    assert any(translation.alignment for translation in ours)
    assert [translation.alignment for translation in ours] == [translation.alignment for translation in theirs]


class Careless:
    """An engine that forgets a rule, and adds `nats` to log P; unless `exact`, if so."""

    def __init__(self, engine: TorchEngine, rule: str, unless_exact: bool = False, nats: float = 0.0) -> None:
        self.engine, self.rule, self.unless_exact, self.nats = engine, rule, unless_exact, nats

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        if options.exact and self.unless_exact:
            return self.engine.translate(queries, options)
        usual = DecodeConfig.model_fields[self.rule].default
        lists = self.engine.translate(queries, options.model_copy(update={self.rule: usual}))
        return [[replace(h, log_prob=h.log_prob + self.nats) for h in hypotheses] for hypotheses in lists]

    def score(self, queries: Sequence[Query], targets: Any, alone: bool = False) -> list[list[float]]:
        return self.engine.score(queries, targets)


def only(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    """Verify with those rules that name this key: before it the others would be searched, and found to be obeyed."""
    monkeypatch.setattr(verify, "RULES", tuple(keys | SHORT for keys in verify.RULES if rule in keys))
    assert verify.RULES


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["min_length", "max_length", "shortlist", "length_penalty"])
def test_an_export_that_forgets_a_rule_is_not_verified(
    toy_engines: Engines, toy_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    ours, exported = toy_engines
    golden = golden_sentences(toy_tokenizer, ours, DecodeConfig(**SHORT), ["red dog", "two", "a cat sees", "bird"])
    if rule == "min_length":  # once, and with all rules: it is the dearest part
        with monkeypatch.context() as patch:
            patch.setattr(verify, "RULES", tuple(keys | SHORT for keys in verify.RULES))
            verify_rules(ours, exported, golden)
    only(monkeypatch, rule)
    with pytest.raises(QualityError, match=f"under {rule}=.* translated differently from the reference"):
        verify_rules(ours, Careless(ours, rule), golden)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["min_length", "max_length", "no_repeat_ngram"])
def test_an_export_that_obeys_a_rule_only_exactly_is_not_verified(
    toy_engines: Engines, toy_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    ours = toy_engines[0]
    golden = golden_sentences(toy_tokenizer, ours, DecodeConfig(**SHORT), ["red dog", "two", "a cat sees", "bird"])
    only(monkeypatch, rule)
    with pytest.raises(QualityError, match=f"under {rule}=.* does not obey"):
        verify_rules(ours, Careless(ours, rule, unless_exact=True), golden)


@pytest.mark.slow
def test_an_export_that_reports_another_log_p_is_not_verified(toy_engines: Engines, toy_tokenizer: Tokenizer) -> None:
    ours = toy_engines[0]
    golden = golden_sentences(toy_tokenizer, ours, DecodeConfig(**SHORT), ["red dog", "two", "a cat sees", "bird"])
    with pytest.raises(QualityError, match="log P is not the model's own"):
        verify_rules(ours, Careless(ours, "seed", unless_exact=True, nats=-0.5), golden)


@pytest.mark.slow
@pytest.mark.parametrize("norm_order", ["pre", "post"])
def test_both_engines_find_the_same_with_a_trained_model(
    toy_run: Callable[..., RunConfig],
    toy_trainer: Callable[..., Any],
    toy_tokenizer: Tokenizer,
    tmp_path: Path,
    norm_order: str,
) -> None:
    config = toy_run(max_steps=150, validate_every=150, learning_rate=1e-2, warmup=40)
    shape = config.model.model_copy(update={"norm_order": norm_order})
    trainer = toy_trainer(config.model_copy(update={"model": shape}), tmp_path / "run")
    trainer.fit()
    trained = both_engines(trainer.final.eval(), toy_tokenizer, tmp_path)
    sources = draw_sentences(toy_tokenizer, 8, longest=15)
    prefixes = draw_prefixes(toy_tokenizer, len(sources))
    for case in ALL_CASES.values():
        compare(trained, options_of(case), sources, [[]] * len(sources))
        compare(trained, options_of(case, prefixed=True), sources, prefixes)
    for seed in range(16):
        compare(trained, random_options(random.Random(seed)), sources[:5], prefixes[:5])
