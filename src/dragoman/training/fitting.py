"""`batch_tokens = "auto"`: the largest micro-batch that fits in memory, and the updates as they were asked for.

How many tokens an update has is the optimizer's affair and stays what it is; how many go through the model at once is
the machine's. An update of U tokens on P processes is n micro-batches of U / (n P) tokens, with the least n that fits
(beyond 8, within an eighth of the least).
"""

import random
from collections.abc import Callable

import torch

from dragoman.config import TrainConfig
from dragoman.data.batch import Batch, Example, collate
from dragoman.errors import ConfigError, ResourceError
from dragoman.model.device import arithmetic, within_memory
from dragoman.model.transformer import Transformer
from dragoman.training.gradient import recomputed
from dragoman.training.precision import Precision
from dragoman.training.validation import SummedLoss

# A CPU trains fastest on a few thousand tokens at once: more leave its caches (`docs/log.md`, 2026-11-21).
CPU_TOKENS = 4096
# A trial holds no gradients of earlier micro-batches, no optimizer, no fragments of other shapes.
HEADROOM = 1.5
# Short and long sentences of one number of tokens take unlike amounts of memory.
LENGTHS = (8, 32, 128)


def divide_update(update_tokens: int, processes: int, fits: Callable[[int], bool]) -> tuple[int, int]:
    """(tokens of a micro-batch, how many of them each process accumulates).

    Raises ConfigError if there are too few to share, ResourceError if nothing fits.
    """
    if update_tokens < (least := (min(LENGTHS) - 1) * processes + 1):
        team = f" for {processes} processes" if processes > 1 else ""
        raise ConfigError(f"train.update_tokens: {update_tokens} are too few{team}; give {least} at the least")
    pieces = 1
    while (tokens := -(-update_tokens // (pieces * processes))) >= min(LENGTHS):
        if fits(tokens):
            return tokens, pieces
        pieces += 1 if pieces < 8 else pieces // 8
    raise ResourceError("out of memory on a batch of a single sentence; choose a smaller model.preset")


def fitting(model: Transformer, train: TrainConfig, device: torch.device) -> Callable[[int], bool]:
    """Whether a micro-batch of so many tokens fits on `device`: on a CPU its caches, elsewhere its memory."""
    return (lambda tokens: tokens <= CPU_TOKENS) if device.type == "cpu" else by_trial(model, train, device)


def by_trial(model: Transformer, train: TrainConfig, device: torch.device) -> Callable[[int], bool]:
    """Whether so many tokens go forward and backward as they will in training, with room to spare."""
    precision: Precision = "float32" if train.precision == "float32" else "bfloat16"
    summed_loss = SummedLoss(model, train.label_smoothing, train.r_drop)

    def fits(tokens: int) -> bool:
        try:
            for length in LENGTHS:
                batch = rectangle(int(tokens * HEADROOM), length, model.projection.size(0))
                with recomputed(model, train.recompute), within_memory("a trial", ""), arithmetic(precision, device):
                    there = batch.to(device)
                    summed_loss(there.src, there.tgt_in, there.tgt_out).backward()
        except ResourceError:
            return False
        finally:
            model.zero_grad()
            if device.type == "cuda":
                torch.cuda.empty_cache()
        return True

    return fits


def rectangle(tokens: int, length: int, vocab: int) -> Batch:
    """Random sentences of one length, so many tokens a side, end marks counted."""
    rng = random.Random(0)

    def sentence() -> list[int]:
        return [rng.randrange(4, vocab) for _ in range(length - 1)]

    return collate([Example(sentence(), sentence(), "") for _ in range(max(1, tokens // length))])
