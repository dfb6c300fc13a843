"""Training steps on a GPU: what batch size, precision and compiled layers bring, and what limits them.

    python benchmarks/train/gpu_step.py [--device cuda] [--presets small,…] [--tokens 4096,…] [--compiled] [--quick]

Whole training steps (gradient, clipping, optimizer) on random tokens: a vocabulary of 32,000 pieces, sentences of 24
source and 24 target tokens, as news text has. For every preset and batch size the settings take turns. Printed are
milliseconds a step, source and target tokens/s, the share of the chip's peak that the operations of the model take
(MFU), the share of the time in which the GPU computes, and the peak of its memory. Where the GPU computes for a small
share of the time, the step waits for Python to start its kernels. `--compiled` adds `train.compile`, whose first steps
wait for the compiler. The last line is one JSON object.
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
from dragoman.model.transformer import Transformer
from dragoman.training.cost.flops import peak_flops, training_flops
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.training.update.optimizer import build_optimizer, clip_grad_norm

VOCAB, LENGTH, ROUNDS = 32_000, 24, 5
SETTINGS = [("float32", False), ("bfloat16", False), ("bfloat16", True)]


class Steps:
    """A model in training with a batch of `tokens` target tokens."""

    def __init__(self, preset: str, tokens: int, precision: str, compiled: bool, device: torch.device) -> None:
        torch.manual_seed(0)
        config = ModelConfig.model_validate({"preset": preset})
        self.model = Transformer(config, VOCAB, VOCAB).to(device).train()
        train = TrainConfig.model_validate({"precision": precision, "compile": compiled})
        self.gradient = GradientAccumulator(self.model, train, ProcessGroup(), device)
        self.optimizer = build_optimizer(self.model, train)
        self.device, self.batch = device, random_batch(tokens // LENGTH)
        self.flops = training_flops(config, VOCAB, tokens // LENGTH, LENGTH, LENGTH)
        self.seconds: list[float] = []

    def step(self) -> None:
        """One update."""
        self.gradient.backward([self.batch], self.batch.target_tokens)
        clip_grad_norm(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.model.zero_grad()

    def time(self, count: int) -> None:
        """The mean of `count` steps."""
        self._wait()
        before = time.perf_counter()
        for _ in range(count):
            self.step()
        self._wait()
        self.seconds.append((time.perf_counter() - before) / count)

    def busy(self) -> float:
        """Seconds in which the GPU computes during a step."""
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            self.step()
            self._wait()
        return sum(event.self_device_time_total for event in seen.key_averages()) / 1e6

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def random_batch(sentences: int) -> Batch:
    """Sentences of LENGTH tokens on each side."""
    rng = torch.Generator().manual_seed(0)

    def sentence() -> list[int]:
        return torch.randint(4, VOCAB, (LENGTH - 1,), generator=rng).tolist()

    return collate([Example(sentence(), sentence(), "") for _ in range(sentences)])


def measure(preset: str, tokens: int, settings: list[tuple[str, bool]], arguments: Any) -> list[dict[str, Any]]:
    """A row for each setting."""
    device, count = torch.device(arguments.device), 3 if arguments.quick else 10
    variants = []
    for precision, compiled in settings:
        before = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0  # of the settings before this one
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        variant = Steps(preset, tokens, precision, compiled, device)
        for _ in range(3):
            variant.step()
        memory = round((torch.cuda.max_memory_allocated(device) - before) / 1e9, 1) if device.type == "cuda" else None
        setting = {"preset": preset, "tokens": tokens, "precision": precision, "compile": compiled}
        variants.append((variant, setting | {"memory_gb": memory}))
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
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    settings = SETTINGS if arguments.compiled else SETTINGS[:2]
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
