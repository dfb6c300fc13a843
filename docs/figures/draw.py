"""A sheet to draw on: text, boxes, arrows, matrices and plots as SVG, in colours for light and dark."""

import re
from collections.abc import Sequence
from html import escape

import torch

# The page's theme decides (docs/_static/site.css); a file opened by itself follows the system.
STYLE = """
.dg { --ink: #1d2430; --soft: #5c6675; --rule: #b9c0cc; --paper: #fff; --box: #f1f3f7;
  --q: #1f5fd6; --k: #b4530a; --v: #15803d; --a: #7c3aed; --bad: #c02626;
  font-family: "Noto Sans KR", "Noto Sans CJK KR", "Apple SD Gothic Neo", "Malgun Gothic", "DejaVu Sans", sans-serif }
@media (prefers-color-scheme: dark) { .dg { --ink: #e6e9ef; --soft: #a5afbf; --rule: #4b5362; --paper: #16191f;
  --box: #232833; --q: #82b1ff; --k: #f5a864; --v: #74d391; --a: #c0a4ff; --bad: #ff8f8f } }
.dg text { fill: var(--ink) } .dg .soft { fill: var(--soft) } .dg .b { font-weight: 700 }
.dg .tq { fill: var(--q) } .dg .tk { fill: var(--k) } .dg .tv { fill: var(--v) } .dg .ta { fill: var(--a) }
.dg .tbad { fill: var(--bad) }
.dg .box { fill: var(--box); stroke: var(--rule) } .dg .page { fill: var(--paper) }
.dg .line { stroke: var(--soft); fill: none; stroke-width: 1.4 } .dg .thin { stroke: var(--rule); fill: none }
.dg .sq { stroke: var(--q) } .dg .sk { stroke: var(--k) } .dg .sv { stroke: var(--v) } .dg .sa { stroke: var(--a) }
.dg .sbad { stroke: var(--bad) } .dg .curve { fill: none; stroke-width: 2.2 } .dg .dash { stroke-dasharray: 5 4 }
.dg .fq { fill: var(--q) } .dg .fk { fill: var(--k) } .dg .fv { fill: var(--v) } .dg .fa { fill: var(--a) }
.dg .fbad { fill: var(--bad) } .dg .fsoft { fill: var(--soft) } .dg .cell { stroke: var(--rule); stroke-width: .8 }
"""

Rows = Sequence[Sequence[float]] | torch.Tensor
Point = tuple[float, float]


def width_of(text: str, size: float) -> float:
    """About how wide a text is: a Korean letter is as wide as high, another a little over half of it."""
    return sum(size if ord(letter) > 0x1100 and not 0x2000 <= ord(letter) < 0x2C00 else 0.58 * size for letter in text)


def raised(text: str) -> str:
    """`W^Q` and `d_k` with a superscript and a subscript."""
    parts = re.split(r"([_^])([A-Za-z]+|ᵀ)", escape(text))
    written = parts[0]
    for sign, script, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        up = -4 if sign == "^" else 3
        written += f'<tspan dy="{up}" font-size="75%">{script}</tspan>'
        written += f'<tspan dy="{-up}">{rest}</tspan>' if rest else ""
    return written


def number(value: float, digits: int) -> str:
    """`value` with a true minus sign, and no minus before 0."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


class Sheet:
    """A drawing of a given size; what is outside of it is an error."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.parts: list[str] = []

    def text(self, x: float, y: float, text: str, kind: str = "", size: float = 13, anchor: str = "start") -> None:
        """A line of text whose baseline is at `y`."""
        wide = width_of(text, size)
        left = {"start": x, "middle": x - wide / 2, "end": x - wide}[anchor]
        assert left >= -2, f"{text!r} begins left of the sheet: {left:.0f}"
        assert left + wide <= self.width + 2, f"{text!r} ends at {left + wide:.0f} of {self.width}"
        assert 0 < y <= self.height, f"{text!r} is at {y:.0f} of {self.height}"
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        name = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{place}{name}>{raised(text)}</text>')

    def lines(self, x: float, y: float, text: str, kind: str = "", size: float = 13, anchor: str = "start") -> None:
        """Lines of text, separated by `|`."""
        for row, line in enumerate(text.split("|")):
            self.text(x, y + row * size * 1.35, line, kind, size, anchor)

    def box(
        self, x: float, y: float, width: float, height: float, text: str = "", kind: str = "box", size: float = 13,
        words: str = "", radius: float = 5, opacity: float = 1,
    ) -> None:  # fmt: skip
        """A rectangle with lines of text in its middle."""
        faint = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
        at = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self.parts.append(f'<rect class="{kind}" {at} rx="{radius:g}"{faint}/>')
        if text:
            rows = text.split("|")
            top = y + height / 2 + size * 0.36 - (len(rows) - 1) * size * 0.675
            self.lines(x + width / 2, top, text, words, size, "middle")

    def path(self, commands: str, kind: str = "line") -> None:
        """Any path."""
        self.parts.append(f'<path class="{kind}" d="{commands}"/>')

    def line(self, start: Point, end: Point, kind: str = "line") -> None:
        """A straight line."""
        self.path(f"M {start[0]:.1f} {start[1]:.1f} L {end[0]:.1f} {end[1]:.1f}", kind)

    def weighted_line(self, start: Point, end: Point, kind: str, share: float) -> None:
        """A line as thick and as dark as an attention weight is large."""
        (x1, y1), (x2, y2) = start, end
        style = f'stroke-width="{0.4 + 5.6 * share:.1f}" stroke-opacity="{0.15 + 0.85 * share:.2f}"'
        self.parts.append(f'<path class="{kind}" {style} d="M {x1:.1f} {y1:.1f} L {x2:.1f} {y2:.1f}"/>')

    def arrow(self, start: Point, end: Point, kind: str = "line", head: float = 5) -> None:
        """A straight line with a head."""
        (x1, y1), (x2, y2) = start, end
        length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1e-9)
        dx, dy = (x2 - x1) / length * head, (y2 - y1) / length * head
        tip = " ".join(
            f"M {x2 - dx * 1.5 + side * dy * 0.8:.1f} {y2 - dy * 1.5 - side * dx * 0.8:.1f} L {x2:.1f} {y2:.1f}"
            for side in (1, -1)
        )
        self.path(f"M {x1:.1f} {y1:.1f} L {x2:.1f} {y2:.1f} {tip}", kind)

    def circle(self, x: float, y: float, radius: float, kind: str = "line") -> None:
        """A circle."""
        self.parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>')

    def curve(self, points: Sequence[Point], kind: str) -> None:
        """A line through many points."""
        self.path("M " + " L ".join(f"{x:.1f} {y:.1f}" for x, y in points), f"curve {kind}")

    def matrix(
        self, x: float, y: float, rows: Rows, kind: str = "a", cell: Point = (42, 24), digits: int | None = 1,
        title: str = "", left: Sequence[str] = (), top: Sequence[str] = (), scale: float = 0, size: float = 12.5,
    ) -> Point:  # fmt: skip
        """A matrix with a colour by magnitude (`scale` is the strongest; 0: no colour), and its numbers.

        Returns the right and the lower edge.
        """
        values = torch.as_tensor(rows).tolist()
        w, h = cell
        for r, row in enumerate(values):
            for c, value in enumerate(row):
                self.box(x + c * w, y + r * h, w, h, kind="cell page", radius=0)
                if scale and value == value and abs(value) != float("inf"):
                    colour = f"f{kind}" if value >= 0 else "fbad"
                    strength = min(abs(value) / scale, 1) * 0.62
                    self.box(x + c * w, y + r * h, w, h, kind=colour, radius=0, opacity=max(strength, 0.001))
                if digits is not None:
                    shown = "−∞" if value == float("-inf") else number(value, digits)
                    self.text(x + (c + 0.5) * w, y + (r + 0.5) * h + 4.5, shown, "", size, "middle")
        if title:
            self.text(x + len(values[0]) * w / 2, y - 9 - 15 * bool(top), title, f"b t{kind}", 13, "middle")
        for c, name in enumerate(top):
            self.text(x + (c + 0.5) * w, y - 6, name, "soft", 11.5, "middle")
        for r, name in enumerate(left):
            self.text(x - 7, y + (r + 0.5) * h + 4.5, name, "soft", 12, "end")
        return x + len(values[0]) * w, y + len(values) * h

    def axes(
        self, x: float, y: float, width: float, height: float, across: Sequence[tuple[float, str]],
        up: Sequence[tuple[float, str]], names: tuple[str, str] = ("", ""),
    ) -> None:  # fmt: skip
        """Axes whose lower left corner is (x, y); ticks are (part of the length, label)."""
        self.line((x, y), (x + width, y), "line")
        self.line((x, y), (x, y - height), "line")
        for part, label in across:
            self.line((x + part * width, y), (x + part * width, y + 4), "line")
            self.text(x + part * width, y + 17, label, "soft", 11.5, "middle")
        for part, label in up:
            self.line((x - 4, y - part * height), (x, y - part * height), "line")
            if part:
                self.line((x, y - part * height), (x + width, y - part * height), "thin")
            self.text(x - 7, y - part * height + 4, label, "soft", 11.5, "end")
        if names[0]:
            self.text(x + width, y + 33, names[0], "soft", 12, "end")
        if names[1]:
            self.text(x - 4, y - height - 9, names[1], "soft", 12)

    def svg(self, title: str) -> str:
        """The drawing as a file, with a name for those who do not see it."""
        box = f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" height="{self.height:g}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" class="dg" {box} role="img" aria-label="{escape(title)}">'
        page = '<rect class="page" width="100%" height="100%"/>'
        return "\n".join([head, f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", page, *self.parts]) + (
            "\n</svg>\n"
        )
