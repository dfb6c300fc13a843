"""Dates in ten notations → ISO 8601, learned from examples alone: `python dates.py FOLDER [train.max_steps=400 ...]`.

A date is a sequence of characters, and so is its ISO form: the toolkit needs to know no more. FOLDER gets the text, the
configuration and the model; the last line is how many of 500 unseen dates are right.
"""

import random
import sys
from datetime import date, timedelta
from pathlib import Path

import torch

import dragoman

NOTATIONS = (
    "{d} {month} {y}", "{month} {d}, {y}", "{short} {d} {y}", "{d:02}.{m:02}.{y}", "{d}/{m}/{y}", "{y}/{m:02}/{d:02}",
    "{m}/{d}/{y} (US)", "{y}년 {m}월 {d}일", "{weekday}, {d} {month} {y}", "day {d} of {month} {y}",
)  # fmt: skip
CONFIG = """
project = {name = "dates", source = "en", target = "en-x-iso"}
data = {train = ["train.tsv"], valid = "valid.tsv"}

[tokenizer]
vocab_size = 72
byte_fallback = false
character_coverage = 1.0
user_defined_symbols = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]  # a digit is always a piece of its own

[model]
encoder_layers = 2
decoder_layers = 1
d_model = 64
d_ff = 256
heads = 4
positions = "rotary"  # 1978, not 1987: which of two digits is first is a matter of neighbours, wherever the year is
dropout = 0.0

[train]
device = "cpu"
precision = "float32"
batch_tokens = 1500
learning_rate = 4e-3
schedule = "linear"
warmup = 100
max_steps = 600
validate_every = 600
translate_lines = 0
card_lines = 0
"""


def written(day: date, notation: str) -> str:
    """A date in one of the notations."""
    names = {"month": f"{day:%B}", "short": f"{day:%b}", "weekday": f"{day:%A}"}
    return notation.format(y=day.year, m=day.month, d=day.day, **names)


@torch.inference_mode()
def decoded(model: Path, lines: list[str], length: int) -> list[str]:
    """Greedy search, written out: `Translator` takes care of what is in sentences, as numbers and capitals."""
    bundle = dragoman.open_bundle(model)
    network, tokenizer = bundle.load_model(), bundle.tokenizer
    pad, bos, eos = 0, 2, 3
    rows = [[*tokens, eos] for tokens in tokenizer.encode(lines, "source")]
    width = max(map(len, rows))
    source = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
    state = network.encode(source, (source != pad)[:, None, None])
    token, columns = torch.full((len(rows), 1), bos), []
    for _ in range(length):
        logits, state = network.decode(token, state)
        token = logits[:, -1:].argmax(-1)
        columns.append(token)
    targets = torch.cat(columns, dim=1).tolist()
    return tokenizer.decode([row[: row.index(eos)] if eos in row else row for row in targets], "target")


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

    sources, gold = zip(*(line.rstrip("\n").split("\t") for line in test), strict=True)
    translations = decoded(model, list(sources), 20)
    for source, text in list(zip(sources, translations, strict=True))[:5]:
        print(f"{source} → {text}")
    right = sum(text == expected for text, expected in zip(translations, gold, strict=True))
    print(f"right: {right} of {len(gold)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
