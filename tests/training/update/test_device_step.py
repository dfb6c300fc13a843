"""An update on the device: it asks nothing, and is the update of the CPU but for the order of sums."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from architectures import TRANSFORMERS
from dragoman.config import RunConfig
from dragoman.data.batches.batch import Batch, Example, collate
from dragoman.data.batches.stream import Update
from dragoman.errors import DivergenceError
from dragoman.model.transformer import Transformer
from dragoman.model.weights import load_tensors
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD
from dragoman.training.loop import Trainer
from dragoman.training.objective.objective import batch_loss
from dragoman.training.objective.row_loss import RowLoss, loss_and_gradient
from dragoman.training.report.reports import StepReport, TrainingListener
from dragoman.training.resume.checkpoint import checkpoint
from dragoman.training.update.optimizer import state_tensors
from numerics import assert_same, assert_same_gradients
from questions import silence
from suites import cases

Run = Callable[..., RunConfig]
MakeTrainer = Callable[..., Trainer]


@pytest.fixture(params=TRANSFORMERS.values(), ids=TRANSFORMERS)
def shape(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param


@pytest.mark.parametrize(
    "question",
    [
        lambda x: x.sum().item(),
        lambda x: float(x.sum()),
        lambda x: bool((x > 0).any()),
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: x.tolist(),
        lambda x: x.masked_select(x > 0),
        lambda x: x.cpu(),
    ],
)
def test_questions_are_noticed(question: Callable[[torch.Tensor], object]) -> None:
    with silence(), pytest.raises(AssertionError, match="asks the device"):
        question(torch.ones(3))


def pairs_of(sentences: Callable[..., list[list[int]]]) -> list[Example]:
    sources, targets = sentences([3, 8, 5, 2, 1]), sentences([9, 2, 4, 6, 1], seed=2)
    return [Example(source, target, "") for source, target in zip(sources, targets, strict=True)]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_rows_is_the_loss_of_the_cpu_and_so_is_its_gradient(
    model: Transformer, sentences: Callable[..., list[list[int]]], smoothing: float
) -> None:
    batch, parameters = collate(pairs_of(sentences)), list(model.parameters())
    expected = batch_loss(model, batch, smoothing)
    for chunk in (4, 4096):
        loss = RowLoss(model, smoothing, chunk)(*batch.tensors)
        assert_same(loss, expected, scale=abs(expected.item()))
        assert_same_gradients(
            list(torch.autograd.grad(loss, parameters)),
            list(torch.autograd.grad(batch_loss(model, batch, smoothing), parameters)),
        )


def test_weights_that_are_converted_together_are_those_that_autocast_converts(
    model: Transformer, sentences: Callable[..., list[list[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, and so are the gradients."""
    batch, parameters, found = collate(pairs_of(sentences)), list(model.parameters()), []
    for is_together in (True, False):
        loss = RowLoss(model, 0.1)
        if not is_together:
            loss.features.of_layers = []
        with torch.autocast("cpu", torch.bfloat16):
            summed = loss(*batch.tensors)
        found.append([summed, *torch.autograd.grad(summed, parameters)])
    assert all(map(torch.equal, *found))


def test_a_loss_far_below_the_likeliest_token_is_finite_and_padding_counts_nothing() -> None:
    logits = torch.tensor([[200.0, 0.0, 0.0, 0.0, 0.0], [math.nan] * 5])
    loss, gradient = loss_and_gradient(logits[:1], torch.tensor([4]), 0.0)
    assert loss.item() == pytest.approx(200)
    assert gradient.tolist() == [[1.0, 0.0, 0.0, 0.0, -1.0]]
    loss, gradient = loss_and_gradient(torch.randn(3, 5), torch.zeros(3, dtype=torch.long), 0.1)
    assert loss == 0
    assert not gradient.any()


def padded(batch: Batch) -> Batch:
    """The pairs of rows as a batch that has a row for each."""
    pairs = []
    for src, tgt_in in zip(batch.src.tolist(), batch.tgt_in.tolist(), strict=True):
        begins = [0, *(at + 1 for at, token in enumerate(src) if token == EOS)]
        sources = [src[begin : end - 1] for begin, end in pairwise(begins)]
        begins = [*(at for at, token in enumerate(tgt_in) if token == BOS), len(tgt_in)]
        targets = [[token for token in tgt_in[begin + 1 : end] if token != PAD] for begin, end in pairwise(begins)]
        pairs += [Example(source, target, "") for source, target in zip(sources, targets, strict=True)]
    assert [pair.lengths for pair in pairs] == [*batch.lengths]
    return collate(pairs)


def draw_padded(trainer: Trainer) -> None:
    """The updates of a trainer have the pairs of rows, each in a row of its own."""
    stream, draw = trainer.stream, trainer.stream.next_update

    def next_update(accumulate: int) -> Update:
        stream.in_rows = True
        update = draw(accumulate)
        return replace(update, batches=[padded(batch) for batch in update.batches])

    trainer.updates.next_update = next_update  # type: ignore[method-assign]


def equal_steps(host: Trainer, device: Trainer, steps: int) -> None:
    """Both make the same steps from the same pairs, which are padded for one and packed for the other."""
    draw_padded(host)
    for _ in range(steps):
        host._update(lambda: False)
        device._update(lambda: False)
    device._read()
    assert host.norm == pytest.approx(device.norm, rel=1e-3)
    assert device.meter.loss == pytest.approx(host.meter.loss, rel=1e-4)
    weights = [
        trainer.mean.weights if trainer.mean else dict(trainer.model.named_parameters()) for trainer in (host, device)
    ]
    for name, parameter in weights[0].items():
        if not name.endswith("w_k.bias"):  # no gradient but rounding, which Adam makes as large as any other
            torch.testing.assert_close(weights[1][name], parameter, atol=2e-4, rtol=1e-3, msg=name)


def without_dropout(run: RunConfig) -> RunConfig:
    return run.model_copy(update={"model": run.model.model_copy(update={"dropout": 0.0})})


@pytest.mark.parametrize(
    "keys",
    cases(
        {"plain": {}, "clipped": {"clip_norm": 0.05}, "ema": {"average": "ema"}, "accumulated": {"accumulate": 2}},
        quick=["plain", "clipped", "ema", "accumulated"],
    ),
)
def test_steps_on_the_device_are_those_of_the_cpu(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, keys: dict[str, Any]
) -> None:
    """The rate is low: Adam divides by the size of a gradient, and so enlarges the rounding of a small one."""
    config = without_dropout(toy_run(**keys, learning_rate=1e-3, log_every=100))
    make = partial(toy_trainer, config)
    equal_steps(make(tmp_path / "host"), make(tmp_path / "device", on_device=True), steps=4)


def test_a_step_asks_nothing(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer = toy_trainer(toy_run(clip_norm=1.0, average="ema", log_every=100), tmp_path, on_device=True)
    updates = [trainer.updates.next_update(1) for _ in range(3)]
    step = trainer.device_step
    assert step is not None
    for update in updates:
        for batch in update.batches:
            step._prepare("step", batch.tensors)
    with silence():
        for number, update in enumerate(updates, 1):
            step(update, 1e-3, number)
    assert step.tally.read().wrong is None


def test_recording_leaves_no_trace(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer = toy_trainer(toy_run(average="ema", log_every=100), tmp_path, on_device=True)
    for _ in range(2):
        trainer._update(lambda: False)
    step, update = trainer.device_step, trainer.updates.next_update(1)
    assert step is not None
    assert trainer.mean is not None

    def traces() -> list[torch.Tensor]:
        moments = state_tensors(trainer.optimizer, trainer.model).values()
        state = [*trainer.model.parameters(), *moments, *trainer.mean.weights.values()]
        return [tensor.detach().clone() for tensor in (*state, step.tally.values, torch.get_rng_state())]

    before = traces()
    step.works.clear()
    for kind in ("step", "gradient"):
        step._prepare(kind, update.batches[0].tensors)
        assert not any(tensor.any() for tensor in step.sums)
        assert all(map(torch.equal, traces(), before))
        step.sums = []


def test_recorded_work_reads_what_is_written_into_its_tensors(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    """Updates through the same tensors are those of new ones."""
    config = without_dropout(toy_run(log_every=100))
    kept, renewed = (toy_trainer(config, tmp_path / name, on_device=True) for name in ("kept", "renewed"))
    for _ in range(4):
        for trainer in (kept, renewed):
            assert trainer.device_step is not None
            trainer._update(lambda: False)
        renewed.device_step.works.clear()
        renewed.device_step.inputs.clear()
    assert len(kept.device_step.works) == 1, "one shape"
    assert all(map(torch.equal, kept.model.parameters(), renewed.model.parameters()))


def test_without_memory_for_the_rows_they_are_halved_and_the_update_is_the_same(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = without_dropout(toy_run(batch_tokens=512, learning_rate=1e-3, log_every=100))
    whole, halved = (toy_trainer(config, tmp_path / name, on_device=True) for name in ("whole", "halved"))
    forward = RowLoss.forward

    def limited(self: RowLoss, src: torch.Tensor, *sides: torch.Tensor) -> torch.Tensor:
        if self.model is halved.model and src.size(0) > 2:
            raise torch.OutOfMemoryError("out of memory")
        return forward(self, src, *sides)

    monkeypatch.setattr(RowLoss, "forward", limited)
    for _ in range(3):
        whole._update(lambda: False)
        halved._update(lambda: False)
    assert halved.gradient.splits == 2
    for (name, parameter), other in zip(whole.model.named_parameters(), halved.model.parameters(), strict=True):
        if not name.endswith("w_k.bias"):
            torch.testing.assert_close(other, parameter, atol=2e-4, rtol=1e-3, msg=name)


class PoisonAt(TrainingListener):
    """A listener that spoils a weight after a step."""

    def __init__(self, trainer: Trainer, step: int) -> None:
        self.trainer, self.step = trainer, step
        self.reports: list[StepReport] = []

    def on_update(self, step: int) -> None:
        if step == self.step:
            with torch.no_grad():
                self.trainer.model.target_embedding.weight.fill_(math.nan)

    def on_step(self, report: StepReport) -> None:
        self.reports.append(report)

    def on_validation(self, report: object) -> None:
        pass

    def on_notice(self, step: int, text: str) -> None:
        pass


def test_an_update_that_goes_wrong_is_named_later_and_no_checkpoint_has_it(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    trainer = toy_trainer(toy_run(log_every=5, validate_every=4), tmp_path, on_device=True)
    trainer.listeners.append(PoisonAt(trainer, 6))
    with pytest.raises(DivergenceError) as at:
        trainer.fit()
    assert str(at.value).startswith("step 7: the loss is nan on ")
    assert "the checkpoint of step 4 is kept" in str(at.value)
    saved = load_tensors(checkpoint(tmp_path / "checkpoints", 4) / "model.safetensors")
    assert all(tensor.isfinite().all() for tensor in saved.values())


def test_a_gradient_that_is_no_number_reaches_no_weight(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer = toy_trainer(toy_run(log_every=1), tmp_path, on_device=True)
    trainer.model.projection.register_hook(lambda gradient: gradient * math.inf)
    with pytest.raises(DivergenceError, match=r"step 1: the gradient's norm is (nan|inf).* no checkpoint"):
        trainer.fit()
    assert all(parameter.isfinite().all() for parameter in trainer.model.parameters())
