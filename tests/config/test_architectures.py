"""[model] of each architecture: old files load unchanged, each has its own keys, and a stranger's key is refused."""

from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.config import ModelConfig, RnnConfig, RunConfig
from dragoman.config.file import build_config, changed_keys, dump_config
from dragoman.config.sections.architectures.known import ARCHITECTURES, summary, title
from dragoman.errors import ConfigError
from dragoman.model.build import build_network
from dragoman.system.parsing import parse_toml

RNN = {"architecture": "rnn"}


def run(model: dict[str, Any], **train: Any) -> RunConfig:
    project = {"name": "x", "source": "en", "target": "de"}
    tree = {"project": project, "data": {"train": ["a.tsv"], "valid": "b.tsv"}, "train": train, "model": model}
    return build_config(tree, "run.toml", Path("/x"))


def test_without_an_architecture_it_is_a_transformer() -> None:
    assert isinstance(run({}).model, ModelConfig)
    assert run({"layers": 2, "d_model": 8, "d_ff": 8, "heads": 2}).model.architecture == "transformer"


@pytest.mark.parametrize("architecture", [name for name in ARCHITECTURES if name != "language-model"])
@pytest.mark.parametrize("preset", ["tiny", "small", "base", "big", "auto"])
def test_every_architecture_has_every_preset_and_survives_the_file(architecture: str, preset: str) -> None:
    config = run({"architecture": architecture, "preset": preset})
    again = build_config(parse_toml(dump_config(config).encode()), "config.toml", Path("/x"))
    assert again.model == config.model
    assert summary(config.model)["layers"].startswith(f"{config.model.encoder_layers} encoder")
    assert title(config.model)


def test_widths_follow_from_the_others_unless_they_are_given() -> None:
    small = RnnConfig.model_validate({"d_model": 8})
    assert (small.hidden, small.encoder_hidden, small.attention_width) == (8, 8, 8)
    wide = RnnConfig.model_validate({"d_model": 8, "hidden": 12, "encoder_hidden": 20, "layers": 3})
    assert (wide.hidden, wide.encoder_hidden, wide.decoder_layers) == (12, 20, 3)
    assert [RnnConfig.model_validate({"attention": name}).input_feeding for name in ("general", "additive")] == [
        True,
        False,
    ]
    assert [RnnConfig.model_validate({"attention": name}).start for name in ("general", "none")] == ["bridge", "copy"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            {"cell": "gru"},
            "model.cell: unknown key of architecture transformer; rnn has it: remove the key, or set model.",
        ),
        ({**RNN, "heads": 4}, "model.heads: unknown key of architecture rnn; transformer and moe have it"),
        ({"experts": 4}, "model.experts: unknown key of architecture transformer; moe has it: remove the key, or set"),
        ({"architecture": "moe", "active": 1}, "model.active: input should be greater than or equal to 2, not 1"),
        ({"architecture": "moe", "active": 8}, "model.active: 8 of 8 experts is no choice; set it lower"),
        ({"architecture": "moe", "every": 9}, "model.every: 9 leaves no experts in a stack of 3 layers"),
        ({"architecture": "moe", "kernel": 3}, "model.kernel: unknown key of architecture moe; convs2s and bytenet"),
        ({**RNN, "atention": "dot"}, "model.atention: unknown key; did you mean model.attention?"),
        ({"architecture": "convs2s", "kernel": 4}, "model.kernel: 4 has no middle; make it odd"),
        ({"architecture": "bytenet", "d_model": 9}, "model.d_model: 9 is 2d, twice the inner width"),
        ({**RNN, "kernel": 3}, "model.kernel: unknown key of architecture rnn; convs2s and bytenet have it"),
        ({"architecture": "rnm"}, "model.architecture: input should be 'transformer', 'rnn', 'convs2s', 'bytenet'"),
        ({"architecture": 3}, "not '3'"),
        ({**RNN, "attention": "full"}, "model.attention: input should be 'additive'"),
        ({**RNN, "layers": "x"}, "model.layers: "),
        ({**RNN, "encoder_hidden": 9}, "model.encoder_hidden: 9 is two directions of one width"),
        ({**RNN, "attention": "dot", "encoder_hidden": 8}, "model.attention: 'dot' needs encoder_hidden = hidden"),
        ({**RNN, "attention": "none", "input_feeding": True}, "model.input_feeding: attention = 'none' has no output"),
        ({**RNN, "attention": "none", "directions": "first"}, 'model.start: "copy" needs as many'),
    ],
)
def test_what_does_not_fit_is_refused_with_the_key_and_the_remedy(model: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        run(model)
    assert message in str(refused.value)
    assert str(refused.value).startswith("run.toml: model.")


def test_recomputation_is_refused_for_other_architectures() -> None:
    with pytest.raises(ConfigError, match=r"train\.recompute: works with Transformers alone, not with rnn"):
        run({"architecture": "rnn"}, recompute=True)


def test_the_keys_that_differ_from_the_defaults_are_those_of_the_architecture() -> None:
    keys = {key for key in changed_keys(run({"architecture": "rnn", "cell": "gru"})) if key.startswith("model.")}
    assert keys == {"model.architecture", "model.cell"}


TABLE_3 = {
    "A": {"heads": 1, "d_k": 512, "d_v": 512},
    "B": {"d_k": 16, "d_v": 64},
    "C": {"layers": 2},
    "C too": {"d_model": 256, "d_k": 32, "d_v": 32},
    "D": {"dropout": 0.0},
    "E": {"positions": "learned"},
}


@pytest.mark.parametrize("row", TABLE_3)
def test_every_row_of_table_3_is_a_configuration(row: str) -> None:
    model = run({"preset": "paper-base", **TABLE_3[row]}).model
    assert all(getattr(model, key) == value for key, value in TABLE_3[row].items())


# Millions of weights for 37,000 pieces, as docs/architectures.md has them; the paper prints 65 (A), 58, 60 (B), 36, 50,
# 80, 28, 168, 53, 90 (C) and 213 (big).
WEIGHTS = [
    ({"heads": 1}, 63.1),
    ({"heads": 32}, 63.1),
    ({"d_k": 16}, 56.0),
    ({"d_k": 32}, 58.4),
    ({"layers": 2}, 33.7),
    ({"layers": 4}, 48.4),
    ({"layers": 8}, 77.8),
    ({"d_model": 256}, 26.8),
    ({"d_model": 1024}, 163.9),
    ({"d_ff": 1024}, 50.5),
    ({"d_ff": 4096}, 88.3),
    ({"positions": "learned"}, 64.1),
    ({"preset": "paper-big"}, 214.2),
]


@pytest.mark.parametrize(("row", "millions"), WEIGHTS, ids=[str(row) for row, _ in WEIGHTS])
def test_the_weights_of_table_3(row: dict[str, Any], millions: float) -> None:
    config = ModelConfig.model_validate({"preset": "paper-base", **row})
    with torch.device("meta"):
        model = build_network(config, 37_000, 37_000)
    assert round(model.parameter_count / 1e6, 1) == millions


def test_the_number_of_positions_needs_learned_ones() -> None:
    with pytest.raises(ConfigError, match=r"model\.max_positions: only learned positions have it"):
        run({"max_positions": 9})
