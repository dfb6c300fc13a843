"""What the page says beyond what was recorded: roles of heads, saliency, the lens, norms, the run's checkpoints.

Facts that JSON can hold leave, and maps (positions by positions) that go among the arrays.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from torch import Tensor

from dragoman.inspection.attribution import attribute
from dragoman.inspection.heads import roles
from dragoman.inspection.lens import logit_lens, norm_statistics
from dragoman.inspection.look import Array, Inspection
from dragoman.inspection.times import Moment

Facts = dict[str, Any]


def analyse(inspection: Inspection, times: Sequence[Moment] | None = None) -> tuple[Facts, dict[str, Array]]:
    """The facts and maps of every view; of a run's checkpoints, if `times` tells of them."""
    attribution = attribute(inspection)
    source, said = inspection.pieces["source"], inspection.pieces["output"]
    maps = {
        f"attribution.{name}": _map(way, ("position", "seen"), said, source)
        for name, way in (("erasure", attribution.erasure), ("gradient", attribution.gradient))
        if way is not None
    }
    for place, moment in enumerate(times or ()):
        if moment.attention is not None:
            attention = _map(moment.attention, ("layer", "position", "seen"), moment.pieces, moment.source)
            maps[f"checkpoints.{place}.attention"] = attention
    facts: Facts = {
        "heads": [asdict(role) for role in roles(inspection, attribution.erasure)],
        "attribution": {
            "attention": {"where": attribution.where, "head": attribution.head, "links": attribution.links},
            "agreement": {pair: asdict(found) for pair, found in attribution.agreement.items()},
        },
        "lens": logit_lens(inspection),
        "norms": [asdict(norm) for norm in norm_statistics(inspection)],
        "initial_gradients": _initial_gradients(),
        "checkpoints": None if times is None else [_moment(place, moment) for place, moment in enumerate(times)],
    }
    return _short(facts), maps


def _map(values: Tensor, axes: tuple[str, ...], said: tuple[str, ...], source: tuple[str, ...]) -> Array:
    return Array(values.float().numpy(), axes, {"position": said, "seen": source})


def _moment(place: int, moment: Moment) -> Facts:
    told = {"step": moment.step, "translation": moment.translation, "pieces": moment.pieces}
    name = None if moment.attention is None else f"checkpoints.{place}.attention"
    return told | {"log_prob": moment.log_prob, "attention": name, "problem": moment.problem}


def _initial_gradients() -> Any:
    """What `reproduce/gradient_norms.py` found."""
    kept = files("dragoman.inspection").joinpath("initial_gradients.json")
    return json.loads(kept.read_text(encoding="utf-8"))


def _short(value: Any) -> Any:
    """Five digits of every number with a fraction: more would be half of a long sentence's page."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    return [_short(each) for each in value] if isinstance(value, list | tuple) else value
