"""The strings of a JSON file with their spans, found by a loop that never recurses and refuses what is not JSON."""

import re
from dataclasses import dataclass, field
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path

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
    closing: str
    key: str | int = 0
    seen: set[str] = field(default_factory=set)


class Scanner:
    """Reads one file. `texts` are its strings in order, `repeated` the keys that one object has twice, with lines."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        self.at = 0
        self.texts: list[JsonString] = []
        self.repeated: list[tuple[int, str]] = []
        self._containers: list[_Container] = []
        self._skip()
        while self._value():
            pass

    def line(self, at: int) -> int:
        """The line of a character, counted from 1."""
        return self.text.count("\n", 0, at) + 1

    def _refuse(self, expected: str, at: int | None = None) -> DataError:
        at = self.at if at is None else at
        here = repr(self.text[at : at + 12].split("\n")[0]) if at < len(self.text) else "the end of the file"
        return DataError(f"{self.path}:{self.line(at)}: expected {expected}, found {here}; {_HINT}")

    def _skip(self) -> str:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def _value(self) -> bool:
        """Read a value as far as the next one. False at the end of the file."""
        character = self.text[self.at : self.at + 1]
        if character and character in "{[":
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
        self._containers.append(_Container(closing))
        self.at += 1
        if self._skip() == closing:
            self._close()
            return self._after()
        if closing == "}":
            self._key()
        return True

    def _close(self) -> None:
        self._containers.pop()
        self.at += 1

    def _after(self) -> bool:
        """Continue behind a value: to the next one, out of the containers that end here, or to the end of the file."""
        while self._containers:
            inner = self._containers[-1]
            character = self._skip()
            if character == inner.closing:
                self._close()
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
