"""The front matter of a page, YAML between `---` or TOML between `+++`: its title and its descriptions are texts.

A value is a quoted string, a plain one, which may run over indented lines, or a block of YAML (`>-`, `|`).
"""

import json
import re

from dragoman.documents.core.spans import UnitSpan, line_numbers
from dragoman.text.words.inline import InlineText

FRONT_MATTER = "front matter"
_FENCED = re.compile(r"(?P<fence>---|\+\+\+)[ \t]*\r?\n(?P<lines>(?:.*(?:\n|$))*?)(?P=fence)[ \t]*(?:\r?\n|$)")
_KEY = r"^(?P<key>title|description|summary|subtitle|excerpt|tagline|short_title|sidebar_label)[ \t]*[:=][ \t]*"
_FLAGS = re.VERBOSE | re.MULTILINE | re.IGNORECASE
_VALUE = re.compile(
    rf"""{_KEY}(?P<value>"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\r\n]|'')*'
        |[>|][-+]?[ \t]*(?:\r?\n[ \t]*)*\r?\n[ ]+[^\s][^\r\n]*(?:(?:\r?\n[ \t]*)*\r?\n[ ]+[^\s][^\r\n]*)*
        |[^\s"'|>&*!\[{{#%@`][^\r\n \t]*+(?:[ \t]++(?!\#)[^\r\n \t]++)*+(?:[ \t]*\r?\n[ \t]+[^\s#][^\r\n]*)*)
    [ \t]*(?:(?<=[ \t])\#[^\r\n]*)?\r?$""",
    _FLAGS,
)
_ANY_VALUE = re.compile(rf"{_KEY}(?P<value>[^\s#][^\r\n]*)", _FLAGS)
# How a block begins, with the white space before its first text.
_HEADER = re.compile(r"(?P<sign>[>|])[-+]?\s*\n(?P<indent>[ ]+)")
# A YAML scalar that needs no quotes: no number, no date.
_PLAIN = re.compile(r"(?:[^\W\d_]|\d(?=[^\n]* [^\W\d_]{2}))(?:[^:#\n\"]|:(?=\S)|(?<=\S)#)*")
_WORD = re.compile(r"(?:yes|no|on|off|true|false|null|y|n)$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?。！？…][\"')\]”’]*$")


def front_matter(content: str) -> tuple[int, list[UnitSpan], list[str]]:
    """How many lines the front matter has, its texts, and for people what stays although it may be text."""
    match = _FENCED.match(content)
    if match is None:
        return 0, [], []
    span, is_toml = match.span("lines"), match["fence"] == "+++"
    units = [
        UnitSpan(*value.span("value"), InlineText(text), where=FRONT_MATTER)
        for value in _VALUE.finditer(content, *span)
        if (text := _text(value["value"], is_toml)) is not None and any(map(str.isalpha, text))
    ]
    begins = {unit.begin for unit in units}
    line_of = line_numbers(content)
    left = [
        f"line {line_of(value.start())}: the {value['key']} in the front matter stays untranslated"
        for value in _ANY_VALUE.finditer(content, *span)
        if value.start("value") not in begins and _may_be_text(value["value"].strip())
    ]
    return content.count("\n", 0, match.end()), units, left


def _may_be_text(value: str) -> bool:
    is_long = value.startswith((">", "|", '"""', "'''"))
    is_word = _WORD.match(value) or value.startswith(("{{", "{%", "&", "*", "!"))
    return is_long or (not is_word and any(map(str.isalpha, value)) and _text(value) is None)


def _text(value: str, is_toml: bool = False) -> str | None:
    """The text of a scalar; None if it is no simple string. One without quotes may run over lines."""
    if value[0] == "'":
        return None if is_toml and "''" in value else value[1:-1].replace("''", "'")
    if value[0] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return None
    if header := _HEADER.match(value):
        return _block(header, value)
    text = re.sub(r"(?<![ \t])[ \t]*\r?\n[ \t]+", " ", value)
    return text if _PLAIN.fullmatch(text) and not _WORD.match(text) else None


def _block(header: re.Match[str], value: str) -> str | None:
    """The text of a block: a line for each paragraph of a folded one, for each sentence of a literal one if it is so.

    None if its lines are not indented alike, or if a literal one has paragraphs.
    """
    lines = re.split(r"\r?\n", header["indent"] + value[header.end() :])
    if any(re.match(" *", line)[0] != header["indent"] for line in lines if line.strip()):  # type: ignore[index]
        return None
    paragraphs = re.split(r"\n{2,}", "\n".join(line.strip() for line in lines))
    if header["sign"] == ">":
        return "\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)
    if len(paragraphs) > 1:
        return None
    *before, _ = paragraphs[0].split("\n")
    return paragraphs[0] if all(map(_SENTENCE_END.search, before)) else paragraphs[0].replace("\n", " ")


def quoted(text: str, before: str, is_toml: bool) -> str:
    """A text in place of the value that was there `before`: as a block, or with quotes if that had some or needs them.

    TOML has no sign for an apostrophe between apostrophes.
    """
    if (header := _HEADER.match(before)) and not is_toml:
        line_end = "\r\n" if "\r\n" in before else "\n"
        between = line_end * (2 if header["sign"] == ">" else 1) + header["indent"]
        return header[0] + between.join(" ".join(line.split()) for line in text.split("\n") if line.strip())
    text = " ".join(text.split())
    if before[0] == "'" and not (is_toml and "'" in text):
        return "'" + text.replace("'", "''") + "'"
    if before[0] not in "'\"" and not is_toml and _text(text or " ") == text:
        return text
    return json.dumps(text, ensure_ascii=False)
