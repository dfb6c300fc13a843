"""The elements of an XML file with their positions in its text, for formats that are written by splicing.

Input: bytes. Output: the text and its root element. expat parses; the text between tags stays as the file writes it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dragoman.documents.core.splice import Decoded
from dragoman.documents.xml.text import DEEPEST, decode_xml, escape, parse, without_declaration
from dragoman.errors import DataError
from dragoman.system.parsing import new_xml_parser

XML = "http://www.w3.org/XML/1998/namespace"
_START_TAG = re.compile(r"""<(?:[^<>"']|"[^"]*+"|'[^']*+')*+>""")
_TEXT = re.compile(rf"<!\[CDATA\[(.*?)\]\]>|<!--.*?-->|<\?.*?\?>|{_START_TAG.pattern}|([^<]+)", re.DOTALL)
_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]+)\s*=\s*("[^"]*+"|'[^']*+')""")
# Around a fragment, so that it is a document.
_AROUND = b"<_>", b"</_>"
_REFERENCE = re.compile(r"&(?:#x([0-9a-fA-F]{1,6})|#([0-9]{1,7})|(\w+));")
_REFERENCES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


@dataclass(slots=True)
class Element:
    """An element: its tag from `begin` to `opened`, what is in it from `opened` to `closing`, all of it up to `end`."""

    name: str
    """Its name without prefix."""
    space: str
    """The namespace it is in."""
    attributes: Mapping[str, str]
    """By local name; those of a namespace after it and a space, those of `xml:` with this prefix."""
    line: int
    begin: int
    opened: int = 0
    closing: int = 0
    end: int = 0
    children: "list[Element]" = field(default_factory=list)

    def child(self, name: str) -> "Element | None":
        """The first child of a name in the same namespace."""
        return next((child for child in self.children if (child.name, child.space) == (name, self.space)), None)

    def walk(self) -> "Iterator[Element]":
        """This element and all below it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.walk()


def read_elements(
    where: str, content: bytes, *, namespaces: bool = True, fragment: bool = False
) -> tuple[Decoded, Element]:
    """The text of an XML file and its root. Raises DataError with line and column for what cannot be read safely.

    Without `namespaces` names keep their prefixes, of which none has to be declared. A `fragment` is what may be in an
    element: the root is around all of it.
    """
    decoded = decode_xml(where, content)
    before, after = _AROUND if fragment else (b"", b"")
    text = decoded.text if fragment else without_declaration(decoded.text)
    encoded = before + text.encode("utf-8") + after
    parser = new_xml_parser(where, "utf-8", " " if namespaces else None)
    stack: list[Element] = []
    roots: list[Element] = []
    last_byte, last_character = 0, -len(before)

    def position() -> int:
        nonlocal last_byte, last_character
        now = parser.CurrentByteIndex
        last_character += len(encoded[last_byte:now].decode("utf-8"))
        last_byte = now
        return last_character

    def start(name: str, attributes: dict[str, str]) -> None:
        begin = position()
        space, _, local = name.rpartition(" ")
        named = {key.replace(f"{XML} ", "xml:"): value for key, value in attributes.items()}
        element = Element(local, space, named, parser.CurrentLineNumber, begin)
        if begin >= 0:
            match = _START_TAG.match(decoded.text, begin)
            assert match is not None, "expat found a start tag here"
            element.opened = match.end()
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)
        if len(stack) > DEEPEST:
            raise DataError(f"{where}:{element.line}: more than {DEEPEST} nested elements; refused")

    def close(_name: str) -> None:
        element = stack.pop()
        if element.begin < 0:
            element.begin, element.closing, element.end = 0, len(text), len(text)
        elif decoded.text.startswith("/>", element.opened - 2):
            element.closing = element.end = element.opened
        else:
            element.closing = position()
            element.end = decoded.text.index(">", element.closing) + 1

    parser.StartElementHandler, parser.EndElementHandler = start, close
    parse(where, parser, encoded, len(before))
    return decoded, roots[0]


def unescaped(raw: str) -> str:
    """Text as XML means it. A reference to an entity of an unread DTD, or to no character, stays."""
    return _REFERENCE.sub(_resolved, raw) if "&" in raw else raw


def _resolved(match: re.Match[str]) -> str:
    hexadecimal, decimal, name = match.groups()
    if name:
        return _REFERENCES.get(name, match[0])
    number = int(hexadecimal, 16) if hexadecimal else int(decimal)
    is_character = 0 < number < 0xD800 or 0xDFFF < number <= 0x10FFFF
    return chr(number) if is_character else match[0]


def plain_text(text: str, element: Element) -> str:
    """All text in an element, of its children too."""
    inside = text[element.opened : element.closing]
    return "".join(match[1] or unescaped(match[2] or "") for match in _TEXT.finditer(inside))


def tag_name(tag: str) -> str:
    """The name in a start tag, with its prefix."""
    return re.split(r"[\s/>]", tag[1:], maxsplit=1)[0]


def with_attribute(tag: str, name: str, value: str, encoding: str) -> str:
    """A start tag with an attribute set: replaced, or added as the last one."""
    for match in _ATTRIBUTE.finditer(tag):
        if match[1] == name:
            quote = match[2][0]
            return tag[: match.start(2)] + quote + escape(value, encoding, quote) + quote + tag[match.end(2) :]
    end = "/>" if tag.endswith("/>") else ">"
    body = tag[: -len(end)]
    return f'{body.rstrip()} {name}="{escape(value, encoding, chr(34))}"{body[len(body.rstrip()) :]}{end}'
