"""Installed models: a folder of the user's own models, which `-m NAME` finds from any folder.

Input: a name or a path. Output: the folder of a bundle. The folder of installed models is `models` in $DRAGOMAN_HOME;
without this variable in the data folder of the operating system: $XDG_DATA_HOME/dragoman or ~/.local/share/dragoman,
~/Library/Application Support/dragoman on macOS, %LOCALAPPDATA%\\dragoman on Windows. Each model is one folder in it, a
bundle like any other, whose name is that of the model.
"""

import os
import sys
import unicodedata
from difflib import get_close_matches
from pathlib import Path

from dragoman.bundled import bundled_folder, bundled_names
from dragoman.config.sections.project import is_name
from dragoman.errors import ConfigError, ModelError
from dragoman.system.files import restore

VARIABLE = "DRAGOMAN_HOME"


def models_folder() -> Path:
    """The folder of installed models, which need not exist. Raises ConfigError if this user has no home folder."""
    try:
        if named := os.environ.get(VARIABLE):
            return Path(named).expanduser().absolute() / "models"
        return _data_folder() / "dragoman" / "models"
    except RuntimeError:  # of pathlib
        raise ConfigError(
            f"{VARIABLE}: this user has no home folder; set the variable to a folder for models"
        ) from None


def _data_folder() -> Path:
    """Where programs keep their data, on this operating system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    folder = Path(os.environ.get("XDG_DATA_HOME", ""))
    return folder if folder.is_absolute() else Path.home() / ".local" / "share"


def name_of_model(text: str) -> str:
    """`text` as the name of an installed model: composed, as most programs write it. Raises ConfigError for no name."""
    name = unicodedata.normalize("NFC", text)
    if not is_name(name):
        raise ConfigError(
            f"{text!r}: not a name of a model; use letters, digits, dots, dashes and underscores, and begin with a "
            "letter or a digit"
        )
    return name


def installed_folder(name: str) -> Path | None:
    """The folder of the installed model `name`, which is not verified yet; None if there is none."""
    name = unicodedata.normalize("NFC", name)
    if not is_name(name):
        return None
    try:
        folder = models_folder() / name
    except ConfigError:
        return None
    restore(folder)
    return folder if os.path.isfile(folder / "bundle.json") else None


def installed_names() -> list[str]:
    """The names of all installed models, sorted."""
    try:
        names = os.listdir(models_folder())
    except (OSError, ConfigError):
        return []
    return sorted(name for name in names if installed_folder(name))


def resolve_model(model: Path | str) -> Path:
    """The model in the folder `model`, otherwise the installed model, or else the bundled model, with this name.

    Returns `model` if there is none of them. A folder without a model, as that of a project, does not hide an installed
    model of its name. Raises ModelError if a model has almost this name.
    """
    folder = Path(model)
    if len(folder.parts) != 1:
        return folder
    installed = installed_folder(folder.name)
    if os.path.lexists(folder) or not folder.name:
        plain = folder.is_dir() and not os.path.lexists(folder / "bundle.json")
        return installed if installed and plain else folder
    if model_folder := installed or bundled_folder(folder.name):
        return model_folder
    if close := get_close_matches(folder.name, [*installed_names(), *bundled_names()], 1, 0.75):
        raise ModelError(f"{model}: no such model folder; did you mean {close[0]}?")
    return folder


def changeable_model(model: str | os.PathLike[str]) -> Path:
    """The folder `model`. Raises ModelError for the name of a bundled model, which belongs to the package."""
    folder = resolve_model(Path(model))
    if folder == bundled_folder(folder.name):
        raise ModelError(
            f"{model}: a bundled model, which stays as it is; "
            f"`dragoman model install {folder.name} --name NAME` makes a copy to change"
        )
    return folder
