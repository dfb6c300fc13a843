"""The lens ends with the model's own words; means and variances are those of the numbers recorded."""

import math

import pytest
import torch

from dragoman.inspection.inspection import Inspection
from dragoman.inspection.lens import logit_lens, norm_statistics
from numerics import rounding


def test_after_the_last_layer_the_lens_shows_what_the_model_says(inspection: Inspection) -> None:
    layers = logit_lens(inspection)
    assert len(layers) == 2
    for position, (step, ranked) in enumerate(zip(inspection.predictions(12), layers[-1], strict=True)):
        everything = sorted([(step.piece, step.probability), *step.alternatives], key=lambda one: -one[1])
        assert [piece for piece, _ in ranked] == [piece for piece, _ in everything[:3]], position
        assert [p for _, p in ranked] == pytest.approx([p for _, p in everything[:3]], abs=rounding())


def test_a_lower_layer_is_read_as_if_it_were_the_last(inspection: Inspection) -> None:
    model = inspection.model
    with torch.inference_mode():
        logits = model.decoder_norm(inspection.recording["decoder.0"][0]) @ model.projection.T
        logits += 0 if model.projection_bias is None else model.projection_bias
    for row, ranked in zip(logits.tolist(), logit_lens(inspection, 5)[0], strict=True):
        allowed = {token: math.exp(score) for token, score in enumerate(row) if token > 2}
        best = sorted(allowed, key=allowed.__getitem__, reverse=True)[:5]
        assert [piece for piece, _ in ranked] == [str(token) for token in best]
        assert [p for _, p in ranked] == pytest.approx([allowed[t] / sum(allowed.values()) for t in best], abs=1e-5)


def test_statistics_of_every_norm(inspection: Inspection) -> None:
    norms = norm_statistics(inspection)
    pre = inspection.model.config.norm_order == "pre"
    sublayers = [f"encoder.{layer}.{name}_norm" for layer in range(2) for name in ("self_attention", "feed_forward")]
    sublayers += ["encoder_norm"] if pre else []
    sublayers += [
        f"decoder.{layer}.{name}_norm"
        for layer in range(2)
        for name in ("self_attention", "cross_attention", "feed_forward")
    ]
    sublayers += ["decoder_norm"] if pre else []
    assert [norm.where for norm in norms] == sublayers
    for norm in norms:
        last = norm.where in ("encoder_norm", "decoder_norm")
        stack = norm.where.partition("_")[0]
        before = inspection[f"{stack}.1" if last else f"{norm.where}.unnormed"].values.tolist()
        after = inspection[{"encoder": "memory", "decoder": "features"}[stack] if last else f"{norm.where}.normed"]
        for rows, means, variances in (
            (before, norm.mean_before, norm.variance_before),
            (after.values.tolist(), norm.mean_after, norm.variance_after),
        ):
            expected = [sum(row) / len(row) for row in rows]
            assert list(means) == pytest.approx(expected, abs=1e-5)
            spread = [sum((x - m) ** 2 for x in row) / len(row) for row, m in zip(rows, expected, strict=True)]
            assert list(variances) == pytest.approx(spread, rel=1e-4, abs=1e-5)
