"""`data check --estimate`, the keys that are `auto`, and what a resumed run keeps of its command line."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dragoman.config import ModelConfig, RunConfig, TrainConfig
from dragoman.config.sizes import (
    chosen_model,
    chosen_train,
    epochs_for,
    preset_for,
    steps_for,
    validation_interval_for,
    warmup_for,
)
from dragoman.data.batches.batching import Workload
from dragoman.training.estimate.trial import StepTrial
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.workflows.listener import Listener, Listeners
from dragoman.workflows.train import presets
from dragoman.workflows.train.run_folder import lock_run
from dragoman.workflows.train.train import fit_warmup
from dragoman.workflows.train.trainer import Run

AUTO = ["train.max_steps=auto", "train.warmup=auto", "train.validate_every=auto", "train.translate_lines=0"]


@pytest.mark.parametrize(
    ("pairs", "epochs", "preset", "preset_gpu", "steps"),
    [(2_000, 100, "tiny", "tiny", 1700), (20_000, 35, "tiny", "tiny", 6100), (200_000, 13, "small", "small", 22000),
     (2_000_000, 4, "small", "base", 77000)],
)  # fmt: skip
def test_more_text_is_read_less_often_by_a_larger_model(
    pairs: int, epochs: int, preset: str, preset_gpu: str, steps: int
) -> None:
    assert round(epochs_for(pairs)) == epochs
    assert (preset_for(pairs, gpu=False), preset_for(pairs, gpu=True)) == (preset, preset_gpu)
    assert steps_for(pairs, steps_per_epoch=pairs * 30 / 3500) == steps
    assert warmup_for(steps) <= steps // 4
    assert steps // validation_interval_for(steps) >= 20


def test_little_text_is_not_learned_by_heart() -> None:
    rates = [chosen_model(ModelConfig(preset="auto"), (), n, gpu=False).dropout for n in (2_000, 100_000, 10**6)]
    assert rates == [0.3, 0.2, 0.1]
    own = ModelConfig.model_validate({"preset": "auto", "dropout": 0.0, "d_ff": 96})
    chosen = chosen_model(own, {"model.preset", "model.dropout", "model.d_ff"}, 2000, gpu=False)
    assert (chosen.preset, chosen.dropout, chosen.d_ff, chosen.d_model) == ("tiny", 0.0, 96, 192)


def test_a_number_stays_what_it_is() -> None:
    chosen = chosen_train(TrainConfig(max_steps=70, warmup="auto", validate_every=9), 2000, 17.0)
    assert (chosen.max_steps, chosen.warmup, chosen.validate_every) == (70, 17, 9)


class Messages(Listener):
    """Collects notices and warnings."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.warnings: list[str] = []

    def on_notice(self, step: int, text: str) -> None:
        self.notices.append(text)

    def on_warning(self, text: str) -> None:
        self.warnings.append(text)


@pytest.mark.parametrize(
    ("steps", "chooses", "warmup", "notices", "warnings"),
    [
        (98, True, 24, ["warmup 24, as about 98 steps fit into train.max_minutes=12"], 0),
        (98, False, 580, [], 1),
        (5800, True, 580, [], 0),
        (None, True, 580, [], 0),
    ],
)
def test_a_warmup_ends_before_the_minutes_do(
    toy_run: Callable[..., RunConfig],
    steps: int | None,
    chooses: bool,
    warmup: int,
    notices: list[str],
    warnings: int,
) -> None:
    config, listener = toy_run(max_steps=5800, warmup=580, max_minutes=12.0), Messages()
    group = ProcessGroup()
    run = Run(config, (), Path(), torch.device("cpu"), group, Listeners([listener]), (), None, None, resume=False)
    trainer: Any = SimpleNamespace(config=config)
    after = fit_warmup(run, trainer, steps, chooses)
    assert after.config.train.warmup == trainer.config.train.warmup == warmup
    assert listener.notices == notices
    assert len(listener.warnings) == warnings


@pytest.mark.slow
def test_a_run_of_minutes_records_the_warmup_that_fits(dragoman: Any, project: Path) -> None:
    ended = dragoman("train", project / "run.toml", *AUTO, "train.max_steps=9000000", "train.max_minutes=0.03")
    assert ended.code == 0, ended.err
    chosen = int(re.search(r"^warmup ([\d,]+), as about", ended.err, re.MULTILINE)[1].replace(",", ""))  # type: ignore[index]
    for file in (project / "runs/toy/config.toml", project / "runs/toy/model/config.toml"):
        assert f"warmup = {chosen}\n" in file.read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_a_run_chose_is_reported_stored_and_kept(dragoman: Any, project: Path) -> None:
    for path in (project / "data").glob("train.*"):  # an update reads all of it
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:50]))
    first = dragoman("train", project / "run.toml", *AUTO, "train.batch_tokens=8000")
    assert first.code == 0, first.err
    assert "for 50 pairs: max_steps 300, warmup 75, validate_every 10" in first.err
    stored = (project / "runs/toy/config.toml").read_text()
    assert "max_steps = 300\n" in stored
    again = dragoman("train", project / "run.toml", "--resume")
    assert "train.max_steps=auto" not in again.err, "that end is reached, run.toml has another"
    assert again.code == 0, again.err


@pytest.mark.slow
def test_a_resumed_run_keeps_the_keys_of_its_command_line(dragoman: Any, project: Path) -> None:
    keys = ["train.max_steps=4", "train.seed=5", "tokenizer.vocab_size=50", f"project.license={'free ' * 99}"]
    assert dragoman("train", project / "run.toml", *keys).code == 0
    resumed = dragoman("train", project / "run.toml", "--resume")
    assert resumed.code == 0, resumed.err
    assert "as at the start: train.seed=5 tokenizer.vocab_size=50 'project.license=free free" in resumed.err
    assert max(map(len, resumed.err.splitlines())) < 300
    assert "resumed at step 4" in resumed.err
    assert "done: 8 steps done" in resumed.err, "the end given at the start was reached"
    complaint = dragoman("train", project / "run.toml", "train.seed=6", "--resume").refused(2)
    assert "the run started with train.seed = 5, now it is 6" in complaint


@pytest.mark.slow
def test_a_run_of_a_chosen_shape_refuses_another_one(dragoman: Any, project: Path) -> None:
    keys = ["model.preset=auto", "model.layers=1", "model.d_model=16", "model.heads=2", "train.max_steps=4"]
    assert dragoman("train", project / "run.toml", *keys).code == 0
    complaint = dragoman("train", project / "run.toml", "model.dropout=0.9", "--resume").refused(2)
    assert "the run started with model.dropout = " in complaint
    assert dragoman("train", project / "run.toml", "train.max_steps=6", "--resume").code == 0


@pytest.mark.slow
def test_a_key_that_was_not_set_is_called_that(dragoman: Any, project: Path) -> None:
    assert dragoman("train", project / "run.toml", "train.max_steps=4").code == 0
    complaint = dragoman("train", project / "run.toml", "train.clip_norm=2.0", "--resume").refused(2)
    assert "the run started with train.clip_norm = not set, now it is 2.0" in complaint


def test_a_second_training_is_not_sent_to_resume_the_first(dragoman: Any, resumable: Path) -> None:
    with lock_run(resumable / "runs/toy"):
        complaint = dragoman("train", resumable / "run.toml").refused(2)
    assert "another process trains here" in complaint
    assert "--resume" not in complaint


def test_an_output_that_is_a_file_is_refused_before_the_text_is_read(dragoman: Any, project: Path) -> None:
    (project / "mine").write_text("mine")
    (project / "data/train.en").unlink()
    complaint = dragoman("train", project / "run.toml", "train.output=mine").refused(2)
    assert complaint == f"{project}/mine: is a file; choose another train.output, the folder of the run"


@pytest.mark.slow
def test_the_first_screen_says_what_the_run_costs_once(dragoman: Any, project: Path) -> None:
    result = dragoman("train", project / "run.toml", "--json")
    assert result.code == 0
    for line in ("tokens/s, ", " to step 8, ", "first score in about ", "Ctrl-C saves and stops, this continues:"):
        assert result.err.count(line) == 1 or line == "tokens/s, "
    assert "1 thread, seed" in result.err
    estimate = json.loads(result.out)["estimate"]
    assert estimate["steps"] == 8
    assert estimate["seconds"] > 0
    resumed = dragoman("train", project / "run.toml", "train.max_steps=9", "--resume")
    assert "300 pairs" not in resumed.err, "the findings on the text are known"


@pytest.mark.parametrize(
    ("keys", "learned"),
    [
        ([], ["bias", "weight"]),
        (["train.freeze=['encoder']"], ["bias", "weight"]),
        (["train.lora_rank=2"], ["lora_a", "lora_b"]),
        (["model.preset=auto"], ["bias", "weight"]),
    ],
)
def test_the_cost_of_fine_tuning_is_that_of_the_base_model_with_its_pieces(
    dragoman: Any, project: Path, model: Path, monkeypatch: pytest.MonkeyPatch, keys: list[str], learned: list[str]
) -> None:
    def time_updates(gradient: GradientAccumulator, network: Any, workload: Workload, budget: float) -> StepTrial:
        names = {name.rpartition(".")[2] for name, value in network.named_parameters() if value.requires_grad}
        assert sorted(names & {"bias", "weight", "lora_a", "lora_b"}) == learned
        is_frozen = not any(value.requires_grad for value in network.encoder.parameters())
        assert is_frozen == ("train.freeze=['encoder']" in keys)
        assert network.projection.shape == (56, 32), "the pieces and the width of the base model"
        return StepTrial(0.5, 10**9)

    monkeypatch.setattr(presets, "time_updates", time_updates)
    text = re.sub(r"\[(tokenizer|model)\]\n[^\[]*", "", (project / "run.toml").read_text(encoding="utf-8"))
    (project / "run.toml").write_text(text, encoding="utf-8")
    keys = [*keys, f"train.start_from={model}", "train.max_steps=10"]
    result = dragoman("data", "check", project / "run.toml", *keys, "--estimate", "--json")
    assert result.code == 0, result.err
    [row] = json.loads(result.out)["estimates"]
    manifest = json.loads((model / "bundle.json").read_text(encoding="utf-8"))
    assert (row["model"], row["is_own"], row["parameters"]) == ("this run", True, manifest["parameters"])
    assert row["seconds_per_step"] == 0.5


def test_a_model_beyond_the_memory_has_no_estimate(
    dragoman: Any, project: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presets, "memory_of", lambda device: 1000)
    complaint = dragoman("data", "check", project / "run.toml", "--estimate").refused(5)
    assert complaint.startswith("out of memory: no update fits; set train.batch_tokens lower")


@pytest.mark.slow
def test_the_cost_of_every_preset_follows_from_what_a_step_takes(
    dragoman: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = {"tiny": 0.5, "small": 2.0}

    def trial(config: object, shape: ModelConfig, *_: object) -> StepTrial | None:
        return StepTrial(seconds[shape.preset], 10**9) if shape.preset in seconds else StepTrial(0.001, None)

    monkeypatch.setattr(presets, "_trial", trial)
    monkeypatch.setattr(presets, "LONGEST", 4.0)
    keys = ["train.max_steps=1000", "train.translate_lines=0", "tokenizer.vocab_size=56"]
    result = dragoman("data", "check", project / "run.toml", *keys, "--estimate", "--json")
    assert result.code == 0, result.err
    found = {row["model"]: row for row in json.loads(result.out)["estimates"]}
    assert set(found) == {"tiny", "small", "base", "big", "this run"}
    assert [name for name, row in found.items() if row["is_own"]] == ["this run"]
    assert found["tiny"]["seconds_per_step"] == 0.5
    assert 500 <= found["tiny"]["seconds"] < 600, "1,000 steps and their validations"
    assert {name for name, row in found.items() if row["extrapolated"]} == {"base", "big"}
    assert found["big"]["seconds_per_step"] > found["base"]["seconds_per_step"] > 4.0
    assert not (project / "runs").exists()
    table = dragoman("data", "check", project / "run.toml", *keys, "--estimate").err
    assert "this run*" in table
    assert "~ not timed: from base on, computed from small by floating-point operations" in table
    assert max(map(len, table[table.index("model ") :].splitlines()[:7])) <= 80
