"""Small files of a model, checked, and config.json of Hugging Face: its keys → keys of [model].

The architectures are those that are our Transformer.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dragoman.config import ModelConfig
from dragoman.errors import ModelError
from dragoman.system.parsing import parse_json, plain_cause

LARGEST_FILE = 64 << 20
AGAIN = "fetch the file again"
ACTIVATIONS = {"relu": "relu", "swish": "silu", "silu": "silu"}
# Our keys of [model], and the keys of config.json that must agree on each.
SHAPE = {
    "encoder_layers": ("encoder_layers",),
    "decoder_layers": ("decoder_layers",),
    "d_model": ("d_model",),
    "d_ff": ("encoder_ffn_dim", "decoder_ffn_dim"),
    "heads": ("encoder_attention_heads", "decoder_attention_heads"),
}
UNUSED_DROPOUTS = ("attention_dropout", "activation_dropout")
REMEDY = "convert it with ct2-transformers-converter and import that folder"


def read_file(path: Path) -> bytes:
    """The content of a file that is small in every model. Raises ModelError."""
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise ModelError(f"{path}: {size:,} bytes, more than any vocabulary has; fetch it again")
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}; it belongs to the model, fetch it too") from None


def read_text(path: Path) -> str:
    """The text of such a file. Raises ModelError."""
    try:
        return read_file(path).decode()
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: not UTF-8 at byte {error.start}; {AGAIN}") from None


def read_json(path: Path) -> Any:
    """The value of such a file. Raises ModelError."""
    try:
        return parse_json(read_file(path))
    except ValueError as error:
        raise ModelError(f"{path}: cannot be read: {error}; {AGAIN}") from None


def read_settings(path: Path, required: bool = True) -> dict[str, Any]:
    """Keys with their values. Raises ModelError."""
    if not required and not path.exists():
        return {}
    settings = read_json(path)
    if not isinstance(settings, dict):
        raise ModelError(f"{path}: cannot be read: not keys with their values; {AGAIN}")
    return settings


def require(settings: Mapping[str, Any], values: Mapping[str, tuple[Any, ...]], where: Path) -> None:
    """Check that keys have one of their `values`, None for a missing one. Raises ModelError."""
    for key, allowed in values.items():
        value = settings.get(key)
        if value not in allowed:
            wanted = f"must be {str(allowed[0]).lower()}, not {'missing' if value is None else value}"
            raise ModelError(f"{where}: {key}: {wanted}; this model is of another architecture, {REMEDY}")


def shape_keys(settings: Mapping[str, Any], where: Path) -> dict[str, Any]:
    """Sizes, dropout and activation of a model with LayerNorm, sinusoids and biases. Raises ModelError."""
    activation = settings.get("activation_function")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise ModelError(f"{where}: activation_function: {activation} is none of relu, swish, silu; {REMEDY}")
    shape: dict[str, Any] = {}
    for ours, theirs in SHAPE.items():
        values = [number(settings, key, where) for key in theirs]
        if len(set(values)) > 1:
            raise ModelError(f"{where}: {theirs[0]} and {theirs[1]} differ, {values[0]} and {values[1]}; {REMEDY}")
        shape[ours] = values[0]
    if shape["d_model"] % shape["heads"]:
        raise ModelError(
            f"{where}: encoder_attention_heads: {shape['heads']} does not divide {shape['d_model']}; {AGAIN}"
        )
    dropout = settings.get("dropout", 0.1)
    return {
        **shape,
        "dropout": dropout if isinstance(dropout, int | float) and 0 <= dropout < 1 else 0.1,
        "norm": "layer",
        "positions": "sinusoidal",
        "feed_forward": ACTIVATIONS[activation],
        "bias": True,
    }


def model_config(keys: Mapping[str, Any], where: object) -> ModelConfig:
    """The shape of a network from keys of [model], read from `where`. Raises ModelError beyond its limits."""
    try:
        return ModelConfig.model_validate(keys)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "model"
        raise ModelError(f"{where}: {key}: {plain_cause(first['msg'])}; {AGAIN}") from None


def number(settings: Mapping[str, Any], key: str, where: Path) -> int:
    """A whole number above 0. Raises ModelError."""
    value = settings.get(key)
    if type(value) is not int or not 0 < value < 1 << 20:
        raise ModelError(f"{where}: {key}: a whole number above 0 is needed, not {value!r}; {AGAIN}")
    return value


def dropout_notes(settings: Mapping[str, Any]) -> list[str]:
    """What training would do that Dragoman does not, one line each."""
    return [f"{key} {settings[key]}: Dragoman trains without it" for key in UNUSED_DROPOUTS if settings.get(key)]
