"""A run that trains a LoRA adapter: what it is refused for, what it reports, and what its folder ends with.

The mathematics is in `dragoman.model.lora`, the files of an adapter in `dragoman.adapter` and `dragoman.bundle`.
"""

from dragoman.adapter import Adapter
from dragoman.bundle import Bundle
from dragoman.config import ModelConfig, MoeConfig, RunConfig
from dragoman.errors import ConfigError
from dragoman.model.build import build_network
from dragoman.model.lora import adapted_matrices
from dragoman.model.parts.device import without_values
from dragoman.training.resume.averaging import average_weights
from dragoman.training.update.freezing import freeze
from dragoman.workflows.train.trainer import Run


def check_adaptable(config: RunConfig) -> None:
    """Raise ConfigError, before any text is read, if no matrix would get an adapter, or one of no use."""
    train, shape = config.train, config.model
    if not isinstance(shape, ModelConfig) or isinstance(shape, MoeConfig):
        raise ConfigError(
            f'train.lora_rank: needs a Transformer, and this model is of architecture "{shape.architecture}"; '
            "set it to 0"
        )
    width = min(shape.d_model, shape.d_ff)
    if train.lora_rank > width:
        raise ConfigError(
            f"train.lora_rank: {train.lora_rank} is more than the rank {width} of the matrices themselves; set it lower"
        )
    with without_values():
        model = build_network(config.model, 1, 1)
    freeze(model, train.freeze)
    if not adapted_matrices(model, train.lora_matrices):
        names = ", ".join(train.lora_matrices)
        raise ConfigError(f"train.lora_matrices: the model has no {names} that is not frozen; name others")


def refuse_adapter_of_adapter(base: Bundle) -> None:
    """Raise ConfigError if the base of a new adapter is an adapter itself."""
    if base.base:
        raise ConfigError(
            f"train.start_from: {base.folder} is an adapter, and an adapter needs a whole model; "
            f"`dragoman model merge {base.folder} -o BUNDLE` makes one"
        )


def base_file(config: RunConfig, base: Bundle | None) -> tuple[str, str] | None:
    """The file of the weights that the run trains an adapter of, and its hash; None for other runs."""
    if not config.train.lora_rank or not base:
        return None
    return str(base.folder / "model.safetensors"), base.weights_sha256 or ""


def describe_adapter(config: RunConfig, trained: int, whole: int) -> str:
    """What is trained, of how much, and what the optimizer needs for it: two moments of 4 bytes per number."""
    small, large = (f"{count * 8 / 1e6:,.1f} MB" for count in (trained, whole))
    return (
        f"LoRA of rank {config.train.lora_rank} on {', '.join(config.train.lora_matrices)}: {trained:,} numbers are "
        f"trained, {trained / whole:.1%} of the model's; Adam's moments are {small} instead of {large}"
    )


def trained_adapter(run: Run, steps: tuple[int, ...]) -> Adapter:
    """The adapter of a finished run: the mean of the checkpoints of `steps`."""
    train, base = run.config.train, run.base
    assert base
    tensors, name = average_weights(run.folder / "checkpoints", steps), base.manifest["name"]
    return Adapter(tensors, train.lora_rank, train.lora_alpha, base.folder, name, base.weights_sha256 or "")


def adapter_section(adapter: Adapter | None) -> dict[str, str]:
    """The section of a model card about the adapter; none for a whole model."""
    if adapter is None:
        return {}
    return {
        "Adapter": f"A low-rank adapter (LoRA, Hu et al. 2021; rank {adapter.rank}, α {adapter.alpha:g}): "
        f"{adapter.parameters:,} numbers that are added to the weights of the model `{adapter.base_name}`, which it "
        f"needs (sha256 of its weights: {adapter.base_sha256}). The scores are those of the two together. "
        "`dragoman model merge` makes a whole model of them."
    }
