"""LoRA: a run that trains an adapter of a base model, the adapter on disk, and merging it into a whole model."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import dragoman as api
from dragoman.bundle import open_bundle

Tensors = dict[str, Any]
LORA = ("train.lora_rank=4", "train.lora_alpha=12", "model.dropout=0.1")


@pytest.fixture(scope="module")
def home(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a base model, text, and a configuration that leaves shape and tokenizer to it."""
    folder = tmp_path_factory.mktemp("lora")
    shutil.copytree(trained / "data", folder / "data")
    shutil.copytree(trained / "runs/toy/model", folder / "base")
    text = re.sub(r"\[(tokenizer|model)\]\n([^\[]*)", "", (trained / "run.toml").read_text(encoding="utf-8"))
    (folder / "run.toml").write_text(text, encoding="utf-8")
    return folder


def train(dragoman: Any, folder: Path, name: str, *keys: str) -> Path:
    """Train an adapter of the base in `folder`; its folder."""
    start = f"train.start_from={folder / 'base'}"
    said = dragoman("train", folder / "run.toml", start, f"train.output={folder / name}", *keys)
    assert said.code == 0, said.err
    return folder / name / "model"


@pytest.fixture(scope="module")
def adapter(home: Path) -> Path:
    """A trained adapter next to its base, to be read and never written."""
    keys = [f"train.start_from={home / 'base'}", f"train.output={home / 'run'}", *LORA]
    return api.train(api.load_config(home / "run.toml", keys)).model_path


def merged_by_hand(base: Path, adapter: Path, scale: float) -> Tensors:
    """W₀ + α/r · B A in NumPy, double precision."""
    weights, low = load_file(base / "model.safetensors"), load_file(adapter / "adapter.safetensors")
    for name in {name.rpartition(".")[0] for name in low}:
        product = low[f"{name}.lora_b"].astype(np.float64) @ low[f"{name}.lora_a"].astype(np.float64)
        weights[f"{name}.weight"] = weights[f"{name}.weight"].astype(np.float64) + scale * product
    return weights


def test_an_adapter_is_a_small_folder_that_names_its_base(home: Path, adapter: Path) -> None:
    manifest = json.loads((adapter / "bundle.json").read_text(encoding="utf-8"))
    low = load_file(adapter / "adapter.safetensors")
    # r · (in + out) for w_q, w_k, w_v, w_o of 3 attentions of width 32, and for w_1, w_2 of 2 networks of 32 to 64
    numbers = 4 * (3 * 4 * (32 + 32) + 2 * 2 * (32 + 64))
    assert sum(tensor.size for tensor in low.values()) == numbers == manifest["adapter"]["parameters"]
    assert (adapter / "adapter.safetensors").stat().st_size < 4 * numbers + 8000
    assert {path.name for path in adapter.iterdir()} == {
        "bundle.json", "README.md", "config.toml", "golden.jsonl", "adapter.safetensors"
    }  # fmt: skip
    assert manifest["base"] == {
        "name": "toy",
        "sha256": open_bundle(home / "base").weights_sha256,
        "path": "../../base",
    }
    assert "## Adapter\n\nA low-rank adapter (LoRA" in (adapter / "README.md").read_text(encoding="utf-8")


def test_merged_weights_are_those_of_numpy_and_the_rest_is_the_base(dragoman: Any, home: Path, adapter: Path) -> None:
    before = (home / "base/model.safetensors").read_bytes()
    said = dragoman("model", "merge", adapter, "-o", home / "merged")
    assert said.code == 0, said.err
    whole, expected = load_file(home / "merged/model.safetensors"), merged_by_hand(home / "base", adapter, 12 / 4)
    base = load_file(home / "base/model.safetensors")
    changed = {name for name in whole if not np.array_equal(whole[name], base[name])}
    assert changed == {f"{name.rpartition('.')[0]}.weight" for name in load_file(adapter / "adapter.safetensors")}
    assert whole.keys() == base.keys()
    for name, tensor in whole.items():
        np.testing.assert_allclose(tensor, expected[name], rtol=1e-6, atol=1e-8)
    assert (home / "base/model.safetensors").read_bytes() == before
    test = [home / "data/test.en", home / "data/test.de"]
    scores = [dragoman("evaluate", "-m", model, *test, "--score").out for model in (home / "merged", adapter)]
    assert scores[0] == scores[1]
    assert scores[0] != dragoman("evaluate", "-m", home / "base", *test, "--score").out
    golden = (home / "merged/golden.jsonl").read_text(encoding="utf-8")
    assert golden == (adapter / "golden.jsonl").read_text(encoding="utf-8")
