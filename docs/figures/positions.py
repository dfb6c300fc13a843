"""Figures of page 5: the position vector, its clocks, its rotation, and what attention makes of it."""

import math
from typing import Any

import torch

from dragoman.model.parts.embedding import positional_encoding
from figures.draw import Sheet, number


def position_vector(t: Any) -> Sheet:
    """Embedding plus the position vector, four numbers each."""
    sheet = Sheet(740, 236)
    p = positional_encoding(0, 3, 4)
    words = torch.tensor([[0.5, -0.2, 0.1, 0.8], [0.9, 0.4, -0.6, 0.3], [-0.1, 0.7, 0.2, -0.5]])
    cell = (46, 28)
    top = ("sin pos", "cos pos", "sin pos/100", "cos pos/100")
    names = ("나는", "학생", "입니다")
    sheet.matrix(76, 66, words, "a", cell, 1, t("embedding"), names, scale=2)
    sheet.text(270, 114, "+", "b", 18)
    for column, name in enumerate(top):
        sheet.text(331 + 46 * column, 168 + 15 * (column % 2), name, "soft", 10, "middle")
    left = tuple(str(place) for place in range(3))
    sheet.matrix(308, 66, p, "q", cell, 2, t("position"), left, scale=2)
    sheet.text(502, 114, "=", "b", 18)
    sheet.matrix(530, 66, words + p, "v", cell, 2, t("sum"), scale=2)
    sheet.text(16, 222, t("note"), "soft", 12.5)
    return sheet


def clocks(t: Any) -> Sheet:
    """Positions 0 to 5 as two clock hands: pair 0 turns by 1 radian a word, pair 1 (of d = 4) by 1/100."""
    sheet = Sheet(720, 270)
    p = positional_encoding(0, 6, 4)
    for place in range(6):
        x = 130 + 104 * place
        sheet.text(x, 28, t("position").format(place), "b", 12.5, "middle")
        for row, pair in enumerate(p[place].reshape(2, 2).tolist()):
            y, (sin, cos) = 84 + 104 * row, pair
            sheet.circle(x, y, 36, "thin")
            sheet.line((x, y - 36), (x, y - 31), "line")
            # Angle 0 is up, as on a clock.
            sheet.arrow((x, y), (x + 31 * sin, y - 31 * cos), f"curve {'sq' if row == 0 else 'sk'}")
            sheet.text(x, y + 52, f"{number(sin, 2)}, {number(cos, 2)}", "soft", 10.5, "middle")
    sheet.lines(12, 82, t("fast"), "tq", 12)
    sheet.lines(12, 186, t("slow"), "tk", 12)
    sheet.text(12, 262, t("note"), "soft", 12)
    return sheet


def rotation(t: Any) -> Sheet:
    """p(i + k) is p(i) rotated by kθ, whatever i."""
    sheet = Sheet(720, 280)
    k = 2
    for panel, i in enumerate((1, 3)):
        x, y, r = 150 + 250 * panel, 142, 92
        sheet.circle(x, y, r, "thin")
        sheet.line((x - r - 8, y), (x + r + 8, y), "thin")
        sheet.line((x, y - r - 8), (x, y + r + 8), "thin")
        p = positional_encoding(0, 8, 2)
        for place, kind in ((i, "q"), (i + k, "k")):
            sin, cos = p[place].tolist()
            sheet.arrow((x, y), (x + r * sin, y - r * cos), f"curve s{kind}", 6)
            sheet.text(x + (r + 17) * sin, y - (r + 14) * cos + 4, f"p({place})", f"b t{kind}", 13, "middle")
        arc = [(x + 34 * math.sin(a), y - 34 * math.cos(a)) for a in torch.linspace(i, i + k, 30).tolist()]
        sheet.curve(arc, "sa")
        middle = i + k / 2
        sheet.text(x + 52 * math.sin(middle), y - 52 * math.cos(middle) + 4, "kθ", "b ta", 13, "middle")
    sheet.lines(512, 78, t("note"), "", 13)
    sheet.text(20, 270, t("equation"), "soft", 12.5)
    return sheet


def distance_curve(t: Any) -> Sheet:
    """p(0) · p(k) for d = 64, and the single cosines that it is the sum of."""
    sheet = Sheet(720, 300)
    p = positional_encoding(0, 101, 64)
    products = (p[0] @ p.T).tolist()
    sheet.axes(60, 240, 600, 200, [(k / 100, str(k)) for k in range(0, 101, 20)],
               [((v + 8) / 40, number(v, 0)) for v in (-8, 0, 8, 16, 24, 32)], ("k", "p(0) · p(k)"))  # fmt: skip
    for column, kind in ((0, "sk"), (10, "sv"), (16, "sa")):
        wave = [(60 + 6 * k, 240 - (8 * math.cos(k / 10000 ** (column / 64)) + 8) * 5) for k in range(101)]
        sheet.curve(wave, f"{kind} dash")
    sheet.curve([(60 + 6 * k, 240 - (value + 8) * 5) for k, value in enumerate(products)], "sq")
    sheet.text(360, 66, t("sum"), "b tq", 13)
    sheet.text(360, 88, t("single"), "soft", 12.5)
    sheet.text(60, 292, t("note"), "soft", 12)
    return sheet


def table_of_positions(t: Any) -> Sheet:
    """The first positions as colours: fast waves at the left, slow ones at the right."""
    sheet = Sheet(720, 330)
    p = positional_encoding(0, 24, 32)
    sheet.matrix(90, 52, p, "q", (18, 10), None, t("columns"), scale=1)
    for place in range(0, 24, 4):
        sheet.text(80, 61 + 10 * place, str(place), "soft", 11.5, "end")
    sheet.text(80, 38, t("positions"), "soft", 12, "end")
    sheet.text(90, 312, t("note"), "soft", 12.5)
    return sheet


def four_terms(t: Any) -> Sheet:
    """(X + P)(X + P)ᵀ = XXᵀ + XPᵀ + PXᵀ + PPᵀ for six words, two of them the same."""
    torch.manual_seed(4)
    d = 64
    words = torch.randn(5, d) * 0.7
    x, p = words[[0, 1, 2, 1, 3, 4]], positional_encoding(0, 6, d)
    parts = {"xx": x @ x.T, "xp": x @ p.T, "px": p @ x.T, "pp": p @ p.T}
    sheet = Sheet(750, 216)
    for column, (name, rows) in enumerate(parts.items()):
        left = 22 + 146 * column
        sheet.matrix(left, 44, rows, "q", (19, 19), None, t(name), scale=22)
        sheet.text(left + 126, 106, "+" if column < 3 else "=", "b", 17)
        sheet.lines(left + 57, 178, t(f"{name} is"), "soft", 11.5, "middle")
    sheet.matrix(612, 44, sum(parts.values()), "a", (19, 19), None, "(X+P)(X+P)ᵀ", scale=60)
    return sheet


FIGURES = (position_vector, clocks, rotation, distance_curve, table_of_positions, four_terms)
