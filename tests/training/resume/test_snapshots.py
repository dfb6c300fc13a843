"""Snapshots of the weights: their steps, their numbers, and that a run with them is the run without."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
import torch

from dragoman.config import RunConfig
from dragoman.errors import ConfigError
from dragoman.model.weights import load_tensors, save_tensors
from dragoman.training.loop import Trainer
from dragoman.training.report.reports import TrainingListener
from dragoman.training.resume.checkpoint import checkpoint
from dragoman.training.resume.snapshots import SMALL, Snapshots, snapshots
from dragoman.training.update.distributed import ProcessGroup

Run = Callable[..., RunConfig]
MakeTrainer = Callable[[RunConfig, Path], Trainer]


def contents(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((run / "snapshots").iterdir())}


def test_steps_are_log_spaced_from_zero_and_the_weights_are_those_of_the_run(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    trainer = toy_trainer(toy_run(), tmp_path)
    start = {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}
    trainer.fit()
    assert list(snapshots(tmp_path)) == [0, 1, 2, 4, 8]
    saved = load_tensors(checkpoint(tmp_path / "checkpoints", 8) / "model.safetensors")
    for step, weights in ((0, start), (8, saved)):
        halves = load_tensors(snapshots(tmp_path)[step])
        assert halves.keys() == weights.keys()
        assert all(torch.equal(halves[name], weights[name].half()) for name in weights)


def test_training_with_snapshots_is_bit_for_bit_that_without(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    ends = []
    for count in (0, 12):
        trainer = toy_trainer(toy_run(snapshots=count), tmp_path / str(count))
        loss = trainer.fit().loss
        ends.append((loss, torch.get_rng_state(), [parameter.detach() for parameter in trainer.model.parameters()]))
    (loss, state, weights), (other_loss, other_state, other_weights) = ends
    assert loss == other_loss
    assert torch.equal(state, other_state)
    assert all(torch.equal(mine, other) for mine, other in zip(weights, other_weights, strict=True))
    assert not (tmp_path / "0/snapshots").exists()


def test_a_resumed_run_has_the_snapshots_of_one_that_was_not_stopped(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    toy_trainer(toy_run(snapshots=3), tmp_path / "whole").fit()
    assert list(snapshots(tmp_path / "whole")) == [0, 4, 8]

    class Power(TrainingListener):
        def on_update(self, step: int) -> None:
            if step == 7:
                raise SystemExit("the power is cut")

    trainer = toy_trainer(toy_run(snapshots=3), tmp_path / "cut")
    trainer.listeners.append(Power())
    with pytest.raises(SystemExit):
        trainer.fit()
    torn = tmp_path / "cut/snapshots/.00000008.safetensors.1234.partial"
    torn.mkdir()
    (tmp_path / "cut/snapshots/00000008.safetensors").write_bytes(b"of a later step")
    resumed = toy_trainer(toy_run(snapshots=3), tmp_path / "cut")
    resumed.resume()
    assert list(snapshots(tmp_path / "cut")) == [0, 2, 4]
    resumed.fit()
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def test_weights_that_are_not_finite_are_no_snapshot(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer = toy_trainer(toy_run(), tmp_path)
    trainer.snapshots.save(4, {"w": torch.tensor([1.0, torch.inf])})
    trainer.snapshots.save(8, {"w": torch.tensor([1.0, 1e9])})  # beyond float16
    assert not snapshots(tmp_path)


def test_a_snapshot_that_cannot_be_written_does_not_end_the_run(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    class Notes(TrainingListener):
        texts: ClassVar[list[str]] = []

        def on_notice(self, step: int, text: str) -> None:
            self.texts.append(text)

    trainer = toy_trainer(toy_run(), tmp_path)
    trainer.listeners.append(Notes())
    (tmp_path / "snapshots").write_text("a file where the folder belongs", encoding="utf-8")
    trainer.fit()
    assert "no snapshot of this step" in Notes.texts[0]


def test_large_models_and_adapters_have_none_unless_a_number_is_given(toy_run: Run, tmp_path: Path) -> None:
    large, small = torch.nn.Linear(SMALL, 1, device="meta"), torch.nn.Linear(SMALL - 1, 1, device="meta")
    counts = [Snapshots(tmp_path, toy_run(), model).count for model in (small, large)]  # type: ignore[arg-type]
    assert counts == [12, 0]
    assert Snapshots(tmp_path, toy_run(snapshots=5), large).count == 5  # type: ignore[arg-type]
    adapter = toy_run(lora_rank=4, start_from="base")
    assert Snapshots(tmp_path, adapter, small).count == 0  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="snapshots: has no effect with lora_rank"):
        toy_run(lora_rank=4, start_from="base", snapshots=3)


def test_one_process_of_several_writes_them(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer = toy_trainer(toy_run(), tmp_path)
    for rank, steps in ((1, []), (0, [0])):
        trainer.group = ProcessGroup(rank, 2)
        trainer._snapshot()
        assert list(snapshots(tmp_path)) == steps


def test_a_run_that_starts_again_has_no_snapshots_of_the_one_before(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    """One was killed before its first checkpoint; the other one is shorter and has another shape."""
    (tmp_path / "snapshots").mkdir()
    for step in (0, 16, 512):
        save_tensors(tmp_path / "snapshots" / f"{step:08d}.safetensors", {"weight": torch.zeros(2)})
    toy_trainer(toy_run(max_steps=4), tmp_path).fit()
    assert list(snapshots(tmp_path)) == [0, 1, 2, 4]
