"""What two of our own parts gain over PyTorch's on a CPU: the projected loss, and dropout from sixteen bits; R-Drop.

    python benchmarks/train_step.py [--rounds 5]

Whole training steps (optimizer included) of the Multi30k Transformer-Tiny shape on random tokens: 4 + 4 layers,
d_model 128, d_ff 256, vocabulary 10,000, batches of 4,096 tokens, in the faster arithmetic. The variants take turns
within every round; printed are target tokens/s and the ratio to ours, as medians with the spread. With R-Drop every
pair goes through twice. The last line is one JSON object.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from unittest.mock import patch

import torch
from torch import Tensor, nn

from dragoman.config import ModelConfig, TrainConfig
from dragoman.data.batch import Batch, Example, collate
from dragoman.model.device import arithmetic
from dragoman.model.transformer import Transformer
from dragoman.train import validation
from dragoman.train.loss import projected_loss, smoothed_cross_entropy
from dragoman.train.optimizer import build_optimizer
from dragoman.train.precision import Precision, choose_precision
from dragoman.train.validation import SummedLoss

VOCAB, BATCHES = 10_000, 8
SHAPE = ModelConfig.model_validate(
    {"layers": 4, "d_model": 128, "d_ff": 256, "heads": 4, "dropout": 0.3, "norm_order": "post"}
)


def plain_loss(features: Tensor, projection: Tensor, gold: Tensor, smoothing: float, r_drop: float = 0.0) -> Tensor:
    """The operations apart."""
    logits = features @ projection.T
    loss = smoothed_cross_entropy(logits, gold, smoothing)
    if not r_drop:
        return loss
    log_p, log_q = logits.log_softmax(1).chunk(2)
    return loss + r_drop / 2 * ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum()


def random_batches() -> list[Batch]:
    """Batches as Multi30k's: lengths 8 to 24, all sentences of a batch of one length."""
    rng = torch.Generator().manual_seed(0)

    def sentence(length: int) -> list[int]:
        return torch.randint(4, VOCAB, (length,), generator=rng).tolist()

    lengths = [8, 10, 11, 12, 14, 16, 19, 24][:BATCHES]
    return [collate([Example(sentence(n), sentence(n), "") for _ in range(4096 // (n + 1))]) for n in lengths]


def build(torch_dropout: bool) -> tuple[Transformer, torch.optim.Optimizer]:
    """A model, and its optimizer at a constant small rate."""
    torch.manual_seed(0)
    model = Transformer(SHAPE, VOCAB, VOCAB).train()
    if torch_dropout:
        for module in model.modules():
            if hasattr(module, "dropout"):
                module.dropout = nn.Dropout(SHAPE.dropout)
    optimizer = build_optimizer(model, TrainConfig())
    optimizer.param_groups[0]["lr"] = 1e-4
    return model, optimizer


def tokens_per_second(
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    loss: Callable[..., Tensor],
    r_drop: float,
    batches: list[Batch],
    precision: Precision,
) -> float:
    """Whole steps over all batches."""
    start, tokens = time.perf_counter(), 0
    summed_loss = SummedLoss(model, 0.1, r_drop)
    with patch.object(validation, "projected_loss", loss):
        for batch in batches:
            with arithmetic(precision, torch.device("cpu")):
                summed = summed_loss(batch.src, batch.tgt_in, batch.tgt_out)
            (summed / batch.target_tokens).backward()
            optimizer.step()
            optimizer.zero_grad()
            tokens += batch.target_tokens
    return tokens / (time.perf_counter() - start)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    batches = random_batches()
    variants = {
        "ours": (*build(torch_dropout=False), projected_loss, 0.0),
        "plain_loss": (*build(torch_dropout=False), plain_loss, 0.0),
        "torch_dropout": (*build(torch_dropout=True), projected_loss, 0.0),
        "both_plain": (*build(torch_dropout=True), plain_loss, 0.0),
        "r_drop": (*build(torch_dropout=False), projected_loss, 5.0),
        "r_drop_plain": (*build(torch_dropout=False), plain_loss, 5.0),
    }
    precision, why = choose_precision(variants["ours"][0], batches, torch.device("cpu"), 0.1)
    print(why)
    speeds: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(rounds + 1):
        for name, variant in variants.items():
            speed = tokens_per_second(*variant, batches, precision)
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
        print(f"{name:14} {statistics.median(values):8,.0f} tokens/s   ours is {ratio:.2f}x ", end="")
        print(f"[{min(ratios):.2f}-{max(ratios):.2f}]")
        result[name] = {"tokens_per_second": round(statistics.median(values)), "ours_is": round(ratio, 3)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
