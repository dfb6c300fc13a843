"""How much each unit of a translation comes from each unit of its source. No torch."""

from collections.abc import Sequence

import numpy as np

from dragoman.control.placement import Weights

# How fast the weight decreases with the difference of relative positions.
SHARPNESS = 8.0


def by_position(source: Sequence[str], target: Sequence[str]) -> Weights:
    """(target units, source units): units at the same relative position, and equal units, belong together."""
    places = [(np.arange(len(units)) + 0.5) / max(len(units), 1) for units in (source, target)]
    weights: Weights = np.exp(-SHARPNESS * np.abs(places[1][:, None] - places[0][None]))
    equal = np.array([[one == other for one in source] for other in target], bool).reshape(weights.shape)
    weights = weights * np.where(equal, 100.0, 1.0)
    return weights / np.maximum(weights.sum(1, keepdims=True), 1e-9)
