"""reStructuredText: paragraphs, titles, items and captions by docutils; directives' options, code and targets stay.

Docutils says which texts there are, the file where they are: lines that are not found are left alone. No other file is
included, nothing raw is read. What is written is parsed again; a unit that changes the tree stays untranslated.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import IO, Any

from docutils import nodes
from docutils.core import publish_doctree

from dragoman.documents.core.document import Document, DocumentOptions, Translations
from dragoman.documents.core.spans import Item, Source, UnitSpan, line_numbers, located, pieces, splices, written
from dragoman.documents.core.splice import Splice, decode, read_again, spliced
from dragoman.documents.markup.rst_directives import SphinxParser, unread
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 6,
    "warning_stream": False,
    "input_encoding": "unicode",
    "doctitle_xform": False,
    "docinfo_xform": False,
    "_disable_config": True,
}
_SKIPPED = (
    nodes.literal_block,
    nodes.doctest_block,
    nodes.comment,
    nodes.system_message,
    nodes.math_block,
    nodes.raw,
    nodes.field_name,
    nodes.option_string,
    nodes.option_argument,
    nodes.classifier,
)
# What may be before the first line of a text: signs of lists, one in another, with a field, directive or options.
_LISTS = r"(?:(?:[-+*•‣⁃|]|-{2,3}|—|\(?(?:\d{1,9}|\w|[ivxlcdm]{1,9}|[IVXLCDM]{1,9}|\#)[.)])[ \t]+){0,8}"
_MARKER = re.compile(
    rf"{_LISTS}(?:(?:"
    r":\S[^\n]{0,200}?:[ \t]+"  # a field
    r"|\.\.[ \t]+(?:\[[^\]\n]{1,80}\]|[^\n]{1,200}?::(?:[ \t]+\S{1,20}){0,2})[ \t]+"  # a note, a directive and versions
    r"|[-+/]\S[^\n]{0,100}?[ \t]{2,}"  # options of a command
    rf"){_LISTS})?"
)
# Before a cell that can be located: signs of lists, in a table written as a list, and cells without words.
_CELL_MARKER = re.compile(r"(?:(?::[\w:+.-]{1,40}:)?`{1,2}[^`\n]{1,200}`{1,2}|[^\w`\n]|\d)*")
# Fields whose texts are types: `:rtype: list of str`.
_TYPES = re.compile(r"(?:type|rtype|vartype|meta)\b")
_SUBSTITUTION = re.compile(r"\.\.[ \t]+\|[^|\n]+\|[ \t]+replace::[ \t]*")
_MARKUP = re.compile(
    r"""(?P<shown>``.{1,300}?``(?!`) | (?::[\w.+:-]{1,40}:)`[^`]{1,300}`(?!_) | \|[^|\s][^|]{0,80}\|_{0,2}
        | \[[^\]\s]{1,60}\]_ | (?<![\w`])[\w][\w.-]{0,60}__?(?![\w`]) | https?://[^\s<>]{1,300})
      | (?P<link>`(?P<label>[^`<]{1,200}?)(?P<url>\s*<[^`>]{1,300}>`__?))
      | (?P<reference>`[^`]{1,200}`_{0,2}|_`[^`]{1,200}`)
      | (?P<strong>(?<![\w*])\*\*(?=\S)(?P<bold>[^*]{1,300}?)(?<=\S)\*\*(?!\w))
      | (?P<emphasis>(?<![\w*])\*(?=[^\s*])(?P<italic>[^*]{1,300}?)(?<=\S)\*(?!\w))
      | (?P<literal>::(?=\s*\Z))
      | (?P<escape>\\(?:\s|.))""",
    re.VERBOSE | re.DOTALL,
)
# What refers to a link by its text.
_NAMED = re.compile(r"`([^`<>]{1,200})`_(?!_)|(?<![\w`])([\w][\w.-]{0,60})_(?![\w`])")
# An address behind the text of a link that has a name.
_ADDRESS = re.compile(r"\s*<[^`>]{1,300}>`_(?!_)")
_UNDERLINE = re.compile(r"[ \t]*([!-/:-@\[-`{-~])\1{1,}[ \t]*$")
_SPECIAL = re.compile(r"[\\*`|]|(?<=\w)_(?=\W|$)|^(?=(?:[-+•]|\.\.|\d+[.)]|#\.)(?:\s|$))")


def read(path: Path, options: DocumentOptions) -> Document:
    """The units of a file, and which texts were not found exactly."""
    decoded = decode(path, path.read_bytes())
    tree = _tree(path, decoded.text)
    listed, lost = _located(decoded.text, tree)
    names = sorted(set(unread(tree)))
    notices = [f"{lost} texts cannot be located in the file and stay untranslated"] if lost else []
    if names:
        notices.append(f"the content of directives that are not known stays untranslated: {', '.join(names)}")
    return Document(path, located(decoded.text, listed), (decoded, listed, _shape(tree)), tuple(notices))


def _tree(path: Path, content: str) -> Any:
    try:
        return publish_doctree(content, parser=SphinxParser(), settings_overrides=_SETTINGS)
    except RecursionError:
        raise DataError(f"{path}: nested too deeply; is it reStructuredText?") from None


def _elements(tree: Any) -> Iterator[Any]:
    """The elements of a tree in order, without messages of docutils and what is in them."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack += [
            child
            for child in reversed(node.children)
            if isinstance(child, nodes.Element) and not isinstance(child, nodes.system_message)
        ]


def _shape(tree: Any) -> tuple[list[str], Counter[str]]:
    """The kinds of blocks in order, and how many there are of each kind of markup inside of them.

    Targets inside of text do not count: a link that becomes anonymous has none.
    """
    elements = list(_elements(tree))
    blocks = [type(node).__name__ for node in elements if not isinstance(node, nodes.Inline)]
    return blocks, Counter(type(node).__name__ for node in elements if _is_markup(node))


def _is_markup(node: Any) -> bool:
    return isinstance(node, nodes.Inline) and not isinstance(node, nodes.target)


def _texts(tree: Any) -> Iterator[tuple[Any, list[str]]]:
    """Texts that are no part of another, in order, and their lines."""
    for node in _elements(tree):
        if not isinstance(node, nodes.TextElement) or isinstance(node, (*_SKIPPED, nodes.Inline)):
            continue
        raw = node.rawsource
        if isinstance(node, nodes.substitution_definition):
            match = _SUBSTITUTION.match(raw)
            raw = raw[match.end() :] if match else ""
        if raw and not isinstance(node.parent, nodes.TextElement) and not _is_type(node):
            yield node, [line.strip() for line in raw.split("\n")]


def _is_type(node: Any) -> bool:
    field = node.parent.parent if isinstance(node.parent, nodes.field_body) else None
    return field is not None and _TYPES.match(field[0].astext()) is not None


def _is_cell(node: Any) -> bool:
    while node is not None and not isinstance(node, nodes.entry):
        node = node.parent
    return node is not None


def _located(content: str, tree: Any) -> tuple[list[UnitSpan], int]:
    """The pieces, each after the one before it, and how many texts were not found."""
    # Lines end where docutils ends them.
    lengths = [len(line) for line in re.sub(r"[\v\f]", " ", content).splitlines(keepends=True)]
    spans = list(pairwise(accumulate(lengths, initial=0)))
    stripped = [content[begin:end].strip() for begin, end in spans]
    texts = list(_texts(tree))
    spans_of_units: list[UnitSpan] = []
    lost = at = 0
    for number, (node, wanted) in enumerate(texts):
        first = _first(stripped, wanted, _lines(texts, number, at), _CELL_MARKER if _is_cell(node) else _MARKER)
        if first is None:
            lost += 1
            continue
        at = first + len(wanted)
        begin = spans[first][0] + content[slice(*spans[first])].rstrip().rindex(wanted[0])
        end = spans[at - 1][0] + len(content[slice(*spans[at - 1])].rstrip())
        spans_of_units += pieces(list(_items(content, begin, end)), content)
    return spans_of_units, lost


def _lines(texts: Sequence[tuple[Any, list[str]]], number: int, at: int) -> Iterable[int]:
    """The indices of lines in which a text may begin, of those from `at`.

    A title has the line below it, the text of a change of Sphinx that of its directive. A text without a line is before
    the next that has one.
    """
    line = texts[number][0].line
    if line is not None:
        return (index for index in (line - 1, line - 2, line) if index >= at)
    following = (node.line for node, _ in texts[number + 1 : number + 20] if node.line is not None)
    return range(at, min(next(following, at + 20), at + 200))


def _first(lines: Sequence[str], wanted: list[str], places: Iterable[int], marker: re.Pattern[str]) -> int | None:
    """The first of these places where the lines are that are wanted; the first line may follow a marker."""
    for first in places:
        if lines[first : first + 1] and lines[first].endswith(wanted[0]):
            before = lines[first][: len(lines[first]) - len(wanted[0])]
            if marker.fullmatch(before) and lines[first + 1 : first + len(wanted)] == wanted[1:]:
                return first
    return None


def _items(content: str, begin: int, end: int) -> Iterator[Item]:
    at = begin
    for match in _MARKUP.finditer(content, begin, end):
        if match.start() > at:
            yield Item("text", at, match.start(), content[at : match.start()])
        at = match.end()
        kind = match.lastgroup if match.lastgroup not in ("label", "url", "bold", "italic") else None
        inner = next((name for name in ("label", "bold", "italic") if match[name] is not None), None)
        if inner is not None:
            name = {"label": "a", "bold": "strong", "italic": "em"}[inner]
            yield Item("open", match.start(), match.start(inner), name)
            yield Item("text", *match.span(inner), match[inner])
            yield Item("close", match.end(inner), match.end(), name)
        elif kind == "literal":
            yield Item("alone", *match.span())
        elif kind == "escape":
            yield Item("text", *match.span(), match[0][1:].strip())
        else:
            yield Item("protected", *match.span(), match[0])
    if at < end:
        yield Item("text", at, end, content[at:end])


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The file with the translations in place, and lines under titles as wide as the new titles."""
    decoded, listed, shape = document.skeleton
    texts = list(translations)
    named = frozenset(" ".join((match[1] or match[2]).split()).lower() for match in _NAMED.finditer(decoded.text))

    def changes(count: int) -> list[Splice]:
        some = [text if index < count else None for index, text in enumerate(texts)]
        made = splices(decoded.text, listed, some, partial(_written, named=named))
        return [*made, *_underlines(decoded.text, made), *_anonymous(decoded.text, made, named)]

    def fits(count: int) -> bool:
        content = read_again(document.path, decoded, changes(count))
        tree = _tree(document.path, content)
        return _shape(tree) == shape and len(_located(content, tree)[0]) == len(listed)

    line_of = line_numbers(decoded.text)
    while not fits(len(texts)):
        first = bisect_left(range(1, len(texts)), True, key=lambda count: not fits(count))
        texts[first] = None
        place = line_of(listed[first].begin)
        document.remarks.append(f"line {place}: not translated, because the markup around it would change")
    file.write(spliced(decoded, changes(len(texts))))


def _written(piece: UnitSpan, text: InlineText, source: Source, named: Collection[str]) -> str:
    """A translation with its markup set apart: next to letters it needs an escaped space.

    A link with an address becomes anonymous (`__`), so that two of them may have one text, unless it is in `named`.
    """
    labels = {
        piece.codes[kind, name]: source(piece.codes["open", name][1], begin)
        for (kind, name), (begin, _) in piece.codes.items()
        if kind == "close"
    }

    def markup(begin: int, end: int) -> str:
        raw = source(begin, end)
        label = labels.get((begin, end), "")
        return f"\0{raw}{'_' if raw.endswith('>`_') and _is_free(label, named) else ''}\1"

    return _apart(written(piece, text, lambda part: _SPECIAL.sub(r"\\\g<0>", part), markup))


def _is_free(label: str, named: Collection[str]) -> bool:
    """Whether nothing refers to a link by its text."""
    return " ".join(label.split()).lower() not in named


def _anonymous(content: str, made: list[Splice], named: Collection[str]) -> Iterator[Splice]:
    """The second `_` of links that are all of a text that changes."""
    for splice in made:
        match = _ADDRESS.match(content, splice.end) if content[splice.begin - 1 : splice.begin] == "`" else None
        if match and _is_free(content[splice.begin : splice.end], named):
            yield Splice(match.end(), match.end(), "_")


def _apart(text: str) -> str:
    """Markup between marks → markup with `\\ ` where a letter touches it."""
    parts = re.split("\0(.*?)\1", text, flags=re.DOTALL)
    whole = parts[0]
    opened = 0
    for index in range(1, len(parts), 2):
        markup, following = parts[index], parts[index + 1]
        closing = opened > 0 and (markup in ("*", "**") or re.match(r"\s*<", markup) is not None)
        opening = not closing and markup in ("*", "**", "`")
        if opening or closing:
            opened += 1 if opening else -1
        if not closing and whole[-1:].isalnum():
            whole += "\\ "
        whole += markup
        if not opening and following[:1].isalnum():
            whole += "\\ "
        whole += following
    return whole


def _underlines(content: str, made: list[Splice]) -> Iterator[Splice]:
    """The lines under and over titles that change, as wide as these: Korean counts two columns."""
    for splice in made:
        begin = content.rfind("\n", 0, splice.begin) + 1
        end = content.find("\n", splice.end)
        if end < 0 or content[splice.end : end].strip():
            continue
        after = content.find("\n", end + 1)
        after = len(content) if after < 0 else after
        under = content[end + 1 : after].rstrip("\r")
        if not (match := _UNDERLINE.match(under)) or "\n" in splice.written:
            continue
        title = content[begin : splice.begin] + splice.written
        indent = len(under) - len(under.lstrip())
        line = under[indent] * max(_columns(title.strip()), 2)
        over = content.rfind("\n", 0, max(begin - 1, 0)) + 1
        above = content[over : max(begin - 1, 0)].rstrip("\r")
        if above == under:
            line = under[indent] * _columns(title[indent:].rstrip())
            yield Splice(over + indent, over + len(above), line)
        yield Splice(end + 1 + indent, end + 1 + match.end(), line)


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
