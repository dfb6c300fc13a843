"""What a search needs of the machine: memory, and the process that loaded the engine. Without them it is refused.

An operating system that overcommits memory kills a process without a message, so the largest tensors are
estimated before they are allocated. An estimate is a lower bound: what it refuses could not have run.
"""

import os
from dataclasses import dataclass, replace
from typing import Literal

from dragoman.config import AnyModel, DecodeConfig, ModelConfig
from dragoman.errors import ResourceError, check_count
from dragoman.text.words.lines import WINDOW, WINDOW_CHARACTERS, WindowSize

# Tokens of a batch that neither options nor memory make smaller. A step of a GPU takes little longer for many.
CPU_TOKENS, GPU_TOKENS = 4096, 65_536
# `batch_tokens` is meant for this many hypotheses per sentence, those of the usual beam; more samples, fewer sentences.
USUAL_BEAM = 4
# Several batches of GPU_TOKENS, each of sentences of similar length (decision 68); with fewer lines than those of a
# processor's window most of a GPU would be idle. Lines that come one after the other are gathered for a second at most.
GPU_WINDOW = WindowSize(32 * WINDOW, 8 * WINDOW_CHARACTERS, first=WINDOW, seconds=1.0)
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


def on_gpu(engine: object) -> bool:
    """Whether an engine computes on another device than the processor."""
    return not str(getattr(engine, "device", "cpu")).startswith("cpu")


def window_size(
    engine: object, options: DecodeConfig, first: int = WINDOW, lines: int | Literal["auto"] = "auto"
) -> WindowSize:
    """How much an engine is given at a time: `lines`, or `auto`, as much as suits its device.

    On a processor that is up to WINDOW lines, `first` of them at first; on a GPU, what fills its batches, and less
    where a line has more hypotheses than USUAL_BEAM. Raises ConfigError for a wrong number of lines.
    """
    if lines != "auto":
        check_count("window", lines)
        return WindowSize(lines, first=lines)
    if not on_gpu(engine):
        return WindowSize(first=first)
    results = max(options.n_best, options.samples if options.method == "mbr" else 0, options.confidence_samples)
    share = max(1, results // USUAL_BEAM)
    return replace(
        GPU_WINDOW,
        lines=max(WINDOW, GPU_WINDOW.lines // share),
        characters=max(WINDOW_CHARACTERS, GPU_WINDOW.characters // share),
    )


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
