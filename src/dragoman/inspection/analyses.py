"""What the page shows beyond the recorded arrays: head roles, attribution, the logit lens, norms and checkpoints.

Output: facts as JSON values, and maps (positions by positions) for the page's arrays.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from torch import Tensor

from dragoman.inspection.attribution import attribute
from dragoman.inspection.checkpoints import CheckpointView
from dragoman.inspection.heads import roles
from dragoman.inspection.inspection import Array, Inspection
from dragoman.inspection.lens import logit_lens, norm_statistics
from dragoman.inspection.payload import Facts, rounded


def analyse(
    inspection: Inspection, checkpoints: Sequence[CheckpointView] | None = None
) -> tuple[Facts, dict[str, Array]]:
    """The facts and maps of every view of the page."""
    attribution = attribute(inspection)
    source, output = inspection.pieces["source"], inspection.pieces["output"]
    maps = {
        f"attribution.{name}": _map(values, ("position", "key"), output, source)
        for name, values in (("erasure", attribution.erasure), ("gradient", attribution.gradient))
        if values is not None
    }
    for index, view in enumerate(checkpoints or ()):
        if view.attention is not None:
            attention = _map(view.attention, ("layer", "position", "key"), view.pieces, view.source)
            maps[f"checkpoints.{index}.attention"] = attention
    facts: Facts = {
        "heads": [asdict(role) for role in roles(inspection, attribution.erasure)],
        "attribution": {
            "attention": {"where": attribution.where, "head": attribution.head, "links": attribution.links},
            "agreement": {pair: asdict(agreement) for pair, agreement in attribution.agreement.items()},
        },
        "lens": logit_lens(inspection),
        "norms": [asdict(norm) for norm in norm_statistics(inspection)],
        "initial_gradients": _initial_gradients(),
        "checkpoints": None if checkpoints is None else [_view(index, view) for index, view in enumerate(checkpoints)],
    }
    return rounded(facts), maps


def _map(values: Tensor, axes: tuple[str, ...], output: tuple[str, ...], source: tuple[str, ...]) -> Array:
    return Array(values.float().numpy(), axes, {"position": output, "key": source})


def _view(index: int, view: CheckpointView) -> Facts:
    facts = {"step": view.step, "translation": view.translation, "pieces": view.pieces}
    name = None if view.attention is None else f"checkpoints.{index}.attention"
    return facts | {"log_prob": view.log_prob, "attention": name, "problem": view.problem}


def _initial_gradients() -> Any:
    """The result of `reproduce/gradient_norms.py`."""
    file = files("dragoman.inspection").joinpath("initial_gradients.json")
    return json.loads(file.read_text(encoding="utf-8"))
