"""The choice of precision: seconds even where bfloat16 is emulated, and a notice for who asks for it there."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
import torch

from dragoman.config import RunConfig
from dragoman.model.parts.device import FAR_SLOWER, bfloat16_slowdown, product_seconds
from dragoman.model.transformer import Transformer
from dragoman.training.estimate import fitting
from dragoman.training.loop import Trainer
from dragoman.training.update import precision

CPU = torch.device("cpu")
BATCH = fitting.synthetic_batch(64 * 16, 16, 13)
Passes = list[tuple[str, int]]


def products(monkeypatch: pytest.MonkeyPatch, *, exact: float, rounded: float) -> None:
    """Have a product take these seconds in float32 and in bfloat16."""
    seconds = {torch.float32: exact, torch.bfloat16: rounded}
    for module in (precision, sys.modules["dragoman.model.parts.device"]):
        monkeypatch.setattr(module, "product_seconds", lambda dtype, _device: seconds[dtype])


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Passes:
    """(precision, rows) of each pass; none is made, and each takes a second of an imagined clock."""
    made: Passes = []
    clock = count()

    def _pass(_model: object, batch: object, precision: str, *_: object) -> float:
        made.append((precision, batch.src.size(0)))  # type: ignore[attr-defined]
        next(clock)
        return {"float32": 2.0, "bfloat16": 1.0}[precision]

    monkeypatch.setattr(precision, "_pass", _pass)
    monkeypatch.setattr(precision.time, "perf_counter", lambda: float(next(clock)))
    return made


def choose(model: Transformer) -> tuple[str, str]:
    return precision.choose_precision(model, [BATCH], CPU, 0.1)


def test_where_bfloat16_is_emulated_no_pass_is_made(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch, passes: Passes
) -> None:
    products(monkeypatch, exact=1e-4, rounded=9e-3)
    assert choose(build()) == ("float32", "precision float32: a product in bfloat16 takes 90 times as long here")
    assert not passes


def test_passes_end_when_the_budget_is_used(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch, passes: Passes
) -> None:
    products(monkeypatch, exact=1e-9, rounded=1e-9)
    chosen, why = choose(build())
    assert (chosen, why) == ("bfloat16", "precision bfloat16: a pass in bfloat16 took 1.000 s, in float32 2.000 s")
    assert passes == [("float32", 16), ("bfloat16", 16)], "a quarter of 64 rows, once each: two seconds are over"


def test_a_slow_processor_is_given_fewer_rows(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch, passes: Passes
) -> None:
    products(monkeypatch, exact=1000.0, rounded=1000.0)
    choose(build())
    assert {rows for _, rows in passes} == {1}


def test_the_probe_leaves_the_number_of_threads_as_it_was() -> None:
    before = torch.get_num_threads()
    assert product_seconds(torch.float32, CPU) > 0
    assert torch.get_num_threads() == before


def test_bfloat16_that_is_emulated_is_done_as_asked_with_a_notice(
    toy_run: Callable[..., RunConfig],
    toy_trainer: Callable[..., Trainer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for slower, expected in (
        (90, ["train.precision: this processor emulates bfloat16, a product takes 90 times as long"]),
        (1, []),
    ):
        products(monkeypatch, exact=1e-4, rounded=slower * 1e-4)
        trainer = toy_trainer(toy_run(precision="bfloat16", max_steps=1), tmp_path / str(slower))
        notices: list[str] = []
        monkeypatch.setattr(trainer, "_notice", notices.append)
        trainer.fit()
        assert trainer.gradient.precision == "bfloat16"
        assert [notice.split(";")[0] for notice in notices] == expected


TRIAL = """
import json, torch
from dragoman.config import ModelConfig
from dragoman.model.transformer import Transformer
from dragoman.training.estimate import fitting
from dragoman.training.update import precision
torch.set_num_threads(1)
seconds, passes, true_product, true_pass = {}, [], precision.product_seconds, precision._pass
def product(dtype, device):
    seconds[str(dtype)] = true_product(dtype, device)
    return seconds[str(dtype)]
def timed(model, batch, kind, device, smoothing):
    passes.append(kind)
    return true_pass(model, batch, kind, device, smoothing)
precision.product_seconds, precision._pass = product, timed
model = Transformer(ModelConfig(preset="base"), 500, 500)
chosen, why = precision.choose_precision(model, [fitting.synthetic_batch(1024, 16, 500)], torch.device("cpu"), 0.1)
print(json.dumps({"slower": seconds["torch.bfloat16"] / seconds["torch.float32"], "passes": passes, "chosen": chosen}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("level", ["AVX2", "AVX512_CORE", "AVX512_CORE_BF16"])
def test_on_a_lesser_processor_base_is_tried_in_bfloat16_only_where_products_are_not_far_slower(level: str) -> None:
    """Where ONEDNN_MAX_CPU_ISA=AVX2 is obeyed, one whole pass of `base` in bfloat16 would take minutes."""
    environment = os.environ | {"ONEDNN_MAX_CPU_ISA": level}
    done = subprocess.run([sys.executable, "-c", TRIAL], env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    emulated = found["slower"] > FAR_SLOWER
    assert ("bfloat16" in found["passes"]) is not emulated
    assert not emulated or found["chosen"] == "float32"


def test_slowdown_is_a_ratio_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    products(monkeypatch, exact=2e-4, rounded=1e-3)
    assert bfloat16_slowdown(CPU) == pytest.approx(5)


@pytest.mark.parametrize(("capability", "trials"), [((9, 0), 0), ((8, 0), 0), ((7, 5), 1)])
def test_a_gpu_with_units_for_bfloat16_needs_no_trial(
    model: Transformer, monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], trials: int
) -> None:
    tried: list[object] = []

    def product(*_: object) -> float:
        tried.append(_)
        raise RuntimeError("a trial")

    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    monkeypatch.setattr(precision, "product_seconds", product)
    if trials:
        with pytest.raises(RuntimeError, match="a trial"):
            precision.choose_precision(model, [BATCH], torch.device("cuda"), 0.1)
        return
    chosen, why = precision.choose_precision(model, [BATCH], torch.device("cuda"), 0.1)
    assert (chosen, tried) == ("bfloat16", [])
    assert why.startswith("precision bfloat16: ")
