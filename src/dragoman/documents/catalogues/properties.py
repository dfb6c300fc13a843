"""Java's .properties: values are text, line by line; keys, comments, separators and continuation lines stay.

- A file that is nothing but ASCII, and one in Latin-1, gets `\\uXXXX`, which every version of Java reads; one in UTF-8
  gets letters. A value that is translated loses the continuations inside its lines, not those after `\\n`.
- A value with `{0}` is a MessageFormat: two apostrophes are one. Where a single one quotes an argument, the value is
  left unchanged and named. A value with `{n, plural, …}` is an ICU message.
- The mark of an accelerator key (`&File`) is not translated, but set again.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dragoman.documents.catalogues import icu_messages
from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.labels import with_mark, without_marks
from dragoman.documents.core.passage import ENTITY, UNFIT, Escaped, Message, passage, unescape, units_of
from dragoman.documents.core.splice import decode, likely_encoding
from dragoman.documents.core.values import Value, Values, document_of, write_values
from dragoman.errors import DataError

_CONTINUED = r"\\(?:\r\n|\r|\n)[ \t\f]*"
_SURROGATES = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"{_CONTINUED}|{_SURROGATES}|\\u[0-9a-fA-F]{{4}}|\\(?!u)[\s\S]|\\u.{{0,4}}", re.DOTALL)
# A line with its continuations: a comment, or a key, what separates, and the value.
_LINE = re.compile(
    r"[ \t\f]*(?:(?P<comment>[#!][^\r\n]*)"
    r"|(?P<key>(?:\\(?:\r\n|[\s\S])|[^ \t\f\r\n\\=:])*)"
    r"(?:[ \t\f]|\\(?:\r\n|\r|\n))*[=:]?(?:[ \t\f]|\\(?:\r\n|\r|\n))*"
    r"(?P<value>(?:\\(?:\r\n|[\s\S])|[^\r\n\\])*\\?))(?:\r\n|\r|\n|\Z)"
)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
_ARGUMENT = r"\{[0-9]+(?:,[^{}]*(?:\{[^{}]*\}[^{}]*)*)?\}"
_KEEP = re.compile(rf"\$\{{[^{{}}]*\}}|%[0-9](?![0-9])|{ENTITY}")
_QUOTED = re.compile(r"''|'(?P<quoted>(?:[^']|'')+)'")
_KEEP_IN_FORMAT = re.compile(rf"{_ARGUMENT}|(?<!')'(?!')(?:[^']|'')+'|{_KEEP.pattern}")
_SPACE = re.compile(r"\s+")


def read(path: Path, options: DocumentOptions) -> Document:
    """The values of a .properties file. Raises DataError with the line for a broken escape or another encoding."""
    content = path.read_bytes()
    notices = []
    try:
        decoded = decode(path, content)
    except DataError:
        if likely_encoding(content):
            raise
        decoded = decode(path, content, "latin-1")
        notices.append("not UTF-8: read as Latin-1, as Java before version 9 did")
    strings = list(_strings(path, decoded.text))
    doubled = any("''" in string.escaped.text and not re.search(_ARGUMENT, string.escaped.text) for string in strings)
    ascii_only = decoded.encoding == "latin-1" or decoded.text.isascii()
    values, whole = [], set()
    for string in strings:
        try:
            if icu_messages.has_branches(string.escaped.text):
                message = icu_messages.parse(string.escaped.text)
                whole.add(string.begin)
            else:
                message = _message(string.escaped, doubled, ascii_only)
        except ValueError as error:
            notices.append(f"line {string.line}, {string.key}: {error}; left unchanged")
        else:
            again = icu_messages.parse if string.begin in whole else None
            end = string.begin + len(string.escaped.raw)
            values.append(Value(string.begin, end, string.key, message, read_again=again))

    def encode(value: Value, text: str) -> str:
        text = _raw(text, ascii_only) if value.begin in whole else text
        return f"\\{text}" if text[:1] in (" ", "\t", "\f") and decoded.text[value.begin] != text[0] else text

    document = document_of(path, Values(decoded, values, encode), notices)
    return without_marks(document)


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The .properties file with the translations in place of its values."""
    sources = (inline for value in document.skeleton.values for _, inline in units_of(value.message))
    marked = (new and with_mark(source, new) for source, new in zip(sources, translations, strict=True))
    write_values(document, marked, options, file)


@dataclass(frozen=True, slots=True)
class _String:
    line: int
    key: str
    begin: int
    escaped: Escaped


def _strings(path: Path, text: str) -> Iterator[_String]:
    at, line = 0, 1
    while at < len(text):
        match = _LINE.match(text, at)
        assert match is not None
        if match["comment"] is None and (match["key"] or match["value"]):
            first = line + _lines(text[at : match.start("value")])
            key = unescape(match["key"], _ESCAPE, _value(path, line)).text
            escaped = unescape(match["value"], _ESCAPE, _value(path, first))
            yield _String(first, key, match.start("value"), escaped)
        line += _lines(match[0])
        at = match.end() if match.end() > at else at + 1


def _lines(text: str) -> int:
    return len(re.findall("\r\n|\r|\n", text))


def _value(path: Path, line: int) -> Callable[[str], str]:
    def value(escape: str) -> str:
        if escape[1:2] in ("\r", "\n", ""):
            return ""
        if escape[1] != "u":
            return _CONTROLS.get(escape[1], escape[1])
        units = re.findall(r"\\u([0-9a-fA-F]{4})", escape)
        if not units:
            raise DataError(f"{path}:{line}: {escape!r} is no escape; write \\u and four hexadecimal digits")
        return bytes.fromhex("".join(units)).decode("utf-16-be", "surrogatepass")

    return value


def _message(escaped: Escaped, doubled: bool, ascii_only: bool) -> Message:
    """The passages of a value, one for each line. Raises ValueError with the reason if there are none to be had."""
    text = escaped.text
    if UNFIT.search(text):
        raise ValueError("unpaired surrogate, NUL or private character")
    formatted = re.search(_ARGUMENT, text) is not None
    quotes = formatted or (doubled and "{" not in text)
    quoted = [match["quoted"] or "" for match in _QUOTED.finditer(text)]
    if formatted and (text.count("'") % 2 or any("{" in part for part in quoted)):
        raise ValueError(
            "a single apostrophe quotes an argument or the rest of the message; write '' for an apostrophe"
        )

    def raw_of(text: str) -> str:
        return _raw(text.replace("'", "''") if quotes else text, ascii_only)

    def text_of(raw: str) -> str:
        text = unescape(raw, _ESCAPE, _value(Path(), 0)).text
        return text.replace("''", "'") if quotes else text

    # What separates the lines: white space with a line break, or at an end.
    spaces = [match.span() for match in _SPACE.finditer(text)]
    breaks = [(begin, end) for begin, end in spaces if begin == 0 or end == len(text) or "\n" in text[begin:end]]
    has_lines = "\n" in text.strip()
    message: Message = ()
    at = 0
    for number, (begin, end) in enumerate([*breaks, (len(text), len(text))], 1):
        if begin > at:
            parts = list(escaped.pieces(at, begin, _KEEP_IN_FORMAT if formatted else _KEEP))
            message += (passage(parts, f"line {number}" if has_lines else "", read=text_of, escape=raw_of),)
        message += (escaped.slice(begin, end),)
        at = end
    return message


def _raw(text: str, ascii_only: bool) -> str:
    text = "".join(_WRITTEN.get(character, character) for character in text)
    return re.sub(r"[^\x00-\x7e]", _unicode, text) if ascii_only else text


def _unicode(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
