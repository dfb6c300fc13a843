"""Fine-tuning: the shape and the tokenizer of a run come from its base model, which `train.start_from` names.

Keys of [model] and [tokenizer] that the user gives must agree with the base model. A resumed run finds shape and
tokenizer in its own folder and does not need the base model any more, unless it trains an adapter (LoRA) of it: its
mathematics is in `dragoman.model.lora`, its files in `dragoman.adapter` and `dragoman.bundle`.
"""

from collections.abc import Collection
from pathlib import Path

from dragoman.adapter import Adapter
from dragoman.bundle import Bundle
from dragoman.config import AnyModel, DataConfig, ModelConfig, MoeConfig, ProjectConfig, RunConfig, TokenizerConfig
from dragoman.config.file import changed_keys
from dragoman.config.sections.project import pair_name
from dragoman.engine.kinds import require_kind
from dragoman.errors import ConfigError, ModelError
from dragoman.installed.opening import open_model
from dragoman.model.build import build_network
from dragoman.model.lora import adapted_matrices
from dragoman.model.parts.device import without_values
from dragoman.training.resume.averaging import average_weights
from dragoman.training.update.freezing import freeze, frozen_names
from dragoman.workflows.train.run_folder import original_config, output_of
from dragoman.workflows.train.trainer import Run

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
    user_keys = set(changed_keys(config) if user_keys is None else user_keys)
    if config.model.preset == "auto":
        user_keys.discard("model.preset")  # the shape comes with the base model
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
    if config.train.freeze:  # refused before any text is read
        with without_values():
            frozen_names(build_network(config.model, 1, 1), config.train.freeze)
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
        if start.base:
            raise ConfigError(
                f"train.start_from: {start.folder} is an adapter, and an adapter needs a whole model; "
                f"`dragoman model merge {start.folder} -o BUNDLE` makes one"
            )
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
    first_pair = origin.pair(pair_name(project.source, project.target))
    if project.pairs or not origin.pairs or not first_pair:
        return project
    return project.model_copy(update={"pairs": (first_pair, *(pair for pair in origin.pairs if pair != first_pair))})


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


def check_adaptable(config: RunConfig) -> None:
    """Raise ConfigError, before any text is read, if no matrix would get an adapter, or one of no use."""
    train, shape = config.train, config.model
    if not isinstance(shape, ModelConfig) or isinstance(shape, MoeConfig):
        raise ConfigError(
            f'train.lora_rank: needs a Transformer, and this model is of architecture "{shape.architecture}"; '
            "set it to 0"
        )
    width = min(shape.d_model, shape.d_ff)
    if train.lora_rank > width:
        raise ConfigError(
            f"train.lora_rank: {train.lora_rank} is more than the rank {width} of the matrices themselves; set it lower"
        )
    with without_values():
        model = build_network(config.model, 1, 1)
    freeze(model, train.freeze)
    if not adapted_matrices(model, train.lora_matrices):
        names = ", ".join(train.lora_matrices)
        raise ConfigError(f"train.lora_matrices: the model has no {names} that is not frozen; name others")


def base_file(config: RunConfig, base: Bundle | None) -> tuple[str, str] | None:
    """The file of the weights that the run trains an adapter of, and its hash; None for other runs."""
    if not config.train.lora_rank or not base:
        return None
    return str(base.folder / "model.safetensors"), base.weights_sha256 or ""


def describe_adapter(config: RunConfig, trained: int, whole: int) -> str:
    """What is trained, of how much, and what the optimizer needs for it: two moments of 4 bytes per number."""
    small, large = (f"{count * 8 / 1e6:,.1f} MB" for count in (trained, whole))
    return (
        f"LoRA of rank {config.train.lora_rank} on {', '.join(config.train.lora_matrices)}: {trained:,} numbers are "
        f"trained, {trained / whole:.1%} of the model's; Adam's moments are {small} instead of {large}"
    )


def trained_adapter(run: Run, steps: tuple[int, ...]) -> Adapter:
    """The adapter of a finished run: the mean of the checkpoints of `steps`."""
    train, base = run.config.train, run.base
    assert base
    tensors, name = average_weights(run.folder / "checkpoints", steps), base.manifest["name"]
    return Adapter(tensors, train.lora_rank, train.lora_alpha, base.folder, name, base.weights_sha256 or "")


def adapter_section(adapter: Adapter | None) -> dict[str, str]:
    """The section of a model card about the adapter; none for a whole model."""
    if adapter is None:
        return {}
    return {
        "Adapter": f"A low-rank adapter (LoRA, Hu et al. 2021; rank {adapter.rank}, α {adapter.alpha:g}): "
        f"{adapter.parameters:,} numbers that are added to the weights of the model `{adapter.base_name}`, which it "
        f"needs (sha256 of its weights: {adapter.base_sha256}). The scores are those of the two together. "
        "`dragoman model merge` makes a whole model of them."
    }
