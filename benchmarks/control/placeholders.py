"""Placeholders, tags, addresses and numbers: how many lines keep them, and how many lose them without a warning.

    DRAGOMAN_DATA=FOLDER python benchmarks/control/placeholders.py [--quick] [--trained EN-KO KO-EN]
        [--untrained EN-KO KO-EN] [--before CHECKOUT] [--valid] [--show 10]

FOLDER contains koen_open/. The text is its test lines whose source has a placeholder, a tag, an address or a number, in
both directions, with --valid its validation lines too, each reported for itself. The systems are the bundled models,
the models in the folders of --trained (`[data] protect = true`)
and --untrained (the same without), which are one bundle for each direction or one for both, and with --before the
bundled models by the code of CHECKOUT.

`intact` is the share of lines that have the placeholders of the source exactly as often, and its numbers: digits are
compared without the signs that group them, and a number up to 12 may be missing where it can be a word. `flagged` is
the share of lines with a warning of kind `placeholder` or `number`, `silent` the number of lines that are neither. What
counts is decided here, by expressions and counting of its own, not by the functions of the product. BLEU and chrF are
sacreBLEU's on these lines. Trained minus untrained is given with the 95 % interval of the paired bootstrap (Koehn
2004): lines are drawn again 1,000 times, the same for both models. It covers the choice of lines, not that of another
seed in training. The difference is given once more of the lines with placeholders, which are all that symbols change,
and of those that have only numbers, where two models differ by their training alone.

--quick takes 60 lines of each direction. The last line is one JSON object: `intact_trained`, `intact_untrained` (of the
bundled models, if no folder is given), `silently_broken` (the sum over all systems and parts) and `bleu_delta` (trained
minus untrained on the test lines, the mean of both directions), `bleu_delta_interval`; null where no model was given.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sacrebleu
from numpy.typing import NDArray

HERE = Path(__file__).resolve()
SOURCE = HERE.parents[2] / "src"
DIRECTIONS = (("en", "ko"), ("ko", "en"))

# What a program would break on, told from prose as narrowly as can be.
PLACEHOLDER = re.compile(
    r"(?:https?|ftp)://[\w.~:/?#@!$&'()*+,;=%-]*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}"
    r"|</?[a-zA-Z][\w-]*(?: [\w-]+=(?:\"[^\"]*\"|'[^']*'))*\s*/?>"
    r"|\{\{[^{}]*\}\}|[$%#]?\{[\w.:!-]*\}|%\(\w+\)[sd]|%[A-Z]{3,}"
    r"|%(?:\d\$)?[-+0]*\d*(?:\.\d+)?l?[sdiufxcgm@](?![A-Za-z]{3})|%%|%[1-9](?![\d%])|\$[1-9](?!\d|[.,]\d)"
    r"|\\[nt](?![a-z])|&(?:amp|lt|gt|quot|nbsp|#\d+);|(?<!\w)`[^`\s][^`]*`(?!\w)",
    re.ASCII,
)
NUMBER = re.compile(r"\d{1,3}(?:[,.'\u00a0\u202f]\d{3})+(?!\d)|\d+")
SMALL = 12  # up to this, a number may be a word
RESAMPLES = 1000

Row = dict[str, Any]


class Outputs(NamedTuple):
    """The translations of one direction, their references, and which of the sources have placeholders."""

    texts: Sequence[str]
    references: Sequence[str]
    placeholders: Sequence[bool]


def main() -> None:
    """Measure, print, end with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--trained", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--untrained", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="a checkout of an earlier commit")
    parser.add_argument("--valid", action="store_true", help="the validation lines too")
    parser.add_argument("--show", type=int, default=0, help="print this many lines that are not intact, of each system")
    parser.add_argument("--worker", nargs=3, metavar=("MODEL", "FROM", "TO"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(*given.worker)
        return
    systems: dict[str, tuple[Sequence[str], Path]] = {"bundled": (("en-ko", "ko-en"), SOURCE)}
    for name, models in (("trained", given.trained), ("untrained", given.untrained)):
        if models:
            systems[name] = ([str(one) for one in (*models, models[-1])[:2]], SOURCE)
    if given.before:
        systems["before"] = (("en-ko", "ko-en"), given.before / "src")
    found = {}
    for part in ("test", "valid")[: 1 + given.valid]:
        text = read(Path(os.environ.get("DRAGOMAN_DATA", "data")) / "koen_open", part)
        print(f"{part} lines")
        rows = {
            name: measure(name, *system, text, 60 if given.quick else None, given.show)
            for name, system in systems.items()
        }
        found[part] = summary(rows)
    first = found["test"]
    first["silently_broken"] = sum(own["silently_broken"] for own in found.values())
    print(json.dumps(first | ({"valid": found["valid"]} if given.valid else {})))


def read(corpus: Path, part: str) -> list[dict[str, str]]:
    """The lines of a part, by language."""
    sides = {
        side: gzip.decompress((corpus / f"{part}.{side}.gz").read_bytes()).decode("utf-8").splitlines()
        for side in ("en", "ko")
    }
    return [{"en": english, "ko": korean} for english, korean in zip(*sides.values(), strict=True)]


def measure(
    name: str, models: Sequence[str], code: Path, text: Sequence[dict[str, str]], lines: int | None, show: int
) -> list[Row]:
    """One row for each direction, printed."""
    table = []
    for model, (source, target) in zip(models, DIRECTIONS, strict=True):
        chosen = [one for one in text if PLACEHOLDER.search(one[source]) or NUMBER.search(one[source])][:lines]
        found = translate(model, code, source, target, [one[source] for one in chosen])
        broken = [is_broken(one[source], each["text"]) for one, each in zip(chosen, found, strict=True)]
        flagged = [bool({"placeholder", "number"} & set(each["kinds"])) for each in found]
        silent = [n for n, lost in enumerate(broken) if lost and not flagged[n]]
        texts, references = [each["text"] for each in found], [[one[target] for one in chosen]]
        row = {
            "system": name,
            "direction": f"{source}-{target}",
            "lines": len(chosen),
            "with_placeholders": sum(bool(PLACEHOLDER.search(one[source])) for one in chosen),
            "intact": 1 - sum(broken) / len(chosen),
            "flagged": sum(flagged) / len(chosen),
            "silent": len(silent),
            "bleu": sacrebleu.corpus_bleu(texts, references, tokenize=tokenizer_of(target)).score,
            "chrf": sacrebleu.corpus_chrf(texts, references).score,
            "outputs": Outputs(texts, *references, [bool(PLACEHOLDER.search(one[source])) for one in chosen]),
        }
        table.append(row)
        print(
            f"{name:9} {row['direction']}  {row['lines']:4} lines, {row['with_placeholders']:4} with placeholders: "
            f"intact {100 * row['intact']:5.1f} %, flagged {100 * row['flagged']:4.1f} %, silently broken "
            f"{row['silent']}; BLEU {row['bleu']:.2f}, chrF {row['chrf']:.2f}"
        )
        for n in [*silent, *(n for n, lost in enumerate(broken) if lost and flagged[n])][:show]:
            print(f"  {'silent' if n in silent else 'flagged'}: {chosen[n][source]}\n      {texts[n]}")
    return table


@cache
def tokenizer_of(target: str) -> str:
    """That of BLEU: Korean is divided into morphemes if sacreBLEU can, otherwise words are between spaces."""
    if target != "ko":
        return "13a"
    try:
        sacrebleu.sentence_bleu("가", ["가"], tokenize="ko-mecab")
    except (ImportError, RuntimeError):
        return "13a"
    return "ko-mecab"


def is_broken(source: str, translation: str) -> bool:
    """Whether a translation has other placeholders or numbers than its source."""
    ours, theirs = (Counter(PLACEHOLDER.findall(text)) for text in (source, translation))
    return ours != theirs or have_other_numbers(source, translation)


def have_other_numbers(source: str, translation: str) -> bool:
    """Whether the numbers differ, if the source has any; see the head of this file."""
    ours, theirs = (
        Counter(int(re.sub(r"\D", "", number)) for number in NUMBER.findall(PLACEHOLDER.sub(" ", text)))
        for text in (source, translation)
    )
    lost, added = ours - theirs, theirs - ours
    return bool(ours) and (bool(lost and added) or any(number > SMALL for number in lost + added))


def translate(model: str, code: Path, source: str, target: str, lines: Sequence[str]) -> list[Row]:
    """Text and kinds of warnings of each translation, by the code of a checkout in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(HERE), "--worker", model, source, target],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(code)},
    )
    if done.returncode:
        sys.exit(done.stderr)
    found: list[Row] = json.loads(done.stdout)
    return found


def worker(model: str, source: str, target: str) -> None:
    """Translate the lines of stdin."""
    from dragoman import Translator

    translator = Translator.load(model)
    several = len(translator.pairs.pairs) > 1
    translations = translator.translate(
        sys.stdin.read().split("\n"), **({"source": source, "target": target} if several else {})
    )
    found = [{"text": one.text, "kinds": [flag.kind for flag in one.warnings]} for one in translations]
    print(json.dumps(found))


def summary(rows: dict[str, list[Row]]) -> Row:
    """The last line, for one part of the text; what it says of BLEU is printed too."""
    ours = {name: table for name, table in rows.items() if name != "before"}
    outputs = {name: [row.pop("outputs") for row in table] for name, table in rows.items()}

    def mean(name: str, key: str) -> float | None:
        return sum(row[key] for row in rows[name]) / len(rows[name]) if name in rows else None

    found: Row = {
        "intact_trained": mean("trained", "intact"),
        "intact_untrained": mean("untrained" if "untrained" in rows else "bundled", "intact"),
        "silently_broken": sum(row["silent"] for table in ours.values() for row in table),
        "bleu_delta": None,
        "bleu_delta_interval": None,
    }
    if {"trained", "untrained"} <= rows.keys():
        deltas = differences(outputs["trained"], outputs["untrained"])
        found |= {"bleu_delta": deltas["mean"][0], "bleu_delta_interval": deltas["mean"][1:], "bleu_deltas": deltas}
        for name, (delta, low, high) in deltas.items():
            print(f"BLEU, trained minus untrained, {name}: {delta:+.2f} ({low:+.2f} to {high:+.2f})")
    return found | {"systems": [row for table in rows.values() for row in table]}


def differences(trained: Sequence[Outputs], untrained: Sequence[Outputs]) -> dict[str, tuple[float, float, float]]:
    """BLEU of one system minus that of another and the bounds of its 95 % interval, by direction and kind of line."""
    found, every = {}, []
    for (source, target), one, other in zip(DIRECTIONS, trained, untrained, strict=True):
        counts = [bleu_counts(each, tokenizer_of(target)) for each in (one, other)]
        has = np.array(one.placeholders)
        for kind, chosen in (("", has | True), (", with placeholders", has), (", numbers only", ~has)):
            if chosen.any():
                deltas = resampled(*(own[chosen] for own in counts))
                found[f"{source}-{target}{kind}"] = interval(deltas)
                every += [] if kind else [deltas]
    return {"mean": interval(sum(every) / len(every)), **found}


def interval(deltas: NDArray[np.float64]) -> tuple[float, float, float]:
    """The first value, which is of the lines as they are, and the bounds of 95 % of the others."""
    low, high = np.quantile(deltas[1:], (0.025, 0.975))
    return float(deltas[0]), float(low), float(high)


def bleu_counts(outputs: Outputs, tokenize: str) -> NDArray[np.float64]:
    """What corpus BLEU sums for each line: lengths of translation and reference, n-grams that match, n-grams."""
    metric = sacrebleu.BLEU(tokenize=tokenize, references=[list(outputs.references)])
    return np.array(metric._extract_corpus_statistics(outputs.texts, None), dtype=np.float64)


def resampled(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """The difference of corpus BLEU on the lines as they are, then on as many drawn again, RESAMPLES times."""
    rng = np.random.default_rng(1)
    lines = [np.arange(len(one)), *rng.integers(0, len(one), (RESAMPLES, len(one)))]
    return np.array([bleu_of(one[own].sum(0)) - bleu_of(other[own].sum(0)) for own in lines])


def bleu_of(counts: NDArray[np.float64]) -> float:
    """Corpus BLEU of summed counts."""
    [length, reference, *rest] = counts.astype(int).tolist()
    return float(sacrebleu.BLEU.compute_bleu(rest[:4], rest[4:], length, reference, smooth_method="exp").score)


if __name__ == "__main__":
    main()
