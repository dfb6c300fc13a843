"""The bytes of an XML file → its text, checked to be well-formed and to declare no entities.

Nothing outside the file is ever read: no DTD, no entity, no schema. A document type is allowed (TMX and EPUB have
one), an entity declared in it is not: a kilobyte of entities can stand for gigabytes of text or for a file
of this machine.
"""

import re
from xml.parsers import expat

from dragoman.documents.core.splice import BYTE_ORDER_MARKS, Decoded
from dragoman.errors import DataError

# libxml2 has the same limit of nested elements.
DEEPEST = 256

_DECLARATION = re.compile(r"<\?xml\s[^>]*?\?>")
_ENCODING = re.compile(rb"""^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.:-]*)["']""")


def decode_xml(where: str, content: bytes) -> Decoded:
    """The text of XML by its byte-order mark, its declaration, otherwise UTF-8. Raises DataError with the line."""
    mark = next((mark for mark in BYTE_ORDER_MARKS if content.startswith(mark)), b"")
    if mark:
        encoding = BYTE_ORDER_MARKS[mark]
    elif content[:2] in (b"<\0", b"\0<"):
        encoding = "utf-16-le" if content.startswith(b"<") else "utf-16-be"
    else:
        declared = _ENCODING.match(content[:400])
        encoding = declared[1].decode("ascii").lower() if declared else "utf-8"
        encoding = "utf-8" if encoding.startswith("utf-16") else encoding  # its bytes are not those of UTF-16
    try:
        return Decoded(content[len(mark) :].decode(encoding), encoding, mark)
    except LookupError:
        raise DataError(f"{where}: encoding {encoding} is unknown; save the file as UTF-8") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, len(mark) + error.start) + 1
        raise DataError(
            f"{where}:{line}: byte {len(mark) + error.start} is not {encoding.upper()}; correct the encoding that "
            "the first line declares, or save the file as UTF-8"
        ) from None
    except UnicodeError as error:
        raise DataError(f"{where}: cannot be decoded as {encoding}: {error}; save the file as UTF-8") from None


def without_declaration(text: str) -> str:
    """XML text without what its declaration says of an encoding, in as many characters: positions stay."""
    return _DECLARATION.sub(lambda match: re.sub(r"[^\r\n]", " ", match[0]), text, count=1) if text else text


def parse(where: str, parser: expat.XMLParserType, text: bytes, before: int = 0) -> None:
    """Run a parser over UTF-8. Raises DataError with line and column for what is not well-formed.

    The first `before` characters are not counted.
    """
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        what, column = expat.ErrorString(error.code), error.offset + 1 - (before if error.lineno == 1 else 0)
        raise DataError(f"{where}:{error.lineno}:{column}: not well-formed XML: {what}; repair it") from None


def escape(text: str, encoding: str = "utf-8", quote: str = "") -> str:
    """Text as XML writes it, in an attribute between `quote`s if given; what the encoding lacks becomes references.

    What XML cannot hold is left out.
    """
    text = writable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
    if quote:
        text = text.replace(quote, "&quot;" if quote == '"' else "&apos;").replace("\n", "&#10;").replace("\t", "&#9;")
    return references(text, encoding)


def references(markup: str, encoding: str) -> str:
    """Markup with a numeric reference for each character that the encoding has not got."""
    return markup.encode(encoding, "xmlcharrefreplace").decode(encoding)


# What XML 1.0 has no way to write, not even as a reference.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def writable(text: str) -> str:
    """Text without the control characters that XML cannot hold."""
    return _FORBIDDEN.sub("", text)
