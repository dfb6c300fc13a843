"""An engine in the process that loaded it: not in a child of it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from dragoman.config import DecodeConfig
from dragoman.engine import Engine
from dragoman.engine.ctranslate2 import CTranslate2Engine
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ResourceError
from dragoman.exporting.ctranslate2 import convert
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer
from stand_ins import queries

Build = Callable[..., Transformer]


@pytest.fixture(params=["torch", "ctranslate2"])
def engine(request: pytest.FixtureRequest, build: Build, toy_tokenizer: Tokenizer, tmp_path: Path) -> Engine:
    model = build(vocab=len(toy_tokenizer.source))
    if request.param == "torch":
        return TorchEngine(model, torch.device("cpu"))
    convert(model, toy_tokenizer, tmp_path / "ct2-float32", "float32")
    return CTranslate2Engine(tmp_path / "ct2-float32", toy_tokenizer, "cpu", threads=1)


def test_an_engine_refuses_to_work_in_a_fork(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(ResourceError, match="does not survive a fork; load the model in each process"):
        engine.translate(queries([[5, 6]]), DecodeConfig())
    with pytest.raises(ResourceError, match="does not survive a fork"):
        engine.score(queries([[5, 6]]), [[7]])
