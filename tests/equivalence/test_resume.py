"""Resumed = uninterrupted, bit for bit; accumulated = one batch; the processes of one run share its text."""

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch

from architectures import OTHERS
from dragoman.config import RunConfig
from dragoman.data.batches.stream import BatchStream
from dragoman.errors import Interrupted
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.loop import Trainer
from dragoman.training.report.reports import StepReport, TrainingListener, TranslationScores, ValidationReport
from dragoman.training.resume.validation import validation_loss
from dragoman.training.update.optimizer import state_tensors
from suites import cases, covering, slow

Run = Callable[..., RunConfig]
MakeTrainer = Callable[[RunConfig, Path], Trainer]


def same_bits(one: Trainer, other: Trainer) -> bool:
    """Weights and Adam's moments."""
    pairs = [
        (dict(one.model.named_parameters()), dict(other.model.named_parameters())),
        (state_tensors(one.optimizer, one.model), state_tensors(other.optimizer, other.model)),
    ]
    return all(a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a) for a, b in pairs)


class StopAt(TrainingListener):
    """A listener that sends this process a signal after a step."""

    def __init__(self, step: int, number: signal.Signals) -> None:
        self.step, self.number = step, number

    def on_step(self, report: StepReport) -> None:
        if report.step == self.step:
            os.kill(os.getpid(), self.number)

    def on_validation(self, report: ValidationReport) -> None:
        pass

    def on_notice(self, step: int, text: str) -> None:
        pass


@pytest.mark.parametrize(
    ("order", "precision"),
    [
        ("best", "float32"),
        pytest.param("last", "float32", marks=slow),
        ("last", "bfloat16"),
        ("ema", "float32"),
    ],
)
@pytest.mark.parametrize("stops", cases([[4], [8], [4, 8]], quick=[[4]]), ids=str)
def test_a_run_in_parts_ends_with_the_bits_of_a_run_in_one(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, stops: list[int], order: str, precision: str
) -> None:
    keys = {"average": order, "average_count": 2, "precision": precision}
    whole = toy_trainer(toy_run(**keys), tmp_path / "whole")
    outcome = whole.fit()
    part = None
    for stop in [*stops, 12]:
        torch.manual_seed(stop * 1000)  # another process has another past
        resumed = part is not None
        part = toy_trainer(toy_run(**keys, max_steps=stop), tmp_path / "parts")
        if resumed:
            part.resume()
        again = part.fit()
    assert part is not None
    assert same_bits(whole, part)
    assert (again.averaged, again.loss) == (outcome.averaged, outcome.loss)
    assert part.tracker == whole.tracker


@pytest.mark.parametrize("keys", [{}, {"average": "ema", "clip_norm": 1.0}], ids=["plain", "ema"])
def test_so_does_a_run_whose_steps_are_on_the_device(
    toy_run: Run, toy_trainer: Callable[..., Trainer], tmp_path: Path, keys: dict[str, object]
) -> None:
    whole = toy_trainer(toy_run(**keys), tmp_path / "whole", on_device=True)
    outcome = whole.fit()
    for stop in (3, 8, 12):
        torch.manual_seed(stop * 1000)
        part = toy_trainer(toy_run(**keys, max_steps=stop), tmp_path / "parts", on_device=True)
        if stop > 3:
            part.resume()
        again = part.fit()
    assert (again.averaged, again.loss) == (outcome.averaged, outcome.loss)
    assert same_bits(whole, part)


def test_a_run_that_moves_to_a_device_begins_its_part_of_the_text_again(
    toy_run: Run, toy_trainer: Callable[..., Trainer], tmp_path: Path
) -> None:
    toy_trainer(toy_run(max_steps=4), tmp_path).fit()
    moved = toy_trainer(toy_run(), tmp_path, on_device=True)
    moved.resume()
    assert (moved.step, moved.position.batch) == (4, 0)
    assert moved.fit().step == 12


@pytest.mark.slow
@pytest.mark.parametrize("shape", OTHERS.values(), ids=OTHERS)
def test_so_does_a_run_of_another_architecture(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, shape: dict[str, object]
) -> None:
    run = partial(toy_run, model={"layers": 1, "d_model": 16, "dropout": 0.2, **shape})
    whole = toy_trainer(run(), tmp_path / "whole")
    outcome = whole.fit()
    toy_trainer(run(max_steps=4), tmp_path / "parts").fit()
    torch.manual_seed(99)
    resumed = toy_trainer(run(), tmp_path / "parts")
    resumed.resume()
    assert resumed.fit().loss == outcome.loss
    assert same_bits(whole, resumed)


def test_sigterm_during_validation_ends_it_saves_and_the_rest_does_not_notice(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    whole = toy_trainer(toy_run(), tmp_path / "whole")
    whole.fit()
    torn = toy_trainer(toy_run(), tmp_path / "torn")

    def ended_meanwhile(model: Transformer) -> TranslationScores:
        if torn.step == 8:
            os.kill(os.getpid(), signal.SIGTERM)
        return TranslationScores(1.0, 1.0, "", "", "")

    torn.translate = ended_meanwhile
    with pytest.raises(Interrupted, match="stopped at step 8, saved"):
        torn.fit()
    assert torn.tracker.bad_validations + torn.tracker.best_step >= 8, "the validation was finished"
    resumed = toy_trainer(toy_run(), tmp_path / "torn")
    resumed.resume()
    resumed.fit()
    assert same_bits(whole, resumed)


def test_a_run_that_continues_on_another_device_says_so(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (toy_trainer(toy_run(max_steps=1), tmp_path) for _ in range(3))
    first.fit()
    notices = list[str]()
    for trainer in (second, third):
        monkeypatch.setattr(trainer, "_notice", notices.append)
    second.resume()
    assert not notices
    second.device = torch.device("mps")
    second._save()
    third.resume()
    assert notices == ["started on mps, now on cpu: results will not be bit-identical"]


@pytest.mark.parametrize(("step", "number"), covering([1, 4, 7], [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
def test_a_signal_saves_at_any_step_and_the_rest_of_the_run_does_not_notice(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, step: int, number: signal.Signals
) -> None:
    whole = toy_trainer(toy_run(log_every=1), tmp_path / "whole")
    whole.fit()
    stopped = toy_trainer(toy_run(log_every=1), tmp_path / "parts")
    stopped.listeners.append(StopAt(step, number))
    with pytest.raises(Interrupted, match=f"step {step}, saved") as stop:
        stopped.fit()
    assert stop.value.exit_code == 130
    torch.manual_seed(99)
    resumed = toy_trainer(toy_run(log_every=1), tmp_path / "parts")
    resumed.resume()
    assert resumed.step == step
    resumed.fit()
    assert same_bits(whole, resumed)


@pytest.mark.slow
def test_the_seed_decides_and_nothing_else_does(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    runs = [toy_trainer(toy_run(seed=seed), tmp_path / str(number)) for number, seed in enumerate((1, 1, 2))]
    for each in runs:
        torch.manual_seed(each.config.train.seed)
        each.fit()
    assert same_bits(runs[0], runs[1])
    assert not same_bits(runs[0], runs[2])


def test_two_processes_share_what_one_would_see(toy_run: Run, toy_tokenizer: Tokenizer) -> None:
    data = toy_run().data

    def places(rank: int, world: int, accumulate: int, updates: int) -> list[list[tuple[str, ...]]]:
        stream = BatchStream(data, toy_tokenizer, batch_tokens=150, seed=1, rank=rank, world=world)
        return [[batch.locations for batch in stream.next_update(accumulate).batches] for _ in range(updates)]

    alone = places(0, 1, accumulate=4, updates=9)
    shares = [places(rank, 2, accumulate=2, updates=9) for rank in (0, 1)]
    for update, (one, other) in zip(alone, zip(*shares, strict=True), strict=True):
        assert update == [batch for pair in zip(one, other, strict=True) for batch in pair]
        assert not set(one) & set(other)


@pytest.mark.parametrize("shape", [{}, {**OTHERS["moe"], "noise": False, "w_importance": 1.0}], ids=["plain", "moe"])
def test_accumulated_micro_batches_train_as_one_batch_of_them_all(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: dict[str, object]
) -> None:
    """Without dropout, the same pairs in one update give the same weights, however they are cut up."""
    from dragoman.data.batches.batch import collate
    from dragoman.data.batches.stream import Update

    model = {"layers": 1, "d_model": 16, "dropout": 0.0, **shape} if shape else None
    config = toy_run(model=model, accumulate=2, max_steps=3)
    config = config.model_copy(update={"model": config.model.model_copy(update={"dropout": 0.0})})
    apart, together = toy_trainer(config, tmp_path / "apart"), toy_trainer(config, tmp_path / "together")

    def one_batch(accumulate: int) -> Update:
        drawn = [next(together.stream._batches) for _ in range(accumulate)]
        batch = collate([example for group in drawn for example in group])
        return Update([batch], batch.target_tokens, together.stream.position, together.stream.skipped)

    monkeypatch.setattr(together.stream, "next_update", one_batch)
    before = validation_loss(apart.model, apart.valid, apart.device)
    for _ in range(3):
        apart._update(lambda: False)
        together._update(lambda: False)
    # Not the weights: a key's bias has no gradient but rounding, which Adam makes as large as any other.
    losses = [validation_loss(each.model, each.valid, each.device) for each in (apart, together)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    assert losses[0] != pytest.approx(before, abs=1e-3)
