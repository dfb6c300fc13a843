"""Threads that share an engine: each gets what it would get alone."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from dragoman.config import DecodeConfig
from dragoman.engine.torch import TorchEngine
from dragoman.model.transformer import Transformer
from stand_ins import queries
from suites import slow

Build = Callable[..., Transformer]
Draw = Callable[..., list[list[int]]]


@pytest.mark.parametrize(
    "options",
    [
        {"coverage_penalty": 0.4},
        pytest.param({"coverage_penalty": 0.4, "exact": True}, marks=slow),
        {"method": "sample"},
    ],
    ids=str,
)
def test_two_threads_at_once_find_what_they_find_one_after_the_other(
    build: Build, sentences: Draw, options: dict[str, Any]
) -> None:
    engine, wanted = TorchEngine(build(), torch.device("cpu")), DecodeConfig(beam=3, extra_length=6, **options)
    batches = [sentences([4, 9, 2, 7], seed=seed) for seed in range(4)]
    alone = [engine.translate(queries(batch), wanted) for batch in batches]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda batch: engine.translate(queries(batch), wanted), batches))
    assert together == alone
