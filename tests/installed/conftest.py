"""A small model with golden sentences, and a folder of installed models of the test's own."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.bundle import Bundle, open_bundle, write_bundle
from dragoman.config import RunConfig
from dragoman.engine.torch import TorchEngine
from dragoman.exporting.golden import Golden, golden_sentences, golden_text
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import learn

WORDS = ["dog", "cat", "bird", "tree", "red", "small", "two", "sees"]
LINES = [(f"{a} {b} {c}", f"{c} {a} {b}") for a in WORDS for b in WORDS for c in WORDS[:3]]
CONFIG: dict[str, Any] = {
    "project": {"name": "toy", "source": "en", "target": "de", "license": "CC0-1.0"},
    "data": {"train": [Path("t.tsv")], "valid": Path("v.tsv")},
    "tokenizer": {"vocab_size": 26, "byte_fallback": False},
    "model": {"layers": 1, "d_model": 16, "d_ff": 16, "heads": 2},
    "decode": {"beam": 2, "extra_length": 4},
}


def write_model(folder: Path, **project: Any) -> Path:
    """A model of random weights with golden sentences of each of its pairs; keys of [project] as arguments."""
    size = {"tokenizer": {**CONFIG["tokenizer"], "vocab_size": 26 + len(project.get("pairs", ()))}}
    config = RunConfig.model_validate({**CONFIG, **size, "project": {**CONFIG["project"], **project}})
    names = config.project
    tokenizer = learn(LINES, config.tokenizer, names.source_marks, names.target_marks)
    torch.manual_seed(0)
    model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target)).eval()
    engine, texts, golden = TorchEngine(model, torch.device("cpu")), [source for source, _ in LINES[:6]], list[Golden]()
    for pair in names.all_pairs:
        marks, name = Marks.of(pair, tokenizer), pair.name if names.pairs else ""
        golden += golden_sentences(tokenizer, engine, config.decode, texts, name, marks=marks)
    write_bundle(
        folder,
        config=config,
        tokenizer=tokenizer,
        model=model,
        card="# toy\n",
        facts={"scores": [{"metric": "chrF2", "value": 41.5, "on": "test", "signature": "s"}]},
        golden=golden_text(golden),
    )
    return folder


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy model, to be read and never written."""
    folder = write_model(tmp_path_factory.mktemp("toy") / "model")
    (folder / "notes.txt").write_text("my own, not listed")
    return folder


@pytest.fixture(scope="session")
def of_two_pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two directions with language tokens, to be read and never written."""
    return write_model(tmp_path_factory.mktemp("two") / "model", pairs=["en-de", "de-en"])


@pytest.fixture
def toy(written: Path, tmp_path: Path) -> Bundle:
    """A copy of the toy model, to be damaged."""
    return open_bundle(shutil.copytree(written, tmp_path / "toy"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed models, and an empty current folder."""
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "home" / "models").mkdir(parents=True)
    return tmp_path / "home" / "models"
