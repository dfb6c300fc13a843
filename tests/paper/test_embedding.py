"""Sections 3.4 and 3.5: scaled and shared embeddings, sinusoidal positions."""

import math

import plain
import pytest
import torch
from torch.testing import assert_close

from dragoman.config import ModelConfig
from dragoman.model.parts.embedding import Embedding, positional_encoding
from dragoman.model.transformer import Transformer

D = 32


def test_positions_are_the_papers_formula() -> None:
    expected = [plain.position(pos, D) for pos in range(60)]
    assert_close(positional_encoding(0, 60, D), torch.tensor(expected))
    assert_close(positional_encoding(40, 20, D), torch.tensor(expected[40:]))


def test_the_product_of_two_positions_depends_on_their_distance_alone() -> None:
    p = positional_encoding(0, 50, D)
    products = p @ p.T
    for distance in range(50):
        diagonal = products.diagonal(distance)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-4, rtol=0)


@pytest.mark.parametrize("k", [1, 7, 30])
def test_a_shift_by_k_is_a_rotation_that_depends_on_k_alone(k: int) -> None:
    rotation = torch.zeros(D, D)
    for i in range(0, D, 2):
        angle = k / 10000 ** (i / D)
        rotation[i : i + 2, i : i + 2] = torch.tensor(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
        )
    assert_close(rotation @ rotation.T, torch.eye(D), atol=1e-5, rtol=0)
    p = positional_encoding(0, 60, D)
    assert_close(p[:-k] @ rotation.T, p[k:], atol=1e-4, rtol=0)


def test_embeddings_are_multiplied_by_the_root_of_d_model() -> None:
    embedding = Embedding(9, D, dropout=0.0)
    ids = torch.tensor([[4, 7, 4]])
    expected = [
        [math.sqrt(D) * e + p for e, p in zip(embedding.weight[token].tolist(), plain.position(pos, D), strict=True)]
        for pos, token in enumerate(ids[0].tolist())
    ]
    assert_close(embedding(ids)[0], torch.tensor(expected))


def test_scaled_embeddings_are_born_about_as_large_as_positions() -> None:
    torch.manual_seed(0)
    embedding = Embedding(1000, 256, dropout=0.0)
    assert (embedding.weight * embedding.scale).std().item() == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize(("tie", "matrices"), [("all", 1), ("target", 2), ("none", 3)])
def test_weight_tying_makes_one_matrix_of_three(tie: str, matrices: int) -> None:
    shape = {"layers": 1, "d_model": 8, "d_ff": 8, "heads": 2, "tie": tie}
    model = Transformer(ModelConfig.model_validate(shape), 11, 11)
    three = [model.source_embedding.weight, model.target_embedding.weight, model.projection]
    assert len({id(matrix) for matrix in three}) == matrices
    other = Transformer(ModelConfig.model_validate({**shape, "tie": "none"}), 11, 11)
    assert other.parameter_count - model.parameter_count == (3 - matrices) * 11 * 8


def untied_count(preset: str, vocab: int) -> int:
    """Weights and biases of every matrix in table 3's shapes, one embedding matrix."""
    d, f, n = {"paper-base": (512, 2048, 6), "paper-big": (1024, 4096, 6)}[preset]
    attention, norm = 4 * (d * d + d), 2 * d
    feed_forward = (d * f + f) + (f * d + d)
    encoder = n * (attention + feed_forward + 2 * norm)
    decoder = n * (2 * attention + feed_forward + 3 * norm)
    return vocab * d + encoder + decoder


@pytest.mark.parametrize(("preset", "millions"), [("paper-base", 65), ("paper-big", 213)])
def test_the_papers_models_have_the_papers_number_of_parameters(preset: str, millions: float) -> None:
    with torch.device("meta"):
        model = Transformer(ModelConfig.model_validate({"preset": preset}), 37_000, 37_000)
    assert model.parameter_count == untied_count(preset, 37_000)
    assert model.parameter_count / 1e6 == pytest.approx(millions, rel=0.04)
