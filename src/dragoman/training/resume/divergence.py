"""The error of a loss or a gradient that is not finite: it names step, pairs and the checkpoint that is kept."""

import math
from collections.abc import Sequence
from pathlib import Path

from dragoman.data.batches.batch import Batch
from dragoman.errors import DivergenceError, counted
from dragoman.training.resume.checkpoint import what_is_kept
from dragoman.training.update.distributed import ProcessGroup

DIVERGENCE_HINT = "start again with a lower train.learning_rate, or with train.clip_norm"


def diverged(
    folder: Path,
    step: int,
    group: ProcessGroup,
    batches: Sequence[Batch],
    loss: float,
    norm: float,
    ranks: Sequence[int],
) -> DivergenceError:
    """The error for an update at `step`, whose pairs are written next to the checkpoints in `folder`.

    `ranks` are the processes whose own loss is not finite.
    """
    locations = [location for batch in batches for location in batch.locations]
    if ranks and group.rank not in ranks:
        return DivergenceError(f"step {step:,}: the loss of process {ranks[0]} is not a number")
    which = f" of process {group.rank}" if group.size > 1 else ""
    named = folder.parent / (f"diverged.{group.rank}.txt" if group.size > 1 else "diverged.txt")
    named.write_text("".join(location + "\n" for location in locations), encoding="utf-8")
    what = f"loss is {loss}" if not math.isfinite(loss) else f"gradient's norm is {norm}"
    pairs = f"{counted(len(locations), 'pair')} ({', '.join(locations[:3])}, … all in {named})"
    return DivergenceError(f"step {step:,}: the {what}{which} on {pairs}; {what_is_kept(folder)}; {DIVERGENCE_HINT}")
