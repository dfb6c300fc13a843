"""A run whose files are damaged resumes from what is intact, or names the damage and the remedy."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.main import main
from dragoman.workflows.train.run_folder import latest_progress
from suites import cases, covering

MORE = ("train.max_steps=12", "--resume")


@pytest.fixture
def run(resumable: Path) -> Path:
    """The folder of a run that ended at step 8."""
    return resumable / "runs/toy"


def weights(project: Path) -> bytes:
    return (project / "runs/toy/model/model.safetensors").read_bytes()


def flip(path: Path, byte: int) -> None:
    content = bytearray(path.read_bytes())
    content[byte % len(content)] ^= 1 << 6
    path.write_bytes(content)


@pytest.fixture(scope="module")
def longer(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The weights of the undamaged run, resumed to step 12."""
    copy = Path(shutil.copytree(trained, tmp_path_factory.mktemp("clean") / "copy"))
    assert main(["train", str(copy / "run.toml"), *MORE]) == 0
    return weights(copy)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "how"),
    covering(
        ["model.safetensors", "optimizer.safetensors", "random.safetensors", "training.json"], ["a flipped bit", "cut"]
    ),
)
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_is_taken(
    dragoman: Any, resumable: Path, run: Path, name: str, how: str, longer: bytes
) -> None:
    damaged = run / "checkpoints/00000008" / name
    if how == "cut":
        damaged.write_bytes(damaged.read_bytes()[:30])
    else:
        flip(damaged, -200)
    result = dragoman("train", resumable / "run.toml", *MORE)
    assert result.code == 0, result.err
    assert f"{damaged}: damaged: " in result.err
    assert "; resuming from step 4, saved before it" in result.err
    assert "resumed at step 4" in result.err
    assert weights(resumable) == longer


@pytest.mark.parametrize("name", cases(["optimizer.safetensors", "random.safetensors"], quick=["random.safetensors"]))
def test_a_checkpoint_that_lost_a_file_is_skipped(dragoman: Any, resumable: Path, run: Path, name: str) -> None:
    (run / "checkpoints/00000008" / name).unlink()
    result = dragoman("train", resumable / "run.toml", *MORE)
    assert result.code == 0, result.err
    assert f"00000008/{name}: missing; resuming from step 4" in result.err


def test_where_only_damaged_checkpoints_are_left_one_line_says_so(dragoman: Any, resumable: Path, run: Path) -> None:
    for step in (4, 8):
        flip(run / f"checkpoints/{step:08d}/optimizer.safetensors", 400)
    complaint = dragoman("train", resumable / "run.toml", *MORE).refused(4)
    assert complaint == (
        f"{run}/checkpoints/00000008/optimizer.safetensors: damaged: its sha256 is not the one in training.json; "
        "the others are damaged too (1); no checkpoint is intact, start again with another train.output"
    )


def test_an_older_checkpoint_that_is_gone_is_not_needed(dragoman: Any, resumable: Path, run: Path) -> None:
    shutil.rmtree(run / "checkpoints/00000004")
    result = dragoman("train", resumable / "run.toml", "--resume")
    assert result.code == 0, result.err
    gone = f"{run}/checkpoints/00000004: missing; the final model is averaged without it"
    assert gone in result.err
    assert f'{{"event": "notice", "step": 8, "text": "{gone}"}}\n' in (run / "metrics.jsonl").read_text()
    assert json.loads((run / "model/bundle.json").read_text())["training"]["averaged"] == [8]


@pytest.mark.slow
@pytest.mark.parametrize("average", cases(["last", "best"], quick=["best"]))
def test_an_older_checkpoint_that_is_damaged_is_named_and_not_averaged(
    dragoman: Any, project: Path, average: str
) -> None:
    keys = (f"train.average={average}",)
    assert dragoman("train", project / "run.toml", *keys).code == 0
    damaged = project / "runs/toy/checkpoints/00000004/model.safetensors"
    flip(damaged, -100)
    result = dragoman("train", project / "run.toml", *keys, "--resume")
    assert result.code == 0, result.err
    assert result.err.count(f"{damaged}: damaged: its sha256 is not the one in training.json; the final model is") == 1
    bundle = json.loads((project / "runs/toy/model/bundle.json").read_text())
    assert bundle["training"]["averaged"] == [8]


def test_a_run_without_hashes_is_resumed_and_one_line_says_what_it_lacks(
    dragoman: Any, resumable: Path, run: Path, longer: bytes
) -> None:
    """Checkpoints of earlier versions have neither hashes nor copies of the run's files."""
    for note in run.glob("checkpoints/*/training.json"):
        record = json.loads(note.read_text())
        note.write_text(json.dumps({key: record[key] for key in record.keys() - {"sha256", "files", "log"}}))
        shutil.rmtree(note.parent / "run")
    result = dragoman("train", resumable / "run.toml", *MORE)
    assert result.code == 0, result.err
    assert result.err.count("saved by an earlier version, without hashes; damage in it would not be noticed") == 1
    assert weights(resumable) == longer


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"seconds": "x"}, "seconds: input should be a valid number"),
        ({"position": {"epoch": "x"}}, "position.epoch: input should be a valid integer"),
        ({"position": {"epoch": -1}}, "position.epoch: input should be greater than or equal to 0"),
        ({"tracker": {"metric": "loss", "best_step": []}}, "best_step: input should be a valid integer"),
        ({"tracker": {"metric": "loss", "colour": 1}}, "unknown field: colour"),
        ({"step": 7}, "it is the note of step 7"),
        ({"step": 10**30}, "step: "),
        ({"sha256": "0"}, "its content and its own sha256 differ"),
    ],
)
def test_a_note_of_the_wrong_types_is_named(
    resumable: Path, run: Path, changes: dict[str, Any], cause: str, dragoman: Any
) -> None:
    for note in run.glob("checkpoints/*/training.json"):
        record = json.loads(note.read_text())
        note.write_text(json.dumps({key: record[key] for key in record.keys() - {"sha256", "files", "log"}} | changes))
    complaint = dragoman("train", resumable / "run.toml", *MORE).refused(4)
    assert complaint.startswith(f"{run}/checkpoints/00000008/training.json: ")
    assert cause in complaint


@pytest.mark.parametrize("content", ["[" * 200_000, "[]", "{}", '{"step": ' + "9" * 5000 + "}", '{"step": NaN}', "é"])
def test_a_note_that_is_none_is_named(dragoman: Any, resumable: Path, run: Path, content: str) -> None:
    for note in run.glob("checkpoints/*/training.json"):
        note.write_bytes(content.encode("latin-1"))
    complaint = dragoman("train", resumable / "run.toml", *MORE).refused(4)
    assert complaint.startswith(f"{run}/checkpoints/00000008/training.json: ")
    assert "internal error" not in complaint


@pytest.mark.parametrize("name", ["config.toml", "data.json", "tokenizer/joint.model"])
@pytest.mark.parametrize("content", cases([None, b"", b"\xff\xfe", b"[]", b"{}", b"flip"], quick=[None, b"flip"]))
def test_a_damaged_file_of_the_run_is_named_and_restored_from_the_checkpoint(
    dragoman: Any, resumable: Path, run: Path, name: str, content: bytes | None, longer: bytes
) -> None:
    before = (run / name).read_bytes()
    if content is None:
        (run / name).unlink()
    elif content == b"flip":
        flip(run / name, before.index(b"source = ") + 12 if name == "config.toml" else 40)
    else:
        (run / name).write_bytes(content)
    result = dragoman("train", resumable / "run.toml", *MORE)
    assert result.code == 0, result.err
    copies = run / "checkpoints/00000008/run"
    named = f"{run / name}: differs from what the run was trained with; restored from {copies}\n"
    assert named in result.err
    if name == "data.json":  # it holds what this resumption was given, too
        kept = [json.loads(text) | {"overrides": []} for text in ((run / name).read_bytes(), before)]
        assert kept[0] == kept[1]
    assert (run / name).read_bytes() == before or name != "tokenizer/joint.model"
    assert weights(resumable) == longer


@pytest.mark.slow
def test_a_log_with_damage_is_named(dragoman: Any, resumable: Path, run: Path, longer: bytes) -> None:
    log = run / "metrics.jsonl"
    first, *rest = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join([first.replace(b"{", b"[", 1), *rest]))
    result = dragoman("train", resumable / "run.toml", *MORE)
    damaged = f"{log}: damaged: it differs from what was written up to step 8; "
    assert f"{damaged}1 unreadable line is removed, others may be wrong" in result.err
    assert weights(resumable) == longer
    log.write_bytes(log.read_bytes()[:100])
    result = dragoman("train", resumable / "run.toml", "train.max_steps=13", "--resume")
    assert " bytes written up to step 12, 100 are left" in result.err


def test_a_folder_with_a_number_for_a_name_is_no_checkpoint(dragoman: Any, resumable: Path, run: Path) -> None:
    (run / "checkpoints/99").mkdir()
    (run / "checkpoints/00000099").write_text("notes")
    result = dragoman("train", resumable / "run.toml", *MORE)
    assert "resumed at step 8" in result.err
    assert result.code == 0
    assert (run / "checkpoints/99").is_dir()


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_damaged_note_of_progress_does_not_lose_the_keys_of_the_start(run: Path) -> None:
    """They are read next to the checkpoint before it."""
    assert latest_progress(run / "checkpoints").step == 8
    (run / "checkpoints/00000008/training.json").write_text("{", encoding="utf-8")
    assert latest_progress(run / "checkpoints").step == 4
