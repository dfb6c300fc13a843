"""What a model of the other direction is worth: chrF of the bundled models alone and together, and what it costs.

    DRAGOMAN_DATA=FOLDER python benchmarks/control/reverse.py [--quick] [--candidates N ...]

FOLDER contains koen_general/ and korean_news/. The text: the two hundred everyday sentences of `reproduce/`, at most
100 test lines of each of six domains of `koen_general`, and the first 150 of `korean_news`, in both directions. Each
sentence is searched with a beam of N (4, 6, 8, 16 unless given). Of its hypotheses the one is taken with the highest
score + w · score of the source, for each of the weights; then with the usual weight among those whose score is lower
than the best by at most a limit, with how many those are. `ReverseEngine` does it with a beam of 6 and a limit of 0.4.
chrF is sacreBLEU's, on average over the sets; `oracle` takes the hypothesis with the highest chrF. Time and sets are of
the product: lines/s in one thread with and without, taken in turns.

--quick takes 20 lines of each set. The last line is one JSON object.
"""

import argparse
import gzip
import json
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import sacrebleu

from dragoman import Translator
from dragoman.decode.hypothesis import length_penalty

REPRODUCE = Path(__file__).resolve().parents[2] / "reproduce"
HUNDREDS = ("everyday_sentences", "everyday_sentences_hard")
DOMAINS = ("jhe", "stylekqc", "cocoa", "context_dialogue", "xpersona", "pud")
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5)
LIMITS = (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2)
USUAL = 0.4
MOST, NEWS, QUICK, ROUNDS = 100, 150, 20, 5
CHRF = sacrebleu.CHRF()

Pairs = list[tuple[str, str]]


class Scored(NamedTuple):
    """A hypothesis, its score, and the score of the source given it."""

    text: str
    score: float
    of_source: float


def read(path: Path) -> list[str]:
    """The lines of a gzip file."""
    return gzip.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")


def sets(data: Path) -> dict[str, Pairs]:
    """English and Korean of each set."""
    found: dict[str, Pairs] = {}
    for name in HUNDREDS:
        rows = [line.split("\t") for line in (REPRODUCE / f"{name}.tsv").read_text("utf-8").splitlines()]
        found[name] = [(row[1], row[2]) for row in rows]
    general = data / "koen_general"
    columns = [read(general / f"test.{name}.gz") for name in ("domain", "en", "ko")]
    for domain in DOMAINS:
        found[domain] = [(en, ko) for name, en, ko in zip(*columns, strict=True) if name == domain][:MOST]
    news = [read(data / "korean_news" / f"test.{side}.gz")[:NEWS] for side in ("en", "ko")]
    found["korean_news"] = list(zip(*news, strict=True))
    return found


def beams(forward: Translator, reverse: Translator, sources: Sequence[str], candidates: int) -> list[list[Scored]]:
    """Of each source its hypotheses with both scores."""
    alpha = forward.options.length_penalty
    found = forward.translate(sources, beam=candidates, n_best=candidates)
    asked = [(one.text, line) for line, all_of in zip(sources, found, strict=True) for one in all_of.candidates]
    rows = iter(reverse.score(asked))
    return [
        [Scored(one.text, one.score, _score(next(rows), alpha)) for one in translation.candidates]
        for translation in found
    ]


def _score(row: Sequence[float], alpha: float) -> float:
    return sum(row) / length_penalty(len(row), alpha)


def quality(beam: Sequence[Sequence[Scored]], references: Sequence[str], weight: float) -> float:
    """chrF of the hypotheses that this weight chooses."""
    best = [max(found, key=lambda one: one.score + weight * one.of_source).text for found in beam]
    return float(CHRF.corpus_score(best, [references]).score)


def within(beam: Sequence[Sequence[Scored]], limit: float) -> list[list[Scored]]:
    """The hypotheses whose score is lower than the best by at most the limit."""
    return [[one for one in found if one.score >= max(one.score for one in found) - limit] for found in beam]


def oracle(beam: Sequence[Sequence[Scored]], references: Sequence[str]) -> float:
    """chrF of the hypotheses most like the reference."""
    best = [
        max(found, key=lambda one: float(CHRF.sentence_score(one.text, [reference]).score)).text
        for found, reference in zip(beam, references, strict=True)
    ]
    return float(CHRF.corpus_score(best, [references]).score)


def speed(alone: Translator, together: Translator, sources: Sequence[str]) -> list[float]:
    """Lines/s alone, and the ratio together / alone, median, lowest and highest of ROUNDS in turns."""
    plain, ratios = [], []
    for _ in range(ROUNDS):
        seconds = []
        for translator in (alone, together):
            began = time.perf_counter()
            translator.translate(sources)
            seconds.append(time.perf_counter() - began)
        plain.append(len(sources) / seconds[0])
        ratios.append(seconds[0] / seconds[1])
    return [statistics.median(plain), statistics.median(ratios), min(ratios), max(ratios)]


def main() -> None:
    """Measure both directions, print tables, end with one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--candidates", type=int, nargs="+", default=[4, 6, 8, 16])
    arguments = parser.parse_args()
    text = sets(Path(os.environ["DRAGOMAN_DATA"]))
    if arguments.quick:
        text = {name: pairs[:QUICK] for name, pairs in text.items()}
    models = {name: Translator.load(name, threads=1) for name in ("en-ko", "ko-en")}
    result: dict[str, Any] = {}
    for name, forward in models.items():
        reverse = next(model for other, model in models.items() if other != name)
        sides = (0, 1) if name == "en-ko" else (1, 0)
        lines = {title: [[pair[side] for pair in pairs] for side in sides] for title, pairs in text.items()}
        alone = {
            title: float(CHRF.corpus_score([one.text for one in forward.translate(source)], [target]).score)
            for title, (source, target) in lines.items()
        }
        result[name] = {"alone": alone, "alone_mean": statistics.mean(alone.values())}
        print(f"{name}, alone: {result[name]['alone_mean']:.2f}")
        for count in arguments.candidates:
            found = {title: beams(forward, reverse, source, count) for title, (source, _) in lines.items()}
            means = {
                weight: statistics.mean(quality(found[title], lines[title][1], weight) for title in lines)
                for weight in WEIGHTS
            }
            limits = {}
            for limit in LIMITS:
                near = {title: within(found[title], limit) for title in lines}
                asked = [len(some) if len(some) > 1 else 0 for beam in near.values() for some in beam]
                chrf = statistics.mean(quality(near[title], lines[title][1], USUAL) for title in lines)
                limits[limit] = [chrf, statistics.mean(asked)]
            best = statistics.mean(oracle(found[title], lines[title][1]) for title in lines)
            print(
                f"{name}, {count} candidates:", *(f"{w} {mean:.2f}" for w, mean in means.items()), f"oracle {best:.2f}"
            )
            print("    within", *(f"{limit} {chrf:.2f} ({asked:.1f})" for limit, (chrf, asked) in limits.items()))
            result[name][str(count)] = {"weights": means, "limits": limits, "oracle": best}
        together = forward.with_reverse(reverse)
        helped = {
            title: float(CHRF.corpus_score([one.text for one in together.translate(source)], [target]).score)
            for title, (source, target) in lines.items()
        }
        result[name] |= {"together": helped, "together_mean": statistics.mean(helped.values())}
        print(f"{name}, together: {result[name]['together_mean']:.2f}")
        print("   ", *(f"{title} {alone[title]:.1f} → {chrf:.1f}" for title, chrf in helped.items()), sep="  ")
        everyday = [line for title in HUNDREDS for line in lines[title][0]]
        result[name]["speed"] = speed(forward, together, everyday)
        rate, ratio, low, high = result[name]["speed"]
        print(f"{name}: {rate:.0f} lines/s alone, together {ratio:.2f} [{low:.2f}, {high:.2f}] of that, one thread")
    print(json.dumps({"benchmark": "reverse", **result}))


if __name__ == "__main__":
    main()
