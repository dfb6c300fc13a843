"""XML as a tree of lxml that can be changed and written again: for the parts of zip formats.

What is before and after the root element (the declaration with its quotes, comments, the document type, the final
newline) is written as it was, and so is the encoding. The root is written by lxml:
an equal tree, not always the same bytes.
"""

import re
from dataclasses import dataclass

from lxml import etree

from dragoman.documents.core.splice import Decoded
from dragoman.documents.xml.text import DEEPEST, decode_xml, parse, references, without_declaration
from dragoman.errors import DataError
from dragoman.system.parsing import new_xml_parser


@dataclass(frozen=True, slots=True)
class Xml:
    """A parsed file or part of an archive; `root` may be changed in place."""

    where: str
    root: etree._Element
    decoded: Decoded
    begin: int
    """Where the root element begins in the text."""
    end: int
    """Where it ends."""


def parse_xml(where: str, content: bytes) -> Xml:
    """The tree of XML bytes. `where` names the file in errors.

    Raises DataError with line and column for what is not well-formed, declares entities, nests deeper than 256
    elements or is not in the encoding that it declares. References to entities of an unread DTD (`&nbsp;`) stay nodes.
    """
    decoded = decode_xml(where, content)
    text = without_declaration(decoded.text).encode("utf-8")
    begin, end = _root_span(where, text)
    # By default lxml loads no DTD, opens no address and refuses huge trees.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, strip_cdata=False, encoding="utf-8")
    try:
        root = etree.fromstring(text, parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        raise DataError(f"{where}:{line}:{column}: not well-formed XML: {error.msg}; repair it") from None
    return Xml(where, root, decoded, begin, end)


def serialise_xml(xml: Xml) -> bytes:
    """The bytes of a tree, in the encoding, with the declaration and the line ends that it was read with."""
    text, encoding = xml.decoded.text, xml.decoded.encoding
    root: str = etree.tostring(xml.root, encoding="unicode", with_tail=False)
    if "\r\n" in text[xml.begin : xml.end] and not re.search(r"(?<!\r)\n", text[xml.begin : xml.end]):
        root = root.replace("\n", "\r\n")
    written = text[: xml.begin] + references(root, encoding) + text[xml.end :]
    return xml.decoded.mark + xml.decoded.encode(written)


def _root_span(where: str, text: bytes) -> tuple[int, int]:
    """Where the root element begins and ends, in characters; refuses entities and too deep nesting on the way."""
    parser = new_xml_parser(where, "utf-8")
    depth = 0
    begin = end = -1

    def start(_name: str, _attributes: object) -> None:
        nonlocal depth, begin
        begin = parser.CurrentByteIndex if begin < 0 else begin
        depth += 1
        if depth > DEEPEST:
            raise DataError(f"{where}:{parser.CurrentLineNumber}: more than {DEEPEST} nested elements; refused")

    def close(_name: str) -> None:
        nonlocal depth, end
        depth -= 1
        end = parser.CurrentByteIndex

    parser.StartElementHandler, parser.EndElementHandler = start, close
    parse(where, parser, text)
    # Of `</root>` the parser gives the beginning, of `<root/>` the end.
    end = text.index(b">", end) + 1 if text.startswith(b"</", end) else end
    return len(text[:begin].decode("utf-8")), len(text[:end].decode("utf-8"))
