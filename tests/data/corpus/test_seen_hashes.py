"""Hashes that occurred before, against a Python set."""

import numpy as np
import pytest

from dragoman.data.corpus.seen_hashes import SeenHashes


@pytest.mark.parametrize("in_memory", [10, 300, 1 << 20], ids=["in files", "in both", "in memory"])
def test_repeats_are_those_of_a_set(in_memory: int) -> None:
    rng = np.random.default_rng(1)
    seen, known = SeenHashes(in_memory), set()
    for size in (0, 1, 50, 400, 3, 200):
        hashes = rng.integers(0, 500, size).astype(np.uint64)
        expected = []
        for value in hashes.tolist():
            expected.append(value in known)
            known.add(value)
        assert seen.add(hashes).tolist() == expected
        assert len(seen) == len(known)
    everything = np.arange(600, dtype=np.uint64)
    assert seen.contains(everything).tolist() == [value in known for value in everything.tolist()]
    seen.close()
