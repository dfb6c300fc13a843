"""The rules of `data clean` under Ray Data: byte ranges of the files → judgements, on any number of machines, in order.

Tasks read their own part of the text, so the files must be on storage that every machine
has, uncompressed. Duplicates are found where the results are collected, as without Ray: the output is the same.
"""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.config import CorpusConfig
from dragoman.data.corpus.block_reader import block_of, decode
from dragoman.data.corpus.corpus import describe_unequal
from dragoman.data.corpus.pair_block import BLOCK_LINES, PairBlock
from dragoman.data.make.clean import Judge, Judgement
from dragoman.errors import ConfigError, DataError
from dragoman.system.cluster import cluster, ordered_data

CHUNK = 1 << 24
# Blocks per task: a task that is too short costs more to start than to run.
BLOCKS_PER_TASK = 8


def refuse_without_ray(corpus: CorpusConfig) -> None:
    """Raise ConfigError for compressed files, ModuleNotFoundError without ray."""
    for path in corpus.files:
        if path.suffix in (".gz", ".zst"):
            raise ConfigError(f"{path}: --ray reads many parts of a file at once; unpack it first")
    import ray  # noqa: F401


def judged_by_ray(corpus: CorpusConfig, judge: Judge) -> Iterator[tuple[PairBlock, Judgement]]:
    """Each block with its judgement, in order, from the cluster at RAY_ADDRESS, or else one of this machine."""
    target = corpus.target and corpus.target.absolute()
    corpus = corpus.model_copy(update={"source": corpus.source.absolute(), "target": target})
    with cluster() as ray:
        ranges = [{"block": number, "bytes": np.array(sides)} for number, sides in enumerate(_byte_ranges(corpus))]
        if not ranges:
            return
        shared = ray.put((corpus, judge))

        def work(row: dict[str, Any]) -> dict[str, Any]:
            corpus, judge = ray.get(shared)
            return _packed(judge(_block(corpus, row)))

        tasks = ordered_data().from_items(ranges, override_num_blocks=max(len(ranges) // BLOCKS_PER_TASK, 1))
        for row, packed in zip(ranges, tasks.map(work).iter_rows(), strict=True):
            block = _block(corpus, row)
            yield block, _unpacked(packed, len(block))


def _block(corpus: CorpusConfig, row: dict[str, Any]) -> PairBlock:
    """Read a block; a task and the parent each do, so that only judgements travel."""
    number, sides = row["block"], row["bytes"].tolist()
    lines = [_read(path, start, end, not number) for path, (start, end) in zip(corpus.files, sides, strict=True)]
    return block_of(corpus, lines, number * BLOCK_LINES + 1)


def _packed(judgement: Judgement) -> dict[str, Any]:
    """A judgement as columns of a table."""
    hashes = [np.zeros(0, np.uint64), *judgement.hashes.values()]
    return {
        "rules": " ".join(judgement.rules),
        "kinds": " ".join(judgement.hashes),
        "faults": judgement.faults.tobytes(),
        "hashes": np.concatenate(hashes).tobytes(),
    }


def _unpacked(row: dict[str, Any], pairs: int) -> Judgement:
    rules, kinds = row["rules"].split(), row["kinds"].split()
    faults = np.frombuffer(row["faults"], bool).reshape(len(rules), pairs)
    hashes = np.frombuffer(row["hashes"], np.uint64).reshape(len(kinds), pairs)
    return Judgement(tuple(rules), faults, dict(zip(kinds, hashes, strict=True)))


def _read(path: Path, start: int, end: int, first: bool) -> list[str]:
    with path.open("rb") as file:
        file.seek(start)
        text = file.read(end - start)
    lines = decode(text, first)
    return lines[:-1] if text.endswith(b"\n") else lines


def _byte_ranges(corpus: CorpusConfig) -> Iterator[list[tuple[int, int]]]:
    """Where each block of BLOCK_LINES lines begins and ends in each file. Raises DataError."""
    for sides in zip_longest(*(_ranges_of(path) for path in corpus.files)):
        if None in sides:
            raise DataError(describe_unequal(corpus))
        yield list(sides)


def _ranges_of(path: Path) -> Iterator[tuple[int, int]]:
    start, offset, lines = 0, 0, 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            ends = offset + 1 + np.flatnonzero(np.frombuffer(chunk, np.uint8) == ord("\n"))
            for end in ends[BLOCK_LINES - 1 - lines :: BLOCK_LINES].tolist():
                yield start, end
                start = end
            lines = (lines + len(ends)) % BLOCK_LINES
            offset += len(chunk)
    if offset > start:
        yield start, offset
