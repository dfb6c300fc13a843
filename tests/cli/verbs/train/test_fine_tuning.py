"""`train.start_from`: a run that begins with a finished model, its pieces and shape kept."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from dragoman.bundle import open_bundle


@pytest.fixture
def bare(project: Path) -> Path:
    """A project whose configuration leaves shape and pieces to the model it starts from."""
    config = project / "run.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(re.sub(r"\[(tokenizer|model)\]\n([^\[]*)", "", text), encoding="utf-8")
    return project


@pytest.mark.slow
def test_a_finished_model_continues_training_with_its_own_pieces(dragoman: Any, bare: Path, model: Path) -> None:
    result = dragoman("train", bare / "run.toml", f"train.start_from={model}", "train.learning_rate=1e-9")
    assert result.code == 0, result.err
    assert f"fine-tuning {model} with its tokenizer" in result.err
    grown = bare / "runs/toy/model"
    for path in (model / "tokenizer").iterdir():
        assert (grown / "tokenizer" / path.name).read_bytes() == path.read_bytes()
    before, after = (load_file(folder / "model.safetensors") for folder in (model, grown))
    assert all((before[name] - after[name]).abs().max() < 1e-5 for name in before), "at a rate of nothing, the same"
    tokens = json.loads((model / "bundle.json").read_text(encoding="utf-8"))["training"]["target_tokens"]
    card = (grown / "README.md").read_text(encoding="utf-8")
    assert f"started from the weights of the model `model`, which was trained on {tokens:,} target tokens" in card
    assert dragoman("translate", "-m", grown, "bird").code == 0


@pytest.mark.slow
def test_it_resumes_exactly(dragoman: Any, bare: Path, model: Path, tmp_path: Path) -> None:
    config, start = bare / "run.toml", f"train.start_from={model}"
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert dragoman("train", config, start, f"train.output={whole}").code == 0
    assert dragoman("train", config, start, f"train.output={parts}", "train.max_steps=4").code == 0
    assert dragoman("train", config, start, f"train.output={parts}", "--resume").code == 0
    one, other = ((run / "model/model.safetensors").read_bytes() for run in (whole, parts))
    assert one == other


def test_another_shape_is_refused_by_its_key(dragoman: Any, project: Path, model: Path) -> None:
    start = [f"train.start_from={model}", "model.d_ff=32"]
    complaint = dragoman("train", project / "run.toml", *start).refused(2)
    assert complaint == (
        f"model.d_ff: differs from the base model {model} (train.start_from); leave it out, it comes with the model"
    )
    assert not (project / "runs").exists()


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("model.layers=2", "model.layers"),
        ("model.preset=tiny", "model.preset"),
        ("model.heads=4", "model.heads"),
        ("model.tie=none", "model.tie"),
        ("tokenizer.joint=false", "tokenizer.joint"),
        ("tokenizer.vocab_size=99", "tokenizer.vocab_size"),
    ],
)
def test_the_key_that_was_given_is_named(dragoman: Any, bare: Path, model: Path, given: str, key: str) -> None:
    shape = ["model.d_model=32", "model.d_ff=64"] if "layers" in given or "heads" in given else []
    rest = ["model.layers=1"] if "heads" in given else ["model.heads=2"] if "layers" in given else []
    complaint = dragoman("train", bare / "run.toml", f"train.start_from={model}", *shape, *rest, given).refused(2)
    assert complaint.startswith(f"{key}: differs from the base model {model} (train.start_from)")


def test_dropout_and_the_sampling_of_pieces_are_ones_own(dragoman: Any, bare: Path, model: Path) -> None:
    own = ["model.dropout=0.3", "tokenizer.sampling=0.2"]
    result = dragoman("train", bare / "run.toml", f"train.start_from={model}", "train.max_steps=1", *own)
    assert result.code == 0, result.err
    before, after = open_bundle(model).config, open_bundle(bare / "runs/toy/model").config
    assert after.model == before.model.model_copy(update={"dropout": 0.3})
    assert after.tokenizer == before.tokenizer.model_copy(update={"sampling": 0.2})


@pytest.mark.slow
def test_the_whole_section_may_be_given_if_it_is_the_same(dragoman: Any, project: Path, model: Path) -> None:
    assert dragoman("train", project / "run.toml", f"train.start_from={model}", "train.max_steps=1").code == 0


@pytest.mark.slow
def test_it_resumes_without_the_model_it_began_with(
    dragoman: Any, bare: Path, model: Path, tmp_path: Path, contents: Any
) -> None:
    start = [f"train.start_from={shutil.copytree(model, tmp_path / 'start')}", "model.dropout=0.3"]
    assert dragoman("train", bare / "run.toml", *start, "train.max_steps=4").code == 0
    shutil.rmtree(tmp_path / "start")
    before = contents(bare)
    for other, old, new in (("model.dropout=0.2", "0.3", "0.2"), ("tokenizer.vocab_size=99", "56", "99")):
        complaint = dragoman("train", bare / "run.toml", *start, other, "--resume").refused(2)
        key = other.split("=")[0]
        assert complaint.startswith(f"{bare}/runs/toy: the run started with {key} = {old}, now it is {new}; ")
        assert contents(bare) == before
    result = dragoman("train", bare / "run.toml", *start, "--resume")
    assert result.code == 0, result.err
    assert "resumed at step 4" in result.err


def test_there_is_nothing_to_resume_before_the_first_checkpoint(dragoman: Any, bare: Path, model: Path) -> None:
    complaint = dragoman("train", bare / "run.toml", f"train.start_from={model}", "--resume").refused(2)
    assert complaint == f"{bare}/runs/toy: holds no checkpoint to resume; start without --resume"


def test_a_missing_start_model_is_reported(dragoman: Any, bare: Path) -> None:
    complaint = dragoman("train", bare / "run.toml", "train.start_from=nowhere").refused(4)
    assert complaint.startswith(f"train.start_from: {bare}/nowhere: no such model folder; `dragoman train`")


def test_a_file_is_no_model(dragoman: Any, bare: Path) -> None:
    complaint = dragoman("train", bare / "run.toml", "train.start_from=run.toml").refused(4)
    assert (
        complaint
        == f"train.start_from: {bare}/run.toml: is a file; a model is the folder that holds bundle.json, give that"
    )


@pytest.mark.slow
def test_another_pair_of_languages_warns(dragoman: Any, bare: Path, model: Path) -> None:
    config = bare / "run.toml"
    start = [config, f"train.start_from={model}", "train.max_steps=1"]
    result = dragoman("train", *start, "project.source=fr")
    assert result.code == 0, result.err
    assert (
        "train.start_from: the base model translates en-de, this run is fr-de: little of what it has learned"
        in result.err
    )
    assert "the base model translates" not in dragoman("train", *start, f"train.output={bare / 'same'}").err
