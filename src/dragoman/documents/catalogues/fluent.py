"""Fluent (`.ftl`) by fluent.syntax: the values and attributes of messages. All else stays.

Each variant of a selection is translated by itself, none is added. Variables, functions, references and literals
(`{ $name }`) are copied. Terms (`-brand-name`) and the attributes that name keys of the keyboard stay.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from fluent.syntax import FluentParser, ast

from dragoman.documents.core.document import Document, DocumentOptions
from dragoman.documents.core.passage import ENTITY, UNFIT, Message, Passage, Verbatim, passage
from dragoman.documents.core.splice import decode
from dragoman.documents.core.values import Value, Values, document_of, write_values
from dragoman.errors import DataError

_ENTITY = re.compile(ENTITY)
_KEYS = frozenset(("accesskey", "key", "keycode", "commandkey", "shortcut", "style", "class"))
# What begins something else at the beginning of a line.
_FIRST = "[*."


def read(path: Path, options: DocumentOptions) -> Document:
    """The messages of a Fluent file. What is not Fluent is named, and stays; DataError if nothing else is there."""
    decoded = decode(path, path.read_bytes())
    text, values, notices = decoded.text, list[Value](), list[str]()
    body = FluentParser(with_spans=True).parse(text).body
    for entry in body:
        line = text.count("\n", 0, _span(entry)[0]) + 1
        if isinstance(entry, ast.Junk):
            notices.append(f"line {line}: not Fluent; left unchanged")
        if not isinstance(entry, ast.Message):
            continue
        comment = " ".join((entry.comment.content or "").split()) if entry.comment else ""
        for name, pattern in _patterns(entry):
            if UNFIT.search(text, *_span(pattern)):
                notices.append(f"line {line}: unpaired surrogate, NUL or private character; left unchanged")
                continue
            begin, end = _span(pattern.elements[0])[0], _span(pattern.elements[-1])[1]
            values.append(Value(begin, end, name, _message(text, pattern, ""), comment, read_again=_again))
    if not any(isinstance(entry, ast.Message | ast.Term) for entry in body):
        raise DataError(f"{path}: no message of Fluent (`name = text`) is in it; is it another format?")

    def encode(value: Value, new: str) -> str:
        starts_line = "\n" in text[text.rfind("=", 0, value.begin) : value.begin]
        return f'{{ "{new[0]}" }}{new[1:]}' if starts_line and new[:1] in _FIRST else new

    return document_of(path, Values(decoded, values, encode), notices)


write = write_values


def _patterns(entry: ast.Message) -> Iterator[tuple[str, ast.Pattern]]:
    """The patterns of a message that people read, with their names."""
    if entry.value is not None:
        yield entry.id.name, entry.value
    for attribute in entry.attributes:
        if attribute.id.name.lower() not in _KEYS:
            yield f"{entry.id.name}.{attribute.id.name}", attribute.value


def _span(node: ast.SyntaxNode) -> tuple[int, int]:
    assert node.span is not None, "the parser was asked for spans"
    return node.span.start, node.span.end


def _again(text: str) -> Message:
    """The message of a text that is to be written. Raises ValueError if it is none."""
    source = f"k = {text}\n"
    body = FluentParser(with_spans=True).parse(source).body
    if len(body) != 1 or not isinstance(body[0], ast.Message) or body[0].value is None or body[0].attributes:
        raise ValueError("not a message of Fluent")
    return _message(source, body[0].value, "")


def _message(text: str, pattern: ast.Pattern, place: str) -> Message:
    return (_passage(text, pattern, place),)


def _passage(text: str, pattern: ast.Pattern, place: str) -> Passage:
    pieces: list[str | Verbatim] = []
    for element in pattern.elements:
        begin, end = _span(element)
        if isinstance(element, ast.Placeable):
            pieces.append(_placeable(text, element, place))
            continue
        at = begin
        for match in _ENTITY.finditer(text, begin, end):
            pieces += [text[at : match.start()], Verbatim(match[0], (match[0],))]
            at = match.end()
        pieces.append(text[at:end])
    return passage(pieces, place, read=_folded, escape=_escaped)


def _placeable(text: str, element: ast.Placeable, place: str) -> Verbatim:
    """What is in braces: a passage for each variant if it is a selection."""
    begin, end = _span(element)
    selection = element.expression
    if not isinstance(selection, ast.SelectExpression):
        return Verbatim(text[begin:end], (text[begin:end],))
    selector = text[slice(*_span(selection.selector))]
    parts, at = list[str | Passage](), begin
    for variant in selection.variants:
        first, last = _span(variant.value.elements[0])[0], _span(variant.value.elements[-1])[1]
        key = text[slice(*_span(variant.key))]
        parts += [text[at:first], _passage(text, variant.value, f"{place} {selector} {key}".lstrip())]
        at = last
    return Verbatim(f"{{ {selector} }}", (*parts, text[at:end]))


def _folded(raw: str) -> str:
    """Text of one paragraph a line: files break long lines anywhere."""
    text = re.sub(r"[ \r]*\n[ \r]*(?=\n)", "\n", raw)
    return re.sub(r"(\n*)[ \r]*\n *", lambda match: "\n\n" if match[1] else " ", text)


def _escaped(text: str) -> str:
    text = re.sub(r"[{}]", lambda match: f'{{ "{match[0]}" }}', text)
    return re.sub(r"\n+", "\n\n    ", text)
