"""A bundle that was imported from CTranslate2: what needs weights says so in one line, everything else works."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator
from dragoman.bundle import open_bundle
from dragoman.cli.main import main
from dragoman.config.file import load_config

WHY = "was imported from CTranslate2, which has no weights to train; import the original"


@pytest.fixture(scope="module")
def imported(trained: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trained model's export, as a folder of CTranslate2 that is imported again."""
    there = tmp_path_factory.mktemp("imported")
    pairs = [str(trained / "data" / f"valid.{side}") for side in ("en", "de")]
    assert main(["export", str(model), *pairs, "-q", "float32", "-o", str(there / "export")]) == 0
    folder = shutil.copytree(there / "export" / "ct2-float32", there / "folder")
    shutil.copy(there / "export" / "tokenizer" / "joint.model", folder / "sentencepiece.model")
    made = ["import", str(folder), "-o", str(there / "model"), "--pair", "en-de", "--no-trial", "--license", "CC0"]
    assert main(made) == 0
    return there / "model"


Arguments = Callable[[Path, Path], tuple[object, ...]]
REFUSED: dict[str, Arguments] = {
    "export": lambda model, data: ("export", model, "-q", "int8"),
    "shortlist": lambda model, data: ("model", "shortlist", model, data / "train.en", data / "train.de"),
    "torch": lambda model, data: ("translate", "-m", model, "--engine", "torch", "the dog"),
    "ensemble": lambda model, data: ("translate", "-m", model, "-m", model, "the dog"),
    "train": lambda model, data: ("train", data.parent / "run.toml", f"train.start_from={model}"),
}


@pytest.mark.parametrize("verb", REFUSED)
def test_what_needs_weights_says_so(verb: str, imported: Path, project: Path, dragoman: Any) -> None:
    before = sorted(project.rglob("*"))
    complaint = dragoman(*REFUSED[verb](imported, project / "data")).refused(4)
    if verb == "train":
        assert complaint == (
            f"train.start_from: {imported}: has no weights that training could start from, only those for CTranslate2; "
            f"`dragoman init PROJECT --from {imported}` makes a copy that has them"
        )
    elif verb == "ensemble":
        why = "has exports alone, and an ensemble needs the weights of each model; give -m once, or models with weights"
        assert complaint == f"{imported}: {why}"
    else:
        assert complaint == f"{imported}: {WHY}"
    assert sorted(project.rglob("*")) == before


def test_look_computes_with_the_weights_of_an_export(imported: Path, model: Path, dragoman: Any) -> None:
    looked, original = (json.loads(dragoman("look", "-m", each, "the dog", "--json").out) for each in (imported, model))
    assert (looked["translation"], looked["pieces"]) == (original["translation"], original["pieces"])
    assert looked["log_prob"] == pytest.approx(original["log_prob"], abs=1e-4)


@pytest.mark.slow
def test_fine_tuning_starts_from_a_copy_with_the_weights_of_its_export(
    imported: Path, model: Path, project: Path, dragoman: Any, tmp_path: Path
) -> None:
    data = project / "data"
    result = dragoman("init", tmp_path / "my", "--from", imported, data / "train.en", data / "train.de")
    assert result.code == 0, result.err
    assert f"{tmp_path}/my/base is a copy with weights to train, dequantised." in result.err
    assert load_config(tmp_path / "my/run.toml").train.start_from == tmp_path / "my/base"
    copy, original = open_bundle(tmp_path / "my/base"), open_bundle(model)
    assert copy.manifest["dequantised"] == "ct2-float32"
    assert "Dequantised from `ct2-float32`" in (copy.folder / "README.md").read_text()
    # float32 loses nothing: the same log P as the model that was exported and imported
    log_probs = [
        Translator.load(each, engine="torch").score([("the red dog", "der rote hund")]) for each in (copy.folder, model)
    ]
    assert log_probs[0][0] == pytest.approx(log_probs[1][0], abs=1e-4)
    assert original.has_weights
    steps = ("train.max_steps=2", "train.warmup=1", "train.validate_every=2", "train.card_lines=0", "train.device=cpu")
    assert dragoman("train", tmp_path / "my/run.toml", *steps).code == 0


def test_a_copy_replaces_nothing_and_leaves_nothing_behind(imported: Path, dragoman: Any, tmp_path: Path) -> None:
    (tmp_path / "my/base").mkdir(parents=True)
    complaint = dragoman("init", tmp_path / "my", "--from", imported).refused(2)
    assert complaint == f"{tmp_path}/my/base: already exists; remove it, or choose another folder"
    result = dragoman("init", tmp_path / "other", "--from", imported, tmp_path / "missing.en", tmp_path / "missing.de")
    assert result.refused(3).startswith(f"{tmp_path}/missing.en: ")
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "my", tmp_path / "my/base"]


def test_it_translates_as_the_model_does(imported: Path, model: Path, dragoman: Any) -> None:
    options = ("--beam", 2, "decode.extra_length=5", "the red dog sees a tree")
    assert dragoman("translate", "-m", imported, *options).out == dragoman("translate", "-m", model, *options).out


WORKS: dict[str, Arguments] = {
    "show": lambda model, data: ("model", "show", model),
    "evaluate": lambda model, data: ("evaluate", "-m", model, data / "test.en", data / "test.de"),
    "n-best": lambda model, data: ("translate", "-m", model, "--n-best", 3, "--json", "the dog"),
    "several": lambda model, data: ("translate", "-m", model, "--engine", "ctranslate2", "the dog", "a cat"),
}


@pytest.mark.parametrize("verb", WORKS)
def test_what_needs_no_weights_works(verb: str, imported: Path, project: Path, dragoman: Any) -> None:
    result = dragoman(*WORKS[verb](imported, project / "data"))
    assert result.code == 0, result.err
    assert result.out


def test_it_takes_a_glossary_and_confidence(imported: Path, project: Path, dragoman: Any, tmp_path: Path) -> None:
    copy = shutil.copytree(imported, tmp_path / "copy")
    (tmp_path / "terms.tsv").write_text("dog\thund\n")
    assert dragoman("model", "glossary", copy, tmp_path / "terms.tsv").code == 0
    assert "hund" in dragoman("translate", "-m", copy, "the dog").out
    data = project / "data"
    learned = dragoman(
        "model", "confidence", copy, data / "train.en", data / "train.de", "--samples", 0, "--accept", 20
    )
    assert learned.code == 0, learned.err


@pytest.mark.slow
def test_it_teaches_a_student_of_its_own_shape(imported: Path, project: Path, dragoman: Any) -> None:
    """The student has the teacher's shape, but there are no layers to begin with: it starts from random weights."""
    config = project / "run.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("[tokenizer]\nvocab_size = 56\nbyte_fallback = false\n", ""), encoding="utf-8")
    result = dragoman("distill", imported, config, "train.max_steps=2", "model.output_bias=true")
    assert result.code == 0, result.err
    assert "is initialised with layers" not in result.err
    assert (project / "runs/toy/model/model.safetensors").exists()


def test_show_names_its_shape_and_where_it_runs(imported: Path, dragoman: Any) -> None:
    shown = dragoman("model", "show", imported).out
    assert "parameters, imported from CTranslate2, which alone runs it" in shown
    assert "1 encoder, 1 decoder, pre-LN" in shown
    assert "d_model 32, d_ff 64, 2 heads of 16" in shown
