"""Quality against operations of training, as a drawing: what `comparison.py` printed → an SVG, and one JSON object.

    python reproduce/comparison_curves.py FILE ... -o curves.svg [--corpus multi30k|koen_open]

FILE is what `comparison.py` printed, or `results.md`, of which `docs/images/curves.svg` is the drawing: of every line
of JSON about the corpus the reports are taken, one for each budget of operations. On the left is the BLEU of the first
test set at the end of each run, by its operations; on the right the validation loss. Thin lines are the losses within a
run, whose learning rate has not yet decayed there. Nothing is drawn between systems that no run has. The last line
printed is the table as JSON, with the operations at which two systems cross, where budgets on both sides of the
crossing were trained.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
KINDS = {"Transformer": "q", "ConvS2S": "k", "RNN-attention": "v", "RNN": "a", "ByteNet": "bad"}
# Runs of one budget differ by less: whole updates make it up.
ALIKE = 1.1
WIDTH, HEIGHT, LEFT, BASE = 280, 230, 64, 290


@dataclass(frozen=True)
class Point:
    """The end of a run."""

    flops: float
    bleu: float
    loss: float
    curve: tuple[tuple[float, float], ...]
    """(operations, validation loss) within the run."""


Curves = dict[str, list[Point]]


def reports_of(lines: Iterable[str], corpus: str) -> list[dict[str, Any]]:
    """The reports of `comparison.py` about a corpus: those of each budget, or of the only one."""
    found = [json.loads(line) for line in lines if line.startswith('{"corpus": ')]
    reports = [report for line in found for report in line.get("budgets", [line])]
    return [report for report in reports if report["corpus"] == corpus]


def curves_of(reports: Iterable[dict[str, Any]]) -> Curves:
    """By system its points, from the smallest budget to the largest."""
    curves: Curves = {}
    for report in reports:
        scores = next(iter(report["tests"].values()))
        for name, system in report["systems"].items():
            loss = min(system["losses"].values())
            point = Point(system["flops"], scores[name]["BLEU"][0], loss, _within(system))
            curves.setdefault(name, []).append(point)
    return {name: sorted(points, key=lambda point: point.flops) for name, points in curves.items()}


def _within(system: dict[str, Any]) -> tuple[tuple[float, float], ...]:
    """The losses within a run; older reports have pairs of update and loss."""
    per_update = system["flops"] / system["updates"]
    rows = [
        (row["flops"], row["loss"]) if isinstance(row, dict) else (row[0] * per_update, row[1])
        for row in system["curve"]
    ]
    return tuple((flops, loss) for flops, loss in rows if loss is not None)


def crossings(curves: Curves) -> dict[str, float]:
    """The operations at which the BLEU of two systems is equal, between two budgets that both have; the last one."""
    crossed = {}
    for (first, left), (second, right) in combinations(curves.items(), 2):
        of_one_budget = [(a, b) for a in left for b in right if 1 / ALIKE < a.flops / b.flops < ALIKE]
        gaps = [(math.log(a.flops), a.bleu - b.bleu) for a, b in of_one_budget]
        for (x1, y1), (x2, y2) in pairwise(gaps):
            if y1 * y2 < 0:
                crossed[f"{first} and {second}"] = math.exp(x1 + (x2 - x1) * y1 / (y1 - y2))
    return crossed


def draw(curves: Curves, corpus: str) -> str:
    """The two plots as SVG."""
    if str(DOCS) not in sys.path:
        sys.path.insert(0, str(DOCS))
    from figures.draw import Sheet

    sheet = Sheet(2 * LEFT + 2 * WIDTH + 30, BASE + 86)
    points = [point for system in curves.values() for point in system]
    ends = [x for point in points for x in (point.flops, *(flops for flops, _ in point.curve))]
    low, high = math.floor(math.log10(min(ends))), math.ceil(math.log10(max(ends)))
    losses = [loss for point in points for loss in (point.loss, *(loss for _, loss in point.curve))]
    ranges = {"BLEU": (0, max(point.bleu for point in points)), "validation loss": (min(losses), max(losses))}
    ticks = [((power - low) / (high - low), f"1e{power}") for power in range(low, high + 1)]
    for panel, (title, (least, most)) in enumerate(ranges.items()):
        left, bottom, top = LEFT + panel * (LEFT + WIDTH), math.floor(least), math.ceil(most)
        step = max(1, round((top - bottom) / 5))
        up = [((value - bottom) / (top - bottom), str(value)) for value in range(bottom, top + 1, step)]
        sheet.axes(left, BASE, WIDTH, HEIGHT, ticks, up, ("operations of training", title))

        def place(flops: float, value: float, left=left, bottom=bottom, top=top) -> tuple[float, float]:
            share = (math.log10(flops) - low) / (high - low), (value - bottom) / (top - bottom)
            return left + WIDTH * share[0], BASE - HEIGHT * share[1]

        for name, system in curves.items():
            kind = KINDS.get(name, "bad")
            values = [place(point.flops, point.bleu if title == "BLEU" else point.loss) for point in system]
            if len(values) > 1:
                sheet.curve(values, f"s{kind}")
            for x, y in values:
                sheet.circle(x, y, 4, f"f{kind}")
            for point in system if title != "BLEU" else ():
                if len(point.curve) > 1:
                    path = " L ".join(f"{x:.1f} {y:.1f}" for x, y in (place(*pair) for pair in point.curve))
                    sheet.path(f"M {path}", f"line s{kind}")
    for place_of_name, name in enumerate(curves):
        sheet.text(LEFT + 150 * place_of_name, BASE + 76, name, f"b t{KINDS.get(name, 'bad')}", 12.5)
    return sheet.svg(f"{corpus}: quality against operations of training")


def table(curves: Curves) -> dict[str, Any]:
    """The drawing's numbers, for the JSON."""
    rows = {
        name: [{"flops": point.flops, "bleu": point.bleu, "loss": point.loss} for point in system]
        for name, system in curves.items()
    }
    return {"systems": rows, "crossings": crossings(curves)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read, draw, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("curves.svg"))
    parser.add_argument("--corpus", default="multi30k")
    options = parser.parse_args(arguments)
    lines = [line for file in options.files for line in file.read_text(encoding="utf-8").splitlines()]
    curves = curves_of(reports_of(lines, options.corpus))
    if not curves:
        raise SystemExit(f"no line of comparison.py about {options.corpus} in {', '.join(map(str, options.files))}")
    options.output.write_text(draw(curves, options.corpus), encoding="utf-8")
    for name, points in curves.items():
        shown = "   ".join(f"{point.flops:.2e}: {point.bleu:.1f} BLEU, loss {point.loss:.3f}" for point in points)
        print(f"{name:14} {shown}")
    print(json.dumps({"corpus": options.corpus, "drawing": str(options.output), **table(curves)}))


if __name__ == "__main__":
    main()
