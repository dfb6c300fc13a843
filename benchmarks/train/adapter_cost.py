"""What an adapter trains, and the time of an update, next to all weights: presets `small` and `base`, one thread.

    python benchmarks/train/adapter_cost.py [--quick]

Updates of 1,024 source and 1,024 target tokens in float32, the three ways interleaved, the least time of three after
one that is not counted. `--quick` leaves out `base`. Sizes are those of float32: the adapter's file without its header,
and both moments of Adam. The last line is JSON.
"""

import argparse
import json
import time

import torch

from dragoman.config import ModelConfig, TrainConfig
from dragoman.model.lora import attach
from dragoman.model.transformer import Transformer
from dragoman.training.estimate.fitting import synthetic_batch
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.training.update.optimizer import build_optimizer

PIECES, TOKENS, LENGTH, ROUNDS = 8000, 1024, 24, 4
WAYS: dict[str, dict[str, object]] = {
    "the weights": {},
    "rank 8": {"start_from": "base", "lora_rank": 8},
    "rank 8, attention": {"start_from": "base", "lora_rank": 8, "lora_matrices": ["attention"]},
}


def measure(preset: str) -> list[dict[str, object]]:
    """A row for each way of training this preset."""
    batch = synthetic_batch(TOKENS, LENGTH, PIECES)
    runs = {}
    for name, keys in WAYS.items():
        train = TrainConfig.model_validate({**keys, "precision": "float32"})
        model = Transformer(ModelConfig.model_validate({"preset": preset}), PIECES, PIECES)
        whole = model.parameter_count
        if keys:
            attach(model, train)
        trained = sum(parameter.numel() for parameter in model.parameters())
        gradient = GradientAccumulator(model, train, ProcessGroup(), torch.device("cpu"))
        runs[name] = gradient, build_optimizer(model, train), trained, whole
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, (gradient, optimizer, _, _) in runs.items():
            start = time.perf_counter()
            gradient.backward([batch], batch.target_tokens)
            optimizer.step()
            optimizer.zero_grad()
            seconds[name].append(time.perf_counter() - start)
    return [
        {
            "preset": preset,
            "way": name,
            "trained": trained,
            "percent": round(100 * trained / whole, 1),
            "adapter_mb": round(4 * trained / 1e6, 1) if WAYS[name] else None,
            "moments_mb": round(8 * trained / 1e6, 1),
            "seconds": round(min(seconds[name][1:]), 2),
        }
        for name, (_, _, trained, whole) in runs.items()
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without `base`")
    presets = ("small",) if parser.parse_args().quick else ("small", "base")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rows = []
    for preset in presets:
        for row in measure(preset):
            rows.append(row)
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    print(json.dumps({"rows": rows}))
