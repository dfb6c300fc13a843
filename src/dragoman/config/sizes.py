"""The values of `auto`: model, steps, warm-up and validations by the amount of text.

A run replaces `auto` before it trains and stores the numbers in its `config.toml`, so that it resumes with them.
"""

import math
from collections.abc import Collection

from dragoman.config.sections.architectures.known import AnyModel
from dragoman.config.sections.run import RunConfig
from dragoman.config.sections.train import TrainConfig

# Up to how many pairs a preset is large enough, on a CPU and on a GPU: a CPU of a few cores needs days for the rest.
ON_CPU = {100_000: "tiny"}
ON_GPU = {50_000: "tiny", 1_000_000: "small", 20_000_000: "base"}
LARGEST = {False: "small", True: "big"}
# Little text is seen often and must not be learned by heart.
DROPOUTS = {50_000: 0.3, 200_000: 0.2}
# 100 epochs of 2,000 pairs, 36 of 20,000, 13 of 200,000, 5 of 2 million: ten times the text is read 2.8 times as long.
EPOCHS = (100.0, 2000, 0.45)
# Fine-tuning: 20 epochs of 1,000 pairs, 10 of 10,000, 5 of 100,000; early stopping usually ends it before.
TUNING_EPOCHS = (20.0, 1000, 0.3)
FEWEST_STEPS, FEWEST_TUNING_STEPS = 300, 100


def preset_for(pairs: int, gpu: bool) -> str:
    """The preset that this many pairs can fill and this machine can train."""
    limits = ON_GPU if gpu else ON_CPU
    return next((preset for limit, preset in limits.items() if pairs <= limit), LARGEST[gpu])


def epochs_for(pairs: float, tuning: bool = False) -> float:
    """How often a run, or fine-tuning, reads its text."""
    most, at_pairs, decrease = TUNING_EPOCHS if tuning else EPOCHS
    return min(most, most * (max(pairs, 1) / at_pairs) ** -decrease)


def steps_for(pairs: float, steps_per_epoch: float, tuning: bool = False) -> int:
    """`max_steps`, with two significant digits."""
    steps = max(FEWEST_TUNING_STEPS if tuning else FEWEST_STEPS, epochs_for(pairs, tuning) * steps_per_epoch)
    return int(round(steps, 1 - math.floor(math.log10(steps))))


def warmup_for(steps: int, tuning: bool = False) -> int:
    """`warmup`: a tenth of the steps, from 400 to 4,000, but at most a quarter of them; a tenth in fine-tuning."""
    if tuning:
        return max(1, min(400, steps // 10))
    return max(1, min(steps // 4, max(400, min(4000, steps // 10))))


def validation_interval_for(steps: int, tuning: bool = False) -> int:
    """`validate_every`: thirty validations in a run, ten in fine-tuning, at most 1,000 steps apart."""
    return max(1, min(1000, steps // (10 if tuning else 30)))


def chosen_model(model: AnyModel, explicit: Collection[str], pairs: int, gpu: bool) -> AnyModel:
    """`model` with the shape that `auto` chooses; the dotted keys `explicit`, which were set, keep their values."""
    if model.preset != "auto":
        return model
    fields = [key for key in type(model).model_fields if f"model.{key}" in explicit and key != "preset"]
    dropout = next((rate for limit, rate in DROPOUTS.items() if pairs <= limit), None)
    by_size = {} if dropout is None else {"dropout": dropout}
    return type(model).model_validate(
        by_size | {key: getattr(model, key) for key in fields} | {"preset": preset_for(pairs, gpu)}
    )


def chosen_train(train: TrainConfig, pairs: float, steps_per_epoch: float) -> TrainConfig:
    """`train` with numbers for `auto`. `pairs` are those of the run's own text, without replay."""
    tuning = train.start_from is not None
    steps = steps_for(pairs, steps_per_epoch, tuning) if train.max_steps == "auto" else train.max_steps
    values = {"max_steps": steps}
    if train.warmup == "auto":
        values["warmup"] = warmup_for(steps, tuning)
    if train.validate_every == "auto":
        values["validate_every"] = validation_interval_for(steps, tuning)
    return train.model_copy(update=values)


def is_chosen(config: RunConfig) -> bool:
    """Whether no key is `auto` any more, of those that depend on the text."""
    train = config.train
    return "auto" not in (config.model.preset, train.max_steps, train.warmup, train.validate_every)


def with_choices_of(config: RunConfig, before: RunConfig, explicit: Collection[str]) -> RunConfig:
    """`config` with what a run chose when it started, where it says `auto`; the dotted keys `explicit` stay."""
    train = {
        key: getattr(before.train, key)
        for key in ("max_steps", "warmup", "validate_every")
        if getattr(config.train, key) == "auto"
    }
    model = config.model
    if model.preset == "auto" and type(model) is type(before.model):
        keys = [key for key in type(model).model_fields if f"model.{key}" in explicit and key != "preset"]
        model = before.model.model_copy(update={key: getattr(model, key) for key in keys})
    return config.model_copy(update={"train": config.train.model_copy(update=train), "model": model})
