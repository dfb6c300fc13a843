"""What a search needs of the machine: memory, and the process that loaded the engine. Without them it is refused.

An operating system that overcommits memory kills a process without a message, so the largest tensors are
estimated before they are allocated. An estimate is a lower bound: what it refuses could not have run.
"""

import os
from dataclasses import dataclass

from dragoman.config import AnyModel, DecodeConfig, ModelConfig
from dragoman.errors import ResourceError

# Tokens of a batch that neither options nor memory make smaller. A step of a GPU takes little longer for many.
CPU_TOKENS, GPU_TOKENS = 4096, 65_536
REMEDY = "lower decode.beam, decode.n_best or decode.samples"


@dataclass(frozen=True, slots=True)
class SearchSize:
    """The sizes of a model that a search's memory depends on."""

    vocabulary: int
    cached_numbers: int = 0
    """See the function of this name."""

    def bytes_per_sentence(self, source_length: int, options: DecodeConfig) -> int:
        """The least memory that one sentence needs: logits and cache in bfloat16, log P in float32."""
        rows = hypotheses(options)
        limit = options.limit(source_length)
        positions = max(options.min_length, min(source_length, limit)) + 1
        forks = options.beam if options.method == "beam" else 0  # of each position, which hypotheses descend from it
        return rows * (6 * self.vocabulary + positions * (2 * self.cached_numbers + forks))


def cached_numbers(shape: AnyModel) -> int:
    """Numbers that the key/value cache holds for each target position of a hypothesis: layers × h × (d_k + d_v).

    0 for the other architectures, whose state is of one size whatever the length.
    """
    if not isinstance(shape, ModelConfig):
        return 0
    return shape.decoder_layers * shape.heads * (shape.d_k + shape.d_v)


def batch_tokens(options: DecodeConfig, device: str = "cpu") -> int:
    """Tokens of a batch; more on another type of device for an engine that divides a batch which does not fit there."""
    if options.batch_tokens != "auto":
        return options.batch_tokens
    return CPU_TOKENS if device == "cpu" else GPU_TOKENS


def hypotheses(options: DecodeConfig) -> int:
    """How many hypotheses of a sentence an engine holds at once."""
    return options.beam if options.method == "beam" else options.n_best


def refuse_beyond_memory(needed: int, available: int | None, what: str) -> None:
    """Raises ResourceError if `needed` bytes are more than are available; nothing is refused where that is unknown."""
    if available is not None and needed > available:
        raise ResourceError(
            f"out of memory: {what} needs at least {needed / 2**30:,.1f} GiB and {available / 2**30:,.1f} GiB are "
            f"free; {REMEDY}"
        )


def refuse_fork(process: int) -> None:
    """Raises ResourceError in any process but `process`, which loaded the engine.

    A forked child has the memory of an engine but none of its threads, and would wait for them forever.
    """
    if os.getpid() != process:
        raise ResourceError("an engine does not survive a fork; load the model in each process")
