"""`reproduce/training_cost.py`: both ways to count the training cost of Table 2 of the paper."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dragoman.config import ByteNetConfig, ConvS2SConfig, ModelConfig
from dragoman.training.cost.flops import forward_flops

SCRIPT = Path(__file__).parents[2] / "reproduce" / "training_cost.py"


@pytest.fixture(scope="module")
def cost() -> ModuleType:
    spec = importlib.util.spec_from_file_location("training_cost", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_time_by_devices_by_rate_is_table_2(cost: ModuleType) -> None:
    for training in cost.TRAININGS:
        assert training.cost == pytest.approx(training.printed, rel=0.03), training


def test_the_transformers_cost_what_was_counted_and_what_the_paper_prints(cost: ModuleType) -> None:
    base, big = cost.transformers().values()
    for one, counted in ((base, 9.5e17), (big, 9.7e18)):
        assert one["counted"] == pytest.approx(counted, rel=0.01)
        assert one["counted_at_50"] == pytest.approx(counted, rel=0.01)
        for way in ("time_times_rate", "steps_times_rate"):
            assert one[way] == pytest.approx(one["printed"], rel=0.1)
    assert (base["used"], big["used"]) == pytest.approx((0.29, 0.42), abs=0.005)


def test_the_equations_are_what_the_hook_counts(cost: ModuleType) -> None:
    small = ModelConfig.model_validate({"preset": "paper-base", "layers": 1, "d_model": 32, "d_ff": 64, "heads": 4})
    hook, equations = cost.by_hook(small, vocabulary=50)
    assert hook == equations


def test_the_operations_of_the_others_are_those_that_are_published(cost: ModuleType) -> None:
    # Shazeer et al. 2017 print multiply-adds without the softmax.
    trainings = {one.system: one for one in cost.TRAININGS}
    for system, multiply_adds in cost.PUBLISHED_STEP.items():
        layers, _ = cost.forward_of(trainings[system], 25)
        assert 2 * multiply_adds == pytest.approx(layers, rel=0.2), system


def test_networks_with_layers_of_one_width_are_counted_as_in_the_package(
    cost: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Embeddings and layers of 512 and 768: with equal widths the layers between them are the package's formula.
    monkeypatch.setitem(cost.CONVS2S, "one width", [(512, 3)] * 6)
    model = ConvS2SConfig(layers=6, d_model=768, hidden=512)
    package = forward_flops(model, 1, 1, 20, 20) / 20 - 2 * 768  # without a logit
    out = 2 * 512 * (768 - 512)  # the package's decoder ends in 768, that of the paper in 512
    assert cost.convs2s(20, "one width") == package - out

    blocks = ByteNetConfig(layers=30, d_model=1600, extra=0)
    assert cost.bytenet(100) == forward_flops(blocks, 300, 1, 100, 100) / 100
