"""The formats of documents: their names, the ends of their file names, the module of each."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from dragoman.documents.document import Format
from dragoman.errors import DataError, ResourceError


@dataclass(frozen=True, slots=True)
class Kind:
    """A format: `module` in this package, loaded when it is used; `needs` is true where `dragoman[documents]` is."""

    name: str
    suffixes: tuple[str, ...]
    module: str
    keeps: str
    """What of a file stays as it is: "bytes" or "tree"."""
    needs: bool = False


KINDS = (Kind("plain text", (".txt",), "plain", "bytes"),)


def kind_of(path: Path, name: str | None = None) -> Kind:
    """The format of a file, by its name or by the one asked for. Raises DataError for an unknown one."""
    name = (name or path.name).lower()
    # The longest suffix decides: `.strings.xml` is more than `.xml`.
    found = [(suffix, kind) for kind in KINDS for suffix in kind.suffixes if name.endswith(suffix)]
    if not found:
        known = " ".join(suffix for kind in KINDS for suffix in kind.suffixes)
        raise DataError(f"{path}: not a document that can be translated; give one of {known}")
    return max(found, key=lambda each: len(each[0]))[1]


def load(kind: Kind) -> Format:
    """The module of a format. Raises ResourceError if its packages are not installed."""
    try:
        module: Format = import_module(f"dragoman.documents.{kind.module}")
    except ModuleNotFoundError as error:
        if not kind.needs or (error.name or "").startswith("dragoman"):
            raise
        raise ResourceError(f"{kind.name}: needs {error.name}; pip install 'dragoman[documents]'") from None
    return module
