"""Figures of pages 8, 10, 14 and 15: the cache, the beam, dual learning, tokens of anything."""

from typing import Any

import torch

from figures.draw import Sheet, number

# P(next word | words so far) of the imagined model of page 10.
NEXT: dict[tuple[str, ...], dict[str, float]] = {
    (): {"나는": 0.6, "저는": 0.4},
    ("나는",): {"학생입니다": 0.4, "학생이다": 0.35, ".": 0.25},
    ("저는",): {"학생입니다": 0.9, ".": 0.1},
    ("나는", "학생입니다"): {".": 1.0},
    ("나는", "학생이다"): {".": 1.0},
    ("저는", "학생입니다"): {".": 1.0},
}


def beam(t: Any) -> Sheet:
    """The tree of page 10 with a beam of 2: kept, dropped, and what greedy search finds."""
    sheet = Sheet(740, 320)
    alive: dict[tuple[str, ...], float] = {(): 1.0}
    places: dict[tuple[str, ...], tuple[float, float]] = {(): (60, 160)}
    halves = (38, 46, 66, 42)  # of the boxes' widths, by depth
    sheet.box(22, 146, 76, 28, "BOS", "box", 13)
    rows = {1: (90, 230), 2: (44, 104, 152, 216, 276), 3: (44, 216)}
    for depth in (1, 2, 3):
        longer = {(*p, word): c * q for p, c in alive.items() for word, q in NEXT.get(p, {}).items()}
        best = sorted(longer, key=lambda prefix: longer[prefix], reverse=True)[:2]
        for y, prefix in zip(rows[depth], sorted(longer, key=lambda prefix: places[prefix[:-1]][1]), strict=True):
            x = 60 + 190 * depth
            places[prefix] = (x, y)
            kept = prefix in best
            half, (x0, y0) = halves[depth], places[prefix[:-1]]
            sheet.arrow((x0 + halves[depth - 1] + 2, y0), (x - half - 4, y), "curve sq" if kept else "thin")
            sheet.box(x - half, y - 16, 2 * half, 32, kind="cell page")
            if kept:
                sheet.box(x - half, y - 16, 2 * half, 32, kind="fq", opacity=0.22)
            sheet.text(x, y + 5, f"{prefix[-1]}  {number(longer[prefix], 2)}", "b" if kept else "soft", 13, "middle")
        alive = {prefix: longer[prefix] for prefix in best if prefix[-1] != "."}
    sheet.text(674, 49, t("greedy"), "tk b", 12.5)
    sheet.text(674, 221, t("found"), "tq b", 12.5)
    sheet.text(22, 312, t("note"), "soft", 12.5)
    return sheet


def cache(t: Any) -> Sheet:
    """Step by step: only the new row is computed, keys and values of the others are stored."""
    sheet = Sheet(720, 220)
    words = ("BOS", "I", "am", "a")
    for step in range(1, 5):
        left = 30 + 176 * (step - 1)
        sheet.text(left + 56, 26, t("step").format(step), "b", 12.5, "middle")
        for row in range(step):
            new = row == step - 1
            y = 42 + 30 * row
            sheet.box(left, y, 56, 24, kind="fk" if new else "box", opacity=0.45 if new else 1)
            sheet.box(left + 60, y, 56, 24, kind="fv" if new else "box", opacity=0.45 if new else 1)
            sheet.text(left + 28, y + 17, f"k {words[row]}", "", 11.5, "middle")
            sheet.text(left + 88, y + 17, f"v {words[row]}", "", 11.5, "middle")
    sheet.text(30, 190, t("new"), "tk b", 12.5)
    sheet.text(30, 210, t("kept"), "soft", 12.5)
    return sheet


def dual(t: Any) -> Sheet:
    """One probability of a pair, two ways to it."""
    sheet = Sheet(700, 220)
    sheet.box(40, 76, 150, 60, t("x"), "box", 13)
    sheet.box(510, 76, 150, 60, t("y"), "box", 13)
    sheet.path("M 192 92 C 300 46, 400 46, 508 92", "curve sq")
    sheet.arrow((500, 88), (508, 92), "curve sq")
    sheet.path("M 508 122 C 400 168, 300 168, 192 122", "curve sk")
    sheet.arrow((200, 126), (192, 122), "curve sk")
    sheet.text(350, 46, "log P(x) + log P(y | x)", "b tq", 13.5, "middle")
    sheet.text(350, 178, "log P(y) + log P(x | y)", "b tk", 13.5, "middle")
    sheet.text(350, 112, "=", "b", 22, "middle")
    sheet.text(40, 210, t("note"), "soft", 12.5)
    return sheet


def quantised(t: Any) -> Sheet:
    """A series as tokens: each value becomes the number of its level."""
    sheet = Sheet(720, 290)
    steps = torch.arange(36.0)
    series = torch.sin(steps * 2 * torch.pi / 12) + 0.03 * steps
    levels = 8
    low, high = float(series.min()), float(series.max())
    tokens = ((series - low) / (high - low) * levels).floor().clamp(0, levels - 1).int().tolist()
    sheet.axes(60, 220, 620, 176, [(k / 36, str(k)) for k in (0, 12, 24, 36)],
               [((level + 0.5) / levels, str(level)) for level in range(levels)], (t("time"), t("level")))  # fmt: skip
    for x in (24,):
        sheet.line((60 + 620 * x / 36, 44), (60 + 620 * x / 36, 220), "line dash")
    values = ((series - low) / (high - low)).tolist()
    sheet.curve([(60 + 620 * k / 36, 220 - 176 * value) for k, value in enumerate(values)], "sq")
    for k, token in enumerate(tokens):
        sheet.circle(60 + 620 * k / 36, 220 - 176 * (token + 0.5) / levels, 3.4, "fk")
    sheet.text(270, 36, t("source"), "b", 12.5, "middle")
    sheet.text(580, 36, t("target"), "b", 12.5, "middle")
    sheet.text(60, 276, t("note").format(" ".join(map(str, tokens[:8]))), "soft", 12.5)
    return sheet


FIGURES = (beam, cache, dual, quantised)
