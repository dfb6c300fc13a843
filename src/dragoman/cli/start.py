"""Fine-tuning: shape and pieces come with the model that `train.start_from` names, and what was given must agree.

A run that goes on has them in its own folder, and needs that model no more.
"""

from pathlib import Path

from dragoman.bundle import Bundle, open_bundle
from dragoman.cli.runfolder import begun_with, output_of
from dragoman.config import ModelConfig, RunConfig, TokenizerConfig
from dragoman.errors import ConfigError

# Of [model] and [tokenizer], what touches neither weights nor pieces: a run's own affair.
FREE = ("dropout", "sampling")


def with_start(config: RunConfig, resume: bool = False) -> tuple[RunConfig, Bundle | None]:
    """The configuration, for fine-tuning with the shape and pieces it starts from, and the model to start from.

    Raises ConfigError if a given key of [model] or [tokenizer] asks for others. On `resume` what was given is left
    to be compared with the run's beginning, and no model is opened.
    """
    if not config.train.start_from:
        return config, None
    start = None if resume else open_bundle(config.train.start_from)
    origin = start.config if start else begun_with(output_of(config))
    model, tokenizer = _asked(config.model), _asked(config.tokenizer)
    if start:
        _refuse_others(model, origin.model, "model", start.folder)
        _refuse_others(tokenizer, origin.tokenizer, "tokenizer", start.folder)
    sections = {
        "model": origin.model.model_copy(update={field: value for field, (_, value) in model.items()}),
        "tokenizer": origin.tokenizer.model_copy(update={field: value for field, (_, value) in tokenizer.items()}),
    }
    return config.model_copy(update=sections), start


def _asked(section: ModelConfig | TokenizerConfig) -> dict[str, tuple[str, object]]:
    """The fields that were asked for, each with the key that did so and its value."""
    given = section.model_fields_set
    keys = {field: field for field in type(section).model_fields if field in given}
    if "layers" in given:
        keys = {"encoder_layers": "layers", "decoder_layers": "layers"} | keys
    if "preset" in given:
        shape = set(type(section).model_fields) - {*FREE, "d_k", "d_v"}
        keys = dict.fromkeys(sorted(shape), "preset") | keys
    return {field: (key, getattr(section, field)) for field, key in keys.items()}


def _refuse_others(
    asked: dict[str, tuple[str, object]], kept: ModelConfig | TokenizerConfig, name: str, folder: Path
) -> None:
    for field, (key, value) in asked.items():
        if field not in FREE and value != getattr(kept, field):
            raise ConfigError(
                f"{name}.{key}: differs from {folder}, with which train.start_from begins; "
                f"leave it out, it comes with the model"
            )
