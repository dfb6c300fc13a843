"""Placeholders, tags, addresses and numbers: how many lines keep them, and how many lose them without a warning.

    DRAGOMAN_DATA=FOLDER python benchmarks/placeholders.py [--quick] [--trained EN-KO KO-EN] [--untrained EN-KO KO-EN]
                                                           [--before CHECKOUT] [--show 10]

FOLDER contains koen_open/. The text is its test lines whose source has a placeholder, a tag, an address or a number, in
both directions. The systems are the bundled models, the models in the folders of --trained (`[data] protect = true`)
and --untrained (the same without), which are one bundle for each direction or one for both, and with --before the
bundled models by the code of CHECKOUT.

`intact` is the share of lines that have the placeholders of the source exactly as often, and its numbers: digits are
compared without the signs that group them, and a number up to 12 may be missing where it can be a word. `flagged` is
the share of lines with a warning of kind `placeholder` or `number`, `silent` the number of lines that are neither. What
counts is decided here, by expressions and counting of its own, not by the functions of the product. BLEU and chrF are
sacreBLEU's on these lines.

--quick takes 60 lines of each direction. The last line is one JSON object: `intact_trained`, `intact_untrained` (of the
bundled models, if no folder is given), `silently_broken` (the sum over all systems) and `bleu_delta` (trained minus
untrained, the mean of both directions); null where no model was given.
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
from pathlib import Path
from typing import Any

import sacrebleu

HERE = Path(__file__).resolve()
SOURCE = HERE.parents[1] / "src"
DIRECTIONS = (("en", "ko"), ("ko", "en"))

# What a program would break on, told from prose as narrowly as can be.
PLACEHOLDER = re.compile(
    r"(?:https?|ftp)://[\w.~:/?#@!$&'()*+,;=%-]*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|</?[a-zA-Z][\w-]*(?: [\w-]+=(?:\"[^\"]*\"|'[^']*'))*\s*/?>"
    r"|\{\{[^{}]*\}\}|[$%#]?\{[\w.:!-]*\}|%\(\w+\)[sd]|%[A-Z]{3,}"
    r"|%(?:\d\$)?[-+0]*\d*(?:\.\d+)?l?[sdiufxcgm@](?![A-Za-z]{3})|%%|%[1-9](?![\d%])|\$[1-9](?!\d|[.,]\d)"
    r"|\\[nt](?![a-z])|&(?:amp|lt|gt|quot|nbsp|#\d+);|(?<!\w)`[^`\s][^`]*`(?!\w)",
    re.ASCII,
)
NUMBER = re.compile(r"\d{1,3}(?:[,.'\u00a0\u202f]\d{3})+(?!\d)|\d+")
SMALL = 12  # up to this, a number may be a word

Row = dict[str, Any]


def main() -> None:
    """Measure, print, end with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--trained", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--untrained", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="a checkout of an earlier commit")
    parser.add_argument("--show", type=int, default=0, help="print this many lines that are not intact, of each system")
    parser.add_argument("--worker", nargs=3, metavar=("MODEL", "FROM", "TO"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(*given.worker)
        return
    text = read(Path(os.environ.get("DRAGOMAN_DATA", "data")) / "koen_open")
    systems: dict[str, tuple[Sequence[str], Path]] = {"bundled": (("en-ko", "ko-en"), SOURCE)}
    for name, models in (("trained", given.trained), ("untrained", given.untrained)):
        if models:
            systems[name] = ([str(one) for one in (*models, models[-1])[:2]], SOURCE)
    if given.before:
        systems["before"] = (("en-ko", "ko-en"), given.before / "src")
    rows = {
        name: measure(name, *system, text, 60 if given.quick else None, given.show) for name, system in systems.items()
    }
    print(json.dumps(summary(rows)))


def read(corpus: Path) -> list[dict[str, str]]:
    """The test lines, by language."""
    sides = {
        side: gzip.decompress((corpus / f"test.{side}.gz").read_bytes()).decode("utf-8").splitlines()
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
            "bleu": sacrebleu.corpus_bleu(texts, references, tokenize="ko-mecab" if has_mecab(target) else "13a").score,
            "chrf": sacrebleu.corpus_chrf(texts, references).score,
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


def has_mecab(target: str) -> bool:
    """Whether sacreBLEU can divide Korean into morphemes; without, BLEU counts words between spaces."""
    if target != "ko":
        return False
    try:
        sacrebleu.sentence_bleu("가", ["가"], tokenize="ko-mecab")
    except (ImportError, RuntimeError):
        return False
    return True


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
    """The last line."""
    ours = {name: table for name, table in rows.items() if name != "before"}

    def mean(name: str, key: str) -> float | None:
        return sum(row[key] for row in rows[name]) / len(rows[name]) if name in rows else None

    trained, untrained = mean("trained", "bleu"), mean("untrained", "bleu")
    return {
        "intact_trained": mean("trained", "intact"),
        "intact_untrained": mean("untrained" if "untrained" in rows else "bundled", "intact"),
        "silently_broken": sum(row["silent"] for table in ours.values() for row in table),
        "bleu_delta": trained - untrained if trained is not None and untrained is not None else None,
        "systems": [row for table in rows.values() for row in table],
    }


if __name__ == "__main__":
    main()
