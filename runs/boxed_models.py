"""The text of the models in the box, and what is to be said of one that was trained.

    DRAGOMAN_DATA=/path/to/data python runs/boxed_models.py text TEXT
    DRAGOMAN_DATA=/path/to/data python runs/boxed_models.py finish RUN TEXT SOURCE TARGET

`text` writes into folder TEXT the redistributable domains of koen_open: DOMAIN.train, valid and test, each with its
.en and .ko, and test.domain. A training pair is left out if either side is a side of a validation or test pair. The
first validation pairs are of `libreoffice_help`, for a bundle holds some of them as its golden sentences, and of the
corpus only that domain may be copied.

`finish` is for called by `boxed_models.sh` once the bundle is in RUN/box: scores by domain and on korean_news, card,
the scripts that the source is written in. Prints a table, everyday sentences, and last one JSON object.
"""

import gzip
import os
import sys
from collections import defaultdict
from pathlib import Path

from dragoman.text.normalise import normalise

DOMAINS = ("libreoffice_help", "tldr", "webdocs", "python_docs", "tatoeba", "bible")
FIRST = "libreoffice_help"
SIDES = ("en", "ko")


def lines(path: Path) -> list[str]:
    """The lines of a gzip file, normalised."""
    return [normalise(line) for line in gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")[:-1]]


def read(folder: Path, split: str) -> list[tuple[str, str, str]]:
    """Domain, English and Korean of the pairs of a split that are of our domains and have text on both sides."""
    rows = zip(*(lines(folder / f"{split}.{side}.gz") for side in ("domain", *SIDES)), strict=True)
    return [(domain, en, ko) for domain, en, ko in rows if domain in DOMAINS and en and ko]


def write(stem: Path, rows: list[tuple[str, str, str]]) -> None:
    """Both sides of these pairs, one sentence a line."""
    for number, side in enumerate(SIDES, 1):
        stem.with_name(f"{stem.name}.{side}").write_text("".join(row[number] + "\n" for row in rows), encoding="utf-8")


def text(data: Path, out: Path) -> None:
    """Write the text; the same bytes at every run."""
    corpus = data / "koen_open"
    out.mkdir(parents=True, exist_ok=True)
    valid = sorted(read(corpus, "valid"), key=lambda row: row[0] != FIRST)  # stable: only that domain comes forward
    test = sorted(read(corpus, "test"), key=lambda row: DOMAINS.index(row[0]))
    # forty of FIRST before the others: enough for golden sentences; the rest of it in between, as validation
    # translates the first lines only
    ahead, rest = valid[:40], valid[40:]
    rest = [row for _, row in sorted(enumerate(rest), key=lambda item: (item[0] * 7919) % len(rest))]
    held = {side for row in (*valid, *test) for side in row[1:]}
    train: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for row in read(corpus, "train"):
        if held.isdisjoint(row[1:]):
            train[row[0]].append(row)
    for domain in DOMAINS:
        write(out / f"{domain}.train", train[domain])
    write(out / "valid", ahead + rest)
    write(out / "test", test)
    (out / "test.domain").write_text("".join(row[0] + "\n" for row in test), encoding="utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["text", out]:
            text(Path(os.environ["DRAGOMAN_DATA"]), Path(out))
        case _:
            sys.exit(__doc__)
