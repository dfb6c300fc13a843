"""MDX (`.mdx`): Markdown whose JSX, expressions and `import`/`export` lines stay byte for byte.

What is not Markdown is masked before the Markdown reader sees it, by comments and tags of HTML, and put back into what
it writes. Texts in attributes that HTML has too (`title`, `alt`) are translated where no attribute is an expression.
"""

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.splice import UnreadableTranslation, decode
from dragoman.documents.markup import markdown
from dragoman.documents.markup.front_matter import FRONT_MATTER, front_matter
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

# Code and formulas, in which nothing is masked; lines of a module; an escape, a tag, an expression.
_NEXT = re.compile(
    r"""(?P<fence>^[ ]{0,12}(?P<mark>`{3,}|~{3,})[^\n]*\n(?:(?![ ]*(?P=mark))[^\n]*\n)*(?:[ ]*(?P=mark)[^\n]*)?)
      | (?P<code>(?<!`)(?P<ticks>`{1,9})(?!`)(?:[^`\n]|\n(?!\s*\n)|(?!(?P=ticks)(?!`))`+){1,2000}?(?P=ticks)(?!`))
      | (?P<math>\$\$.{1,3000}?\$\$ | (?<![\w\\$])\$(?![\s$])[^$\n]{1,300}?(?<!\s)\$(?!\w))
      | (?P<module>^(?:import|export)(?=[ \t{*"']))
      | (?P<escape>\\[{}]) | (?P<comment><!--.*?-->)
      | (?P<tag><(?P<close>/?)(?:(?P<name>[A-Za-z_$][\w$.:-]*)(?=[\s/>])|(?=>))) | (?P<brace>\{)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_QUOTED = re.compile(r""""(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|`(?:[^`\\]|\\.)*+`|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_HTML = re.compile(r"[a-z][a-z0-9-]*")
_ATTRIBUTES = re.compile(r"""(?:\s+[\w:-]+(?:\s*=\s*(?:"[^"{}\n\f<>]*"|'[^'{}\n\f<>]*'))?)*\s*""")
_CUT = "\n\n<!--mdx-cut-->"
_MASK = re.compile(rf"{_CUT}|<!--mdx:(\d+)\s*-->|<(/?)mdx-(\d+)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
_ANY_MASK = re.compile("<!--mdx|</?mdx-")
# Line ends inside of a tag are written so: Markdown would read `>` on a line of its own as a block.
_LINE_ENDS = str.maketrans({"\n": "\f ", "\r": "\f\f"})
# What a translation has of these is no syntax: as long as what is written in their place is put back.
_SYNTAX = {"{": ("\ue0f0", "&#123;"), "}": ("\ue0f1", "&#125;"), "<": ("\ue0f2", "&lt;")}


@dataclass(slots=True)
class _MdxMasks:
    """What is masked, by its number: a whole text, or the name of a tag."""

    texts: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    opened: list[tuple[str, int | None]] = field(default_factory=list)

    def comment(self, text: str) -> str:
        """A comment of as many lines in place of lines that stay."""
        self.texts.append(text)
        newlines = "\n" * text.count("\n")
        return f"<!--mdx:{len(self.texts) - 1}{newlines}-->"

    def alone(self, text: str) -> str:
        self.texts.append(text)
        return f'<mdx-{len(self.texts) - 1} data-mdx="1"/>'

    def tag(self, tag: str, name: str, is_close: bool) -> str:
        """A tag as HTML has it: with a number for a name that HTML has not, and without expressions."""
        if is_close:
            names = [opened for opened, _ in self.opened]
            if name not in names:
                return self.alone(tag)
            at = len(names) - 1 - names[::-1].index(name)
            number = self.opened[at][1]
            del self.opened[at:]
            return tag if number is None else f"</mdx-{number}>"
        end = "/>" if tag.endswith("/>") else ">"
        whole, tag = tag, tag.translate(_LINE_ENDS)
        attributes = tag[1 + len(name) : -len(end)]
        is_plain = _ATTRIBUTES.fullmatch(attributes) is not None
        if is_plain and _HTML.fullmatch(name):
            if end == ">":
                self.opened.append((name, None))
            return tag
        number = len(self.texts)
        self.texts.append(whole)
        self.names[number] = name
        if end == ">":
            self.opened.append((name, number))
        shown = attributes if is_plain else ' data-mdx="1"'
        return f"<mdx-{number}{shown}{end}"

    def restored(self, text: str) -> str:
        """Text with everything in its place again."""

        def put(match: re.Match[str]) -> str:
            if match[0] == _CUT:
                return ""
            if match[1]:
                return self.texts[int(match[1])]
            number = int(match[3])
            if match[2]:
                return f"</{self.names[number]}>"
            return self.texts[number] if "data-mdx" in match[4] else f"<{self.names[number]}{match[4]}>"

        for character, entity in _SYNTAX.values():
            text = text.replace(character, entity)
        return re.sub(r"\f([\f ])", lambda match: "\r\n"[match[1] == " "], _MASK.sub(put, text))


@dataclass(frozen=True, slots=True)
class _Masked:
    """The text that the Markdown reader sees, what is masked in it, and where it has other lines than the file."""

    text: str
    masks: _MdxMasks
    shifts: list[tuple[int, int]]
    """A line of the text, and how many more there are up to its end than in the file; fewer are negative."""

    def located(self, location: str) -> str:
        """A location in the file."""
        match = re.match(r"line (\d+)", location)
        if match is None:
            return location
        before = bisect_left(self.shifts, int(match[1]), key=lambda shift: shift[0])
        more = self.shifts[before - 1][1] if before else 0
        return f"line {int(match[1]) - more}{location[match.end() :]}"

    def check(self, path: Path, written: str) -> None:
        """Raise DataError unless a translation of the text has what is masked, as often."""
        if _masks(written) != _masks(self.text):
            raise UnreadableTranslation(f"{path}: its translation has other tags or expressions; please report it")


def _masks(text: str) -> Counter[tuple[str, ...]]:
    return Counter(match.group(1, 2, 3) for match in _MASK.finditer(text))


def read(path: Path, options: DocumentOptions) -> Document:
    """The texts of an MDX file. Raises DataError with the line for an expression that does not end."""
    decoded = decode(path, path.read_bytes())
    if _ANY_MASK.search(decoded.text) or re.search("[\f\ue0f0-\ue0f2]", decoded.text):
        raise DataError(f"{path}: has form feeds, private characters, or tags that begin with mdx; replace them")
    masked = _masked(path, decoded.text)
    inner = markdown.parse(path, decoded.mark + decoded.encode(masked.text))
    units = [replace(unit, location=masked.located(unit.location)) for unit in inner.units]
    notices = [masked.located(notice) for notice in inner.notices]
    notices += [f"{unit.location}: has an expression and stays untranslated" for unit in units if _has_mask(unit)]
    shown = [unit for unit in units if not _has_mask(unit)]
    return Document(path, shown, (inner, masked, decoded), tuple(notices))


def _has_mask(unit: Unit) -> bool:
    """Whether an expression is in the text, as in that of an image, which has no codes."""
    return _MASK.search(unit.source.text) is not None


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The MDX file with the translations in place of its texts. Raises DataError if an expression would be missing."""
    inner, masked, decoded = document.skeleton
    remaining, texts = iter(translations), list[InlineText | None]()
    for unit in inner.units:
        new = None if _has_mask(unit) else next(remaining)
        is_copied = new is None or new.text == unit.source.text or unit.context == FRONT_MATTER
        texts.append(new if new is None or is_copied else _without_syntax(new))
    assert next(remaining, remaining) is remaining, "one translation for each unit"
    out = BytesIO()
    inner.remarks.clear()
    markdown.write(inner, texts, options, out)
    document.remarks.extend(masked.located(remark) for remark in inner.remarks)
    written = out.getvalue()[len(decoded.mark) :].decode(decoded.encoding)
    masked.check(document.path, written)
    restored = masked.masks.restored(written)
    if _ANY_MASK.search(restored):
        raise UnreadableTranslation(f"{document.path}: its translation would lose a tag; please report it")
    file.write(decoded.mark + decoded.encode(restored))


def _without_syntax(inline: InlineText) -> InlineText:
    """A translation with other characters for what MDX would read, but for what is copied."""
    text, at = "", 0
    others = str.maketrans({character: other for character, (other, _) in _SYNTAX.items()})
    for begin, end in (*sorted(inline.protected), (len(inline.text), len(inline.text))):
        text += inline.text[at:begin].translate(others) + inline.text[begin:end]
        at = max(at, end)
    return replace(inline, text=text)


def _masked(path: Path, text: str) -> _Masked:
    masks, shifts, more = _MdxMasks(), list[tuple[int, int]](), 0
    front, _, _ = front_matter(text)
    at = sum(map(len, text.splitlines(keepends=True)[:front]))
    parts, first = [text[:at]], at
    line = text.count("\n", 0, at) + 1
    while match := _NEXT.search(text, at):
        begin, end = match.span()
        mask = match[0]
        if match["module"] and (begin == first or re.search(r"\n[ \t]*\r?\n$", text[max(begin - 99, 0) : begin])):
            end = _module_end(text, begin)
            mask = masks.comment(text[begin:end])
        elif match["brace"]:
            end = _ended(path, text, begin)
            is_block = _is_line(text, begin, end)
            mask = masks.comment(text[begin:end]) if is_block else masks.alone(text[begin:end])
        elif match["tag"]:
            end = _ended(path, text, begin)
            mask = masks.tag(text[begin:end], match["name"] or "", bool(match["close"]))
            # Markdown would read what follows a tag on a line of its own as HTML.
            if _is_line(text, begin, end) and re.match(r"\r?\n[ \t]*[^\s<{]", text[end : end + 200]):
                mask += _CUT
        elif match["escape"]:
            mask = masks.alone(mask)
        parts += [text[at:begin], mask]
        line += text.count("\n", at, begin) + mask.count("\n")
        more += mask.count("\n") - text.count("\n", begin, end)
        shifts.append((line, more))
        at = end
    return _Masked("".join([*parts, text[at:]]), masks, shifts)


def _is_line(text: str, begin: int, end: int) -> bool:
    """Whether nothing else is on the lines of a part."""
    before = text[text.rfind("\n", 0, begin) + 1 : begin]
    return not before.strip() and re.match(r"[ \t]*(?:\r?\n|$)", text[end : end + 200]) is not None


def _ended(path: Path, text: str, begin: int) -> int:
    """Where the expression or the tag that begins here ends. Raises DataError if it does not."""
    depth, at, is_tag = 0, begin, text[begin] == "<"
    while at < len(text):
        character = text[at]
        if character in "\"'`/" and (depth or is_tag) and (quoted := _QUOTED.match(text, at)):
            at = quoted.end() if depth or character in "\"'" else at + 1
            continue
        depth += (character == "{") - (character == "}")
        at += 1
        if depth == 0 and (character == ">" if is_tag else character == "}"):
            return at
    line, what = text.count("\n", 0, begin) + 1, "tag" if is_tag else "expression in braces"
    raise DataError(f"{path}:{line}: this {what} does not end; repair it")


def _module_end(text: str, begin: int) -> int:
    """Where the block of `import` and `export` lines ends: at a blank line outside of all brackets."""
    for blank in re.finditer(r"\r?\n[ \t]*(?=\r?\n)|\s*\Z", text[begin:]):
        code = _QUOTED.sub("", text[begin : begin + blank.start()])
        if sum(map(code.count, "({[")) <= sum(map(code.count, ")}]")):
            return begin + blank.start()
    return len(text)
