"""LaTeX: paragraphs, headings, items, captions and notes. Formulas, references, code and the preamble stay.

Nodes with positions by pylatexenc become runs between paragraphs, items, headings. It reads a text in which code,
definitions and what has no prose are masked (`markup.latex_masks`). No file is opened: `\\input` is a
macro like any other that is not known to have prose.
"""

# ruff: noqa: SIM905
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from pylatexenc.latex2text import LatexNodes2Text
from pylatexenc.latexwalker import LatexWalker, get_default_latex_context_db

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.spans import Item, Source, UnitSpan, check_pieces, located, pieces, splices, written
from dragoman.documents.core.splice import decode, read_again, spliced
from dragoman.documents.markup.latex_masks import ALONE, BORDER, MASKS, masked
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

# Macros whose last argument is text of the sentence, and those whose last argument is a unit by itself.
_STYLES = frozenset(
    "textbf textit emph textsf textsc textrm textup textsl textmd texttt underline enquote mbox text href textcolor "
    "alert structure only uncover visible onslide hl sout uline".split()
)
_HEADINGS = frozenset(
    "part chapter section subsection subsubsection paragraph subparagraph title subtitle caption frametitle".split()
)
_NOTES = frozenset("footnote footnotetext thanks marginpar".split())
# How many groups are before the last argument of those that the parser does not know, or not with an overlay.
_GROUPS_BEFORE = {"href": 1, "textcolor": 1}
# What may be between a macro and its arguments: a star, an overlay of beamer. Only one with a number is sure.
_OVERLAY = re.compile(r"[ \t]*<(?=[^<>]{0,60}[\d+])[-\w+.,|@:() ]{1,60}>")
_SIGN = re.compile(rf"\*|<[^<>]{{0,100}}>|{_OVERLAY.pattern}")
_BLANK = re.compile(r"[ \t]*\n?[ \t]*")
# Environments are not known to the parser, so that none takes what is masked for an argument.
_CONTEXT = get_default_latex_context_db().filter_context(keep_which=["macros", "specials"])
_SPACES = frozenset([",", ";", ":", " ", "\n", "quad", "qquad", "enspace", "thinspace"])
_ACCENTS = frozenset("'`^\"~=.cvuHkrbdt") | frozenset(
    "ss ae AE oe OE o O aa AA l L i j dots ldots textellipsis".split()
)
_SPECIALS = {"~": "\xa0", "``": "“", "''": "”", "---": "—", "--": "–"}
# A name ends where a letter does not follow.
_NAME = re.compile(r"\\[A-Za-z]+\Z")
_LONGEST_NAME = 60
_PARAGRAPH = re.compile(r"[ \t]*\r?\n[ \t]*(?:\r?\n[ \t]*)+")


class Spans:
    """The pieces of a LaTeX file, found while its nodes are visited."""

    def __init__(self, content: str) -> None:
        self.content, self.masked = content, masked(content)
        self.items: list[Item] = []
        self.found: list[UnitSpan] = []
        # Nodes before this position belong to something that is left alone.
        self.end = 0
        # How many tables the node is inside of.
        self.tabular = 0
        nodes, _, _ = self._walker().get_latex_nodes(pos=0)
        self._visit(nodes)
        self._close()
        self.found.sort(key=lambda piece: (piece.begin, -piece.end))

    def _walker(self) -> LatexWalker:
        return LatexWalker(self.masked, latex_context=_CONTEXT, tolerant_parsing=True)

    def _close(self, where: str = "") -> None:
        if self.items:
            self.found += [replace(piece, where=where) for piece in pieces(self.items, self.content)]
        self.items = []

    def _visit(self, nodes: Sequence[Any]) -> None:
        for node in nodes:
            kind = type(node).__name__
            if node is None or (node.pos < self.end and (kind != "LatexCharsNode" or node.pos + node.len <= self.end)):
                continue
            begin, end = max(node.pos, self.end), node.pos + node.len
            if kind == "LatexCharsNode":
                self._text(begin, end)
            elif kind == "LatexMathNode" and node.displaytype == "inline":
                self.items.append(Item("protected", begin, end, self.content[begin:end]))
            elif kind == "LatexMacroNode":
                self._macro(node, begin, end)
            elif kind == "LatexGroupNode":
                self._span(node, begin, end, "group")
            elif kind == "LatexEnvironmentNode":
                self._environment(node)
            elif kind == "LatexSpecialsNode" and node.specials_chars in _SPECIALS:
                self.items.append(Item("text", begin, end, _SPECIALS[node.specials_chars]))
            else:
                # A comment, a displayed formula, the next cell of a table.
                self._close()

    def _text(self, begin: int, end: int) -> None:
        for mask in MASKS.finditer(self.masked, begin, end):
            self._plain(begin, mask.start())
            begin = mask.end()
            if mask[0][0] == BORDER:
                self._close()
            elif mask[0][0] == ALONE:
                self.items.append(Item("alone", *mask.span()))
            else:
                self.items.append(Item("protected", *mask.span(), self.content[slice(*mask.span())]))
        self._plain(begin, end)

    def _plain(self, begin: int, end: int) -> None:
        at = begin
        for match in _PARAGRAPH.finditer(self.content, begin, end):
            self.items.append(Item("text", at, match.start(), self.content[at : match.start()]))
            self._close()
            at = match.end()
        if end > at:
            self.items.append(Item("text", at, end, self.content[at:end]))

    def _macro(self, node: Any, begin: int, end: int) -> None:
        name = node.macroname
        listed = (node.nodeargd.argnlist if node.nodeargd else None) or []
        arguments = [argument for argument in listed if argument is not None]
        last = arguments[-1] if arguments else None
        group = last if type(last).__name__ == "LatexGroupNode" else None
        behind = node.pos + 1 + len(name)
        if name in _HEADINGS | _NOTES | _STYLES and group is None:
            arguments, group = self._following(behind, _GROUPS_BEFORE.get(name, 0))
        stop = end if group is None else max(end, group.pos + group.len)
        if name in _STYLES and group is not None:
            self._span(group, begin, stop, name)
        elif name in _HEADINGS and group is not None:
            self._close()
            for argument in {id(text): text for text in (*arguments, group)}.values():
                self._inside(argument, "")
            self._skip(stop)
        elif name in _NOTES and group is not None:
            outer, self.items = self.items, []
            self._inside(group, "note")
            self.items = [*outer, Item("alone", begin, stop)]
            self._skip(stop)
        elif name == "item" or (name == "\\" and not arguments and self.tabular):
            self._close()
            if name == "item" and not arguments:
                arguments, stop = self._options(behind)
            for argument in arguments:
                self._inside(argument, "")
            self._skip(max(end, stop))
        elif name == "\\":
            self.items.append(Item("break", begin, end, "\n"))
        elif name in _SPACES or name in _ACCENTS or name in "%&$#_{}":
            self.items.append(Item("text", begin, end, self._character(node, name)))
        else:
            if overlay := _OVERLAY.match(self.masked, behind):
                end = max(end, overlay.end())
            stop = self._arguments(end) if re.search(r"[A-Za-z*}\]>]\s*$", self.masked[begin:end]) else end
            self.items.append(Item("alone", begin, stop))
            self._skip(stop)

    def _character(self, node: Any, name: str) -> str:
        if name in _SPACES:
            return " "
        if name in "%&$#_{}":
            return str(name)
        space = self.content[node.pos : node.pos + node.len]
        return str(LatexNodes2Text().nodelist_to_text([node])).strip() + (" " if space[-1:].isspace() else "")

    def _following(self, at: int, before: int) -> tuple[list[Any], Any]:
        """The optional arguments behind a macro that the parser does not know, and its last group."""
        options, at = self._options(at)
        for _ in range(before):
            _, at = self._group(at)
        return options, self._group(at)[0]

    def _options(self, at: int) -> tuple[list[Any], int]:
        """The optional arguments behind a name, its star and its overlays, and where they end."""
        listed = list[Any]()
        while True:
            if sign := _SIGN.match(self.masked, at):
                at = sign.end()
            elif read := self._walker().get_latex_maybe_optional_arg(pos=at):
                listed.append(read[0])
                at = read[1] + read[2]
            else:
                return listed, at

    def _group(self, at: int) -> tuple[Any, int]:
        """The group that begins at a position, white space before it left out, and where it ends."""
        blank = _BLANK.match(self.masked, at)
        begin = blank.end() if blank else at
        if self.masked[begin : begin + 1] != "{":
            return None, at
        nodes, _, _ = self._walker().get_latex_nodes(pos=begin, read_max_nodes=1)
        is_group = nodes and type(nodes[0]).__name__ == "LatexGroupNode"
        return (nodes[0], nodes[0].pos + nodes[0].len) if is_group else (None, at)

    def _inside(self, group: Any, where: str) -> None:
        outer_end, self.end = self.end, 0
        self._visit(getattr(group, "nodelist", []))
        self._close(where)
        self.end = outer_end

    def _span(self, group: Any, begin: int, end: int, name: str) -> None:
        """A group whose text belongs to the sentence: `\\emph{` opens it, `}` closes it."""
        first, last = group.pos + 1, group.pos + group.len - 1
        if self.content[last : last + 1] != "}":
            # It is not closed: where it ends is unknown.
            self._close()
            self._skip(end)
            return
        self.items.append(Item("open", begin, first, name))
        self._visit(group.nodelist)
        self.items.append(Item("close", last, last + 1, name))
        self._skip(end)

    def _environment(self, node: Any) -> None:
        self._close()
        name = node.environmentname.rstrip("*")
        stop = node.pos + node.len
        if self.masked[node.pos : stop].endswith("}"):
            self._skip(self.masked.index("}", node.pos) + 1)
            self.tabular += name.startswith(("tabular", "longtable", "tabbing", "array"))
            self._visit(node.nodelist)
            self.tabular -= name.startswith(("tabular", "longtable", "tabbing", "array"))
            self._close()
        self._skip(stop)

    def _arguments(self, at: int) -> int:
        """Where the arguments end that follow without a space."""
        while self.masked[at : at + 1] in ("[", "{"):
            closing = {"[": "]", "{": "}"}[self.masked[at]]
            depth = 0
            for index in range(at, min(at + 2000, len(self.masked))):
                character = self.masked[index]
                depth += (character == self.masked[at]) - (character == closing)
                if depth == 0:
                    at = index + 1
                    break
            else:
                break
        return at

    def _skip(self, end: int) -> None:
        self.end = max(self.end, end)


_ESCAPES = str.maketrans(
    {
        "\\": "\\textbackslash{}",
        "^": "\\textasciicircum{}",
        "~": "\\textasciitilde{}",
        **{character: "\\" + character for character in "{}$&#%_"},
        "\xa0": "~",
        "“": "``",
        "”": "''",
        "—": "---",
        "–": "--",
    }
)


def read(path: Path, options: DocumentOptions) -> Document:
    """The prose of a LaTeX file. Raises DataError for a file that is nested too deeply."""
    decoded = decode(path, path.read_bytes())
    listed = _pieces(path, decoded.text)
    return Document(path, located(decoded.text, listed), (decoded, listed))


def _pieces(path: Path, content: str) -> list[UnitSpan]:
    try:
        return Spans(content).found
    except RecursionError:
        raise DataError(f"{path}: nested too deeply; is it LaTeX?") from None


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The LaTeX file with the translations in place of its prose."""
    decoded, listed = document.skeleton
    texts = list(translations)
    changes = splices(decoded.text, listed, texts, partial(_written, content=decoded.text))
    if changes:
        again = _pieces(document.path, read_again(document.path, decoded, changes))
        check_pieces(document.path, listed, texts, again)
    file.write(spliced(decoded, changes))


def _written(piece: UnitSpan, text: InlineText, source: Source, content: str) -> str:
    """A translation with its macros; a letter behind the name of one, in it or before it, is set apart."""

    def code(begin: int, end: int) -> str:
        raw = source(begin, end)
        return raw + "{}" if _NAME.search(raw) else raw

    result = written(piece, text, lambda part: part.translate(_ESCAPES), code)
    is_behind = _NAME.search(content[max(piece.begin - _LONGEST_NAME, 0) : piece.begin])
    return f" {result}" if is_behind and result[:1].isalpha() else result
