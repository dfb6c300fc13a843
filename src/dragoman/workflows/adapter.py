"""LoRA adapters: what a run that trains one is refused for, writing it, and merging it into a whole model.

The mathematics is in `dragoman.model.lora`, the files of an adapter in `dragoman.adapter` and `dragoman.bundle`.
"""

from os import PathLike
from pathlib import Path

import torch

from dragoman.adapter import ADAPTER, Adapter
from dragoman.bundle import Bundle, open_bundle, write_bundle
from dragoman.config import RunConfig
from dragoman.errors import ConfigError, ModelError, checked_path
from dragoman.installed import resolve_model
from dragoman.model.lora import adapted_matrices
from dragoman.model.transformer import Transformer
from dragoman.storage import refuse_unwritable_folder
from dragoman.training.averaging import average_weights
from dragoman.training.freezing import freeze
from dragoman.workflows.trainer import Run

OWN_FACTS = {"format", "name", "languages", "architecture", "parameters", "files", "kind", "adapter", "base"}
OWN_FILES = {"config.toml", "README.md", "golden.jsonl", ADAPTER}


def check_adaptable(config: RunConfig) -> None:
    """Raise ConfigError, before any text is read, if no matrix would get an adapter, or one of no use."""
    train, width = config.train, min(config.model.d_model, config.model.d_ff)
    if train.lora_rank > width:
        raise ConfigError(
            f"train.lora_rank: {train.lora_rank} is more than the rank {width} of the matrices themselves; "
            "set it lower, often 4 to 32"
        )
    with torch.device("meta"):
        model = Transformer(config.model, 1, 1)
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


def merge_adapter(
    adapter: str | PathLike[str], output: str | PathLike[str], *, base: str | PathLike[str] | None = None
) -> Path:
    """Write the whole model that an adapter and its base model are together; returns its folder.

    `base` is the folder of the base model, if it is no longer where it was. Raises ConfigError if `output` exists,
    ModelError if the model is no adapter, or its base is missing or another one.
    """
    where = base if base is None else resolve_model(checked_path("base", base))
    bundle, target = open_bundle(checked_path("adapter", adapter), where), checked_path("output", output)
    if not bundle.base:
        raise ModelError(f"{bundle.folder}: a whole model, with nothing to merge; give the folder of an adapter")
    if target.exists():
        raise ConfigError(f"{target}: already exists; choose another folder")
    refuse_unwritable_folder(target)
    write_merged(bundle, target)
    return target


def write_merged(bundle: Bundle, target: Path) -> None:
    """Write the adapter `bundle` merged with its base, with its facts, card, golden translations and other files."""
    manifest, folder = bundle.manifest, bundle.folder
    card = (folder / "README.md").read_text(encoding="utf-8")
    golden = folder / "golden.jsonl"
    others = {name for name in manifest["files"] if name not in OWN_FILES}
    merged = {"adapter": manifest["adapter"], "base": {key: manifest["base"][key] for key in ("name", "sha256")}}
    write_bundle(
        target,
        config=bundle.config,
        tokenizer=bundle.tokenizer,
        model=bundle.load_model(),
        card=card.replace("## Adapter\n\nA low-rank adapter", "## Adapter\n\nMerged from a low-rank adapter"),
        facts={key: value for key, value in manifest.items() if key not in OWN_FACTS} | {"merged": merged},
        golden=golden.read_text(encoding="utf-8") if golden.name in manifest["files"] else "",
        files={name: (folder / name).read_text(encoding="utf-8") for name in sorted(others)},
    )
