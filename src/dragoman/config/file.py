"""TOML text and `key=value` overrides → `RunConfig`, and back.

Every error names the file, the key, the cause and the remedy, in one line.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dragoman.config import CorpusConfig, ModelConfig, RunConfig
from dragoman.config.sections.architectures.known import ARCHITECTURES, UNKNOWN, architecture_of, owners_of
from dragoman.config.sections.architectures.language_model import LANGUAGE_MODEL
from dragoman.config.sections.base import section_in
from dragoman.config.sections.data import CORPUS_LIST, SINGLE_CORPUS
from dragoman.errors import ConfigError, check_type, checked_path
from dragoman.system.parsing import Malformed, parse_toml, plain_cause

# Where pydantic says that a number or "auto" was neither, the key ends in one of these.
CHOICES = ("constrained-int", "constrained-float")
# Parts of the location of a mistake that are no keys.
NO_KEYS = (*CHOICES, SINGLE_CORPUS, CORPUS_LIST)
# The keys whose values are lists of corpora.
CORPORA = (("data", "train"), ("data", "replay"), ("data", "mix", "corpora"))
Section = TypeVar("Section", bound=BaseModel)


def load_config(path: str | PathLike[str], overrides: Sequence[str] = ()) -> RunConfig:
    """Read a run's configuration; relative paths in it start at its folder.

    `overrides` are `section.key=value` with the value in TOML (a bare word is a string).
    Raises ConfigError.
    """
    return read_config(path, overrides)[0]


def read_config(
    path: str | PathLike[str], overrides: Sequence[str] = (), change: Callable[[dict[str, Any]], None] | None = None
) -> tuple[RunConfig, frozenset[str]]:
    """The configuration of `load_config`, and the dotted keys that the file and the overrides set: `train.seed`, …

    The configuration itself does not hold these keys: what needs them (fine-tuning, distillation, notices about
    keys without effect) takes them as a second value. `change` alters what the file says before the overrides do.
    Raises ConfigError.
    """
    path = checked_path("config", path)
    tree = _read_tree(path, overrides, change)
    config = build_config(tree, where=str(path), folder=path.parent)
    require_text(config, str(path))
    return config, explicit_keys(tree)


def read_output(path: Path, overrides: Sequence[str] = ()) -> Path:
    """The folder of the run of a configuration, whatever its other keys are: some may need keys that are not there.

    Raises ConfigError.
    """
    tree = _read_tree(path, overrides)
    train = tree.get("train")
    output = train.get("output") if isinstance(train, dict) else None
    if isinstance(output, str):  # as build_config reads it, which would want a project
        return path.parent.absolute() / _expanded(Path(output), str(path))
    named = {key: value for key, value in tree.items() if key == "project"}
    folder = build_config({**named, "data": {}, "train": {"output": output}}, str(path), path.parent).train.output
    assert folder is not None  # build_config fills it
    return folder


def require_text(config: RunConfig, where: str = "configuration") -> None:
    """Raise ConfigError, which starts with `where`, for a configuration without text, as imported models have it."""
    if not config.data.train:
        raise ConfigError(f"{where}: data.train: missing; this key has no default")


def explicit_keys(tree: Mapping[str, Any]) -> frozenset[str]:
    """The dotted keys that a configuration's dictionaries set: `section.key`, or `key` outside of any section."""
    keys = set[str]()
    for name, value in tree.items():
        keys |= {f"{name}.{key}" for key in value} if isinstance(value, Mapping) else {name}
    return frozenset(keys)


def changed_keys(config: RunConfig) -> frozenset[str]:
    """The dotted keys whose values are not the defaults: what was set, for a configuration made without a file."""
    defaults = RunConfig(project=config.project, data=config.data, model=ModelConfig.model_validate({}))
    return frozenset(differences(defaults, config))


def read_run_config(folder: Path) -> RunConfig:
    """The `config.toml` that a run or a bundle has in its `folder`. Raises ConfigError that names the file."""
    path = folder / "config.toml"
    try:
        return build_config(parse_toml(path.read_bytes()), str(path), folder)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except ConfigError as error:
        raise ConfigError(f"{error}; another version of dragoman wrote it") from None
    except Malformed as error:
        raise ConfigError(f"{path}: {error}") from None


def build_config(tree: Mapping[str, Any], where: str, folder: Path) -> RunConfig:
    """A `RunConfig` from nested dictionaries; the message of a ConfigError starts with `where`."""
    try:
        config = RunConfig.model_validate(tree)
    except ValidationError as error:
        raise ConfigError(f"{where}: {_explain(error)}") from None
    root, output = folder.absolute(), config.train.output or Path("runs") / config.project.name
    return _with_paths(config, lambda path: root / _expanded(path, where), output=root / _expanded(output, where))


def _expanded(path: Path, where: str) -> Path:
    """`path` with the home of a user for `~` or `~name`. Raises ConfigError, which starts with `where`."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise ConfigError(f"{where}: {path}: this machine knows no home of that user; write the whole path") from None


def build_section(section: Section, changes: Mapping[str, Any], where: str) -> Section:
    """`section`, which is called `where`, with some keys changed, validated. Raises ConfigError."""
    try:
        return type(section).model_validate({**section.model_dump(), **changes})
    except ValidationError as error:
        raise ConfigError(_explain(error, *where.split("."))) from None


def dump_config(config: RunConfig) -> str:
    """The configuration as TOML, with every default."""
    import tomli_w

    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))


def portable(config: RunConfig) -> RunConfig:
    """`config` with file names instead of paths, to be published, or compared after its folder has moved."""
    return _with_paths(config, lambda path: Path(path.name), output=None)


def differences(old: BaseModel, new: BaseModel, prefix: str = "") -> list[str]:
    """The dotted keys in which two configurations differ."""
    keys: list[str] = []
    for name in type(old).model_fields:
        a, b = getattr(old, name), getattr(new, name)
        if name == "model" and type(a) is not type(b):  # another architecture: what differs from its own defaults
            a = type(b).model_validate({})
            keys.append("model.architecture")
        if isinstance(a, BaseModel) and isinstance(b, BaseModel) and not isinstance(a, CorpusConfig):
            keys += differences(a, b, f"{prefix}{name}.")
        elif a != b:
            keys.append(prefix + name)
    return keys


def _read_tree(
    path: Path, overrides: Sequence[str], change: Callable[[dict[str, Any]], None] | None = None
) -> dict[str, Any]:
    """What a file says, changed, with the overrides."""
    tree = _read_toml(path)
    if change:
        change(tree)
    for override in [overrides] if isinstance(overrides, str) else overrides:
        check_type("overrides", override, str, '"section.key=value"')
        _apply(tree, override)
    return tree


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; write one with `dragoman init NAME --pair ko-en`") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except Malformed as error:
        raise ConfigError(f"{path}: {error}{'; save the file as UTF-8' if 'UTF-8' in str(error) else ''}") from None


def parse_override(override: str) -> tuple[str, Any]:
    """`key=value` as key and value, which is TOML or a bare word. Raises ConfigError."""
    key, equals, text = override.partition("=")
    if not equals or not all(key.strip().split(".")):
        raise ConfigError(f"{override}: not an override; write section.key=value, as in train.max_steps=1000")
    try:
        return key.strip(), parse_toml(f"value = {text}")["value"]
    except Malformed:
        return key.strip(), text.strip()


def _apply(tree: dict[str, Any], override: str) -> None:
    key, value = parse_override(override)
    sections = key.split(".")
    for section in sections[:-1]:
        tree = tree.setdefault(section, {})
        if not isinstance(tree, dict):
            raise ConfigError(f"{override}: {section} is not a section")
    tree[sections[-1]] = value


def _with_paths(config: RunConfig, change: Callable[[Path], Path], output: Path | None) -> RunConfig:
    """`config` with every path that it reads changed, and another output folder."""

    def changed(value: Any) -> Any:
        if isinstance(value, BaseModel):
            return value.model_copy(update={name: changed(getattr(value, name)) for name in type(value).model_fields})
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        return change(value) if isinstance(value, Path) else value

    moved: RunConfig = changed(config)
    return moved.model_copy(update={"train": moved.train.model_copy(update={"output": output})})


def _explain(error: ValidationError, *where: str) -> str:
    """One mistake, as `section.key: cause; remedy`; an unknown key first, for it often explains a missing one.

    `where` are the names of the section that was validated, none for a whole configuration.
    """
    first = min(error.errors(), key=lambda mistake: mistake["type"] != "extra_forbidden")
    architecture, first = _without_architecture({**first, "loc": (*where, *first["loc"])})
    loc = [part for part in first["loc"] if part not in NO_KEYS]
    key = _dotted(loc)
    if first["type"] == "extra_forbidden":
        return f"{key}: unknown key{_did_you_mean(loc, architecture)}"
    if first["type"] == UNKNOWN:
        return f"{key}.architecture: {first['msg']}, not {architecture_of(first['input'])!r}"
    if first["type"] == "missing":
        remedy = (
            "give it, or a model.preset, or with train.start_from no shape at all"
            if first["loc"][0] == "model"
            else "this key has no default"
        )
        return f"{key}: missing; {remedy}"
    if first["type"] == "value_error":  # our own validators open with the key's name
        cause = first["msg"].removeprefix("Value error, ")
        return f"{key}.{cause}" if key else cause
    return f"{key}: {_cause(first)}, not {_shown(first['input'])}"


def _shown(value: Any) -> str:
    """A value as TOML has it, where Python writes another one."""
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date | time) else repr(value)


def _without_architecture(mistake: ErrorDetails) -> tuple[str, ErrorDetails]:
    """The architecture that pydantic names between `model` and a key, and the mistake without it."""
    section, *rest = mistake["loc"] or ("",)
    if section != "model" or not rest or rest[0] not in ARCHITECTURES:
        return "transformer", mistake
    return str(rest[0]), {**mistake, "loc": (section, *rest[1:])}


def _cause(mistake: ErrorDetails) -> str:
    """What a value should be, without Python's names of types."""
    if mistake["type"] == "path_type":
        return "input should be a path in quotes"
    if mistake["type"] == "model_type":
        if mistake["ctx"]["class_name"] == CorpusConfig.__name__:
            return 'input should be a path in quotes, or {source = "…", target = "…"}'
        return f"input should be a section of keys, as in [{_dotted(mistake['loc'])}]"
    cause = plain_cause(mistake["msg"]).replace("tuple", "list", 1)
    if mistake["type"] == "tuple_type" and mistake["loc"] in CORPORA:
        cause += f' of corpora, as in [[{_dotted(mistake["loc"])}]] or ["FILE.tsv"]'
    is_choice = mistake["type"] != "less_than_equal" and not set(CHOICES).isdisjoint(mistake["loc"])
    return cause[:1].lower() + cause[1:] + (', or "auto"' if is_choice else "")


def _dotted(loc: Sequence[str | int]) -> str:
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return key.removeprefix(".")


def _did_you_mean(loc: Sequence[str | int], architecture: str) -> str:
    section: type[BaseModel] = RunConfig
    for part in loc[:-1]:
        if part == "model":
            section = ARCHITECTURES[architecture]
            owners = [name for name in owners_of(str(loc[-1])) if LANGUAGE_MODEL not in (name, architecture)]
            if owners:
                have = f"{' and '.join(owners)} {'has' if len(owners) == 1 else 'have'} it"
                instead = f'model.architecture = "{owners[0]}"'
                return f" of architecture {architecture}; {have}: remove the key, or set {instead}"
        elif isinstance(part, str):
            section = section_in(section.model_fields[part].annotation) or section
    known = list(section.model_fields)
    key = str(loc[-1])
    within = [name for name in known if len(key) > 2 and key in name]  # `step` is within `max_steps`
    if close := difflib.get_close_matches(key, known, n=1, cutoff=0.65) or within[:1]:
        return f"; did you mean {_dotted([*loc[:-1], *close])}?"
    return f"; known here: {', '.join(known)}"
