"""A process that reads a corpus as training does, to measure its memory: the data check, or training batches.

    python benchmarks/train/corpus_worker.py check CORPUS.tsv VALID.tsv
    python benchmarks/train/corpus_worker.py stream CORPUS.tsv VALID.tsv --tokenizer FOLDER --pairs 10000 --buffer 10000

Prints one JSON object: memory after the imports and at its peak (VmHWM), pairs and seconds. `stream` draws batches of
the first epoch until it has read `--pairs`, or `--seconds` have passed.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shared.memory import memory_mb

from dragoman.config import CorpusConfig, DataConfig
from dragoman.data.check.check import check_data


def check(data: DataConfig) -> int:
    """The number of pairs checked. All pairs differ, so that the check keeps as much as it ever does."""
    report = check_data(data)[-1]
    assert "repeated pairs" not in report.findings
    return report.pairs


def stream(data: DataConfig, folder: Path, pairs: int, seconds: float) -> tuple[int, float]:
    """The number of pairs drawn, and the memory before."""
    from dragoman.data.batches.stream import BatchStream  # imports torch, which `check` must not load
    from dragoman.text.tokens.tokenizer import Tokenizer

    batches = BatchStream(data, Tokenizer.load(folder), batch_tokens=4096, seed=1)
    before, drawn, end = memory_mb("VmRSS"), 0, time.perf_counter() + seconds
    while drawn < pairs and time.perf_counter() < end:
        drawn += sum(len(batch.locations) for batch in batches.next_update(1).batches)
    assert batches.position.epoch == 0
    assert not batches.skipped.count
    return drawn, before


def main() -> None:
    """Read the corpus and print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("how", choices=["check", "stream"])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("valid", type=Path)
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--buffer", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    args = parser.parse_args()
    train, valid = CorpusConfig(source=args.corpus), CorpusConfig(source=args.valid)
    data = DataConfig(train=(train,), valid=valid, shuffle_buffer=args.buffer)
    before, start = memory_mb("VmRSS"), time.perf_counter()
    if args.how == "check":
        pairs = check(data)
    else:
        pairs, before = stream(data, args.tokenizer, args.pairs, args.seconds)
    answer = {"before_mb": round(before, 1), "peak_mb": round(memory_mb("VmHWM"), 1), "pairs": pairs}
    print(json.dumps(answer | {"seconds": round(time.perf_counter() - start, 2)}))


if __name__ == "__main__":
    main()
