"""Figures of pages 1, 9 and 12: the schedule, the smoothed target, what a layer costs."""

import math
from typing import Any

import torch

from dragoman.training.update.schedule import noam
from figures.draw import Sheet, number


def schedule(t: Any) -> Sheet:
    """Eq. (3) for three settings."""
    sheet = Sheet(720, 310)
    settings = ((512, 4000, "q"), (512, 8000, "k"), (256, 4000, "v"))
    steps, top = 30_000, 1.5e-3
    ticks = [(s / steps, f"{s // 1000},000" if s else "0") for s in range(0, steps + 1, 5000)]
    sheet.axes(84, 246, 590, 196, ticks, [(v / 15, f"{v / 1e4:.4f}") for v in (0, 5, 10, 15)], (t("step"), t("rate")))
    for d_model, warmup, kind in settings:
        points = [(step, noam(step, d_model, warmup)) for step in [1, *range(100, steps + 1, 100)]]
        sheet.curve([(84 + 590 * step / steps, 246 - 196 * rate / top) for step, rate in points], f"s{kind}")
        peak = noam(warmup, d_model, warmup)
        sheet.circle(84 + 590 * warmup / steps, 246 - 196 * peak / top, 4, f"f{kind}")
    for row, (d_model, warmup, kind) in enumerate(settings):
        sheet.text(400, 72 + 22 * row, f"d_model {d_model}, {t('warm-up')} {warmup:,}", f"b t{kind}", 12.5)
    sheet.text(84, 300, t("note"), "soft", 12.5)
    return sheet


def smoothing(t: Any) -> Sheet:
    """The target of one position with ε = 0 and ε = 0.1, five pieces."""
    sheet = Sheet(700, 256)
    words, right, epsilon = ("I", "am", "a", "student", "EOS"), 3, 0.1
    for panel, share in enumerate((0.0, epsilon)):
        x = 56 + 340 * panel
        sheet.axes(x, 190, 280, 140, [], [(0, "0"), (0.5, "0.5"), (1, "1")])
        sheet.text(x + 140, 28, t("hard" if panel == 0 else "soft"), "b", 13, "middle")
        for place, word in enumerate(words):
            value = (1 - share) * (place == right) + share / len(words)
            sheet.box(x + 12 + 54 * place, 190 - 140 * value, 36, max(140 * value, 0.5), kind="fq", radius=1)
            sheet.text(x + 30 + 54 * place, 184 - 140 * value, number(value, 2), "", 11.5, "middle")
            sheet.text(x + 30 + 54 * place, 207, word, "soft", 12, "middle")
    target = torch.full((5,), epsilon / 5)
    target[right] += 1 - epsilon
    sheet.text(56, 242, t("note").format(number(float(-(target * target.log()).sum()), 2)), "soft", 12.5)
    return sheet


def path_lengths(t: Any) -> Sheet:
    """How far the first word is from the last: recurrent, convolution, self-attention."""
    sheet = Sheet(740, 210)
    for panel, name in enumerate(("recurrent", "convolution", "attention")):
        left = 26 + 244 * panel
        sheet.text(left + 96, 26, t(name), "b", 13, "middle")
        columns = [left + 38 * place for place in range(6)]
        rows = {0: (170, 110), 1: (170, 140, 110, 80), 2: (170, 90)}[panel]
        for y in rows:
            for x in columns:
                sheet.circle(x, y, 6, "fsoft" if y == rows[0] else "fq")
        for row, y in enumerate(rows[1:]):
            below = rows[row]
            for place, x in enumerate(columns):
                if panel == 0:
                    sheet.line((x, below - 7), (x, y + 7), "thin")
                    if place:
                        sheet.arrow((columns[place - 1] + 7, y), (x - 7, y), "line sbad")
                elif panel == 1:
                    for other in range(max(0, place - 1), min(6, place + 2)):
                        sheet.line((columns[other], below - 7), (x, y + 7), "thin")
                else:
                    for other in columns:
                        last = place == 5 and other == columns[0]
                        sheet.line((other, below - 7), (x, y + 7), "line sbad" if last else "thin")
        sheet.text(left + 96, 200, t(f"{name} is"), "soft", 12.5, "middle")
    return sheet


def complexity(t: Any) -> Sheet:
    """Table 1's operations of a layer by the length of the sentence, d = 512, k = 3, r = 64, on logarithmic axes."""
    sheet = Sheet(720, 340)
    d, k, r = 512, 3, 64
    lengths = [2**power for power in range(3, 14)]
    kinds = (
        ("attention", "sq", lambda n: n * n * d), ("restricted", "sq dash", lambda n: min(r, n) * n * d),
        ("recurrent", "sk", lambda n: n * d * d), ("convolution", "sv", lambda n: k * n * d * d),
    )  # fmt: skip
    low, high = 4, 11

    def place(n: int, cost: float) -> tuple[float, float]:
        return 70 + 440 * (math.log2(n) - 3) / 10, 272 - 220 * (math.log10(cost) - low) / (high - low)

    across = [((math.log2(n) - 3) / 10, f"{n:,}") for n in (8, 64, 512, 4096)]
    up = [((p - low) / (high - low), "10" + "⁴⁵⁶⁷⁸⁹"[p - 4] if p < 10 else "10¹⁰") for p in (4, 6, 8, 10)]
    sheet.axes(70, 272, 440, 220, across, up, (t("length"), t("operations")))
    for _, kind, cost in kinds:
        points = [place(n, cost(n)) for n in lengths]
        sheet.curve(points, kind)
    x, y = place(512, 512 * 512 * 512)
    sheet.circle(x, y, 5, "line sbad")
    sheet.text(x - 8, y - 10, "n = d", "b tbad", 12.5, "end")
    ends = (("convolution", "tv", 100), ("attention", "tq", 50), ("restricted", "tq", 150), ("recurrent", "tk", 125))
    for name, kind, at in ends:
        sheet.text(526, at, t(name), f"b {kind}", 12.5)
    sheet.text(70, 328, t("note"), "soft", 12)
    return sheet


FIGURES = (path_lengths, complexity, schedule, smoothing)
