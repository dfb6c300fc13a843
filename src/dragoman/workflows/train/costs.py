"""What a run costs before it is paid: keys that are `auto`, the memory that it needs at least, and an estimate.

Input: the lengths of some training pairs and a few timed updates. Output: numbers; nothing here changes a run.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch

from dragoman.config import RunConfig
from dragoman.config.sizes import chosen_model, chosen_train, is_chosen, preset_for
from dragoman.data.batches.batching import SAMPLE, Workload, workload_of
from dragoman.data.corpus.directions import directions, sample_directions
from dragoman.data.corpus.report import CorpusReport
from dragoman.errors import ResourceError
from dragoman.model.build import build_network
from dragoman.model.parts.device import without_values
from dragoman.system.machine import available_memory
from dragoman.text.terms.symbols import Symbols
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.estimate.estimate import Estimate
from dragoman.training.estimate.fitting import CPU_TOKENS
from dragoman.training.estimate.trial import MOMENTS, StepTrial, time_updates
from dragoman.training.loop import Trainer
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.workflows.train.replay import epoch_pairs, training_pairs
from dragoman.workflows.train.trainer import Run

# Bytes of a parameter in training: its float32 value, its gradient and Adam's moments.
PER_PARAMETER = 8 + MOMENTS
# With an adapter: the value that stays, and the one that A and B change for validation.
PER_PARAMETER_THAT_STAYS = 8
# The smallest vocabulary that a tokenizer can have.
FEWEST_PIECES = 16
# A validation next to a step, for each token: a forward pass is a third of an update; greedy search generates one token
# after the other.
FORWARD, GREEDY = 1 / 3, 2.0


def refuse_beyond_memory(config: RunConfig, device: torch.device, group: ProcessGroup, pieces: int = 0) -> None:
    """Raise ResourceError if weights, gradients and optimizer alone need more memory than there is.

    Before the tokenizer is learned the smallest vocabulary counts. Nothing is allocated.
    """
    vocab = pieces or config.tokenizer.vocab_size or FEWEST_PIECES
    with without_values():
        parameters = build_network(config.model, vocab, vocab).parameter_count
    parameter_bytes = PER_PARAMETER_THAT_STAYS if config.train.lora_rank else PER_PARAMETER
    needed = parameters * parameter_bytes // (group.size if config.train.parallel == "fsdp" else 1)
    available = memory_of(device)
    if available is not None and needed > available:
        raise ResourceError(
            f"out of memory: to train {parameters / 1e6:,.0f} M parameters takes at least {needed / 2**30:,.1f} GiB "
            f"and {available / 2**30:,.1f} GiB are free; choose a smaller model.preset or model.d_model"
        )


def memory_of(device: torch.device) -> int | None:
    """Free memory for training on `device`; None if unknown."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else available_memory()


def training_workload(
    config: RunConfig, tokenizer: Tokenizer, reports: Sequence[CorpusReport], processes: int = 1
) -> Workload | None:
    """The work of an epoch, from the lengths of up to SAMPLE pairs; None if no pair is short enough."""
    text = sample_directions(directions(config, config.data.train), SAMPLE)
    text = Symbols.of(config, tokenizer.symbols).mask_pairs(text)
    sources = tokenizer.encode([source for source, _ in text], "source")
    targets = tokenizer.encode([target for _, target in text], "target")
    lengths = [(len(source) + 1, len(target) + 1) for source, target in zip(sources, targets, strict=True)]
    train = config.train
    auto = train.batch_tokens == "auto"
    tokens = CPU_TOKENS if train.batch_tokens == "auto" else train.batch_tokens
    per_step = train.update_tokens / tokens if auto else float(train.accumulate * processes)
    pairs, longest = epoch_pairs(config.data, reports), config.data.max_length
    return workload_of(lengths, pairs, max_length=longest, batch_tokens=tokens, batches_per_step=per_step)


def with_choices(run: Run, workload: Workload | None) -> Run:
    """The run with numbers for `auto`, chosen in the main process; a notice says which."""
    if is_chosen(run.config):
        return run
    chosen = None
    if run.group.is_main:
        pairs, gpu = training_pairs(run.config.data, run.reports), run.device.type == "cuda"
        per_epoch = workload.steps_per_epoch if workload else 1.0
        chosen = run.config.model_copy(
            update={
                "model": chosen_model(run.config.model, run.user_keys, round(pairs), gpu),
                "train": chosen_train(run.config.train, pairs, per_epoch),
            }
        )
        run.listener.notice(_choices(run.config, chosen, pairs, gpu))
    return replace(run, config=run.group.broadcast(chosen))


def _choices(before: RunConfig, after: RunConfig, pairs: float, gpu: bool) -> str:
    keys = ("max_steps", "warmup", "validate_every")
    chosen = [f"{key} {getattr(after.train, key):,}" for key in keys if getattr(before.train, key) == "auto"]
    if before.model.preset == "auto":
        chosen.insert(0, f"model {preset_for(round(pairs), gpu)}")
    replay = f" and {before.data.replay_share:.0%} replay" if before.data.replay else ""
    return f"for {pairs:,.0f} pairs{replay}: {', '.join(chosen)}"


def estimate_run(trainer: Trainer, workload: Workload | None) -> Estimate | None:
    """The costs of the run of `trainer`, before its first step here. None if they cannot be known."""
    if not workload or (not trainer.step and trainer.complete):  # made-up text cannot be completed
        return None
    lines = trainer.config.train.translate_lines
    valid = sum(batch.target_tokens for batch in trainer.valid)
    if trainer.step:  # its own clock knows best; it has the validations in it
        per_step = trainer.target_tokens / trainer.step
        trial = StepTrial(trainer.seconds_before / trainer.step, None)
        valid = lines = 0
    else:
        measured = _trial(trainer, workload)
        if measured is None:
            return None
        trial, per_step = measured, workload.tokens_per_step
    estimate = estimate_of(trainer.config, trainer.final.parameter_count, trial, workload, valid, lines)
    return replace(
        estimate,
        tokens_per_step=per_step,
        memory_available=memory_of(trainer.device),
        step=trainer.step,
        seconds_before=trainer.seconds_before,
    )


def estimate_of(
    config: RunConfig, parameters: int, trial: StepTrial, workload: Workload, valid_tokens: float, lines: float
) -> Estimate:
    """The estimate of a new run from what a step takes; `lines` are translated in each validation."""
    train, per_token = config.train, trial.step_seconds / workload.tokens_per_step
    translated = lines * workload.tokens_per_pair
    return Estimate(
        parameters=parameters,
        step_seconds=trial.step_seconds,
        tokens_per_step=workload.tokens_per_step,
        steps_per_epoch=workload.steps_per_epoch,
        validation_seconds=per_token * (FORWARD * valid_tokens + GREEDY * translated),
        max_steps=train.total_steps,
        validate_every=train.validation_interval,
        max_minutes=train.max_minutes,
        memory=trial.memory,
        memory_available=available_memory(),
    )


def _trial(trainer: Trainer, workload: Workload) -> StepTrial | None:
    """Timed updates in this process alone, on the model as it is trained, uncompiled."""
    gradient, train = trainer.gradient, trainer.config.train
    if train.compile or trainer.group.size > 1:
        alone = train.model_copy(update={"compile": False, "recompute": False, "parallel": "ddp"})
        gradient = GradientAccumulator(trainer.final, alone, ProcessGroup(), trainer.device)
        gradient.precision = trainer.gradient.precision
    trial = time_updates(gradient, trainer.final if gradient is not trainer.gradient else trainer.model, workload)
    return trial and replace(trial, step_seconds=trial.step_seconds / trainer.group.size)
