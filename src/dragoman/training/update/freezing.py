"""Which parameters a fine-tuning leaves as they are: no gradient, no state of the optimizer.

Input: a model and the names of `train.freeze`. Output: its parameters with `requires_grad` set, before an optimizer, a
gradient or a process group sees them.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from torch import nn

from dragoman.errors import ConfigError

# Names for parts that are not one module each, with the beginnings of the names of their parameters.
PARTS = {
    "embeddings": ("source_embedding", "target_embedding", "projection", "projection_bias"),
    "encoder": ("encoder", "encoder_norm"),
    "decoder": ("decoder", "decoder_norm"),
}
NORMS = "norms"


def frozen_names(model: nn.Module, parts: Sequence[str]) -> frozenset[str]:
    """The names of the parameters in `parts`. Raises ConfigError for an unknown part, and if none is left to train."""
    named = dict(model.named_parameters(remove_duplicate=False))  # a shared matrix is frozen by any of its names
    frozen = set[int]()
    for part in parts:
        inside = {id(named[name]) for name in named if _belongs(name, part)}
        if not inside and part not in PARTS and part != NORMS:
            raise ConfigError(f"train.freeze: {part}: no such part of the model{_did_you_mean(part, named)}")
        frozen |= inside
    names = frozenset(name for name, parameter in model.named_parameters() if id(parameter) in frozen)
    if parts and len(names) == sum(1 for _ in model.named_parameters()):
        raise ConfigError(f"train.freeze: {', '.join(parts)} leave nothing to train; remove one of them")
    return names


def freeze(model: nn.Module, parts: Sequence[str]) -> None:
    """Exclude `parts` of the model from training."""
    names = frozen_names(model, parts)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in names)


def _belongs(parameter: str, part: str) -> bool:
    modules = parameter.split(".")[:-1]
    if part == NORMS:
        return any(module.endswith("norm") for module in modules)
    return any(parameter == name or parameter.startswith(f"{name}.") for name in PARTS.get(part, (part,)))


def _did_you_mean(part: str, names: Iterable[str]) -> str:
    known = {".".join(name.split(".")[:depth]) for name in names for depth in range(1, name.count(".") + 1)}
    close = get_close_matches(part, sorted({*PARTS, NORMS, *known}), n=1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; known are {', '.join([*PARTS, NORMS])}, and layers and their parts, as in encoder.0"
