"""The rules of `data clean` under Ray Data: byte ranges of the files → verdicts, on any number of machines, in order.

Only this module imports ray. Tasks read their own part of the text, so the files must be on storage that every machine
has, uncompressed. Duplicates are found where the results are collected, as without Ray: the output is the same.
"""

import logging
import pickle
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.config import CorpusConfig
from dragoman.data.block import BLOCK_LINES, Block
from dragoman.data.blocks import block_of, decode
from dragoman.data.clean import Judge, Verdict
from dragoman.data.corpus import describe_unequal
from dragoman.errors import ConfigError, DataError

CHUNK = 1 << 24
# Blocks per task: a task that is too short costs more to start than to run.
BLOCKS_PER_TASK = 8


def refuse_without_ray(corpus: CorpusConfig) -> None:
    """Raise ConfigError for compressed files, ModuleNotFoundError without ray."""
    for path in corpus.files:
        if path.suffix in (".gz", ".zst"):
            raise ConfigError(f"{path}: --ray reads many parts of a file at once; unpack it first")
    import ray  # noqa: F401


def judged_by_ray(corpus: CorpusConfig, judge: Judge) -> Iterator[tuple[Block, Verdict]]:
    """Each block with its verdict, in order, from the Ray cluster that is found, or else one on this machine."""
    import ray

    started = not ray.is_initialized()
    log = logging.getLogger("ray.data")
    level = log.level
    if started:
        ray.init(log_to_driver=False, logging_level="error")
    log.setLevel(logging.ERROR)
    try:
        yield from _results(ray, corpus, judge)
    finally:
        log.setLevel(level)
        if started:
            ray.shutdown()


def _results(ray: Any, corpus: CorpusConfig, judge: Judge) -> Iterator[tuple[Block, Verdict]]:
    target = corpus.target and corpus.target.resolve()
    corpus = corpus.model_copy(update={"source": corpus.source.resolve(), "target": target})
    ranges = [{"block": number, "bytes": np.array(sides)} for number, sides in enumerate(_byte_ranges(corpus))]
    if not ranges:
        return
    shared = ray.put((corpus, judge))

    def work(row: dict[str, Any]) -> dict[str, bytes]:
        return {"result": pickle.dumps(_judge_range(row["block"], row["bytes"].tolist(), *ray.get(shared)))}

    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    tasks = ray.data.from_items(ranges, override_num_blocks=max(len(ranges) // BLOCKS_PER_TASK, 1))
    for row in tasks.map(work).iter_rows():
        block, verdict = pickle.loads(row["result"])  # from our own task
        yield Block(*block), verdict


def _judge_range(
    number: int, sides: list[tuple[int, int]], corpus: CorpusConfig, judge: Judge
) -> tuple[tuple[list[str], list[str], int, dict[int, str]], Verdict]:
    """In a task: read a block, and judge it."""
    lines = [_read(path, *side, first=not number) for path, side in zip(corpus.files, sides, strict=True)]
    block = block_of(corpus, lines, number * BLOCK_LINES + 1)
    return (list(block.source.lines), list(block.target.lines), block.first, dict(block.malformed)), judge(block)


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
    """The same of one file."""
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
