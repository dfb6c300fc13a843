"""Compiled steps on a GPU, which take minutes: the last of `pytest -m gpu tests/gpu`, so that they delay nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from dragoman.config import RunConfig
from dragoman.model.parts.recorded import Recorder
from dragoman.training.loop import Trainer
from dragoman.training.report.reports import StepReport, TrainingListener

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")]


class LossesOfSteps(TrainingListener):
    """A listener that collects the loss of every step."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def on_step(self, report: StepReport) -> None:
        self.values.append(report.loss)


def test_a_recorded_step_of_compiled_layers_is_that_of_calling_them(
    toy_run: Callable[..., RunConfig],
    toy_trainer: Callable[..., Trainer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two kernels per layer and one of the loss, for the one shape of an update.

    The update of the host is not compiled here: its batches have a shape each, and a compiler takes seconds for each.
    """

    def losses(name: str, **keys: object) -> list[float]:
        config = toy_run(**keys, max_steps=10, log_every=1, validate_every=10, learning_rate=1e-3)
        config = config.model_copy(update={"model": config.model.model_copy(update={"dropout": 0.0})})
        trainer, listener = toy_trainer(config, tmp_path / name, device="cuda"), LossesOfSteps()
        trainer.listeners.append(listener)
        trainer.fit()
        assert trainer.device_step is not None
        assert len(trainer.device_step.inputs) <= 2
        return listener.values

    by_graph = losses("graph", compile=True)
    monkeypatch.setattr(Recorder, "record", lambda self, work: work)
    assert by_graph == pytest.approx(losses("called", compile=True), rel=1e-3)
    assert by_graph == pytest.approx(losses("eager", compile=False), rel=1e-2)
