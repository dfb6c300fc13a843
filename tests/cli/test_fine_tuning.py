"""`train.start_from`: a run that begins with a finished model, its pieces and shape kept."""

import re
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file


@pytest.fixture
def bare(project: Path) -> Path:
    """A project whose configuration leaves shape and pieces to the model it starts from."""
    config = project / "run.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(re.sub(r"\[(tokenizer|model)\]\n([^\[]*)", "", text), encoding="utf-8")
    return project


def test_a_finished_model_goes_on_learning_with_its_own_pieces(dragoman: Any, bare: Path, model: Path) -> None:
    said = dragoman("train", bare / "run.toml", f"train.start_from={model}", "train.learning_rate=1e-9")
    assert said.code == 0, said.err
    assert f"starting from {model}, its pieces kept" in said.err
    grown = bare / "runs/toy/model"
    for path in (model / "tokenizer").iterdir():
        assert (grown / "tokenizer" / path.name).read_bytes() == path.read_bytes()
    before, after = (load_file(folder / "model.safetensors") for folder in (model, grown))
    assert all((before[name] - after[name]).abs().max() < 1e-5 for name in before), "at a rate of nothing, the same"
    assert "began with the weights of the model `model`" in (grown / "README.md").read_text(encoding="utf-8")
    assert dragoman("translate", "-m", grown, "bird").code == 0


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
        f"model.d_ff: differs from {model}, with which train.start_from begins; "
        "leave [model] out, it comes with the model"
    )
    assert not (project / "runs").exists()


def test_no_model_there_is_told(dragoman: Any, bare: Path) -> None:
    complaint = dragoman("train", bare / "run.toml", "train.start_from=nowhere").refused(4)
    assert "nowhere: no such model folder" in complaint
