"""What only a GPU can show: `pytest -m gpu tests/gpu`. Elsewhere every test is skipped.

Tolerances: float32 sums in another order differ by about 1e-6 of their size per term, a step by at most some 1e-4;
bfloat16 has 8 bits of mantissa, so that log-probabilities of a tiny model differ by some hundredths.
"""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from dragoman.config import DecodeConfig, RunConfig
from dragoman.data.batches.stream import BatchStream
from dragoman.engine.torch import TorchEngine
from dragoman.model.parts.norm import LayerNorm
from dragoman.model.parts.recorded import Recorder
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.loop import Trainer
from dragoman.training.objective.row_loss import RowLoss
from dragoman.training.report.reports import StepReport, TrainingListener
from dragoman.training.update.optimizer import state_tensors
from dragoman.training.update.precision import choose_precision
from dragoman.training.update.prefetch import Prefetched
from stand_ins import queries

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")]

DEVICE = "cuda"
Run = Callable[..., RunConfig]
MakeTrainer = Callable[..., Trainer]


class Losses(TrainingListener):
    """A listener that keeps the loss of every logged step."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def on_step(self, report: StepReport) -> None:
        self.values.append(report.loss)

    def on_validation(self, report: object) -> None:
        pass

    def on_notice(self, step: int, text: str) -> None:
        pass


def losses(trainer: Trainer) -> list[float]:
    """Train to the end."""
    listener = Losses()
    trainer.listeners.append(listener)
    trainer.fit()
    return listener.values


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-3), ("bfloat16", 5e-2)])
def test_training_equals_the_cpu(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, precision: str, tolerance: float
) -> None:
    """Four steps without dropout, whose random numbers differ between devices; later steps amplify the rounding."""

    def run(precision: str) -> RunConfig:
        config = toy_run(precision=precision, log_every=1, max_steps=4)
        return config.model_copy(update={"model": config.model.model_copy(update={"dropout": 0.0})})

    trainer = toy_trainer(run(precision), tmp_path / "gpu", device=DEVICE)
    found = losses(trainer)
    on_cpu = toy_trainer(run("float32"), tmp_path / "cpu", on_device=True)  # the same pairs in the same rows
    assert found == pytest.approx(losses(on_cpu), rel=tolerance)
    for parameter in trainer.model.parameters():
        assert (parameter.device.type, parameter.dtype) == (DEVICE, torch.float32)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_resume_restores_the_random_state_of_the_gpu(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, precision: str
) -> None:
    """With dropout; kernels may add in another order from run to run, so weights are close, not equal."""
    whole = toy_trainer(toy_run(precision=precision), tmp_path / "whole", device=DEVICE)
    whole.fit()
    expected = torch.cuda.get_rng_state()
    toy_trainer(toy_run(precision=precision, max_steps=8), tmp_path / "parts", device=DEVICE).fit()
    torch.manual_seed(8000)  # another process has another past
    resumed = toy_trainer(toy_run(precision=precision), tmp_path / "parts", device=DEVICE)
    resumed.resume()
    resumed.fit()
    assert torch.equal(torch.cuda.get_rng_state(), expected)
    tolerance = 1e-4 if precision == "float32" else 1e-2
    for (name, one), other in zip(whole.model.named_parameters(), resumed.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=tolerance, rtol=0, msg=name)


@pytest.mark.parametrize("options", [DecodeConfig(beam=1), DecodeConfig(beam=4)], ids=["greedy", "beam 4"])
def test_decoding_equals_the_cpu(
    model: Transformer, sentences: Callable[..., list[list[int]]], options: object
) -> None:
    sources = sentences([3, 7, 1, 5])
    expected = TorchEngine(model, torch.device("cpu"), precision="float32").translate(queries(sources), options)
    found = TorchEngine(model, torch.device(DEVICE), precision="float32").translate(queries(sources), options)
    for one, other in zip(expected, found, strict=True):
        assert one[0].tokens == other[0].tokens
        assert one[0].log_prob == pytest.approx(other[0].log_prob, abs=1e-3)


def test_bfloat16_scores_are_near_those_of_float32(
    model: Transformer, sentences: Callable[..., list[list[int]]]
) -> None:
    sources, targets = sentences([3, 7, 1, 5]), sentences([4, 6, 2, 5])
    exact = TorchEngine(model, torch.device(DEVICE), precision="float32").score(queries(sources), targets)
    rounded = TorchEngine(model, torch.device(DEVICE), precision="bfloat16").score(queries(sources), targets)
    for one, other in zip(exact, rounded, strict=True):
        assert other == pytest.approx(one, abs=0.3)


SEARCHES = {
    "greedy": {"beam": 1},
    "beam 4": {"beam": 4, "n_best": 4},
    "rules": {"beam": 4, "no_repeat_ngram": 2, "min_length": 6, "extra_length": 30},
}


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_a_recorded_search_is_that_of_calling_its_steps(
    model: Transformer, sentences: Callable[..., list[list[int]]], options: dict[str, int]
) -> None:
    """In float32, and the second call by the recordings of the first."""
    sources = sentences([4, 1, 23, 6, 3, 9, 17, 2, 12, 5, 1, 7, 2, 8, 3, 3, 1])
    config = DecodeConfig.model_validate(options)
    by_graph = TorchEngine(model, torch.device(DEVICE), precision="float32", on_device=True)
    called = TorchEngine(model, torch.device(DEVICE), precision="float32")
    expected = called.translate(queries(sources), config)
    for _ in range(2):
        found = by_graph.translate(queries(sources), config)
        for mine, others in zip(found, expected, strict=True):
            assert [hypothesis.tokens for hypothesis in mine] == [hypothesis.tokens for hypothesis in others]
            assert [h.log_prob for h in mine] == pytest.approx([h.log_prob for h in others], abs=1e-3)
    assert by_graph._device_search is not None
    assert by_graph._device_search.steps
    assert not by_graph._device_search.failure


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_step_of_a_search_waits_for_nothing(
    model: Transformer, sentences: Callable[..., list[list[int]]], precision: str
) -> None:
    engine = TorchEngine(model, torch.device(DEVICE), precision=precision, on_device=True)
    engine.translate(queries(sentences([5, 3])), DecodeConfig(no_repeat_ngram=2))
    search = engine._device_search
    assert search is not None
    assert not search.failure
    for step, work in search.steps.values():
        with torch.inference_mode():
            step.length.zero_()
            for state in step.states:
                state.position.zero_()
            torch.cuda.synchronize()
            torch.cuda.set_sync_debug_mode("error")
            try:
                work()  # the recording
                step()  # what was recorded
            finally:
                torch.cuda.set_sync_debug_mode("default")


def test_prefetched_batches_are_pinned_and_equal(toy_run: Run, toy_tokenizer: Tokenizer) -> None:
    def stream() -> BatchStream:
        return BatchStream(toy_run().data, toy_tokenizer, batch_tokens=150, seed=1)

    plain, ahead = stream(), Prefetched(stream(), pinned=True)
    for _ in range(5):
        for one, other in zip(plain.next_update(2).batches, ahead.next_update(2).batches, strict=True):
            for a, b in ((one.src, other.src), (one.tgt_in, other.tgt_in), (one.tgt_out, other.tgt_out)):
                assert b.is_pinned()
                assert torch.equal(a, b)
            assert torch.equal(other.to(torch.device(DEVICE)).src.cpu(), one.src)


def test_precision_auto_chooses_and_leaves_no_trace(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer = toy_trainer(toy_run(precision="auto"), tmp_path, device=DEVICE)
    before = torch.cuda.get_rng_state()
    weights = [parameter.clone() for parameter in trainer.model.parameters()]
    chosen, why = choose_precision(trainer.model, torch.device(DEVICE))
    assert chosen in ("float32", "bfloat16")
    assert why.startswith(f"precision {chosen}:")
    assert torch.equal(torch.cuda.get_rng_state(), before)
    assert all(map(torch.equal, weights, trainer.model.parameters()))
    assert all(parameter.grad is None for parameter in trainer.model.parameters())
    assert all(math.isfinite(loss) for loss in losses(trainer))


def without_dropout(config: RunConfig) -> RunConfig:
    return config.model_copy(update={"model": config.model.model_copy(update={"dropout": 0.0})})


@pytest.mark.parametrize("keys", [{}, {"accumulate": 2}, {"average": "ema", "clip_norm": 0.1}])
def test_recorded_steps_are_those_of_calling_them(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: dict[str, object]
) -> None:
    """Twenty steps by CUDA graphs, and the same functions called; without dropout, whose numbers differ."""
    config = without_dropout(toy_run(**keys, max_steps=20, log_every=1, learning_rate=1e-3))
    by_graph = losses(toy_trainer(config, tmp_path / "graph", device=DEVICE))
    monkeypatch.setattr(Recorder, "record", lambda self, work: work)
    called = losses(toy_trainer(config, tmp_path / "called", device=DEVICE))
    assert by_graph == pytest.approx(called, rel=1e-3)
    on_host = losses(toy_trainer(config, tmp_path / "host", device=DEVICE, on_device=False))
    assert by_graph[0] == pytest.approx(on_host[0], rel=0.2), "other pairs, the same weights"


def test_dropout_of_a_recorded_step_is_another_each_time(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    trainer = toy_trainer(toy_run(), tmp_path, device=DEVICE)
    step, update = trainer.device_step, trainer.updates.next_update(1)
    assert step is not None
    found = []
    for number in range(1, 4):
        step(update, 0.0, number)  # a rate of 0: the weights stay
        found.append(step.tally.read().loss)
    assert len(set(found)) == 3


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_step_waits_for_nothing(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, precision: str) -> None:
    trainer = toy_trainer(toy_run(precision=precision, clip_norm=1.0, average="ema"), tmp_path, device=DEVICE)
    step, updates = trainer.device_step, [trainer.updates.next_update(1) for _ in range(7)]
    assert step is not None
    step(updates[0], 1e-3, 1)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for number, update in enumerate(updates[1:], 2):
            step(update, 1e-3, number)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert step.tally.read().wrong is None


def test_recording_leaves_no_trace(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer = toy_trainer(toy_run(average="ema"), tmp_path, device=DEVICE)
    step, update = trainer.device_step, trainer.updates.next_update(1)
    assert step is not None
    step(update, 1e-3, 1)

    def traces() -> list[torch.Tensor]:
        moments = state_tensors(trainer.optimizer, trainer.model).values()
        state = [*trainer.model.parameters(), *moments, *trainer.mean.weights.values(), step.tally.values]
        return [tensor.detach().cpu() for tensor in state] + [torch.cuda.get_rng_state()]

    before = traces()
    step.works.clear()
    for kind in ("step", "gradient"):
        step._prepare(kind, update.batches[0].tensors)
        assert all(map(torch.equal, traces(), before))


def test_without_memory_the_rows_are_halved(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, forward = toy_trainer(toy_run(batch_tokens=1024), tmp_path, device=DEVICE), RowLoss.forward

    def limited(self: RowLoss, src: torch.Tensor, *sides: torch.Tensor) -> torch.Tensor:
        if src.size(0) > 4:
            torch.empty(1 << 50, device=DEVICE)
        return forward(self, src, *sides)

    monkeypatch.setattr(RowLoss, "forward", limited)
    assert all(math.isfinite(loss) for loss in losses(trainer))
    assert trainer.gradient.splits == 2


def test_layer_norm_stays_in_bfloat16_under_autocast() -> None:
    norm, x = LayerNorm(16).to(DEVICE), torch.randn(4, 16, device=DEVICE, dtype=torch.bfloat16)
    with torch.autocast(DEVICE, torch.bfloat16):
        assert norm(x).dtype == torch.bfloat16
