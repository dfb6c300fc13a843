"""`documents.office.tokens` → mixed content, where text is around elements: OpenDocument and XHTML."""

from collections.abc import Callable
from typing import Any

from dragoman.documents.office.tokens import Close, Open, Token, Words
from dragoman.documents.xml.text import writable


def append_text(parent: Any, text: str) -> None:
    """Add text at the end of an element."""
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + writable(text)
    else:
        parent.text = (parent.text or "") + writable(text)


def append(parent: Any, element: Any) -> None:
    """Move an element, without the text after it, to the end of another."""
    element.tail = None
    parent.append(element)


def clear(element: Any) -> None:
    """Take all content out of an element, not its attributes. What was inside stays whole."""
    element.text = None
    for child in list(element):
        element.remove(child)


def build(
    parent: Any,
    tokens: list[Token],
    add_text: Callable[[Any, Words], None] = lambda parent, token: append_text(parent, token.text),
    wrapped: Callable[[Any], Any] = lambda element: element,
) -> None:
    """Write tokens into an element that is empty. `wrapped` gives an element what it had around it."""
    stack = [parent]
    for token in tokens:
        if isinstance(token, Words):
            add_text(stack[-1], token)
            continue
        if isinstance(token, Close):
            stack.pop()
        for element in token.elements:
            append(stack[-1], wrapped(element))
        if isinstance(token, Open):
            if token.into is not None:
                clear(token.into)
            stack.append(stack[-1] if token.into is None else token.into)
