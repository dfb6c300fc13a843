"""Apple's .strings: the values of `"key" = "value";` are text, in UTF-8 or, with a byte-order mark, UTF-16.

Comments, keys and layout stay; the comment before an entry is its context. Arguments (`%@`, `%1$@`, `%lld`) are kept.
An entry without a value (`"Save";`) is key and text at once: it is left unchanged.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dragoman.documents.core.document import Document, DocumentOptions
from dragoman.documents.core.passage import ENTITY, UNFIT, passage, unescape
from dragoman.documents.core.splice import decode
from dragoman.documents.core.values import Value, Values, document_of, write_values
from dragoman.errors import DataError

_TOKEN = re.compile(
    r"(?P<space>\s+)|/\*(?P<comment>.*?)\*/|//(?P<line>[^\r\n]*)"
    r'|"(?P<quoted>[^"\\]*(?:\\.[^"\\]*)*)"|(?P<word>(?!/\*)[\w.$:/-]+)|(?P<sign>[=;])',
    re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\[Uu][dD][89abAB][0-9a-fA-F]{2}\\[Uu][dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\[Uu][0-9a-fA-F]{4}|\\[Uu].{0,4}|\\[0-7]{1,3}|\\.",
    re.DOTALL,
)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "a": "\a", "b": "\b", "v": "\v"}
_WRITTEN = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"})
_KEEP = re.compile(
    r"%(?:[0-9]{1,2}\$)?#@\w+@|%%"
    r"|%(?:[0-9]+\$)?[-+#0']*(?:[0-9]+|\*)?(?:\.[0-9]+)?(?:hh|h|ll|l|q|L|z|t|j)?[@dDiuUxXoOfFeEgGcCsSpaA]"
    rf"|%[0-9]|{ENTITY}"
)
_NO_COMMENT = "No comment provided by engineer."


@dataclass(frozen=True, slots=True)
class _StringsToken:
    kind: str
    text: str
    begin: int
    end: int


def read(path: Path, options: DocumentOptions) -> Document:
    """The values of a .strings file. Raises DataError with the line for what is none."""
    decoded = decode(path, path.read_bytes())
    text = decoded.text
    values, notices = [], []
    for comment, key, value in _entries(path, text):
        line = text.count("\n", 0, value.begin) + 1
        if value is key:
            notices.append(f"line {line}: {key.text!r} has no value; left unchanged")
            continue
        escaped = unescape(value.text, _ESCAPE, _value(path, line))
        if UNFIT.search(escaped.text):
            notices.append(f"line {line}: unpaired surrogate, NUL or private character; left unchanged")
            continue
        pieces = list(escaped.pieces(0, len(escaped.text), _KEEP))
        message = (passage(pieces, read=lambda raw: unescape(raw, _ESCAPE, _value(path, 0)).text, escape=_raw),)
        name = unescape(key.text, _ESCAPE, _value(path, line)).text
        values.append(Value(value.begin, value.end, name, message, comment if comment != _NO_COMMENT else ""))
    return document_of(path, Values(decoded, values, lambda value, raw: f'"{raw}"'), notices)


write = write_values


def _tokens(path: Path, text: str) -> Iterator[_StringsToken]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            line = text.count("\n", 0, at) + 1
            what = "a string is not closed" if text[at] == '"' else f"{text[at]!r} belongs to no entry"
            raise DataError(f'{path}:{line}: {what}; write "key" = "value";')
        kind = match.lastgroup or ""
        if kind != "space":
            yield _StringsToken(kind, match[kind], at, match.end())
        at = match.end()


def _entries(path: Path, text: str) -> Iterator[tuple[str, _StringsToken, _StringsToken]]:
    """The comment, the key and the value of each entry; key and value are the same where there is one string."""
    comment = ""
    entry: list[_StringsToken] = []
    for token in _tokens(path, text):
        if token.kind in ("comment", "line"):
            comment = token.text.strip() if not entry else comment
            continue
        wanted = ("quoted", "word") if len(entry) % 2 == 0 else ("sign",)
        ends = token.text == ";" and len(entry) in (1, 3)
        if token.kind not in wanted or len(entry) == 4 or (token.kind == "sign" and not ends and len(entry) != 1):
            line = text.count("\n", 0, entry[-1].end if entry else token.begin) + 1
            missing = {0: "a key", 1: "'=' or ';'", 2: "a value"}.get(len(entry), "';'")
            raise DataError(f"{path}:{line}: expected {missing} before {text[token.begin : token.end]!r}")
        if ends:
            yield comment, entry[0], entry[-1]
            comment, entry = "", []
        else:
            entry.append(token)
    if entry:
        line = text.count("\n", 0, entry[-1].end) + 1
        raise DataError(f"{path}:{line}: expected ';' before the end of the file")


def _value(path: Path, line: int) -> Callable[[str], str]:
    def value(escape: str) -> str:
        if escape[1] in "Uu":
            units = re.findall(r"\\[Uu]([0-9a-fA-F]{4})", escape)
            if not units:
                raise DataError(f"{path}:{line}: {escape!r} is no escape; write \\U and four hexadecimal digits")
            return bytes.fromhex("".join(units)).decode("utf-16-be", "surrogatepass")
        if escape[1] in "01234567":
            return chr(int(escape[1:], 8))
        return _CONTROLS.get(escape[1], escape[1])

    return value


def _raw(text: str) -> str:
    return text.translate(_WRITTEN)
