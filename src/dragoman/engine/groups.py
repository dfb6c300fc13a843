"""Which sentences CTranslate2 searches together. No torch."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.config.sections.base import INT32_MAX

# Tokens that a thread searches at a time: enough that its products are large and that weights too big for any cache
# are read for several sentences, but few otherwise. A batch is never divided among threads: they would wait for each
# other at every small product (`docs/log.md`, 2026-11-21).
THREAD_TOKENS = {"int8": 192, "float32": 320}
THREAD_TOKENS_OF_LARGE, LARGE = 1024, 64 << 20


def balanced_groups(lengths: Sequence[int], threads: int, most: int) -> list[list[int]]:
    """Indices of sentences grouped by similar length, the longest first, so that threads finish together.

    Each thread gets the same number of groups of about `most` tokens, all of about the same size. A group is divided
    where its padding would make it more than twice `most`.
    """
    total = sum(lengths)
    count = threads * -(-total // (threads * most))
    groups: list[list[int]] = []
    before, number = 0, -1
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        share = before * count // total
        if share > number or (len(groups[-1]) + 1) * lengths[index] > 2 * most:
            groups.append([])
        groups[-1].append(index)
        before, number = before + lengths[index], share
    return groups[::-1]


def thread_tokens(folder: Path, device: str, compute_type: str) -> int:
    """Tokens that a thread searches at a time with the network in `folder`."""
    if device.startswith("cuda"):
        return INT32_MAX
    if (folder / "model.bin").stat().st_size > LARGE:
        return THREAD_TOKENS_OF_LARGE
    return THREAD_TOKENS["int8" if compute_type.startswith("int8") else "float32"]
