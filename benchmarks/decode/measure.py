"""The measurements of `decode/speed.py`: agreement, speed, latency and BLEU of the systems in `decode_systems`."""

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from decode.systems import SIZES, Worker

from dragoman.evaluation import bleu

TOLERANCE = 1e-4


@dataclass(frozen=True)
class Effort:
    """The amount of measurement."""

    sentences: int
    """Sentences per round."""
    rounds: int
    singles: int
    """Single sentences per turn."""
    turns: int
    scored: int | None
    """Sentences for BLEU; None for all."""
    sizes: tuple[int, ...]
    """Batch sizes that direct CTranslate2 tries."""
    peer_sizes: tuple[int, ...]
    """Batch sizes that the peers try."""
    peers_bleu: bool


FULL = Effort(sentences=256, rounds=5, singles=20, turns=3, scored=None, sizes=SIZES, peer_sizes=SIZES, peers_bleu=True)
QUICK = Effort(
    sentences=64, rounds=3, singles=20, turns=1, scored=200, sizes=(256, 1024), peer_sizes=(1024,), peers_bleu=False
)


def verify(workers: list[Worker], sources: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """The largest difference of a token's log P between each system and the torch engine. Exits if one is too large."""
    reference, *others = [worker for worker in workers if worker.name != "student int8"]
    request = {"do": "score", "sources": reference.ids(sources)}
    request["targets"] = reference.bundle.tokenizer.encode(references, "target")
    gold = reference.ask(request)["log_probs"]
    differences = {}
    for worker in others:
        log_probs = worker.ask(request)["log_probs"]
        pairs = [pair for rows in zip(gold, log_probs, strict=True) for pair in zip(*rows, strict=True)]
        differences[worker.name] = largest = max(abs(a - b) for a, b in pairs)
        print(f"{worker.name}: log P of {len(pairs)} tokens differs from ours by at most {largest:.1e}")
        exact = worker.name == "joeynmt" or worker.name.endswith("float32")
        if exact and largest > TOLERANCE:
            sys.exit(f"{worker.name} does not compute the same model, so nothing was timed")
    return differences


def tune(workers: list[Worker], texts: Sequence[str], effort: Effort, natural: bool) -> None:
    """Warm up every system, and find the best batch size of those that need one.

    With `natural`, direct CTranslate2 is tuned at the lengths that the model produces, where it is compared.
    """
    for worker in workers:
        sizes = effort.sizes if worker.runs_ctranslate2 else effort.peer_sizes
        forced = not (natural and worker.runs_ctranslate2)
        ways = list(product(sizes, (False, True) if worker.name.startswith("direct") else (False,)))
        if not worker.needs_batches:
            worker.search(texts, forced)
            continue
        seconds = {}
        for worker.batch, worker.apart in ways:
            worker.search(texts[:2], forced)
            seconds[worker.batch, worker.apart] = worker.search(texts, forced)["seconds"]
        worker.batch, worker.apart = min(seconds, key=seconds.__getitem__)
        worker.ask({"do": "forget"})
        how = ", one thread per batch" if worker.apart else ""
        print(f"{worker.name}: batches of {worker.batch:,} tokens{how}: the fastest of {[*sizes]}", flush=True)


def measure_speed(workers: list[Worker], texts: Sequence[str], rounds: int) -> None:
    """All systems in turns, at forced length."""
    for _ in range(rounds):
        for worker in workers:
            answer = worker.search(texts)
            worker.speeds.append(answer["tokens"] / answer["seconds"])
            if not worker.natural_speeds:
                worker.peak_mb = max(worker.peak_mb, answer["peak_mb"])


def measure_natural_speed(workers: list[Worker], texts: Sequence[str], rounds: int) -> None:
    """The systems on CTranslate2 in turns, at the lengths that the model produces."""
    workers = [worker for worker in workers if worker.runs_ctranslate2]
    for worker in workers:
        worker.search(texts, forced=False)
    for _ in range(rounds):
        for worker in workers:
            answer = worker.search(texts, forced=False)
            worker.natural_speeds.append(len(texts) / answer["seconds"])
            worker.peak_mb = max(worker.peak_mb, answer["peak_mb"])


def measure_latency(workers: list[Worker], texts: Sequence[str], turns: int, forced: bool) -> None:
    """Single sentences, some of them in each turn."""
    for turn in range(turns):
        for worker in workers:
            worker.search(texts[-2:], forced, single=True)
            worker.latencies += worker.search(texts[turn::turns], forced, single=True)["latencies"]


def measure_bleu(workers: list[Worker], sources: Sequence[str], references: Sequence[str]) -> None:
    """BLEU of translations at the lengths that the model produces."""
    first: list[str] = []
    for worker in workers:
        texts = worker.bundle.tokenizer.decode(worker.search(sources, forced=False)["outputs"], "target")
        first = first or texts
        worker.bleu = bleu(texts, references).value
        worker.same = statistics.fmean(a == b for a, b in zip(texts, first, strict=True))
