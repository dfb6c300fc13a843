"""Training text of a bundled model from what it finds itself: of each beam the translation that three witnesses like.

    python reproduce/bundled_chosen.py write TEXT en-ko|ko-en OUT
    python reproduce/bundled_chosen.py corpora TEXT en-ko|ko-en OUT [NEWEST]

`write` translates sentences of TEXT (`bundled_text.py write`) with the bundled model, CANDIDATES hypotheses each, and
writes into OUT the one with the highest score + REVERSE · score of the source by the model of the other direction +
REFERENCE · chrF with the translation in TEXT / 100: the best of what the model can say (Kim & Rush 2016,
"Sequence-Level Knowledge Distillation", section 4, with the model as its own teacher). It goes on where it stopped.
So it does with the everyday sentences that were written last, and with the validation text: a model that learns to say
the best that it can is no better at what others wrote, and training would keep its first steps.

`corpora` prints the value of `data.train`: the sentences of OUT, and the text of `bundled_text.py corpora` as it is.
With NEWEST the everyday sentences that were written last occur NEWEST times an epoch, and so does what was chosen of
them.
"""

import random
import sys
from pathlib import Path

from bundled_text import EVERYDAY, NEWEST, corpora
from sacrebleu.metrics import CHRF

from dragoman import Translator
from dragoman.config import DecodeConfig
from dragoman.control.faults.faults import Requirements
from dragoman.decode.hypothesis import length_penalty

CANDIDATES, REVERSE, REFERENCE, AT_ONCE = 6, 0.4, 1.0, 1000
# Sentences at most of each domain of everyday language.
LINES = {
    EVERYDAY: 30000, "tatoeba": 3000, "stylekqc": 2000, "xpersona": 2000, "korsts": 2000, "goemotions_mt": 4000,
    "fcc_english": 3000, "learner10k": 2000, "context_dialogue": 2000, "cocoa": 1000,
}  # fmt: skip
WEIGHT, EVERYDAY_WEIGHT = 4.0, 4.0
Row = tuple[str, str, str]  # domain, source, reference


def rows_of(text: Path, source: str, target: str, lines: dict[str, int]) -> list[Row]:
    """The sentences, in random order, so that any beginning of them is a sample."""
    found: list[Row] = []
    for domain, most in lines.items():
        sides = [(text / f"{domain}.train.{side}").read_text("utf-8").splitlines() for side in (source, target)]
        pairs = sorted(set(zip(*sides, strict=True)))
        found += [(domain, *pair) for pair in random.Random(36).sample(pairs, min(most, len(pairs)))]
    random.Random(36).shuffle(found)
    return found


def chosen(forward: Translator, reverse: Translator, rows: list[Row], target: str) -> list[str]:
    """Of each row the translation; "" where none has the numbers and negations of its source."""
    alpha, chrf, options = forward.options.length_penalty, CHRF(), DecodeConfig()
    found = forward.translate([source for _, source, _ in rows], beam=CANDIDATES, n_best=CANDIDATES)
    asked = [
        (candidate.text, source)
        for (_, source, _), translation in zip(rows, found, strict=True)
        for candidate in translation.candidates
    ]
    back = iter(reverse.score(asked))
    best = []
    for (domain, source, reference), translation in zip(rows, found, strict=True):
        weight = 0.0 if domain.endswith("_mt") and target == "ko" else REFERENCE
        demands = Requirements.of(source, options, languages=("en", "ko"))
        rated = [("", float("-inf"))]
        for candidate in translation.candidates:
            row = next(back)
            likeness = chrf.sentence_score(candidate.text, [reference]).score / 100
            score = candidate.score + REVERSE * sum(row) / length_penalty(len(row), alpha) + weight * likeness
            faults = demands.faults(candidate.text)
            if not (faults.missing_numbers or faults.extra_numbers or faults.negation):
                rated.append((candidate.text, score))
        best.append(max(rated, key=lambda pair: pair[1])[0])
    return best


def write(text: Path, pair: str, out: Path) -> None:
    """Write both sides, a thousand sentences at a time."""
    source, target = pair.split("-")
    out.mkdir(parents=True, exist_ok=True)
    forward = Translator.load(pair, threads=1)
    reverse = Translator.load(f"{target}-{source}", threads=1)
    valid = [(text / f"valid.{side}").read_text("utf-8").splitlines() for side in (source, target)]
    held_out = [("valid", *sides) for sides in zip(*valid, strict=True)]
    chosen_rows = rows_of(text, source, target, LINES)
    newest = rows_of(text, source, target, {NEWEST: 1_000_000})
    for part, rows in (("valid", held_out), ("chosen.train", chosen_rows), ("newest.train", newest)):
        write_part(forward, reverse, rows, out, part, pair)


def write_part(forward: Translator, reverse: Translator, rows: list[Row], out: Path, part: str, pair: str) -> None:
    """Write PART.SOURCE and PART.TARGET."""
    source, target = pair.split("-")
    counted = out / f"{part}.rows"
    for start in range(int(counted.read_text()) if counted.exists() else 0, len(rows), AT_ONCE):
        batch = rows[start : start + AT_ONCE]
        lines = [
            (row[1], line) for row, line in zip(batch, chosen(forward, reverse, batch, target), strict=True) if line
        ]
        for side, name in enumerate((source, target)):
            with (out / f"{part}.{name}").open("a", encoding="utf-8") as file:
                file.writelines(f"{line[side]}\n" for line in lines)
        counted.write_text(str(start + len(batch)))
        print(f"{start + len(batch):,} of {len(rows):,}: {len(lines)} written", flush=True)


def entries(text: Path, pair: str, out: Path, newest: float | None = None) -> str:
    """The value of `data.train`."""
    source, target = pair.split("-")
    weights = {"chosen": WEIGHT} | ({"newest": newest} if newest else {})
    found = ""
    for part, weight in weights.items():
        stem = (out / f"{part}.train").absolute()
        found += f'{{source = "{stem}.{source}", target = "{stem}.{target}", weight = {weight}}}, '
    return f"[{found}{corpora(text, pair, EVERYDAY_WEIGHT, newest or EVERYDAY_WEIGHT)[1:]}"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", text, "en-ko" | "ko-en" as pair, out]:
            write(Path(text), pair, Path(out))
        case ["corpora", text, "en-ko" | "ko-en" as pair, out]:
            print(entries(Path(text), pair, Path(out)))
        case ["corpora", text, "en-ko" | "ko-en" as pair, out, newest]:
            print(entries(Path(text), pair, Path(out), float(newest)))
        case _:
            sys.exit(__doc__)
