"""A small model with golden sentences, and a folder of installed models of the test's own."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.bundle import Bundle, open_bundle, write_bundle
from dragoman.config import RunConfig
from dragoman.engine.torch import TorchEngine
from dragoman.exporting.golden import golden_sentences, golden_text
from dragoman.model.transformer import Transformer
from dragoman.storage import fingerprint
from dragoman.text.tokenizer import learn

WORDS = ["dog", "cat", "bird", "tree", "red", "small", "two", "sees"]
LINES = [(f"{a} {b} {c}", f"{c} {a} {b}") for a in WORDS for b in WORDS for c in WORDS[:3]]
CONFIG = {
    "project": {"name": "toy", "source": "en", "target": "de", "license": "CC0-1.0"},
    "data": {"train": [Path("t.tsv")], "valid": Path("v.tsv")},
    "tokenizer": {"vocab_size": 26, "byte_fallback": False},
    "model": {"layers": 1, "d_model": 16, "d_ff": 16, "heads": 2},
    "decode": {"beam": 2, "extra_length": 4},
}

Relist = Callable[[Path], None]


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy model, to be read and never written."""
    folder, config = tmp_path_factory.mktemp("toy") / "model", RunConfig.model_validate(CONFIG)
    tokenizer = learn(LINES, config.tokenizer)
    torch.manual_seed(0)
    model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target)).eval()
    golden = golden_sentences(
        tokenizer, TorchEngine(model, torch.device("cpu")), config.decode, [source for source, _ in LINES[:6]]
    )
    facts = {"scores": [{"metric": "chrF2", "value": 41.5, "on": "test", "signature": "s"}]}
    write_bundle(
        folder,
        config=config,
        tokenizer=tokenizer,
        model=model,
        card="# toy\n",
        facts=facts,
        golden=golden_text(golden),
    )
    (folder / "notes.txt").write_text("my own, not listed")
    return folder


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


@pytest.fixture
def relist() -> Relist:
    """Lists the files of a bundle as they are now: what someone does who changes one and its hash."""

    def relist(folder: Path) -> None:
        manifest: dict[str, Any] = json.loads((folder / "bundle.json").read_text())
        manifest["files"] = {name: fingerprint(folder / name) for name in manifest["files"]}
        (folder / "bundle.json").write_text(json.dumps(manifest))

    return relist
