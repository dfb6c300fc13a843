"""The scalars of a YAML file with their spans: from the parser's events, so that nothing is built, run or expanded."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from dragoman.errors import DataError

MAX_DEPTH = 100
_STRING = "tag:yaml.org,2002:str"
# An anchor and a tag before a scalar.
_PROPERTIES = re.compile(r"(?:(?:&[^\s,\[\]{}]+|![^\s,\[\]{}]*)\s+)*")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar: its keys from outside in, its text and how it is written. `is_key`: it is the key of a mapping."""

    keys: tuple[str | int, ...]
    text: str
    style: str
    """`'`, `"`, `|` or `>`; empty: plain."""
    begin: int
    end: int
    in_flow: bool
    is_key: bool = False
    tagged: bool = False
    """Whether a tag says that it is a string."""


@dataclass(slots=True)
class _YamlCollection:
    in_flow: bool
    key: str | int | None
    """The key of the value that comes next, or the index; None if a key comes next."""
    skipped: bool
    """Whether it has a tag of its own, or is a key: what is inside is no text."""
    is_mapping: bool
    seen: set[str] = field(default_factory=set)


def scalars(path: Path, text: str, repeated: list[tuple[int, str]]) -> Iterator[Scalar]:
    """The scalars of a file that may be text. `repeated` gets the keys that a mapping has twice, with their lines."""
    stack: list[_YamlCollection] = []
    for event in _events(path, text):
        if isinstance(event, DocumentStartEvent):
            stack = []
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            stack.append(_opened(path, event, stack))
        elif isinstance(event, ScalarEvent):
            yield from _scalar(event, text, stack, repeated)
            _count(stack, event.value)
        elif isinstance(event, AliasEvent):
            _count(stack, f"*{event.anchor}")
        elif stack and type(event).__name__ in ("MappingEndEvent", "SequenceEndEvent"):
            stack.pop()
            _count(stack, "?")


def _events(path: Path, text: str) -> Iterator[Any]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = " ".join((error.problem or str(error)).split())
        raise DataError(f"{path}:{line}: not YAML: {problem}") from None
    except YAMLError as error:
        position = getattr(error, "position", 0)
        line = text.count("\n", 0, position) + 1
        raise DataError(f"{path}:{line}: not YAML: has a character that is not allowed") from None


def _opened(path: Path, event: Any, stack: list[_YamlCollection]) -> _YamlCollection:
    if len(stack) == MAX_DEPTH:
        raise DataError(
            f"{path}:{event.start_mark.line + 1}: nested more than {MAX_DEPTH} deep; "
            "a catalogue of messages has a few levels"
        )
    is_mapping = isinstance(event, MappingStartEvent)
    inside_key = bool(stack) and stack[-1].key is None
    return _YamlCollection(
        in_flow=bool(event.flow_style),
        key=None if is_mapping else 0,
        skipped=inside_key or event.tag is not None or (bool(stack) and stack[-1].skipped),
        is_mapping=is_mapping,
    )


def _scalar(
    event: ScalarEvent, text: str, stack: list[_YamlCollection], repeated: list[tuple[int, str]]
) -> Iterator[Scalar]:
    inner = stack[-1] if stack else None
    is_key = inner is not None and inner.key is None
    if inner is not None and is_key:
        if event.value in inner.seen:
            repeated.append((event.start_mark.line + 1, event.value))
        inner.seen.add(event.value)
    if (inner is not None and inner.skipped) or event.tag not in (None, _STRING, "!"):
        return
    match = _PROPERTIES.match(text, event.start_mark.index)
    begin = match.end() if match else event.start_mark.index
    keys = tuple(collection.key for collection in stack if collection.key is not None)
    in_flow = any(collection.in_flow for collection in stack)
    tagged = event.tag is not None
    yield Scalar(keys, event.value, event.style or "", begin, event.end_mark.index, in_flow, is_key, tagged)


def _count(stack: list[_YamlCollection], value: str) -> None:
    """Continue the innermost container after a node of it."""
    if stack:
        inner = stack[-1]
        if isinstance(inner.key, int):
            inner.key += 1
        else:
            inner.key = value if inner.key is None else None
