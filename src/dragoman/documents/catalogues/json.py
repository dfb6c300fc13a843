"""JSON catalogues of messages (i18next, vue-i18n, React-intl, Chrome extensions): every string is text, no key is.

- In an object with `defaultMessage`, and in one with `message` and a `description` or `placeholders`, only the message
  is text; the description is its context.
- A catalogue with an ICU message (`{count, plural, …}`) is read as ICU messages (`icu_messages`), any
  other as plain text with placeholders, in which ` | ` separates the plural forms of vue-i18n: each is a unit.
- Plural keys (`key_one`, `key_other`) are keys like others: each is translated, none is added, none removed.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from dragoman.documents.catalogues import icu_messages
from dragoman.documents.catalogues.json_text import JsonString, Keys, Scanner
from dragoman.documents.core.document import Document, DocumentOptions
from dragoman.documents.core.passage import ENTITY, UNFIT, Message, plain
from dragoman.documents.core.splice import Decoded, Splice, decode
from dragoman.documents.core.values import Value, Values, document_of, write_values

# Variables; references to other messages: of i18next `$t(key)`, of vue-i18n `@:key`.
_KEEP = re.compile(r"\{\{[^{}]*\}\}|%?\{[A-Za-z0-9_.-]+\}|\$t\([^()\n]*\)|@(?:\.\w+)?:(?:\([\w.]+\)|[\w.]+)|" + ENTITY)
_BAR = re.compile(r"(\s+\|\s+)")
_LANGUAGE_KEYS = frozenset(("locale", "language", "lang", "@@locale"))


def read(path: Path, options: DocumentOptions) -> Document:
    """The strings of a JSON file. Raises DataError with the line for what is not JSON."""
    decoded = decode(path, path.read_bytes())
    scanner = Scanner(path, decoded.text)
    return document(path, decoded, scanner, _chosen(scanner.texts, options), options)


write = write_values


def document(
    path: Path, decoded: Decoded, scanner: Scanner, chosen: Iterable[tuple[JsonString, str]], options: DocumentOptions
) -> Document:
    """The document of the strings `chosen`, each with its context."""
    chosen = list(chosen)
    icu = any(icu_messages.is_complex(text.text) for text, _ in chosen)
    notices = [f"line {line}: the key {key!r} is there twice; both are kept" for line, key in scanner.repeated]
    values = []
    for text, context in chosen:
        try:
            message = _message(text.text, icu)
        except ValueError as error:
            notices.append(f"line {scanner.line(text.begin)}, {name_of(text.keys)}: {error}; left unchanged")
        else:
            read_again = partial(_message, icu=True) if icu else None
            values.append(Value(text.begin, text.end, name_of(text.keys), message, context, read_again=read_again))
    return document_of(path, Values(decoded, values, encoder(decoded), language(scanner.texts, options)), notices)


def _message(text: str, icu: bool) -> Message:
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
        return (plain(text, _KEEP, escape=_joined),)
    places = (str(at // 2 + 1) for at in range(len(parts)))
    return tuple(
        part if at % 2 else plain(part, _KEEP, place, _joined)
        for at, (part, place) in enumerate(zip(parts, places, strict=True))
    )


def _joined(text: str) -> str:
    """Text in which no bar separates anything."""
    return _BAR.sub("|", text)


def name_of(keys: Keys) -> str:
    """Where a string is, for people: `menu.items[2].title`."""
    name = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return name.removeprefix(".") or "the string"


def _chosen(texts: Sequence[JsonString], options: DocumentOptions) -> Iterator[tuple[JsonString, str]]:
    """The strings that are text, each with its description."""
    objects: dict[Keys, dict[str | int, str]] = defaultdict(dict)
    for text in texts:
        objects[text.keys[:-1]][text.keys[-1] if text.keys else ""] = text.text
    # Objects of Chrome extensions: what they define is no text.
    defining = {text.keys[:at] for text in texts for at, key in enumerate(text.keys) if key == "placeholders"}
    defining = {keys for keys in defining if "message" in objects[keys]}
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


def encoder(decoded: Decoded) -> Callable[[Value, str], str]:
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
