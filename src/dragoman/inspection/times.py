"""The same sentence through the saved checkpoints of a run: how a translation and its attention came to be.

A run's folder enters (`config.toml`, `tokenizer/`, `checkpoints/`), one `Moment` for each checkpoint leaves. One that
cannot be read is named, and the others are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from dragoman.bundle import load_weights
from dragoman.config import DecodeConfig, RunConfig
from dragoman.config.file import read_run_config
from dragoman.errors import ConfigError, ModelError
from dragoman.inspection.look import inspect_model
from dragoman.model.transformer import Transformer
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.checkpoint import checkpoint, checkpoint_steps

# Checkpoints looked at, the first and the last among them: more do not fit side by side.
MOST = 12


@dataclass(frozen=True)
class Moment:
    """What the model of one step did with the sentence; with a `problem`, nothing else is known."""

    step: int
    translation: str = ""
    source: tuple[str, ...] = ()
    """The pieces of the sentence, which the run may cut otherwise than the model that is looked at."""
    pieces: tuple[str, ...] = ()
    """Those it said, the end mark last."""
    attention: Tensor | None = None
    """(L, T, S): encoder-decoder attention of each layer, the mean of its heads."""
    log_prob: float = 0.0
    """log P of the translation, in nats."""
    problem: str | None = None
    """Why the checkpoint cannot be read."""


def through_time(
    folder: Path, text: str, *, options: DecodeConfig | None = None, most: int = MOST
) -> tuple[Moment, ...]:
    """The sentence by the checkpoints of the run in `folder`, by step; of more than `most`, evenly chosen ones.

    Raises ModelError if the folder holds no run, DataError if the sentence is blank.
    """
    steps = checkpoint_steps(folder / "checkpoints")
    if not steps:
        raise ModelError(f"{folder}: holds no checkpoint; give the folder of a run, where its `checkpoints` are")
    config, tokenizer = _config(folder), Tokenizer.load(folder / "tokenizer")
    model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target)).eval()
    found = []
    for step in _spread(steps, most):
        try:
            load_weights(model, checkpoint(folder / "checkpoints", step) / "model.safetensors")
        except ModelError as error:
            found.append(Moment(step, problem=str(error)))
        else:
            found.append(_moment(model, tokenizer, text, options or config.decode, step))
    return tuple(found)


def _config(folder: Path) -> RunConfig:
    try:
        return read_run_config(folder)
    except ConfigError as error:
        raise ModelError(f"{error}; the checkpoints cannot be read without it, copy the run again") from None


def _spread(steps: Sequence[int], most: int) -> list[int]:
    """At most so many of them, from the first to the last."""
    if len(steps) <= most:
        return list(steps)
    return [steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most)]


def _moment(model: Transformer, tokenizer: Tokenizer, text: str, options: DecodeConfig, step: int) -> Moment:
    inspection = inspect_model(model, tokenizer, text, None, options)
    layers = range(len(model.decoder))
    with torch.inference_mode():
        weights = [inspection.seen[f"decoder.{layer}.cross_attention"].weights[0].mean(0) for layer in layers]
        log_prob = float(inspection.log_probs.sum())
    source, said = inspection.pieces["source"], inspection.pieces["output"]
    return Moment(step, inspection.text, source, said, torch.stack(weights), log_prob)
