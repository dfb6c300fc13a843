"""Memory of training in bfloat16 on a CPU as updates go by, and the cost of keeping few compiled kernels.

    python benchmarks/train/memory.py [--quick] [--updates 300] [--tokens 1024] [--threads 1]

The preset `small` on random tokens in pairs of 4 to 60 tokens, packed as training packs its text, so that batches keep
having new shapes. Three processes take turns of 25 updates: with few kernels kept, as `dragoman train` does; with the
defaults of oneDNN and PyTorch; and in float32, which compiles no kernels. After each turn the script prints the memory
held (VmRSS, MiB), the used and free parts of glibc's heap, and target tokens/s. The last line is one JSON object;
`speed` is the median over the turns (without the first) of the tokens/s with few kernels divided by those with the
defaults, with its spread.
"""

import argparse
import ctypes
import json
import multiprocessing
import os
import random
import statistics
import sys
import time
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from shared.memory import memory_mb

from dragoman.config import ModelConfig, TrainConfig
from dragoman.data.batches.batch import Batch, Example, collate
from dragoman.data.batches.batching import pack
from dragoman.model.transformer import Transformer
from dragoman.system.processes import KERNEL_CACHES, limit_kernel_caches, retain_freed_memory
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.training.update.optimizer import build_optimizer

VOCAB, TURN = 16_000, 25
SMALL = ModelConfig.model_validate({"preset": "small"})
VARIANTS = {"few kernels": "bfloat16", "all kernels": "bfloat16", "float32": "float32"}


class Heap(ctypes.Structure):
    """The result of mallinfo2(3)."""

    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "a", "b", "c", "d", "e", "f", "used", "free", "g")]


def heap_mb() -> tuple[float, float]:
    """The used and free parts of glibc's main heap, in MiB."""
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Heap
    heap = libc.mallinfo2()
    return heap.used / 2**20, heap.free / 2**20


def random_batches(count: int, tokens: int) -> list[Batch]:
    """`count` batches of at most `tokens` padded tokens per side."""
    rng = random.Random(1)
    sources = [rng.randint(4, 60) for _ in range(count * tokens // 16)]
    lengths = [(source, max(2, round(source * rng.uniform(0.7, 1.3)))) for source in sources]

    def sentence(length: int) -> list[int]:
        return [rng.randrange(4, VOCAB) for _ in range(length - 1)]

    groups = islice(pack(lengths, tokens, rng), count)
    return [collate([Example(*map(sentence, lengths[index]), "") for index in group]) for group in groups]


def work(pipe: Connection, variant: str, batches: list[Batch], threads: int) -> None:
    """Train on the next batches for each request, and answer with speed and memory."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    retain_freed_memory(torch.get_num_threads())
    if variant == "few kernels":
        limit_kernel_caches(SMALL.d_model)
    model = Transformer(SMALL, VOCAB, VOCAB).train()
    train = TrainConfig.model_validate({"precision": VARIANTS[variant]})
    gradient, optimizer = (
        GradientAccumulator(model, train, ProcessGroup(), torch.device("cpu")),
        build_optimizer(model, train),
    )
    optimizer.param_groups[0]["lr"] = 1e-4
    left = iter(batches)
    while pipe.recv():
        tokens, start = 0, time.perf_counter()
        for batch in islice(left, TURN):
            count = batch.target_tokens
            gradient.backward([batch], count)
            optimizer.step()
            optimizer.zero_grad()
            tokens += count
        pipe.send((tokens / (time.perf_counter() - start), memory_mb("VmRSS"), *heap_mb()))


def main() -> None:
    """Run the three processes in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="75 updates of 256 tokens; overrides the other options")
    args = parser.parse_args()
    if args.quick:
        args.updates, args.tokens = 75, 256
    if args.updates < 2 * TURN:
        parser.error(f"--updates: at least {2 * TURN}")
    for name in KERNEL_CACHES:
        os.environ.pop(name, None)
    batches = random_batches(args.updates, args.tokens)
    spawn = multiprocessing.get_context("spawn")
    pipes = {}
    for variant in VARIANTS:
        pipes[variant], other = spawn.Pipe()
        spawn.Process(target=work, args=(other, variant, batches, args.threads), daemon=True).start()
    memory: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    speed: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    print("updates  variant      resident  in use   free  tokens/s")
    for updates in range(TURN, args.updates + 1, TURN):
        for variant, pipe in pipes.items():
            pipe.send(True)
            tokens, resident, used, free = pipe.recv()
            memory[variant].append(resident)
            speed[variant].append(tokens)
            print(
                f"{updates:7,}  {variant:<11}  {resident:8,.0f}  {used:6,.0f}  {free:5,.0f}  {tokens:,.0f}", flush=True
            )
    for pipe in pipes.values():
        pipe.send(False)
    ratios = [few / every for few, every in zip(speed["few kernels"], speed["all kernels"], strict=True)][1:]
    answer = {
        "threads": args.threads,
        "resident_mb": {variant: round(values[-1]) for variant, values in memory.items()},
        "speed": round(statistics.median(ratios), 3),
        "spread": [round(min(ratios), 3), round(max(ratios), 3)],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
