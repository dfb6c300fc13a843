"""`tokenizer.extend`: a run with more pieces than its base model."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from dragoman.bundle import open_bundle
from dragoman.text.tokens.tokenizer import Tokenizer


@pytest.fixture
def config(project: Path) -> Path:
    """A run whose text has words that the toy language lacks."""
    path = project / "run.toml"
    path.write_text(re.sub(r"\[(tokenizer|model)\]\n([^\[]*)", "", path.read_text()), encoding="utf-8")
    for language, old, new in (("en", "bird", "ostrich"), ("de", "vogel", "strauss")):
        text = project / f"data/train.{language}"
        text.write_text(text.read_text().replace(old, new), encoding="utf-8")
    return path


@pytest.mark.slow
def test_new_embeddings_start_from_what_they_replace(dragoman: Any, config: Path, model: Path, tmp_path: Path) -> None:
    keys = [f"train.start_from={model}", "tokenizer.extend=6", "train.learning_rate=1e-12", "train.max_steps=1"]
    result = dragoman("train", config, *keys, f"train.output={tmp_path / 'run'}")
    assert result.code == 0, result.err
    assert re.search(
        r"[1-6] pieces? added.*; the training text has [\d.]+ % fewer tokens", result.err.replace("%", " %")
    )
    before, after = load_file(model / "model.safetensors"), load_file(tmp_path / "run/model/model.safetensors")
    base, extended = open_bundle(model), open_bundle(tmp_path / "run/model")
    old, new = len(base.tokenizer.source), len(extended.tokenizer.source)
    assert old < new <= old + 6
    [matrix] = [name for name in before if before[name].shape != after[name].shape]
    torch.testing.assert_close(after[matrix][:old], before[matrix], atol=1e-6, rtol=0)
    for token, piece in enumerate(extended.tokenizer.pieces(range(old, new), "source"), old):
        ids = base.tokenizer.source.processor.EncodeAsIds(piece.removeprefix("▁"))
        ids = ids if piece.startswith("▁") else ids[-1:] if len(ids) == 1 else ids
        if piece.startswith("▁"):
            torch.testing.assert_close(after[matrix][token], before[matrix][ids].mean(0), atol=1e-6, rtol=1e-6)
    assert dragoman("translate", "-m", tmp_path / "run/model", "ostrich").code == 0
    again = [f"train.start_from={tmp_path / 'run/model'}", "train.max_steps=1", f"train.output={tmp_path / 'next'}"]
    assert dragoman("train", config, *again).code == 0, "a further fine-tuning adds none unless it asks"
    assert len(Tokenizer.load(tmp_path / "next/tokenizer").source) == new


@pytest.mark.slow
def test_an_extended_run_resumes_bit_for_bit_without_its_base(
    dragoman: Any, config: Path, model: Path, tmp_path: Path
) -> None:
    keys = [f"train.start_from={shutil.copytree(model, tmp_path / 'base')}", "tokenizer.extend=6", "train.pull=1"]
    assert dragoman("train", config, *keys, f"train.output={tmp_path / 'whole'}").code == 0
    assert dragoman("train", config, *keys, f"train.output={tmp_path / 'parts'}", "train.max_steps=4").code == 0
    shutil.rmtree(tmp_path / "base")
    result = dragoman("train", config, *keys, f"train.output={tmp_path / 'parts'}", "--resume")
    assert result.code == 0, result.err
    whole, parts = (load_file(tmp_path / name / "model/model.safetensors") for name in ("whole", "parts"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
