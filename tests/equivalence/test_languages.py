"""The laws of a model of several pairs of languages: language tokens on both sides, of different pairs in one batch.

batch = singles · padded = alone · exported = reference · score = plain probabilities · resumed = uninterrupted
"""

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.config import DataConfig, DecodeConfig, ModelConfig, PairConfig, TokenizerConfig
from dragoman.control.languages import LanguagePair, Pairs
from dragoman.data.batches.batch import Example, collate
from dragoman.data.batches.stream import BatchStream
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.data.corpus.directions import Direction
from dragoman.decode.hypothesis import FORBIDDEN_IDS, Hypothesis
from dragoman.engine.ctranslate2 import CTranslate2Engine
from dragoman.engine.torch import TorchEngine
from dragoman.exporting.ctranslate2 import convert
from dragoman.model.parts.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.shortlist.file import MAPPING, Shortlist
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, learn
from dragoman.training.objective.objective import batch_loss
from dragoman.translator import Translator
from stand_ins import queries
from suites import cases

Engines = tuple[TorchEngine, CTranslate2Engine]
NEAR = 1e-4
PAIRS = [
    PairConfig(source="en", target="ko", source_marks=("<en>",), target_marks=("<2ko>",)),
    PairConfig(source="ko", target="en", source_marks=("<ko>",), target_marks=("<2en>",)),
]
CASES: list[dict[str, Any]] = [
    {"beam": 1, "n_best": 1},
    {"beam": 4, "length_penalty": 2.0},
    {"beam": 4, "max_length": 3},
    {"beam": 4, "min_length": 5},
    {"beam": 1, "n_best": 1, "min_length": 5},
    {"beam": 4, "no_repeat_ngram": 2},
    {"beam": 1, "n_best": 1, "max_length": 3},
    {"beam": 3, "n_best": 3, "exact": True},
    {"beam": 4, "shortlist": True},
    {"beam": 1, "n_best": 1, "shortlist": True},
    {"method": "sample", "top_k": 1, "n_best": 1},
]


@pytest.fixture(scope="module")
def tokenizer(toy_corpus: Path) -> Tokenizer:
    from dragoman.config import CorpusConfig

    text = sample_pairs([CorpusConfig(source=toy_corpus / "train.tsv")], 1000, 1)
    marks = ["<en>", "<ko>", "<2ko>", "<2en>"]
    return learn(text, TokenizerConfig(vocab_size=34, byte_fallback=False), marks, marks)


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer) -> Transformer:
    torch.manual_seed(5)
    shape = {"layers": 2, "d_model": 16, "d_ff": 24, "heads": 4}
    model = Transformer(ModelConfig.model_validate(shape), len(tokenizer.source), len(tokenizer.target)).eval()
    with torch.no_grad():  # larger than at birth, so that predictions differ clearly, and a translation ends
        for parameter in model.parameters():
            parameter.mul_(2.0) if parameter.dim() > 1 else parameter.add_(0.1 * torch.randn_like(parameter))
        model.projection[EOS] *= 3
    return model


@pytest.fixture(scope="module")
def engines(model: Transformer, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    folder, rng = tmp_path_factory.mktemp("languages") / "ct2-float32", random.Random(4)
    ids = range(EOS + 1, len(tokenizer.target))
    shortlist = Shortlist((PAD, UNK, BOS, EOS, *rng.sample(ids, 20)), {n: tuple(rng.sample(ids, 9)) for n in ids})
    convert(model, tokenizer, folder, "float32")
    (folder / MAPPING).write_text(shortlist.text(tokenizer), encoding="utf-8")
    exported = CTranslate2Engine(folder, tokenizer, "cpu", 1, shortlist=shortlist.candidates)
    return TorchEngine(model, torch.device("cpu"), shortlist=shortlist.candidates), exported


@pytest.fixture(scope="module")
def marks(tokenizer: Tokenizer) -> list[Marks]:
    """One pair after the other, for each sentence."""
    return [Marks.of(PAIRS[number % 2], tokenizer) for number in range(8)]


@pytest.fixture(scope="module")
def sources(tokenizer: Tokenizer) -> list[list[int]]:
    rng = random.Random(2)
    return [rng.choices(range(EOS + 5, len(tokenizer.source)), k=rng.randint(1, 8)) for _ in range(8)]


def prefixes_of(tokenizer: Tokenizer) -> list[list[int]]:
    rng = random.Random(3)
    return [rng.choices(range(EOS + 5, len(tokenizer.target)), k=rng.randint(0, 3)) for _ in range(8)]


def assert_same(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        assert [h.score for h in other] == pytest.approx([h.score for h in mine], abs=NEAR)
        assert [h.log_prob for h in other] == pytest.approx([h.log_prob for h in mine], abs=10 * NEAR)
        assert [h.tokens for h in mine] == [h.tokens for h in other]


def options_of(case: dict[str, Any]) -> DecodeConfig:
    """Under the rules, of which a limit of length is one, the engines find the same with `exact`."""
    return DecodeConfig(**{"n_best": case.get("beam", 4), "extra_length": 3, "exact": True, **case})


@pytest.mark.parametrize(
    ("case", "prefixed"),
    cases(
        [(case, False) for case in CASES] + [({"beam": 4}, True), ({"beam": 3, "shortlist": True}, True)],
        quick=[(CASES[0], False), ({"beam": 4, "shortlist": True}, False), ({"beam": 4}, True)],
    ),
    ids=str,
)
def test_exported_is_reference_and_batch_is_singles(
    engines: Engines,
    tokenizer: Tokenizer,
    sources: list[list[int]],
    marks: list[Marks],
    case: dict[str, Any],
    prefixed: bool,
) -> None:
    prefixes = prefixes_of(tokenizer) if prefixed else [[]] * len(sources)
    options = options_of(case)
    ours, exported = (engine.translate(queries(sources, prefixes, marks), options) for engine in engines)
    assert_same(ours, exported)
    free = options.model_copy(update={"exact": False})
    for engine in engines:
        alone = [
            engine.translate(queries([source], [prefix], [own]), free)[0]
            for source, prefix, own in zip(sources, prefixes, marks, strict=True)
        ]
        assert_same(engine.translate(queries(sources, prefixes, marks), free), alone)
    without = engines[0].translate(queries(sources, prefixes), options)
    assert [it[0].tokens for it in without] != [it[0].tokens for it in ours]  # the language tokens matter


def test_a_translator_of_a_pair_asks_with_its_tokens(
    engines: Engines, tokenizer: Tokenizer, marks: list[Marks]
) -> None:
    options, lines = DecodeConfig(beam=2, numbers=False, placeholders=()), ["two red dog", "cat sees bird", "big cat"]
    translator = Translator(tokenizer, engines[0], options, pairs=Pairs((LanguagePair("en", None, marks[0]),)))
    asked = queries(tokenizer.encode(lines, "source"), None, [marks[0]] * len(lines))
    expected = [found[0].tokens for found in engines[0].translate(asked, options)]
    assert [found.tokens for found in translator.translate(lines)] == expected
    targets = ["zwei hund", "katze", "gross"]
    scored = engines[0].score(asked, tokenizer.encode(targets, "target"))
    assert translator.score(zip(lines, targets, strict=True)) == scored


def test_scores_are_those_of_the_text_alone(
    engines: Engines, model: Transformer, sources: list[list[int]], marks: list[Marks]
) -> None:
    """log P of each target token, from the logits of the whole sequence; of language tokens there is none."""
    targets = [list(found[0].tokens) for found in engines[0].translate(queries(sources, None, marks), DecodeConfig())]
    scored = [engine.score(queries(sources, None, marks), targets) for engine in engines]
    for source, target, own, ours, exported in zip(sources, targets, marks, *scored, strict=True):
        src, tgt = torch.tensor([[*own.source, *source, EOS]]), torch.tensor([[BOS, *own.target, *target]])
        with torch.no_grad():
            logits = model(src, padding_mask(src, PAD), tgt)[0, len(own.target) :]
        logits[:, list(FORBIDDEN_IDS)] = -torch.inf
        expected = logits.log_softmax(-1)[range(len(target) + 1), [*target, EOS]].tolist()
        assert ours == pytest.approx(expected, abs=NEAR)
        assert exported == pytest.approx(expected, abs=NEAR)


def test_limits_and_penalties_count_text_only(engines: Engines, sources: list[list[int]], marks: list[Marks]) -> None:
    """A sentence of n tokens has the limit of n tokens, whatever is put before it and behind BOS."""
    options = DecodeConfig(beam=4, n_best=4, extra_length=1, length_penalty=1.0)
    for engine in engines:
        for source, several in zip(sources, engine.translate(queries(sources, None, marks), options), strict=True):
            for hypothesis in several:
                assert len(hypothesis.tokens) <= options.limit(len(source))
                assert hypothesis.score == pytest.approx(hypothesis.log_prob / ((5 + len(hypothesis.tokens) + 1) / 6))


def test_the_loss_is_that_of_the_text_alone(model: Transformer, sources: list[list[int]], marks: list[Marks]) -> None:
    """A padded batch of both pairs has the sum of −log P of each text alone, given its language tokens."""
    targets = list(reversed(sources))
    examples = [Example(*row) for row in zip(sources, targets, [""] * 8, marks, strict=True)]
    batch = collate(examples, rows=9)
    total = 0.0
    for source, target, own in zip(sources, targets, marks, strict=True):
        src, tgt = torch.tensor([[*own.source, *source, EOS]]), torch.tensor([[BOS, *own.target, *target]])
        with torch.no_grad():
            log_probs = model(src, padding_mask(src, PAD), tgt)[0].log_softmax(-1)[len(own.target) :]
        total -= float(log_probs[range(len(target) + 1), [*target, EOS]].sum())
    assert float(batch_loss(model, batch, smoothing=0.0).detach()) == pytest.approx(total, rel=1e-5)
    assert batch.target_tokens == sum(example.target_tokens for example in examples)


@pytest.mark.parametrize("sampling", [0.0, 0.3])
def test_a_resumed_stream_of_both_directions_is_the_uninterrupted_one(
    toy_corpus: Path, tokenizer: Tokenizer, sampling: float
) -> None:
    data = DataConfig.model_validate(
        {
            "train": [str(toy_corpus / "train.tsv")],
            "valid": str(toy_corpus / "valid.tsv"),
            "shuffle_buffer": 40,
            "augment": {"upper": 0.2},
        }
    )
    found = [Direction(data.train[0], pair, reverse) for pair, reverse in zip(PAIRS, (False, True), strict=True)]

    def stream() -> BatchStream:
        return BatchStream(data, tokenizer, batch_tokens=90, seed=3, sampling=sampling, directions=found)

    whole, first = stream(), stream()
    expected = [whole.next_update(2) for _ in range(60)]
    for _ in range(25):
        first.next_update(2)
    resumed = stream()
    resumed.load_state_dict(first.state_dict())
    for update in expected[25:]:
        again = resumed.next_update(2)
        for one, other in zip(update.batches, again.batches, strict=True):
            assert torch.equal(one.src, other.src)
            assert torch.equal(one.tgt_in, other.tgt_in)
            assert one.locations == other.locations
    seen = {
        (int(row[0]), int(tgt[1]))
        for update in expected
        for b in update.batches
        for row, tgt in zip(b.src, b.tgt_in, strict=True)
    }
    assert seen == {(own.source[0], own.target[0]) for own in (Marks.of(pair, tokenizer) for pair in PAIRS)}


def test_attention_without_language_tokens_is_the_same_in_both_engines(engines: Engines) -> None:
    marks = [Marks((4,), (6,)), Marks((5,), (7,))]
    sources, targets = [[20, 21, 22, 23], [24, 25]], [[20, 21], [22, 23, 24]]
    both = [engine.attention(queries(sources, None, marks), targets) for engine in engines]
    for source, target, mine, other in zip(sources, targets, *map(list, both), strict=True):  # type: ignore[arg-type]
        assert mine.shape == other.shape == (len(target), len(source))
        assert abs(mine - other).max() < NEAR
