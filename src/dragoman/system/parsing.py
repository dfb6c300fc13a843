"""JSON, TOML and XML that others wrote, or that a disk changed: parsed, or refused with one clear sentence.

Input: text or bytes. Output: the value, or `Malformed`, a ValueError whose message a reader can use, whatever is wrong:
encoding, syntax, depth, numbers that no float and no int of Python holds.
"""

import codecs
import json
import math
import re
import tomllib
from collections.abc import Iterator
from typing import IO, Any, NoReturn
from xml.parsers import expat

from dragoman.errors import DataError

# A line of text shown in a message is cut to this many characters.
SHOWN = 60
POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")

# An XML declaration, what of it names an encoding, and those that expat reads.
_DECLARED = re.compile(rb"""(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?(\sencoding\s*=\s*["']([A-Za-z][\w.:-]*)["'])""")
_READ_BY_EXPAT = frozenset(("utf-8", "utf-16", "utf-16le", "utf-16be", "iso-8859-1", "us-ascii"))
# What files of these encodings may have is in the larger character sets of Windows.
WIDER = {"euc_kr": "cp949", "gb2312": "gb18030", "shift_jis": "cp932"}
_BLOCK = 1 << 16

# What pydantic calls a type, and what a reader calls it.
TYPES = {
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid boolean": "true or false",
    "a valid string": "text in quotes",
    "a valid tuple": "a list",
    "a valid list": "a list",
    "Unable to parse input string as an integer": "input should be a whole number",
    "Tuple should have at least 1 item after validation": "input should have at least 1 item",
}


class Malformed(ValueError):
    """Text that is not the JSON or TOML that it should be; the message is one sentence without a full stop."""


def parse_json(content: str | bytes, *, finite: bool = True) -> Any:
    """The value of a JSON text. Raises Malformed; if `finite`, for NaN, Infinity and numbers beyond a float too."""
    hooks: dict[str, Any] = {"parse_constant": _refuse_constant, "parse_float": _finite} if finite else {}
    try:
        return json.loads(_text(content), parse_int=_whole, **hooks)
    except json.JSONDecodeError as error:
        where = f" at line {error.lineno}" if "\n" in error.doc else ""
        raise Malformed(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}{where}") from None
    except RecursionError:
        raise Malformed("not JSON: its brackets are nested too deeply") from None


def json_lines(text: str) -> list[str]:
    """The lines of JSON lines: they end at a line feed only, and U+2028 or U+0085 may stand in a text."""
    return text.removesuffix("\n").split("\n") if text else []


def parse_toml(content: str | bytes) -> dict[str, Any]:
    """The table of a TOML text. Raises Malformed, which names the line and shows it."""
    text = _text(content)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Malformed(_toml_fault(str(error), text)) from None
    except RecursionError:
        raise Malformed("not TOML: its brackets are nested too deeply") from None
    except ValueError:  # tomllib passes on what int() raises
        raise Malformed("not TOML: a number has thousands of digits") from None


def new_xml_parser(where: str, encoding: str | None = None, separator: str | None = None) -> expat.XMLParserType:
    """An XML parser that reads nothing but what it is given. A declared entity raises DataError.

    `encoding` overrides the one that the XML declares; `separator` is put between a namespace and a name.
    """
    parser = expat.ParserCreate(encoding, separator)
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def refuse(name: str, *_: object) -> NoReturn:
        # A kilobyte of entities can stand for gigabytes of text, or for a file of this machine.
        raise DataError(
            f"{where}:{parser.CurrentLineNumber}: declares the entity {name!r}, which is refused: entities can read "
            "files and fill the memory; write its text in its place"
        )

    parser.EntityDeclHandler = refuse
    return parser


def xml_blocks(file: IO[bytes], where: str) -> Iterator[bytes]:
    """An open XML file as expat reads it: of another encoding than UTF-8 and UTF-16, such as EUC-KR, as UTF-8.

    Raises DataError for an encoding that is unknown or wrong.
    """
    head = file.read(_BLOCK)
    declared = _DECLARED.match(head[:400])
    encoding = _codec(declared[2].decode(), where) if declared else "utf-8"
    if declared is None or declared[2].decode().lower() in _READ_BY_EXPAT:
        yield head
        yield from iter(lambda: file.read(_BLOCK), b"")
        return
    begin, end = declared.span(1)
    head = head[:begin] + b" " * (end - begin) + head[end:]
    encoding = "utf-8" if head.startswith(codecs.BOM_UTF8) else encoding
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    while True:
        try:
            text = decoder.decode(head, final=not head)
        except UnicodeError as error:
            begin = error.start if isinstance(error, UnicodeDecodeError) else 0
            line += head[:begin].count(b"\n")
            cause = f"not {encoding.upper()}, the encoding that the file declares"
            raise DataError(f"{where}:{line}: {cause}; correct it, or save the file as UTF-8") from None
        line += text.count("\n")
        yield text.encode("utf-8", "surrogatepass")
        if not head:
            return
        head = file.read(_BLOCK)


def _codec(encoding: str, where: str) -> str:
    """The name by which Python knows an encoding, or one that contains it. Raises DataError for none."""
    try:
        "<".encode(encoding)  # no encoding of text: hex
        name = codecs.lookup(encoding).name
        return WIDER.get(name, name)
    except (LookupError, UnicodeError):
        raise DataError(f"{where}: encoding {encoding} is unknown; save the file as UTF-8") from None


def plain_cause(message: str) -> str:
    """A message of pydantic about a value, without its names of types and without what it tried."""
    cause = message.replace("Input should", "input should", 1)
    for technical, plain in TYPES.items():
        if technical in cause:
            return cause.partition(", ")[0].replace(technical, plain, 1)
    return cause


def _text(content: str | bytes) -> str:
    if isinstance(content, str):
        return content
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed(f"not UTF-8 at byte {error.start}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise Malformed(f"not JSON: {name} is not a number")


def _finite(digits: str) -> float:
    if not math.isfinite(value := float(digits)):
        raise Malformed(f"not JSON: the number {digits[:SHOWN]} is too large")
    return value


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise Malformed("not JSON: a number has thousands of digits") from None


def _toml_fault(message: str, text: str) -> str:
    """tomllib's message with the line it speaks of; a key that is set twice is named."""
    position = POSITION.search(message)
    what = POSITION.sub("", message)
    lines = text.split("\n")  # as TOML counts them: U+2028 ends no line
    number = int(position[1]) if position and position[1] else len(lines)
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    shown = line if len(line) <= SHOWN else f"{line[:SHOWN]}…"
    if what == "Cannot overwrite a value" and "=" in line:
        return f"not TOML: line {number}: {line.partition('=')[0].strip()!r} is set twice; remove one"
    if what.startswith("Cannot declare") and line.startswith("["):
        return f"not TOML: line {number}: the section {shown} is there twice; make it one"
    what = what[:1].lower() + what[1:]
    return f"not TOML: line {number}: {what}: {shown}" if shown else f"not TOML: {what}"
