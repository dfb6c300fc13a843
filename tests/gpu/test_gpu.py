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
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.loop import Trainer
from dragoman.training.report.reports import StepReport, TrainingListener
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
    assert found == pytest.approx(losses(toy_trainer(run("float32"), tmp_path / "cpu")), rel=tolerance)
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
    chosen, why = choose_precision(trainer.model, trainer.valid, torch.device(DEVICE), smoothing=0.1)
    assert chosen in ("float32", "bfloat16")
    assert why.startswith(f"precision {chosen}:")
    assert torch.equal(torch.cuda.get_rng_state(), before)
    assert all(map(torch.equal, weights, trainer.model.parameters()))
    assert all(parameter.grad is None for parameter in trainer.model.parameters())
    assert all(math.isfinite(loss) for loss in losses(trainer))
