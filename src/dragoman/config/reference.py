"""The reference of every configuration key, from the docstrings below the keys.

Output: `keys()`, in the order of the sections, and `find(name)` for one key or section. `dragoman config` prints them,
`docs/generate.py` makes pages of them.
"""

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dragoman.config import CorpusConfig, MixedCorpus, ModelConfig, PairConfig, RunConfig, Section
from dragoman.config.sections.architectures.known import ARCHITECTURES, owners_of
from dragoman.config.sections.architectures.others import OtherModel
from dragoman.config.sections.base import INT32_MAX, REQUIRED, section_in
from dragoman.errors import ConfigError


@dataclass(frozen=True)
class ConfigKey:
    """One key: its dotted name, the values it takes, its default in TOML and what it does."""

    name: str
    values: str
    default: str
    doc: str

    @property
    def section(self) -> str:
        """The table it belongs to; empty for a key at the top of the file."""
        return self.name.rpartition(".")[0]


def keys() -> list[ConfigKey]:
    """Every key, in the order of the classes. The keys of a corpus are listed once, under `data.train`."""
    return list(_keys_of(RunConfig, ""))


def find(name: str) -> list[ConfigKey]:
    """The key of this name, or the keys of the section. Raises ConfigError if there is neither."""
    wanted = re.sub(r"^data\.(valid|test)\.", "data.train.", name.strip().strip("[]"))
    matches = [key for key in keys() if key.name == wanted or key.name.startswith(wanted + ".")]
    if matches:
        return matches
    names = [key.name for key in keys()]
    last = {name.rpartition(".")[2]: name for name in names}
    close = difflib.get_close_matches(wanted, names, 1) or [
        last[match] for match in difflib.get_close_matches(wanted.rpartition(".")[2], list(last), 1)
    ]
    hint = f"did you mean {close[0]}?" if close else "`dragoman config` lists all keys"
    raise ConfigError(f"{name}: unknown key; {hint}")


def _keys_of(section: type[Section], prefix: str) -> Iterator[ConfigKey]:
    for name, field in section.model_fields.items():
        inner = section_in(field.annotation)
        if section is MixedCorpus and name in CorpusConfig.model_fields:
            continue  # as under data.train
        if inner is ModelConfig:
            yield from _keys_of_architectures(f"{prefix}{name}.")
            continue
        if inner is None or issubclass(inner, CorpusConfig | PairConfig):
            doc = " ".join((field.description or "").split())
            yield ConfigKey(prefix + name, _describe(field.annotation, field.metadata), _default(section, field), doc)
        if inner is not None and (inner is not CorpusConfig or name == "train"):
            yield from _keys_of(inner, f"{prefix}{name}.")


def _keys_of_architectures(prefix: str) -> Iterator[ConfigKey]:
    """The keys of the Transformer, then those that only other architectures have, each with their names."""
    seen = set[str]()
    for section in ARCHITECTURES.values():
        for key in _keys_of(section, prefix):
            short = key.name.removeprefix(prefix)
            if short == "architecture":
                key = replace(key, values=_describe(Literal[tuple(ARCHITECTURES)]))
            if short not in seen:
                owners = owners_of(short)
                only = "" if "transformer" in owners else f"Only {' and '.join(f'`{name}`' for name in owners)}. "
                yield replace(key, doc=only + key.doc)
            seen.add(short)


def _describe(annotation: Any, metadata: Any = ()) -> str:
    """The values of a type in words: `"a" | "b"`, `whole number from 1`, `path`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _describe(arguments[0], arguments[1:])
    if origin in (Union, UnionType):
        return " | ".join(_describe(part, metadata) for part in arguments if part is not NoneType)
    if origin is Literal:
        return " | ".join(json.dumps(value) for value in arguments)
    if origin is tuple:
        kind = _describe(arguments[0])
        many = {"corpus": "corpora", "pair": "pairs"}.get(kind, kind)
        return f"list of {many}" if arguments[-1] is Ellipsis else f"[{', '.join([kind] * len(arguments))}]"
    if annotation in (int, float):
        words = ("whole number" if annotation is int else "number") + _bounds(metadata)
        return words.replace("whole number above 0", "whole number from 1")
    names: dict[Any, str] = {
        bool: "true | false",
        str: "text",
        Path: "path",
        CorpusConfig: "corpus",
        MixedCorpus: "corpus",
        PairConfig: "pair",
    }
    return names[annotation]


def _bounds(metadata: Any) -> str:
    words = []
    for limit in (limit for item in metadata for limit in (getattr(item, "metadata", None) or [item])):
        if isinstance(limit, Ge):
            words.append(f"from {limit.ge:,}")
        elif isinstance(limit, Gt):
            words.append(f"above {limit.gt:,}")
        elif isinstance(limit, Le) and limit.le != INT32_MAX:
            words.append(f"to {limit.le:,}")
        elif isinstance(limit, Lt) and isinstance(limit.lt, int | float) and limit.lt < INT32_MAX:
            words.append(f"below {limit.lt:,}")
    return " " + " ".join(words) if words else ""


def _default(section: type[Section], field: FieldInfo) -> str:
    """The default in TOML; `required` where there is none, `not set` where it follows from other keys."""
    if REQUIRED in field.metadata:
        return "required"
    if field.default is PydanticUndefined:
        return "by `preset`" if issubclass(section, ModelConfig | OtherModel) else "required"
    if field.default is None:
        return "not set"
    return f"`{_toml(field.default)}`"


def _toml(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
