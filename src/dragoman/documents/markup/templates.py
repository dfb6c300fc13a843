"""Templates in a page: the expressions and statements of Jinja, Liquid, Hugo, Handlebars, ERB and PHP, by their spans.

They are no markup of the page, whatever signs they have: what reads tags or links reads a page with templates masked.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dragoman.text.words.inline import InlineText

# An expression is written in its place; a statement, such as a condition or a remark, is none of the text. Lengths are
# bounded: no text is scanned twice. The braces of a script or a remark of the page end with it.
_TEMPLATE = re.compile(
    r"""(?P<statement>
        \{%(?:(?!</|-->|\{%).){0,1000}?%\} | \{\#[\s-](?:(?!</|-->|\{\#).){0,1000}?\#\}
      | <%(?!-?=)(?!%)(?:(?!<%).){0,2000}?%> | <\?php\b(?:(?!<\?).){0,2000}?\?>
      | \{\{[-~]?(?:[#/^!]|\s?(?:if|else|end|range|with|block|define)\b(?![.\[]|\s*\|))(?:(?!</|-->|\{\{).){0,500}?\}\}
    )|(?P<expression>
        <%-?=(?:(?!<%).){0,2000}?%> | <\?=(?:(?!<\?).){0,2000}?\?> | \{\{(?:(?!</|-->|\{\{).){0,500}?\}\}\}?
    )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Template:
    """An expression or a statement from `begin` to `end` of a text."""

    begin: int
    end: int
    is_statement: bool


def templates(text: str) -> Iterator[Template]:
    """The templates of a text, in order."""
    for match in _TEMPLATE.finditer(text):
        yield Template(*match.span(), match["statement"] is not None)


def masked(text: str) -> str:
    """A text of the same length in which each template is a word."""
    return _TEMPLATE.sub(lambda match: "_" * len(match[0]), text)


def masked_inside(text: str) -> str:
    """A text of the same length in which each template, but one with a code span, is a word in the same brackets."""

    def word(match: re.Match[str]) -> str:
        return match[0] if "`" in match[0] else match[0][:2] + re.sub(r"[^\n]", "_", match[0][2:-2]) + match[0][-2:]

    return _TEMPLATE.sub(word, text)


def read_value(text: str, read: Callable[[str], str]) -> InlineText:
    """A value with its templates protected, and the rest as `read`, without white space around it."""
    parts, spans, at, length = list[str](), list[tuple[int, int]](), 0, 0
    for template in [*templates(text), Template(len(text), len(text), True)]:
        before = read(text[at : template.begin])
        before = before if parts else before.lstrip()
        parts += [before, text[template.begin : template.end]]
        length += len(before)
        if template.begin < template.end:
            spans.append((length, length + template.end - template.begin))
        length, at = length + template.end - template.begin, template.end
    return InlineText("".join(parts).rstrip(), (), tuple(spans))


def write_value(text: InlineText, source: InlineText, write: Callable[[str], str]) -> str:
    """The value again: as `write` writes it, but for the templates of its `source`."""
    copied = {source.text[begin:end] for begin, end in source.protected}
    parts, at = list[str](), 0
    for begin, end in text.protected:
        if text.text[begin:end] in copied:
            parts += [write(text.text[at:begin]), text.text[begin:end]]
            at = end
    return "".join([*parts, write(text.text[at:])])
