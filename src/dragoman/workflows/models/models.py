"""Models at hand: list, pack, install and remove them.

A model is installed by copying a bundle, from a packed model or a folder, into the folder of installed models. It is
verified there before it gets its name; whatever fails, the models that were installed before are unchanged.
"""

import shutil
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from dragoman.adapter import ADAPTER, base_folder, is_adapter
from dragoman.bundle import PACKED, WEIGHTS, read_manifest, verified_manifest
from dragoman.bundled import HOME, bundled_folder, bundled_names
from dragoman.config.file import read_run_config
from dragoman.errors import ConfigError, DragomanError, ModelError, check_type, checked_path
from dragoman.installed import (
    installed_folder,
    installed_names,
    models_folder,
    name_of_model,
    resolve_model,
)
from dragoman.installed.opening import installed_base, open_model, open_models
from dragoman.installed.packed import packed_name, unpack, write_packed
from dragoman.system.files import (
    atomic_file,
    atomic_folder,
    is_special,
    refuse_existing,
    refuse_unwritable_folder,
    remove_folder,
    sha256,
)
from dragoman.workflows.models.verify import verify_bundle

UNCHANGED = "the installed models are unchanged"


@dataclass(frozen=True)
class ModelInfo:
    """A model that `-m NAME` finds, as its files describe it; they are not verified."""

    name: str
    model_path: Path
    """Its folder."""
    bundled: bool
    """Whether it came with the package."""
    pairs: tuple[str, ...] = ()
    """The languages that it translates between, as `ko-en`."""
    bytes: int = 0
    """The size of all its files."""
    license: str = "unknown"
    scores: tuple[tuple[str, float, str], ...] = ()
    """Metric, value and test set of each score that it has."""
    engines: tuple[str, ...] = ()
    """The engines that run it: `torch` with its weights, and its exports, as `ct2-int8`."""
    base: str | None = None
    """The name of the base model of an adapter; None for a whole model."""
    hidden: bool = False
    """Whether `-m NAME` finds an installed model instead of this bundled one."""
    fault: str | None = None
    """Why it cannot be used; None if nothing is known to be wrong."""


@dataclass(frozen=True)
class PackResult:
    """A packed model that was written."""

    path: Path
    name: str
    """The name that it is installed under."""
    bytes: int
    sha256: str
    """The hash of all of the file, to be published with it."""


def list_models() -> list[ModelInfo]:
    """All installed and bundled models, sorted by name, installed ones first."""
    installed = installed_names()
    models = [_describe(models_folder() / name, bundled=False) for name in installed]
    return models + [_describe(HOME / name, bundled=True, hidden=name in installed) for name in bundled_names()]


def _describe(folder: Path, bundled: bool, hidden: bool = False) -> ModelInfo:
    try:
        manifest, config = read_manifest(folder), read_run_config(folder)
        files = manifest["files"]
        exports = {name.partition("/")[0] for name in files if name.startswith("ct2-")}
        scores = manifest.get("scores") or []
        return ModelInfo(
            folder.name,
            folder,
            bundled,
            tuple(pair.name for pair in config.project.all_pairs),
            sum(file["bytes"] for file in files.values()),
            config.project.license,
            tuple((str(score["metric"]), float(score["value"]), str(score["on"])) for score in scores),
            (*(["torch"] if {WEIGHTS, ADAPTER} & files.keys() else []), *sorted(exports)),
            str(manifest["base"]["name"]) if is_adapter(manifest) else None,
            hidden,
        )
    except DragomanError as error:
        return ModelInfo(folder.name, folder, bundled, hidden=hidden, fault=str(error))
    except (AttributeError, LookupError, TypeError, ValueError):
        fault = f"{folder / 'bundle.json'}: malformed; install the model again"
        return ModelInfo(folder.name, folder, bundled, hidden=hidden, fault=fault)


def pack_model(
    model: str | PathLike[str],
    output: str | PathLike[str],
    *,
    base: str | PathLike[str] | None = None,
    weights: bool = True,
    force: bool = False,
) -> PackResult:
    """Write the bundle `model`, verified, as one file `output`, which `install_model` reads.

    Only the files that its `bundle.json` lists are in it. Without `weights` it has only the exports, which translate
    but cannot be trained further. An adapter is packed by itself; `base` is its base model if that is no longer where
    it was. `force` replaces a file that exists. Raises ModelError, DragomanError if writing fails.
    """
    path = checked_path("output", output)
    check_type("weights", weights, bool, "True or False")
    check_type("force", force, bool, "True or False")
    (bundle,) = open_models([model], base)
    if str(path) == "-" or is_special(path):
        raise ConfigError(f"{path}: a packed model is a file; give its name, e.g. {bundle.manifest['name']}{PACKED}")
    if bundle.folder.resolve() in path.resolve().parents:
        raise ConfigError(f"{path}: is inside the model, which would then hold itself; choose another folder")
    if not force and not path.is_dir():  # writing will tell that it is one
        refuse_existing([path])
    with atomic_file(path) as file:
        write_packed(bundle, file, weights)
    return PackResult(path, str(bundle.manifest["name"]), path.stat().st_size, sha256(path))


def install_model(model: str | PathLike[str], *, name: str | None = None, force: bool = False) -> ModelInfo:
    """Copy a packed model, or the folder of a bundle, to the installed models, so that `-m NAME` finds it.

    Its name is that in its `bundle.json` unless `name` is given. Everything is verified before the model is put in its
    place: hashes, tokenizer, and the golden sentences with the engine that translates. `force` replaces an installed
    model of the same name. Raises ModelError for a model that does not verify, ConfigError for a name that is taken.
    """
    check_type("name", name, str | None, "a str")
    check_type("force", force, bool, "True or False")
    path = resolve_model(checked_path("model", model))
    if not path.exists():
        raise ModelError(f"{path}: no such file or folder; give a packed model, a {PACKED} file, or a model folder")
    default_name = packed_name(path) if path.is_file() else str(read_manifest(path)["name"])
    folder = models_folder() / _free_name(name if name is not None else default_name, force)
    refuse_unwritable_folder(folder)
    with atomic_folder(folder, UNCHANGED) as partial:
        _refuse_existing(folder, force)  # again, under the lock: another process may have been faster
        try:
            _fill(partial, path)
            _refuse_without_base(partial)
            verify_bundle(open_model(partial), fastest=True)
        except ModelError as error:
            raise ModelError(str(error).replace(str(partial), str(path))) from None
    return _describe(folder, bundled=False)


def _free_name(text: str, force: bool) -> str:
    """`text` as a name under which a model may be installed. Raises ConfigError."""
    name = name_of_model(text)
    if bundled_folder(name):
        raise ConfigError(f"{name}: is the name of a bundled model; choose another with --name")
    _refuse_existing(models_folder() / name, force)
    return name


def _refuse_existing(folder: Path, force: bool) -> None:
    if folder.exists() and not force:
        raise ConfigError(f"{folder.name}: already installed; --force replaces it, --name chooses another name")


def _fill(partial: Path, path: Path) -> None:
    """Copy the files of a packed model or of a bundle's folder, and no others."""
    if path.is_file():
        unpack(path, partial)
        return
    for name in ("bundle.json", *verified_manifest(path)["files"]):
        (partial / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path / name, partial / name)


def _refuse_without_base(folder: Path) -> None:
    """Raise ModelError for an adapter whose base model is not installed: its path is another one here."""
    manifest = read_manifest(folder)
    if is_adapter(manifest) and not installed_base(folder) and not base_folder(folder, manifest).exists():
        name = manifest["base"]["name"]
        raise ModelError(f"{folder}: an adapter of the model {name}; install that model first")


def remove_model(name: str) -> Path:
    """Remove an installed model; returns the folder that it was in. Raises ModelError if `name` is not installed."""
    check_type("name", name, str, "the name of an installed model")
    folder = removable_model(name)
    remove_folder(folder)
    return folder


def adapters_of(folder: Path) -> list[str]:
    """The names of the installed adapters whose base model is the installed model in `folder`."""
    models = ((name, installed_folder(name)) for name in installed_names())
    return [name for name, adapter in models if adapter and installed_base(adapter) == folder]


def removable_model(name: str) -> Path:
    """The folder of the installed model `name`. Raises ModelError if there is none."""
    if folder := installed_folder(name):
        return folder
    if bundled_folder(name):
        raise ModelError(f"{name}: a bundled model, which belongs to the package and stays")
    if name and Path(name).exists():
        raise ModelError(f"{name}: not an installed model but a path; delete it yourself if it is yours")
    names = ", ".join(installed_names()) or "none"
    raise ModelError(f"{name}: not an installed model; there are: {names}")
