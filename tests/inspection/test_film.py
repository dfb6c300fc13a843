"""The film of a sentence: one frame for each snapshot, with the numbers of its weights."""

import base64
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.config import DecodeConfig
from dragoman.inspection.film import film, run_of
from dragoman.inspection.inspect import BundleInspection
from dragoman.inspection.inspection import Inspection, inspect_model
from dragoman.model.transformer import Transformer
from dragoman.model.weights import save_tensors
from dragoman.text.tokens.tokenizer import Tokenizer

OPTIONS = DecodeConfig(beam=2, max_length=8)


def save(run: Path, step: int, model: Transformer) -> None:
    (run / "snapshots").mkdir(exist_ok=True)
    halves = {name: parameter.detach().half() for name, parameter in model.named_parameters()}
    save_tensors(run / "snapshots" / f"{step:08d}.safetensors", halves)


@pytest.fixture
def shot(build: Callable[..., Transformer], toy_tokenizer: Tokenizer, tmp_path: Path) -> tuple[Path, Inspection]:
    """A run with snapshots of other weights (0), of the model's own (4), and a damaged one (8)."""
    torch.manual_seed(3)
    model, other = (build(len(toy_tokenizer.source)) for _ in range(2))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half() * 1.5)
            parameter.copy_(parameter.half())
    save(tmp_path, 0, other)
    save(tmp_path, 4, model)
    (tmp_path / "snapshots/00000008.safetensors").write_bytes(b"torn")
    return tmp_path, inspect_model(model, toy_tokenizer, "red dog sees cat", None, OPTIONS)


def test_a_frame_has_the_translation_and_the_numbers_of_its_weights(shot: tuple[Path, Inspection]) -> None:
    run, inspection = shot
    made = film(run, inspection, OPTIONS)
    assert made
    first, second, damaged, last = made["frames"]
    assert [frame["step"] for frame in made["frames"]] == [0, 4, 8, None]
    assert "00000008.safetensors: cannot be read" in damaged["problem"]
    assert second["text"] == last["text"] == inspection.text
    assert second["log_prob"] == pytest.approx(float(inspection.log_probs.mean()), abs=1e-6)
    assert last["chrf"] == 100.0
    assert first["log_prob"] != second["log_prob"]
    weights = np.frombuffer(base64.b64decode(made["weights"]), np.uint8).reshape(3, -1) / 255
    recorded = [inspection[f"{name}.weights"].values.ravel() for name in made["maps"]]
    assert made["heads"] == inspection.model.config.heads
    np.testing.assert_allclose(weights[1], np.concatenate(recorded), atol=0.5 / 255 + 1e-6)
    np.testing.assert_array_equal(weights[1], weights[2])
    assert not np.array_equal(weights[0], weights[1])


def test_where_not_all_weights_fit_there_are_fewer(shot: tuple[Path, Inspection]) -> None:
    run, inspection = shot
    size = len(inspection.source_ids) * len(inspection.target_ids)
    layers, heads = inspection.model.config.decoder_layers, inspection.model.config.heads
    budgets = ((3 * layers * heads * size, heads), (3 * layers * size, 1), (3 * layers * size - 1, 0))
    for byte_budget, expected in budgets:
        made = film(run, inspection, OPTIONS, byte_budget=byte_budget)
        assert made
        assert made["heads"] == expected
        assert len(base64.b64decode(made["weights"])) <= byte_budget
        assert all(name.endswith("cross_attention") for name in made["maps"])


def test_a_given_translation_is_what_every_frame_scores(shot: tuple[Path, Inspection], tmp_path: Path) -> None:
    run, inspection = shot
    forced = inspect_model(inspection.model, inspection.tokenizer, inspection.source, "hund", OPTIONS)
    made = film(run, forced, OPTIONS)
    assert made
    assert made["frames"][-1]["text"] == "hund"
    assert made["frames"][1]["text"] == inspection.text
    assert made["frames"][1]["log_prob"] == pytest.approx(float(forced.log_probs.mean()), abs=1e-6)
    assert all(math.isfinite(frame["log_prob"]) for frame in made["frames"])


def test_a_run_is_that_of_a_model_if_their_tokenizers_are_the_same(
    shot: tuple[Path, Inspection], toy_tokenizer: Tokenizer
) -> None:
    run, _ = shot
    assert run_of(run / "model", toy_tokenizer) is None, "it has no tokenizer"
    (run / "tokenizer").mkdir()
    toy_tokenizer.save(run / "tokenizer")
    assert run_of(run / "model", toy_tokenizer) == run
    assert run_of(run.parent / "elsewhere/model", toy_tokenizer) is None


def test_a_page_has_the_film_of_its_model(shot: tuple[Path, Inspection]) -> None:
    run, inspection = shot
    whole = BundleInspection.of(inspection, "toy", ("en", "de"), OPTIONS, run=run)
    facts: dict[str, Any] = whole.payload().facts
    assert len(facts["film"]["frames"]) == 4
    assert "film" not in BundleInspection.of(inspection, "toy", ("en", "de"), OPTIONS).payload().facts
    assert json.dumps(facts)
