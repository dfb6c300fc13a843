"""The lines of a PO file: which message and field each belongs to, and where in the text it is.

polib reads what they say; this file accounts for every line, so that none is lost: polib accepts some that are damaged.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.documents.core.splice import Decoded
from dragoman.errors import DataError

_LINE = re.compile(
    r"(?P<obsolete>#~[ \t]*)?"
    r"(?:(?P<keyword>msgctxt|msgid_plural|msgid|msgstr)(?:\[(?P<index>[0-9]{1,2})\])?[ \t]*)?"
    r'"(?P<raw>(?:[^"\\\r\n]|\\[^\r\n])*)"'
)


@dataclass(slots=True)
class Field:
    """`msgid "…"`, `msgstr[1] "…"` and the lines that continue it."""

    keyword: str
    index: int | None
    line: int
    begin: int
    """Where its first line begins."""
    quoted: int
    """Where its first quotation mark is."""
    end: int
    """After its last one."""
    raw: list[str]
    """What is between the quotation marks of each line, with its escapes."""


@dataclass(slots=True)
class PoMessage:
    """The comments and the fields of one message; the comments are (begin, end) of whole lines."""

    comments: list[tuple[int, int]] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    obsolete: bool = False

    def get(self, keyword: str) -> Field | None:
        return next((field for field in self.fields if field.keyword == keyword), None)

    @property
    def forms(self) -> list[Field]:
        """Its `msgstr`, or all of its `msgstr[…]`."""
        return [field for field in self.fields if field.keyword == "msgstr"]

    @property
    def line(self) -> int:
        msgid = self.get("msgid")
        return msgid.line if msgid else 0

    @property
    def is_header(self) -> bool:
        """Whether its `msgid` is empty and has no context."""
        msgid = self.get("msgid")
        return msgid is not None and not "".join(msgid.raw) and not self.get("msgctxt") and not self.obsolete


def messages(path: Path, decoded: Decoded) -> list[PoMessage]:
    """The messages of a PO file in order. Raises DataError with the line for one that is not of the format."""
    listed: list[PoMessage] = [PoMessage()]
    begin = 0
    for number, line in enumerate(decoded.text.split("\n"), 1):
        content = line.strip()
        at = begin + len(line) - len(line.lstrip())
        if content.startswith("#") and not re.match(r"#~\s*[^\s|]", content):
            if listed[-1].forms:
                listed.append(PoMessage())
            listed[-1].comments.append((begin, min(begin + len(line) + 1, len(decoded.text))))
        elif content:
            match = _LINE.fullmatch(content)
            if match is None:
                raise DataError(f"{path}:{number}: not a line of a PO file; check its quotation marks and keyword")
            _add(path, listed, match, number, at)
        begin += len(line) + 1
    complete = [message for message in listed if message.fields]
    for message in complete:
        if not message.get("msgid") or not message.forms:
            raise DataError(f"{path}:{message.fields[0].line}: a message needs msgid and msgstr; add what is missing")
    return complete


def _add(path: Path, listed: list[PoMessage], match: re.Match[str], number: int, at: int) -> None:
    """Add a line to the last message, or begin a new one with it."""
    keyword, last = match["keyword"], listed[-1]
    if keyword is None:
        if not last.fields or bool(match["obsolete"]) != last.obsolete:
            raise DataError(f"{path}:{number}: a quoted line that continues nothing; check the line above")
        last.fields[-1].raw.append(match["raw"])
        last.fields[-1].end = at + match.end()
        return
    if keyword in ("msgctxt", "msgid") and last.forms:
        last = PoMessage()
        listed.append(last)
    index = int(match["index"]) if match["index"] else None
    if any((earlier.keyword, earlier.index) == (keyword, index) for earlier in last.fields):
        raise DataError(f"{path}:{number}: a second {keyword} in one message; a line above it is missing or damaged")
    last.obsolete = bool(match["obsolete"])
    quoted = at + match.start("raw") - 1
    last.fields.append(Field(keyword, index, number, at, quoted, at + match.end(), [match["raw"]]))


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file writes its strings: the columns of a line (None: as many as it needs) and the end of a line."""

    width: int | None
    newline: str

    def quoted(self, prefix: str, escaped: str) -> str:
        """An escaped text in quotation marks, over several lines where the file would do so; `prefix` is before it."""
        paragraphs = re.findall(r"(?:[^\\]|\\[^n])*(?:\\n|$)", escaped)
        paragraphs = [paragraph for paragraph in paragraphs if paragraph] or [""]
        short = self.width is None or columns(prefix) + columns(escaped) + 2 <= self.width
        if len(paragraphs) == 1 and short:
            return f'"{escaped}"'
        lines = [line for paragraph in paragraphs for line in self._wrapped(paragraph)]
        return self.newline.join(['""', *(f'"{line}"' for line in lines)])

    def _wrapped(self, paragraph: str) -> list[str]:
        lines = [""]
        for word in re.findall(r"\S*\s*", paragraph):
            if self.width is not None and lines[-1] and columns(lines[-1]) + columns(word) + 2 > self.width:
                lines.append("")
            lines[-1] += word
        return lines


def layout(listed: list[PoMessage], text: str) -> Layout:
    """How the file wraps: not at all if a line is longer than any tool wraps at, otherwise at its longest line."""
    newline = "\r\n" if "\r\n" in text else "\n"
    fields = [field for message in listed for field in message.fields if field.keyword != "msgctxt"]
    whole = [columns(raw) + 2 for field in fields for raw in field.raw if " " in raw.strip()]
    continued = [columns(raw) + 2 for field in fields for raw in field.raw[1:] if not raw.endswith("\\n")]
    if any(width > 100 for width in whole):
        return Layout(None, newline)
    return Layout(min(max(continued, default=79), 80), newline)


def columns(text: str) -> int:
    """How wide a text is where Korean, Chinese and Japanese characters take two columns."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
        for character in text
    )
