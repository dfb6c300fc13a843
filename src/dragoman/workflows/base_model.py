"""The model that fine-tuning starts from: a bundle with weights. No torch."""

from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.bundled import HOME
from dragoman.errors import ModelError
from dragoman.installed.opening import open_model


def open_base_model(folder: Path) -> Bundle:
    """The verified bundle in `folder`, or the name of a bundled model. Raises ModelError unless it has weights."""
    base = open_model(folder)
    if base.folder.parent == HOME:
        raise ModelError(
            f"{folder}: a bundled model, without the weights that training starts from; "
            "give a bundle that `dragoman train` wrote, or an import that has them"
        )
    base.require_weights()
    return base
