"""Text written with tags, for tests: <b> and </b> enclose a span, <x/> encloses nothing."""

import re

from dragoman.text.words.inline import Code, InlineText


def marked(text: str) -> InlineText:
    """The text that is written with tags: <b>, </b>, and <x/> alone."""
    plain, codes = "", list[Code]()
    for part in re.split(r"(</?\w+/?>)", text):
        if not re.fullmatch(r"</?\w+/?>", part):
            plain += part
            continue
        kind = "close" if part.startswith("</") else "alone" if part.endswith("/>") else "open"
        codes.append(Code(len(plain), kind, part.strip("</>"), part))  # type: ignore[arg-type]
    return InlineText(plain, tuple(codes))


def shown(text: InlineText) -> str:
    """The text with its tags."""
    written, at = "", 0
    for code in text.codes:
        written += text.text[at : code.position] + code.text
        at = code.position
    return written + text.text[at:]
