"""One corpus → training, validation and test files that share no source sentence.

The part of a pair depends only on its source sentence, so that repeats of a sentence stay together and the same corpus
is always split in the same way. The corpus is not kept in memory, and all files appear together when they are complete.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from dragoman.config import CorpusConfig
from dragoman.data.corpus import compressed_writer, read_pairs
from dragoman.errors import ConfigError, DataError
from dragoman.storage import atomic_new_files
from dragoman.text.normalise import folded

# The default size of a held-out part: enough to compare systems, and at most a twentieth of the text.
HELD_OUT = 1000
SMALLEST_SHARE = 20


def split_corpus(corpus: CorpusConfig, parts: Mapping[str, CorpusConfig], held_out: int | None) -> dict[str, int]:
    """Write the pairs of `corpus` to the two files of each part; returns the number of pairs of each.

    `parts` has "train" and "valid" or "test" or both, which get about `held_out` pairs each. Raises ConfigError if a
    file exists, is for both sides or is named twice, DataError if the corpus is too small or cannot be read; no file
    is written then.
    """
    files = {name: _two_files(part) for name, part in parts.items()}
    _refuse_twice([path for pair in files.values() for path in pair])
    total = sum(1 for _ in read_pairs(corpus))
    size = min(HELD_OUT, total // SMALLEST_SHARE) if held_out is None else held_out
    if size < 1 or size * len(parts) > total:
        raise DataError(
            f"{corpus.source}: {total:,} pairs are too few to hold out {max(size, 1):,} for each part; "
            "give more text, or ask for fewer with --held-out"
        )
    shares = {name: size / total for name in parts if name != "train"}
    counts = dict.fromkeys(parts, 0)
    paths = [path for pair in files.values() for path in pair]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_new_files(paths) as opened, ExitStack() as stack:
        out = {path: compressed_writer(file, path.name, stack) for path, file in zip(paths, opened, strict=True)}
        for pair in read_pairs(corpus):
            part = _part_of(pair.source, shares)
            counts[part] += 1
            for path, side in zip(files[part], (pair.source, pair.target), strict=True):
                out[path].write(f"{side}\n".encode())
        if empty := next((name for name, count in counts.items() if not count), None):
            raise DataError(_no_pair(corpus, empty, total))
    return counts


def _no_pair(corpus: CorpusConfig, part: str, total: int) -> str:
    remedy = "ask for fewer with --held-out" if part == "train" else "ask for more with --held-out"
    return (
        f"{corpus.source}: none of its {total:,} pairs is assigned to {part} (repeats of a sentence stay together); "
        f"{remedy}, or give more text"
    )


def _two_files(part: CorpusConfig) -> tuple[Path, Path]:
    if part.target is None:
        raise ConfigError(f"{part.source}: is for both sides; a split is written to two text files, name them")
    for path in part.files:
        if path.exists():
            raise ConfigError(f"{path}: exists already; remove it, or name another file in the configuration")
    return part.source, part.target


def _refuse_twice(paths: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise ConfigError(f"{path}: named twice in the configuration; give each side of each part its own file")
        seen.add(path.resolve())


def _part_of(source: str, shares: Mapping[str, float]) -> str:
    digest = hashlib.blake2b(folded(source).encode(), digest_size=8).digest()
    draw = int.from_bytes(digest) / 2**64
    for name, share in shares.items():
        if draw < share:
            return name
        draw -= share
    return "train"
