"""A run whose files were spoilt goes on from what is whole, or says what is not and what to do."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import sentences

from dragoman.config import TokenizerConfig
from dragoman.text.tokenizer import Tokenizer, learn

MORE = ("train.max_steps=12", "--resume")


@pytest.fixture
def run(resumable: Path) -> Path:
    """The folder of a run that ended at step 8."""
    return resumable / "runs/toy"


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "random.safetensors", "training.json"])
def test_a_torn_checkpoint_is_named_and_moved_away_the_one_before_it_is_gone_on_from(
    dragoman: Any, resumable: Path, run: Path, name: str
) -> None:
    torn = run / "checkpoints/00000008" / name
    torn.write_bytes(torn.read_bytes()[:30])
    complaint = dragoman("train", resumable / "run.toml", *MORE).refused(4)
    assert complaint.startswith(f"{torn}: ")
    assert complaint.endswith(f"; move {torn.parent} elsewhere, and --resume continues from step 4")
    shutil.move(torn.parent, resumable / "elsewhere")
    said = dragoman("train", resumable / "run.toml", *MORE)
    assert said.code == 0, said.err
    assert "resumed at step 4" in said.err


@pytest.mark.parametrize("name", ["optimizer.safetensors", "random.safetensors"])
def test_a_checkpoint_that_lost_a_file_is_done_without(dragoman: Any, resumable: Path, run: Path, name: str) -> None:
    (run / "checkpoints/00000008" / name).unlink()
    said = dragoman("train", resumable / "run.toml", *MORE)
    assert said.code == 0, said.err
    assert "resumed at step 4" in said.err


def test_the_last_torn_checkpoint_is_told_to_be_that(dragoman: Any, resumable: Path, run: Path) -> None:
    shutil.rmtree(run / "checkpoints/00000004")
    torn = run / "checkpoints/00000008/random.safetensors"
    torn.write_bytes(b"")
    complaint = dragoman("train", resumable / "run.toml", *MORE).refused(4)
    assert complaint.endswith("no earlier checkpoint is complete, start again with another train.output")
    torn.unlink()
    complaint = dragoman("train", resumable / "run.toml", *MORE).refused(2)
    assert complaint == f"{run}: no checkpoint is complete; start a new run with another train.output"


def test_an_older_checkpoint_that_is_gone_is_done_without(dragoman: Any, resumable: Path, run: Path) -> None:
    shutil.rmtree(run / "checkpoints/00000004")
    said = dragoman("train", resumable / "run.toml", "--resume")
    assert said.code == 0, said.err
    gone = "the checkpoints of steps [4] are gone: the final model is averaged without them"
    assert gone in said.err
    assert f'{{"event": "notice", "step": 8, "text": "{gone}"}}\n' in (run / "metrics.jsonl").read_text()
    assert json.loads((run / "model/bundle.json").read_text())["training"]["averaged"] == [8]


def test_an_older_checkpoint_that_is_torn_is_told(dragoman: Any, resumable: Path, run: Path) -> None:
    torn = run / "checkpoints/00000004/model.safetensors"
    torn.write_bytes(b"")
    complaint = dragoman("train", resumable / "run.toml", "--resume").refused(4)
    assert complaint.endswith(f"; move {torn.parent} elsewhere, and --resume continues without it")


def test_a_folder_with_a_number_for_a_name_is_no_checkpoint(dragoman: Any, resumable: Path, run: Path) -> None:
    (run / "checkpoints/99").mkdir()
    (run / "checkpoints/00000099").write_text("notes")
    said = dragoman("train", resumable / "run.toml", *MORE)
    assert "resumed at step 8" in said.err
    assert said.code == 0
    assert (run / "checkpoints/99").is_dir()


@pytest.mark.parametrize(
    ("name", "content"), [("config.toml", b"\xff\xfe"), ("data.json", b"[]"), ("data.json", b"{}")]
)
def test_a_record_that_says_nothing_is_told(
    dragoman: Any, resumable: Path, run: Path, name: str, content: bytes
) -> None:
    (run / name).write_bytes(content)
    complaint = dragoman("train", resumable / "run.toml", *MORE).refused(2)
    assert complaint.startswith(f"{run / name}: cannot be read: ")
    assert complaint.endswith("; the run cannot be compared with how it started; start a new one")


def test_other_pieces_are_refused_though_they_are_as_many(dragoman: Any, resumable: Path, run: Path) -> None:
    pieces = run / "tokenizer/joint.model"
    other = learn(sentences(100, seed=9), TokenizerConfig(kind="bpe", vocab_size=56, byte_fallback=False))
    assert len(other.source) == len(Tokenizer.load(pieces.parent).source)
    other.save(pieces.parent)
    complaint = dragoman("train", resumable / "run.toml", *MORE).refused(2)
    assert re.fullmatch(
        rf"{pieces}: has changed since the run began \(sha256 \w{{12}}… then, \w{{12}}… now\); "
        "restore it, or start a new run",
        complaint,
    )


def test_the_end_of_a_straight_schedule_is_fixed(dragoman: Any, project: Path) -> None:
    assert dragoman("train", project / "run.toml", "train.schedule=linear").code == 0
    for key in ("train.max_steps=12", "train.max_minutes=5"):
        complaint = dragoman("train", project / "run.toml", "train.schedule=linear", key, "--resume").refused(2)
        assert f"the run started with {key.partition('=')[0]} = " in complaint


def test_weights_that_are_no_longer_numbers_end_the_run_before_they_are_saved(dragoman: Any, project: Path) -> None:
    keys = ("train.learning_rate=1e38", "train.warmup=1", "train.max_steps=1", "train.translate_lines=0")
    complaint = dragoman("train", project / "run.toml", *keys).refused(1)
    assert complaint == (
        "step 1: the validation loss is nan; no checkpoint had been saved yet; "
        "start again with a lower train.learning_rate, or with train.clip_norm"
    )
    assert not list((project / "runs/toy/checkpoints").glob("*"))


def test_what_validation_says_does_not_depend_on_how_the_finished_model_is_to_search(
    dragoman: Any, project: Path
) -> None:
    scores = []
    for number, keys in enumerate([[], ["decode.method=sample", "decode.min_length=6"]]):
        run = project / f"runs/{number}"
        assert dragoman("train", project / "run.toml", f"train.output={run}", *keys).code == 0
        events = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
        scores.append([event["translations"] for event in events if event["event"] == "validation"])
    assert scores[0] == scores[1]
    assert scores[0][0] is not None
