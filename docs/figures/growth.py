"""How the bundled models grew with the text that they saw: drawn from the JSON lines of `reproduce/results.md`."""

import json
import math
from pathlib import Path
from typing import Any

from figures.draw import Point, Sheet

RESULTS = Path(__file__).parents[2] / "reproduce/results.md"
FILE = Path(__file__).parents[1] / "images/growth.svg"
TITLE = "Validation loss and chrF of the bundled models against the target tokens that they saw"
PAIRS = (("en-ko", "q"), ("ko-en", "k"))
HARD = "everyday_sentences_hard"
TESTS = {"everyday_sentences": "everyday", HARD: "hard", "jhe": "jhe", "korean_news": "news"}
# Target tokens of the models before, of their own direction: those of `training` in their bundles at commit 21c65d6,
# for 1,800 and 1,700 steps, and as many a step of half of the 5,201 steps in both directions that came first.
BEFORE = {"en-ko": 3_170_420 * (1 + 5201 / 2 / 1800), "ko-en": 3_298_869 * (1 + 5201 / 2 / 1700)}
FEWEST, MOST = 1e5, 1e8
LOSSES, SCORES = (1.5, 7.5), (0, 80)


def results() -> list[dict[str, Any]]:
    """The objects of the results that are about a bundled model."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    return [
        json.loads(line) for line in lines if line.startswith(('{"student": "student-', '{"pair": "', '{"model": "'))
    ]


def growth() -> Sheet:
    """Left the validation loss of the students; right chrF of the models before and of the students."""
    sheet = Sheet(860, 400)
    lines = results()
    left, right, low, wide, high = 62, 492, 330, 330, 282
    across = [(place(tokens), label) for tokens, label in ((1e5, "0.1 M"), (1e6, "1 M"), (1e7, "10 M"), (1e8, "100 M"))]
    ups = [(part(loss, LOSSES), str(loss)) for loss in (2, 3, 4, 5, 6, 7)]
    sheet.axes(left, low, wide, high, across, ups, ("target tokens seen", "validation loss, nats per token"))
    sheet.axes(
        right,
        low,
        wide,
        high,
        across,
        [(part(v, SCORES), str(v)) for v in range(0, 81, 20)],
        ("target tokens seen", "chrF"),
    )
    names: list[tuple[float, str, str]] = []
    for pair, colour in PAIRS:
        student = next(line for line in lines if line.get("student") == f"student-{pair}")
        each = student["outcome"]["target_tokens"] / student["outcome"]["step"]
        points = [(step * each, loss) for step, _, loss in student["curve"]]
        sheet.curve([(left + wide * place(x), low - high * part(loss, LOSSES)) for x, loss in points], f"s{colour}")
        sheet.text(left + 200, low - high + 20 + 20 * (colour == "k"), pair, f"b t{colour}")
        before, after = (scores(lines, pair, named) for named in (True, False))
        tokens = (BEFORE[pair], student["outcome"]["target_tokens"])
        for test, name in TESTS.items():
            ends: list[Point] = [
                (right + wide * place(x), low - high * part(of[test]["chrf"], SCORES))
                for x, of in zip(tokens, (before, after), strict=True)
            ]
            sheet.curve(ends, f"s{colour}")
            for x, y in ends:
                sheet.circle(x, y, 3, f"f{colour}")
            names.append((ends[0][1] + 4, f"{pair}, {name}", f"t{colour}"))
    height = 0.0
    for y, name, kind in sorted(names):  # those of equal scores below each other
        height = max(y, height + 12)
        sheet.text(right + wide * place(min(BEFORE.values())) - 10, height, name, kind, 11, "end")
    note = "Right, first points: two hours of a thread, 10,209 everyday pairs; second: seven minutes of a GPU, 66,243."
    sheet.text(left, 388, note, "soft", 11)
    return sheet


def scores(lines: list[dict[str, Any]], pair: str, before: bool) -> dict[str, dict[str, float]]:
    """The scores on today's test sets of the models before, which are named so, or of the bundled ones."""
    found: dict[str, dict[str, float]] = next(
        line["scores"]
        for line in lines
        if line.get("pair") == pair and HARD in line.get("scores", {}) and ("model" in line) == before
    )
    return found


def place(tokens: float) -> float:
    """Where a number of tokens is on a logarithmic axis, of its length."""
    return math.log(tokens / FEWEST) / math.log(MOST / FEWEST)


def part(value: float, ends: tuple[float, float]) -> float:
    """Where a value is between the ends of an axis."""
    return (value - ends[0]) / (ends[1] - ends[0])
