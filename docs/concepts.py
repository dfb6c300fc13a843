"""Write `learn/concepts.md`, in English and Korean: where the course has each concept of `concepts.toml`.

Run `python docs/concepts.py` after a heading, a block of code or a figure of the course has changed; a test compares
the pages with what this writes.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parent
TABLE = DOCS / "concepts.toml"
PAGES = {"en": DOCS / "learn/concepts.md", "ko": DOCS / "ko/learn/concepts.md"}
MISREADINGS, MISREADING = "16", {"en": "Misreading", "ko": "오해"}
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
HEADS = {
    "en": """\
# Map of the concepts

[한국어](../ko/learn/concepts.md) · [contents](index.md)

The {count} concepts that tutorials of the paper teach, and the sections of this course that have them. *Code* counts
the blocks of those sections: `test_a_page_prints_what_it_shows` of `tests/test_learn.py` runs each and compares what it
prints, and another test finds the same code in Korean. In full: {good}; briefly: {thin}; missing: none.
`python docs/concepts.py` writes this page from `docs/concepts.toml`.

| | concept | where | code | figures |
| --- | --- | --- | --- | --- |
""",
    "ko": """\
# 개념 지도

[English](../../learn/concepts.md) · [차례](index.md)

논문을 다루는 튜토리얼이 가르치는 개념 {count}개와, 이 강의에서 그 개념을 다루는 곳입니다.
*코드*는 그곳에 있는 코드의 수이고, 모두 `tests/test_learn.py`의 `test_a_page_prints_what_it_shows`가
실행해 출력을 비교합니다. 충분히 다룬 개념이 {good}개, 짧게 다룬 개념이 {thin}개, 빠진 개념은 없습니다.
이 글은 `python docs/concepts.py`가 `docs/concepts.toml`에서 만듭니다.

| | 개념 | 다루는 곳 | 코드 | 그림 |
| --- | --- | --- | --- | --- |
""",
}
SECOND_HEADS = {
    "en": "\n## Misreadings\n\nStatements that are often read and are wrong. Each has an experiment of a few lines.\n\n"
    "| | often read | code |\n| --- | --- | --- |\n",
    "ko": "\n## 오해\n\n자주 볼 수 있지만 틀린 서술입니다. 저마다 몇 줄짜리 실험이 있습니다.\n\n"
    "| | 자주 볼 수 있는 서술 | 코드 |\n| --- | --- | --- |\n",
}


@dataclass(frozen=True)
class Part:
    """A section of a page of the course; the one before the first heading has the page's title."""

    page: str
    """The name of its file."""
    heading: str
    anchor: str
    text: str

    @property
    def blocks(self) -> int:
        """How many blocks of Python it has."""
        return len(re.findall(r"^```python$", self.text, re.MULTILINE))

    @property
    def figures(self) -> int:
        """How many figures it has."""
        return self.text.count("images/learn/")

    def link(self, language: str) -> str:
        """A link to it, with the number of its page; a misreading's has its number only."""
        name = f"{int(self.page[:2])}. {self.heading}"
        if self.page.startswith(MISREADINGS):
            name = f"{int(self.page[:2])}. {MISREADING[language]} {self.heading.partition('.')[0]}"
        return f"[{name}]({self.page}{self.anchor})"


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST write it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def parts(folder: Path) -> dict[str, list[Part]]:
    """The sections of every page in a folder, by the first two digits of its name."""
    found = {}
    for path in sorted(folder.glob("[0-9]*.md")):
        first, *rest = HEADING.split(path.read_text(encoding="utf-8"))
        title = first.partition("\n")[0].removeprefix("# ").partition(". ")[2]
        sections = [Part(path.name, title, "", first)]
        for heading, text in zip(rest[::2], rest[1::2], strict=True):
            sections.append(Part(path.name, heading, f"#{slug(heading)}", text))
        found[path.name[:2]] = sections
    return found


def table() -> tuple[list[tuple[dict[str, str], list[tuple[str, int]]]], list[int]]:
    """Of each concept its names and its places, as page and index of the section; the numbers of thin ones.

    Raises StopIteration for a heading that no page has.
    """
    file, english = tomllib.loads(TABLE.read_text(encoding="utf-8")), parts(DOCS / "learn")
    rows = []
    for in_english, in_korean, *places in file["concepts"]:
        found = []
        for place in places:
            page, _, begin = place.partition("#")
            sections = english[page]
            index = next(i for i, part in enumerate(sections) if i and part.heading.startswith(begin)) if begin else 0
            found.append((page, index))
        rows.append(({"en": in_english, "ko": in_korean}, found))
    return rows, file["thin"]


def page(language: str) -> str:
    """The page in a language."""
    rows, thin = table()
    sections = parts(PAGES[language].parent)
    text = HEADS[language].format(count=len(rows), good=len(rows) - len(thin), thin=len(thin))
    for number, (names, places) in enumerate(rows, 1):
        named = [sections[name][index] for name, index in places]
        links = " · ".join(part.link(language) for part in named)
        counts = f"{sum(part.blocks for part in named)} | {sum(part.figures for part in named) or ''}"
        text += f"| {number} | {names[language]} | {links} | {counts} |\n"
    text += SECOND_HEADS[language]
    for part in sections[MISREADINGS][1:-1]:
        number, _, statement = part.heading.partition(". ")
        text += f"| {number} | [{statement}]({part.page}{part.anchor}) | {part.blocks} |\n"
    return text


if __name__ == "__main__":
    for language, path in PAGES.items():
        path.write_text(page(language), encoding="utf-8")
