"""What is in an XML element that holds text → items for `documents.core.spans`, by what its inline elements mean."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal

from dragoman.documents.core.spans import Item, UnitSpan, pieces, source_of, whole_piece, written
from dragoman.documents.core.splice import Decoded
from dragoman.documents.xml.elements import Element, plain_text, unescaped
from dragoman.documents.xml.text import escape
from dragoman.text.terms.protect import find_placeholders
from dragoman.text.words.inline import InlineText

Role = Literal["pair", "alone", "open", "close", "kept"]
"""What an inline element is: a pair of tags around text, a code, one half of a pair of codes, text that is copied."""

_VARIABLES = ("printf", "percent", "brace", "template", "shell")
_OTHER = r"<!\[CDATA\[.*?\]\]>|<!--.*?-->|<\?.*?\?>|&[^;<&]*;"
# A break that is written as references is one of the text, and not of the layout of the file.
_RETURN, _FEED = r"&#(?:0*13|x0*[dD]);", r"&#(?:0*10|x0*[aA]);"
_PART = re.compile(rf"(?P<line>(?:[ \t]*(?:{_RETURN})?{_FEED})+[ \t]*)|{_OTHER}|[^<&]+", re.DOTALL)
# Blank lines too are one break, with the indent of the next line: an element is one unit.
_LINE = rf"(?P<line>(?:[ \t]*(?:{_RETURN})?(?:\r\n?|\n|{_FEED}))+[ \t]*)"
_PART_OF_LINE = re.compile(rf"{_LINE}|{_OTHER}|[^\r\n<&]+", re.DOTALL)
_PLAIN, _PLAIN_LINE = re.compile(r".+", re.DOTALL), re.compile(r"(?:[ \t]*(?:\r\n?|\n))+[ \t]*|[^\r\n]+")


def xml_pieces(
    text: str,
    element: Element,
    role: Callable[[Element], tuple[Role, str]],
    *,
    lines: bool = False,
    words: bool = True,
    texts: Callable[[str, int, int], Iterator[Item]] | None = None,
) -> list[UnitSpan]:
    """The units of an element, by default those that have words.

    `role` is what a child is, and a name by which halves of a pair find each other. With `lines` a line break of the
    text is one of the translation, otherwise it is white space. `texts` gives the items between two tags, where a
    format has escapes of its own.
    """
    variables = _variables(text, element, role)
    items = list(_items(text, element, role, texts or partial(text_items, lines=lines), variables))
    units = pieces(_nested(items, text), text, words=words)
    return [piece for piece in units if not words or _has_words(piece.inline)]


def translated_piece(
    text: str, source: Element, piece: UnitSpan, target: Element, role: Callable[[Element], tuple[Role, str]]
) -> UnitSpan | None:
    """What a target has in the place of a unit of its source: between the same codes, if it has them."""
    begin = target.opened + piece.begin - source.opened
    end = target.closing - (source.closing - piece.end)
    same = text[target.opened : begin] == text[source.opened : piece.begin] and (
        text[end : target.closing] == text[piece.end : source.closing]
    )
    if begin >= end or not same:
        return next(iter(xml_pieces(text, target, role, lines=True, words=False)), None)
    variables = _variables(text, target, role)
    while inner := next((child for child in target.children if child.opened <= begin and end <= child.closing), None):
        target = inner
    children = [child for child in target.children if begin <= child.begin and child.end <= end]
    part = replace(target, opened=begin, closing=end, children=children)
    items = list(_items(text, part, role, partial(text_items, lines=True), variables))
    return whole_piece(_nested(items, text), text)


def _has_words(inline: InlineText) -> bool:
    """Whether there is a letter outside what is copied."""
    copied = bytearray(len(inline.text))
    spans = [*inline.protected, *((hit.begin, hit.end) for hit in find_placeholders(inline.text, _VARIABLES))]
    for begin, end in spans:
        copied[begin:end] = b"x" * (end - begin)
    return any(letter.isalpha() for letter, skip in zip(inline.text, copied, strict=True) if not skip)


def written_xml(decoded: Decoded, piece: UnitSpan, translation: InlineText) -> str:
    """A translation between the tags of its source, its text as XML writes it."""
    return written(piece, translation, lambda part: escape(part, decoded.encoding), source_of(decoded.text))


def _items(
    text: str,
    element: Element,
    role: Callable[[Element], tuple[Role, str]],
    texts: Callable[[str, int, int], Iterator[Item]],
    variables: Counter[str],
) -> Iterator[Item]:
    at = element.opened
    for number, child in enumerate(element.children):
        if child.begin < at:  # copied
            continue
        yield from texts(text, at, child.begin)
        at = child.end
        kind, name = role(child)
        if kind == "pair":
            # Two pairs of one name in each other are matched by their nesting.
            yield Item("open", child.begin, child.opened, name)
            yield from _items(text, child, role, texts, variables)
            yield Item("close", child.closing, child.end, name)
        elif kind == "kept":
            # What is copied ends with the element, or with the one that is the other half of its pair.
            half = next((other for other in element.children[number + 1 :] if role(other) == ("close", name)), None)
            at = half.end if half else child.end
            inner = plain_text(text, replace(element, opened=child.end, closing=half.begin) if half else child)
            seen = " ".join(inner.split())
            yield Item("protected" if seen else "alone", child.begin, at, seen)
        elif kind == "alone":
            seen = _shown(text, child)
            # Of two codes for one variable a translation could not say which is which.
            only = seen and variables[seen] == 1
            yield Item("protected" if only else "alone", child.begin, child.end, seen if only else name)
        else:
            yield Item(kind, child.begin, child.end, name)
    yield from texts(text, at, element.closing)


def _variables(text: str, element: Element, role: Callable[[Element], tuple[Role, str]]) -> Counter[str]:
    """How often each variable is there as a code, in all of a text: a unit may be a part of it."""
    return Counter(_shown(text, code) for code in element.walk() if role(code)[0] == "alone")


def _shown(text: str, element: Element) -> str:
    """The variable that a code is for, if it is one: a translation is better if the model sees it."""
    descriptions = [element.attributes.get(name, "") for name in ("equiv-text", "equiv", "disp")]
    seen = next(filter(None, descriptions), plain_text(text, element))
    placeholders = find_placeholders(seen, _VARIABLES) if len(seen) < 100 else []
    return seen if [(hit.begin, hit.end) for hit in placeholders] == [(0, len(seen))] else ""


def text_items(text: str, begin: int, end: int, *, lines: bool) -> Iterator[Item]:
    """What is between two tags. A reference is an item of its own: what it means is shorter than what is written.

    One to an entity that is declared elsewhere stays as it is. With `lines` all white space is the text's.
    """
    for match in (_PART_OF_LINE if lines else _PART).finditer(text, begin, end):
        low, high, raw = match.start(), match.end(), match[0]
        if match["line"]:
            yield Item("break", low, high, "\n")
        elif raw.startswith("<![CDATA["):
            yield from _section(raw, low, high, lines=lines)
        elif raw.startswith("<"):
            yield Item("alone", low, high)
        elif raw.startswith("&"):
            seen = unescaped(raw)
            yield Item("alone", low, high) if seen == raw else Item("text", low, high, seen, exact=lines)
        else:
            yield Item("text", low, high, raw, exact=lines)


def _section(raw: str, low: int, high: int, *, lines: bool) -> Iterator[Item]:
    """The text of a CDATA section: its delimiters are a part of its first and its last words, so none is left alone."""
    parts = list((_PLAIN_LINE if lines else _PLAIN).finditer(raw, len("<![CDATA["), len(raw) - len("]]>")))
    words = [number for number, part in enumerate(parts) if part[0].strip()]
    for number, part in enumerate(parts):
        begin, end = low + part.start(), low + part.end()
        if number not in words:
            is_break = lines and part[0].strip(" \t") != ""
            yield Item("break" if is_break else "text", begin, end, "\n" if is_break else part[0])
            continue
        text = part[0].strip()
        before, _, after = part[0].partition(text)
        begin, end = low if number == words[0] else begin, high if number == words[-1] else end
        yield Item("text", begin, begin, before, exact=lines)
        yield Item("text", begin, end, text, exact=lines)
        yield Item("text", end, end, after, exact=lines)


def _nested(items: list[Item], text: str) -> list[Item]:
    """The items in which halves that cross a pair of tags or have no partner are codes of their own."""
    opened: list[int] = []
    matched: set[int] = set()
    for index, item in enumerate(items):
        if item.kind == "open":
            opened.append(index)
        elif item.kind == "close" and any(items[start].text == item.text for start in opened):
            is_tag = text.startswith("</", item.begin)
            while is_tag and items[opened[-1]].text != item.text:
                opened.pop()
            if items[opened[-1]].text == item.text:
                matched |= {opened.pop(), index}
    return [
        replace(item, kind="alone") if item.kind in ("open", "close") and index not in matched else item
        for index, item in enumerate(items)
    ]
