"""The text of the bundled models without pairs whose sides say different things, by the models that it trained first.

    python reproduce/bundled_agreement.py score TEXT SCORES [--most 500] [DOMAIN ...]
    python reproduce/bundled_agreement.py write TEXT SCORES OUT
    python reproduce/bundled_agreement.py show TEXT SCORES [DOMAIN ...]

`score` writes, for each domain whose text a machine wrote or that came from the web unread, SCORES/DOMAIN.tsv: the
number of a pair and how far the two bundled models are from agreeing on it (`dragoman.workflows.data.agreement`), in
random order, so that the first rows are a sample. It goes on where it stopped; `--most` ends each domain after so many.

`write` copies TEXT to OUT, the training text without the pairs above their limit, and without those of which a side
has another number or negation than the other (decision 0062); `everyday` keeps them, as it was written and read for
this. It prints what each domain lost; the last line is JSON. What was not scored stays. `bundled_text.py corpora OUT`
then weighs the domains as before.

`show` prints the pairs just below and just above LIMIT, to be read.
"""

import argparse
import json
import random
import shutil
from bisect import bisect
from pathlib import Path

from bundled_text import EVERYDAY, NEWEST

from dragoman.bundled import HOME
from dragoman.config import DecodeConfig
from dragoman.control.faults.faults import Requirements
from dragoman.workflows.data.agreement import ModelAgreement

# Written by a machine by what their README says or by what they read like; then the smallest, so that they end first.
MACHINE = (
    "security101_mt", "iot_beginners_mt", "ms_genai", "bloom_housing", "korsts_mt", "workfront_mt", "ms_lessons_mt",
    "goemotions_mt", "comprehensive_rust", "fcc_english",
)  # fmt: skip
# From the web, by many hands. Questions about rare names (`mkqa`) are right and score badly, and are not asked about.
WEB = (
    "game_cdda", "home_assistant", "game_evolve", "game_mods", "hf_docs", "hf_course", "astro", "food_app", "xpersona",
    "korsts", "learner10k", "raspberrypi", "ethereum", "chromium", "firefox", "android", "osm_names", "fcc_coding",
)  # fmt: skip
# Above 3.5 about half of the pairs are wrong or lack a part, of `goemotions_mt` above 2.5 most (decision 0073).
LIMIT = 3.5
STRICTER = {"goemotions_mt": 2.5}
# Pairs that are scored before they are written down.
AT_ONCE = 250
SHOWN = 50
LANGUAGES = ("en", "ko")
Pair = tuple[str, str]


def pairs_of(text: Path, domain: str) -> list[Pair]:
    """The training pairs of a domain."""
    sides = ((text / f"{domain}.train.{side}").read_text(encoding="utf-8").split("\n")[:-1] for side in LANGUAGES)
    return list(zip(*sides, strict=True))


def read_scores(scores: Path, domain: str) -> dict[int, float]:
    """Score by number of the pair; empty if the domain is not scored."""
    path = scores / f"{domain}.tsv"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {int(number): float(score) for number, score in (line.split("\t") for line in lines)}


def score(text: Path, scores: Path, domains: list[str], most: int | None) -> None:
    """Score what is not scored yet."""
    scores.mkdir(parents=True, exist_ok=True)
    agreement = ModelAgreement([HOME / "en-ko", HOME / "ko-en"], *LANGUAGES)
    for domain in domains or [*MACHINE, *WEB]:
        pairs, done = pairs_of(text, domain), len(read_scores(scores, domain))
        order = list(range(len(pairs)))
        random.Random(36).shuffle(order)
        rest = order[done:most]
        for start in range(0, len(rest), AT_ONCE):
            numbers = rest[start : start + AT_ONCE]
            values = agreement.scores([pairs[number] for number in numbers])
            with (scores / f"{domain}.tsv").open("a", encoding="utf-8") as file:
                file.writelines(f"{n}\t{value:.4f}\n" for n, value in zip(numbers, values, strict=True))
        print(f"{domain}: {min(len(order), done + len(rest)):,} of {len(order):,}", flush=True)


def differs(pair: Pair, options: DecodeConfig) -> str:
    """`number` or `negation` if a side has another one than the other; "" otherwise."""
    faults = Requirements.of(pair[0], options, languages=LANGUAGES).faults(pair[1])
    if faults.missing_numbers or faults.extra_numbers or faults.number_order:
        return "number"
    return "negation" if faults.negation else ""


def differences(scores: Path, domain: str, pairs: list[Pair]) -> list[str]:
    """`differs` of each pair; what was found before is in SCORES/DOMAIN.differs, a line for each pair."""
    path = scores / f"{domain}.differs"
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    if len(lines) != len(pairs):
        options = DecodeConfig()
        lines = [differs(pair, options) for pair in pairs]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return lines


def write(text: Path, scores: Path, out: Path) -> None:
    """Write the text that is left, and print what each domain lost."""
    out.mkdir(parents=True, exist_ok=True)
    table: dict[str, dict[str, int]] = {}
    for path in sorted(text.iterdir()):
        if path.suffix not in {".en", ".ko"} or not path.stem.endswith(".train"):
            shutil.copyfile(path, out / path.name)
    for domain in sorted(path.name.removesuffix(".train.en") for path in text.glob("*.train.en")):
        pairs, known = pairs_of(text, domain), read_scores(scores, domain)
        reasons = differences(scores, domain, pairs)
        dropped = {number for number, value in known.items() if value > STRICTER.get(domain, LIMIT)}
        checked = {number for number, reason in enumerate(reasons) if reason and domain not in (EVERYDAY, NEWEST)}
        rest = [pair for number, pair in enumerate(pairs) if number not in dropped | checked]
        for side, language in enumerate(LANGUAGES):
            lines = "".join(pair[side] + "\n" for pair in rest)
            (out / f"{domain}.train.{language}").write_text(lines, encoding="utf-8")
        table[domain] = {
            "pairs": len(pairs),
            "scored": len(known),
            "disagree": len(dropped),
            "number": reasons.count("number"),
            "negation": reasons.count("negation"),
            "left": len(rest),
        }
        row = table[domain]
        of_scored = f"{len(dropped) / len(known):6.1%}" if known else "      "
        print(f"{domain:22} {of_scored}", *(f"{value:7,}" for value in row.values()), sep=" ", flush=True)
    total = {name: sum(row[name] for row in table.values()) for name in ("pairs", "scored", "disagree", "left")}
    print(json.dumps({"limit": LIMIT, **total, "domains": table}))


def show(text: Path, scores: Path, domains: list[str]) -> None:
    """The pairs next to LIMIT, by score."""
    rows = sorted(
        (value, domain, *pairs_of(text, domain)[number])
        for domain in domains or MACHINE
        for number, value in read_scores(scores, domain).items()
    )
    middle = bisect([row[0] for row in rows], LIMIT)
    for row in rows[max(0, middle - SHOWN) : middle + SHOWN]:
        print(f"{row[0]:.2f}", *row[1:], sep="\t")


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["score", "write", "show"])
    parser.add_argument("text", type=Path)
    parser.add_argument("scores", type=Path)
    parser.add_argument("rest", nargs="*", help="domains; for write the folder OUT")
    parser.add_argument("--most", type=int)
    arguments = parser.parse_args()
    match arguments.stage:
        case "score":
            score(arguments.text, arguments.scores, arguments.rest, arguments.most)
        case "write":
            write(arguments.text, arguments.scores, Path(arguments.rest[0]))
        case "show":
            show(arguments.text, arguments.scores, arguments.rest)


if __name__ == "__main__":
    main()
