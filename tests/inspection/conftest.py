"""A sentence through a tiny model, whose tokenizer spells numbers."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from architectures import TRANSFORMERS
from dragoman.config import DecodeConfig
from dragoman.inspection.inspection import Inspection, inspect_model
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer
from suites import cases


class Numbers:
    """Each piece is written as its id."""

    def encode(self, texts: Sequence[str], _side: str) -> list[list[int]]:
        return [[int(word) for word in text.split()] for text in texts]

    def decode(self, sentences: Sequence[Sequence[int]], _side: str) -> list[str]:
        return [" ".join(map(str, tokens)) for tokens in sentences]

    def pieces(self, tokens: Sequence[int], _side: str) -> list[str]:
        return [str(token) for token in tokens]


@pytest.fixture(params=cases(TRANSFORMERS, quick=["post", "today"]))
def model(request: pytest.FixtureRequest, build: Callable[..., Transformer]) -> Transformer:
    """Both orders of normalisation are quick."""
    return build(**request.param)


@pytest.fixture
def numbers() -> Tokenizer:
    return cast("Tokenizer", Numbers())


@pytest.fixture
def look_at(model: Transformer, numbers: Tokenizer) -> Any:
    """Have the model say `target`, or search."""

    def look(source: str, target: str | None = None) -> Inspection:
        return inspect_model(model, numbers, source, target, DecodeConfig(beam=2, extra_length=3))

    return look


@pytest.fixture
def inspection(look_at: Any) -> Inspection:
    return look_at("5 6 7 5 8", "9 10 11 4 12 6")
