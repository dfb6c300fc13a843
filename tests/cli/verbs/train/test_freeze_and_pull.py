"""`train.freeze` and `train.pull`: weights that stay those of the base model, or near them."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from dragoman.model.transformer import Transformer
from dragoman.training.resume.pull import Pull
from dragoman.training.update.freezing import frozen_names
from suites import slow

Weights = dict[str, Tensor]


@pytest.fixture
def run(dragoman: Any, project: Path, model: Path, tmp_path: Path) -> Any:
    """Fine-tune the model for 8 steps: `run("name", *keys)`; the weights before and after."""
    config = project / "run.toml"
    config.write_text(re.sub(r"\[(tokenizer|model)\]\n([^\[]*)", "", config.read_text()), encoding="utf-8")
    base = [f"train.start_from={shutil.copytree(model, tmp_path / 'base')}", "model.dropout=0.1"]

    def train(name: str, *keys: str) -> tuple[Weights, Weights]:
        result = dragoman("train", config, *base, f"train.output={tmp_path / name}", *keys)
        assert result.code == 0, result.err
        before, after = model / "model.safetensors", tmp_path / name / "model/model.safetensors"
        return load_file(before), load_file(after)

    return train


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "belongs"),
    [
        ('["encoder"]', r"encoder(\.|_norm)"),
        pytest.param(
            '["embeddings", "decoder.0.cross_attention"]',
            r"(source_|target_)?(embedding|projection)|decoder.0.cross_attention\.",
            marks=slow,
        ),
        pytest.param('["norms", "decoder"]', r"decoder(\.|_norm)|.*norm\.(weight|bias)$", marks=slow),
    ],
)
def test_frozen_weights_stay_and_have_no_optimizer_state(run: Any, tmp_path: Path, parts: str, belongs: str) -> None:
    others = ["train.average=ema", "train.accumulate=2", "train.precision=bfloat16", "train.r_drop=1"]
    before, after = run("frozen", f"train.freeze={parts}", *others)
    same = {name for name in before if torch.equal(before[name], after[name])}
    frozen = {name for name in before if re.match(belongs, name)}
    assert 0 < len(frozen) < len(before)
    assert same == frozen
    moments = load_file(tmp_path / "frozen/checkpoints/00000008/optimizer.safetensors")
    assert {key.rpartition(".")[0] for key in moments if "exp_avg" in key} == before.keys() - frozen


def test_a_part_that_is_none_and_a_model_without_anything_to_train_are_refused(
    dragoman: Any, project: Path, model: Path
) -> None:
    start = [project / "run.toml", f"train.start_from={model}"]
    complaint = dragoman("train", *start, 'train.freeze=["encodr"]').refused(2)
    assert complaint == "train.freeze: encodr: no such part of the model; did you mean encoder?"
    complaint = dragoman("train", *start, 'train.freeze=["xyzzy"]').refused(2)
    assert complaint.endswith(
        "known are embeddings, encoder, decoder, norms, and layers and their parts, as in encoder.0"
    )
    complaint = dragoman("train", *start, 'train.freeze=["encoder.7"]').refused(2)
    assert complaint == "train.freeze: encoder.7: no such part of the model; did you mean encoder.0?"
    complaint = dragoman("train", *start, 'train.freeze=["embeddings", "encoder", "decoder"]').refused(2)
    assert complaint == "train.freeze: embeddings, encoder, decoder leave nothing to train; remove one of them"
    assert not (project / "runs").exists()


@pytest.mark.parametrize(
    ("key", "value"), [("train.pull", "1"), ("train.freeze", '["encoder"]'), ("tokenizer.extend", "5")]
)
def test_what_needs_a_base_model_is_refused_without_one(dragoman: Any, project: Path, key: str, value: str) -> None:
    complaint = dragoman("train", project / "run.toml", f"{key}={value}").refused(2)
    assert complaint == f"{project}/run.toml: {key}: needs a base model; set train.start_from, or leave it out"


def test_a_tied_matrix_is_frozen_by_any_of_its_names(toy_run: Any) -> None:
    config = toy_run().model.model_copy(update={"tie": "all"})
    model = Transformer(config, 8, 8)
    names = [frozen_names(model, [part]) for part in ("embeddings", "target_embedding", "projection")]
    assert names == [frozenset({"projection"})] * 3


def test_the_pull_is_decoupled_and_stops_at_the_start() -> None:
    """θ − ηλ(θ − θ₀), against plain arithmetic; a strength beyond 1 / η goes no further than the start."""
    layer, start = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    target = {name: parameter.detach().clone() for name, parameter in start.named_parameters()}
    before = {name: parameter.detach().clone() for name, parameter in layer.named_parameters()}
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    Pull(layer, target, 2.0)(optimizer)
    for name, parameter in layer.named_parameters():
        expected = before[name].double() - 0.1 * 2.0 * (before[name].double() - target[name].double())
        torch.testing.assert_close(parameter.double(), expected)
    Pull(layer, target, 1000.0)(optimizer)
    assert all(torch.equal(parameter, target[name]) for name, parameter in layer.named_parameters())


def distance(before: Weights, after: Weights) -> float:
    return sum(float((before[name] - after[name]).pow(2).sum()) for name in before) ** 0.5


@pytest.mark.slow
def test_a_pulled_run_stays_nearer_to_its_start(run: Any) -> None:
    free, pulled = (distance(*run(f"pull{value}", f"train.pull={value}")) for value in (0, 50))
    assert pulled < 0.9 * free


@pytest.mark.slow
def test_a_pulled_and_partly_frozen_run_resumes_bit_for_bit_without_its_base(run: Any, tmp_path: Path) -> None:
    keys = ["train.pull=30", 'train.freeze=["encoder"]']
    _, whole = run("whole", *keys)
    run("parts", *keys, "train.max_steps=4")
    shutil.rmtree(tmp_path / "base")
    _, parts = run("parts", *keys, "--resume")
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


@pytest.mark.slow
def test_damaged_weights_of_the_start_are_named(dragoman: Any, run: Any, project: Path, tmp_path: Path) -> None:
    run("run", "train.pull=30", "train.max_steps=4")
    weights = tmp_path / "run/start/model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 1
    weights.write_bytes(content)
    keys = [f"train.start_from={tmp_path / 'base'}", f"train.output={tmp_path / 'run'}", "--resume"]
    complaint = dragoman("train", project / "run.toml", *keys).refused(4)
    assert complaint == (
        f"{weights}: damaged: its sha256 is not the one in training.json; train.pull needs it: "
        "restore it, or start a new run with another train.output"
    )
