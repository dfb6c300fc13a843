"""A multipart upload → one file in a private folder, and the other fields. As the bytes come: never whole in memory.

python-multipart divides the form; here are the limits that its own `FormParser` has not: a file is refused by its name
before its first byte is written, its bytes are counted as they come, and it is written nowhere but into the folder.
What a client calls its file, in the part or in a field `filename` before it, is a label. It decides no path: of a name
only the last part is kept, and of that letters, digits and a few signs.
"""

import asyncio
import os
import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from dragoman.serve.http.problems import Problem, malformed
from dragoman.serve.requests.ticket import Cancelled

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

# Fields besides the file, and the bytes of all of them: a glossary is one.
MOST_FIELDS, FIELD_BYTES = 32, 1 << 20
# Of a file name in UTF-8: what is written next to the file has longer names.
NAME_BYTES = 120
_SIGNS = frozenset(" .,_-()[]+=@&'~!#")
# Of RFC 8187 and RFC 2047, which forms should not have; .NET writes both for a name that is not ASCII.
_EXTENDED, _UTF_8 = re.compile(r"(;\s*filename)\*(?=\s*=)", re.IGNORECASE), re.compile("utf-8'[^']*'", re.IGNORECASE)
_ENCODED_WORDS = re.compile(r"=\?[!-~]+\?=(\s+=\?[!-~]+\?=)*")


@dataclass(slots=True)
class Upload:
    """What was uploaded: a file in the folder, if there was one, and texts by their names."""

    file: Path | None = None
    fields: dict[str, str] = field(default_factory=dict)


def file_name(sent: str) -> str:
    """A name for a file, from what a client sent; `document` where nothing is left of it."""
    last = unicodedata.normalize("NFC", re.split(r"[/\\]", sent)[-1])
    clean = "".join(c if c in _SIGNS or unicodedata.category(c)[0] in "LMN" else "_" for c in last).strip(" .")
    stem, dot, suffix = (clean or "document").rpartition(".")
    if not dot:
        stem, suffix = suffix, ""
    suffix = f"{dot}{suffix}"[:20]
    shortened = stem.encode()[: NAME_BYTES - len(suffix.encode())].decode(errors="ignore")
    return f"{shortened.strip(' .') or 'document'}{suffix}"


def sent_name(disposition: bytes) -> str | None:
    """The name of a file in a header `Content-Disposition`; None where the part is no file."""
    header = disposition.decode("latin-1")
    _, extended = parse_options_header(_EXTENDED.sub(r"\1-extended", header))  # which leaves out a name with a `*`
    name = extended.get(b"filename-extended", b"").decode(errors="replace")
    if charset := _UTF_8.match(name):
        return unquote(name[charset.end() :])
    _, options = parse_options_header(header)
    if b"filename" not in options:
        return None
    name = options[b"filename"].decode(errors="replace")
    if _ENCODED_WORDS.fullmatch(name):
        with suppress(HeaderParseError, LookupError, ValueError):  # it is what it is
            return str(make_header(decode_header(name)))
    return name


async def receive(
    request: Request, folder: Path, accept: Callable[[str], None], count: Callable[[int], None]
) -> Upload:
    """The upload of a request, whose `file` is written into the folder.

    `accept` is called with the file's name and `count` with the bytes of each piece; both may raise Problem. Raises
    Problem, and Cancelled if the client leaves.
    """
    media, options = parse_options_header(request.headers.get("content-type", ""))
    if media != b"multipart/form-data":
        detail = "send the document as multipart/form-data: `curl -F file=@report.docx -F target=ko …`"
        raise Problem(415, "media-type", "The type of the body is not known", detail)
    parts = _Parts(folder, accept, count)
    try:
        parser = MultipartParser(options.get(b"boundary", b""), parts.callbacks())
        async for chunk in request.stream():
            if chunk:
                await asyncio.to_thread(parser.write, chunk)
        await asyncio.to_thread(parts.finish)
    except ClientDisconnect:
        raise Cancelled("the client is gone") from None
    except (FormParserError, OSError, Problem) as error:
        await _drain(request)
        if isinstance(error, Problem):
            raise
        if isinstance(error, FormParserError):
            raise malformed(f"the form cannot be read: {error}") from None
        cause = (error.strerror or type(error).__name__).lower()
        detail = f"the document cannot be stored: {cause}; try again later, or ask who runs the service"
        raise Problem(507, "storage", "The document cannot be stored", detail) from None
    finally:
        parts.close()
    return parts.upload


async def _drain(request: Request) -> None:
    """Read the rest: a client that still sends would not read the answer. The guard has limited how much."""
    with suppress(ClientDisconnect, RuntimeError):
        async for _ in request.stream():
            pass


class _Parts:
    """What the parser calls, part after part."""

    def __init__(self, folder: Path, accept: Callable[[str], None], count: Callable[[int], None]) -> None:
        self.upload = Upload()
        self._folder, self._accept, self._count = folder, accept, count
        self._file: IO[bytes] | None = None
        self._headers: dict[bytes, bytes] = {}
        self._name, self._value = b"", b""
        self._field, self._is_file = "", False
        self._text, self._left, self._ended = bytearray(), FIELD_BYTES, False

    def callbacks(self) -> "MultipartCallbacks":
        """The functions by the names that the parser has for them."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._end_of_form,
        }

    def finish(self) -> None:
        """The body has ended. Raises Problem if the form has not; OSError."""
        if not self._ended:
            raise malformed("the form ends before its last boundary")
        if self._file:
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file:
            with suppress(OSError):
                self._file.close()

    def _begin(self) -> None:
        self._headers, self._name, self._value, self._text = {}, b"", b"", bytearray()

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        self._headers[self._name.lower()] = self._value
        self._name, self._value = b"", b""

    def _headers_finished(self) -> None:
        disposition = self._headers.get(b"content-disposition", b"")
        _, options = parse_options_header(disposition.decode("latin-1"))
        if b"name" not in options:
            raise malformed("a part of the form has no name")
        self._field = options[b"name"].decode(errors="replace")
        sent = sent_name(disposition)
        self._is_file = sent is not None
        if sent is None:
            if len(self.upload.fields) >= MOST_FIELDS:
                raise malformed(f"the form has more than {MOST_FIELDS} fields")
            return
        if self._field != "file" or self.upload.file:
            raise malformed(f"{self._field[:60]}: send one document at a time, in the field `file`")
        name = file_name(self.upload.fields.pop("filename", "") or sent)
        self._accept(name)
        self.upload.file = self._folder / name
        self._file = self.upload.file.open("xb")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file and self._file:
            self._count(end - start)
            self._file.write(data[start:end])
            return
        self._left -= end - start
        if self._left < 0:
            raise malformed(f"the fields of the form have more than {FIELD_BYTES:,} bytes")
        self._text += data[start:end]

    def _end(self) -> None:
        if not self._is_file:
            try:
                self.upload.fields[self._field] = self._text.decode()
            except UnicodeDecodeError as error:
                raise malformed(f"{self._field[:60]}: not UTF-8 at byte {error.start}") from None

    def _end_of_form(self) -> None:
        self._ended = True
