"""ICU MessageFormat: the texts of a message, each branch of `plural`, `select` and `selectordinal` for itself.

What a message has inside its text is shown as `{name}` (or `#`) and kept as it is written, formats and all; quoted text
(`'{…}'`) is kept, shown without its quotes. The branches of the source stay: none is added for the target language,
none removed. A message that does not parse raises ValueError. Needs pyicumessageformat (`dragoman[documents]`).
"""

import re
from collections.abc import Iterator
from functools import partial

from dragoman.documents.core.passage import ENTITY, Message, Passage, Verbatim, passage

_COMPLEX = re.compile(
    r"\{\s*[^\s{},#']+\s*,\s*(?:plural|select|selectordinal|number|date|time|spellout|ordinal|duration|choice)\s*[,}]"
)
_ENTITY = re.compile(ENTITY)
# Two apostrophes; quoted text and its end; an entity.
_KEEP = re.compile(rf"''|(?P<quoted>'[{{}}](?:[^']|'')*(?P<end>'?))|{ENTITY}")
_KEEP_IN_PLURAL = re.compile(_KEEP.pattern.replace("'[{}]", "'[{}#]"))
_SYNTAX = re.compile(r"(?P<braces>[{}][{}']*)|(?P<before>^'+|'+(?=[{}]|$)|''+)|'")
_SYNTAX_IN_PLURAL = re.compile(_SYNTAX.pattern.replace("{}", "{}#"))
# In place of an apostrophe where it quotes nothing.
_LITERAL = "\ue000"

_Token = tuple[str, str]


_BRANCHES = re.compile(r"\{\s*[^\s{},#']+\s*,\s*(?:plural|select|selectordinal|choice)\s*,")
_CHOICE = re.compile(r"\{\s*([^\s{},#']+)\s*,\s*choice\s*,")
_LIMIT = re.compile(r"\s*[^#<\u2264{}|]{1,40}[#<\u2264]")
_IN_CHOICE = re.compile(rf"\{{[^{{}}]*\}}|{ENTITY}")
# Signs that divide a choice, and what a translation has in their place.
_DIVIDING = str.maketrans({"|": "/", "{": "(", "}": ")", "'": "\u2019"})


def has_branches(text: str) -> bool:
    """Whether this is a message with an argument that has texts of its own for its values."""
    return "{" in text and _BRANCHES.search(text) is not None


def is_complex(text: str) -> bool:
    """Whether this is a message with an argument that has a format or branches."""
    return _COMPLEX.search(text) is not None


def parse(text: str, quotes: bool = True) -> Message:
    """The passages of a message. Raises ValueError with the reason if it does not parse.

    `quotes` is false where an apostrophe is nothing but an apostrophe, as Flutter has it by default.
    """
    if _CHOICE.search(text):
        return (_choices(text, ""),)
    if not quotes and _LITERAL in text:
        raise ValueError("has a private character")
    reader = _MessageReader(iter(_tokens(text if quotes else text.replace("'", _LITERAL))), quotes, "''" in text)
    return (reader.level("", plural=False),)


def _choices(text: str, place: str) -> Passage:
    """A text with arguments of `choice`, `{0,choice,0#no files|1#one file|1<{0} files}`: each of their branches."""
    if "'" in text:
        raise ValueError("an apostrophe in a message with choices, where it may quote a sign")
    pieces, at = list[str | Verbatim](), 0
    for match in _CHOICE.finditer(text):
        if match.start() < at:
            continue
        end = _end_of_argument(text, match.start())
        parts: list[str | Passage] = [match[0]]
        for number, branch in enumerate(_alternatives(text[match.end() : end - 1])):
            limit = _LIMIT.match(branch)
            if limit is None:
                raise ValueError(f"not a choice: {branch[:20]!r} has no limit, such as 1#")
            name = f"{place} {match[1]} {limit[0].strip()}".lstrip()
            parts += ["|" * (number > 0) + limit[0], _choices(branch[limit.end() :], name)]
        pieces += [*_arguments(text[at : match.start()]), Verbatim(f"{{{match[1]}}}", (*parts, "}"))]
        at = end
    return passage([*pieces, *_arguments(text[at:])], place, escape=lambda part: part.translate(_DIVIDING))


def _arguments(text: str) -> Iterator[str | Verbatim]:
    at = 0
    for match in _IN_CHOICE.finditer(text):
        yield text[at : match.start()]
        yield Verbatim(match[0], (match[0],))
        at = match.end()
    if text[at:].strip("{}") != text[at:]:
        raise ValueError("not a message: a brace has no other half")
    yield text[at:]


def _end_of_argument(text: str, begin: int) -> int:
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if not depth:
            return at + 1
    raise ValueError("not a message: an argument does not end")


def _alternatives(text: str) -> Iterator[str]:
    """The parts between the bars that are in no braces."""
    depth = begin = 0
    for at, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if sign == "|" and not depth:
            yield text[begin:at]
            begin = at + 1
    yield text[begin:]


def _tokens(text: str) -> list[_Token]:
    if "{" not in text and "}" not in text:
        return [("text", text)]
    try:
        from pyicumessageformat import Parser
    except ModuleNotFoundError:
        raise ValueError("an ICU message, which needs pyicumessageformat: pip install 'dragoman[documents]'") from None
    tokens: list[dict[str, str]] = []
    try:
        Parser().parse(text, tokens)
    except SyntaxError as error:
        reason = str(error) or "it ends too early"
        raise ValueError(f"not an ICU message: {reason[0].lower()}{reason[1:]}") from None
    if "".join(token["text"] for token in tokens) != text:
        raise ValueError("not an ICU message: its end cannot be read")
    return [(token["type"], token["text"]) for token in tokens]


class _MessageReader:
    """Makes passages of the tokens of a message, which is known to parse."""

    def __init__(self, tokens: Iterator[_Token], quotes: bool, doubled: bool) -> None:
        self.tokens = tokens
        self.quotes = quotes
        self.doubled = doubled

    def level(self, place: str, plural: bool) -> Passage:
        """The text of a branch, as far as its closing brace, or of the message."""
        pieces: list[str | Verbatim] = []
        for kind, text in self.tokens:
            if kind == "text":
                pieces += self.texts(text, plural)
            elif kind == "hash":
                pieces.append(Verbatim("#", ("#",)))
            elif text == "{":
                pieces.append(self.argument(place))
            else:
                break
        return passage(pieces, place, read=self.read, escape=partial(self.escape, plural=plural))

    def argument(self, place: str) -> Verbatim:
        """What an opening brace begins. Each branch becomes a passage."""
        parts: list[str | Passage] = ["{"]
        name, selector, simple, plural = "", "", True, False
        for kind, text in self.tokens:
            simple = simple and kind != "type"
            if kind == "name":
                name = text
            elif kind == "type":
                plural = text in ("plural", "selectordinal")  # not in a `select` inside of it
            elif kind == "selector":
                selector = text
            elif text == "{":
                parts += ["{", self.level(f"{place} {name} {selector}".lstrip(), plural), "}"]
                continue
            parts.append(text.replace(_LITERAL, "'") if not self.quotes else text)
            if text == "}":
                break
        written = "".join(part for part in parts if isinstance(part, str))
        return Verbatim(written if simple else f"{{{name}}}", tuple(parts))

    def texts(self, text: str, plural: bool) -> Iterator[str | Verbatim]:
        """Text, and what of it is kept: quoted text and entities."""
        if not self.quotes:
            text = text.replace(_LITERAL, "'")
        pattern = _ENTITY if not self.quotes else _KEEP_IN_PLURAL if plural else _KEEP
        at = 0
        for match in pattern.finditer(text):
            quoted = match[0]
            if self.quotes and match["quoted"] and not match["end"]:
                raise ValueError("an apostrophe quotes the rest of the text; write '' for an apostrophe before a brace")
            if quoted != "''":
                yield text[at : match.start()]
                yield Verbatim(quoted if quoted[0] == "&" else quoted[1:-1].replace("''", "'"), (quoted,))
                at = match.end()
        yield text[at:]

    def read(self, text: str) -> str:
        return text.replace("''", "'") if self.quotes else text

    def escape(self, text: str, plural: bool) -> str:
        """Text as a message writes it: braces quoted, apostrophes doubled where they would quote or all are."""
        if not self.quotes:
            # A brace cannot be written; what looks like an argument stays one, which `values` compares.
            return re.sub(r"\{[A-Za-z0-9_]+\}|[{}]", lambda match: {"{": "(", "}": ")"}.get(match[0], match[0]), text)

        def written(match: re.Match[str]) -> str:
            doubled = match[0].replace("'", "''")
            if match["braces"]:
                return f"'{doubled}'"
            return doubled if self.doubled or match["before"] else "'"

        return (_SYNTAX_IN_PLURAL if plural else _SYNTAX).sub(written, text)
