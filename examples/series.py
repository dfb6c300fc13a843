"""A Transformer as a forecaster: `python series.py FOLDER [train.max_steps=200 ...]`.

A value becomes the letter of its level, three years of months become a source sentence, and the next year its
translation. The series are generated: a trend, a season and noise, each drawn anew for every series. The forecast is
compared with two that need no learning: the last value (naive), and the value of a year before (seasonal naive).
"""

import math
import random
import sys
from pathlib import Path

import dragoman

LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"
PAST, FUTURE = 36, 12
CONFIG = """
project = {name = "series", source = "zxx-x-past", target = "zxx-x-next"}
data = {train = ["train.tsv"], valid = "valid.tsv"}
tokenizer = {vocab_size = 70, byte_fallback = false, character_coverage = 1.0}

[model]
layers = 2
d_model = 64
d_ff = 128
heads = 4
dropout = 0.0

[train]
device = "cpu"
precision = "float32"
batch_tokens = 800
learning_rate = 3e-3
schedule = "linear"
warmup = 100
max_steps = 500
validate_every = 500
translate_lines = 0
card_lines = 0
"""


def series(draw: random.Random) -> list[float]:
    """Four years of monthly values."""
    trend, height, phase = draw.uniform(-0.02, 0.03), draw.uniform(0.1, 0.35), draw.uniform(0, 2 * math.pi)
    values = []
    for month in range(PAST + FUTURE):
        season = height * math.sin(2 * math.pi * month / 12 + phase)
        values.append(1 + trend * month + season + draw.gauss(0, 0.04))
    return values


def as_text(values: list[float]) -> str:
    """A letter for each value between 0 and 2.5."""
    top = len(LEVELS) - 1
    return "".join(LEVELS[max(0, min(top, round(value / 2.5 * top)))] for value in values)


def as_values(text: str) -> list[float]:
    """The value in the middle of each letter's level; a forecast that is too short repeats its last value."""
    values = [LEVELS.index(letter) / (len(LEVELS) - 1) * 2.5 for letter in text if letter in LEVELS][:FUTURE]
    return values + (values[-1:] or [1.0]) * (FUTURE - len(values))


def error(forecasts: list[list[float]], truth: list[list[float]]) -> float:
    """The mean absolute error."""
    pairs = [pair for rows in zip(forecasts, truth, strict=True) for pair in zip(*rows, strict=True)]
    return sum(abs(a - b) for a, b in pairs) / len(pairs)


def main(folder: Path, overrides: list[str]) -> None:
    """Generate, train, forecast, compare."""
    draw = random.Random(1)
    every = [series(draw) for _ in range(2_200)]
    lines = [f"{as_text(values[:PAST])}\t{as_text(values[PAST:])}\n" for values in every]
    test = every[-100:]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.tsv").write_text("".join(lines[:-200]), encoding="utf-8")
    (folder / "valid.tsv").write_text("".join(lines[-200:-100]), encoding="utf-8")
    (folder / "run.toml").write_text(CONFIG, encoding="utf-8")
    model = dragoman.train(dragoman.load_config(folder / "run.toml", overrides)).model_path

    translator = dragoman.Translator.load(model, engine="torch")
    translations = translator.translate([as_text(values[:PAST]) for values in test])
    truth = [values[PAST:] for values in test]
    forecasts = {
        "naive": [[values[PAST - 1]] * FUTURE for values in test],
        "seasonal naive": [values[PAST - 12 : PAST] for values in test],
        "Transformer": [as_values(translation.text) for translation in translations],
    }
    for name, values in forecasts.items():
        print(f"{name:14} mean absolute error {error(values, truth):.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
