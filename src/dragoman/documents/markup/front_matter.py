"""Front matter: the settings above a page, in YAML or TOML. Its title and description are text."""

import json
import re
from collections.abc import Iterator

from dragoman.documents.core.spans import Item, UnitSpan, has_words
from dragoman.text.words.inline import InlineText

_FENCED = re.compile(r"(?P<fence>---|\+\+\+)[ \t]*\r?\n(?P<lines>(?:.*(?:\n|$))*?)(?P=fence)[ \t]*(?:\r?\n|$)")
_VALUE = re.compile(
    r"""^(?:title|description|summary|subtitle|excerpt|tagline|short_title|sidebar_label)[ \t]*[:=][ \t]*
    (?P<value>"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\r\n]|'')*'|[^\s"'|>&*!\[{#%@`][^\r\n]*?)[ \t]*\r?$""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
# A YAML scalar that needs no quotes.
_PLAIN = re.compile(r"[^\W\d_](?:[^:#\n\"]|:(?=\S)|(?<=\S)#)*")
_WORD = re.compile(r"(?:yes|no|on|off|true|false|null|y|n)$", re.IGNORECASE)


def front_matter(content: str) -> tuple[int, list[UnitSpan]]:
    """How many lines the front matter has, and its texts."""
    match = _FENCED.match(content)
    if match is None:
        return 0, []
    return content.count("\n", 0, match.end()), list(_pieces(content, *match.span("lines")))


def _pieces(content: str, begin: int, end: int) -> Iterator[UnitSpan]:
    for match in _VALUE.finditer(content, begin, end):
        text = _text(match["value"])
        if text is not None and has_words([Item("text", 0, 0, text)]):
            yield UnitSpan(*match.span("value"), InlineText(text), where="front matter")


def _text(value: str) -> str | None:
    """The text of a scalar; None if it is no simple string."""
    if value[0] == "'":
        return value[1:-1].replace("''", "'")
    if value[0] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return None
    return value if _PLAIN.fullmatch(value) and not _WORD.match(value) else None


def quoted(text: str, before: str) -> str:
    """A text as a scalar, with the quotes that the value had `before`, or with some if it needs them."""
    text = " ".join(text.split())
    if before[0] == "'":
        return "'" + text.replace("'", "''") + "'"
    if before[0] != '"' and _text(text or " ") == text:
        return text
    return json.dumps(text, ensure_ascii=False)
