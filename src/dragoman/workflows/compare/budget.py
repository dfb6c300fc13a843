"""Equal budgets: what the first system had → the limits of the others' training."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch

from dragoman.bundle import open_bundle
from dragoman.config import RunConfig
from dragoman.config.sizes import chosen_model, validation_interval_for, warmup_for
from dragoman.data.batches.batch import Batch
from dragoman.errors import ConfigError
from dragoman.model.build import build_network
from dragoman.model.parts.device import pick_device
from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.tokenizer import usual_size
from dragoman.training.estimate.counting import counted, single_thread
from dragoman.workflows.compare.inputs import System
from dragoman.workflows.compare.measures import TrainingCost, plain_gradient
from dragoman.workflows.data.check import check_with_progress
from dragoman.workflows.listener import Listeners
from dragoman.workflows.train.finetune import apply_base_model
from dragoman.workflows.train.replay import training_pairs

Equal = Literal["flops", "minutes", "updates", "parameters"]
# A batch of this many pairs and tokens per side shows what an update costs per token.
ROWS, LENGTH = 4, 24
NEAR = 0.1
# A run that was trained with an equal budget differs by less: the last update, other padding.
UNLIKE = 0.25
UNLIMITED = 10**9


@dataclass(frozen=True)
class Budget:
    """What the first system had."""

    config: RunConfig
    """With the numbers that `auto` chose."""
    vocabulary: int
    cost: TrainingCost


def budget_of(model: Path, cost: TrainingCost) -> Budget:
    """What a finished run had, by the folder of its model."""
    bundle = open_bundle(model)
    return Budget(bundle.config, len(bundle.tokenizer.target), cost)


def with_budget(system: System, equal: Equal | None, first: Budget | None) -> System:
    """`system` with the budget of the `first` system; unchanged if it is the first, or without `equal`."""
    if equal in (None, "parameters") or first is None:
        return system
    train, likelihood = system.config.train, system.config.train.objective == "likelihood"
    steps = first.cost.steps
    if equal != "updates" and likelihood:  # both read the same text, so that padding is the same too
        flops = flops_per_update(*_resolved(system, first))
        steps = max(1, round(steps * flops_per_update(first.config, first.vocabulary) / flops))
    changed: dict[str, float | None] = {"max_steps": steps, "max_minutes": None}
    if equal == "minutes":
        changed = {"max_steps": UNLIMITED, "max_minutes": first.cost.seconds / 60}
        tuning = train.start_from is not None
        if train.warmup == "auto":
            changed["warmup"] = warmup_for(steps, tuning)
        if train.validate_every == "auto":
            changed["validate_every"] = validation_interval_for(steps, tuning)
    config = system.config.model_copy(update={"train": train.model_copy(update=changed)})
    return replace(system, config=config, user_keys={*system.user_keys, *(f"train.{key}" for key in changed)})


def flops_per_update(config: RunConfig, vocabulary: int) -> float:
    """Operations of an update of `train.batch_tokens` and `accumulate`, counted on a batch of one token."""
    network = _network(config, vocabulary)
    ids = torch.full((ROWS, LENGTH), 5)
    batch = Batch(ids, ids, ids, ("",) * ROWS)
    train, gradient = config.train, plain_gradient(network, config.train)
    with single_thread():
        cost = counted(lambda: gradient.backward([batch], batch.target_tokens))
    auto = train.batch_tokens == "auto"
    tokens = train.update_tokens if auto else int(train.batch_tokens) * train.accumulate
    return cost.flops / ids.numel() * tokens


def refuse_other_objectives(systems: Sequence[System]) -> None:
    """Raise ConfigError for one of which the operations of an update depend on what it samples."""
    for system in systems:
        if (objective := system.config.train.objective) != "likelihood":
            raise ConfigError(
                f'{system.name}: train.objective: operations of "{objective}" cannot be made equal; use --equal updates'
            )


def refuse_other_sizes(systems: Sequence[System]) -> None:
    """Raise ConfigError for parameters that differ by more than a tenth: another width is a decision of the user."""
    first, *others = [(system.name, _parameters(system)) for system in systems]
    for name, count in others:
        if abs(count / first[1] - 1) > NEAR:
            raise ConfigError(
                f"{name}: {count / 1e6:.2f} M parameters, the first system has {first[1] / 1e6:.2f} M; "
                "change model.d_model until they differ by less than a tenth"
            )


def refuse_other_budget(system: System, equal: Equal, first: Budget, cost: TrainingCost) -> None:
    """Raise ConfigError for a run whose training was not that of the first; it may have stopped early."""
    if equal == "parameters":
        return
    train, steps = system.config.train, max(1, cost.steps)
    most = UNLIMITED if train.max_steps == "auto" else train.max_steps
    this, allowed, other, shown = {
        "flops": (cost.flops, most * cost.flops / steps, first.cost.flops, "{:.2e} operations"),
        "minutes": (cost.seconds / 60, train.max_minutes or 0.0, first.cost.seconds / 60, "{:,.1f} minutes"),
        "updates": (cost.steps, most, first.cost.steps, "{:,} updates"),
    }[equal]
    near = UNLIKE * other + this / steps  # an update more
    ended_by_it = (equal == "minutes" or this < other) and abs(allowed - other) <= near
    if abs(this - other) > near and not ended_by_it:
        raise ConfigError(
            f"{system.name}: trained with {shown.format(this)}, the first system with {shown.format(other)}; "
            "leave --equal out, or give its configuration with another train.output to train it again"
        )


def _parameters(system: System) -> int:
    if system.is_finished:
        return int(open_bundle(system.folder / "model").manifest["parameters"])
    return _network(*_resolved(system, None)).parameter_count


def _resolved(system: System, first: Budget | None) -> tuple[RunConfig, int]:
    """The configuration with the shape that its run will have, and the size of its vocabulary.

    The text decides where they are `auto`; the same keys give the vocabulary of the first system.
    """
    config, _ = apply_base_model(system.config, system.user_keys, False)
    vocabulary = config.tokenizer.vocab_size
    if vocabulary is None and first and config.tokenizer == first.config.tokenizer:
        vocabulary = first.vocabulary
    if vocabulary is None or config.model.preset == "auto":
        pairs = training_pairs(config.data, check_with_progress(config, Listeners()))
        gpu = pick_device(config.train.device).type == "cuda"
        config = config.model_copy(update={"model": chosen_model(config.model, system.user_keys, round(pairs), gpu)})
        vocabulary = vocabulary or usual_size(round(pairs))
    return config, vocabulary


def _network(config: RunConfig, vocabulary: int) -> EncoderDecoder:
    with torch.random.fork_rng(devices=[]):
        return build_network(config.model, vocabulary, vocabulary)
