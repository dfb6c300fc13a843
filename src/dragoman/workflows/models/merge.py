"""An adapter and its base model become a whole model: W₀ + α/r · B A."""

from os import PathLike
from pathlib import Path

from dragoman.adapter import ADAPTER
from dragoman.bundle import Bundle, write_bundle
from dragoman.errors import ModelError, checked_path
from dragoman.installed.opening import open_model
from dragoman.system.files import refuse_existing, refuse_unwritable_folder

# What is of the adapter and not of the whole model: facts of bundle.json, and files.
OWN_FACTS = {"format", "name", "languages", "architecture", "parameters", "files", "kind", "adapter", "base"}
OWN_FILES = {"config.toml", "README.md", "golden.jsonl", ADAPTER}


def merge_adapter(
    model: str | PathLike[str], output: str | PathLike[str], *, base: str | PathLike[str] | None = None
) -> Path:
    """Write the whole model that the adapter `model` and its base model are together; returns its folder.

    `base` is the folder of the base model, if it is no longer where it was. Raises ConfigError if `output` exists,
    ModelError if the model is no adapter, or its base is missing or another one.
    """
    bundle, target = open_model(model, base), checked_path("output", output)
    if not bundle.base:
        raise ModelError(f"{bundle.folder}: a whole model, with nothing to merge; give the folder of an adapter")
    refuse_existing([target], "choose another folder")
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
