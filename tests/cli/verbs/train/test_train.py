"""`train`: from text to a model; refusals before hours are spent; and resuming exactly where it stopped."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from safetensors.torch import load_file

from dragoman.data.batches.stream import BatchStream
from dragoman.training import loop
from dragoman.training.estimate import fitting
from dragoman.training.resume.integrity import seal
from dragoman.workflows.train import train
from suites import cases, slow


def weights_of(project: Path) -> dict[str, bytes]:
    tensors = load_file(project / "runs/toy/model/model.safetensors")
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


def metrics_of(project: Path) -> list[dict[str, Any]]:
    lines = (project / "runs/toy/metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture
def at_update(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], None]], None]:
    """Do something in the middle of training, when the batches of that update are asked for."""
    draw = BatchStream.next_update

    def arrange(number: int, happen: Callable[[], None]) -> None:
        calls = []

        def next_update(self: BatchStream, accumulate: int) -> Any:
            calls.append(1)
            if len(calls) == number:
                happen()
            return draw(self, accumulate)

        monkeypatch.setattr(BatchStream, "next_update", next_update)

    return arrange


# --- a whole run -------------------------------------------------------------------------------------------------


def test_a_run_leaves_what_it_promises(trained: Path) -> None:
    run = trained / "runs/toy"
    assert {path.name for path in run.iterdir()} == {
        "checkpoints", "config.toml", "data.json", "metrics.jsonl", "model", "snapshots", "tokenizer"
    }  # fmt: skip
    assert list(run.rglob(".*")) == []


@pytest.mark.slow
def test_talk_goes_to_stderr_and_stdout_stays_empty(dragoman: Any, project: Path) -> None:
    result = dragoman("train", project / "run.toml")
    assert (result.code, result.out) == (0, "")
    assert "step 8" in result.err
    assert f'dragoman translate -m {project}/runs/toy/model "…"' in result.err


@pytest.mark.slow
def test_a_model_that_learned_nothing_is_not_promised_to_translate(
    dragoman: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.workflows.train.train.math", SimpleNamespace(log=lambda _: 0.1))
    result = dragoman("train", project / "run.toml", "train.max_steps=1", "--json")
    assert "that of guessing: it learned nothing yet" in result.err
    assert "of no use yet" in result.err
    assert f"dragoman data check {project}/run.toml" in result.err
    assert "dragoman translate" not in result.err
    assert len(json.loads(result.out)["doubts"]) == 1


@pytest.mark.slow
def test_what_is_promised_to_type_next_can_be_typed(dragoman: Any, project: Path) -> None:
    result = dragoman("train", project / "run.toml", "train.max_steps=1", "train.validate_every=1")
    typed = next(line for line in result.err.splitlines() if line.strip().startswith("dragoman "))
    assert dragoman(*typed.split()[1:]).code == 0


@pytest.mark.slow
def test_an_update_is_divided_into_what_suits_the_machine(dragoman: Any, project: Path) -> None:
    given = ["train.batch_tokens=auto", "train.update_tokens=9000", "train.max_steps=2", "train.validate_every=1"]
    result = dragoman("train", project / "run.toml", *given)
    assert result.code == 0
    assert "an update of 9,000 tokens is 3 × 3,000 of each process" in result.err
    progress = json.loads((project / "runs/toy/checkpoints/00000002/training.json").read_text())
    assert (progress["batch_tokens"], progress["accumulate"]) == (3000, 3)
    assert dragoman("train", project / "run.toml", *given, "train.max_steps=3", "--resume").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("processes", cases([1, 2], quick=[2]))
def test_an_update_stays_divided_as_at_its_start(
    dragoman: Any, project: Path, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    """On a machine where another division fits, with a checkpoint of another number of processes."""
    given = ["train.batch_tokens=auto", "train.update_tokens=9000", "train.validate_every=1"]
    assert dragoman("train", project / "run.toml", *given, "train.max_steps=1").code == 0
    training_state = project / "runs/toy/checkpoints/00000001/training.json"
    record = {key: value for key, value in json.loads(training_state.read_text()).items() if key != "sha256"}
    training_state.write_text(seal(record | {"processes": processes}))
    monkeypatch.setattr(fitting, "CPU_TOKENS", 1000)
    result = dragoman("train", project / "run.toml", *given, "train.max_steps=2", "--resume")
    assert result.code == 0
    assert "an update" not in result.err
    progress = json.loads((project / "runs/toy/checkpoints/00000002/training.json").read_text())
    assert (progress["batch_tokens"], progress["accumulate"]) == (3000, 3 * processes)


def test_the_numbers_of_a_run_are_json_lines(trained: Path) -> None:
    events = metrics_of(trained)
    assert [(event["event"], event["step"]) for event in events] == [
        ("step", 4), ("validation", 4), ("step", 8), ("validation", 8)
    ]  # fmt: skip
    assert events[3]["translations"]["chrf"] >= 0


def test_the_models_card_and_manifest_tell_data_scores_and_licence(trained: Path) -> None:
    model = trained / "runs/toy/model"
    card = (model / "README.md").read_text(encoding="utf-8")
    manifest = json.loads((model / "bundle.json").read_text(encoding="utf-8"))
    assert card.startswith('---\nlanguage: ["en", "de"]\nlicense: "private"\n')
    for needed in ("train.en, train.de", "copying the source", "nrefs:1\\|", "## Limits", "## Licence"):
        assert needed in card
    assert [score["metric"] for score in manifest["scores"]] == ["BLEU", "chrF2", "TER"]
    assert {score["on"] for score in manifest["scores"]} == {"test"}
    assert [corpus["pairs"] for corpus in manifest["data"]] == [12, 10, 300]
    assert str(trained) not in card + json.dumps(manifest)


@pytest.mark.slow
def test_the_cards_header_is_yaml_whatever_is_in_it(dragoman: Any, project: Path) -> None:
    odd = 'ours: "see" #1 — 비공개'
    result = dragoman("train", project / "run.toml", "project.source=no", f"project.license={odd}", "train.max_steps=1")
    assert result.code == 0
    _, header, _ = (project / "runs/toy/model/README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert yaml.safe_load(header) == {"language": ["no", "de"], "license": odd, "pipeline_tag": "translation"}


@pytest.mark.slow
def test_two_runs_of_the_same_configuration_are_the_same(dragoman: Any, trained: Path, project: Path) -> None:
    dragoman("train", project / "run.toml")
    assert weights_of(project) == weights_of(trained)


@pytest.mark.slow
def test_runs_of_two_seeds_learn_the_same_pieces_and_translate_together(dragoman: Any, project: Path) -> None:
    keys = "tokenizer.sample=150", "train.max_steps=1"
    for seed in (1, 2):
        run = project / f"runs/{seed}"
        assert dragoman("train", project / "run.toml", *keys, f"train.seed={seed}", f"train.output={run}").code == 0
    one, other = project / "runs/1/model", project / "runs/2/model"
    assert (one / "tokenizer/joint.model").read_bytes() == (other / "tokenizer/joint.model").read_bytes()
    assert (one / "model.safetensors").read_bytes() != (other / "model.safetensors").read_bytes()
    assert dragoman("translate", "-m", one, "-m", other, "a dog").code == 0


@pytest.mark.slow
def test_pairs_over_the_length_limit_are_reported_with_their_location_and_training_continues(
    dragoman: Any, project: Path
) -> None:
    for language, word in (("en", "dog"), ("de", "hund")):
        path = project / f"data/train.{language}"
        lines = path.read_text().splitlines()
        lines[6] = " ".join([word] * 90)
        path.write_text("\n".join(lines) + "\n")
    result = dragoman("train", project / "run.toml", "data.max_length=50", "train.batch_tokens=2048")
    assert result.code == 0
    notices = [line for line in result.err.splitlines() if f"{project}/data/train.en:7" in line]
    assert notices
    assert "1 pair" in notices[0]
    assert "data.max_length" in notices[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "otherwise", "notice"),
    [
        pytest.param(
            ["train.parallel=fsdp"], ["train.parallel=ddp"], 'train.parallel: "fsdp" has no effect', marks=slow
        ),
        pytest.param(
            ["train.accumulate=2", "train.batch_tokens=auto"],
            ["train.accumulate=2"],
            "train.accumulate: has no effect",
            marks=slow,
        ),
        (["train.r_drop=1", "model.dropout=0"], ["train.r_drop=1"], "train.r_drop: with model.dropout = 0"),
        (
            ["train.warmup=2"],
            ["train.warmup=1"],
            "train.warmup: 2 steps of a run of 1: the learning rate",
        ),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else "",
)
def test_a_key_without_effect_is_noticed(
    dragoman: Any, project: Path, given: list[str], otherwise: list[str], notice: str
) -> None:
    for number, (keys, times) in enumerate(((given, 1), (otherwise, 0))):
        once = ["train.max_steps=1", f"train.output={project}/{number}", *keys]
        result = dragoman("train", project / "run.toml", *once)
        assert result.code == 0, result.err
        assert result.err.count(notice) == times


# --- refused before training -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "code", "message"),
    [
        pytest.param(
            "train.max_step=5", 2, "train.max_step: unknown key; did you mean train.max_steps?", id="a mistyped key"
        ),
        pytest.param(
            "model.heads=3", 2, "model.heads: 3 does not divide d_model = 32; make d_model 30 or 33", id="heads"
        ),
        pytest.param("train.device=cuda:77", 5, 'device "cuda:77" is not on this machine', id="a device"),
        pytest.param("max_steps", 2, "max_steps: not an override; write section.key=value", id="no override"),
        pytest.param(
            "tokenizer.vocab_size=5000",
            2,
            "tokenizer.vocab_size: 5000 pieces are more than both sides",
            id="vocabulary",
        ),
        pytest.param("data.max_length=1", 3, "data.max_length", id="a limit no pair keeps"),
        pytest.param('decode.keep=["/[/"]', 2, "decode.keep: /[/: unterminated character set", id="an expression"),
        pytest.param("data.valid=data/none.tsv", 3, "data/none.tsv: no such file; check the path", id="a missing file"),
    ],
)
def test_a_mistake_is_refused_in_a_line(
    dragoman: Any, project: Path, contents: Any, override: str, code: int, message: str
) -> None:
    before = contents(project / "data")
    assert message in dragoman("train", project / "run.toml", override).refused(code)
    assert contents(project / "data") == before
    assert not (project / "runs/toy/model").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", cases(["unigram", "bpe"], quick=["unigram"]))
def test_the_vocabulary_that_fits_is_reported_and_does_fit(dragoman: Any, project: Path, kind: str) -> None:
    smallest = [f"tokenizer.kind={kind}", "train.max_steps=1", "train.output=elsewhere"]
    complaint = dragoman("train", project / "run.toml", *smallest, "tokenizer.vocab_size=5000").refused(2)
    fits = complaint.split("set ")[1].split()[0]
    assert dragoman("train", project / "run.toml", *smallest, f"tokenizer.vocab_size={fits}").code == 0


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        pytest.param(
            lambda data: (data / "train.de").write_text((data / "train.de").read_text() + "mehr\n"),
            "train.en: 300 lines, but {data}/train.de: 301; they correspond up to about line 300: ",
            id="unequal lines",
        ),
        pytest.param(lambda data: (data / "train.de").unlink(), "train.de: no such file; check the path", id="missing"),
        pytest.param(
            lambda data: (data / "train.en").write_bytes(b"\xff" + (data / "train.en").read_bytes()),
            "train.en:1: not UTF-8 (byte 0xff)",
            id="not UTF-8",
        ),
        pytest.param(
            lambda data: (data / "train.en").write_bytes(b"\n" + (data / "train.en").read_bytes().split(b"\n", 1)[1]),
            "train.en:1: empty line; each line must translate the same line of train.de",
            id="an empty side",
        ),
        pytest.param(
            lambda data: [path.write_text("") for path in data.glob("train.*")], "train.en: no lines", id="no text"
        ),
    ],
)
def test_text_that_cannot_be_trained_on_is_refused_before_anything_is_written(
    dragoman: Any, project: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(project / "data")
    complaint = dragoman("train", project / "run.toml").refused(3)
    assert complaint.startswith(f"{project}/data/" + message.format(data=project / "data"))
    assert not (project / "runs").exists()


def test_an_output_below_a_file_is_refused_and_the_file_is_kept(dragoman: Any, project: Path) -> None:
    (project / "file").write_text("mine")
    complaint = dragoman("train", project / "run.toml", "train.output=file/run").refused(1)
    assert complaint.startswith(f"{project}/file/run: cannot be written: Not a directory; check the path")
    assert (project / "file").read_text() == "mine"


def test_a_missing_configuration_says_how_to_write_one(dragoman: Any, tmp_path: Path) -> None:
    complaint = dragoman("train", tmp_path / "run.toml").refused(2)
    assert complaint == f"{tmp_path}/run.toml: no such file; write one with `dragoman init NAME --pair ko-en`"


def test_a_finished_run_is_not_trained_over(dragoman: Any, resumable: Path, contents: Any) -> None:
    before = contents(resumable)
    complaint = dragoman("train", resumable / "run.toml").refused(2)
    assert complaint == (
        f"{resumable}/runs/toy: holds a run at step 8; continue it with --resume, or choose another train.output"
    )
    assert contents(resumable) == before


@pytest.mark.slow
def test_a_run_that_stopped_before_its_first_checkpoint_starts_again(dragoman: Any, project: Path) -> None:
    """Its tokenizer and text may have been other ones."""
    dragoman("train", project / "run.toml", "tokenizer.vocab_size=40")
    for name in ("checkpoints", "model"):
        shutil.rmtree(project / "runs/toy" / name)
    assert dragoman("train", project / "run.toml").code == 0
    shown = json.loads(dragoman("model", "show", project / "runs/toy/model", "--json").out)
    assert shown["training"]["step"] == 8
    assert "56 (unigram)" in dragoman("model", "show", project / "runs/toy/model").out
    assert [event["step"] for event in metrics_of(project)] == [4, 4, 8, 8]


# --- resuming ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize("update", cases([3, 4, 6], quick=[4]), ids=lambda n: f"in update {n}")
def test_a_stopped_run_resumes_to_the_very_same_weights(
    dragoman: Any,
    trained: Path,
    project: Path,
    at_update: Any,
    monkeypatch: pytest.MonkeyPatch,
    update: int,
    number: int,
) -> None:
    at_update(update, lambda: os.kill(os.getpid(), number))
    complaint = dragoman("train", project / "run.toml").refused(130)
    resume = f"dragoman train {project / 'run.toml'} --resume"
    assert complaint == f"stopped at step {update}, saved; continue with: {resume}"
    monkeypatch.undo()
    result = dragoman("train", project / "run.toml", "--resume")
    assert result.code == 0
    assert f"resumed at step {update}" in result.err
    assert weights_of(project) == weights_of(trained)
    assert [event["step"] for event in metrics_of(project)] == [4, 4, 8, 8]


@pytest.mark.slow
def test_a_run_killed_between_checkpoints_resumes_to_the_very_same_weights(
    dragoman: Any, trained: Path, project: Path, at_update: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die() -> None:
        raise RuntimeError("as if the power had gone")

    at_update(7, die)
    assert dragoman("train", project / "run.toml").code == 1
    monkeypatch.undo()
    assert "resumed at step 4" in dragoman("train", project / "run.toml", "--resume").err
    assert weights_of(project) == weights_of(trained)


def test_a_finished_run_continues_for_longer(dragoman: Any, resumable: Path) -> None:
    result = dragoman("train", resumable / "run.toml", "train.max_steps=12", "--resume")
    assert result.code == 0
    assert [event["step"] for event in metrics_of(resumable)] == [4, 4, 8, 8, 12, 12]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize(
    ("module", "work", "state"),
    [
        (loop, "best_average", "stopped at step 4, saved"),
        (train, "write_model", "trained to step 4, saved, but the model is not written yet"),
    ],
    ids=["averaged", "scored"],
)
def test_a_run_interrupted_while_its_model_is_made_resumes_to_write_it_and_no_further(
    dragoman: Any, project: Path, monkeypatch: pytest.MonkeyPatch, module: Any, work: str, state: str, number: int
) -> None:
    uninterrupted = getattr(module, work)

    def interrupted(*arguments: Any) -> Any:
        os.kill(os.getpid(), number)
        return uninterrupted(*arguments)

    monkeypatch.setattr(module, work, interrupted)
    complaint = dragoman("train", project / "run.toml", "train.max_steps=4").refused(130)
    assert complaint == f"{state}; continue with: dragoman train {project / 'run.toml'} --resume"
    monkeypatch.undo()
    result = dragoman("train", project / "run.toml", "--resume")
    assert result.code == 0
    assert "as at the start: train.max_steps=4" in result.err
    assert json.loads((project / "runs/toy/model/bundle.json").read_bytes())["training"]["step"] == 4
    assert [event["step"] for event in metrics_of(project)] == [4, 4], "8, as the file says, only when asked for"
    assert dragoman("train", project / "run.toml", "--resume").code == 0
    assert [event["step"] for event in metrics_of(project)] == [4, 4, 8, 8]


def test_threads_and_device_may_change_with_a_notice_of_what_differs(
    dragoman: Any, resumable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    changed = ["train.threads=2", "train.device=auto", "train.max_steps=9"]
    result = dragoman("train", resumable / "run.toml", *changed, "--resume")
    assert result.code == 0, result.err
    assert result.err.count("will not be bit-identical") == 1, "auto is the CPU of before"
    assert "started with 1 thread, now 2: results will not be bit-identical" in result.err


def test_what_does_not_touch_the_arithmetic_may_change(dragoman: Any, resumable: Path) -> None:
    given = ["train.parallel=fsdp", "train.peer_timeout=60", "train.recompute=true", "train.max_steps=9"]
    assert dragoman("train", resumable / "run.toml", *given, "--resume").code == 0


def test_a_project_may_be_moved_and_resumed(dragoman: Any, resumable: Path) -> None:
    moved = resumable.rename(resumable.parent / "moved")
    assert dragoman("train", moved / "run.toml", "train.max_steps=9", "--resume").code == 0


@pytest.mark.parametrize(
    ("override", "key", "old", "new"),
    [
        ("train.seed=2", "train.seed", "1", "2"),
        ("model.dropout=0.3", "model.dropout", "0.1", "0.3"),
        ("tokenizer.vocab_size=40", "tokenizer.vocab_size", "56", "40"),
        ("train.batch_tokens=99", "train.batch_tokens", "256", "99"),
        ("data.max_length=9", "data.max_length", "200", "9"),
    ],
)
def test_another_configuration_is_refused_with_the_key_and_both_values(
    dragoman: Any, resumable: Path, contents: Any, override: str, key: str, old: str, new: str
) -> None:
    before = contents(resumable)
    complaint = dragoman("train", resumable / "run.toml", override, "--resume").refused(2)
    assert complaint == (
        f"{resumable}/runs/toy: the run started with {key} = {old}, now it is {new}; "
        "set it back, or start a new run with another train.output"
    )
    assert contents(resumable) == before


def test_other_files_than_before_are_refused_in_words_a_person_wrote(dragoman: Any, resumable: Path) -> None:
    for language in ("en", "de"):
        shutil.copy(resumable / f"data/test.{language}", resumable / f"data/other.{language}")
    changed = ["data.valid.source=data/other.en", "data.valid.target=data/other.de"]
    complaint = dragoman("train", resumable / "run.toml", *changed, "--resume").refused(2)
    assert "the run started with data.valid = " in complaint
    assert "valid.en" in complaint
    assert "other.en" in complaint


@pytest.mark.parametrize("name", ["train.de", "valid.en"])
def test_changed_text_is_refused_by_file(dragoman: Any, resumable: Path, contents: Any, name: str) -> None:
    path = resumable / "data" / name
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[1], lines[0], *lines[2:]]) + "\n")
    before = contents(resumable / "runs")
    complaint = dragoman("train", resumable / "run.toml", "--resume").refused(2)
    assert re.fullmatch(
        rf"{path}: has changed since the run began \(sha256 [0-9a-f]{{12}}… then, [0-9a-f]{{12}}… now\); "
        "restore it, or start a new run",
        complaint,
    )
    assert contents(resumable / "runs") == before


def test_nothing_to_resume_is_reported(dragoman: Any, project: Path) -> None:
    complaint = dragoman("train", project / "run.toml", "--resume").refused(2)
    assert complaint == f"{project}/runs/toy: holds no checkpoint to resume; start without --resume"
    assert not (project / "runs").exists()


def test_metrics_torn_within_a_character_are_taken_up_again(dragoman: Any, resumable: Path) -> None:
    path = resumable / "runs/toy/metrics.jsonl"
    kept = [*path.read_bytes().split(b"\n")[:-1], '{"event": "notice", "step": 8, "text": "one\u2028line"}'.encode()]
    torn = '{"event": "validation", "step": 12, "text": "한'.encode()[:-1]
    path.write_bytes(b"\n".join([*kept, torn]))
    assert dragoman("train", resumable / "run.toml", "train.max_steps=9", "--resume").code == 0
    lines = path.read_bytes().split(b"\n")
    assert lines[: len(kept)] == kept
    assert lines.pop() == b""
    assert json.loads(lines[-1])["step"] == 9


# --- a full disk -------------------------------------------------------------------------------------------------


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.slow
def test_a_full_disk_at_a_checkpoint_is_reported_and_the_run_resumes_once_there_is_space(
    dragoman: Any, trained: Path, project: Path, at_update: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_update(6, lambda: monkeypatch.setattr(Path, "write_bytes", full))
    complaint = dragoman("train", project / "run.toml").refused(1)
    assert complaint.startswith(
        f"{project}/runs/toy/checkpoints/00000008: cannot be written: No space left on device; "
    )
    assert "continue with --resume" in complaint
    monkeypatch.undo()
    assert dragoman("train", project / "run.toml", "--resume").code == 0
    assert weights_of(project) == weights_of(trained)


def test_a_full_disk_while_a_run_is_resumed_does_not_spoil_it(
    dragoman: Any, resumable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def torn(self: Path, *_: object, **__: object) -> None:
        with self.open("w"):
            full()

    monkeypatch.setattr(Path, "write_text", torn)
    dragoman("train", resumable / "run.toml", "train.max_steps=9", "--resume").refused(1)
    monkeypatch.undo()
    assert dragoman("train", resumable / "run.toml", "train.max_steps=9", "--resume").code == 0


@pytest.mark.slow
def test_text_is_changed_and_cut_again_when_asked(dragoman: Any, project: Path) -> None:
    plain = dragoman("train", project / "run.toml", "train.max_steps=4")
    assert plain.code == 0
    changing = ["tokenizer.sampling=0.5", "data.augment.upper=0.5", f"train.output={project / 'runs/other'}"]
    assert dragoman("train", project / "run.toml", "train.max_steps=4", *changing).code == 0
    tokens = [
        json.loads((project / f"runs/{name}/checkpoints/00000004/training.json").read_text())["target_tokens"]
        for name in ("toy", "other")
    ]
    assert tokens[0] != tokens[1]


def test_a_model_larger_than_memory_is_refused(dragoman: Any, project: Path) -> None:
    """Before the text is read and anything is allocated."""
    for width in (1_000_000, 1_000_000_000):
        complaint = dragoman("train", project / "run.toml", f"model.d_model={width}").refused(5)
        assert re.fullmatch(
            r"out of memory: to train [\d,]+ M parameters takes at least [\d,.]+ GiB and [\d,.]+ GiB are free; "
            r"choose a smaller model\.preset or model\.d_model",
            complaint,
        )
    assert not (project / "runs").exists()


@pytest.mark.slow
def test_compiled_layers_learn_the_same(dragoman: Any, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled in a process of its own, for the type checks of the tests are not to be compiled."""
    keys = ["train.compile=true", "train.max_steps=2", "train.log_every=1", "train.validate_every=2", "model.dropout=0"]
    command = ["train", str(project / "run.toml"), *keys, f"train.output={project / 'compiled'}"]
    subprocess.run([sys.executable, "-m", "dragoman", *command], check=True, capture_output=True)
    monkeypatch.setattr("torch.compile", lambda function, **_: function)
    assert dragoman("train", project / "run.toml", *keys, f"train.output={project / 'plain'}").code == 0
    losses = []
    for name in ("plain", "compiled"):
        events = [json.loads(line) for line in (project / name / "metrics.jsonl").read_text().splitlines()]
        losses.append([event["loss"] for event in events])
    assert len(losses[0]) == 3
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)
