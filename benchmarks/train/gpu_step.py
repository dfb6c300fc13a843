"""Training steps on a GPU: what batch size, precision and compiled layers bring, and what limits them.

    python benchmarks/train/gpu_step.py [--device cuda] [--presets small,…] [--tokens 4096,…] [--path host,device]
                                        [--compiled] [--quick]

Whole training steps (gradient, clipping, optimizer) on random tokens: a vocabulary of 32,000 pieces, sentences of 24
source and 24 target tokens, as news text has. The path `host` is the update of a CPU, which reads loss and norm in
every step, on padded batches; `device` is that of a GPU, which asks nothing, on rows of 128 positions, recorded as a
CUDA graph (decision 61). For every preset and batch size the settings take turns. Printed are milliseconds a step,
source and target tokens/s, the share of the chip's peak that the operations of the pairs take (MFU), the share of the
time in which the GPU computes, the peak of its memory, and the seconds of the first three steps, which compile and
record. Where the GPU computes for a small share of the time, the step waits for Python to start its kernels.
`--compiled` adds `train.compile`. The last line is one JSON object. With `--device cpu --quick` the script is
rehearsed: the device's path is called and not recorded.
"""

import argparse
import json
import statistics
import time
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from dragoman.config import ModelConfig, TrainConfig
from dragoman.data.batches.batch import Batch, Example, collate
from dragoman.data.batches.rows import WIDTH, NumberedText, PackedRows
from dragoman.data.batches.stream import Position, Skipped, Update
from dragoman.model.transformer import Transformer
from dragoman.training.cost.flops import peak_flops, training_flops
from dragoman.training.update.device_step import DeviceStep
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.training.update.optimizer import build_optimizer, clip_grad_norm

VOCAB, LENGTH, ROUNDS = 32_000, 24, 5
SETTINGS = [
    ("host", "float32", False),
    ("host", "bfloat16", False),
    ("device", "bfloat16", False),
    ("host", "bfloat16", True),
    ("device", "bfloat16", True),
]


class Steps:
    """A model in training with a batch of `tokens` target tokens."""

    def __init__(
        self, preset: str, tokens: int, path: str, precision: str, compiled: bool, device: torch.device
    ) -> None:
        torch.manual_seed(0)
        config = ModelConfig.model_validate({"preset": preset})
        self.model = Transformer(config, VOCAB, VOCAB).to(device).train()
        train = TrainConfig.model_validate({"precision": precision, "compile": compiled})
        self.gradient = GradientAccumulator(self.model, train, ProcessGroup(), device)
        self.optimizer = build_optimizer(self.model, train, recordable=path == "device")
        self.device, pairs = device, random_pairs(tokens // LENGTH)
        self.on_device = DeviceStep(self.model, self.gradient, self.optimizer, None) if path == "device" else None
        batch = in_rows(pairs) if self.on_device else collate(pairs)
        self.batch = batch.pinned() if device.type == "cuda" else batch
        self.update, self.number = Update([self.batch], self.batch.target_tokens, Position(), Skipped()), 0
        self.flops = training_flops(config, VOCAB, tokens // LENGTH, LENGTH, LENGTH)
        self.seconds: list[float] = []

    def step(self) -> None:
        """One update."""
        self.number += 1
        if self.on_device:
            self.on_device(self.update, 1e-4, self.number)
            return
        self.gradient.backward([self.batch], self.batch.target_tokens)
        clip_grad_norm(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.model.zero_grad()

    def time(self, count: int) -> None:
        """The mean of `count` steps."""
        self.wait()
        before = time.perf_counter()
        for _ in range(count):
            self.step()
        self.wait()
        self.seconds.append((time.perf_counter() - before) / count)

    def busy(self) -> float:
        """Seconds in which the GPU computes during a step."""
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            self.step()
            self.wait()
        return sum(event.self_device_time_total for event in seen.key_averages()) / 1e6

    def wait(self) -> None:
        """Until the device has done what was started."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def in_rows(pairs: list[Example]) -> Batch:
    """As many in a row as it has space for."""
    share = WIDTH // LENGTH
    rows = tuple(tuple(range(start, min(start + share, len(pairs)))) for start in range(0, len(pairs), share))
    return NumberedText(pairs).batch(PackedRows(WIDTH, rows))


def random_pairs(sentences: int) -> list[Example]:
    """Sentences of LENGTH tokens on each side, with EOS."""
    rng = torch.Generator().manual_seed(0)

    def sentence() -> list[int]:
        return torch.randint(4, VOCAB, (LENGTH - 1,), generator=rng).tolist()

    return [Example(sentence(), sentence(), "") for _ in range(sentences)]


def measure(preset: str, tokens: int, settings: list[tuple[str, str, bool]], arguments: Any) -> list[dict[str, Any]]:
    """A row for each setting."""
    device, count = torch.device(arguments.device), 1 if arguments.quick else 10
    variants = []
    for path, precision, compiled in settings:
        before = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0  # of the settings before this one
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        variant, began = Steps(preset, tokens, path, precision, compiled, device), time.perf_counter()
        for _ in range(1 if arguments.quick else 3):
            variant.step()
        variant.wait()
        first = time.perf_counter() - began
        memory = round((torch.cuda.max_memory_allocated(device) - before) / 1e9, 1) if device.type == "cuda" else None
        setting = {"preset": preset, "tokens": tokens, "path": path, "precision": precision, "compile": compiled}
        variants.append((variant, setting | {"memory_gb": memory, "first_s": round(first, 1)}))
    for _ in range(1 if arguments.quick else ROUNDS):
        for variant, _ in variants:
            variant.time(count)
    peak = peak_flops(torch.cuda.get_device_name(device)) if device.type == "cuda" else None
    found = []
    for variant, row in variants:
        seconds = statistics.median(variant.seconds)
        row |= {"ms": round(1000 * seconds, 1), "tokens_per_s": round(2 * variant.batch.target_tokens / seconds)}
        row |= {"mfu": round(variant.flops / seconds / peak, 3) if peak else None}
        row |= {"busy": round(variant.busy() / seconds, 2) if peak else None}
        print(row, flush=True)
        found.append(row)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--presets", default="small,base,paper-base")
    parser.add_argument("--tokens", default="4096,25000")
    parser.add_argument("--path", default="host,device")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    settings = [
        (path, precision, compiled)
        for path, precision, compiled in SETTINGS
        if path in arguments.path.split(",") and (arguments.compiled or not compiled)
    ]
    found = [
        row
        for preset in arguments.presets.split(",")
        for tokens in map(int, arguments.tokens.split(","))
        for row in measure(preset, tokens, settings, arguments)
    ]
    name = torch.cuda.get_device_name(arguments.device) if arguments.device.startswith("cuda") else arguments.device
    print(json.dumps({"device": name, "torch": torch.__version__, "steps": found}))


if __name__ == "__main__":
    main()
