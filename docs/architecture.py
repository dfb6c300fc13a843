"""Write what `architecture.md` shows of the code: the picture of the import contracts, and a sentence for each package.

Run `python docs/architecture.py` after a contract in `pyproject.toml` or the first line of a package's docstring has
changed; a test compares the files with what this writes. The Korean sentences are in `ko/architecture.toml`.
"""

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PACKAGE = ROOT / "src/dragoman"
PICTURE = DOCS / "images/architecture.svg"
ENGLISH, KOREAN = DOCS / "architecture.md", DOCS / "ko/architecture.md"
SENTENCES = DOCS / "ko/architecture.toml"
BEGIN, END = "<!-- packages: written by docs/architecture.py -->", "<!-- end of packages -->"

Layers = list[list[str]]


def contracts() -> tuple[dict[str, Layers], set[str]]:
    """Layers by package, the top first ("" is the whole house), and the names that load no torch."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers: dict[str, Layers] = {}
    without_torch: set[str] = set()
    for rule in rules:
        if rule["type"] == "layers":
            [container] = rule["containers"]
            layers[_inside(container)] = [[name.strip() for name in row.split("|")] for row in rule["layers"]]
        elif rule["forbidden_modules"] == ["torch"] and not rule.get("allow_indirect_imports"):
            without_torch |= {_inside(name) for name in rule["source_modules"]}
    return layers, without_torch


def _inside(module: str) -> str:
    """`dragoman.data.corpus` → `data/corpus`, `dragoman` → an empty string."""
    return "/".join(module.split(".")[1:])


# ---- the sentences


def packages() -> dict[str, str]:
    """The first sentence of the docstring of each package and each module at the top, as the picture orders them."""
    layers, _ = contracts()
    names = [name for row in layers[""] for name in row]
    return {path: _sentence(path) for name in names for path in (name, *_below(name, layers.get(name, [])))}


def _below(name: str, layers: Layers) -> list[str]:
    """The folders in a package, in the order of its contract."""
    order = {part: place for place, part in enumerate(part for row in layers for part in row)}
    folders = [module.parent for module in (PACKAGE / name).glob("*/__init__.py")]
    folders.sort(key=lambda folder: (order.get(folder.name, len(order)), folder.name))
    return [folder.relative_to(PACKAGE).as_posix() for folder in folders]


def _sentence(path: str) -> str:
    module = PACKAGE / path / "__init__.py" if (PACKAGE / path).is_dir() else PACKAGE / f"{path}.py"
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    return re.split(r"(?<=[.!?]) (?=[A-Z])", paragraph)[0]


def listed(sentences: dict[str, str]) -> str:
    """A list in Markdown, an item for each package, indented by its depth."""
    items = []
    for path, sentence in sentences.items():
        indent = "  " * path.count("/")
        items.append(
            textwrap.fill(
                f"`{path}`: {sentence}" if "/" in path else f"**`{path}`**: {sentence}",
                width=118,
                initial_indent=f"{indent}- ",
                subsequent_indent=f"{indent}  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return "\n".join(items)


def page(path: Path, sentences: dict[str, str]) -> str:
    """The page with its list of packages written anew."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n\n{listed(sentences)}\n\n{END}{rest.partition(END)[2]}"


def korean() -> dict[str, str]:
    """The Korean sentence of each package; that of a package without one is empty, which a test finds."""
    sentences = tomllib.loads(SENTENCES.read_text(encoding="utf-8"))
    return {path: sentences.get(path, "") for path in packages()}


# ---- the picture

WIDTH, MARGIN, GAP, LINE = 800, 34, 7, 22
SIZE, LETTER = 12, 7.3  # of a monospaced font: the size, and the width of a letter
TITLE = 108  # the column of names
STYLE = """
  svg { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
  .page { fill: #fff } .box { fill: #f4f5f8; stroke: #c3c8d4 } .part { fill: #fff; stroke: #c3c8d4 }
  .box.free { fill: #e6f4ea; stroke: #9ccbaa } .part.free { fill: #fff; stroke: #9ccbaa }
  .other > .part.free { fill: #e6f4ea }
  text { fill: #1d2430 } .name { font-weight: 700 } .arrow { stroke: #7b8496; fill: none; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #16191f } .box { fill: #22262f; stroke: #454c5b } .part { fill: #16191f; stroke: #454c5b }
    .box.free { fill: #1d3326; stroke: #3d6b4d } .part.free { fill: #16191f; stroke: #3d6b4d }
    .other > .part.free { fill: #1d3326 }
    text { fill: #e4e7ee } .arrow { stroke: #8d96a8 }
  }
"""


@dataclass
class Box:
    """A package in the picture: its name, its parts by layer, and which of them load no torch."""

    name: str
    layers: Layers
    free: set[str]

    @property
    def chips(self) -> float:
        """The width of all parts in one line."""
        return sum(_group(layer) + CHEVRON for layer in self.layers)

    def lines(self, width: float) -> list[Layers]:
        """The layers, broken into lines of at most this width."""
        lines: list[Layers] = [[]]
        used = 0.0
        for layer in self.layers:
            if lines[-1] and used + _group(layer) > width:
                lines.append([])
                used = 0.0
            lines[-1].append(layer)
            used += _group(layer) + CHEVRON
        return lines if self.layers else []


CHEVRON = 15


def _chip(name: str) -> float:
    return len(name) * LETTER + 10


def _group(layer: Sequence[str]) -> float:
    return sum(_chip(name) + 3 for name in layer)


def picture() -> str:
    """The contracts as SVG: a row for each layer of the house; inside a box, layers from left to right."""
    layers, free = contracts()
    drawn: list[str] = []
    y = 12.0
    for row in layers[""]:
        boxes = [Box(name, layers.get(name, []), free) for name in row]
        alone = len(boxes) == 1
        widths = _widths(boxes)
        rows = [box.lines(width - (TITLE + 8 if alone else 26)) for box, width in zip(boxes, widths, strict=True)]
        deep = max(len(lines) for lines in rows)
        titled = not alone and deep > 0
        height = max(LINE * (deep + titled), LINE) + 8
        x = float(MARGIN)
        for box, width, lines in zip(boxes, widths, rows, strict=True):
            drawn += _draw(box, lines, (x, y, width, height), alone)
            x += width + GAP
        y += height + GAP
    arrow = f'<path class="arrow" d="M 16 14 V {y - 12:g} m -5 -7 l 5 7 l 5 -7"/>'
    size = f'viewBox="0 0 {WIDTH} {y + 5:g}" width="{WIDTH}" height="{y + 5:g}"'
    title = "<title>The packages of Dragoman: each imports only what is below it</title>"
    background = '<rect class="page" width="100%" height="100%" rx="6"/>'
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', title, f"<style>{STYLE}</style>", background, arrow]
    return "\n".join([*head, *drawn, "</svg>", ""])


def _widths(boxes: Sequence[Box]) -> list[float]:
    """Boxes without parts are as wide as their names; the others share what is left by the width of their parts."""
    space = WIDTH - MARGIN - 12 - GAP * (len(boxes) - 1)
    if not any(box.layers for box in boxes):
        return [space / len(boxes)] * len(boxes)
    plain = {box.name: len(box.name) * LETTER + 24 for box in boxes if not box.layers}
    total = sum(box.chips for box in boxes)
    left = space - sum(plain.values())
    return [plain.get(box.name, left * box.chips / total) for box in boxes]


def _draw(box: Box, lines: list[Layers], place: tuple[float, float, float, float], alone: bool) -> Iterator[str]:
    x, y, width, height = place
    free = box.name in box.free
    yield f'<g class="{"free" if free else "other"}">'
    yield _rectangle("box", free, x, y, width, height, 5)
    beside = alone or not lines
    yield _text(box.name, x + 10, y + (height / 2 if beside else LINE / 2 + 4), "name")
    top = y + 4 + (0 if beside else LINE)
    for number, line in enumerate(lines):
        start = x + (TITLE if alone else 20)
        for place_, layer in enumerate(line):
            if place_ or number:
                middle = top + LINE / 2
                yield f'<path class="arrow" d="M {start - 10:g} {middle - 4:g} l 4 4 l -4 4"/>'
            for name in layer:
                part_free = free or f"{box.name}/{name}" in box.free
                yield _rectangle("part", part_free, start, top + 2, _chip(name), LINE - 4, 4)
                yield _text(name, start + 5, top + LINE / 2, "part-name")
                start += _chip(name) + 3
            start += CHEVRON
        top += LINE
    yield "</g>"


def _rectangle(kind: str, free: bool, x: float, y: float, width: float, height: float, radius: float) -> str:
    kind += " free" * free
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" rx="{radius:g}"/>'


def _text(text: str, x: float, middle: float, kind: str) -> str:
    weight = f' class="{kind}"' if kind == "name" else ""
    # A fixed length keeps a name inside its chip whatever font the reader has.
    length = f' textLength="{len(text) * LETTER - 1:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text{weight} x="{x:g}" y="{middle + 4:g}"{length}>{escape(text)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    ENGLISH.write_text(page(ENGLISH, packages()), encoding="utf-8")
    KOREAN.write_text(page(KOREAN, korean()), encoding="utf-8")
