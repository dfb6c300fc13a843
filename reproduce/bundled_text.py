"""The text of the bundled models: what each model learns from, and what it is measured on.

    DRAGOMAN_DATA=/path/to/data python reproduce/bundled_text.py write TEXT
    python reproduce/bundled_text.py corpora TEXT en-ko|ko-en|both [WEIGHT [NEWEST]] [DOMAIN=WEIGHT ...]

`write` writes, into folder TEXT, the domains of `koen_open`, `koen_general` and `koen_more` whose licence lets a model
be passed on, and the sentences of `everyday/`: DOMAIN.train.en and .ko; `valid` and `test`, and `test.domain`, the
domain of each test pair. A training pair is left out if either side is also a side of a validation or test pair, of
`korean_news`, or of the three hundred everyday sentences, or if its English has most of its three-word sequences in
common with one of theirs. The first validation pairs are from `libreoffice_help`: a bundle
contains some of them as golden sentences, and of the corpora only this domain may be copied. `tldr` is written for the
test alone: a model that has never seen it is the base of `finetuning.py`.

`corpora` prints the value of `data.train`: the files with how often each pair of a domain occurs in an epoch, WEIGHT
times for `everyday/` if it is there, NEWEST times for the parts of it that were written last, WEIGHT times for a
DOMAIN. Sentences of everyday life occur more often than their number, manuals, programming lessons and the old Bible
less often; into Korean, the machine-translated Korean of `goemotions_mt` hardly occurs.
"""

import gzip
import os
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from dragoman.text.words.normalise import normalise

HERE = Path(__file__).parent
SIDES = ("en", "ko")
FIRST = "libreoffice_help"
EVERYDAY = "everyday"
# Files of the parts that were written last are a domain of their own, so that a training can weight them.
NEWEST, NEWEST_FILES = "everyday_newest", "[l-o]*.tsv"
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
# Of koen_more: general text, then what everybody's software says, then technical text.
MORE = {
    "learner10k": 3.0,
    "learner10k_words": 0.7,
    "raspberrypi": 1.0,
    "ethereum": 1.0,
    "entry": 0.8,
    "mkqa": 1.0,
    "mkqa_answers": 0.5,
    "xgqa": 0.7,
    "blend": 1.5,
    "kobbq": 1.0,
    "storybooks": 3.0,
    "chatterbot": 2.0,
    "mozilla_org": 1.5,
    "inaturalist": 0.8,
    "bitcoin_org": 1.5,
    "bloom_housing": 1.0,
    "covid_sites": 1.0,
    "health_apps": 1.5,
    "nextstrain": 2.0,
    "vote_gov": 1.5,
    "charters": 1.5,
    "udhr": 2.0,
    "open_data": 1.5,
    "djangogirls": 1.5,
    "git_game": 1.0,
    "santa": 1.0,
    "food_app": 0.7,
    "osm_names": 0.4,
    "cldr_names": 0.8,
    "emojibase": 0.5,
    "calculator": 0.5,
    "game:mods": 0.3,
    "game:unciv": 0.7,
    "game:cdda": 0.4,
    "game:openloco": 0.5,
    "game:corsixth": 0.7,
    "chromium": 0.6,
    "firefox": 0.6,
    "android": 0.8,
    "home_assistant": 0.4,
    "shop": 0.7,
    "wikipedia_app": 0.7,
    "thunderbird": 0.5,
    "kolibri": 0.7,
    "wikiedu": 0.8,
    "wallets": 0.7,
    "osm_editor": 0.4,
    "matrix": 0.6,
    "h5p": 0.6,
    "mozilla_vpn": 0.8,
    "mapping": 0.6,
    "penpot": 0.3,
    "codap": 0.4,
    "microbit": 0.7,
    "mattermost": 0.6,
    "juice_shop": 0.6,
    "excalidraw": 0.5,
    "scratch_bsd": 1.0,
    "tensorflow": 0.2,
    "workfront_mt": 0.3,
    "ms_lessons_mt": 0.4,
    "astro": 0.3,
    "hf_course": 0.4,
    "comprehensive_rust": 0.2,
    "toastui": 0.2,
    "prompt_guide": 0.5,
    "hf_docs": 0.2,
    "ms_genai": 0.4,
    "es_toolkit": 0.1,
    "godot": 0.3,
    "p5js": 0.5,
    "helm": 0.2,
    "elixirschool": 0.2,
    "owasp": 0.4,
    "cncf_glossary": 0.5,
    "nodebestpractices": 0.3,
}
OWN = 2.5
# Written by a machine in Korean: worth reading, hardly worth imitating.
INTO = {("goemotions_mt", "ko"): 0.1, ("mkqa", "ko"): 0.5, ("entry", "en"): 0.4}
# Validation pairs, and test pairs, of a domain, at most, so that no large domain decides alone.
MOST = 100
# What people say and read decides when training ends and which weights are best; manuals do not.
DECIDING = {
    "tatoeba", "fcc_english", "stylekqc", "korsts", "xpersona", "cocoa", "context_dialogue", "risawoz", "jhe", "pud",
    "game:evolve", "game:renpy_tutorial", "mozilla_www", "privacyguides", "opensource_guide", "learner10k",
    "raspberrypi", "ethereum", "mkqa", "blend", "kobbq", "chatterbot", "mozilla_org", "inaturalist", "bitcoin_org",
    "bloom_housing", "covid_sites", "health_apps", "game:unciv", "android", "wikiedu",
}  # fmt: skip
# Forty of FIRST come first, enough for golden sentences.
AHEAD = 40
# A training line is near a held-out one that has this share of its three-word sequences.
NEAR = 0.6

Row = tuple[str, str, str]


def lines(path: Path) -> list[str]:
    """The lines of a gzip file, normalised."""
    return [normalise(line) for line in gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")[:-1]]


def read(folder: Path, split: str, domains: dict[str, float]) -> list[Row]:
    """Domain, English and Korean of the pairs of a split that are of these domains and have text on both sides."""
    rows = zip(*(lines(folder / f"{split}.{side}.gz") for side in ("domain", *SIDES)), strict=True)
    return [(domain, en, ko) for domain, en, ko in rows if domain in domains and en and ko]


def read_all(data: Path, split: str) -> list[Row]:
    """The pairs of the three corpora."""
    corpora = {"koen_open": OPEN, "koen_general": GENERAL, "koen_more": MORE}
    return [row for name, domains in corpora.items() for row in read(data / name, split, domains)]


def own() -> list[Row]:
    """The sentences that were written for the models."""
    found = []
    for path in sorted((HERE / "everyday").glob("*.tsv")):
        domain = NEWEST if path.match(NEWEST_FILES) else EVERYDAY
        for line in path.read_text(encoding="utf-8").removesuffix("\n").split("\n"):
            en, ko = line.split("\t")
            found.append((domain, normalise(en), normalise(ko)))
    return found


def measured(data: Path) -> set[str]:
    """Sides of the pairs that only measure: the news and the two hundred everyday sentences."""
    news = {
        line
        for split in ("dev", "test")
        for side in SIDES
        for line in lines(data / "korean_news" / f"{split}.{side}.gz")
    }
    hundreds = [line for path in HERE.glob("everyday_sentences*.tsv") for line in path.read_text("utf-8").splitlines()]
    return news | {normalise(side) for line in hundreds for side in line.split("\t")[1:]}


def trigrams(line: str) -> set[str]:
    """The three-word sequences of a line, without capitals and punctuation."""
    words = re.findall(r"[^\W_]+(?:'\w+)?", line.lower())
    return {" ".join(words[start : start + 3]) for start in range(len(words) - 2)}


class Held:
    """The lines that measure: does a pair of training text have one of them, or come near one?"""

    def __init__(self, lines: set[str]) -> None:
        self.lines = lines
        self.with_trigram: dict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(sorted(lines)):
            for trigram in trigrams(line):
                self.with_trigram[trigram].append(number)

    def has(self, row: Row) -> bool:
        """Either side equals a held-out line, or the English is near one."""
        return not self.lines.isdisjoint(row[1:]) or self.near(row[1])

    def near(self, line: str) -> bool:
        """A single held-out line has at least NEAR of this line's three-word sequences, of at least three."""
        sequences = trigrams(line)
        if len(sequences) < 3:
            return False
        hits = Counter(number for trigram in sequences for number in self.with_trigram.get(trigram, ()))
        return bool(hits) and max(hits.values()) >= NEAR * len(sequences)


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
    """FIRST ahead, then MOST pairs of each deciding domain at most, mixed: validation translates the first lines."""
    by_domain: dict[str, list[Row]] = defaultdict(list)
    for row in shuffled(rows):
        by_domain[row[0]].append(row)
    ahead = by_domain.pop(FIRST)[:AHEAD]
    return ahead + shuffled([row for domain, rows in by_domain.items() if domain in DECIDING for row in rows[:MOST]])


def write(data: Path, out: Path) -> None:
    """Write the text; the same bytes at every run."""
    out.mkdir(parents=True, exist_ok=True)
    valid = read_all(data, "valid")
    order = [*OPEN, *GENERAL, *MORE]
    test = sorted(read_all(data, "test"), key=lambda row: order.index(row[0]))
    held = Held(measured(data) | {side for row in (*valid, *test) for side in row[1:]})
    each = {domain: [row for row in test if row[0] == domain][:MOST] for domain in order}
    train: dict[str, list[Row]] = defaultdict(list)
    left_out = Counter[str]()
    for row in dict.fromkeys(own() + read_all(data, "train")):
        if held.has(row):
            left_out[row[0]] += 1
        else:
            train[row[0]].append(row)
    for domain, rows in train.items():
        if domain != "tldr":
            write_pairs(out / f"{file_name(domain)}.train", rows)
    write_pairs(out / "valid", validation(valid))
    test = [row for found in each.values() for row in found]
    write_pairs(out / "test", test)
    (out / "test.domain").write_text("".join(row[0] + "\n" for row in test), encoding="utf-8")
    for domain, rows in train.items():
        print(f"{len(rows):7,} {domain}, {left_out[domain]:,} left out")


def corpora(
    folder: Path, pair: str, everyday: float = OWN, newest: float | None = None, others: dict[str, float] | None = None
) -> str:
    """The value of `data.train` for en-ko, ko-en, or both directions as one; `others` are weights of other domains."""
    directions = ("en-ko", "ko-en") if pair == "both" else (pair,)
    weights = {EVERYDAY: everyday, NEWEST: everyday if newest is None else newest} | (others or {})
    return f"[{', '.join(entries(folder, direction, weights) for direction in directions)}]"


def entries(folder: Path, pair: str, own_weights: dict[str, float]) -> str:
    """The corpora of one direction."""
    source, target = pair.split("-")
    found = []
    for domain, weight in (OPEN | GENERAL | MORE | own_weights).items():
        if weight := INTO.get((domain, target), weight):
            stem = (folder / f"{file_name(domain)}.train").absolute()
            found.append(f'{{source = "{stem}.{source}", target = "{stem}.{target}", weight = {weight}}}')
    return ", ".join(found)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", out]:
            write(Path(os.environ["DRAGOMAN_DATA"]), Path(out))
        case ["corpora", folder, "en-ko" | "ko-en" | "both" as pair, *weights]:
            everyday = [float(weight) for weight in weights if "=" not in weight][:2]
            others = (weight.split("=") for weight in weights if "=" in weight)
            print(corpora(Path(folder), pair, *everyday, others={domain: float(weight) for domain, weight in others}))
        case _:
            sys.exit(__doc__)
