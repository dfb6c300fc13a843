r"""Android string resources (`strings.xml`): strings, items of arrays and of plurals, each written where it was.

Escapes (`\'`, `\n`, `\u0020`) are resolved and written again, bare quotation marks stay, tags in the text are codes (as
elements, as `&lt;b&gt;` and in CDATA), `<xliff:g>` is copied with what is in it. Plural items are those of the file.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.spans import Item, UnitSpan, source_of, written
from dragoman.documents.core.splice import Decoded
from dragoman.documents.xml.elements import Element, plain_text, read_elements, unescaped
from dragoman.documents.xml.spans import Role
from dragoman.documents.xml.strings import XmlStrings, document_of, write_strings
from dragoman.documents.xml.text import escape, references, writable
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

_XLIFF = "urn:oasis:names:tc:xliff:document:1.2"
_LISTS = ("plurals", "string-array", "array")
_PART = re.compile(
    r"""(?P<cdata><!\[CDATA\[|\]\]>) | (?P<other><!--.*?-->|<\?.*?\?>)
    | \\?(?:<|&lt;)(?P<close>/?)(?P<tag>[A-Za-z][A-Za-z0-9]{0,20})(?P<rest>(?:\s(?:(?!&gt;)[^<>])*+)?/?)(?:>|&gt;)
    | (?P<reference>&[^;<&\s]{1,20};) | (?P<line>[ \t\r\n]*\\n[ \t\r\n]*)
    | (?P<unicode>\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4})
    | (?P<escape>\\[^\r\n])
    | (?P<quote>") | (?P<text>(?:(?!\]\]>)[^<&\\"])+|.)""",
    re.VERBOSE | re.DOTALL,
)
_EMPTY = ("br", "img", "hr")
# What makes the text of a CDATA section HTML, in which an app reads references; other text is shown as it is.
_TAG, _CHARACTER = re.compile(r"<[/!?A-Za-z]"), re.compile(r"&(?:#\d+|#x[0-9A-Fa-f]+|[A-Za-z]\w*);")


def read(path: Path, options: DocumentOptions) -> Document:
    """The strings of a resource file, but for those with `translatable="false"` and references to others."""
    decoded, root = read_elements(str(path), path.read_bytes())
    if root.name != "resources":
        raise DataError(f"{path}:{root.line}: not Android resources, but <{root.name}>; check the file")
    return document_of(path, decoded, root, XmlStrings(_strings, _role, texts=_texts))


def _strings(text: str, root: Element) -> Iterator[tuple[Element, str, str]]:
    """The elements that hold text, with their names and the comments for translators."""
    before = root.opened
    for element in root.children:
        comment = re.search(r"<!--((?:(?!-->).)*)-->\s*$", text[before : element.begin], re.DOTALL)
        before = element.end
        if element.attributes.get("translatable") == "false":
            continue
        note = element.attributes.get("comment") or (" ".join(comment[1].split()) if comment else "")
        name = element.attributes.get("name", element.name)
        if element.name == "string" or (element.name == "item" and element.attributes.get("type") == "string"):
            listed = [(element, name)]
        elif element.name in _LISTS:
            items = [item for item in element.children if item.name == "item"]
            listed = [(item, f"{name} {item.attributes.get('quantity', index)}") for index, item in enumerate(items)]
        else:
            continue
        for item, label in listed:
            if not re.match(r"\s*[@?][\w+:.]*/?[\w.]+\s*$", plain_text(text, item)):
                yield item, label, note


def _role(element: Element) -> tuple[Role, str]:
    if element.space == _XLIFF:
        return "kept", element.name
    return ("alone" if element.name in _EMPTY else "pair"), element.name


def _texts(text: str, begin: int, end: int) -> Iterator[Item]:
    """What is between two elements of a string."""
    for match in _PART.finditer(text, begin, end):
        low, high, raw = match.start(), match.end(), match[0]
        if match["cdata"]:
            yield Item("close" if raw == "]]>" else "open", low, high, "cdata")
        elif match["other"] or match["quote"]:
            yield Item("alone", low, high)
        elif name := match["tag"]:
            empty = name.lower() in _EMPTY or match["rest"].endswith("/")
            yield Item("alone" if empty else "close" if match["close"] else "open", low, high, name.lower())
        elif match["line"]:
            yield Item("break", low, high, "\n")
        elif match["unicode"]:
            units = bytes.fromhex(raw.replace("\\u", ""))
            yield Item("text", low, high, writable(units.decode("utf-16-be", "surrogatepass")))
        elif match["escape"]:
            yield Item("text", low, high, " " if raw == r"\t" else raw[1])
        else:
            yield Item("text", low, high, unescaped(raw))


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The resource file with the translations in place of its strings."""

    def write_piece(decoded: Decoded, piece: UnitSpan, translation: InlineText) -> str:
        text = decoded.text
        escaped = _shown_as_it_is if _is_plain_section(text, piece) else _escaped
        new = written(piece, translation, lambda part: escaped(part, decoded.encoding), source_of(text))
        # At the beginning of a string these two refer to another resource.
        first = text[: piece.begin].rstrip()[-1:] == ">" and new[:1] in ("@", "?")
        return "\\" + new if first else new

    write_strings(document, translations, file, write_piece)


def _escaped(text: str, encoding: str) -> str:
    return escape(_with_backslashes(text), encoding)


def _with_backslashes(text: str) -> str:
    """Text with the escapes of Android. Apps read escaped tags: a translation brings none of its own."""
    return re.sub(r"""(['"\\])""", r"\\\1", re.sub(r"<(?=/?[A-Za-z])", "< ", text))


def _is_plain_section(text: str, piece: UnitSpan) -> bool:
    """Whether a unit is inside one CDATA section, and that without HTML."""
    opened = text.rfind("<", 0, piece.begin)
    while opened >= 0 and not _TAG.match(text, opened):
        opened = text.rfind("<", 0, opened)
    if not text.startswith("<![CDATA[", opened):
        return False
    begin, end = opened + len("<![CDATA["), text.index("]]>", opened)
    is_html = _TAG.search(text, begin, end) or _CHARACTER.search(text, begin, end)
    return piece.end <= end and not is_html


def _shown_as_it_is(text: str, encoding: str) -> str:
    """Text in a CDATA section, where no reference is read: only its end is divided."""
    return references(writable(_with_backslashes(text)), encoding).replace("]]>", "]]]]><![CDATA[>")
