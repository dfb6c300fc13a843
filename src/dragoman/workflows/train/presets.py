"""What each recommended preset would cost on this machine, for the text of a run: before anything is trained.

Presets are timed from the smallest up; those whose first batch would take long are computed from the largest timed one,
by floating-point operations. A run that fine-tunes has the shape and the pieces of its base model, and no other is
timed. Nothing is written.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import torch

from dragoman.bundle import Bundle
from dragoman.config import AnyModel, RunConfig
from dragoman.config.file import changed_keys
from dragoman.config.sizes import chosen_model, chosen_train
from dragoman.data.batches.batching import Workload
from dragoman.data.corpus.directions import directions, sample_directions
from dragoman.data.corpus.report import CorpusReport
from dragoman.errors import ConfigError, DataError, ResourceError
from dragoman.model.build import build_network
from dragoman.model.lora import attach
from dragoman.model.parts.device import pick_device, without_values
from dragoman.text.tokens.extension import with_symbols
from dragoman.text.tokens.tokenizer import Tokenizer, usual_size
from dragoman.training.estimate.estimate import Estimate
from dragoman.training.estimate.trial import StepTrial, flops_of, time_updates
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.freezing import freeze
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.training.update.precision import choose_precision
from dragoman.training.update.threads import prepare_process
from dragoman.workflows.train.costs import (
    PER_PARAMETER,
    PER_PARAMETER_THAT_STAYS,
    estimate_of,
    memory_of,
    training_workload,
)
from dragoman.workflows.train.finetune import apply_base_model
from dragoman.workflows.train.replay import training_pairs
from dragoman.workflows.train.run_folder import output_of
from dragoman.workflows.train.run_tokenizer import learn_from

PRESETS = ("tiny", "small", "base", "big")
THIS_RUN = "this run"
# A preset is timed if a batch is expected to take at most this many seconds, for about BUDGET seconds.
LONGEST, BUDGET = 3.0, 1.5
# Pairs from which pieces are learned for the estimate alone.
SAMPLE = 10_000


@dataclass(frozen=True)
class PresetEstimate:
    """The cost of one shape of the model."""

    name: str
    """The preset, or `this run` for a shape of its own."""
    is_own: bool
    """Whether the configuration asks for this one."""
    estimate: Estimate


def estimate_presets(
    config: RunConfig, reports: Sequence[CorpusReport], user_keys: Collection[str] | None = None
) -> list[PresetEstimate]:
    """The cost of every preset for the text of a run, which `check_data` has reported on; of its own shape too.

    `user_keys` are the dotted keys that the user set. Raises DataError if no pair is short enough to train on,
    ResourceError if no update fits in memory, and ConfigError and ModelError for a base model as `train` does.
    """
    user_keys = changed_keys(config) if user_keys is None else user_keys
    config, base = apply_base_model(config, user_keys)
    device, pairs = pick_device(config.train.device), training_pairs(config.data, reports)
    prepare_process(config.train.threads, d_model=1024)  # the widest of the presets
    tokenizer, vocab = _tokenizer(config, pairs, base)
    workload = training_workload(config, tokenizer, reports)
    if workload is None:
        raise DataError("the training text has no pair within data.max_length; raise it or add text")
    config = config.model_copy(update={"train": chosen_train(config.train, pairs, workload.steps_per_epoch)})
    model = chosen_model(config.model, user_keys, round(pairs), device.type == "cuda")
    shapes: dict[str, AnyModel] = {
        name: type(model).model_validate({"architecture": model.architecture, "preset": name, "dropout": model.dropout})
        for name in (() if base else PRESETS)
    }
    named = next((name for name, shape in shapes.items() if _same_shape(shape, model)), THIS_RUN)
    shapes[named] = model
    held_out = sum(report.pairs for report in reports if report.name.startswith("valid"))
    valid_tokens = held_out * workload.tokens_per_pair
    lines = min(config.train.translate_lines, held_out)
    trials = _trials(config, shapes, workload, vocab, device)
    if not trials:
        raise ResourceError("out of memory: no update fits; set train.batch_tokens lower, or choose a smaller model")
    estimates = []
    for name in (name for name in shapes if name in trials):
        parameters, trial, extrapolated = trials[name]
        estimate = estimate_of(config, parameters, trial, workload, valid_tokens, lines)
        estimate = replace(estimate, extrapolated=extrapolated, memory_available=memory_of(device))
        estimates.append(PresetEstimate(name, name == named, estimate))
    return estimates


def _tokenizer(config: RunConfig, pairs: float, base: Bundle | None) -> tuple[Tokenizer, int]:
    """The tokenizer of the run, that of its base model, or one learned from a few pairs; and the vocabulary's size."""
    saved = output_of(config) / "tokenizer"
    if saved.is_dir():
        tokenizer = Tokenizer.load(saved, config.tokenizer.shared)
        return tokenizer, len(tokenizer.target)
    if base:
        tokenizer = base.tokenizer
        if config.data.protect and not tokenizer.symbols:
            tokenizer = with_symbols(tokenizer, config.tokenizer.placeholders).tokenizer
        return tokenizer, len(tokenizer.target) + config.tokenizer.extend
    size = config.tokenizer.vocab_size or usual_size(round(pairs))
    sample = sample_directions(directions(config, config.data.train), SAMPLE)
    try:
        return _learned(sample, config, size), size
    except ConfigError:  # a few pairs cannot fill this number of pieces
        return _learned(sample, config, None), size


def _learned(sample: Sequence[tuple[str, str]], config: RunConfig, size: int | None) -> Tokenizer:
    keys = config.tokenizer.model_copy(update={"vocab_size": size})
    return learn_from(sample, config.model_copy(update={"tokenizer": keys}))


def _same_shape(first: AnyModel, second: AnyModel) -> bool:
    special = ("heads", "feed_forward", "hidden", "experts", "active", "every")
    fields = ("architecture", "encoder_layers", "decoder_layers", "d_model", "d_ff", *special)
    return all(getattr(first, field, None) == getattr(second, field, None) for field in fields)


def _trials(
    config: RunConfig, shapes: dict[str, AnyModel], workload: Workload, vocab: int, device: torch.device
) -> dict[str, tuple[int, StepTrial, bool]]:
    """Parameters of each shape, what a step takes, and whether that was computed from another shape."""
    trials: dict[str, tuple[int, StepTrial, bool]] = {}
    flops = {name: _flops(shape, workload, vocab) for name, shape in shapes.items()}
    parameters = {name: _parameters(shape, vocab) for name, shape in shapes.items()}
    timed: tuple[str, StepTrial] | None = None
    for name in sorted(shapes, key=flops.__getitem__):
        trial = None
        expected = timed[1].step_seconds * flops[name] / flops[timed[0]] / workload.batches_per_step if timed else 0.0
        per_parameter = PER_PARAMETER_THAT_STAYS if config.train.lora_rank else PER_PARAMETER
        fits = parameters[name] * per_parameter < (memory_of(device) or float("inf"))
        if expected < LONGEST and fits:
            trial = _trial(config, shapes[name], workload, vocab, device)
        if trial:
            timed = name, trial
            trials[name] = parameters[name], trial, False
        elif timed:
            trials[name] = parameters[name], _computed(name, *timed, flops, parameters), True
    return trials


def _trial(
    config: RunConfig, shape: AnyModel, workload: Workload, vocab: int, device: torch.device
) -> StepTrial | None:
    torch.manual_seed(config.train.seed)
    model = build_network(shape, vocab, vocab).to(device).train()
    freeze(model, config.train.freeze)
    if config.train.lora_rank:
        attach(model, config.train)
    train = config.train.model_copy(update={"compile": False, "objective": "likelihood"})
    gradient = GradientAccumulator(model, train, ProcessGroup(), device)
    if train.precision == "auto":
        gradient.precision = choose_precision(model, device)[0]
    return time_updates(gradient, model, workload, BUDGET)


def _computed(
    name: str, timed: str, trial: StepTrial, flops: dict[str, float], parameters: dict[str, int]
) -> StepTrial:
    """The trial of a shape from that of a smaller one: time by operations, memory by parameters alone."""
    memory = trial.memory and trial.memory + PER_PARAMETER * (parameters[name] - parameters[timed])
    return StepTrial(trial.step_seconds * flops[name] / flops[timed], memory)


def _flops(shape: AnyModel, workload: Workload, vocab: int) -> float:
    return sum(flops_of(shape, vocab, batch) for batch in workload.batches) / len(workload.batches)


def _parameters(shape: AnyModel, vocab: int) -> int:
    with without_values():
        return build_network(shape, vocab, vocab).parameter_count
