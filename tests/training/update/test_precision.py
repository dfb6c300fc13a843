"""The choice of precision: by the processor and never by its load, and a notice for who asks for emulated bfloat16."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from dragoman.config import RunConfig
from dragoman.model.parts.device import FAR_SLOWER, bfloat16_slowdown, product_seconds
from dragoman.model.transformer import Transformer
from dragoman.training.loop import Trainer
from dragoman.training.update import precision

CPU = torch.device("cpu")


def products(monkeypatch: pytest.MonkeyPatch, *, exact: float, rounded: float) -> None:
    """Have a product take these seconds in float32 and in bfloat16."""
    seconds = {torch.float32: exact, torch.bfloat16: rounded}
    for module in (precision, sys.modules["dragoman.model.parts.device"]):
        monkeypatch.setattr(module, "product_seconds", lambda dtype, _device: seconds[dtype])


@pytest.mark.parametrize("slower", [90.0, 2.0, 1.01])
def test_float32_is_taken_where_a_product_in_bfloat16_is_slower(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch, slower: float
) -> None:
    products(monkeypatch, exact=1e-4, rounded=slower * 1e-4)
    chosen, why = precision.choose_precision(build(d_model=128), CPU)
    assert (chosen, why) == (
        "float32",
        f"precision float32: a product in bfloat16 takes {slower:.1f} times as long here",
    )


def test_bfloat16_is_taken_where_the_processor_has_units_for_it(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch
) -> None:
    products(monkeypatch, exact=4e-4, rounded=1e-4)
    chosen, why = precision.choose_precision(build(d_model=128), CPU)
    assert (chosen, why) == ("bfloat16", "precision bfloat16: a product in it takes 25% of the time here")


def test_a_busy_machine_chooses_as_a_quiet_one(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program makes single products longer; the least of several counts, and no pass is timed."""
    disturbed = {torch.float32: iter([4e-4, 4e-4, 9e-4]), torch.bfloat16: iter([8e-4, 7e-4, 1e-4])}
    monkeypatch.setattr(precision, "product_seconds", lambda dtype, _device: next(disturbed[dtype]))
    assert precision.choose_precision(build(d_model=128), CPU)[0] == "bfloat16"


def test_a_narrow_model_is_trained_in_float32_whatever_the_processor(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch
) -> None:
    products(monkeypatch, exact=1.0, rounded=1e-9)
    assert precision.choose_precision(build(), CPU)[0] == "float32"


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


CHOICE = """
import json, torch
from dragoman.config import ModelConfig
from dragoman.model.transformer import Transformer
from dragoman.training.update import precision
seconds, true_product = {}, precision.product_seconds
def product(dtype, device):
    seconds[str(dtype)] = true_product(dtype, device)
    return seconds[str(dtype)]
precision.product_seconds = product
chosen, why = precision.choose_precision(Transformer(ModelConfig(preset="base"), 500, 500), torch.device("cpu"))
print(json.dumps({"slower": seconds["torch.bfloat16"] / seconds["torch.float32"], "chosen": chosen}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("level", ["AVX2", "AVX512_CORE", "AVX512_CORE_BF16"])
def test_on_a_lesser_processor_base_is_trained_in_float32_where_products_are_far_slower(level: str) -> None:
    """Where ONEDNN_MAX_CPU_ISA=AVX2 is obeyed, one whole pass of `base` in bfloat16 would take minutes."""
    environment = os.environ | {"ONEDNN_MAX_CPU_ISA": level}
    done = subprocess.run([sys.executable, "-c", CHOICE], env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert not found["slower"] > FAR_SLOWER or found["chosen"] == "float32"


def test_slowdown_is_a_ratio_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    products(monkeypatch, exact=2e-4, rounded=1e-3)
    assert bfloat16_slowdown(CPU) == pytest.approx(5)


@pytest.mark.parametrize(("capability", "trials"), [((9, 0), 0), ((8, 0), 0), ((7, 5), 1)])
def test_a_gpu_with_units_for_bfloat16_needs_no_trial(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], trials: int
) -> None:
    tried: list[object] = []
    model = build(d_model=128)

    def product(*_: object) -> float:
        tried.append(_)
        raise RuntimeError("a trial")

    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    monkeypatch.setattr(precision, "product_seconds", product)
    if trials:
        with pytest.raises(RuntimeError, match="a trial"):
            precision.choose_precision(model, torch.device("cuda"))
        return
    chosen, why = precision.choose_precision(model, torch.device("cuda"))
    assert (chosen, tried) == ("bfloat16", [])
    assert why.startswith("precision bfloat16: ")
