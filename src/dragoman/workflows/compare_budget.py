"""Equal budgets: what the first system had → the limits of the others' training."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch

from dragoman.config import RunConfig
from dragoman.data.batch import Batch
from dragoman.errors import ConfigError
from dragoman.model.build import build_network
from dragoman.model.network import EncoderDecoder
from dragoman.training.counting import counted, single_thread
from dragoman.training.distributed import ProcessGroup
from dragoman.training.gradient import GradientAccumulator
from dragoman.workflows.compare_inputs import Entry
from dragoman.workflows.compare_measures import TrainingCost

Equal = Literal["flops", "minutes", "updates", "parameters"]
EQUALS: tuple[Equal, ...] = ("flops", "minutes", "updates", "parameters")
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
    cost: TrainingCost


def with_budget(entry: Entry, equal: Equal | None, first: Budget | None) -> Entry:
    """`entry` with the budget of the `first` system; unchanged if it is the first, or without `equal`."""
    if equal in (None, "parameters") or first is None:
        return entry
    train = entry.config.train
    if equal == "updates":
        changed: dict[str, float | None] = {"max_steps": first.cost.steps, "max_minutes": None}
    elif equal == "minutes":
        changed = {"max_steps": UNLIMITED, "max_minutes": first.cost.seconds / 60}
    else:  # both read the same text, so that padding is the same too
        ratio = flops_per_update(first.config) / flops_per_update(entry.config)
        changed = {"max_steps": max(1, round(first.cost.steps * ratio)), "max_minutes": None}
    config = entry.config.model_copy(update={"train": train.model_copy(update=changed)})
    return replace(entry, config=config, given={*entry.given, *(f"train.{key}" for key in changed)})


def flops_per_update(config: RunConfig) -> float:
    """Operations of an update of `train.batch_tokens` and `accumulate`, counted on a batch of one token."""
    if config.train.objective != "likelihood":
        raise ConfigError(
            f'train.objective: operations of "{config.train.objective}" cannot be made equal; use --equal updates'
        )
    network = _network(config)
    ids = torch.full((ROWS, LENGTH), 5)
    batch = Batch(ids, ids, ids, ("",) * ROWS)
    train = config.train.model_copy(update={"precision": "float32", "compile": False, "recompute": False})
    gradient = GradientAccumulator(network, train, ProcessGroup(), torch.device("cpu"))
    with single_thread():
        cost = counted(lambda: gradient.backward([batch], batch.target_tokens))
    auto = train.batch_tokens == "auto"
    tokens = train.update_tokens if auto else int(train.batch_tokens) * train.accumulate
    return cost.flops / ids.numel() * tokens


def refuse_other_sizes(entries: Sequence[Entry]) -> None:
    """Raise ConfigError for parameters that differ by more than a tenth: another width is a decision of the user."""
    first, *others = [(entry.name, _network(entry.config).parameter_count) for entry in entries]
    for name, count in others:
        if abs(count / first[1] - 1) > NEAR:
            raise ConfigError(
                f"{name}: {count / 1e6:.2f} M parameters, the first system has {first[1] / 1e6:.2f} M; "
                "change model.d_model until they differ by less than a tenth"
            )


def refuse_other_budget(entry: Entry, equal: Equal, first: TrainingCost, cost: TrainingCost) -> None:
    """Raise ConfigError for a finished run whose training was not that of the first."""
    if equal == "parameters":
        return
    this, other, shown = {
        "flops": (cost.flops, first.flops, "{:.2e} operations"),
        "minutes": (cost.seconds / 60, first.seconds / 60, "{:,.1f} minutes"),
        "updates": (cost.steps, first.steps, "{:,} updates"),
    }[equal]
    if abs(this - other) > UNLIKE * other:
        raise ConfigError(
            f"{entry.name}: finished before with {shown.format(this)}, the first system had {shown.format(other)}; "
            "leave --equal out, or give its configuration with another train.output to train it again"
        )


def _network(config: RunConfig) -> EncoderDecoder:
    """A network of the run's shape with random weights."""
    vocabulary = config.tokenizer.vocab_size or 8000
    with torch.random.fork_rng(devices=[]):
        return build_network(config.model, vocabulary, vocabulary)
