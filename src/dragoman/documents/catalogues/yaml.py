"""YAML catalogues (Rails and others): strings are text; keys, comments, anchors, quotes and layout stay.

- Where all is under the source's language (`en:`), that key becomes the target's. Plural keys (`one`,
  `other`) are keys like others: each is translated, none is added, none removed.
- What YAML 1.1 or 1.2 reads as a number, a truth value, null or a date is no text; a translation that would be read so
  is quoted. Ruby's symbols (`:day`) and values with tags of their own stay. An alias stays one: nothing is expanded.
- A block (`|`, `>`) keeps its header and its indent; a folded one gets one line for each paragraph.

Scalars and their spans come from the parser's events: nothing is built, run or expanded.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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

from dragoman.documents.catalogues.json import name_of
from dragoman.documents.core.document import Document, DocumentOptions
from dragoman.documents.core.passage import ENTITY, UNFIT, plain
from dragoman.documents.core.splice import Splice, decode
from dragoman.documents.core.values import Value, Values, document_of, write_values
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
    inside_key = bool(stack) and stack[-1].key is None
    return _YamlCollection(
        in_flow=bool(event.flow_style),
        key=None if isinstance(event, MappingStartEvent) else 0,
        skipped=inside_key or event.tag is not None or (bool(stack) and stack[-1].skipped),
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


# Interpolation of Ruby, formats of dates, expressions of Jinja.
_KEEP = re.compile(
    rf"%\{{[^{{}}]*\}}|%<\w+>[-+0-9.]*[a-zA-Z]|%%|%[-0^#_]*[0-9]*[a-zA-Z]|\{{\{{[^{{}}]*\}}\}}|\{{%[^{{}}]*%\}}|{ENTITY}"
)
_NO_TEXT = re.compile(
    r"(?i:y|n|yes|no|true|false|on|off|null|[-+]?\.inf|\.nan)"
    r"|[-+]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]).*|:[A-Za-z_]\w*[?!]?"
)
# A text that is no number and has no sign where YAML reads one: it needs no quotes.
_BARE = re.compile(r"[^\W_](?:[^\x00-\x1f\x7f-\x9f\ufeff\u2028\u2029:#]|:(?=\S)|(?<=\S)#)*(?<!\s)")
_LANGUAGE_KEYS = frozenset(("locale", "language", "lang"))
_HEADER = re.compile(r"[|>][^\r\n]*(\r\n|\r|\n)")


def read(path: Path, options: DocumentOptions) -> Document:
    """The strings of a YAML file. Raises DataError with the line for what is not YAML, or nested too deeply."""
    decoded = decode(path, path.read_bytes())
    repeated: list[tuple[int, str]] = []
    listed = list(scalars(path, decoded.text, repeated))
    notices = [f"line {line}: the key {key!r} is there twice; both are kept" for line, key in repeated]
    languages, root = _languages(listed, options)
    by_begin: dict[int, Scalar] = {}
    values = []
    for scalar in listed:
        if scalar.is_key or not _is_text(scalar) or scalar in languages:
            continue
        where = name_of(scalar.keys[1:] if root and len(scalar.keys) > 1 else scalar.keys)
        if UNFIT.search(scalar.text):
            line = decoded.text.count("\n", 0, scalar.begin) + 1
            notices.append(f"line {line}, {where}: unpaired surrogate, NUL or private character; left unchanged")
            continue
        by_begin[scalar.begin] = scalar
        values.append(Value(scalar.begin, scalar.end, where, (plain(scalar.text, _KEEP),)))
    languages = [scalar for scalar in languages if _tag(scalar) == options.source.lower()]
    splices = [Splice(scalar.begin, scalar.end, _bare(options.target, scalar)) for scalar in languages]
    return document_of(path, Values(decoded, values, _encoder(decoded.text, by_begin), splices), notices)


write = write_values


def _is_text(scalar: Scalar) -> bool:
    # A translation that has no letters gets quotes, so that it stays text.
    words = any(map(str.isalpha, scalar.text)) and not _NO_TEXT.fullmatch(scalar.text)
    return bool(scalar.style) or scalar.tagged or words


def _languages(listed: Sequence[Scalar], options: DocumentOptions) -> tuple[list[Scalar], bool]:
    """The scalars that name the language of all that is there; whether one is the key over everything."""
    tags = (options.source.lower(), options.target.lower())
    roots = [scalar for scalar in listed if scalar.is_key and not scalar.keys]
    if len(roots) == 1 and _tag(roots[0]) in tags:
        return roots, True
    settings = [scalar for scalar in listed if len(scalar.keys) == 1 and scalar.keys[0] in _LANGUAGE_KEYS]
    return [scalar for scalar in settings if _tag(scalar) in tags], False


def _tag(scalar: Scalar) -> str:
    return scalar.text.replace("_", "-").lower()


def _encoder(text: str, by_begin: Mapping[int, Scalar]) -> Callable[[Value, str], str]:
    def encode(value: Value, new: str) -> str:
        scalar = by_begin[value.begin]
        raw = text[scalar.begin : scalar.end]
        return _block(raw, scalar, new) if scalar.style and scalar.style in "|>" else _bare(new, scalar)

    return encode


def _bare(text: str, scalar: Scalar) -> str:
    """A text on one line: without quotes or in single ones if the source is and it can be, otherwise in double ones."""
    if scalar.style == "'" and not re.search(r"[\x00-\x1f\x7f-\x9f\ufeff\u2028\u2029]", text):
        return "'" + text.replace("'", "''") + "'"
    is_bare = _BARE.fullmatch(text) and any(map(str.isalpha, text)) and not _NO_TEXT.fullmatch(text)
    if not scalar.style and is_bare and not (scalar.in_flow and re.search(r"[,\[\]{}:?]", text)):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return re.sub(r"[\x7f-\x9f\ufeff\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _block(raw: str, scalar: Scalar, text: str) -> str:
    """A block with the header, the indent and the end of the source's."""
    header = _HEADER.match(raw)
    assert header is not None
    end_of_line = header[1]
    body = raw[header.end() :]
    content = body.rstrip(" \t\r\n")
    first = next(line for line in body.splitlines() if line.strip())
    old = next(line for line in scalar.text.splitlines() if line.strip())
    indent = first[: len(first) - len(old)] if scalar.style == "|" else first[: len(first) - len(first.lstrip(" "))]
    lines = text.rstrip("\n").split("\n")
    head = header[0]
    if scalar.style == ">":
        if any(line[:1] in (" ", "\t") for line in lines):
            head = "|" + head[1:]  # lines with an indent of their own are not folded
        else:
            lines = [part for line in lines for part in (line, "")][:-1]
    return head + end_of_line.join(indent + line if line else "" for line in lines) + body[len(content) :]
