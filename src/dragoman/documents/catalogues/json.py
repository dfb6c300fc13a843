"""JSON catalogues of messages (i18next, vue-i18n, React-intl, Chrome extensions): every string is text, no key is.

- In an object with `defaultMessage`, and in one with `message` and a `description` or `placeholders`, only the message
  is text; the description is its context.
- A catalogue with an ICU message (`{count, plural, …}`) is read as ICU messages (`icu_messages`), any
  other as plain text with placeholders, in which ` | ` separates the plural forms of vue-i18n: each is a unit.
- Plural keys (`key_one`, `key_other`) are keys like others: each is translated, none is added, none removed.

The strings are found by a loop that never recurses and refuses what is not JSON.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path

from dragoman.documents.catalogues import icu_messages
from dragoman.documents.core.document import Document, DocumentOptions
from dragoman.documents.core.passage import ENTITY, UNFIT, Message, plain
from dragoman.documents.core.splice import Decoded, Splice, decode
from dragoman.documents.core.values import Value, Values, document_of, write_values
from dragoman.errors import DataError

MAX_DEPTH = 200
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?![\w.])")
_HINT = "JSON has no comments, no NaN, and no comma after the last value"

Keys = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class JsonString:
    """A string that is a value: its keys from the outermost object on, its text, its span with both quotes."""

    keys: Keys
    text: str
    begin: int
    end: int


@dataclass(slots=True)
class _Container:
    begin: int
    closing: str
    key: str | int = 0
    seen: set[str] = field(default_factory=set)


class Scanner:
    """Reads one file. `texts` are its strings in order, `repeated` the keys that one object has twice, with lines.

    `spans` is where each object and each list is, by its keys.
    """

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        self.at = 0
        self.texts: list[JsonString] = []
        self.repeated: list[tuple[int, str]] = []
        self.spans: dict[Keys, tuple[int, int]] = {}
        self._containers: list[_Container] = []
        self._skip()
        while self._value():
            pass

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def _refuse(self, expected: str) -> DataError:
        ahead = self.text[self.at : self.at + 12].split("\n")[0]
        here = repr(ahead) if self.at < len(self.text) else "the end of the file"
        return DataError(f"{self.path}:{self.line(self.at)}: expected {expected}, found {here}; {_HINT}")

    def _skip(self) -> str:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def _value(self) -> bool:
        """Read a value as far as the next one. False at the end of the file."""
        character = self.text[self.at : self.at + 1]
        if character in ("{", "["):
            return self._open("}" if character == "{" else "]")
        if character == '"':
            begin = self.at
            text = self._string()
            self.texts.append(JsonString(tuple(container.key for container in self._containers), text, begin, self.at))
        elif match := _SCALAR.match(self.text, self.at):
            self.at = match.end()
        else:
            raise self._refuse("a value")
        return self._after()

    def _open(self, closing: str) -> bool:
        if len(self._containers) == MAX_DEPTH:
            raise DataError(
                f"{self.path}:{self.line(self.at)}: nested more than {MAX_DEPTH} deep; "
                "a catalogue of messages has a few levels"
            )
        self._containers.append(_Container(self.at, closing))
        self.at += 1
        if self._skip() == closing:
            return self._after()
        if closing == "}":
            self._key()
        return True

    def _after(self) -> bool:
        """Continue behind a value: to the next one, out of the containers that end here, or to the end of the file."""
        while self._containers:
            inner = self._containers[-1]
            character = self._skip()
            if character == inner.closing:
                self._containers.pop()
                self.at += 1
                self.spans[tuple(container.key for container in self._containers)] = (inner.begin, self.at)
                continue
            if character != ",":
                raise self._refuse(f"',' or '{inner.closing}'")
            self.at += 1
            self._skip()
            if isinstance(inner.key, int):
                inner.key += 1
            else:
                self._key()
            return True
        if self._skip():
            raise self._refuse("the end of the file")
        return False

    def _key(self) -> None:
        begin = self.at
        if self.text[begin : begin + 1] != '"':
            raise self._refuse("a key in double quotes")
        inner = self._containers[-1]
        key = self._string()
        if key in inner.seen:
            self.repeated.append((self.line(begin), key))
        inner.seen.add(key)
        inner.key = key
        if self._skip() != ":":
            raise self._refuse("':'")
        self.at += 1
        self._skip()

    def _string(self) -> str:
        try:
            text, self.at = scanstring(self.text, self.at + 1, True)
        except JSONDecodeError as error:
            raise DataError(f"{self.path}:{self.line(error.pos)}: {error.msg.lower()}; fix this string") from None
        return str(text)


# Variables; references to other messages: of i18next `$t(key)`, of vue-i18n `@:key`.
_KEEP = re.compile(r"\{\{[^{}]*\}\}|%?\{[A-Za-z0-9_.-]+\}|\$t\([^()\n]*\)|@(?:\.\w+)?:(?:\([\w.]+\)|[\w.]+)|" + ENTITY)
# Of Chrome extensions: arguments, and names that the message defines.
_KEEP_CHROME = re.compile(rf"\$[A-Za-z0-9_@]+\$|\$[1-9](?!\d)|{_KEEP.pattern}")
_BAR = re.compile(r"(\s+\|\s+)")
_LANGUAGE_KEYS = frozenset(("locale", "language", "lang", "@@locale"))


def read(path: Path, options: DocumentOptions) -> Document:
    """The strings of a JSON file. Raises DataError with the line for what is not JSON."""
    decoded = decode(path, path.read_bytes())
    scanner = Scanner(path, decoded.text)
    chosen = list(_chosen(scanner.texts, options))
    icu = any(icu_messages.is_complex(text.text) for text, _ in chosen)
    keep = _KEEP_CHROME if _defining(scanner.texts) else _KEEP
    parse = partial(_message, icu=icu, keep=keep)
    return strings_document(decoded, scanner, chosen, parse, icu, language(scanner.texts, options))


write = write_values


def strings_document(
    decoded: Decoded,
    scanner: Scanner,
    chosen: Iterable[tuple[JsonString, str]],
    parse: Callable[[str], Message],
    icu: bool,
    otherwise: Sequence[Splice],
) -> Document:
    """The document of the strings `chosen`, each with its context; ICU messages are parsed again when written."""
    notices = [f"line {line}: the key {key!r} is there twice; both are kept" for line, key in scanner.repeated]
    values = []
    for text, context in chosen:
        try:
            message = parse(text.text)
        except ValueError as error:
            notices.append(f"line {scanner.line(text.begin)}, {name_of(text.keys)}: {error}; left unchanged")
        else:
            read_again = parse if icu else None
            values.append(Value(text.begin, text.end, name_of(text.keys), message, context, read_again=read_again))
    return document_of(scanner.path, Values(decoded, values, _encoder(decoded), otherwise), notices)


def _message(text: str, icu: bool, keep: re.Pattern[str]) -> Message:
    """The passages of a string. Raises ValueError with the reason if there is none to be had."""
    if UNFIT.search(text):
        raise ValueError("unpaired surrogate, NUL or private character")
    try:
        if icu:
            return icu_messages.parse(text)
    except ValueError:
        if icu_messages.is_complex(text) or "{{" not in text:
            raise
    parts = _BAR.split(text)
    if len(parts) == 1:
        return (plain(text, keep, escape=_joined),)
    places = (str(at // 2 + 1) for at in range(len(parts)))
    return tuple(
        part if at % 2 else plain(part, keep, place, _joined)
        for at, (part, place) in enumerate(zip(parts, places, strict=True))
    )


def _joined(text: str) -> str:
    """Text in which no bar separates anything."""
    return _BAR.sub("|", text)


def name_of(keys: Keys) -> str:
    """Where a string is, for people: `menu.items[2].title`."""
    name = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return name.removeprefix(".") or "the string"


def _objects(texts: Sequence[JsonString]) -> dict[Keys, dict[str | int, str]]:
    """The strings of each object, by its keys."""
    objects: dict[Keys, dict[str | int, str]] = defaultdict(dict)
    for text in texts:
        objects[text.keys[:-1]][text.keys[-1] if text.keys else ""] = text.text
    return objects


def _defining(texts: Sequence[JsonString]) -> set[Keys]:
    """The objects of Chrome extensions that define names: what they define is no text."""
    messages = {text.keys[:-1] for text in texts if text.keys[-1:] == ("message",)}
    return messages & {text.keys[:at] for text in texts for at, key in enumerate(text.keys) if key == "placeholders"}


def _chosen(texts: Sequence[JsonString], options: DocumentOptions) -> Iterator[tuple[JsonString, str]]:
    """The strings that are text, each with its description."""
    objects, defining = _objects(texts), _defining(texts)
    for text in texts:
        parent, key = text.keys[:-1], text.keys[-1] if text.keys else ""
        siblings = objects[parent]
        message = ""
        if "defaultMessage" in siblings:
            message = "defaultMessage"
        elif "message" in siblings and ("description" in siblings or parent in defining):
            message = "message"
        if (message and key != message) or key == "$schema" or names_language(text, options):
            continue
        if not any(parent[:length] in defining for length in range(1, len(parent))):
            yield text, siblings.get("description", "") if message else ""


def _encoder(decoded: Decoded) -> Callable[[Value, str], str]:
    """How the file writes strings: with `\\u` escapes if it has nothing but ASCII, with `\\/` if it has that."""
    ascii_only = decoded.text.isascii() and re.search(r"\\u(?!00[01])", decoded.text) is not None
    slashes = "\\/" in decoded.text

    def encode(value: Value, text: str) -> str:
        written = json.dumps(text, ensure_ascii=ascii_only)
        return written.replace("/", "\\/") if slashes else written

    return encode


def language(texts: Sequence[JsonString], options: DocumentOptions) -> list[Splice]:
    """The tag of the source's language, where the file says that it is in it, becomes the target's."""
    return [
        Splice(text.begin, text.end, json.dumps(options.target))
        for text in texts
        if names_language(text, options) and text.text.replace("_", "-").lower() == options.source.lower()
    ]


def names_language(text: JsonString, options: DocumentOptions) -> bool:
    """Whether a string is the tag of one of the two languages, in the outermost object."""
    tag = text.text.replace("_", "-").lower()
    is_setting = len(text.keys) == 1 and text.keys[0] in _LANGUAGE_KEYS
    return is_setting and tag in (options.source.lower(), options.target.lower())
