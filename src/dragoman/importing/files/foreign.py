"""What a reader of another toolkit's model returns.

    def read_KIND(path: Path, *, pair: tuple[str, str] | None, scratch: Path) -> Foreign

`pair` are the languages that the user named, source first; a reader that finds them in the files may ignore it, and
raises ConfigError that starts with "--pair: " where it needs them. `scratch` is an empty temporary folder on the disk
of the output, for files that cannot be used where they are; it is removed after the bundle has been written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.config import RunConfig
from dragoman.config.file import build_config
from dragoman.config.sections.project import is_name
from dragoman.importing.files.origin import Origin
from dragoman.text.tokens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

# A longer source is cut: models of sentences were not trained on more.
LONGEST_SOURCE = 128


@dataclass(frozen=True)
class Foreign:
    """A model of another toolkit in Dragoman's terms."""

    config: RunConfig
    tokenizer: Tokenizer
    origin: Origin
    tensors: "dict[str, Tensor] | None" = None
    """Weights by the names of `Transformer.named_parameters`; None for a model that only CTranslate2 runs."""
    engine_folder: Path | None = None
    """A folder of CTranslate2 files, all of which go into the bundle; None for a model with weights."""
    parameters: int | None = None
    """The number of weights in `engine_folder`; None for a model with weights."""
    notes: Sequence[str] = ()
    """What the user is to know, one line each: what was mapped, left out or assumed."""


def foreign_config(path: Path, project: Mapping[str, Any], **sections: Mapping[str, Any]) -> RunConfig:
    """The configuration of a model that was read from `path` and that has no text. Raises ConfigError.

    `project` has the languages; `sections` are [model], [tokenizer] and [decode].
    """
    tree = {"project": {"name": name_of(path), **project}, "data": {"max_length": LONGEST_SOURCE}, **sections}
    return build_config(tree, str(path), Path())


def name_of(path: Path) -> str:
    """The name of a model from that of its folder or file: letters, digits, dots, dashes and underscores."""
    plain = "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in path.absolute().name).strip("._-")
    return plain if is_name(plain) else "imported"
