"""Glossaries: terms kept, quality with them, and false matches, beside replacing strings and an earlier commit.

    DRAGOMAN_DATA=FOLDER python benchmarks/control/glossary.py [--quick] [--before CHECKOUT] [--only LIST] [--lines 200]

FOLDER contains koen_open/; the text is its test and validation sets without the Bible, the models are the bundled ones.

Translation   For each direction and for usual and odd words: `--lines` lines, the same number for every term as far as
              the text has them, whose source has a term and whose reference has its usual word. The odd words are put
              into the references, Korean particles in the shape that agrees. Systems: `plain`, without a glossary;
              `strings`, its output with every usual word replaced by the required one as a string, given the lines
              that have the term; `words`, the same replacement by word, with particles, plurals and capitals, as in the
              references: it knows the model's own word, which a glossary does not; `glossary`; and `before`, the
              glossary of CHECKOUT. BLEU and chrF are sacreBLEU's against the references; `kept` counts the required
              words found in the output, a Korean one before particles, an English one as a singular or plural;
              `claimed` counts the terms that the system finds in the sources and reports as satisfied. `other` are ten
              terms that were not looked at while the substitution was made; the constants were chosen with the first.
False matches For each of 38 terms, the first 2,000 lines that do not have it. Which words are the term was judged by
              hand (`control/glossary_terms.py`). `found` is the share of the lines with the term that match it.

--quick takes 60 lines for each set and 500 lines for each term. The last line is one JSON object.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sacrebleu

sys.path.insert(0, str(Path(__file__).parents[1]))
from control.glossary_terms import (
    EN_KO,
    EN_KO_OTHER,
    KO_EN,
    KO_EN_OTHER,
    WORDS,
    english_word,
    korean_word,
    put_english,
    put_korean,
)

HERE = Path(__file__).resolve()
SOURCE = HERE.parents[2] / "src"
RUN = re.compile(r"[가-힣]+|[A-Za-z0-9_]+")

Row = dict[str, Any]


def main() -> None:
    """Measure, print, end with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--before", type=Path, help="a checkout of an earlier commit")
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--only", nargs="*", choices=["en-ko", "ko-en", "matches"])
    given = parser.parse_args()
    lines, per_term = (60, 500) if given.quick else (given.lines, 2000)
    text = read(Path(os.environ.get("DRAGOMAN_DATA", "data")) / "koen_open")
    chosen = given.only or ["en-ko", "ko-en", "matches"]
    results: dict[str, Any] = {"lines": lines, "translation": [], "matches": []}
    for direction in ("en-ko", "ko-en"):
        if direction in chosen:
            for other in (False, True):
                results["translation"] += translation(text, direction, lines, given.before, other)
    if "matches" in chosen:
        results["matches"] = false_matches(text, per_term, given.before)
    print(json.dumps(results, ensure_ascii=False))


def read(corpus: Path) -> list[tuple[str, str]]:
    """English and Korean of both sets, without the Bible."""
    pairs = []
    for split in ("test", "valid"):
        sides = [
            gzip.decompress((corpus / f"{split}.{side}.gz").read_bytes()).decode("utf-8").split("\n")
            for side in ("en", "ko", "domain")
        ]
        pairs += [
            (english, korean) for english, korean, domain in zip(*sides, strict=True) if domain not in ("bible", "")
        ]
    return pairs


def translation(
    text: Sequence[tuple[str, str]], direction: str, lines: int, before: Path | None, other: bool
) -> list[Row]:
    """The table of a direction, with the first or with the `other` ten terms."""
    to_korean = direction == "en-ko"
    terms = (EN_KO_OTHER if other else EN_KO) if to_korean else (KO_EN_OTHER if other else KO_EN)
    put = put_korean if to_korean else put_english
    in_source, in_target = (english_word, korean_word) if to_korean else (korean_word, english_word)
    pairs = text if to_korean else [(korean, english) for english, korean in text]
    rows = select(pairs, terms, in_source, in_target, lines)
    plain = worker(SOURCE, direction, [row["source"] for row in rows], {})["texts"]
    table = []
    for number, kind in enumerate(("usual", "odd")):
        wanted = {term: words[number] for term, words in terms.items()}
        references = [row["target"] for row in rows]
        strings, words = list(plain), list(plain)
        if kind == "odd":
            for index, row in enumerate(rows):
                for term in row["terms"]:
                    usual, odd = terms[term]
                    references[index] = put(references[index], usual, odd)
                    strings[index] = strings[index].replace(usual, odd).replace(usual.capitalize(), odd.capitalize())
                    words[index] = put(words[index], usual, odd)
        systems: dict[str, Row] = {"plain": {"texts": plain}}
        if kind == "odd":
            systems |= {"strings": {"texts": strings}, "words": {"texts": words}}
        if before:
            systems["before"] = worker(before / "src", direction, [row["source"] for row in rows], wanted)
        systems["glossary"] = worker(SOURCE, direction, [row["source"] for row in rows], wanted)
        for name, output in systems.items():
            table.append(
                scored(f"{direction}{' other' * other}", kind, name, rows, wanted, in_target, references, output)
            )
            print("  ".join(f"{key} {value}" for key, value in table[-1].items()), flush=True)
        if path := os.environ.get("GLOSSARY_OUTPUTS"):
            kept = {name: output["texts"] for name, output in systems.items()}
            Path(path, f"{direction}{'-other' * other}-{kind}.json").write_text(
                json.dumps({"rows": rows, "references": references, **kept}, ensure_ascii=False, indent=1)
            )
    return table


def select(
    pairs: Sequence[tuple[str, str]],
    terms: dict[str, tuple[str, str]],
    in_source: Callable[[str], re.Pattern[str]],
    in_target: Callable[[str], re.Pattern[str]],
    lines: int,
) -> list[Row]:
    """Lines whose reference has the usual word of every term of the source, the terms taking turns."""
    patterns = {term: (in_source(term), in_target(usual)) for term, (usual, _) in terms.items()}
    by_term: dict[str, list[int]] = {term: [] for term in terms}
    for index, (source, target) in enumerate(pairs):
        has = [term for term, (pattern, _) in patterns.items() if pattern.search(source)]
        if has and len(source) < 300 and all(patterns[term][1].search(target) for term in has):
            by_term[has[0]].append(index)
    turns = [index for turn in range(len(pairs)) for own in by_term.values() for index in own[turn : turn + 1]]
    rows = []
    for index in sorted(turns[:lines]):
        source, target = pairs[index]
        has = [term for term, (pattern, _) in patterns.items() if pattern.search(source)]
        rows.append({"source": source, "target": target, "terms": has})
    return rows


def scored(
    direction: str,
    kind: str,
    name: str,
    rows: Sequence[Row],
    wanted: dict[str, str],
    in_target: Callable[[str], re.Pattern[str]],
    references: Sequence[str],
    output: Row,
) -> Row:
    """One row of the table."""
    required = [(text, wanted[term]) for text, row in zip(output["texts"], rows, strict=True) for term in row["terms"]]
    kept = sum(bool(in_target(word).search(text)) for text, word in required)
    return {
        "direction": direction,
        "words": kind,
        "system": name,
        "kept": kept,
        "of": len(required),
        "claimed": f"{output['satisfied']} of {output['found']}" if "found" in output else None,
        "bleu": round(sacrebleu.corpus_bleu(output["texts"], [references]).score, 1),
        "chrf": round(sacrebleu.corpus_chrf(output["texts"], [references]).score, 1),
        "seconds": output.get("seconds"),
    }


def false_matches(text: Sequence[tuple[str, str]], per_term: int, before: Path | None) -> list[Row]:
    """How often a term matches in lines without it, and in lines with it."""
    jobs = {}
    for term, words in WORDS.items():
        true = set(words.split())
        side = [pair[not term.isascii()] for pair in text]
        has = [bool(true & set(RUN.findall(line))) for line in side]
        without = [line for line, there in zip(side, has, strict=True) if not there][:per_term]
        jobs[term] = without, [line for line, there in zip(side, has, strict=True) if there]
    table = []
    for name, source in {"before": before and before / "src", "glossary": SOURCE}.items():
        if not source:
            continue
        found = worker(source, "", [], {}, {term: [*without, *having] for term, (without, having) in jobs.items()})
        for script, own in {
            "Korean": [term for term in jobs if not term.isascii()],
            "English": [term for term in jobs if term.isascii()],
        }.items():
            false = {term: sum(found["found"][term][: len(jobs[term][0])]) for term in own}
            true = sum(sum(found["found"][term][len(jobs[term][0]) :]) for term in own)
            having = sum(len(jobs[term][1]) for term in own)
            lines = sum(len(jobs[term][0]) for term in own)
            worst = max(own, key=lambda term: false[term])
            row = {
                "system": name,
                "terms": f"{len(own)} {script}",
                "lines_without": lines,
                "false": sum(false.values()),
                "false_percent": round(100 * sum(false.values()) / lines, 2),
                "worst": worst,
                "worst_percent": round(100 * false[worst] / len(jobs[worst][0]), 2),
                "lines_with": having,
                "found_percent": round(100 * true / having, 2),
            }
            table.append(row)
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return table


def worker(
    source: Path, model: str, lines: Sequence[str], terms: dict[str, str], match: dict[str, list[str]] | None = None
) -> Row:
    """Translate, or match, with the package in folder `source`, in a process of its own."""
    job = json.dumps({"model": model, "lines": list(lines), "terms": terms, "match": match})
    environment = os.environ | {"PYTHONPATH": str(source)}
    command = [sys.executable, str(HERE), "--worker"]
    done = subprocess.run(command, input=job, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return dict(json.loads(done.stdout))


def work() -> None:
    """The process of `worker`."""
    from dragoman.text.terms.glossary import Glossary
    from dragoman.translator import Translator

    job = json.load(sys.stdin)
    if job["match"]:
        found = {
            term: [bool(Glossary.of({term: "x"}).find(line)) for line in lines] for term, lines in job["match"].items()
        }
        print(json.dumps({"found": found}))
        return
    translator = Translator.load(job["model"], threads=1)
    start = time.perf_counter()
    translations = translator.translate(job["lines"], glossary=Glossary.of(job["terms"]) if job["terms"] else None)
    result = {"texts": [translation.text for translation in translations]}
    result["seconds"] = round(time.perf_counter() - start, 1)
    if job["terms"]:
        result["satisfied"] = sum(term.satisfied for each in translations for term in each.terms)
        result["found"] = sum(len(each.terms) for each in translations)
    print(json.dumps(result))


if __name__ == "__main__":
    work() if "--worker" in sys.argv else main()
