"""`distill`: a student of a teacher's translations, however often it is interrupted."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from dragoman.bundle import open_bundle
from dragoman.data.corpus.corpus import read_lines
from dragoman.system.files import fingerprint
from dragoman.translator import Translator
from dragoman.workflows.train import distil
from suites import cases

DISTILLED = "runs/toy/distilled.tsv"
WEIGHTS = "runs/toy/model/model.safetensors"


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three hundred sentences in several windows."""
    monkeypatch.setattr(distil, "WINDOW", 64)


@pytest.fixture
def student(project: Path) -> Path:
    """The run of a student that is smaller than its teacher, which leaves the pieces to that; its run.toml."""
    config = project / "run.toml"
    text = re.sub(r"\[tokenizer\]\n[^\[]*", "", config.read_text(encoding="utf-8"))
    config.write_text(text.replace("d_model = 32", "d_model = 16"), encoding="utf-8")
    return config


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, type[BaseException]], None]:
    """Have the teacher fall over at its n-th window."""

    def after(windows: int, error: type[BaseException]) -> None:
        translate, left = Translator.translate, iter(range(windows))

        def fall(self: Translator, text: Any, **options: Any) -> Any:
            if len(text) > 1 and next(left, None) is None:
                raise error
            return translate(self, text, **options)

        monkeypatch.setattr(Translator, "translate", fall)

    return after


@pytest.mark.slow
def test_the_student_learns_the_teachers_translations_with_its_pieces(
    dragoman: Any, student: Path, model: Path
) -> None:
    result = dragoman("distill", model, student)
    assert result.code == 0, result.err
    assert result.out == ""
    assert f"distilling {model} with its tokenizer" in result.err
    folder = student.parent
    sources = list(read_lines(folder / "data/train.en"))
    rows = [line.split("\t") for line in read_lines(folder / DISTILLED)]
    assert [row[0] for row in rows] == sources
    alone = [found.text for found in Translator.load(model, device="cpu").stream(sources, 64)]
    people = list(read_lines(folder / "data/train.de"))
    assert [row[1] for row in rows] == [ours or theirs for ours, theirs in zip(alone, people, strict=True)]
    bundle = open_bundle(folder / "runs/toy/model")
    assert (bundle.folder / "tokenizer/joint.model").read_bytes() == (model / "tokenizer/joint.model").read_bytes()
    assert bundle.config.model.d_model == 16
    assert bundle.config.tokenizer == open_bundle(model).config.tokenizer
    assert [corpus.source.name for corpus in bundle.config.data.train] == ["distilled.tsv"]
    card = (bundle.folder / "README.md").read_text(encoding="utf-8")
    assert "It was trained on translations by the model `toy`" in card
    assert bundle.manifest["scores"][0]["on"] == "test"
    assert dragoman("translate", "-m", bundle.folder, "bird").code == 0


@pytest.mark.slow
def test_a_student_of_the_teachers_widths_begins_with_its_layers(dragoman: Any, student: Path, model: Path) -> None:
    text = student.read_text(encoding="utf-8").replace("d_model = 16", "d_model = 32")
    student.write_text(text, encoding="utf-8")
    result = dragoman("distill", model, student, "train.learning_rate=1e-9", "train.max_steps=2")
    assert result.code == 0, result.err
    assert f"the student is initialised with layers of {model}" in result.err
    teacher, ours = (load_file(where) for where in (model / "model.safetensors", student.parent / WEIGHTS))
    assert all((teacher[name] - ours[name]).abs().max() < 1e-5 for name in teacher), "at a rate of nothing, the same"


@pytest.mark.slow
def test_peoples_pairs_may_be_kept_and_the_shape_named(dragoman: Any, student: Path, model: Path) -> None:
    text = re.sub(r"\[model\]\n[^\[]*", "", student.read_text(encoding="utf-8"))
    student.write_text(text, encoding="utf-8")
    result = dragoman("distill", model, student, "--keep-original", "--preset", "tiny", "train.max_steps=1")
    assert result.code == 0, result.err
    config = open_bundle(student.parent / "runs/toy/model").config
    assert [corpus.source.name for corpus in config.data.train] == ["distilled.tsv", "train.en"]
    assert config.model.preset == "tiny"


@pytest.mark.slow
def test_every_corpus_has_its_own_file_and_keeps_its_weight(dragoman: Any, student: Path, model: Path) -> None:
    with student.open("a", encoding="utf-8") as file:
        file.write('\n[[data.train]]\nsource = "data/valid.en"\ntarget = "data/valid.de"\nweight = 2\n')
    assert dragoman("distill", model, student, "train.max_steps=1").code == 0
    train = open_bundle(student.parent / "runs/toy/model").config.data.train
    assert [(corpus.source.name, corpus.weight) for corpus in train] == [("distilled.tsv", 1), ("distilled-2.tsv", 2)]
    assert len(list(read_lines(student.parent / "runs/toy/distilled-2.tsv"))) == 12


@pytest.mark.slow
def test_a_key_is_reported_to_have_no_effect_only_if_it_was_given(dragoman: Any, student: Path, model: Path) -> None:
    config = student.read_text(encoding="utf-8").replace("batch_tokens = 256", 'batch_tokens = "auto"')
    student.write_text(config, encoding="utf-8")
    small = ["train.update_tokens=256", "train.max_steps=1"]
    result = dragoman("distill", model, student, *small)
    assert result.code == 0, result.err
    assert "train.accumulate" not in result.err
    other = f"train.output={student.parent}/runs/other"
    result = dragoman("distill", model, student, *small, "train.accumulate=1", other)
    assert "train.accumulate: has no effect" in result.err


# --- interrupted --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("torn", cases([0, 7, 400], quick=[7]))
def test_interrupted_and_resumed_equals_uninterrupted(
    dragoman: Any, student: Path, model: Path, tmp_path: Path, killed: Any, monkeypatch: pytest.MonkeyPatch, torn: int
) -> None:
    """`torn` bytes of the file's end are lost with the power."""
    other = Path(shutil.copytree(student.parent, tmp_path / "other"))
    assert dragoman("distill", model, student).code == 0
    killed(3, KeyboardInterrupt)
    complaint = dragoman("distill", model, other / "run.toml").refused(130)
    assert complaint.startswith(f"{other}/{DISTILLED}: interrupted; the translations are kept, continue with: ")
    assert complaint.endswith(f" distill -m {model} {other / 'run.toml'} --resume")
    monkeypatch.undo()
    monkeypatch.setattr(distil, "WINDOW", 64)
    content = (other / DISTILLED).read_bytes()
    assert content.count(b"\n") == 3 * 64
    (other / DISTILLED).write_bytes(content[: len(content) - torn])
    assert dragoman("distill", model, other / "run.toml", "--resume").code == 0
    for name in (DISTILLED, WEIGHTS):
        assert (student.parent / name).read_bytes() == (other / name).read_bytes()


@pytest.mark.slow
def test_a_student_stopped_in_training_resumes_without_translating(
    dragoman: Any, student: Path, model: Path, tmp_path: Path, killed: Any
) -> None:
    other = Path(shutil.copytree(student.parent, tmp_path / "other")) / "run.toml"
    assert dragoman("distill", model, student, "train.translate_lines=0").code == 0
    assert dragoman("distill", model, other, "train.translate_lines=0", "train.max_steps=4").code == 0
    killed(1, AssertionError)  # the test set at the end is all that is translated
    result = dragoman("distill", model, other, "train.translate_lines=0", "--resume")
    assert result.code == 0, result.err
    assert "resumed at step 4" in result.err
    one, two = (load_file(config.parent / WEIGHTS) for config in (student, other))
    assert all(one[name].equal(two[name]) for name in one)


@pytest.mark.parametrize(
    ("first", "then", "complaint"),
    [
        (["--keep-original"], [], "were started with --keep-original; give it again"),
        ([], ["--keep-original"], "were started without --keep-original; leave it out"),
    ],
)
def test_the_human_references_are_kept_from_start_to_end_or_not_at_all(
    dragoman: Any, student: Path, model: Path, killed: Any, first: list[str], then: list[str], complaint: str
) -> None:
    killed(2, KeyboardInterrupt)
    stopped = dragoman("distill", model, student, *first).refused(130)
    assert stopped.endswith(" ".join(["continue with: dragoman distill -m", f"{model} {student}", *first, "--resume"]))
    refused = dragoman("distill", model, student, *then, "--resume").refused(2)
    assert refused == f"{student.parent}/runs/toy: the translations {complaint}, or choose another train.output"


# --- refused ------------------------------------------------------------------------------------------------------


def test_a_missing_teacher_is_reported(dragoman: Any, student: Path) -> None:
    assert "nowhere: no such model folder" in dragoman("distill", "nowhere", student).refused(4)
    assert not (student.parent / "runs").exists()


def test_a_teacher_of_other_languages_is_reported_with_both(dragoman: Any, student: Path, model: Path) -> None:
    complaint = dragoman("distill", model, student, "project.target=fr").refused(2)
    assert complaint == (
        f"{student}: translates en → fr, but the teacher {model} en → de; give a teacher of the same languages"
    )
    assert not (student.parent / "runs").exists()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("tokenizer.vocab_size=99", "tokenizer.vocab_size: differs from {model}; leave [tokenizer] out"),
        ("train.start_from=x", "train.start_from: a student starts without a base model; leave it out"),
        ("model.layer=3", "model.layer: unknown key; did you mean model.layers?"),
    ],
)
def test_keys_that_contradict_are_reported(
    dragoman: Any, student: Path, model: Path, change: str, complaint: str
) -> None:
    assert complaint.format(model=model) in dragoman("distill", model, student, change).refused(2)
    assert not (student.parent / "runs").exists()


@pytest.mark.slow
def test_how_pieces_are_sampled_is_the_students_own(dragoman: Any, student: Path, model: Path) -> None:
    result = dragoman("distill", model, student, "tokenizer.sampling=0.2", "train.max_steps=1")
    assert result.code == 0, result.err
    assert open_bundle(student.parent / "runs/toy/model").config.tokenizer.sampling == 0.2


def test_an_unknown_preset_and_a_missing_text_are_reported(dragoman: Any, student: Path, model: Path) -> None:
    assert "model.preset" in dragoman("distill", model, student, "--preset", "giant").refused(2)
    (student.parent / "data/train.de").unlink()
    assert "train.de: no such file" in dragoman("distill", model, student).refused(3)


def test_several_processes_are_refused(
    dragoman: Any, student: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "start it without torchrun" in dragoman("distill", model, student).refused(2)


@pytest.mark.slow
def test_nothing_is_overwritten_and_nothing_resumed_that_is_not_there(
    dragoman: Any, student: Path, model: Path, contents: Any
) -> None:
    complaint = dragoman("distill", model, student, "--resume").refused(2)
    assert complaint == f"{student.parent}/runs/toy: holds no distilled text to resume; start without --resume"
    assert dragoman("distill", model, student, "train.max_steps=1").code == 0
    before = contents(student.parent)
    complaint = dragoman("distill", model, student).refused(2)
    assert complaint.startswith(f"{student.parent}/runs/toy: holds distilled text; continue with --resume")
    assert contents(student.parent) == before
    (student.parent / "runs/toy/distilled.json").unlink()
    assert "holds a run at step 1" in dragoman("distill", model, student).refused(2)


def test_a_folder_with_a_persons_files_is_no_place_for_a_student(
    dragoman: Any, student: Path, model: Path, contents: Any
) -> None:
    (student.parent / "data/distilled.tsv").write_text("mine\n", encoding="utf-8")
    before = contents(student.parent)
    complaint = dragoman("distill", model, student, "train.output=data").refused(2)
    assert complaint.startswith(
        f"{student.parent}/data: holds files that are not of a run; choose another train.output"
    )
    assert contents(student.parent) == before


def test_a_student_never_takes_its_teachers_place(
    dragoman: Any, student: Path, model: Path, tmp_path: Path, contents: Any
) -> None:
    teacher = Path(shutil.copytree(model, tmp_path / "run/model"))
    before = contents(teacher)
    complaint = dragoman("distill", teacher, student, f"train.output={tmp_path}/run").refused(2)
    assert complaint == f"{student}: the student would overwrite its teacher; choose another train.output"
    assert contents(teacher) == before


def test_what_changed_between_is_reported(
    dragoman: Any, student: Path, model: Path, killed: Any, tmp_path: Path
) -> None:
    teacher = Path(shutil.copytree(model, tmp_path / "teacher"))
    killed(2, KeyboardInterrupt)
    assert dragoman("distill", teacher, student).code == 130
    text = student.parent / "data/train.de"
    content = text.read_text()
    text.write_text(content.replace("hund", "katz", 1))
    assert "the text changed since" in dragoman("distill", teacher, student, "--resume").refused(2)
    text.write_text(content)
    weights = load_file(teacher / "model.safetensors")
    save_file({name: tensor + 1 for name, tensor in weights.items()}, teacher / "model.safetensors")
    manifest = json.loads((teacher / "bundle.json").read_text())
    manifest["files"] |= {"model.safetensors": fingerprint(teacher / "model.safetensors")}
    (teacher / "bundle.json").write_text(json.dumps(manifest))
    assert "the teacher changed since" in dragoman("distill", teacher, student, "--resume").refused(2)


def test_a_teacher_exported_meanwhile_translates_the_rest_with_the_engine_of_before(
    dragoman: Any, student: Path, model: Path, killed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher = Path(shutil.copytree(model, tmp_path / "teacher"))
    assert dragoman("distill", teacher, student, f"train.output={tmp_path}/whole", "train.max_steps=1").code == 0
    killed(2, KeyboardInterrupt)
    assert dragoman("distill", teacher, student, "train.max_steps=1").code == 130
    monkeypatch.undo()
    monkeypatch.setattr(distil, "WINDOW", 64)
    held_out = [student.parent / "data" / name for name in ("valid.en", "valid.de")]
    assert dragoman("export", "-m", teacher, *held_out).code == 0
    assert open_bundle(teacher).exports
    result = dragoman("distill", teacher, student, "--resume")
    assert result.code == 0, result.err
    assert json.loads((student.parent / "runs/toy/distilled.json").read_bytes())["engine"] == "torch"
    assert (student.parent / DISTILLED).read_bytes() == (tmp_path / "whole/distilled.tsv").read_bytes()


def test_an_expression_that_is_none_is_refused_before_the_teacher_translates(
    dragoman: Any, student: Path, model: Path, killed: Any
) -> None:
    killed(0, AssertionError)
    complaint = dragoman("distill", model, student, 'decode.keep=["/[/"]').refused(2)
    assert complaint.startswith("decode.keep: /[/: unterminated character set")
    assert not (student.parent / "runs").exists()


@pytest.mark.slow
def test_a_full_disk_is_reported_and_the_written_part_is_resumed(
    dragoman: Any, student: Path, model: Path, killed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(2, OSError(28, "No space left on device"))  # type: ignore[arg-type]  # raised as it is
    complaint = dragoman("distill", model, student).refused(1)
    assert "No space left on device; free some space and try again; the translations are kept" in complaint
    monkeypatch.undo()
    assert dragoman("distill", model, student, "--resume").code == 0


@pytest.mark.slow
def test_an_altered_translation_is_reported(dragoman: Any, student: Path, model: Path) -> None:
    assert dragoman("distill", model, student, "train.max_steps=1").code == 0
    path = student.parent / DISTILLED
    path.write_text(path.read_text().replace("\t", "\tx ", 1))
    assert "distilled.tsv: was altered" in dragoman("distill", model, student, "--resume").refused(2)
    (path.parent / "distilled.json").write_text("{}")
    assert "distilled.json: cannot be read" in dragoman("distill", model, student, "--resume").refused(2)


def test_what_was_given_is_remembered_before_the_teacher_has_finished(
    dragoman: Any, student: Path, model: Path, killed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(2, KeyboardInterrupt)
    assert dragoman("distill", model, student, "train.max_steps=1", "train.seed=7").code == 130
    monkeypatch.undo()
    resumed = dragoman("distill", model, student, "--resume")
    assert "as at the start: train.max_steps=1 train.seed=7" in resumed.err
    assert resumed.code == 0, resumed.err
    assert "max_steps = 1\n" in (student.parent / "runs/toy/config.toml").read_text()


@pytest.mark.slow
def test_a_student_resumes_with_the_numbers_that_it_chose(dragoman: Any, model: Path, student: Path) -> None:
    keys = ["train.max_steps=auto", "train.warmup=auto", "train.validate_every=auto", "train.translate_lines=0"]
    first = dragoman("distill", model, student, *keys, "train.batch_tokens=8000", "train.max_minutes=0.01")
    assert first.code == 0, first.err
    longer = dragoman("distill", model, student, "train.max_minutes=0.02", "--resume")
    assert longer.code == 0, longer.err
    assert "as at the start: train.max_steps=auto" in longer.err
