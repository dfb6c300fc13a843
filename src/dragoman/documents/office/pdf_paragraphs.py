"""The lines of a PDF → its paragraphs, headings and lists.

Lines are one paragraph until the type, the distance, the indent or the end of a sentence says otherwise. They are
joined as the words of the whole document suggest: with or without a hyphen, with or without a space.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

UNKNOWN = re.compile(r"\(cid:\d+\)|[\ufffd\ue000-\uf8ff]")
_BULLET = re.compile(r"(?:[•◦▪▫‣⁃●○■□◆◇※·∙\uf0b7]|[*–—-](?=\s))\s*(?=\S)")
_NUMBER = re.compile(r"(?:\(?\d{1,3}(?:\.\d{1,3})*[.)]|\([a-z가-힣]\)|[a-z가-하]\.|\d{1,3}(?:\.\d{1,3})+)\s+(?=\S)")
_LEADER = re.compile(r"\s*(?:\. ?){5}[. ]*[\divxlc]*\s*$")
_ENDS = re.compile(r"[.!?:;。！？…]['\")\]”’」』]*$")
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uff00-\uffef"
_HANGUL = "\uac00-\ud7a3"


@dataclass(frozen=True, slots=True)
class PdfLine:
    """A line of a page: its text, box, size of letters, and the edges of the block that it is in."""

    text: str
    left: float
    right: float
    top: float
    bottom: float
    size: float
    bold: bool
    block: tuple[float, float]
    page: int
    edge: bool = False
    """Whether it is in the margin at the top or at the bottom of its page."""


def paragraphs_of(lines: Sequence[PdfLine]) -> list[tuple[str, str, str, int]]:
    """Of each paragraph its style ("", "list", "1" to "3": headings), what is before its text, the text, the page."""
    groups = list(_grouped(lines))
    sizes = Counter[float]()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    larger = sorted({round(group[0].size) for group in groups if group[0].size > 1.12 * body}, reverse=True)
    join = LineJoiner(lines)
    return [paragraph for group in groups if (paragraph := _paragraph(group, join, body, larger))]


def _paragraph(
    group: Sequence[PdfLine], join: "LineJoiner", body: float, larger: Sequence[int]
) -> tuple[str, str, str, int] | None:
    text = " ".join(UNKNOWN.sub("", join.joined([line.text for line in group])).split())
    text = _LEADER.sub("", text)
    bullet, number = _BULLET.match(text), _NUMBER.match(text)
    style, prefix, first = "", "", group[0]
    if first.size > 1.12 * body and len(text) < 250:
        style = str(min(3, larger.index(round(first.size)) + 1))
    elif first.bold and len(group) < 3 and len(text) < 100 and not _ENDS.search(text):
        style = str(min(3, len(larger) + 1))
    elif bullet:
        style, prefix = "list", "•"
    if bullet and style == "list":
        text = text[bullet.end() :]
    elif number:
        prefix, text = number[0].strip(), text[number.end() :]
    return (style, prefix, text, first.page) if any(map(str.isalnum, text)) else None


def _grouped(lines: Sequence[PdfLine]) -> Iterator[list[PdfLine]]:
    group: list[PdfLine] = []
    for line in lines:
        if group and not _continues(group, line):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _continues(group: Sequence[PdfLine], line: PdfLine) -> bool:
    """Whether a line continues the paragraph of the lines before it."""
    last = group[-1]
    if abs(last.size - line.size) > 0.08 * last.size or last.bold != line.bold:
        return False
    if _BULLET.match(line.text) or (_NUMBER.match(line.text) and _ENDS.search(last.text.rstrip())):
        return False
    ended = _ENDS.search(last.text.rstrip()) is not None
    right, gap = max(last.block[1], line.block[1]), last.bottom - line.top
    below = last.page == line.page and -0.6 * line.size <= gap <= 0.9 * line.size and line.left < last.right
    if not below:  # next to it, after a gap, in the next column or on the next page
        begins = re.match(rf"\s*[{_HANGUL}{_UNSPACED}]|\s*(?=[^\W\d_])[^A-Z]", line.text) is not None
        same_block = (last.page, last.block) == (line.page, line.block)
        return not (ended or same_block or last.right < last.block[1] - 4 * last.size) and begins
    if len(group) > 1 and group[-2].page == last.page and gap > group[-2].bottom - last.top + 0.35 * line.size:
        return False
    is_indented = line.left > line.block[0] + 0.8 * line.size and last.left < last.block[0] + 0.5 * line.size
    if (is_indented and not _BULLET.match(group[0].text)) or _LEADER.search(last.text):
        return False
    # A word that would have fitted into the line before begins a paragraph.
    word = line.text.strip().partition(" ")[0]
    space = right - last.right - len(word) / max(len(line.text.strip()), 1) * (line.right - line.left)
    return space < (line.size if ended else 0.3 * (right - line.block[0]))


class LineJoiner:
    """Joins the lines of a paragraph as the words of the whole document suggest."""

    def __init__(self, lines: Iterable[PdfLine]) -> None:
        texts = [line.text for line in lines]
        self.words = Counter(word for text in texts for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", text))
        hangul = [text for text in texts if re.search(f"[{_HANGUL}]\\s*$", text)]
        # Where lines end with the space that they are broken at, one without it is broken inside of a word.
        self.has_spaces = 5 * sum(text.endswith(" ") for text in hangul) > len(hangul)

    def joined(self, texts: Sequence[str]) -> str:
        result = texts[0]
        for text in texts[1:]:
            result = self._two(result, text.lstrip())
        # The layout analysis finds a space before the full stop of justified Hangul.
        return re.sub(rf"(?<=[{_HANGUL}]) (?=[.,!?](?:\s|$))", "", result.replace("\u00ad", ""))

    def _two(self, first: str, second: str) -> str:
        cut = re.search(r"([^\W\d_]+)([-\u00ad‐])\s*$", first)
        word = re.match(r"[^\W\d_]+", second)
        if cut and word and word[0][0].islower():
            whole, hyphenated = cut[1] + word[0], f"{cut[1]}-{word[0]}"
            hyphen = "-" if self.words[hyphenated] > self.words[whole] else ""
            return first[: cut.start(2)] + hyphen + second
        if re.search(f"[{_UNSPACED}]$", first) and re.match(f"[{_UNSPACED}]", second):
            return first + second
        inside = re.search(f"[{_HANGUL}]$", first) and re.match(f"[{_HANGUL}]", second)
        return first + ("" if first[-1:].isspace() or (inside and self.has_spaces) else " ") + second
