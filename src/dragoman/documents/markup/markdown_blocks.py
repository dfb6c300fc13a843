"""The blocks of a Markdown file by markdown-it-py, and where the lines of each are in the file.

Blocks of extensions that plain Markdown would take for text are kept apart: formulas, admonitions, notes, containers.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from dragoman.documents.markup.markdown_inline import watched

_LINE_END = re.compile(r"\r\n?|\n")
_ROWS = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE)
# A block that is left alone: its first line, and what its last line has. Without a last line it is one line.
_LEFT = (
    (re.compile(r"\$\$(?!.*\$\$)"), re.compile(r"\$\$\s*(\{[^}]*\}|\([^)]*\))?\s*$")),
    (re.compile(r"\\\[(?!.*\\\])"), re.compile(r"\\\]\s*$")),
    (re.compile(r"\\begin\{"), re.compile(r"\\end\{")),
    (
        re.compile(
            r"(:{3,}.*|\{%.*%\}|\$\$.*\$\$|\\\[.*\\\]|\[\[?_?toc_?\]?\]|:[a-z_]+:`[^`]*`|@?\{:[^}]*\})\s*$", re.I
        ),
        None,
    ),
)
_ADMONITION = re.compile(r"""(?:!!!|\?\?\?\+?|===!?\+?)(?=\s)[^"\n]*(?:"(?P<title>[^"\n]*)")?\s*$""")
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
    if not stops or silent:
        return bool(stops)
    line, stop = begin, stops[0]
    if stop is not None:
        line = next((row for row in range(begin + 1, end) if stop.search(_text(state, row))), begin)
    state.push("left", "", 0).map = [begin, line + 1]
    state.line = line + 1
    return True


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
        token = state.push("title", "", 0)
        token.map, token.content = [begin, begin + 1], title["title"]
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
