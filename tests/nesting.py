"""Whether the inline codes of a text are nested, as those of every document and of every translation are."""

from dragoman.text.words.inline import InlineText


def is_nested(text: InlineText) -> bool:
    """Whether each span that is opened is closed, once, inside the spans that were opened before it."""
    opened: list[str] = []
    for code in text.codes:
        if code.kind == "open":
            opened.append(code.name)
        elif code.kind == "close" and (not opened or opened.pop() != code.name):
            return False
    return not opened
