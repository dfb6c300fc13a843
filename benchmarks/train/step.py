"""Gains of our own parts of a training step on a CPU: projected loss, 16-bit dropout, threads with rows of their own.

    python benchmarks/train/step.py [--rounds 5] [--base] [--compiled]

Whole training steps (optimizer included) of the Multi30k Transformer-Tiny shape on random tokens: 4 + 4 layers,
d_model 128, d_ff 256, vocabulary 10,000, batches of 4,096 tokens, in the faster precision. The variants take turns
within every round. Printed are target tokens/s and the ratio of ours to each variant, as medians with the spread. With
R-Drop every pair passes through the model twice. --compiled adds layers compiled by torch.compile, which takes several
more minutes. The last line is one JSON object.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from unittest.mock import patch

import torch
from torch import Tensor, nn

from dragoman.config import ModelConfig, TrainConfig
from dragoman.data.batches.batch import Batch, Example, collate
from dragoman.model.transformer import Transformer
from dragoman.system.processes import limit_kernel_caches, retain_freed_memory
from dragoman.training.objective.loss import projected_loss, smoothed_cross_entropy
from dragoman.training.resume import validation
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.training.update.optimizer import build_optimizer
from dragoman.training.update.precision import Precision, choose_precision

VOCAB, BATCHES = 10_000, 8
TINY = ModelConfig.model_validate(
    {"layers": 4, "d_model": 128, "d_ff": 256, "heads": 4, "dropout": 0.3, "norm_order": "post"}
)
BASE = ModelConfig.model_validate({"preset": "paper-base"})


def plain_loss(features: Tensor, projection: Tensor, gold: Tensor, smoothing: float, r_drop: float = 0.0) -> Tensor:
    """The loss as separate operations."""
    logits = features @ projection.T
    loss = smoothed_cross_entropy(logits, gold, smoothing)
    if not r_drop:
        return loss
    log_p, log_q = logits.log_softmax(1).chunk(2)
    return loss + r_drop / 2 * ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum()


def random_batches() -> list[Batch]:
    """Batches like those of Multi30k: lengths 8 to 24, all sentences of a batch equally long."""
    rng = torch.Generator().manual_seed(0)

    def sentence(length: int) -> list[int]:
        return torch.randint(4, VOCAB, (length,), generator=rng).tolist()

    lengths = [8, 10, 11, 12, 14, 16, 19, 24][:BATCHES]
    return [collate([Example(sentence(n), sentence(n), "") for _ in range(4096 // (n + 1))]) for n in lengths]


def build(shape: ModelConfig, torch_dropout: bool = False) -> tuple[Transformer, torch.optim.Optimizer]:
    """A model and its optimizer with a small constant learning rate."""
    torch.manual_seed(0)
    model = Transformer(shape, VOCAB, VOCAB).train()
    if torch_dropout:
        for module in model.modules():
            if hasattr(module, "dropout"):
                module.dropout = nn.Dropout(shape.dropout)
    optimizer = build_optimizer(model, TrainConfig())
    optimizer.param_groups[0]["lr"] = 1e-4
    return model, optimizer


@dataclass(frozen=True)
class Variant:
    """One variant of a step."""

    model: Transformer
    optimizer: torch.optim.Optimizer
    loss: Callable[..., Tensor] = projected_loss
    r_drop: float = 0.0
    rows_apart: bool = True
    """Each thread computes some rows of a batch; otherwise all threads share every product."""
    compiled: bool = False

    @cached_property
    def gradient(self) -> GradientAccumulator:
        """The settings of a training run."""
        train = TrainConfig(r_drop=self.r_drop, compile=self.compiled)
        gradient = GradientAccumulator(self.model, train, ProcessGroup(), torch.device("cpu"))
        gradient.divides &= self.rows_apart
        return gradient

    def tokens_per_second(self, batches: list[Batch], precision: Precision) -> float:
        """Whole steps over all batches."""
        self.gradient.precision = precision
        start, tokens = time.perf_counter(), 0
        with patch.object(validation, "projected_loss", self.loss):
            for batch in batches:
                self.gradient.backward([batch], batch.target_tokens)
                self.optimizer.step()
                self.optimizer.zero_grad()
                tokens += batch.target_tokens
        return tokens / (time.perf_counter() - start)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--base", action="store_true", help="the shape of paper-base, without the slow variants")
    parser.add_argument("--compiled", action="store_true", help="also through torch.compile")
    given = parser.parse_args()
    shape, batches = (BASE, random_batches()[::3]) if given.base else (TINY, random_batches())
    retain_freed_memory(torch.get_num_threads())
    limit_kernel_caches(shape.d_model)
    variants = {"ours": Variant(*build(shape)), "shared_products": Variant(*build(shape), rows_apart=False)}
    if not given.base:
        variants |= {
            "plain_loss": Variant(*build(shape), plain_loss),
            "torch_dropout": Variant(*build(shape, torch_dropout=True)),
            "both_plain": Variant(*build(shape, torch_dropout=True), plain_loss),
            "r_drop": Variant(*build(shape), r_drop=5.0),
            "r_drop_plain": Variant(*build(shape), plain_loss, r_drop=5.0),
        }
    if given.compiled:
        variants["compiled"] = Variant(*build(shape), compiled=True)
    precision, why = choose_precision(variants["ours"].model, torch.device("cpu"))
    print(why)
    speeds: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(given.rounds + 1):
        for name, variant in variants.items():
            speed = variant.tokens_per_second(batches, precision)
            if number:  # the first round warms up
                speeds[name].append(speed)
    result: dict[str, object] = {
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "precision": precision,
    }
    for name, values in speeds.items():
        ratios = [ours / value for ours, value in zip(speeds["ours"], values, strict=True)]
        ratio = statistics.median(ratios)
        print(f"{name:14} {statistics.median(values):8,.0f} tokens/s   ours is {ratio:.2f} x ", end="")
        print(f"[{min(ratios):.2f}-{max(ratios):.2f}]")
        result[name] = {"tokens_per_second": round(statistics.median(values)), "ours_is": round(ratio, 3)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
