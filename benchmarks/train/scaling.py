"""The cost per token as the model, its sentences and its corpus grow, and the memory as the corpus grows.

    python benchmarks/train/scaling.py [--quick] [--only width length corpus memory] [--rounds 5] [--threads 2]

width, length, corpus: seconds per target token of whole training steps in float32 (gradient and Adam, dropout 0.1). The
sizes take turns within every round; medians with the spread. The exponent is the least-squares slope of log seconds
over log size, of the medians and, as its spread, of every round; next to it the exponent of the operations that
`dragoman.training.cost.flops` counts in the same batches. `corpus` trains a small model for one whole epoch of
synthetic text, including reading, tokenising and shuffling; the other two train on random tokens.

memory: separate processes read synthetic corpora of short, distinct pairs and report their peak: one as the data check,
one as training batches. `data.shuffle_buffer`, which bounds the latter, is 10,000 here instead of 500,000, so that the
bound is reached early. Batches are drawn for a whole epoch or until `--seconds` have passed (300, with --quick 30), and
the table shows how many pairs they contained. The bytes per pair of the buffer come from one more run with four times
the buffer.

The last line is one JSON object.
"""

import argparse
import itertools
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from dragoman.config import CorpusConfig, DataConfig, ModelConfig, TokenizerConfig, TrainConfig
from dragoman.data.batches.batch import Batch, Example, collate
from dragoman.data.batches.stream import BatchStream
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.training.cost.flops import training_flops
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.training.update.optimizer import build_optimizer

VOCAB, TOKENS = 4000, 2048  # pieces, and target positions of a batch, where tokens are random
BUFFER = 10_000
WIDTHS = {"quick": [64, 128, 256], "full": [64, 128, 256, 512]}
LENGTHS = {"quick": [16, 32, 64, 128], "full": [8, 16, 32, 64, 128, 256]}
CORPORA = {"quick": [1000, 2000, 4000], "full": [2000, 4000, 8000, 16_000]}
MEMORY = {"quick": [10**4, 10**5, 10**6], "full": [10**4, 10**5, 10**6, 3 * 10**6, 10**7]}
SECONDS = {"quick": 30.0, "full": 300.0}  # of drawing batches from one corpus


@dataclass
class Variant:
    """One size: a model in training, the batches of a turn, and the seconds per target token of each turn."""

    size: int
    shape: ModelConfig
    vocab: int
    batches: Callable[[], Iterable[Batch]]
    limit: float = math.inf
    flops: float = 0.0
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        torch.manual_seed(0)
        model, train = Transformer(self.shape, self.vocab, self.vocab).train(), TrainConfig(precision="float32")
        self.gradient, self.optimizer = (
            GradientAccumulator(model, train, ProcessGroup(), torch.device("cpu")),
            build_optimizer(model, train),
        )
        self.optimizer.param_groups[0]["lr"] = 1e-4

    def turn(self) -> float:
        """Train on the batches for at most `limit` seconds; returns seconds per target token."""
        start, tokens, flops = time.perf_counter(), 0, 0
        for batch in self.batches():
            count = batch.target_tokens
            self.gradient.backward([batch], count)
            self.optimizer.step()
            self.optimizer.zero_grad()
            tokens += count
            sentences, source = batch.src.shape
            flops += training_flops(self.shape, self.vocab, sentences, source, batch.tgt_out.size(1))
            if time.perf_counter() - start > self.limit:
                break
        self.flops = flops / tokens
        return (time.perf_counter() - start) / tokens


def shape(d_model: int) -> ModelConfig:
    """2 + 2 layers with heads of width 32."""
    return ModelConfig.model_validate(
        {"layers": 2, "d_model": d_model, "d_ff": 4 * d_model, "heads": d_model // 32, "dropout": 0.1}
    )


def random_batch(length: int) -> Batch:
    """`TOKENS` target positions in sentences of the given length on both sides, EOS included."""
    rng = random.Random(length)
    rows = [[rng.randrange(4, VOCAB) for _ in range(length - 1)] for _ in range(TOKENS // length)]
    return collate([Example(row, row[::-1], "") for row in rows])


def widths(sizes: list[int]) -> list[Variant]:
    """One model for each d_model, on the same batch."""
    batch = random_batch(16)
    return [Variant(size, shape(size), VOCAB, lambda: itertools.repeat(batch), limit=1.0) for size in sizes]


def lengths(sizes: list[int]) -> list[Variant]:
    """One batch for each sentence length."""

    def repeated(batch: Batch) -> Callable[[], Iterable[Batch]]:
        return lambda: itertools.repeat(batch)

    return [Variant(size, shape(128), VOCAB, repeated(random_batch(size)), limit=1.0) for size in sizes]


def corpora(sizes: list[int], folder: Path) -> list[Variant]:
    """One whole epoch for each corpus size, in pairs."""
    tokenizer = synthetic_tokenizer(folder)

    def epochs(pairs: int) -> Callable[[], Iterable[Batch]]:
        return lambda: epoch(pairs)

    def epoch(pairs: int) -> Iterator[Batch]:
        corpus = CorpusConfig(source=folder / f"{pairs}.tsv")
        stream = BatchStream(DataConfig(train=(corpus,), valid=corpus), tokenizer, batch_tokens=TOKENS, seed=1)
        while pairs > 0:
            (batch,) = stream.next_update(1).batches
            pairs -= len(batch.locations)
            yield batch

    for pairs in sizes:
        write_corpus(folder / f"{pairs}.tsv", pairs)
    pieces = len(tokenizer.source)
    return [Variant(size, shape(64), pieces, epochs(size)) for size in sizes]


def words(count: int, seed: int) -> list[str]:
    """`count` different words of two to four syllables."""
    rng, found = random.Random(seed), dict[str, None]()
    while len(found) < count:
        found["".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(rng.randint(2, 4)))] = None
    return list(found)


def write_corpus(path: Path, pairs: int) -> None:
    """Short, distinct pairs of word-by-word translations: a multiple of 1,000, at most 10^7.

    The same 1,000 pairs of 4 to 12 words again and again; two words make each repetition different.
    """
    rng, sources, targets = random.Random(1), words(1000, 2), words(1000, 3)
    rows = {tuple(rng.choices(range(1000), k=rng.randint(2, 10))): None for _ in range(1100)}
    sides = [(" ".join(sources[word] for word in row), " ".join(targets[word] for word in row)) for row in rows]
    text = "".join(f"\0 {source}\t\1 {target}\n" for source, target in sides[:1000])
    with path.open("w", encoding="utf-8") as file:
        for number in range(pairs // 1000):
            first, second = divmod(number, 100)
            source, target = (f"{side[first]} {side[second]}" for side in (sources, targets))
            file.write(text.replace("\0", source).replace("\1", target))


def synthetic_tokenizer(folder: Path) -> Tokenizer:
    """A tokenizer learned from some of the synthetic text, saved in a folder."""
    write_corpus(folder / "sample.tsv", 5000)
    text = sample_pairs([CorpusConfig(source=folder / "sample.tsv")], 5000, 1)
    tokenizer = learn(text, TokenizerConfig(kind="bpe", vocab_size=2000))
    tokenizer.save(folder)
    return tokenizer


def slope(sizes: list[int], costs: list[float]) -> float:
    """The exponent e of cost ∝ size^e."""
    return statistics.linear_regression([math.log(x) for x in sizes], [math.log(y) for y in costs]).slope


def compare(name: str, variants: list[Variant], rounds: int) -> dict[str, Any]:
    """All sizes in turns, after one warm-up round."""
    for number in range(rounds + 1):
        for variant in variants:
            seconds = variant.turn()
            if number:
                variant.seconds.append(seconds)
    print(f"\n{name:>8}   µs per target token, spread      MFLOP/token     GFLOP/s")
    sizes, rows = [variant.size for variant in variants], []
    for variant in variants:
        median, low, high = statistics.median(variant.seconds), min(variant.seconds), max(variant.seconds)
        spread = f"{median * 1e6:10.1f} [{low * 1e6:.1f}-{high * 1e6:.1f}]"
        print(f"{variant.size:8,}   {spread:32} {variant.flops / 1e6:12.2f} {variant.flops / median / 1e9:9.1f}")
        flops = round(variant.flops)
        rows.append({"size": variant.size, "us_per_token": round(median * 1e6, 2), "flops_per_token": flops})
    measured = slope(sizes, [statistics.median(variant.seconds) for variant in variants])
    each = [slope(sizes, list(turn)) for turn in zip(*(variant.seconds for variant in variants), strict=True)]
    counted = slope(sizes, [variant.flops for variant in variants])
    print(
        f"exponent {measured:z.2f} [{min(each):z.2f}-{max(each):z.2f}], that of the operations {counted:z.2f}",
        flush=True,
    )
    spread_of_exponent = [round(min(each), 3), round(max(each), 3)]
    exponents = {"exponent": round(measured, 3), "spread": spread_of_exponent, "flops_exponent": round(counted, 3)}
    return exponents | {"rows": rows}


def weigh(how: str, corpus: Path, pairs: int, seconds: float, buffer: int = BUFFER) -> dict[str, Any]:
    """The answer of a fresh process that reads `corpus`."""
    worker, folder = Path(__file__).with_name("corpus_worker.py"), corpus.parent
    options = ["--tokenizer", folder, "--pairs", pairs, "--buffer", buffer, "--seconds", seconds]
    command = [sys.executable, worker, how, corpus, folder / "sample.tsv", *options]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True)
    return {"size": pairs, **json.loads(done.stdout)}


def memory(sizes: list[int], folder: Path, seconds: float) -> dict[str, Any]:
    """Both readers on corpora of these sizes."""
    synthetic_tokenizer(folder)
    corpus, rows = folder / "corpus.tsv", dict[str, list[dict[str, Any]]](check=[], stream=[])
    print("\n         pairs   of them read      MB before       MB peak      s   bytes per pair since the size before")
    for pairs in sizes:
        write_corpus(corpus, pairs)
        for how, before in rows.items():
            row = weigh(how, corpus, pairs, seconds)
            if before:
                more = (row["peak_mb"] - before[-1]["peak_mb"]) * 2**20
                row["bytes_per_more_pair"] = round(more / (pairs - before[-1]["size"]), 1)
            before.append(row)
            print(f"{how:6} {pairs:10,} {row['pairs']:12,} {row['before_mb']:13.1f} {row['peak_mb']:13.1f}", end=" ")
            print(f"{row['seconds']:8.1f}   {row.get('bytes_per_more_pair', '')}", flush=True)
    write_corpus(corpus, 20 * BUFFER)
    small, large = (weigh("stream", corpus, 20 * BUFFER, seconds, buffer)["peak_mb"] for buffer in (BUFFER, 4 * BUFFER))
    a_pair = (large - small) * 2**20 / (3 * BUFFER)
    default = DataConfig.model_fields["shuffle_buffer"].default
    print(f"the buffer: {a_pair:,.0f} bytes per pair of this text, so {a_pair * default / 1e9:.2f} GB for {default:,}")
    return {"shuffle_buffer": BUFFER, "bytes_per_buffered_pair": round(a_pair), **rows}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="finish within 5 minutes")
    claims = ["width", "length", "corpus", "memory"]
    parser.add_argument("--only", nargs="+", choices=claims, default=claims, metavar="CLAIM")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float, help="the longest time to draw batches from one corpus (memory)")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    extent = "quick" if args.quick else "full"
    rounds = args.rounds or (2 if args.quick else 5)
    result: dict[str, Any] = {"threads": args.threads, "rounds": rounds}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "width" in args.only:
            result["width"] = compare("d_model", widths(WIDTHS[extent]), rounds)
        if "length" in args.only:
            result["length"] = compare("length", lengths(LENGTHS[extent]), rounds)
        if "corpus" in args.only:
            result["corpus"] = compare("pairs", corpora(CORPORA[extent], folder), rounds)
        if "memory" in args.only:
            result["memory"] = memory(MEMORY[extent], folder, args.seconds or SECONDS[extent])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
