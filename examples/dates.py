"""Dates in ten notations → ISO 8601, learned from examples alone: `python dates.py FOLDER [train.max_steps=400 ...]`.

A date is a sequence of characters, and so is its ISO form: the toolkit needs to know no more. FOLDER gets the text, the
configuration and the model; the last line is how many of 500 unseen dates are right.
"""

import random
import sys
from datetime import date, timedelta
from pathlib import Path

import dragoman

NOTATIONS = (
    "{d} {month} {y}", "{month} {d}, {y}", "{short} {d} {y}", "{d:02}.{m:02}.{y}", "{d}/{m}/{y}", "{y}/{m:02}/{d:02}",
    "{y}{m:02}{d:02}", "{y}년 {m}월 {d}일", "{weekday}, {d} {month} {y}", "the {d}. of {month}, {y}",
)  # fmt: skip
CONFIG = """
project = {name = "dates", source = "en", target = "en-x-iso"}
data = {train = ["train.tsv"], valid = "valid.tsv"}

[tokenizer]
vocab_size = 100
byte_fallback = false
character_coverage = 1.0
user_defined_symbols = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]  # a digit is always a piece of its own

[model]
layers = 2
d_model = 64
d_ff = 256
heads = 4
dropout = 0.0

[train]
device = "cpu"
precision = "float32"
batch_tokens = 1500
learning_rate = 4e-3
schedule = "linear"
warmup = 100
max_steps = 800
validate_every = 800
translate_lines = 0
card_lines = 0
"""


def written(day: date, notation: str) -> str:
    """A date in one of the notations."""
    names = {"month": f"{day:%B}", "short": f"{day:%b}", "weekday": f"{day:%A}"}
    return notation.format(y=day.year, m=day.month, d=day.day, **names)


def main(folder: Path, overrides: list[str]) -> None:
    """Generate, train, count."""
    draw = random.Random(1)
    days = [date(1950, 1, 1) + timedelta(days=number) for number in draw.sample(range(36_500), 9_200)]
    lines = [f"{written(day, draw.choice(NOTATIONS))}\t{day.isoformat()}\n" for day in days]
    test = lines[-500:]  # days that are nowhere in the training text
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.tsv").write_text("".join(lines[:-700]), encoding="utf-8")
    (folder / "valid.tsv").write_text("".join(lines[-700:-500]), encoding="utf-8")
    (folder / "run.toml").write_text(CONFIG, encoding="utf-8")
    model = dragoman.train(dragoman.load_config(folder / "run.toml", overrides)).model_path

    translator = dragoman.Translator.load(model, engine="torch")
    sources, gold = zip(*(line.rstrip("\n").split("\t") for line in test), strict=True)
    translations = [translation.text for translation in translator.translate(list(sources))]
    for source, text in list(zip(sources, translations, strict=True))[:5]:
        print(f"{source} → {text}")
    right = sum(text == expected for text, expected in zip(translations, gold, strict=True))
    print(f"right: {right} of {len(gold)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
