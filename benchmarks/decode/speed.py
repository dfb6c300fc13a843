"""Decoding speed next to JoeyNMT, Hugging Face's Marian and direct calls of CTranslate2, with the same weights.

    python benchmarks/decode/speed.py [--quick] [--model BUNDLE] [--student BUNDLE] [--threads 2] [--rounds 5]
                                      [--source FILE --reference FILE]

Ours are the torch engine in float32 and bfloat16 (unless it is emulated), the ctranslate2 engine in float32, int8 and
int8 with the model's shortlist (if it has one), and a student in int8. BUNDLE must have the paper's shape (Post-LN,
sinusoidal positions, ReLU, biases, tied embeddings), which JoeyNMT and Marian can express: they load the same weights
and read the same token ids. Without BUNDLE the weights of paper-base are random and no BLEU is measured. The text is
FILE, or the test set of Multi30k en-de if DRAGOMAN_DATA names the folder that contains multi30k/, else the embedded
corpus. Every system is a process of its own; the peers run in the environment of train/speed.py.

First every system scores the same pairs: in float32 the log P of each token must equal the torch engine's within 1e-4.

speed      Target tokens/s with beam 4 and exactly 16 target tokens per sentence, EOS included, so that all systems do
           the same work. The peers and direct CTranslate2 sort by length and first try several batch sizes, CTranslate2
           both with one batch on all threads and with one batch per thread; their best counts. (With --quick the peers
           get all 64 sentences in one batch.) Our engines choose batches themselves. The systems take turns within
           every round, each after a pause in which the waiting threads of the previous one fall asleep. With --model,
           the systems on CTranslate2 are also compared at the lengths that the model produces, in sentences/s, because
           our ctranslate2 engine scores forced tokens a second time to report their true log P.
latency    Single sentences, one after the other: median and 99th percentile. At the lengths that the model produces, or
           16 tokens with random weights.
memory     The peak of the process from its start until speed was measured (for CTranslate2, at the model's lengths),
           without the trials of batch sizes.
load       Seconds from the start of the process until it can translate, Python and imports included.
BLEU       Translations at the lengths that the model produces; with --quick of 200 sentences and of our systems only.

Ratios are medians over the rounds, each of two systems in the same round, with the spread. torch_bf16_vs_hf compares
with Marian in float32, torch_bf16_vs_hf_bf16 with Marian in bfloat16. ct2_vs_direct is the lower of the ratios in
float32 and int8; it, student_vs_teacher and shortlist_vs_int8 are ratios of sentences/s. At its own lengths the student
uses the search options of its bundle. Student and shortlist are compared with our int8; int8_bleu_drop compares our
int8 with our ctranslate2 float32. The last line is one JSON object, with null for what was not measured.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from decode.measure import (
    FULL,
    QUICK,
    measure_bleu,
    measure_latency,
    measure_natural_speed,
    measure_speed,
    tune,
    verify,
)
from decode.systems import BEAM, Worker, refuse_inexpressible, start_all
from decode.texts import evenly_spaced, random_bundle, read_text
from shared.levels import machine
from train.speed import ENVIRONMENT, make_environment

from dragoman.bundle import open_bundle


def ratio(workers: dict[str, Worker], one: str, other: str, natural: bool = False) -> float | None:
    """The median over the rounds of the speed of `one` divided by that of `other`; None if not measured."""
    speeds = [getattr(workers.get(name), "natural_speeds" if natural else "speeds", []) for name in (one, other)]
    each = [a / b for a, b in zip(*speeds, strict=False)]
    if not each:
        return None
    print(f"  {one} / {other}: {statistics.median(each):.2f} [{min(each):.2f}-{max(each):.2f}]")
    return round(statistics.median(each), 3)


def drop(workers: dict[str, Worker], one: str, other: str) -> float | None:
    """The BLEU of `other` minus that of `one`; None if not measured."""
    scores = [workers[name].bleu if name in workers else None for name in (one, other)]
    return None if None in scores else round(scores[1] - scores[0], 2)


def report(workers: dict[str, Worker]) -> dict[str, Any]:
    """Print the table, and return it for the JSON line."""
    print(f"\n{'':29} tokens/s [spread]       p50 ms  p99 ms  peak MB  load s  sentences/s   BLEU  same")
    table: dict[str, Any] = {}
    for name, worker in workers.items():
        speed, low, high = statistics.median(worker.speeds), min(worker.speeds), max(worker.speeds)
        p50, p99 = percentile(worker.latencies, 50), percentile(worker.latencies, 99)
        line = f"{name:29} {speed:8,.0f} {f'[{low:,.0f}-{high:,.0f}]':14} {p50:7.0f} {p99:7.0f}"
        line += f" {worker.peak_mb:8,.0f} {worker.load_seconds:7.1f}"
        natural = statistics.median(worker.natural_speeds) if worker.natural_speeds else None
        line += f" {natural or '':12.5}"
        if worker.bleu is not None:
            line += f" {worker.bleu:6.2f} {worker.same:5.0%}"
        print(line)
        table[name] = {
            "tokens_per_second": round(speed),
            "p50_ms": round(p50, 1),
            "p99_ms": round(p99, 1),
            "peak_mb": round(worker.peak_mb),
            "load_s": round(worker.load_seconds, 2),
            "bleu": worker.bleu and round(worker.bleu, 2),
            "sentences_per_second": natural and round(natural, 2),
            "batch": worker.batch or None,
        }
    return table


def percentile(seconds: Sequence[float], percent: int) -> float:
    """A percentile of these times, in milliseconds."""
    return 1000 * statistics.quantiles(seconds, n=100, method="inclusive")[percent - 1]


def ratios(workers: dict[str, Worker]) -> dict[str, float | None]:
    """The claims, printed and returned."""
    print("\nratios of speeds in the same round")
    direct = [ratio(workers, f"ctranslate2 {which}", f"direct {which}", natural=True) for which in ("float32", "int8")]
    return {
        "torch_vs_joeynmt": ratio(workers, "torch float32", "joeynmt"),
        "torch_vs_hf": ratio(workers, "torch float32", "marian float32"),
        "torch_bf16_vs_hf": ratio(workers, "torch bfloat16", "marian float32"),
        "torch_bf16_vs_hf_bf16": ratio(workers, "torch bfloat16", "marian bfloat16"),
        "ct2_vs_direct": min(filter(None, direct), default=None),
        "shortlist_vs_int8": ratio(workers, "ctranslate2 int8 + shortlist", "ctranslate2 int8", natural=True),
        "student_vs_teacher": ratio(workers, "student int8", "ctranslate2 int8", natural=True),
        "student_bleu_drop": drop(workers, "student int8", "ctranslate2 int8"),
        "shortlist_bleu_drop": drop(workers, "ctranslate2 int8 + shortlist", "ctranslate2 int8"),
        "int8_bleu_drop": drop(workers, "ctranslate2 int8", "ctranslate2 float32"),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="finish within 5 minutes")
    parser.add_argument("--model", type=Path, help="a bundle of the paper's shape; default: random weights")
    parser.add_argument("--student", type=Path, help="the bundle of a student distilled from --model")
    parser.add_argument("--source", type=Path)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--no-peers", action="store_true", help="only our systems and direct CTranslate2")
    args = parser.parse_args()
    if (args.source is None) != (args.reference is None):
        parser.error("give --source and --reference together")
    if args.student and not args.model:
        parser.error("--student needs --model, its teacher")
    begin, effort = time.perf_counter(), QUICK if args.quick else FULL
    if args.no_peers:
        ENVIRONMENT.mkdir(exist_ok=True)  # for the logs
    else:
        make_environment()
    text, sources, references = read_text(args)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        bundle = open_bundle(args.model) if args.model else random_bundle(folder / "random")
        student = open_bundle(args.student) if args.student else None
        if not args.no_peers:
            refuse_inexpressible(bundle)
        name = bundle.manifest["name"] if args.model else "paper-base with random weights"
        print(f"{name}; {text}, {len(bundle.tokenizer.target):,} pieces; {args.threads} threads, beam {BEAM}")
        if not args.model:
            print("without --model: no comparison at natural lengths (ct2_vs_direct, shortlist, student) and no BLEU")
        workers = start_all(bundle, student, folder, args)
        differences = verify(workers, sources[:16], references[:16])
        texts = evenly_spaced(sources, effort.sentences)
        tune(workers, texts, effort, natural=bool(args.model))
        rounds = args.rounds or effort.rounds
        if args.model:
            measure_natural_speed(workers, texts, rounds)
        measure_speed(workers, texts, rounds)
        singles = evenly_spaced(sources, effort.singles * effort.turns)
        measure_latency(workers, singles, effort.turns, forced=args.model is None)
        if args.model:
            count = effort.scored or len(sources)
            scored = [worker for worker in workers if effort.peers_bleu or not worker.needs_batches]
            measure_bleu(scored, evenly_spaced(sources, count), evenly_spaced(references, count))
        for worker in workers:
            worker.stop()
    by_name = {worker.name: worker for worker in workers}
    table = report(by_name)
    result = ratios(by_name)
    print(f"\n{time.perf_counter() - begin:.0f} seconds in total")
    facts = {"model": name, "text": text, "threads": args.threads, **machine()}
    print(json.dumps(result | facts | {"log_p_differences": differences, "all": table}))


if __name__ == "__main__":
    main()
