"""What each key of [decode] costs: translations under it, on both engines, beside the plain search.

    python benchmarks/decode/options.py [--quick] [--model en-ko] [--source FILE] [--threads 2] [--rounds 5]
                                        [--engine ctranslate2 --engine torch] [--row ROW ...]

The model is a bundle, the bundled en-ko unless given. torch has the same weights: those of a bundle that has only an
export are dequantised. Shortlist and confidence are learned from embedded pairs, the language model has random weights.
The text is FILE, a sentence a line, or embedded English. A key of [decode] without a case here is an error. Below the
keys are what a call may have besides: a beginning, and several rules.

A row is the work that its key asks for, which may be more than the search: `max_length` cuts no translation, and
"max_length that cuts" cuts the longest, which then lack a placeholder or a number and are searched again; `n_best`
searches sentences once more where texts repeat; `token_scores`, and a beginning, need one scoring of each translation,
and `alignment` four or more.

In every round each case is timed right after a plain search of the same sentences: `Translator.translate` with the
model's own options. A ratio is the median over the rounds of the time of a case divided by that of the plain search
before it, with the spread, by the wall clock and by the processor time of the process. Ratios above 1.3 are marked. The
last line is one JSON object.
"""

import argparse
import gzip
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from decode.texts import EMBEDDED, evenly_spaced
from shared.levels import emulates_bfloat16, machine

from dragoman.bundle import Bundle, open_bundle
from dragoman.bundled import HOME, opposite_of
from dragoman.config import DecodeConfig, LanguageModelConfig
from dragoman.config.file import build_section
from dragoman.installed import resolve_model
from dragoman.model.others.language_model import LanguageModel
from dragoman.translator import Translator
from dragoman.workflows.evaluate.confidence import learn_model_confidence
from dragoman.workflows.models.dequantise import write_dequantised
from dragoman.workflows.models.shortlist import learn_model_shortlist

ENGINES, TORCH = ("ctranslate2", "torch"), ("torch",)
# The ratio that rules keep to on CTranslate2.
MOST = 1.3
SAMPLE, MBR = {"method": "sample"}, {"method": "mbr", "samples": 8}
CONFIDENCE, FUSION = {"confidence": True}, {"language_model": Path("random")}

# A change of every key of [decode] and what it needs, with the engines that have it.
KEYS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "method": (SAMPLE, ENGINES),
    "beam": ({"beam": 8}, ENGINES),
    "length_penalty": ({"length_penalty": 1.0}, ENGINES),
    "coverage_penalty": ({"coverage_penalty": 0.2}, TORCH),
    "language_model": (FUSION, TORCH),
    "language_model_weight": ({**FUSION, "language_model_weight": 0.3}, TORCH),
    "reverse_weight": ({"reverse_weight": 0.4}, ("ctranslate2",)),
    "no_repeat_ngram": ({"no_repeat_ngram": 3}, ENGINES),
    "min_length": ({"min_length": 3}, ENGINES),
    "extra_length": ({"extra_length": 1}, ENGINES),
    "max_length": ({"max_length": 64}, ENGINES),
    "n_best": ({"n_best": 4}, ENGINES),
    "temperature": ({**SAMPLE, "temperature": 0.5}, ENGINES),
    "top_k": ({**SAMPLE, "top_k": 5}, ENGINES),
    "top_p": ({**SAMPLE, "top_p": 0.8}, ENGINES),
    "samples": (MBR, ENGINES),
    "seed": ({**SAMPLE, "seed": 2}, ENGINES),
    "exact": ({"exact": True}, ENGINES),
    "shortlist": ({"shortlist": True}, ENGINES),
    "token_scores": ({"token_scores": True}, ENGINES),
    "confidence": (CONFIDENCE, ENGINES),
    "doubtful": ({"doubtful": False}, ENGINES),
    "confidence_samples": ({**CONFIDENCE, "confidence_samples": 8}, ENGINES),
    "alignment": ({"alignment": True}, ENGINES),
    "placeholders": ({"placeholders": ()}, ENGINES),
    "numbers": ({"numbers": False}, ENGINES),
    "keep": ({"keep": ("[A-Z][a-z]+",)}, ENGINES),
    "batch_tokens": ({"batch_tokens": 1024}, ENGINES),
    "precision": ({"precision": "bfloat16"}, TORCH),
}
# What a call may have besides.
FORCED = {"min_length": 16, "max_length": 16}
MORE: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a beginning": ({}, ENGINES),
    "max_length that cuts": ({"max_length": 16}, ENGINES),
    "16 tokens exactly": (FORCED, ENGINES),
    "min_length and n-grams": ({"min_length": 3, "no_repeat_ngram": 3}, ENGINES),
    "min_length and n_best": ({"min_length": 3, "n_best": 4}, ENGINES),
    "exact and min_length": ({"exact": True, "min_length": 3}, ENGINES),
    "exact and max_length": ({"exact": True, "max_length": 16}, ENGINES),
}


@dataclass(frozen=True)
class Effort:
    """Sentences for each engine, and rounds."""

    sentences: dict[str, int]
    rounds: int


FULL = Effort({"ctranslate2": 200, "torch": 60}, 5)
QUICK = Effort({"ctranslate2": 80, "torch": 10}, 3)


@dataclass(frozen=True)
class Case:
    """One row of the table: a translator, the options of its calls, and how they begin."""

    engine: str
    row: str
    translator: Translator
    options: DecodeConfig
    prefix: str = ""


def prepare(model: str, folder: Path) -> Bundle:
    """A copy of the model in `folder`, with weights, a shortlist, and a confidence learned from samples."""
    bundle, path = open_bundle(resolve_model(model)), folder / "model"
    if bundle.has_weights:
        sys.exit(f"{model}: give a model that has an export only; its weights are made of that")
    write_dequantised(bundle, path)
    learn_model_shortlist(path, EMBEDDED / "train.tsv.gz", pairs=1000)
    learn_model_confidence(path, EMBEDDED / "train.tsv.gz", lines=100)
    return open_bundle(path)


def load(bundle: Bundle, engine: str, threads: int, precision: str = "auto") -> Translator:
    """The translator; on torch its engine has a language model, which takes part where the options name one."""
    translator = Translator.of_bundle(bundle, engine=engine, threads=threads, device="cpu", precision=precision)
    if engine == "torch":
        shape = LanguageModelConfig.model_validate({"preset": "tiny", "language": "ko"})
        translator.engine.language_model = LanguageModel(shape, len(bundle.tokenizer.target)).eval()
    return translator


def cases(bundle: Bundle, engine: str, threads: int, lines: list[str]) -> list[Case]:
    """Every row of an engine, the plain search first."""
    translator = load(bundle, engine, threads)
    beginning = bundle.tokenizer.decode([translator.translate(lines[0]).tokens[:1]], "target")[0]
    found = [Case(engine, "plain", translator, translator.options)]
    for row, (changes, engines) in (KEYS | MORE).items():
        if engine not in engines:
            continue
        used = translator
        if "precision" in changes:
            if emulates_bfloat16():
                print(f"{engine}: precision: bfloat16 is emulated here, and not timed")
                continue
            used = load(bundle, engine, threads, changes["precision"])
        if "reverse_weight" in changes:
            if (opposite := opposite_of(HOME / bundle.manifest["name"])) is None:
                print(f"{engine}: reverse_weight: no bundled model has the other direction; not timed")
                continue
            used = translator.with_reverse(Translator.load(opposite, threads=threads))
        options = build_section(translator.options, changes, "decode")
        found.append(Case(engine, row, used, options, beginning if row == "a beginning" else ""))
    return found


def seconds(case: Case, lines: list[str]) -> tuple[float, float]:
    """What the translation of the lines takes, by the wall clock and of processor time."""
    wall, processor = time.perf_counter(), time.process_time()
    case.translator.translate(lines, options=case.options, target_prefix=case.prefix)
    return time.perf_counter() - wall, time.process_time() - processor


def ratios(plain: Case, others: Iterable[Case], lines: list[str], rounds: int) -> dict[str, Any]:
    """Each row beside the plain search right before it."""
    others, pairs = list(others), dict[str, list[tuple[float, ...]]]()
    for case in (plain, *others):
        seconds(case, lines[:2])
    for _ in range(rounds):
        for case in others:
            before, after = seconds(plain, lines), seconds(case, lines)
            pairs.setdefault(case.row, []).append((before[0], *(b / a for a, b in zip(before, after, strict=True))))
    table: dict[str, Any] = {"plain": round(statistics.median(row[0] for rows in pairs.values() for row in rows), 3)}
    for case in others:
        _, wall, processor = zip(*pairs[case.row], strict=True)
        table[case.row] = {
            name: [round(value, 3) for value in (statistics.median(times), min(times), max(times))]
            for name, times in (("wall", wall), ("processor", processor))
        }
        shown = "   ".join(f"{mid:6.2f} {f'[{low:.2f}-{high:.2f}]':14}" for mid, low, high in table[case.row].values())
        mark = "  above 1.3" if table[case.row]["wall"][0] > MOST else ""
        print(f"{case.engine:12} {case.row:22} {shown}{mark}", flush=True)
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="finish within 5 minutes")
    parser.add_argument("--model", default="en-ko", help="a bundle, or the name of a bundled model")
    parser.add_argument("--source", type=Path, help="sentences of the model's source language, one a line")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--engine", action="append", choices=ENGINES, help="only this; may be repeated")
    parser.add_argument("--row", action="append", choices=[*KEYS, *MORE], help="only this; may be repeated")
    args = parser.parse_args()
    if untimed := DecodeConfig.model_fields.keys() ^ KEYS.keys():
        sys.exit(f"KEYS: not the keys of [decode]: {', '.join(sorted(untimed))}; give each a case")
    begin, effort = time.perf_counter(), QUICK if args.quick else FULL
    text = args.source.read_text() if args.source else gzip.decompress((EMBEDDED / "test.tsv.gz").read_bytes()).decode()
    sources = [line.partition("\t")[0] for line in text.splitlines()]
    tables = {}
    with tempfile.TemporaryDirectory() as temporary:
        bundle = prepare(args.model, Path(temporary))
        print(f"{'':36}wall                    processor time", flush=True)
        for engine in args.engine or ENGINES:
            lines = evenly_spaced(sources, effort.sentences[engine])
            plain, *others = cases(bundle, engine, args.threads, lines)
            chosen = [case for case in others if not args.row or case.row in args.row]
            tables[engine] = ratios(plain, chosen, lines, args.rounds or effort.rounds)
            print(
                f"{engine}: the plain search of {len(lines)} sentences takes {tables[engine]['plain']:.2f} s",
                flush=True,
            )
    print(f"{time.perf_counter() - begin:.0f} seconds in total")
    slow = {
        engine: [row for row, ratio in table.items() if row != "plain" and ratio["wall"][0] > MOST]
        for engine, table in tables.items()
    }
    facts = {"model": args.model, "threads": args.threads, "sentences": effort.sentences, **machine()}
    print(json.dumps({"benchmark": "decode options", "ratios": tables, "above": slow, **facts}))


if __name__ == "__main__":
    main()
