"""Which hashes occurred before, in the order of the text: duplicates of a corpus of any size in bounded memory.

Input: arrays of 64-bit hashes. Output: for each whether it occurred before. A hash takes 8 bytes; beyond `in_memory` of
them they are sorted into temporary files, which the operating system reads as needed.
"""

import tempfile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dragoman.data.corpus.hashing import Hashes

# 256 MiB of hashes, and as much again while two runs are merged.
IN_MEMORY = 32 << 20


class SeenHashes:
    """The hashes so far, as a few sorted runs of which each is longer than the next."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self.in_memory = in_memory
        self._runs: list[Hashes] = []
        self._stored: list[Hashes] = []
        self._files: list[IO[bytes]] = []

    def __len__(self) -> int:
        return sum(map(len, (*self._stored, *self._runs)))

    def add(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Whether each of these hashes occurred before, in an earlier call or earlier in `hashes`; adds them all."""
        distinct, first, owner = np.unique(hashes, return_index=True, return_inverse=True)
        old = self.contains(distinct)
        repeated = old[owner]
        repeated[np.setdiff1d(np.arange(len(hashes)), first)] = True
        self._add(distinct[~old])
        return repeated

    def contains(self, hashes: Hashes) -> NDArray[np.bool_]:
        seen = np.zeros(len(hashes), bool)
        for run in (*self._stored, *self._runs):
            at = np.searchsorted(run, hashes)
            inside = at < len(run)
            seen[inside] |= run[at[inside]] == hashes[inside]
        return seen

    def close(self) -> None:
        self._stored.clear()
        for file in self._files:
            file.close()

    def _add(self, run: Hashes) -> None:
        if not len(run):
            return
        while self._runs and len(self._runs[-1]) <= len(run):
            run = np.concatenate([self._runs.pop(), run])
            run.sort(kind="stable")  # two sorted halves: a merge
        self._runs.append(run)
        if sum(map(len, self._runs)) > self.in_memory:
            self._store()

    def _store(self) -> None:
        run = np.concatenate(self._runs)
        self._runs.clear()
        run.sort(kind="stable")
        file = tempfile.TemporaryFile()  # noqa: SIM115 - open until `close`
        run.tofile(file)
        file.flush()
        self._files.append(file)
        self._stored.append(np.memmap(file, np.uint64, "r"))
