"""Does `data check` find faults, and only faults? Korean-English text with planted faults of 21 kinds, seeded.

    DRAGOMAN_DATA=FOLDER python benchmarks/data/faults.py [--quick]

Every kind is planted on pairs of its own. Printed for each: planted, found, alarms on other pairs, and how many of
those are false. The corpus has faults of its own; an alarm on a pair without a planted fault is true if a slow
definition of the kind, written here without the package, agrees, and false otherwise. Pairs with another planted fault
are left out.
The last line is one JSON object: recall and precision over all deterministic kinds, and the numbers of each kind.
"""

import argparse
import gzip
import html
import json
import os
import random
import re
import tempfile
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

from dragoman.config import CorpusConfig, DataConfig
from dragoman.data.check.check import check_data

Pair = tuple[bytes, bytes]
Texts = list[tuple[str, str]]
Plant = Callable[[str, str, random.Random], tuple[str, str]]
# Kinds that a definition decides; the others are estimates from text as a whole or from a model.
ESTIMATES = ("language", "shift", "shuffled", "swapped", "near_leakage")
PER_KIND = 300
MARKS, ENTITIES = ("{name}", "%s", "<b>", "${HOME}"), ("&amp;", "&lt;", "&#39;", "&nbsp;")
RUSSIAN = "Сегодня хорошая погода, поэтому мы гуляем в парке и разговариваем о книгах."
GERMAN = (
    "Das Wetter ist heute sehr schön, deshalb gehen wir mit den Kindern in den Park.",
    "Bitte speichern Sie die Datei, bevor Sie das Programm schließen und neu starten.",
    "Der Benutzer hat keine Berechtigung, diesen Ordner zu öffnen oder zu ändern.",
)


def insert(text: str, mark: str, rng: random.Random) -> str:
    """`mark` somewhere inside the text."""
    at = rng.randint(1, max(len(text) - 1, 1))
    return text[:at] + mark + text[at:]


def either(source: str, target: str, change: Callable[[str], str], rng: random.Random) -> tuple[str, str]:
    """The pair with one side changed, drawn at random."""
    return (change(source), target) if rng.random() < 0.5 else (source, change(target))


PLANTS: dict[str, Plant] = {
    "empty": lambda s, t, rng: either(s, t, lambda _: rng.choice(("", " ", "\u3000")), rng),
    "script": lambda s, t, rng: either(s, t, lambda _: RUSSIAN, rng),
    "language": lambda s, t, rng: (s, rng.choice(GERMAN)),
    "copies": lambda s, t, rng: (s, s) if rng.random() < 0.5 else (t, t),
    "length_ratio": lambda s, t, rng: (s, t[:2]) if len(s) > 25 else (s, " ".join([t] * 12)),
    "too_long": lambda s, t, rng: (f"{s} " * (2100 // len(s) + 1), f"{t} " * (2100 // len(s) + 1)),
    "numbers": lambda s, t, rng: (s, f"{t} {rng.randint(1000, 99999)}"),
    "urls": lambda s, t, rng: either(s, t, lambda x: f"{x} https://example.org/{rng.randint(1, 999)}/a", rng),
    "placeholders": lambda s, t, rng: either(s, t, lambda x: f"{x} {rng.choice(MARKS)}", rng),
    "entities": lambda s, t, rng: either(s, t, lambda x: f"{x} {rng.choice(ENTITIES)}", rng),
    "mojibake": lambda s, t, rng: (s.encode().decode("cp1252", "replace"), t),
    "control": lambda s, t, rng: either(s, t, lambda x: insert(x, rng.choice("\x00\x07\x1b\x85\u2028"), rng), rng),
    "zero_width": lambda s, t, rng: either(s, t, lambda x: insert(x, rng.choice("\u200b\ufeff\u2060\u00ad"), rng), rng),
    "swapped": lambda s, t, rng: (t, s),
}  # fmt: skip


def words(text: str) -> str:
    """The text without differences of case, spaces and composition."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def letters(text: str) -> str:
    """The letters of the text; the text if it has none."""
    kept = [c for c in unicodedata.normalize("NFKD", text).casefold() if unicodedata.category(c)[0] in "LM"]
    return "".join(c for c in kept if not "\u0300" <= c <= "\u036f") or words(text)


def named(text: str, prefix: str) -> int:
    """How many letters have a Unicode name with this beginning."""
    return sum(unicodedata.name(c, "").startswith(prefix) for c in text if c.isalpha())


def mostly_other(text: str, *scripts: str) -> bool:
    """Whether less than a tenth of the letters are in these scripts."""
    all_letters = sum(map(str.isalpha, text))
    return all_letters >= 4 and sum(named(text, script) for script in scripts) < all_letters / 10


def addresses(text: str) -> list[str]:
    """Runs of ASCII that hold a sign of an address."""
    runs = re.findall(r"[!-~]+", text)
    return sorted(run.strip(".,;:!?()[]<>'\"*") for run in runs if "://" in run or "www." in run or "@" in run)


def marked(text: str) -> list[str]:
    """Signs of placeholders and tags, each with the ASCII letters and digits after it."""
    return sorted(re.findall(r"[{}%<>$]\w*", text, re.ASCII))


# What each kind means, of one pair and without the package: does an alarm on a pair of the corpus itself hold?
JUDGES: dict[str, Callable[[str, str], bool]] = {
    "empty": lambda s, t: not s.strip() or not t.strip(),
    "script": lambda s, t: mostly_other(s, "HANGUL", "CJK") or mostly_other(t, "LATIN"),
    "copies": lambda s, t: s == t,
    "length_ratio": lambda s, t: not 1.9 / 4.2 < len(t) / len(s) < 2 * 3.8,
    "too_long": lambda s, t: max(len(s), len(t)) > 2000,
    "numbers": lambda s, t: sorted(re.findall(r"\d+", s)) != sorted(re.findall(r"\d+", t)),
    "urls": lambda s, t: addresses(s) != addresses(t),
    "placeholders": lambda s, t: marked(s) != marked(t),
    "entities": lambda s, t: html.unescape(s) != s or html.unescape(t) != t,
    "mojibake": lambda s, t: bool(re.search("[\x80-\x9f\ufffd]", s + t) or re.search("[\xa1-\xaa\xac\xaf-\xff]", s)),
    "control": lambda s, t: any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in s + t),
    "zero_width": lambda s, t: any(unicodedata.category(c) == "Cf" for c in s + t),
}  # fmt: skip


def read(folder: Path, name: str, most: int | None) -> list[tuple[str, str]]:
    """The pairs of one part of the corpus."""
    sides = []
    for side in ("ko", "en"):
        with gzip.open(folder / f"koen_open/{name}.{side}.gz", "rt", encoding="utf-8", newline="\n") as file:
            sides.append(file.read().removesuffix("\n").split("\n")[:most])
    return list(zip(*sides, strict=True))


def plant(
    pairs: list[tuple[str, str]], valid: list[tuple[str, str]], per_kind: int
) -> tuple[list[Pair], dict[str, set[int]]]:
    """The pairs with faults as bytes, and the indices of the faults of each kind."""
    rng = random.Random(18)
    planted: dict[str, set[int]] = {}
    size = len(pairs)
    blocks = [("shift", size // 5, 120, 1), ("shift", 2 * size // 5, 200, -3), ("shift", 3 * size // 5, 400, 9)]
    blocks.append(("shuffled", 4 * size // 5, min(2000, size // 20), 0))
    taken: set[int] = set()
    for kind, first, count, by in blocks:
        targets = [target for _, target in pairs[first : first + count]]
        targets = targets[-by:] + targets[:-by] if by else rng.sample(targets, count)
        pairs[first : first + count] = [(pairs[first + n][0], target) for n, target in enumerate(targets)]
        taken |= set(range(first, first + count))
        planted.setdefault(kind, set()).update(range(first, first + count))
    usable = [n for n, (s, t) in enumerate(pairs) if n not in taken and n > 1000 and 12 < len(s) < 400 and len(t) > 20]
    rng.shuffle(usable)
    out: list[Pair] = [(s.encode(), t.encode()) for s, t in pairs]
    for kind in (*PLANTS, "bad_bytes", "duplicate", "near_duplicate", "leakage", "near_leakage"):
        chosen = [usable.pop() for _ in range(per_kind)]
        planted[kind] = set(chosen)
        for number, index in enumerate(chosen):
            s, t = pairs[index]
            earlier = pairs[index % 1000]
            if kind in PLANTS:
                s, t = PLANTS[kind](s, t, rng)
            elif kind == "duplicate":
                s, t = earlier[0].replace(" ", "  "), earlier[1].upper()
            elif kind == "near_duplicate":
                s, t = f"{rng.randint(1, 99)}. {earlier[0]}", f"({rng.randint(1, 99)}) {earlier[1]}!"
            elif kind == "leakage":
                s, t = valid[number % len(valid)]
            elif kind == "near_leakage":
                s = f"{valid[(number + per_kind) % len(valid)][0]} ({rng.randint(1, 99)})"
            out[index] = (s.encode(), t.encode())
            if kind == "bad_bytes":
                out[index] = (s.encode("cp949", "ignore") + b"\xb0", t.encode())
    return out, planted


def alarms_of(pairs: list[Pair], valid: Path) -> dict[str, set[int]]:
    """The indices that `data check` names, for each kind."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"train.{side}" for side in ("ko", "en")]
        for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
            path.write_bytes(b"".join(line + b"\n" for line in lines))
        held_out = CorpusConfig(source=valid / "koen_open/valid.ko.gz", target=valid / "koen_open/valid.en.gz")
        data = DataConfig(train=(CorpusConfig(source=paths[0], target=paths[1]),), valid=held_out)
        report = check_data(data, "ko", "en", examples=len(pairs))[-1]
    found: dict[str, set[int]] = {}
    for kind, finding in report.findings.items():
        for example in finding.examples:
            first, _, last = example.location.rpartition(":")[2].partition("–")
            found.setdefault(kind, set()).update(range(int(first) - 1, int(last or first)))
    return found


def main() -> None:
    """Plant, check, count, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the first 50,000 pairs, a fifth of the faults")
    args = parser.parse_args()
    if "DRAGOMAN_DATA" not in os.environ:
        parser.error("set DRAGOMAN_DATA to the folder that holds koen_open/")
    folder = Path(os.environ["DRAGOMAN_DATA"])
    pairs, valid = read(folder, "train", 50_000 if args.quick else None), read(folder, "valid", None)
    before = list(pairs)
    out, planted = plant(pairs, valid, PER_KIND // 5 if args.quick else PER_KIND)
    begin = time.perf_counter()
    found = alarms_of(out, folder)
    seconds = time.perf_counter() - begin
    faulty = set().union(*planted.values())
    repeats = repeats_of(before, {s for s, _ in valid})
    spelled = [grams(source) for source, _ in valid]
    kinds = {}
    print(f"{'kind':15} {'planted':>8} {'found':>8} {'other alarms':>13} {'false':>6}  recall  precision")
    for kind in sorted(planted, key=lambda kind: (kind in ESTIMATES, kind)):
        named = found.get(kind, set())
        hits, others = len(named & planted[kind]), named - faulty
        if kind == "near_leakage":
            false = sum(not is_near(before[index][0], spelled) for index in others)
        else:
            false = sum(not holds(kind, index, before, repeats) for index in others)
        recall, precision = hits / len(planted[kind]), hits / max(hits + false, 1)
        kinds[kind] = {"planted": len(planted[kind]), "found": hits, "other_alarms": len(others), "false": false,
                       "recall": round(recall, 4), "precision": round(precision, 4),
                       "deterministic": kind not in ESTIMATES}  # fmt: skip
        print(
            f"{kind:15} {len(planted[kind]):8,} {hits:8,} {len(others):13,} {false:6,}  {recall:6.3f}  {precision:9.3f}"
        )
    sure = [one for one in kinds.values() if one["deterministic"]]
    hits = sum(one["found"] for one in sure)
    recall, precision = hits / sum(one["planted"] for one in sure), hits / (hits + sum(one["false"] for one in sure))
    print(f"{len(pairs):,} pairs in {seconds:.1f} s, {len(pairs) / seconds:,.0f} pairs/s")
    print(json.dumps({"recall": round(recall, 4), "precision": round(precision, 4), "kinds": kinds}))


def repeats_of(pairs: list[tuple[str, str]], held_out: set[str]) -> dict[str, set[int]]:
    """Pairs of the corpus itself that repeat an earlier one, or whose source is held out."""
    found: dict[str, set[int]] = {"duplicate": set(), "near_duplicate": set(), "leakage": set()}
    seen: set[tuple[str, str]] = set()
    seen_letters: set[tuple[str, str]] = set()
    folded = {words(source) for source in held_out}
    for index, (s, t) in enumerate(pairs):
        for kind, key, known in (
            ("duplicate", (words(s), words(t)), seen),
            ("near_duplicate", (letters(s), letters(t)), seen_letters),
        ):
            if key in known:
                found[kind].add(index)
            known.add(key)
        if words(s) in folded:
            found["leakage"].add(index)
    return found


def grams(text: str) -> set[str]:
    """Runs of four letters."""
    spelled = letters(text)
    return {spelled[n : n + 4] for n in range(max(len(spelled) - 3, 1))}


def is_near(source: str, held_out: list[set[str]]) -> bool:
    """Whether the source shares more than half of its runs of letters with a held-out one (Jaccard)."""
    own = grams(source)
    return any(2 * len(own & other) > len(own | other) for other in held_out)


def holds(kind: str, index: int, pairs: list[tuple[str, str]], repeats: dict[str, set[int]]) -> bool:
    """Whether the pair has this fault by the slow definition; kinds without one count every alarm as false."""
    if kind in repeats:
        return index in repeats[kind]
    return kind in JUDGES and JUDGES[kind](*pairs[index])


if __name__ == "__main__":
    main()
