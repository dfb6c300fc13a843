"""The model that fine-tuning starts from: a bundle with weights. No torch."""

from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.engine.kinds import require_kind
from dragoman.errors import ModelError
from dragoman.installed.opening import open_model


def open_base_model(folder: Path) -> Bundle:
    """The verified bundle in `folder`, or of this name. Raises ModelError unless it translates and has weights."""
    base = open_model(folder)
    require_kind(base, language_model=False)
    if not base.has_weights:
        raise ModelError(
            f"{folder}: has no weights that training could start from, only those for CTranslate2; "
            f"`dragoman init PROJECT --from {folder}` makes a copy that has them"
        )
    return base
