"""One sentence through the saved checkpoints of a run: how its translation and its attention developed.

Input: the folder of a run (`config.toml`, `tokenizer/`, `checkpoints/`). Output: one `CheckpointView` per checkpoint.
A checkpoint that cannot be read has a `problem`, and the others are still shown.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from dragoman.config import DecodeConfig, RunConfig
from dragoman.config.file import read_run_config
from dragoman.control.languages import Pairs
from dragoman.errors import ConfigError, ModelError
from dragoman.inspection.inspection import Inspection, inspect_model
from dragoman.installed.opening import open_model
from dragoman.model.build import build_network, require_transformer
from dragoman.model.initialise import evenly_spaced
from dragoman.model.lora import load_merged, read_adapter
from dragoman.model.weights import load_weights
from dragoman.text.terms.symbols import Symbols
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.resume.checkpoint import checkpoint, checkpoint_steps
from dragoman.training.resume.integrity import NOTE, WEIGHTS, fault_in

# More do not fit side by side on a page.
MAX_CHECKPOINTS = 12


@dataclass(frozen=True)
class CheckpointView:
    """What the model of one step does with the sentence. If there is a `problem`, all else is empty."""

    step: int
    translation: str = ""
    source: tuple[str, ...] = ()
    """The pieces of the sentence: the run's tokenizer may differ from that of the model on the page."""
    pieces: tuple[str, ...] = ()
    """The pieces of the translation, EOS last."""
    attention: Tensor | None = None
    """(L, T, S): encoder-decoder attention of each layer, averaged over its heads."""
    log_prob: float = 0.0
    """log P of the translation, in nats."""
    problem: str | None = None
    """Why the checkpoint cannot be read."""


def across_checkpoints(
    folder: str | os.PathLike[str],
    text: str,
    *,
    options: DecodeConfig | None = None,
    limit: int = MAX_CHECKPOINTS,
    to: str | None = None,
    source: str | None = None,
) -> tuple[CheckpointView, ...]:
    """The sentence by the checkpoints of the run in `folder`, in the order of their steps.

    `to` is the target language and `source` that of the text, for a model of several. Of more than `limit` checkpoints,
    evenly spaced ones are taken, the first and the last among them. Raises ModelError if the folder holds no run,
    DataError if the sentence is empty.
    """
    folder = Path(folder)
    steps, config = _steps(folder), _config(folder)
    tokenizer = Tokenizer.load(folder / "tokenizer", config.tokenizer.shared)
    network = build_network(config.model, len(tokenizer.source), len(tokenizer.target)).eval()
    model = require_transformer(network, "look")
    named, scale = config.train.start_from, config.train.lora_rank and config.train.lora_scale
    base = open_model(named).load_model() if named and scale else None  # then the checkpoints hold A and B only
    pair = Pairs.of(config.project, tokenizer).choose(to, source, [text])
    symbols = Symbols.of(config, tokenizer.symbols)
    views = []
    for index in evenly_spaced(min(limit, len(steps)), len(steps)):
        step = steps[index]
        where = checkpoint(folder / "checkpoints", step)
        try:
            if (where / NOTE).exists() and (fault := fault_in(where, WEIGHTS.__eq__)):
                raise ModelError(fault)
            if base:
                load_merged(model, base, read_adapter(where / WEIGHTS, base), scale)
            else:
                load_weights(model, where / WEIGHTS)
        except ModelError as error:
            views.append(CheckpointView(step, problem=str(error)))
        else:
            options = options or config.decode
            views.append(_view(step, inspect_model(model, tokenizer, text, None, options, pair.marks, symbols)))
    return tuple(views)


def check_run(folder: str | os.PathLike[str], tokenizer: Tokenizer) -> None:
    """Raise ModelError if `folder` holds no run, or one with another tokenizer than `tokenizer`."""
    folder = Path(folder)
    _steps(folder)
    if Tokenizer.load(folder / "tokenizer").sha256 != tokenizer.sha256:
        raise ModelError(f"{folder}: its tokenizer is not that of the model; give the run that the model is from")


def _steps(folder: Path) -> list[int]:
    if steps := checkpoint_steps(folder / "checkpoints"):
        return steps
    raise ModelError(f"{folder}: holds no checkpoint; give the folder of a run, which contains `checkpoints`")


def _config(folder: Path) -> RunConfig:
    try:
        return read_run_config(folder)
    except ConfigError as error:
        raise ModelError(f"{error}; the checkpoints cannot be read without it, copy the run again") from None


def _view(step: int, inspection: Inspection) -> CheckpointView:
    layers = range(len(inspection.model.decoder))
    with torch.inference_mode():
        weights = [inspection.recording[f"decoder.{layer}.cross_attention"].weights[0].mean(0) for layer in layers]
        log_prob = float(inspection.log_probs.sum())
    pieces = inspection.pieces
    return CheckpointView(step, inspection.text, pieces["source"], pieces["output"], torch.stack(weights), log_prob)
