"""A page of the course → a Jupyter notebook: its text, its code, what the code prints, and its figures.

Code cells are the page's blocks of Python, character for character; the box below a block is the cell's output, until a
reader runs it. Answers stay folded. A notebook needs no other file: figures are attached to the cells that show them.
The site has them beside their pages; `python docs/notebooks.py FOLDER` writes them anywhere else.
"""

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
# A block of code and, if one follows, the box that shows what it prints.
SNIPPET = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
MATH = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+/)([\w.-]+\.svg)\)")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|attachment:)([^)\s]+)\)")
COURSE = re.compile(r"(\d\d-[\w-]+)\.md(#.*)?$")
HOW = {
    "en": "From the course of Dragoman. It needs the package with its extra `train`; run the cells from the top.",
    "ko": "드래고만의 강의입니다. `train`을 포함해 설치한 패키지가 필요하며, 셀은 위에서부터 차례로 실행합니다.",
}
Cell = dict[str, Any]


def pages() -> list[Path]:
    """The pages of the course that have code, in both languages."""
    return sorted(path for folder in ("learn", "ko/learn") for path in (DOCS / folder).glob("[0-9]*.md"))


def notebook(page: Path) -> dict[str, Any]:
    """The notebook of a page, in the form 4.5 of Jupyter."""
    language = "ko" if "ko" in page.relative_to(DOCS).parts else "en"
    text = page.read_text(encoding="utf-8")
    title, _, rest = text.partition("\n\n")
    _, _, rest = rest.partition("\n\n")  # the links to the other language and to the contents
    cells, place = [_text(f"{title}\n\n{HOW[language]}", page)], 0
    for block in SNIPPET.finditer(rest):
        cells += [_text(rest[place : block.start()], page), _code(block[1], block[2])]
        place = block.end()
    cells.append(_text(rest[place:], page))
    cells = [cell for cell in cells if cell["source"]]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def write(folder: Path) -> None:
    """Every notebook, each where its page is in the site."""
    for page in pages():
        path = (folder / page.relative_to(DOCS)).with_suffix(".ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(notebook(page), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _code(code: str, printed: str) -> Cell:
    """A cell of code, and what it prints."""
    output = {"output_type": "stream", "name": "stdout", "text": _lines(printed)}
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [output] if printed else [],
        "source": _lines(code.rstrip("\n")),
    }


def _text(text: str, page: Path) -> Cell:
    """A cell of text: formulas between dollars, figures attached, links to other pages as links to their notebooks."""
    figures: dict[str, dict[str, str]] = {}

    def attached(match: re.Match[str]) -> str:
        drawing = (page.parent / match[2] / match[3]).read_bytes()
        figures[match[3]] = {"image/svg+xml": base64.b64encode(drawing).decode("ascii")}
        return f"![{match[1]}](attachment:{match[3]})"

    def linked(match: re.Match[str]) -> str:
        other = COURSE.search(match[2])
        return f"[{match[1]}]({other[1]}.ipynb)" if other else match[1]

    text = MATH.sub(lambda match: f"$$\n{match[1]}$$", text.strip())
    text = LINK.sub(linked, FIGURE.sub(attached, text))
    cell: Cell = {"cell_type": "markdown", "metadata": {}, "source": _lines(text)}
    return cell | ({"attachments": figures} if figures else {})


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
