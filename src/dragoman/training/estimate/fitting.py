"""`batch_tokens = "auto"`: the largest micro-batch that fits in memory, for the size of update that was configured.

The optimizer decides how many tokens an update has; memory decides how many go through the model at once. An update of
U tokens on P processes becomes n micro-batches of U / (n P) tokens per process, with the smallest n that fits (above 8,
to within an eighth of the smallest).
"""

from collections.abc import Callable

import torch

from dragoman.config import TrainConfig
from dragoman.data.batches.batch import Batch
from dragoman.errors import ConfigError, ResourceError
from dragoman.model.parts.device import autocast, within_memory
from dragoman.model.parts.network import EncoderDecoder
from dragoman.training.estimate.trial import synthetic
from dragoman.training.objective.balance import Balance
from dragoman.training.objective.objective import SummedLoss
from dragoman.training.update.layers import recomputed
from dragoman.training.update.precision import Precision

# A CPU trains fastest on a few thousand tokens at once: more leave its caches (`docs/log.md`, 2026-11-21).
CPU_TOKENS = 4096
# Training also holds what a trial does not: earlier gradients, optimizer state, memory fragmented by other shapes.
HEADROOM = 1.5
# Batches of one token count need different amounts of memory for short and for long sentences.
LENGTHS = (8, 32, 128)


def find_micro_batch(update_tokens: int, processes: int, fits: Callable[[int], bool]) -> tuple[int, int]:
    """(tokens of a micro-batch, micro-batches that each process accumulates).

    Raises ConfigError if an update has too few tokens for the processes, ResourceError if no size fits.
    """
    if update_tokens < (least := (min(LENGTHS) - 1) * processes + 1):
        among = f" for {processes} processes" if processes > 1 else ""
        raise ConfigError(f"train.update_tokens: {update_tokens} are too few{among}; set at least {least}")
    accumulate = 1
    while (tokens := -(-update_tokens // (accumulate * processes))) >= min(LENGTHS):
        if fits(tokens):
            return tokens, accumulate
        accumulate += 1 if accumulate < 8 else accumulate // 8
    raise ResourceError("out of memory on a batch of a single sentence; choose a smaller model.preset")


def fits_predicate(model: EncoderDecoder, train: TrainConfig, device: torch.device) -> Callable[[int], bool]:
    """Whether a micro-batch of a number of tokens fits: on a CPU into its caches, elsewhere into memory."""
    return (lambda tokens: tokens <= CPU_TOKENS) if device.type == "cpu" else fits_by_trial(model, train, device)


def fits_by_trial(model: EncoderDecoder, train: TrainConfig, device: torch.device) -> Callable[[int], bool]:
    """Whether a number of tokens, with headroom, passes forward and backward as in training."""
    precision: Precision = "float32" if train.precision == "float32" else "bfloat16"
    summed_loss = SummedLoss(model, train.label_smoothing, train.r_drop)

    def fits(tokens: int) -> bool:
        try:
            for length in LENGTHS:
                batch = synthetic_batch(int(tokens * HEADROOM), length, model.projection.size(0))
                with recomputed(model, train.recompute), within_memory("a trial", ""), autocast(precision, device):
                    moved = batch.to(device)
                    loss, _ = summed_loss(moved.src, moved.tgt_in, moved.tgt_out, Balance(model.config).coefficients)
                    loss.backward()
        except ResourceError:
            return False
        finally:
            model.zero_grad()
            if device.type == "cuda":
                torch.cuda.empty_cache()
        return True

    return fits


def synthetic_batch(tokens: int, length: int, vocab: int) -> Batch:
    """Random sentences of `length` tokens with EOS, about `tokens` on each side."""
    return synthetic(((length, length),) * max(1, tokens // length), vocab)
