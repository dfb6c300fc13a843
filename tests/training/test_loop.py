"""The loop beyond its laws: divergence, early stopping, averaging, what is kept on disk."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from dragoman.config import RunConfig
from dragoman.data.batches.batch import Example, collate
from dragoman.errors import DivergenceError, DragomanError, ModelError
from dragoman.model.weights import load_tensors
from dragoman.training import loop
from dragoman.training.cost.flops import training_flops
from dragoman.training.loop import Trainer
from dragoman.training.report.loggers import MetricsLog, TensorBoardLog
from dragoman.training.report.meter import Meter
from dragoman.training.report.reports import StepReport, TrainingListener, TranslationScores, ValidationReport
from dragoman.training.resume.checkpoint import checkpoint, checkpoint_steps, newest_intact
from dragoman.training.resume.validation import BestTracker, validation_loss
from dragoman.training.update import precision

Run = Callable[..., RunConfig]
MakeTrainer = Callable[[RunConfig, Path], Trainer]


class Reports(TrainingListener):
    """A listener that keeps its reports, and may do something at a step."""

    def __init__(self, at: int = 0, act: Callable[[], None] = lambda: None) -> None:
        self.steps: list[StepReport] = []
        self.validations: list[ValidationReport] = []
        self.notices: list[str] = []
        self.at, self.act = at, act

    def on_step(self, report: StepReport) -> None:
        self.steps.append(report)
        if report.step == self.at:
            self.act()

    def on_validation(self, report: ValidationReport) -> None:
        self.validations.append(report)

    def on_notice(self, step: int, text: str) -> None:
        self.notices.append(text)


def scores(bleu: float) -> TranslationScores:
    return TranslationScores(bleu, bleu, "source", "translation", "reference")


def test_a_loss_that_is_no_number_stops_the_run_and_names_step_lines_and_checkpoint(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    trainer = toy_trainer(toy_run(log_every=1), tmp_path)

    def poison() -> None:
        with torch.no_grad():
            trainer.model.target_embedding.weight.fill_(math.nan)

    trainer.listeners.append(Reports(at=6, act=poison))
    with pytest.raises(DivergenceError) as at:
        trainer.fit()
    message = str(at.value)
    assert message.startswith("step 7: the loss is nan on ")
    assert "train.tsv:" in message
    assert "the checkpoint of step 4 is kept" in message
    assert "\n" not in message
    assert at.value.exit_code == 1
    places = (tmp_path / "diverged.txt").read_text().splitlines()
    assert all(place.split(":")[0].endswith("train.tsv") for place in places)
    kept = load_tensors(checkpoint(tmp_path / "checkpoints", 4) / "model.safetensors")
    assert all(tensor.isfinite().all() for tensor in kept.values())


def test_a_gradient_that_is_no_number_does_not_reach_the_weights(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    trainer = toy_trainer(toy_run(), tmp_path)
    trainer.model.projection.register_hook(lambda gradient: gradient * math.inf)
    with pytest.raises(DivergenceError, match=r"step 1: the gradient's norm is (nan|inf).* no checkpoint"):
        trainer.fit()
    assert all(parameter.isfinite().all() for parameter in trainer.model.parameters())


def test_training_ends_when_what_is_watched_gets_no_better(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    config = toy_run(watch="bleu", patience=2, validate_every=1, max_steps=50)
    trainer, reports = toy_trainer(config, tmp_path), Reports()
    given = iter([1.0, 5.0, 4.0, 6.0, 5.0, 6.0])
    trainer.translate = lambda model: scores(next(given))
    trainer.listeners.append(reports)
    outcome = trainer.fit()
    assert outcome.step == 6
    assert outcome.reason == "no better bleu in 2 validations"
    assert [report.best for report in reports.validations] == [True, True, False, True, False, False]


@pytest.mark.parametrize(("kind", "better"), [("loss", 0.5), ("bleu", 1.5), ("chrf", 1.5)])
def test_lower_is_better_for_a_loss_and_higher_for_a_score(kind: str, better: float) -> None:
    tracker = BestTracker(kind).update(1.0, step=10)  # type: ignore[arg-type]
    assert tracker.improves(better)
    assert not tracker.improves(1.0)
    assert not tracker.improves(math.nan)
    assert not tracker.improves(2.0 - better)
    assert tracker.update(1.0, step=20).bad_validations == 1
    assert tracker.update(better, step=20).best_step == 20


@pytest.mark.slow
@pytest.mark.parametrize(("which", "steps"), [("last", (10, 12)), ("best", (4, 12))])
def test_the_final_model_is_the_mean_of_the_last_or_best_checkpoints(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, which: str, steps: tuple[int, ...]
) -> None:
    config = toy_run(watch="bleu", validate_every=2, average=which, average_count=2)
    trainer = toy_trainer(config, tmp_path)
    given = iter([3.0, 8.0, 1.0, 2.0, 4.0, 7.0])
    trainer.translate = lambda model: scores(next(given))
    outcome = trainer.fit()
    assert outcome.averaged == steps
    saved = [load_tensors(checkpoint(tmp_path / "checkpoints", step) / "model.safetensors") for step in steps]
    for name, parameter in trainer.model.named_parameters():
        assert_close(parameter.detach(), (saved[0][name] + saved[1][name]) / 2)


def test_the_best_checkpoint_goes_out_where_the_mean_has_a_higher_loss(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean is compared by loss, whatever is watched: the best of many noisy scores is best partly by luck."""
    trainer = toy_trainer(toy_run(watch="bleu", validate_every=2, average_count=3), tmp_path)
    given = iter([3.0, 8.0, 1.0, 2.0, 4.0, 7.0])
    trainer.translate = lambda model: scores(next(given))
    losses = iter([5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 1.0, 1.1])
    monkeypatch.setattr(loop, "validation_loss", lambda *_: next(losses))
    outcome = trainer.fit()
    assert (outcome.averaged, outcome.loss) == ((4,), 1.0)
    saved = load_tensors(checkpoint(tmp_path / "checkpoints", 4) / "model.safetensors")
    assert all(torch.equal(parameter, saved[name]) for name, parameter in trainer.model.named_parameters())


def test_only_what_is_needed_stays_on_disk(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer = toy_trainer(toy_run(watch="bleu", validate_every=2, average_count=2), tmp_path)
    given = iter([9.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    trainer.translate = lambda model: scores(next(given))
    folder = tmp_path / "checkpoints"
    (folder / ".00000010.partial").mkdir(parents=True)
    trainer.fit()
    assert checkpoint_steps(folder) == [2, 10, 12], "the best, and the last two"
    assert [path.parent.name for path in folder.glob("*/optimizer.safetensors")] == ["00000010", "00000012"]
    assert not list(folder.glob(".*"))


def test_of_damaged_checkpoints_the_latest_intact_one_is_resumed(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    toy_trainer(toy_run(), tmp_path).fit()
    (tmp_path / "checkpoints" / "00000012" / "training.json").write_text("{")
    step, faults = newest_intact(tmp_path / "checkpoints")
    assert step == 8
    assert faults == [
        f"{tmp_path}/checkpoints/00000012/training.json: damaged: not JSON: {faults[0].split('JSON: ')[1]}"
    ]
    trainer = toy_trainer(toy_run(), tmp_path)
    trainer.resume()
    assert trainer.step == 8
    (tmp_path / "checkpoints" / "00000008" / "training.json").unlink()
    with pytest.raises(ModelError, match=r"the others are damaged too \(\d\); no checkpoint is intact"):
        toy_trainer(toy_run(), tmp_path).resume()


@pytest.mark.slow
def test_bfloat16_learns_about_what_float32_learns(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    losses = {
        kind: toy_trainer(toy_run(precision=kind), tmp_path / kind).fit().loss for kind in ("float32", "bfloat16")
    }
    assert losses["bfloat16"] == pytest.approx(losses["float32"], abs=0.05)
    assert losses["bfloat16"] != losses["float32"]


@pytest.mark.slow
@pytest.mark.parametrize(("rounded", "chosen"), [(0.3, "bfloat16"), (2.0, "float32")])
def test_precision_auto_takes_what_the_processor_has_units_for_and_keeps_it(
    toy_run: Run,
    toy_trainer: MakeTrainer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rounded: float,
    chosen: str,
) -> None:
    monkeypatch.setattr(
        precision, "product_seconds", lambda dtype, _: {torch.float32: 1.0, torch.bfloat16: rounded}[dtype]
    )
    monkeypatch.setattr(precision, "WIDE", 16)
    trainer, reports = toy_trainer(toy_run(precision="auto", max_steps=4), tmp_path), Reports()
    trainer.listeners.append(reports)
    trainer.fit()
    assert trainer.gradient.precision == chosen
    assert reports.notices[0].startswith(f"precision {chosen}: a product in ")
    resumed = toy_trainer(toy_run(precision="auto", max_steps=5), tmp_path)
    resumed.resume()
    resumed.fit()
    assert resumed.gradient.precision == chosen, "a resumed run measures nothing"
    asked = toy_trainer(toy_run(precision=chosen, max_steps=5), tmp_path / "asked")
    asked.fit()
    assert all(
        torch.equal(mine, other)
        for mine, other in zip(asked.model.parameters(), resumed.model.parameters(), strict=True)
    ), "choosing leaves no trace"


def test_a_run_that_ends_far_above_the_loss_of_guessing_is_a_failure(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its loss is finite all the way."""
    monkeypatch.setattr(loop, "validation_loss", lambda *_: 41_157.0)
    trainer, reports = toy_trainer(toy_run(max_steps=4), tmp_path), Reports()
    trainer.listeners.append(reports)
    with pytest.raises(DivergenceError, match=r"far above ln V = 5\.\d.* no model is written; .*lower train\.lear"):
        trainer.fit()
    assert "unless it falls, start again with a lower train.learning_rate" in reports.notices[-1]


def test_a_run_that_learns_has_no_notice_of_its_loss(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer, reports = toy_trainer(toy_run(max_steps=4), tmp_path), Reports()
    trainer.listeners.append(reports)
    assert trainer.fit().loss < loop.FAR_ABOVE * trainer.guessing
    assert not reports.notices


def test_long_gradients_are_shortened_and_short_ones_are_not(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    trainer, reports = toy_trainer(toy_run(clip_norm=0.01, log_every=1), tmp_path), Reports()
    lengths: list[float] = []
    step = trainer.optimizer.step

    def measured() -> None:
        squares = [
            parameter.grad.square().sum() for parameter in trainer.model.parameters() if parameter.grad is not None
        ]
        lengths.append(float(torch.stack(squares).sum().sqrt()))
        step()

    trainer.optimizer.step = measured  # type: ignore[method-assign,assignment]
    trainer.listeners.append(reports)
    trainer.fit()
    assert max(lengths) <= 0.01 * 1.001
    assert all(report.gradient_norm > 0.01 for report in reports.steps)


def test_reported_losses_are_means_over_tokens(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer, reports = toy_trainer(toy_run(log_every=12), tmp_path), Reports()
    trainer.listeners.append(reports)
    outcome = trainer.fit()
    [report] = reports.steps
    assert 3 < report.loss < math.log(285) + 1
    assert report.target_tokens == outcome.target_tokens > 0
    assert report.tokens_per_second > 0


def test_the_validation_loss_is_the_mean_over_all_tokens_one_sentence_at_a_time(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    trainer = toy_trainer(toy_run(), tmp_path)
    model = trainer.model.eval()
    examples = [Example([5, 6, 7], [8, 9], ""), Example([5], [6, 7, 8, 9, 10], "")]
    total, tokens = 0.0, 0
    for example in examples:
        batch = collate([example])
        logits = model(batch.src, torch.ones(1, 1, 1, batch.src.size(1), dtype=torch.bool), batch.tgt_in)
        total -= logits[0].log_softmax(-1).gather(1, batch.tgt_out[0][:, None]).sum().item()
        tokens += batch.tgt_out.size(1)
    found = validation_loss(model, [collate(examples)], torch.device("cpu"))
    assert found == pytest.approx(total / tokens, rel=1e-5)


def test_metrics_of_steps_that_will_come_again_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = [json.dumps({"event": "step", "step": step}) for step in (10, 20, 30)]
    path.write_text("\n".join(lines) + '\n{"event": "st')
    MetricsLog(path, resumed_step=20)
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [10, 20]


def test_a_new_run_has_no_notice_of_a_dead_one(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"event": "notice", "step": 0, "text": "precision float32"}\n')
    MetricsLog(path, resumed_step=0)
    assert path.read_text() == ""


def test_metrics_on_a_full_disk_say_how_to_continue(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl", 0)
    log.path.mkdir()
    with pytest.raises(DragomanError, match="continue with --resume if there is a checkpoint"):
        log.on_notice(1, "text")


def test_metrics_are_one_object_a_line(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer = toy_trainer(toy_run(), tmp_path)
    trainer.listeners.append(MetricsLog(tmp_path / "metrics.jsonl", 0))
    trainer.fit()
    events = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [event["step"] for event in events if event["event"] == "step"] == [3, 6, 9, 12]
    assert [event["step"] for event in events if event["event"] == "validation"] == [4, 8, 12]


@pytest.mark.filterwarnings("ignore")  # tensorboard's own
def test_tensorboard_files_are_written_on_request(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    log = TensorBoardLog(tmp_path, 0)
    log.on_step(StepReport(1, 0, 2.0, 1e-3, 1.0, 100.0, 50, 1.0, 1e9, 0.5))
    log.on_validation(ValidationReport(1, 0, 1.0, 2.0, True, scores(3.0), 0, None))
    assert any(path.stat().st_size > 0 for path in tmp_path.glob("events.*"))


def test_a_meter_counts_what_the_equations_need_and_what_share_of_the_device_that_is(build: Any) -> None:
    model = build()
    batch = collate([Example([5, 6, 7], [8, 9], "") for _ in range(3)])
    meter = Meter(model.config, 13, torch.device("cpu"))
    meter.peak = 1e9
    meter.start(10.0)
    for _ in range(2):
        meter.add(6.0, 9, [batch])
    meter.pause(5.0)
    measured = meter.read(17.0)
    flops = 2 * training_flops(model.config, 13, sentences=3, source=4, target=3)
    assert (measured["loss"], measured["tokens_per_second"]) == (12 / 18, 9.0)
    assert measured["flops_per_second"] == flops / 2
    assert measured["utilisation"] == flops / 2 / 1e9
    meter.add(6.0, 9, [batch])
    assert meter.read(17.0)["tokens_per_second"] > 0, "by a clock that has not moved on"


def test_r_drop_takes_each_pair_through_the_model_twice(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    plain, twice = (toy_trainer(toy_run(r_drop=alpha), tmp_path).meter for alpha in (0.0, 1.0))
    batch = collate([Example([5, 6, 7], [8, 9], "")])
    for meter in (plain, twice):
        meter.add(1.0, 3, [batch])
    assert twice.flops == 2 * plain.flops
