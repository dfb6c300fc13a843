"""The part of YAML that Marian writes, read line by line: settings, and vocabularies of one piece per line.

A vocabulary is read by hand, because a general parser takes pieces such as `~`, `no` or `1` for other things than text.
"""

import re
from pathlib import Path

from dragoman.errors import ModelError

LARGEST_FILE = 64 << 20
_KEY = re.compile(r"([\w-]+):(?:\s+(.*))?")
_ITEM = re.compile(r"\s*-\s+(.*)")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
# What a backslash makes of a letter; of other characters it makes themselves.
_LETTERS = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"}
_LETTERS |= {"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}

Settings = dict[str, str | list[str]]


def read_yaml(path: Path) -> str:
    """The text of a file. Raises ModelError."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ModelError(f"{path}: {path.stat().st_size:,} bytes, more than any vocabulary has; fetch it again")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}; it belongs to the model, fetch it too") from None
    except UnicodeDecodeError:
        raise ModelError(f"{path}: not UTF-8; fetch the file again") from None


def parse_settings(text: str) -> Settings:
    """The keys at the beginning of lines, with their values as texts, or as lists of texts."""
    settings: Settings = {}
    items: list[str] = []
    for line in (line.split(" #")[0].rstrip() for line in text.splitlines()):
        if match := _KEY.fullmatch(line):
            value = (match[2] or "").strip()
            listed = value.startswith("[") and value.endswith("]")
            items = [_scalar(item) for item in value[1:-1].split(",") if item.strip()] if listed else []
            settings[match[1]] = items if listed or not value else _scalar(value)
        elif match := _ITEM.fullmatch(line):
            items.append(_scalar(match[1]))
    return settings


def parse_vocabulary(text: str, where: Path) -> dict[str, int]:
    """Piece → id, from lines `piece: id`. Raises ModelError for another line, and for a piece or an id twice."""
    vocabulary: dict[str, int] = {}
    key: str | None = None
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line or line in ("---", "..."):
            continue
        if line.startswith("? "):  # a long key has a line of its own
            key = line[2:]
            continue
        piece, _, id_ = (key or "", ":", line[1:]) if line.startswith(": ") and key else line.rpartition(":")
        if not piece or not id_.strip().isdecimal():
            raise ModelError(f"{where}:{number}: not a piece and its id; fetch the file again")
        piece, key = _scalar(piece), None
        if piece in vocabulary:
            raise ModelError(f"{where}:{number}: {piece!r} is there twice; fetch the file again")
        vocabulary[piece] = int(id_)
    if len(set(vocabulary.values())) != len(vocabulary):
        raise ModelError(f"{where}: two pieces have the same id; fetch the file again")
    return vocabulary


def _scalar(text: str) -> str:
    """The text of a plain, 'single' or "double" quoted scalar."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return _ESCAPE.sub(_unescaped, text[1:-1])
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def _unescaped(match: "re.Match[str]") -> str:
    code = match[1] or match[2] or match[3]
    return chr(int(code, 16)) if code else _LETTERS.get(match[4], match[4])
