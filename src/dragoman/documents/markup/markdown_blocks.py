"""A Markdown file by markdown-it-py: its blocks, and inside of them which characters are text, markup or fixed.

Blocks of extensions that plain Markdown would take for text are kept apart: formulas, admonitions, notes, containers.
Every rule inside of a paragraph is watched: what it took of the source is recorded, because its tokens have no
positions.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from string import punctuation
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from dragoman.documents.core.labels import is_formula
from dragoman.documents.core.spans import Item, UnitSpan
from dragoman.documents.markup.html import OPAQUE, SHOWN, attribute_pieces, tokens
from dragoman.documents.markup.templates import masked_inside, read_value

# What extensions of Markdown give a meaning, and no translation changes. Hidden are notes, alerts, tasks, attributes
# and symbols; shown are formulas, variables and roles. Lengths are bounded: no text is scanned twice.
_FIXED = re.compile(
    r"""(?P<hidden>
        \[\^[^\]\s]{1,80}\] | \[![\w|-]{1,40}\][-+]? | (?<![^\n])\[[ xX]\](?=\s)
      | \{[ ]?[.#][^{}\n]{0,200}\} | \{:[^{}\n]{1,200}\}
      | (?<=[)\]`*_>}])\{[ ]?[\w-]{1,40}=[^{}\n]{1,200}\} | \{[ ]?[\w-]{1,40}=[^{}\n]{1,200}\}(?=[ \t]*(?:\n|$))
      | (?<![A-Za-z0-9_:]):(?:[a-z][a-z0-9_+-]{0,60}|[+-]1|100|1234):(?![A-Za-z0-9_:`])
    )|(?P<shown>
        \$\$.{1,3000}?\$\$ | (?<![A-Za-z0-9\\$])\$(?![\s$])(?:[^$\\\n]|\\.){1,300}?(?<!\s)\$(?![\d$])
      | \\\(.{1,300}?\\\) | \{\{.{0,500}?\}\} | \{%.{0,500}?%\} | <%.{0,500}?%> | :[A-Za-z][\w-]{0,40}:`[^`\n]{0,200}`
      | \{[\w:-]{1,40}\}`[^`\n]{0,200}`
    )""",
    re.VERBOSE | re.DOTALL,
)
# The first line of a callout: its title, if it has one, ends with the line.
_CALLOUT = re.compile(r"\[![\w|-]{1,40}\][^\n]*")
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)")
_VOID = frozenset(["img", "wbr", "input", "hr"])
_STYLES = {"em": "em", "strong": "strong", "s": "s"}


@dataclass(frozen=True, slots=True)
class Taken:
    """What one rule took of the source, with the tokens that it made."""

    rule: str
    begin: int
    end: int
    tokens: tuple[Any, ...]
    label: int = 0
    """Where the text of a link or an image ends."""


def watched(parser: MarkdownIt) -> MarkdownIt:
    """The parser with rules that record what they take in `env["taken"]`, of the text that is `env["whole"]`."""
    parser.inline.ruler.before("newline", "fixed", _fixed)
    for rule in parser.inline.ruler.__rules__:
        rule.fn = _recorded(rule.name, rule.fn)
    return parser


def _fixed(state: StateInline, silent: bool) -> bool:
    match = _FIXED.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push(str(match.lastgroup), "", 0)
    state.pos = match.end()
    return True


def _recorded(name: str, rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    def record(state: StateInline, silent: bool) -> bool:
        begin, before, label = state.pos, len(state.tokens), 0
        if not silent and (bracket := {"link": begin, "image": begin + 1}.get(name)) is not None:
            if state.src[begin] not in "[!" or state.src[bracket : bracket + 1] != "[":
                return False
            label = state.md.helpers.parseLinkLabel(state, bracket, name == "link")
            state.pos = begin
        taken = rule(state, silent)
        # The text of an image is parsed as a text of its own.
        if taken and not silent and state.src is state.env.get("whole"):
            state.env["taken"].append(Taken(name, begin, state.pos, tuple(state.tokens[before:]), label))
        return taken

    return record


def items_of(parser: MarkdownIt, content: str, env: dict[str, Any]) -> tuple[list[Item], list[UnitSpan]]:
    """The items of a paragraph and the units inside its markup (an image's text), with positions in `content`."""
    whole = masked_inside(content)
    env = env | {"whole": whole, "taken": []}
    parser.inline.parse(whole, parser, env, [])
    marks: list[Item] = []
    inner: list[UnitSpan] = []
    for taken in env["taken"]:
        marks += _marks(content, taken)
        inner += _inner(content, taken)
    marks.sort(key=lambda item: (item.begin, item.end))
    items: list[Item] = []
    at = 0
    for item in [*marks, Item("alone", len(content), len(content))]:
        text = content[at : item.begin].rstrip(" \t") if item.kind == "break" else content[at : item.begin]
        if text:
            items.append(Item("text", at, at + len(text), text))
        items.append(Item("break", at + len(text), item.end, item.text) if item.kind == "break" else item)
        at = max(at, item.end)
    items = _highlighted(_breaks(_copied(items[:-1], content)))
    return items, [piece for piece in inner if any(item.begin <= piece.begin < item.end for item in items)]


def _marks(content: str, taken: Taken) -> Iterator[Item]:
    begin, end = taken.begin, taken.end
    kinds = [token.type for token in taken.tokens]
    if taken.rule in ("emphasis", "strikethrough"):
        yield from _delimiters(taken)
    elif taken.rule in ("newline", "escape") and ("softbreak" in kinds or "hardbreak" in kinds):
        callout = _CALLOUT.match(content)
        is_hard = "hardbreak" in kinds or (callout is not None and begin <= callout.end())
        yield Item("break", begin, end, "\n" if is_hard else " ")
    elif taken.rule == "link":
        yield Item("open", begin, begin + 1, "a")
        yield Item("close", taken.label, end, "a")
    elif taken.rule == "image" or "hidden" in kinds:
        yield Item("alone", begin, end)
    elif taken.rule == "autolink" or "code_inline" in kinds or "shown" in kinds:
        yield Item("protected", begin, end, content[begin:end])
    elif taken.rule == "entity":
        yield Item("text", begin, end, unescape(content[begin:end]))
    elif taken.rule == "escape":  # a backslash before a letter is one
        yield Item("text", begin, end, content[begin + (content[begin + 1] in punctuation) : end])
    elif taken.rule == "html_inline":
        yield _tag(content[begin:end], begin, end)


def _delimiters(taken: Taken) -> Iterator[Item]:
    """The delimiters of a run that became tags. A strong one has two characters, before or after its token's own."""
    length = taken.end - taken.begin
    delimiters = taken.tokens[-length:] if taken.rule == "emphasis" else taken.tokens[-((length + 1) // 2) :]
    at = taken.begin
    for token in delimiters:
        size = 1 if taken.rule == "emphasis" or (length % 2 and token is delimiters[0]) else 2
        name, _, kind = token.type.partition("_")
        if name in _STYLES and kind in ("open", "close"):
            begin = at - 1 if name == "strong" and kind == "open" else at
            end = at + 2 if name == "strong" and kind == "close" else at + size
            yield Item("open" if kind == "open" else "close", begin, end, _STYLES[name])
        at += size


def _tag(text: str, begin: int, end: int) -> Item:
    match = _TAG.match(text)
    name = match[2].lower() if match else ""
    if name == "br":
        return Item("break", begin, end, "\n")
    if match is None or name in _VOID or text.endswith("/>"):
        return Item("alone", begin, end)
    return Item("close" if match[1] else "open", begin, end, name)


def _inner(content: str, taken: Taken) -> Iterator[UnitSpan]:
    if taken.rule == "html_inline":
        for token in tokens(content[taken.begin : taken.end])[:1]:
            for piece in attribute_pieces(content[taken.begin : taken.end], token):
                yield piece.moved(taken.begin)
    elif taken.rule == "image":
        begin, end = taken.begin + 2, taken.label
        whole = content[begin:end]
        value = read_value(whole, lambda part: re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", part))
        is_line = "\n" not in whole and whole.strip() == whole
        if is_line and not is_formula(value.text) and any(map(str.isalpha, value.visible)):
            yield UnitSpan(begin, end, value, where="text of an image")


def _copied(items: list[Item], content: str) -> list[Item]:
    """The items with elements of HTML that are copied as a whole: a formula, a key of the keyboard."""
    merged: list[Item] = []
    skip = 0
    for index, item in enumerate(items):
        if index < skip:
            continue
        last = index
        if item.kind == "open" and (item.text in OPAQUE or item.text in SHOWN):
            ends = (at for at in range(index, min(len(items), index + 200)) if items[at].kind == "close")
            last = next((at for at in ends if items[at].text == item.text), index)
        inside = items[index + 1 : last]
        if last == index:
            merged.append(item)
        elif item.text in SHOWN and inside and all(inner.kind == "text" for inner in inside):
            span = (item.end, items[last].begin)
            merged += [item, Item("protected", *span, content[slice(*span)]), items[last]]
        else:
            merged.append(Item("alone", item.begin, items[last].end, item.text))
        skip = last + 1
    return merged


_SENTENCE_END = re.compile(r"[.!?:;。！？…][\"')\]»”’*_]*$")


def _breaks(items: list[Item]) -> list[Item]:
    """Line ends of the source are spaces, unless each ends a sentence: then a translation has them too."""
    soft = [index for index, item in enumerate(items) if item.kind == "break" and item.text == " "]
    broken = all(
        index and items[index - 1].kind == "text" and _SENTENCE_END.search(items[index - 1].text) for index in soft
    )
    for index in soft:
        item = items[index]
        items[index] = Item("break", item.begin, item.end, "\n") if broken else Item("text", item.begin, item.end, " ")
        following = items[index + 1] if index + 1 < len(items) else item
        if following.kind == "text" and (marker := re.match(r":[ \t]+", following.text)):
            # The definition of a term is a unit of its own, as after two breaks.
            at = following.begin + marker.end()
            items[index] = Item("break", item.begin, item.end, "\n")
            items[index + 1] = Item("text", at, following.end, following.text[marker.end() :])
            items.insert(index + 1, Item("break", following.begin, at, "\n"))
            return _breaks(items)
    return items


def _highlighted(items: list[Item]) -> list[Item]:
    """The items with `==` as tags, where there is an even number of them."""
    parts: list[Item] = []
    opened = False
    for item in items:
        if item.kind != "text" or len(item.text) != item.end - item.begin:
            parts.append(item)
            continue
        at = item.begin
        for part in re.split("(==)", item.text):
            if part == "==":
                parts.append(Item("close" if opened else "open", at, at + 2, "mark"))
                opened = not opened
            elif part:
                parts.append(Item("text", at, at + len(part), part))
            at += len(part)
    return items if opened else parts


_LINE_END = re.compile(r"\r\n?|\n")
_ROWS = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE)
# A block that is left alone: its first line, and what its last line has. Without a last line it is one line.
_EXPORT = re.compile(
    r"export\s+(?:(?:const|let|var|type)\s+[\w$]+\s*[=:<]|(?:default\s+)?(?:async\s+)?function\b[\s*]*[\w$]*\s*[(<]"
    r"|(?:default\s+)?class\s+[\w$]+[^.]*\{|interface\s+[\w$]+[^.]*\{|default\s+(?:[({\[]|[\w$]+\s*[;(]|[\w$]+\s*$)|[{*])"
)
# What ends with the line before these: exported code, the options of a directive.
_BLANK, _NO_OPTION = re.compile(r"^\s*$"), re.compile(r"^(?!:[\w-]+:(?:\s|$))")
# The definition of a link whose address is a template.
_DEFINITION = re.compile(r"\[(?!\^)([^\]\n]{1,200})\]:[ \t]*\S*?(?:\{\{.*\}\}|\{%.*%\})\S*(?:[ \t]+[\"'(].*)?\s*$")
# An element of a template whose content is code, or is not shown.
_CODE_END = r"\{(?:%-?\s*end|\{[<%]\s*/\s*)"
_CODE = re.compile(
    r"\{(?:%-?|\{[<%])\s*(?P<name>highlight|codeblock|code|comment|mermaid|katex|math)\b"
    rf"(?!.*{_CODE_END}(?P=name)\b)"
)
_CODE_OF_MYST = (
    "toctree|code|code-block|code-cell|literalinclude|math|mermaid|raw|eval-rst|include|bibliography|autosummary"
)
_LEFT = (
    (re.compile(r"\$\$(?!.*\$\$)"), re.compile(r"\$\$\s*(\{[^}]*\}|\([^)]*\))?\s*$")),
    (re.compile(r"\\\[(?!.*\\\])"), re.compile(r"\\\]\s*$")),
    (re.compile(r"\\begin\{"), re.compile(r"\\end\{")),
    # Of MDX: what is imported, and what is exported up to a blank line.
    (re.compile(r"import\s+(?:type\s+)?\{[^}]*$"), re.compile(r"""\bfrom\s+["'][^"']+["'];?\s*$""")),
    (re.compile(r"""import\s+(?:[\w$*{}, \t]+\s+from\s+)?["'][^"'\n]+["'];?\s*$"""), None),
    (_EXPORT, _BLANK),
    # The definition of an abbreviation.
    (re.compile(r"\*\[[^\]\n]{1,80}\]:"), None),
    (_DEFINITION, None),
    # Of MyST: a directive of code, one with its options, and a target. Of PyMdown: what is included.
    (re.compile(rf":{{3,}}\{{(?:{_CODE_OF_MYST})\}}"), re.compile(r":{3,}\s*$")),
    (re.compile(r":{3,}\{[\w:-]+\}"), _NO_OPTION),
    (re.compile(r"\([\w.:/-]+\)=\s*$"), None),
    (re.compile(r"-+8<-+\s*$"), re.compile(r"-+8<-+\s*$")),
    (re.compile(r"-+8<-+\s+[\"']"), None),
    (
        re.compile(
            r"(:{3,}.*|\{%.*%\}|\$\$.*\$\$|\\\[.*\\\]|\[\[?_?toc_?\]?\]|:[a-z_]+:`[^`]*`|@?\{:[^}]*\})\s*$", re.I
        ),
        None,
    ),
)
_ADMONITION = re.compile(r"""(?:!!!|\?\?\?\+?|===!?\+?)(?=\s)[^"\n]*(?:"(?P<title>[^"\n]*)")?\s*$""")
# Attributes of a container (`:::image source="a.png"`, `:::tabs key:a`) and the name of a slot are no title.
_CONTAINER = re.compile(
    r":{3,}[ \t]*(?:\{(?:admonition|dropdown|card|tab-item|grid-item-card)\}|(?!slot\b)[A-Za-z][\w-]*)"
    r"(?:\[(?P<label>[^\]=]*)\]|[ \t]+(?P<title>(?![\w-]+:\S)[^\s={\[:][^={]*?))?(?:[ \t]*\{[^{}]*\})?[ \t:]*$"
)
_NOTE = re.compile(r"\[\^[^\]\s]+\]:[ \t]*")


def parser() -> MarkdownIt:
    """CommonMark with tables, strikethrough and the blocks of extensions; text inside of blocks is not parsed."""
    made = MarkdownIt("commonmark", {"maxNesting": 50}).enable(["table", "strikethrough"]).disable("inline")
    ends: Any = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    made.block.ruler.before("table", "left", _left, ends)
    made.block.ruler.before("table", "body", _body, ends)
    return watched(made)


def _text(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _left(state: StateBlock, begin: int, end: int, silent: bool) -> bool:
    if state.is_code_block(begin):
        return False
    first = _text(state, begin)
    stops = [stop for start, stop in _LEFT if start.match(first)]
    if code := _CODE.match(first):
        stops.insert(0, re.compile(rf"{_CODE_END}{code['name']}\b"))
    if not stops or silent:
        return bool(stops)
    line, stop = begin, stops[0]
    if stop is not None:
        closing = (row for row in range(begin + 1, end) if stop.search(_text(state, row)))
        is_before = stop in (_BLANK, _NO_OPTION)
        line = next(closing, end if is_before else begin) - is_before
    state.push("left", "", 0).map = [begin, line + 1]
    if definition := _DEFINITION.match(first):
        label = normalizeReference(definition[1])
        state.env.setdefault("references", {}).setdefault(label, {"title": "", "href": ""})
    if (container := _CONTAINER.match(first)) and (title := container["title"] or container["label"]):
        _push_title(state, begin, title)
    state.line = line + 1
    return True


def _push_title(state: StateBlock, line: int, title: str) -> None:
    if any(map(str.isalpha, title)):
        token = state.push("title", "", 0)
        token.map, token.content = [line, line + 1], title


def _body(state: StateBlock, begin: int, end: int, silent: bool) -> bool:
    """An admonition or a note, with the indented lines that belong to it."""
    first = _text(state, begin)
    note = _NOTE.match(first)
    title = _ADMONITION.match(first)
    if state.is_code_block(begin) or not (note or title):
        return False
    if silent:
        return True
    last = begin + 1
    while last < end and (state.isEmpty(last) or state.sCount[last] >= state.blkIndent + 4):
        last += 1
    outer = state.lineMax, state.blkIndent, state.parentType
    first_line = state.bMarks[begin], state.tShift[begin], state.sCount[begin]
    state.push("body_open", "div", 1).map = [begin, last]
    if title and title["title"]:
        _push_title(state, begin, title["title"])
    if note:
        state.bMarks[begin] += state.tShift[begin] + note.end()
        state.tShift[begin], state.sCount[begin] = 0, state.blkIndent + 4
    state.lineMax, state.parentType = last, "list"
    state.blkIndent += 4
    state.md.block.tokenize(state, begin if note and note.end() < len(first) else begin + 1, last)
    state.lineMax, state.blkIndent, state.parentType = outer
    state.bMarks[begin], state.tShift[begin], state.sCount[begin] = first_line
    state.push("body_close", "div", -1)
    state.line = last
    return True


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """The text of a block and where each of its characters is in the file; of HTML only the span."""

    kind: str
    content: str
    offsets: list[int]


class Blocks:
    """The blocks of a file with text in them; `shape` is what a translation does not change."""

    def __init__(self, made: MarkdownIt, content: str, skipped: int) -> None:
        """`skipped` lines of front matter are not Markdown."""
        ends = [match.span() for match in _LINE_END.finditer(content)]
        self.content = content
        self.starts = [0, *(end for _, end in ends)]
        self.ends = [*(begin for begin, _ in ends), len(content)]
        rest = content[self.starts[skipped] :] if skipped < len(self.starts) else ""
        self.env: dict[str, Any] = {}
        self.tokens = made.parse("\n" * skipped + rest, self.env)
        self.shape = [(token.type, token.tag, token.info, token.level) for token in self.tokens]
        self.lost: list[str] = []
        """The blocks that are left alone, for people."""

    def __iter__(self) -> Iterator[MarkdownBlock]:
        cell = 0
        quoted = 0
        for previous, token in zip([Token("", "", 0), *self.tokens], self.tokens, strict=False):
            quoted += token.nesting if token.type.startswith("blockquote") else 0
            if token.type == "tr_open" and token.map:
                cell = self.starts[token.map[0]]
            if token.map is None or (token.type == "inline" and not token.content):
                continue
            if previous.type in ("th_open", "td_open"):
                cell, block = self._cell(token, cell)
                yield block
            elif token.type in ("inline", "title"):
                located = self._lines(token)
                if located is None:
                    self.lost.append(f"line {token.map[0] + 1}: cannot be located in the file and stays untranslated")
                elif len(_ROWS.findall(token.content)) > 1:
                    self.lost.append(f"line {token.map[0] + 1}: a broken table stays untranslated")
                else:
                    yield located
            elif token.type == "html_block" and not quoted:
                yield MarkdownBlock("html_block", "", [self.starts[token.map[0]], self.ends[token.map[1] - 1]])

    def _lines(self, token: Token) -> MarkdownBlock | None:
        """The content's lines are ends of the lines of the file, but for what closes a heading."""
        assert token.map is not None
        offsets: list[int] = []
        for number, line in enumerate(token.content.split("\n")):
            first = token.map[0] + number
            if first >= len(self.starts):
                return None
            whole = self.content[self.starts[first] : self.ends[first]]
            text = line.lstrip(" \t")
            if whole.endswith(text):
                at = len(whole) - len(text)
            elif (at := whole.rfind(text)) < 0:
                return None
            at += self.starts[first]
            offsets += [at] * (len(line) - len(text))
            offsets += range(at, at + len(text) + 1)
        return MarkdownBlock(token.type, token.content, offsets)

    def _cell(self, token: Token, begin: int) -> tuple[int, MarkdownBlock]:
        """The cell's text after position `begin` of its row, with `|` escaped as in the file."""
        assert token.map is not None
        end = self.ends[token.map[0]]
        while begin < end:
            match = re.compile(r"(?<!\\)\|").search(self.content, begin, end)
            stop = match.start() if match else end
            text = self.content[begin:stop]
            if text.replace("\\|", "|").rstrip().endswith(token.content) and text.strip():
                offset = len(text.rstrip()) - len(token.content) - text.rstrip().count("\\|")
                at = begin + max(offset, 0)
                raw = self.content[at : begin + len(text.rstrip())]
                return stop + 1, MarkdownBlock("cell", raw, list(range(at, at + len(raw) + 1)))
            begin = stop + 1
        return end, MarkdownBlock("cell", "", [end])
