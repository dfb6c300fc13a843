"""Dragoman: two files of parallel text in, a Transformer translation system of your own out.

The public names are loaded when first used (PEP 562), so that importing the package loads neither torch
nor ctranslate2.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dragoman.config import RunConfig
    from dragoman.config.file import load_config
    from dragoman.errors import DragomanError
    from dragoman.translation import Translation
    from dragoman.translator import Translator

_HOMES = {
    "DragomanError": "dragoman.errors",
    "RunConfig": "dragoman.config",
    "Translation": "dragoman.translation",
    "Translator": "dragoman.translator",
    "load_config": "dragoman.config.file",
}

__all__ = ["DragomanError", "RunConfig", "Translation", "Translator", "__version__", "load_config"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
