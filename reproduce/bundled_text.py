"""The text of the bundled models: what each model learns from, and what it is measured on.

    DRAGOMAN_DATA=/path/to/data python reproduce/bundled_text.py write TEXT
    python reproduce/bundled_text.py corpora TEXT en-ko|ko-en|both

`write` writes, into folder TEXT, the domains of `koen_open` and `koen_general` whose licence lets a model be passed
on, and the sentences of `everyday/`: DOMAIN.train.en and .ko; `valid` and `test`, and `test.domain`, the domain of
each test pair. A training pair is left out if either side is also a side of a validation or test pair, of
`korean_news`, or of `everyday_sentences.tsv`. The first validation pairs are from `libreoffice_help`: a bundle
contains some of them as golden sentences, and of the corpora only this domain may be copied. `tldr` is written for the
test alone: a model that has never seen it is the base of `finetuning.py`.

`corpora` prints the value of `data.train`: the files with how often each pair of a domain occurs in an epoch.
Sentences of everyday life occur more often than their number, manuals, programming lessons and the old Bible less
often; into Korean, the machine-translated Korean of `goemotions_mt` hardly occurs.
"""

import gzip
import os
import sys
from collections import defaultdict
from pathlib import Path

from dragoman.text.words.normalise import normalise

HERE = Path(__file__).parent
SIDES = ("en", "ko")
FIRST = "libreoffice_help"
EVERYDAY = "everyday"
# How often each pair of a domain occurs in an epoch; 0: for the test alone.
OPEN = {FIRST: 0.5, "tldr": 0.0, "webdocs": 0.4, "python_docs": 0.2, "tatoeba": 3.0, "bible": 0.15}
GENERAL = {
    "fcc_english": 0.8,
    "fcc_coding": 0.3,
    "goemotions_mt": 0.8,
    "stylekqc": 1.5,
    "korsts": 2.0,
    "korsts_mt": 0.7,
    "xpersona": 1.0,
    "cocoa": 2.5,
    "context_dialogue": 2.5,
    "risawoz": 3.0,
    "tatoeba": 3.0,
    "jhe": 0.0,
    "pud": 4.0,
    "game:evolve": 0.7,
    "game:renpy_tutorial": 1.0,
    "game:adarkroom": 1.0,
    "essays_cc0": 2.0,
    "mozilla_www": 1.5,
    "privacyguides": 1.5,
    "opensource_guide": 1.5,
    "iot_beginners_mt": 1.0,
    "security101_mt": 1.0,
}
OWN = 4.0
# Written by a machine in Korean: worth reading, hardly worth imitating.
INTO = {("goemotions_mt", "ko"): 0.1}
# Validation pairs, and test pairs, of a domain, at most, so that no large domain decides alone.
MOST = 100
# Forty of FIRST come first, enough for golden sentences.
AHEAD = 40

Row = tuple[str, str, str]


def lines(path: Path) -> list[str]:
    """The lines of a gzip file, normalised."""
    return [normalise(line) for line in gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")[:-1]]


def read(folder: Path, split: str, domains: dict[str, float]) -> list[Row]:
    """Domain, English and Korean of the pairs of a split that are of these domains and have text on both sides."""
    rows = zip(*(lines(folder / f"{split}.{side}.gz") for side in ("domain", *SIDES)), strict=True)
    return [(domain, en, ko) for domain, en, ko in rows if domain in domains and en and ko]


def read_both(data: Path, split: str) -> list[Row]:
    """Those of both corpora."""
    return read(data / "koen_open", split, OPEN) + read(data / "koen_general", split, GENERAL)


def own() -> list[Row]:
    """The sentences that were written for the models."""
    found = []
    for path in sorted((HERE / "everyday").glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines():
            en, ko = line.split("\t")
            found.append((EVERYDAY, normalise(en), normalise(ko)))
    return found


def measured(data: Path) -> set[str]:
    """Sides of the pairs that only measure: the news and the hundred everyday sentences."""
    news = {
        line
        for split in ("dev", "test")
        for side in SIDES
        for line in lines(data / "korean_news" / f"{split}.{side}.gz")
    }
    hundred = (HERE / "everyday_sentences.tsv").read_text(encoding="utf-8").splitlines()
    return news | {normalise(side) for line in hundred for side in line.split("\t")[1:]}


def file_name(domain: str) -> str:
    """A domain as a part of a file's name."""
    return domain.replace(":", "_")


def write_pairs(stem: Path, rows: list[Row]) -> None:
    """Both sides of these pairs, one sentence a line."""
    for number, side in enumerate(SIDES, 1):
        stem.with_name(f"{stem.name}.{side}").write_text("".join(row[number] + "\n" for row in rows), encoding="utf-8")


def shuffled(rows: list[Row]) -> list[Row]:
    """In an order without pattern, the same at every run."""
    return [row for _, row in sorted(enumerate(rows), key=lambda item: (item[0] * 7919) % max(1, len(rows)))]


def validation(rows: list[Row]) -> list[Row]:
    """FIRST ahead, then at most MOST pairs of each domain, mixed: validation translates the first lines only."""
    by_domain: dict[str, list[Row]] = defaultdict(list)
    for row in shuffled(rows):
        by_domain[row[0]].append(row)
    ahead = by_domain.pop(FIRST)[:AHEAD]
    by_domain.pop("tldr")
    return ahead + shuffled([row for found in by_domain.values() for row in found[:MOST]])


def write(data: Path, out: Path) -> None:
    """Write the text; the same bytes at every run."""
    out.mkdir(parents=True, exist_ok=True)
    valid = read_both(data, "valid")
    order = [*OPEN, *GENERAL]
    test = sorted(read_both(data, "test"), key=lambda row: order.index(row[0]))
    held = measured(data) | {side for row in (*valid, *test) for side in row[1:]}
    each = {domain: [row for row in test if row[0] == domain][:MOST] for domain in order}
    train: dict[str, list[Row]] = defaultdict(list)
    for row in dict.fromkeys(own() + read_both(data, "train")):
        if held.isdisjoint(row[1:]):
            train[row[0]].append(row)
    for domain, rows in train.items():
        if domain != "tldr":
            write_pairs(out / f"{file_name(domain)}.train", rows)
    write_pairs(out / "valid", validation(valid))
    test = [row for found in each.values() for row in found]
    write_pairs(out / "test", test)
    (out / "test.domain").write_text("".join(row[0] + "\n" for row in test), encoding="utf-8")
    for domain, rows in train.items():
        print(f"{len(rows):7,} {domain}")


def corpora(folder: Path, pair: str) -> str:
    """The value of `data.train` for en-ko, ko-en, or both directions as one."""
    if pair == "both":
        return f"[{entries(folder, 'en-ko')}, {entries(folder, 'ko-en')}]"
    return f"[{entries(folder, pair)}]"


def entries(folder: Path, pair: str) -> str:
    """The corpora of one direction."""
    source, target = pair.split("-")
    found = []
    for domain, weight in (OPEN | GENERAL | {EVERYDAY: OWN}).items():
        if weight := INTO.get((domain, target), weight):
            stem = (folder / f"{file_name(domain)}.train").absolute()
            found.append(f'{{source = "{stem}.{source}", target = "{stem}.{target}", weight = {weight}}}')
    return ", ".join(found)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", out]:
            write(Path(os.environ["DRAGOMAN_DATA"]), Path(out))
        case ["corpora", folder, "en-ko" | "ko-en" | "both" as pair]:
            print(corpora(Path(folder), pair))
        case _:
            sys.exit(__doc__)
