"""Tiny shapes of every architecture, by name: the keys of [model] for `build`, for tests of what holds for all."""

from typing import Any

from dragoman.config import AnyModel, ModelConfig
from dragoman.config.sections.architectures.known import ARCHITECTURES

TODAY = {"norm": "rms", "positions": "rotary", "feed_forward": "swiglu", "bias": False}
MARIAN = {
    "norm_order": "post",
    "feed_forward": "silu",
    "output_bias": True,
    "position_base": 1234.5,
    "first_position": 2,
}
TRANSFORMERS: dict[str, dict[str, Any]] = {
    "post": {"norm_order": "post"},
    "pre": {"norm_order": "pre"},
    "today": TODAY,
    "marian": MARIAN,
    "learned": {"positions": "learned", "max_positions": 7},
}
RNN = {"architecture": "rnn"}
MOE = {"architecture": "moe", "d_ff": 24, "heads": 4}
OTHERS: dict[str, dict[str, Any]] = {
    "rnn additive": {**RNN, "attention": "additive", "cell": "gru", "layers": 1, "hidden": 12, "encoder_hidden": 20},
    "rnn general": {**RNN, "attention": "general", "layers": 3},
    "rnn concat": {**RNN, "attention": "concat", "input_feeding": False, "directions": "first", "start": "bridge"},
    "rnn scaled": {**RNN, "attention": "scaled", "cell": "gru", "directions": "backward"},
    "rnn none": {**RNN, "attention": "none", "directions": "backward"},
    "convs2s": {"architecture": "convs2s", "hidden": 12, "encoder_layers": 3, "max_positions": 9},
    "bytenet": {"architecture": "bytenet", "layers": 3, "max_dilation": 2},
    "moe": {**MOE, "experts": 4},
    "moe of today": {**MOE, **TODAY, "experts": 5, "active": 3, "noise": False},
}
ALL = TRANSFORMERS | OTHERS
WITHOUT_ATTENTION = {"rnn none", "bytenet"}
ATTENDING = {name: keys for name, keys in OTHERS.items() if name not in WITHOUT_ATTENTION}


def tiny(**keys: Any) -> AnyModel:
    """The configuration of a tiny network; `keys` are added to what its architecture needs."""
    if keys.get("architecture", "transformer") == "transformer":
        return ModelConfig.model_validate({"layers": 2, "d_model": 16, "d_ff": 24, "heads": 4, "dropout": 0.0, **keys})
    return ARCHITECTURES[keys["architecture"]].model_validate({"layers": 2, "d_model": 16, "dropout": 0.0, **keys})
