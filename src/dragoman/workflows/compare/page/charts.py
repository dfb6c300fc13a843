"""Numbers → charts as SVG: lines with axes, and maps of weights. Text is escaped; colours are classes of the style."""

import html
import math
import unicodedata
from collections.abc import Callable, Sequence

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 24, 12, 36
CELL = 18
Points = Sequence[tuple[float, float]]


def line_chart(series: Sequence[Points], x_label: str, y_label: str, log: bool = False) -> str:
    """One line per series of (x, y), in the colours of the systems; `log`: both axes logarithmic.

    `x_label` and `y_label` are HTML-free texts. A series without points has no line.
    """
    points = [point for line in series for point in line if not log or min(point) > 0]
    if not points:
        return ""
    scale = math.log10 if log else float
    xs, ys = [scale(x) for x, _ in points], [scale(y) for _, y in points]
    x_ticks, y_ticks = _ticks(min(xs), max(xs), log), _ticks(min(ys), max(ys), log)
    x_at = _mapping(min(x_ticks[0], *xs), max(x_ticks[-1], *xs), LEFT, WIDTH - RIGHT)
    y_at = _mapping(min(y_ticks[0], *ys), max(y_ticks[-1], *ys), HEIGHT - BOTTOM, TOP)
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(y_label)}">']
    for tick in x_ticks:
        x = x_at(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        text = _tick_text(tick, log)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{text}</text>')
    for tick in y_ticks:
        y = y_at(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_tick_text(tick, log)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">{html.escape(x_label)}</text>')
    for number, line in enumerate(series):
        drawn = [(x_at(scale(x)), y_at(scale(y))) for x, y in line if not log or min(x, y) > 0]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        if len(drawn) > 1:
            parts.append(f'<polyline class="line s{number % 8}" points="{path}"/>')
        parts += [f'<circle class="dot s{number % 8}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in drawn]
    return "".join([*parts, "</svg>"])


def weight_map(source: Sequence[str], target: Sequence[str], weights: Sequence[Sequence[float]], label: str) -> str:
    """A map of attention: a row per target piece, a column per source piece, darker for more."""
    left = 14 + max(map(_width, target), default=7)
    top = 14 + max(map(_width, source), default=7)
    width, height = left + CELL * len(source) + 4, top + CELL * len(target) + 4
    parts = [f'<svg class="map" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{label}">']
    for column, piece in enumerate(source):
        x = left + CELL * column + CELL * 0.7
        parts.append(f'<text transform="translate({x:.1f},{top - 5}) rotate(-90)">{html.escape(piece)}</text>')
    for row, (piece, values) in enumerate(zip(target, weights, strict=True)):
        y = top + CELL * row
        parts.append(f'<text x="{left - 5}" y="{y + 13}" text-anchor="end">{html.escape(piece)}</text>')
        for column, value in enumerate(values):
            title = f"{html.escape(piece)} ← {html.escape(source[column])}: {value:.2f}"
            parts.append(
                f'<rect x="{left + CELL * column}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" class="cell" '
                f'fill-opacity="{max(0.04, min(1.0, value)):.2f}"><title>{title}</title></rect>'
            )
    return "".join([*parts, "</svg>"])


def short(value: float) -> str:
    """A number in few characters: 0.5, 12, 3,400, 2.1e+09."""
    if value and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.1e}"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.1f}"


def _width(text: str) -> int:
    """About the pixels of a text; letters of East Asia are twice as wide."""
    return sum(13 if unicodedata.east_asian_width(character) in "WF" else 7 for character in text)


def _mapping(low: float, high: float, begin: float, end: float) -> Callable[[float], float]:
    """low … high → begin … end."""
    slope = (end - begin) / ((high if high > low else low + 1) - low)
    return lambda value: begin + (value - low) * slope


def _tick_text(tick: float, log: bool) -> str:
    """The number at a tick; 10^log10(5) is not 5 but is meant to be."""
    return short(float(f"{10**tick:.3g}") if log else tick)


def _ticks(low: float, high: float, log: bool) -> list[float]:
    """Round numbers that span the range; with `log` the logarithms of 1, 2 and 5 times powers of ten."""
    if log:
        exponents = range(math.floor(low), math.ceil(high) + 1)
        every = [exponent + math.log10(times) for exponent in exponents for times in (1, 2, 5)]
        first = max((at for at, tick in enumerate(every) if tick <= low + 1e-9), default=0)
        last = min((at for at, tick in enumerate(every) if tick >= high - 1e-9), default=len(every) - 1)
        return every[first : last + 1]
    span = high - low or abs(high) or 1.0
    step = 10.0 ** math.floor(math.log10(span / 3))
    step *= next((times for times in (1, 2, 5) if span / (step * times) <= 5), 10)
    ticks = [math.floor(low / step) * step]
    while ticks[-1] < high - step * 1e-9:
        ticks.append(ticks[-1] + step)
    return ticks
