"""A paragraph as tokens: what Word, PowerPoint, Excel, OpenDocument and XHTML have in common.

A format makes tokens of a paragraph (text with a style, line breaks, wrappers such as links, things that stay whole)
and builds a paragraph of tokens. `documents.office.paragraphs` is in between: tokens ↔ text with inline codes.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from dragoman.text.words.inline import InlineText


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Words in one style. `elements` are what they were read from."""

    text: str
    style: Hashable = None
    elements: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Break:
    """The end of a line inside a paragraph, a tab."""

    elements: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """What has no text to translate: a note's mark, a picture, a bookmark."""

    elements: tuple[Any, ...]
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Copied:
    """What is seen in the sentence and copied as a whole: a page number, code."""

    text: str
    elements: tuple[Any, ...]
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """The beginning of a wrapper (a link), whose content goes into the element `into`, or of a span of one style."""

    elements: tuple[Any, ...] = ()
    into: Any = None
    style: Hashable = None
    """Of most of the text inside."""
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Close:
    """The end of the last wrapper or span that is open."""

    elements: tuple[Any, ...] = ()


Token = Words | Break | Alone | Copied | Open | Close


def build(
    parent: Any,
    tokens: list[Token],
    clear: Callable[[Any], None],
    add_text: Callable[[Any, Words], None],
    wrapped: Callable[[Any], Any],
) -> None:
    """Write tokens into an element, which `clear` empties; `wrapped` gives an element what it had around it."""
    clear(parent)
    stack = [parent]
    for token in tokens:
        if isinstance(token, Words):
            add_text(stack[-1], token)
            continue
        if isinstance(token, Close):
            stack.pop()
        for element in token.elements:
            outer = wrapped(element)
            outer.tail = None
            stack[-1].append(outer)
        if isinstance(token, Open):
            if token.into is not None:
                clear(token.into)
            stack.append(stack[-1] if token.into is None else token.into)


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a document that takes a translation. `put` is called at most once."""

    source: InlineText
    location: str
    put: Callable[[InlineText], None]
    context: str = ""
