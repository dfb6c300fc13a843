"""`dragoman import`: what the command says and writes, and where the origin of a model goes from there."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.bundle import open_bundle
from dragoman.bundled import HOME
from dragoman.workflows.importing import import_model as workflow
from importing.foreign_models import weights_reader


@pytest.fixture
def ct2(tmp_path: Path) -> Path:
    """A folder of CTranslate2 with its SentencePiece model: the bundled model's own files."""
    folder = Path(shutil.copytree(HOME / "en-ko/ct2-int8", tmp_path / "theirs"))
    shutil.copyfile(HOME / "en-ko/tokenizer/joint.model", folder / "sentencepiece.model")
    (folder / "LICENSE").write_text("Attribution-NonCommercial 4.0 International", encoding="utf-8")
    return folder


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    pairs = [("The file is closed.", "파일이 닫힙니다."), ("Select a color.", "색상을 선택합니다.")]
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


@pytest.fixture
def toy(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A folder whose reader returns the trained toy model, with changed tensors."""

    def folder(**changed: Any) -> Path:
        monkeypatch.setattr(workflow, "reader_of", lambda kind: weights_reader(model, **changed))
        (tmp_path / "theirs").mkdir(exist_ok=True)
        (tmp_path / "theirs/LICENSE").write_text("Apache License", encoding="utf-8")
        return tmp_path / "theirs"

    return folder


@pytest.mark.slow
def test_a_folder_of_ctranslate2_is_imported_and_translates(
    dragoman: Any, ct2: Path, text: Path, tmp_path: Path
) -> None:
    ours = tmp_path / "ours"
    done = dragoman("import", ct2, text, "-o", ours, "--pair", "en-ko", "--json")
    assert done.code == 0, done.err
    assert done.err.splitlines()[-1] == "NOT FOR COMMERCIAL USE: the licence of theirs is cc-by-nc-4.0."
    facts = json.loads(done.out)
    assert (facts["schema"], facts["model"]) == ("dragoman.import/1", str(ours))
    assert facts["trial"]["pairs"] == 2
    assert [score["metric"] for score in facts["scores"]] == ["BLEU", "chrF2"]
    line = "The file is closed."
    assert dragoman("translate", "-m", ours, line).out == dragoman("translate", "-m", "en-ko", line).out
    shown = dragoman("model", "show", ours).out
    assert "origin        theirs, licence cc-by-nc-4.0 (from LICENSE)\n" in shown
    assert "changed       " in shown
    looked = [dragoman("look", "-m", each, line).out.splitlines()[:2] for each in (ours, "en-ko")]
    assert looked[0] == looked[1]


def test_the_next_command_of_a_model_of_several_targets_names_one(dragoman: Any, tmp_path: Path) -> None:
    theirs = Path(__file__).parents[3] / "importing/fixtures/marian-tc"
    done = dragoman("import", theirs, "-o", tmp_path / "ours", "--no-trial")
    assert f'translate -m {tmp_path / "ours"} --to ko "…"' in done.err
    assert dragoman("translate", "-m", tmp_path / "ours", "--to", "ko", "dog").code == 0


@pytest.mark.slow
def test_an_import_that_is_terminated_leaves_nothing(
    dragoman: Any, ct2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow, "_try", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    done = dragoman("import", ct2, "-o", tmp_path / "ours", "--pair", "en-ko")
    assert (done.code, [one.name for one in tmp_path.iterdir()]) == (130, ["theirs"])


@pytest.mark.slow
def test_a_wrong_vocabulary_is_refused_with_its_own_exit_code(dragoman: Any, ct2: Path, tmp_path: Path) -> None:
    vocabulary = ct2 / "shared_vocabulary.json"
    pieces = json.loads(vocabulary.read_text(encoding="utf-8"))
    vocabulary.write_text(json.dumps([*pieces[:4], *pieces[5:], pieces[4]]), encoding="utf-8")
    done = dragoman("import", ct2, "-o", tmp_path / "ours", "--pair", "en-ko", "--force")
    complaint = done.refused(6)
    assert complaint.startswith(f"{ct2}: not imported: it does not translate: mean log P of the references -")
    assert complaint.endswith("; --no-trial imports it untried")
    assert not (tmp_path / "ours").exists()


def test_an_untrained_model_is_refused_and_imported_untried(
    dragoman: Any, toy: Callable[..., Path], trained: Path, tmp_path: Path
) -> None:
    ours, valid = tmp_path / "ours", [trained / "data/valid.en", trained / "data/valid.de"]
    assert "it does not translate" in dragoman("import", toy(), *valid, "-o", ours, "--as", "marian").refused(6)
    done = dragoman("import", toy(), "-o", ours, "--as", "marian", "--no-trial")
    assert done.code == 0, done.err
    assert "It was not tried whether the model translates." in done.err
    assert f'translate -m {ours} "…"' in done.err


def test_the_weights_are_those_that_were_read(
    dragoman: Any, toy: Callable[..., Path], model: Path, tmp_path: Path
) -> None:
    assert dragoman("import", toy(), "-o", tmp_path / "ours", "--as", "marian", "--no-trial").code == 0
    ours, theirs = open_bundle(tmp_path / "ours"), open_bundle(model)
    found = dict(ours.load_model().named_parameters())
    for name, parameter in theirs.load_model().named_parameters():
        assert torch.equal(found[name], parameter)
    assert ours.manifest["parameters"] == theirs.manifest["parameters"]
    lines = [dragoman("translate", "-m", one.folder, "the red dog sees a tree").out for one in (ours, theirs)]
    assert lines[0] == lines[1]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"projection": None}, "toy: missing or unexpected tensor projection; fetch the model again"),
        ({"lm_head.weight": torch.ones(2)}, "toy: missing or unexpected tensor lm_head.weight; fetch the model again"),
        (
            {"projection": torch.ones(56, 31)},
            "toy: tensor projection is (56, 31), expected (56, 32); weights and vocab",
        ),
        (
            {"projection": torch.ones(55, 32)},
            "toy: tensor projection is (55, 32), expected (56, 32); weights and vocab",
        ),
        ({"projection": torch.full((56, 32), torch.nan)}, "toy: tensor projection contains NaN or infinity; fetch the"),
    ],
    ids=["missing", "surplus", "narrow", "another vocabulary", "NaN"],
)
def test_tensors_that_do_not_fit_are_named(
    dragoman: Any, toy: Callable[..., Path], tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    folder = toy(**changed)
    complaint = dragoman("import", folder, "-o", tmp_path / "ours", "--as", "marian", "--no-trial").refused(4)
    assert complaint.startswith(message)
    assert not (tmp_path / "ours").exists()


def test_an_import_is_exported_at_once(dragoman: Any, toy: Callable[..., Path], trained: Path, tmp_path: Path) -> None:
    ours, valid = tmp_path / "ours", [trained / "data/valid.en", trained / "data/valid.de"]
    options = ["--as", "marian", "--no-trial", "-q", "float32"]
    assert dragoman("import", toy(), "-o", ours, *options).refused(2) == (
        "--quantization: needs text to verify the export with; give SOURCE REFERENCE"
    )
    done = dragoman("import", toy(), *valid, "-o", ours, *options, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["export"]["name"] == "ct2-float32"
    bundle = open_bundle(ours)
    assert [folder.name for folder in bundle.exports] == ["ct2-float32"]
    assert bundle.manifest["exports"]["ct2-float32"]["log_prob_difference"] < 1e-4
    assert {path.name for path in tmp_path.iterdir()} == {"ours", "theirs"}


def fine_tuning(project: Path, base: Path) -> list[str]:
    return [str(project / "run.toml"), f"train.start_from={base}", "train.max_steps=4", "train.warmup=2"]


@pytest.mark.slow
def test_the_origin_goes_to_all_descendants(
    dragoman: Any, toy: Callable[..., Path], project: Path, tmp_path: Path
) -> None:
    ours, run = tmp_path / "ours", project / "runs/toy"
    assert dragoman("import", toy(), "-o", ours, "--as", "marian", "--no-trial").code == 0
    done = dragoman("train", *fine_tuning(project, ours))
    assert done.code == 0, done.err
    assert "its licence binds what is made from it: apache-2.0 (from LICENSE)" in done.err
    tuned = open_bundle(run / "model")
    origin = tuned.manifest["origin"]
    assert (origin["name"], origin["license"]) == ("toy", "apache-2.0")
    assert origin["changes"] == ["Nothing.", "It was fine-tuned from the model `ours` with Dragoman."]
    card = (tuned.folder / "README.md").read_text(encoding="utf-8")
    assert "## Origin\n\n- model: `toy`" in card
    assert "- changed: It was fine-tuned from the model `ours` with Dragoman." in card
    shutil.rmtree(ours)  # a resumed run does not need its base
    done = dragoman("train", *fine_tuning(project, ours)[:2], "train.max_steps=6", "train.warmup=2", "--resume")
    assert done.code == 0, done.err
    assert open_bundle(run / "model").manifest["origin"] == origin
    valid = [project / "data/valid.en", project / "data/valid.de"]
    shipped = tmp_path / "shipped"
    assert dragoman("export", run / "model", *valid, "-q", "float32", "-o", shipped).code == 0
    assert open_bundle(shipped).manifest["origin"] == origin
    assert "## Origin" in (shipped / "README.md").read_text(encoding="utf-8")
    student = [project / "run.toml", "train.output=student", "train.max_steps=2"]
    done = dragoman("distill", "-m", run / "model", *student)
    assert done.code == 0, done.err
    learned = open_bundle(project / "student/model").manifest["origin"]["changes"]
    assert learned == [*origin["changes"], "It was trained on translations by the model `toy` with Dragoman."]


def test_a_model_of_training_is_not_replaced(dragoman: Any, toy: Callable[..., Path], resumable: Path) -> None:
    trained = resumable / "runs/toy/model"
    complaint = dragoman("import", toy(), "-o", trained, "--as", "marian", "--no-trial", "--force").refused(2)
    assert complaint == f"{trained}: holds a model of training, which is never replaced; choose another folder"


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["nowhere", "-o", "ours"], 4, "nowhere: no such file or folder; give the model's folder, or hf:NAME"),
        (["theirs", "-o", "ours", "--as", "onnx"], 2, "--as onnx: choose one of: marian, m2m, npz, ctranslate2, argos"),
        (["theirs", "-o", "ours", "--pair", "en"], 2, '--pair en: not two languages; give, for example, "ko-en"'),
        (["theirs", "-o", "ours"], 2, "--pair: a folder of CTranslate2 names no languages"),
        (["theirs", "a", "b", "c", "-o", "ours"], 2, "c: too many arguments; give MODEL, or MODEL SOURCE REFERENCE"),
        (["theirs", "a.en", "-o", "ours"], 2, "a.en: give the file of the other side too, or one .tsv or .jsonl"),
        (["theirs", "a.tsv", "-o", "ours"], 3, "a.tsv: "),
        (["theirs", "-o", "ours", "-q", "int4"], 2, "quantization int4: choose one of int8, int8_bfloat16, float32"),
        (["theirs", "-o", "ours", "-q", ""], 2, "quantization : choose one of int8, int8_bfloat16, float32"),
        (["theirs", "-o", "ours", "--license", " "], 2, "license ' ': give its name in one line, such as cc-by-4.0"),
        (["theirs", "-o", "/"], 2, "/: already exists and is not a model folder; choose another folder"),
        (["theirs"], 2, "Missing option '--output'"),
        (["theirs", "-o", "theirs"], 2, "theirs: already exists and is not a model folder; choose another folder"),
        (["hf:not a name", "-o", "ours"], 2, "hf:not a name: not a name; give hf:OWNER/NAME"),
    ],
)
def test_what_is_wrong_is_named(
    dragoman: Any,
    ct2: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dragoman("import", *arguments).refused(code).startswith(complaint)
    assert not (tmp_path / "ours").exists()
