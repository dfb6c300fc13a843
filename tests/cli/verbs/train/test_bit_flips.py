"""Flipped bits and cut files, anywhere in the folder of a run: named, or harmless.

Harmless means that the resumed run ends with the very same weights. What training computes is fixed by the state it
resumes from, so that the state is compared: weights, moments, random numbers, position, tracker, tokenizer. Only a few
cases are trained to the end.
"""

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.cli.main import main
from dragoman.config.file import read_config
from dragoman.data.corpus.report import CorpusReport
from dragoman.errors import DragomanError
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.report.loggers import MetricsLog
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.optimizer import state_tensors
from dragoman.workflows.data.check import check_with_progress
from dragoman.workflows.listener import Listeners
from dragoman.workflows.train.run_folder import check_resumable, record_inputs, recorded_log, restore_run
from dragoman.workflows.train.trainer import Run, build_trainer
from suites import cases

MORE = ("train.max_steps=12", "--resume")
CASES = 200


class Notices:
    """A listener that keeps the notices."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def notice(self, text: str) -> None:
        self.texts.append(text)

    def on_notice(self, step: int, text: str) -> None:
        self.texts.append(text)


def state_of(project: Path, reports: list[CorpusReport]) -> tuple[int, str, list[str]]:
    """The step that a run resumes from, the hash of all that its training depends on, and what it says."""
    config, given = read_config(project / "run.toml", MORE[:1])
    folder, listener = project / "runs/toy", Notices()
    run = Run(config, given, folder, torch.device("cpu"), ProcessGroup(), Listeners(()), reports, None, None, True)
    check_resumable(folder, config, True)
    step = restore_run(folder, listener.notice)
    tokenizer = Tokenizer.load(folder / "tokenizer")
    record_inputs(folder, config, reports, tokenizer, True)
    log = MetricsLog(folder / "metrics.jsonl", step, recorded_log(folder, step))
    trainer = build_trainer(run, tokenizer, step)
    trainer.listeners.append(listener)  # type: ignore[arg-type]
    trainer.resume(step)
    digest = hashlib.sha256(torch.get_rng_state().numpy().tobytes())
    for name, tensor in sorted(state_tensors(trainer.optimizer, trainer.model).items()):
        digest.update(name.encode() + tensor.numpy().tobytes())
    for name, tensor in trainer.model.state_dict().items():
        digest.update(name.encode() + tensor.numpy().tobytes())
    values = [asdict(trainer.position), asdict(trainer.tracker), trainer.validated, trainer.target_tokens]
    values += [trainer.gradient.precision, trainer.accumulate, trainer.stream.batch_tokens, tokenizer.sha256]
    digest.update(json.dumps(values, sort_keys=True, default=str).encode())
    return step, digest.hexdigest(), listener.texts + ([f"{log.path}: {log.fault}"] if log.fault else [])


def damage(path: Path, rng: random.Random) -> str:
    """Flip one bit or some, or cut the file; returns what was done."""
    content = bytearray(path.read_bytes())
    how = rng.choice(["1 bit", "1 bit", "1 bit", "3 bits", "cut"])
    if how == "cut":
        path.write_bytes(content[: rng.randrange(len(content))])
        return how
    for _ in range(int(how[0])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    return how


@pytest.fixture(scope="module")
def table() -> Any:
    """Counts of outcomes by file; written where DRAGOMAN_DAMAGE_TABLE says."""
    counts: dict[str, dict[str, int]] = {}
    yield counts
    if where := os.environ.get("DRAGOMAN_DAMAGE_TABLE"):
        Path(where).write_text(json.dumps(counts, indent=1, sort_keys=True), encoding="utf-8")


@pytest.fixture(scope="module")
def clean(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[CorpusReport], dict[int, str]]:
    """The reports on the text, and the state of each of the two checkpoints of the undamaged run."""
    config, _ = read_config(trained / "run.toml")
    reports, states = list(check_with_progress(config, Listeners(()))), {}
    for number, gone in enumerate([None, "00000008"]):
        copy = Path(shutil.copytree(trained, tmp_path_factory.mktemp(f"clean{number}") / "copy"))
        if gone:
            shutil.rmtree(copy / "runs/toy/checkpoints" / gone)
        step, state, notices = state_of(copy, reports)
        assert not notices
        states[step] = state
    assert sorted(states) == [4, 8]
    return reports, states


@pytest.mark.parametrize("seed", cases(range(CASES), quick=range(20)))
def test_whatever_is_damaged_is_named_or_harmless(
    resumable: Path, clean: tuple[list[CorpusReport], dict[int, str]], table: dict[str, dict[str, int]], seed: int
) -> None:
    reports, states = clean
    rng, run = random.Random(seed), resumable / "runs/toy"
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.stat().st_size)
    chosen = files[seed % len(files)] if seed % 10 else rng.choice(files)
    damage(chosen, rng)
    others = [path for path in (rng.sample(files, 3) if seed % 10 == 0 else []) if path != chosen]
    for other in others:
        damage(other, rng)
    name = str(chosen.relative_to(run)) if not others else "4 files at once"
    step, report = 0, ""
    try:
        step, state, notices = state_of(resumable, reports)
        report = "\n".join(notices)
    except DragomanError as error:
        outcome, report = "refused, the file is named", str(error)
    else:
        lost = "the final model is averaged without it" in report
        assert lost or state == states[step], report or "other weights, silently"
        outcome = f"named, resumed from step {step}" if report else "harmless, nothing said"
        outcome = "named, not averaged" if lost else outcome
    if step != 8 or report:
        assert any(str(path) in report for path in (chosen, *others)), report
    table.setdefault(name, {}).setdefault(outcome, 0)
    table[name][outcome] += 1


def resumed_weights(project: Path) -> bytes:
    assert main(["train", str(project / "run.toml"), *MORE]) == 0
    return (project / "runs/toy/model/model.safetensors").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "checkpoints/00000008/model.safetensors",
        "checkpoints/00000008/training.json",
        "checkpoints/00000008/run/tokenizer/joint.model",
        "checkpoints/00000004/optimizer.safetensors",
        "tokenizer/joint.model",
        "metrics.jsonl",
        "model/model.safetensors",
    ],
)
def test_the_state_decides_the_final_weights(
    trained: Path, resumable: Path, tmp_path: Path, name: str, capsys: Callable[..., Any]
) -> None:
    expected = resumed_weights(Path(shutil.copytree(trained, tmp_path / "clean")))
    damage(resumable / "runs/toy" / name, random.Random(name))
    assert resumed_weights(resumable) == expected
