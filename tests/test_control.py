"""Control over a translation, on both engines: glossaries, prefixes, alternatives, sampling, consensus, ensembles."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from dragoman.config import DecodeConfig, ModelConfig, TokenizerConfig
from dragoman.control.search.n_best import rank_by_utility
from dragoman.engine import Engine
from dragoman.engine.ctranslate2 import CTranslate2Engine
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ConfigError, DataError
from dragoman.exporting.ctranslate2 import convert
from dragoman.model.transformer import Transformer
from dragoman.text.terms.glossary import Glossary
from dragoman.text.tokens.tokenizer import EOS, Tokenizer, learn
from dragoman.translator import Translator
from stand_ins import queries

WORDS = ["dog", "cat", "bird", "tree", "red", "small", "two", "sees"]
LINES = [(f"{a} {b} {c}", f"{c} {a} {b}") for a in WORDS for b in WORDS for c in WORDS[:3]]
SOURCES = ["dog sees cat", "two small birds", "tree", "red red red dog"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return learn(LINES, TokenizerConfig(vocab_size=27, byte_fallback=False))  # without fallback no bytes are broken


@pytest.fixture(scope="module", params=["torch", "ctranslate2"])
def engine(request: pytest.FixtureRequest, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """An untrained network: what it says is nonsense, and the same nonsense every time."""
    torch.manual_seed(3)
    shape = ModelConfig.model_validate({"layers": 1, "d_model": 16, "d_ff": 16, "heads": 2})
    network = Transformer(shape, len(tokenizer.source), len(tokenizer.target)).eval()
    with torch.no_grad():
        network.projection[EOS] *= 6
    if request.param == "torch":
        return TorchEngine(network, torch.device("cpu"))
    folder = tmp_path_factory.mktemp("network") / "ct2-float32"
    convert(network, tokenizer, folder, "float32")
    return CTranslate2Engine(folder, tokenizer, "cpu", threads=1)


@pytest.fixture
def translator(engine: Engine, tokenizer: Tokenizer) -> Any:
    """A translator with keys of [decode] as arguments."""

    def make(glossary: Glossary | None = None, **options: Any) -> Translator:
        wanted = DecodeConfig(**{"extra_length": 8, **options})
        return Translator(tokenizer, engine, wanted, max_source_tokens=50, glossary=glossary)

    return make


def test_a_glossary_is_kept_to_and_reported(translator: Any) -> None:
    glossary = Glossary.of({"dog": "tree bird", "cat": "two"})
    found = translator().translate(SOURCES, glossary=glossary)
    for translation in found:
        asked = [term for term in ("dog", "cat") if term in translation.source.split()]
        assert sorted(term.source for term in translation.terms) == sorted(asked)
        for term in translation.terms:
            assert term.satisfied
            assert term.target in translation.text


def test_a_mapping_is_a_glossary(translator: Any) -> None:
    made = translator(glossary={"dog": "bird"}).translate(SOURCES, glossary={"cat": ["two", "red"]})
    assert made == translator(glossary=Glossary.of({"dog": "bird"})).translate(
        SOURCES, glossary=Glossary.of({"cat": ["two", "red"]})
    )
    with pytest.raises(DataError, match="glossary:1: None as translation of 'cat'"):
        translator().translate(SOURCES, glossary={"cat": None})


def test_a_requests_glossary_comes_before_the_models(translator: Any) -> None:
    own = translator(glossary=Glossary.of({"dog": "bird", "tree": "red"}))
    assert own.translate("dog").terms[0].target == "bird"
    request = Glossary.of({"dog": "small"})
    assert own.translate("dog", glossary=request).terms[0].target == "small"
    assert own.translate("tree", glossary=request).terms[0].target == "red"


def test_a_translation_begins_with_the_target_prefix(translator: Any) -> None:
    for translation in translator().translate(SOURCES, target_prefix="two tree"):
        assert translation.text.startswith("two tree")


def test_alternatives_differ_after_the_target_prefix(translator: Any, tokenizer: Tokenizer) -> None:
    found = translator().alternatives("dog sees cat", target_prefix="two", count=4)
    place = len(tokenizer.encode(["two"], "target")[0])
    assert len({candidate.tokens[place] for candidate in found}) == len(found) == 4
    assert all(candidate.text.startswith("two") for candidate in found)
    assert [candidate.score for candidate in found] == sorted((c.score for c in found), reverse=True)
    assert translator().alternatives("  ") == ()


def test_log_p_of_each_token_adds_up_to_that_of_the_translation(translator: Any) -> None:
    for translation in translator(token_scores=True, n_best=2, beam=3).translate(SOURCES):
        for candidate in translation.candidates:
            assert len(candidate.log_probs) == len(candidate.tokens) + 1
            assert translation.tokens == translation.candidates[0].tokens
            assert sum(candidate.log_probs) == pytest.approx(candidate.log_prob, abs=1e-3)
    assert translator().translate("dog").candidates[0].log_probs == ()


def test_consensus_is_the_sample_most_like_the_others(translator: Any) -> None:
    drawn = translator(method="sample", n_best=6, seed=5, temperature=0.7).translate("two small birds")
    texts = [candidate.text for candidate in drawn.candidates]
    chosen = translator(method="mbr", samples=6, seed=5, temperature=0.7).translate("two small birds")
    assert len(texts) == 6
    assert chosen.text == texts[rank_by_utility(texts)[0]]


def test_scores_of_given_pairs_are_those_of_the_engine(translator: Any, engine: Engine, tokenizer: Tokenizer) -> None:
    pairs = [("dog sees cat", "cat dog"), ("tree", "")]
    sources = tokenizer.encode([source for source, _ in pairs], "source")
    targets = tokenizer.encode([target for _, target in pairs], "target")
    assert translator().score(pairs) == engine.score(queries(sources), targets)
    assert [len(row) for row in translator().score(pairs)] == [len(target) + 1 for target in targets]


@pytest.mark.parametrize("options", [{"min_length": 9}, {"max_length": 3}, {"no_repeat_ngram": 1}], ids=str)
def test_lengths_and_repetitions_follow_the_options(translator: Any, options: dict[str, Any]) -> None:
    def lengths(translations: Sequence[Any]) -> list[int]:
        return [len(translation.candidates[0].tokens) for translation in translations]

    found = translator(**options).translate(SOURCES)
    if "min_length" in options:
        assert min(lengths(found)) >= 9
    elif "max_length" in options:
        assert max(lengths(found)) <= 3
    else:
        assert all(len(set(t.candidates[0].tokens)) == len(t.candidates[0].tokens) for t in found)


def test_target_prefix_is_never_cut(translator: Any) -> None:
    for translation in translator(max_length=2).translate(SOURCES, target_prefix="two tree bird"):
        assert translation.text.startswith("two tree bird")


def test_target_prefix_and_glossary_exclude_each_other(translator: Any) -> None:
    with pytest.raises(ConfigError, match="target_prefix and a glossary cannot be combined"):
        translator().translate("dog", target_prefix="two", glossary=Glossary.of({"dog": "cat"}))
