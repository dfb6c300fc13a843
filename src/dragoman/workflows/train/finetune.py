"""Fine-tuning: the shape and the tokenizer of a run come from its base model, which `train.start_from` names.

Keys of [model] and [tokenizer] that the user gives must agree with the base model. A resumed run finds shape and
tokenizer in its own folder and does not need the base model any more, unless it trains an adapter of it.
"""

from collections.abc import Collection
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.config import AnyModel, DataConfig, ProjectConfig, RunConfig, TokenizerConfig
from dragoman.config.file import changed_keys
from dragoman.config.sections.project import pair_name
from dragoman.engine.kinds import require_kind
from dragoman.errors import ConfigError, ModelError
from dragoman.installed.opening import open_model
from dragoman.model.build import build_network
from dragoman.model.parts.device import without_values
from dragoman.training.update.freezing import frozen_names
from dragoman.workflows.train.adapter import check_adaptable, refuse_adapter_of_adapter
from dragoman.workflows.train.run_folder import original_config, output_of

# Keys of [model] and [tokenizer] that change neither weights nor tokenizer, so that each run may choose them.
FREE = ("dropout", "sampling", "extend")


def apply_base_model(
    config: RunConfig, user_keys: Collection[str] | None = None, resume: bool = False
) -> tuple[RunConfig, Bundle | None]:
    """The configuration with the shape and tokenizer of its base model, and that model; None without one.

    `user_keys` are the dotted keys that the user set, from `read_config`; without them, the keys that differ from the
    defaults. On `resume` no model is opened, and these keys keep their values, to be compared with those the run
    started with. Raises ConfigError if such a key of [model] or [tokenizer] differs from the base model.
    """
    if not (named := config.train.start_from):
        return config, None
    start = None if resume else _opened(named)
    origin = start.config if start else original_config(output_of(config))
    user_keys = changed_keys(config) if user_keys is None else user_keys
    model, tokenizer = (
        _explicit_fields(config.model, user_keys, "model"),
        _explicit_fields(config.tokenizer, user_keys, "tokenizer"),
    )
    if start:
        _check_agreement(model, origin.model, "model", start.folder)
        _check_agreement(tokenizer, origin.tokenizer, "tokenizer", start.folder)
    sections = {
        "project": _with_pairs(config.project, origin.project),
        "model": origin.model.model_copy(update={field: value for field, (_, value) in model.items()}),
        "tokenizer": origin.tokenizer.model_copy(
            update=({"extend": 0} if start else {}) | {field: value for field, (_, value) in tokenizer.items()}
        ),
    }
    config = config.model_copy(update=sections)
    config = config.model_copy(update={"data": _with_protection(config.data, origin.data, user_keys)})
    _check_frozen(config)
    if config.train.objective == "dual":
        try:
            config.require_dual()
        except ValueError as error:
            raise ConfigError(str(error)) from None
    if config.train.lora_rank:
        check_adaptable(config)
        start = start or _opened(named)  # a resumed run needs it too
        if config.data.protect and not start.tokenizer.symbols:
            raise ConfigError(
                f"data.protect: the base model {start.folder} has no symbols for placeholders, and lora_rank does not "
                "train embeddings for them; leave the key out, placeholders are kept without them too"
            )
        refuse_adapter_of_adapter(start)
    return config, start


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


def _opened(folder: Path) -> Bundle:
    """The base model. Raises ModelError that names the key, because the run's file names the folder."""
    try:
        return open_base_model(folder)
    except ModelError as error:
        raise ModelError(f"train.start_from: {error}") from None


def _check_frozen(config: RunConfig) -> None:
    """Raises ConfigError, before any text is read, for a `train.freeze` that cannot be."""
    if config.train.freeze:
        with without_values():
            frozen_names(build_network(config.model, 1, 1), config.train.freeze)


def other_pair_warning(config: RunConfig, base: Bundle) -> str | None:
    """What to say if the run is for languages that its base model does not translate."""
    ours, theirs = config.project, base.config.project
    name = pair_name(ours.source, ours.target)
    if theirs.pair(name):
        return None
    known = ", ".join(pair.name for pair in theirs.all_pairs)
    return (
        f"train.start_from: the base model translates {known}, this run is {name}: little of what it has learned helps "
        f"here, and the new model will not translate {known}; start from a model of {name}, or train without a base"
    )


def _with_pairs(project: ProjectConfig, origin: ProjectConfig) -> ProjectConfig:
    """`project` with the pairs of the base model, its own first, unless it names pairs or has another one."""
    own = origin.pair(pair_name(project.source, project.target))
    if project.pairs or not origin.pairs or not own:
        return project
    return project.model_copy(update={"pairs": (own, *(pair for pair in origin.pairs if pair != own))})


def _with_protection(data: DataConfig, origin: DataConfig, user_keys: Collection[str]) -> DataConfig:
    """`data` with the placeholders of the base model, unless the user set `protect`."""
    return data if "data.protect" in user_keys else data.model_copy(update={"protect": origin.protect})


def _explicit_fields(
    section: AnyModel | TokenizerConfig, user_keys: Collection[str], name: str
) -> dict[str, tuple[str, object]]:
    """The fields that the user gave, each with the key that set it (`layers`, `preset` set several) and its value."""
    keys = {field: field for field in type(section).model_fields if f"{name}.{field}" in user_keys}
    if "layers" in keys:
        keys = {"encoder_layers": "layers", "decoder_layers": "layers"} | keys
    if "preset" in keys:
        shape = set(type(section).model_fields) - {*FREE, "d_k", "d_v"}
        keys = dict.fromkeys(sorted(shape), "preset") | keys
    return {field: (key, getattr(section, field)) for field, key in keys.items()}


def _check_agreement(
    explicit: dict[str, tuple[str, object]], base: AnyModel | TokenizerConfig, name: str, folder: Path
) -> None:
    for field, (key, value) in explicit.items():
        if field not in FREE and value != getattr(base, field):
            raise ConfigError(
                f"{name}.{key}: differs from the base model {folder} (train.start_from); "
                f"leave it out, it comes with the model"
            )
