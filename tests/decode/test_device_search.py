"""The search by recorded steps is beam search: the same code that a GPU records, called."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from architectures import TRANSFORMERS
from dragoman.config import DecodeConfig, ModelConfig
from dragoman.data.batches.batch import pad
from dragoman.decode import device_search
from dragoman.decode.beam_step import BeamStep, StepShape
from dragoman.decode.constraints import ANY, Constraints
from dragoman.decode.device_search import READ_EVERY, DeviceSearch, step_sentences, step_size
from dragoman.decode.ensemble import Ensemble
from dragoman.decode.hypothesis import Hypothesis
from dragoman.decode.search import beam_search
from dragoman.engine.torch import TorchEngine, to_bfloat16
from dragoman.model.parts.attention import ScaledDotProduct, attention_weights, padding_mask
from dragoman.model.parts.recorded import REHEARSALS, Recorder, Work
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD
from operations import Counted, take_branches_of_a_gpu
from questions import silence
from stand_ins import queries
from suites import cases, covering

Build = Callable[..., Transformer]
Draw = Callable[..., list[list[int]]]
CPU = torch.device("cpu")
# Long and short, so that sentences end at different steps, the cache grows and the batch is compacted.
LENGTHS = [4, 1, 23, 6, 3, 9, 2, 12, 5, 1]
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "length penalty 0": {"length_penalty": 0.0},
    "length penalty 2": {"length_penalty": 2.0},
    "at least": {"min_length": 9},
    "at most": {"max_length": 3},
    "longer than the first cache": {"min_length": 20, "extra_length": 30},
    "no token twice": {"no_repeat_ngram": 1},
    "no bigram twice": {"no_repeat_ngram": 2, "min_length": 5},
    "no trigram twice": {"no_repeat_ngram": 3, "extra_length": 20},
    "nothing may follow": {"no_repeat_ngram": 1, "min_length": 12, "extra_length": 50},
    "longer than any n-gram": {"no_repeat_ngram": 40, "extra_length": 30},
}
PREFIXES = [[5, 6, 5], [], [7], [4] * 20, *[[]] * 6]


@pytest.fixture
def dtype() -> torch.dtype:
    """Matrices of other sizes add in another order: in float64 that decides between no two hypotheses."""
    return torch.float64


class SilentRecorder(Recorder):
    """A recording that asks its device anything fails."""

    def record(self, work: Work) -> Work:
        def silent() -> None:
            with silence():
                work()

        return silent


def assert_same(recorded: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    for mine, others in zip(recorded, expected, strict=True):
        assert [hypothesis.tokens for hypothesis in mine] == [hypothesis.tokens for hypothesis in others]
        for hypothesis, other in zip(mine, others, strict=True):
            assert hypothesis.log_prob == pytest.approx(other.log_prob, abs=1e-4)
            assert hypothesis.score == pytest.approx(other.score, abs=1e-4)


def both(
    models: Transformer | list[Transformer], sources: list[list[int]], *details: Any, **options: Any
) -> list[list[list[Hypothesis]]]:
    """The hypotheses of the search by recorded steps, which ask nothing, and those of today's."""
    keys = {"n_best": options["beam"], "extra_length": 5, **options}
    config = DecodeConfig.model_validate(keys)
    engines = [TorchEngine(models, CPU, on_device=on_device) for on_device in (True, False)]
    assert engines[0]._device_search is not None
    assert engines[1]._device_search is None
    engines[0]._device_search.recorder = SilentRecorder(CPU)
    return [engine.translate(queries(sources, *details), config) for engine in engines]


@pytest.mark.parametrize(
    ("model", "beam", "options"), covering(TRANSFORMERS, [4, 1, 3], OPTIONS, quick=4), indirect=["model"]
)
def test_recorded_steps_find_the_hypotheses_of_beam_search(
    model: Transformer, sentences: Draw, beam: int, options: dict[str, Any]
) -> None:
    assert_same(*both(model, sentences(LENGTHS), beam=beam, **options))


@pytest.mark.parametrize(
    ("model", "beam", "ngram"), covering(TRANSFORMERS, [4, 1], [0, 2], quick=2), indirect=["model"]
)
def test_prefixes_are_forced(model: Transformer, sentences: Draw, beam: int, ngram: int) -> None:
    recorded, expected = both(model, sentences(LENGTHS), PREFIXES, beam=beam, no_repeat_ngram=ngram, min_length=4)
    assert_same(recorded, expected)
    for prefix, hypotheses in zip(PREFIXES, recorded, strict=True):
        assert all(list(hypothesis.tokens[: len(prefix)]) == prefix for hypothesis in hypotheses)


@pytest.mark.parametrize("model", cases(TRANSFORMERS, quick=["today"]), indirect=True)
def test_language_tokens_are_read_first(model: Transformer, sentences: Draw) -> None:
    sources = sentences(LENGTHS)
    marks = [Marks((4,), (6, 7))] * len(sources)
    assert_same(*both(model, sources, None, marks, beam=3, extra_length=9))


@pytest.mark.slow
@pytest.mark.parametrize("vocab", [8, 13])
def test_an_ensemble_and_a_beam_wider_than_the_vocabulary(build: Build, sentences: Draw, vocab: int) -> None:
    models = [
        build(vocab=vocab, seed=0),
        build(vocab=vocab, seed=1, d_model=8, heads=2),
        build(vocab=vocab, **TRANSFORMERS["today"]),
    ]
    assert_same(*both(models, sentences(LENGTHS, vocab=vocab), beam=20, extra_length=2))


def test_bfloat16_finds_almost_the_same(build: Build, sentences: Draw) -> None:
    """The cache has the precision of the products; a translation that both find has almost one log P."""
    sources = sentences(LENGTHS)
    model = build().float()
    engines = [TorchEngine(model, CPU, precision="bfloat16", on_device=on_device) for on_device in (True, False)]
    recorded, others = (engine.translate(queries(sources), DecodeConfig(beam=1, extra_length=5)) for engine in engines)
    pairs = [(mine, other) for [mine], [other] in zip(recorded, others, strict=True) if mine.tokens == other.tokens]
    assert pairs
    assert all(mine.log_prob == pytest.approx(other.log_prob, abs=0.5) for mine, other in pairs)


def test_what_the_options_of_a_call_watch_is_searched_as_on_a_cpu(build: Build) -> None:
    engine = TorchEngine(build(), CPU, on_device=True, shortlist=lambda source: [5, 6])
    assert engine._on_device(DecodeConfig(no_repeat_ngram=2, min_length=3))
    for options in ({"coverage_penalty": 0.1}, {"exact": True}, {"shortlist": True}, {"method": "sample"}):
        assert engine._on_device(DecodeConfig.model_validate(options)) is None
    assert TorchEngine(build(), CPU)._device_search is None
    assert TorchEngine(build(architecture="rnn"), CPU, on_device=True)._device_search is None


# --- recordings -------------------------------------------------------------------------------------------------------


def batch(sources: list[list[int]]) -> torch.Tensor:
    return pad([[*source, EOS] for source in sources])


def test_a_step_is_recorded_once_for_each_of_its_shapes(build: Build, sentences: Draw) -> None:
    search, sources = DeviceSearch(Ensemble([build()])), sentences(LENGTHS)
    constraints = Constraints([len(source) + 5 for source in sources])
    run = partial(search, beam=4, alpha=0.6)
    first = run(batch(sources), constraints)
    shapes = {*search.steps}
    assert {shape.target for shape in shapes} == {16, 32}, "the cache grows"
    assert {shape.sentences for shape in shapes} > {16}, "the batch is compacted"
    steps = {shape: id(step) for shape, (step, _) in search.steps.items()}
    assert run(batch(sources), constraints) == first, "nothing is left of the call before"
    fewer = run(batch(sources[:8]), Constraints(constraints.max_lengths[:8]))
    assert_same(fewer, first[:8])
    assert all(id(search.steps[shape][0]) == steps[shape] for shape in shapes)


def test_flags_are_read_once_in_several_steps(build: Build, sentences: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {"step": 0, "question": 0}
    step, unfinished = BeamStep.__call__, BeamStep.unfinished

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            calls[name] += 1
            return function(*arguments)

        return call

    monkeypatch.setattr(BeamStep, "__call__", counted("step", step))
    monkeypatch.setattr(BeamStep, "unfinished", counted("question", unfinished))
    search, [source] = DeviceSearch(Ensemble([build()])), sentences([5])
    search(batch([source]), Constraints([20], min_length=20), beam=2, alpha=0.6)
    assert calls["question"] == 3
    assert calls["step"] == 3 * READ_EVERY + len(search.steps)  # one of each is a rehearsal


def test_tables_beyond_their_memory_are_forgotten_the_earliest_first(build: Build, sentences: Draw) -> None:
    search, sources = DeviceSearch(Ensemble([build()]), most_bytes=0), sentences(LENGTHS)
    constraints = Constraints([len(source) + 5 for source in sources])
    recorded = search(batch(sources), constraints, beam=3, alpha=0.6)
    assert len(search.steps) == 1
    assert_same(recorded, beam_search(search.models, batch(sources), constraints, beam=3, alpha=0.6))


def test_of_many_shapes_the_latest_are_kept(build: Build, sentences: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_search, "MOST_STEPS", 2)
    search, sources = DeviceSearch(Ensemble([build()])), sentences([3, 4])
    for beam in (1, 2, 3):
        search(batch(sources), Constraints([9, 9]), beam=beam, alpha=0.6)
    assert len(search.steps) == 2
    assert [*search.steps][-1].beam == 3


class RehearsingAsOnGpu(Recorder):
    """Rehearses as often as on a GPU."""

    def rehearse(self, work: Work) -> None:
        for _ in range(REHEARSALS):
            work()


def by_equation(self: ScaledDotProduct, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any) -> torch.Tensor:
    return attention_weights(q, k, mask if mask is not None else k.new_ones(1, 1, 1, 1, dtype=torch.bool)) @ v


def test_rehearsals_leave_no_number_that_is_none(
    build: Build, sentences: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mask hides what has not been written; yet 0 times NaN is NaN. Eq. (1) has no guard for an empty mask."""
    monkeypatch.setattr(ScaledDotProduct, "forward", by_equation)
    model, sources = Ensemble([build()]), sentences(LENGTHS)
    constraints = Constraints([len(source) + 5 for source in sources])
    search = DeviceSearch(model, RehearsingAsOnGpu(CPU))
    recorded = search(batch(sources), constraints, beam=3, alpha=0.6)
    assert_same(recorded, beam_search(model, batch(sources), constraints, beam=3, alpha=0.6))
    tensors = [x for step, _ in search.steps.values() for state in step.states for x in state.tensors()]
    assert all(tensor.isfinite().all() for tensor in tensors)


def test_without_memory_the_tables_of_other_shapes_are_forgotten(
    build: Build, sentences: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, sources, rehearse = DeviceSearch(Ensemble([build()])), sentences([3, 4]), Recorder.rehearse
    pools: list[Recorder] = []
    search(batch(sources), Constraints([9, 9]), beam=2, alpha=0.6)
    before = {*search.steps}

    def limited(recorder: Recorder, work: Work) -> None:
        if search.steps:
            raise torch.OutOfMemoryError
        rehearse(recorder, work)

    monkeypatch.setattr(Recorder, "rehearse", limited)
    monkeypatch.setattr(Recorder, "forget", lambda recorder: pools.append(recorder))
    search(batch(sources), Constraints([9, 9]), beam=3, alpha=0.6)
    assert not before & {*search.steps}
    assert len(pools) == 1, "the memory of recordings that are gone is not shared again"


def test_a_step_that_cannot_be_recorded_is_called(build: Build, sentences: Draw) -> None:
    class Refusing(Recorder):
        def record(self, work: Work) -> Work:
            raise RuntimeError("operation not permitted when stream is capturing")

    model, sources = Ensemble([build()]), sentences(LENGTHS)
    constraints = Constraints([len(source) + 5 for source in sources])
    search = DeviceSearch(model, Refusing(CPU))
    assert_same(
        search(batch(sources), constraints, beam=3, alpha=0.6),
        beam_search(model, batch(sources), constraints, beam=3, alpha=0.6),
    )
    assert "capturing" in search.failure


def test_sizes_are_powers_of_two() -> None:
    assert [step_size(count) for count in (1, 2, 3, 64, 65)] == [1, 2, 4, 64, 128]
    assert step_size(3, 16) == 16
    assert [step_sentences(count) for count in (1, 2, 4, 5, 17, 65, 257, 900)] == [1, 4, 4, 16, 64, 256, 512, 1024]


def test_what_has_to_follow_is_a_table() -> None:
    constraints = Constraints([2, 0], prefixes=[[], [7, 8, 9]])
    assert constraints.forced([0, 1, 0], 5).tolist() == [
        [ANY, ANY, EOS, EOS, EOS],
        [7, 8, 9, EOS, EOS],
        [ANY, ANY, EOS, EOS, EOS],
    ]
    assert constraints.forced([1], 2).tolist() == [[7, 8]]


# --- operations -------------------------------------------------------------------------------------------------------

# What a step of these presets may take, beam 4; to raise a number is to make translating on a GPU slower.
BUDGET = {"small": 280, "base": 350, "paper-base": 255}


@pytest.mark.parametrize("preset", BUDGET)
def test_a_step_keeps_to_its_budget_of_operations(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a kernel. How many there are depends on the layers of a preset, not on the size of its tensors."""
    take_branches_of_a_gpu(monkeypatch)
    sizes = {"d_model": 32, "d_ff": 32, "heads": 2, "d_k": 16, "d_v": 16}
    model = to_bfloat16(Transformer(ModelConfig.model_validate({"preset": preset, **sizes}), 40, 40).eval())
    src, counts = batch([[5, 6, 7], [8]]), []
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        states = [model.encode(src, padding_mask(src, PAD))]
        step = BeamStep(Ensemble([model]), states, StepShape(2, 16, 16, beam=4))
        step.load(states, torch.full((2, 1), BOS), Constraints([9, 9], prefixes=[[5], []], min_length=3))
        for _ in range(4):
            with Counted() as counted:
                step()
            counts.append(counted.counts)
    assert counts[1] == counts[2] == counts[3], "a step is the same whatever it computes"
    assert counts[1].total() <= BUDGET[preset], counts[1].most_common()
