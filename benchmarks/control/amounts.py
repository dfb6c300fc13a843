"""Amounts with a word for a power of ten (`3천5백만 원`, `$9.1 million`): how many translations have another, and chrF.

    DRAGOMAN_DATA=FOLDER python benchmarks/control/amounts.py [--lines 400]

FOLDER contains koen_general/, koen_more/, koen_open/ and korean_news/. Of their validation and test lines of at most
300 characters, those with such an amount are translated by the bundled models, each alone, with `decode.numbers` off
and on. Counted are the lines whose numbers differ from the source's; chrF (sacreBLEU) is of the lines that change.
The last line is one JSON object.
"""

import argparse
import gzip
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path

import sacrebleu

from dragoman import Translator
from dragoman.config import DecodeConfig
from dragoman.control.faults.faults import Requirements
from dragoman.text.words.amounts import find_amounts

CORPORA, LONGEST = ("koen_general", "koen_more", "korean_news", "koen_open"), 300
CHRF = sacrebleu.CHRF()


def read(path: Path) -> list[str]:
    """The lines of a gzip file; none if there is no such file."""
    return gzip.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n") if path.exists() else []


def pairs(data: Path) -> list[tuple[str, str]]:
    """English and Korean of all lines that are asked about."""
    files = [(data / corpus, part) for corpus in CORPORA for part in ("valid", "test")]
    found = [
        pair
        for folder, part in files
        for pair in zip(*(read(folder / f"{part}.{side}.gz") for side in ("en", "ko")), strict=True)
    ]
    return [(en, ko) for en, ko in dict.fromkeys(found) if max(len(en), len(ko)) <= LONGEST]


def differing(source: str, text: str, languages: tuple[str, str]) -> bool:
    """Whether the translation has other numbers."""
    faults = Requirements.of(source, DecodeConfig(), languages=languages).faults(text)
    return bool(faults.missing_numbers or faults.extra_numbers)


def measured(rows: Sequence[tuple[str, str]], source: str, target: str) -> dict[str, float]:
    """The counts of one direction, and chrF of what changes; `rows` are sources and references."""
    model, sources = Translator.load(f"{source}-{target}", threads=1), [row[0] for row in rows]
    off, on = ([found.text for found in model.translate(sources, numbers=numbers)] for numbers in (False, True))
    changed = [at for at, (first, second) in enumerate(zip(off, on, strict=True)) if first != second]
    references = [[rows[at][1] for at in changed]]
    wrong = [
        sum(differing(line, text, (source, target)) for line, text in zip(sources, texts, strict=True))
        for texts in (off, on)
    ]
    quality = [
        round(float(CHRF.corpus_score([texts[at] for at in changed], references).score), 2) for texts in (off, on)
    ]
    return {
        "lines": len(rows), "differ_off": wrong[0], "differ_on": wrong[1],
        "changed": len(changed), "chrf_off": quality[0], "chrf_on": quality[1],
    }  # fmt: skip


def main() -> None:
    """Measure both directions, print a line of each, end with one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lines", type=int, default=400, help="of each direction, at most")
    arguments = parser.parse_args()
    every, result = pairs(Path(os.environ["DRAGOMAN_DATA"])), {}
    for source, target in (("ko", "en"), ("en", "ko")):
        rows = [(pair[source == "ko"], pair[source == "en"]) for pair in every]
        rows = [
            row for row in rows if any(amount.has_power and amount.is_sure(row[0]) for amount in find_amounts(row[0]))
        ]
        random.Random(75).shuffle(rows)
        name = f"{source}-{target}"
        result[name] = measured(rows[: arguments.lines], source, target)
        print(name, result[name])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
