"""Several corpora → one, shuffled, in constant memory: weights, temperature, size and domain tags of [data.mix].

Corpus i of n pairs gets a share in proportion to weight · n^(1/T) (Arivazhagan et al. 2019, "Massively Multilingual
NMT in the Wild"), as whole repeats and a random rest. Every pair is written to one of a few temporary files, chosen by
a random number; each file is then sorted by these numbers in memory, which shuffles the whole.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import IO

from dragoman.config import MixConfig, MixedCorpus
from dragoman.data.corpus.corpus import read_lines, read_pairs
from dragoman.errors import ConfigError, DataError
from dragoman.system.files import storage_error

# Bytes of text sorted in memory at once, and temporary files at most.
SORTED_AT_ONCE, MOST_FILES = 64 << 20, 512


@dataclass(frozen=True, slots=True)
class MixedPair:
    """A line of the mixture, and the index of its corpus."""

    source: str
    target: str
    corpus: int


def sizes(counts: Sequence[int], config: MixConfig) -> list[int]:
    """How many pairs of each corpus of `counts` pairs the mixture has: their sum is exact, by largest remainders."""
    weights = [
        corpus.weight * count ** (1 / config.temperature) for corpus, count in zip(config.corpora, counts, strict=True)
    ]
    whole = sum(corpus.weight * count for corpus, count in zip(config.corpora, counts, strict=True))
    total = config.size or round(whole)
    if not total:
        raise ConfigError("data.mix: the weights ask for no pair at all; raise them, or give data.mix.size")
    exact = [total * weight / sum(weights) for weight in weights]
    pairs = [int(share) for share in exact]
    order = sorted(range(len(exact)), key=lambda index: (pairs[index] - exact[index], index))
    for index in order[: total - sum(pairs)]:
        pairs[index] += 1
    return pairs


def count_pairs(corpus: MixedCorpus) -> int:
    """The pairs of a corpus. Raises DataError if it has none."""
    count = sum(1 for _ in read_lines(corpus.source))
    if not count:
        raise DataError(f"{corpus.source}: no lines; a corpus to mix needs text")
    return count


def mixture(
    config: MixConfig, counts: Sequence[int], wanted: Sequence[int], progress: Callable[[int], None]
) -> Iterator[MixedPair]:
    """`wanted` pairs of each corpus of `counts` pairs, in an order that depends only on them and the seed.

    `progress` is called with the number of pairs read. Raises DataError if a corpus cannot be read.
    """
    size = sum(path.stat().st_size for corpus in config.corpora for path in corpus.files)
    repeats = sum(wanted) / sum(counts)
    files = min(max(int(4 * size * repeats) // SORTED_AT_ONCE, 1), MOST_FILES)
    with ExitStack() as stack:
        buckets = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(files)]
        try:
            for index, corpus in enumerate(config.corpora):
                _scatter(corpus, index, counts[index], wanted[index], config.seed, buckets, progress)
            for bucket in buckets:
                yield from _sorted(bucket)
        except OSError as error:
            raise storage_error(Path(tempfile.gettempdir()), error) from None


def _scatter(
    corpus: MixedCorpus,
    index: int,
    count: int,
    wanted: int,
    seed: int,
    buckets: Sequence[IO[bytes]],
    progress: Callable[[int], None],
) -> None:
    """Write the pairs drawn from one corpus to the buckets of their keys."""
    rng, order = Random(f"{seed}/mix/{index}"), Random(f"{seed}/order/{index}")
    repeats, rest = divmod(wanted, count)
    prefix = f"{corpus.tag} " if corpus.tag else ""
    for position, pair in enumerate(read_pairs(corpus)):
        take = rest and rng.random() * (count - position) < rest  # sequential sampling (Knuth 3.4.2, algorithm S)
        rest -= bool(take)
        copies = repeats + bool(take)
        line = f"{index}\t{len(prefix) + len(pair.source)}\t{prefix}{pair.source}{pair.target}\n".encode()
        for _ in range(copies):
            key = order.getrandbits(64)
            buckets[key * len(buckets) >> 64].write(key.to_bytes(8) + len(line).to_bytes(8) + line)
        if position % 10_000 == 9_999:
            progress(10_000)
    progress(count % 10_000)


def _sorted(bucket: IO[bytes]) -> Iterator[MixedPair]:
    bucket.seek(0)
    keyed: list[tuple[bytes, bytes]] = []
    while head := bucket.read(16):
        keyed.append((head[:8], bucket.read(int.from_bytes(head[8:]))))
    for _, line in sorted(keyed):
        index, length, text = line.decode().removesuffix("\n").split("\t", 2)
        yield MixedPair(text[: int(length)], text[int(length) :], int(index))
