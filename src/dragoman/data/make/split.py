"""One corpus → training, validation and test files: exact numbers of pairs, and no sentence in two of them.

Repeats of a source sentence and its near-duplicates (`dragoman.data.corpus.near_duplicates`) stay together. The parts
depend only on the text and the seed. The corpus is read three times and not kept in memory: once to draw candidates,
the sentences with the smallest hashes; once to find all lines that are near-duplicates of a candidate; once to write. A
candidate with near-duplicates outside the drawn sentences is drawn together with them or not at all.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.config import CorpusConfig
from dragoman.data.corpus.block_reader import BlockReader
from dragoman.data.corpus.corpus import describe_unequal, read_pairs
from dragoman.data.corpus.hashing import Hashes, letter_hashes, mixed, text_hashes
from dragoman.data.corpus.near_duplicates import NearIndex, signatures
from dragoman.data.corpus.output import new_text_files, refuse_same, reject_line
from dragoman.data.corpus.rules import RULES, Context
from dragoman.errors import ConfigError, DataError, counted
from dragoman.system.files import refuse_existing

# The default size of a held-out part: enough to compare systems, and at most a twentieth of the text.
HELD_OUT = 1000
SMALLEST_SHARE = 20
# Candidates drawn per pair wanted, at least LEAST; near-duplicates join them in up to ROUNDS passes.
CANDIDATES, LEAST, ROUNDS, MOST = 4, 8_000, 4, 1_000_000

# Estimated similarity from which sentences stay together: below NEAR, since an estimate errs by about 0.1.
KEPT_TOGETHER = 0.6
BLOCK = 4096
Sides = tuple[list[str], list[str], list[str]]
"""Source lines, target lines, and lines for the rejects file."""
Blocks = Callable[[], Iterator[Sides]]
"""Opens the corpus again."""


@dataclass(frozen=True, slots=True)
class SplitOptions:
    """How a corpus is split."""

    held_out: int | None = None
    """Pairs for each held-out part."""
    seed: int = 1
    near: bool = True
    """Whether near-duplicates stay together, not only repeats."""


def split_corpus(
    blocks: Blocks,
    name: str,
    parts: Mapping[str, CorpusConfig],
    options: SplitOptions,
    rejects: Path | None = None,
) -> dict[str, int]:
    """Write the pairs of a corpus called `name` to the two files of each part; returns the number of pairs of each.

    What `blocks` drops is written to `rejects`, if given, and counted as "dropped". `parts` has "train" and "valid" or
    "test" or both, which get exactly `options.held_out` pairs each. Raises ConfigError if a file exists, is for both
    sides or is named twice, DataError if the corpus is too small or cannot be read; no file is written then.
    """
    files = {part: _two_files(corpus) for part, corpus in parts.items()}
    paths = [path for pair in files.values() for path in pair] + ([rejects] if rejects else [])
    refuse_existing(paths, "remove it, or name another file in the configuration")
    refuse_same(paths, "give each side of each part its own file in the configuration")
    wanted = [part for part in parts if part != "train"]
    sentences, total = _draw(blocks, (options.held_out or HELD_OUT) * len(wanted), options)
    size = min(HELD_OUT, total // SMALLEST_SHARE) if options.held_out is None else options.held_out
    if size < 1 or size * len(parts) > total:
        raise DataError(_too_few(name, total, len(parts), options))
    chosen = _choose(blocks, sentences, dict.fromkeys(wanted, size), options)
    if missing := next((part for part, groups in chosen.items() if sum(groups.values()) < size), None):
        raise DataError(_impossible(name, missing, sum(chosen[missing].values()), size, options))
    return _write(blocks, files, {key: part for part, groups in chosen.items() for key in groups}, paths, options)


def whole_pairs(corpus: CorpusConfig) -> Iterator[Sides]:
    """A corpus in blocks. Raises DataError at the first line that is no pair."""
    pairs = read_pairs(corpus)
    while block := list(islice(pairs, BLOCK)):
        yield [pair.source for pair in block], [pair.target for pair in block], []


def usable_pairs(corpus: CorpusConfig) -> Iterator[Sides]:
    """A corpus in blocks without the lines that have an empty side or bad bytes.

    Raises DataError if one file has more lines than the other.
    """
    reader, context = BlockReader(corpus), Context("und", "und")
    for block in reader:
        bad = RULES["bad_bytes"](block, context)
        unusable = bad | RULES["empty"](block, context)
        reasons = ((row, "bad_bytes" if bad[row] else "empty") for row in np.flatnonzero(unusable).tolist())
        rows = np.flatnonzero(~unusable).tolist()
        source, target = block.source.lines, block.target.lines
        dropped = [reject_line(block, row, [reason]) for row, reason in reasons]
        yield [source[row] for row in rows], [target[row] for row in rows], dropped
    if reader.surplus:
        raise DataError(describe_unequal(corpus))


def _too_few(name: str, total: int, parts: int, options: SplitOptions) -> str:
    most = total // parts
    size = "1" if not most else "a twentieth of them" if options.held_out is None else f"{options.held_out:,}"
    number = f", or choose a number with --held-out, at most {most:,}" if most else ""
    pairs = f"{counted(total, 'pair')} {'is' if total == 1 else 'are'}"
    return f"{name}: {pairs} too few to hold out {size} for each part; give more text{number}"


def _impossible(name: str, part: str, possible: int, size: int, options: SplitOptions) -> str:
    why = "repeats and near-duplicates of a sentence stay together" if options.near else "repeats stay together"
    remedy = f"ask for {possible:,} with --held-out" if possible else "give more text"
    relax = ", or keep only repeats together with --no-near" if options.near else ""
    pairs = counted(possible, "pair")
    return f"{name}: only {pairs} of {size:,} can be held out for {part}, because {why}; {remedy}{relax}"


def _two_files(part: CorpusConfig) -> tuple[Path, Path]:
    if part.target is None:
        raise ConfigError(f"{part.source}: is for both sides; a split is written to two text files, name them")
    return part.source, part.target


# --- candidates ----------------------------------------------------------------------------------------------------


def _keys(sources: list[str], options: SplitOptions) -> Hashes:
    """A number for each sentence, equal for sentences that stay together; their order is the order of drawing."""
    hashes = letter_hashes(sources) if options.near else text_hashes(sources)
    return mixed(hashes ^ mixed(np.array([options.seed], np.uint64)))


def _draw(blocks: Blocks, pairs: int, options: SplitOptions) -> tuple[dict[int, str], int]:
    """The sentences with the smallest keys, CANDIDATES times as many as `pairs`; how many pairs the corpus has."""
    most = max(CANDIDATES * pairs, LEAST)
    sentences, total, limit = dict[int, str](), 0, 2**64
    for sources, _, _ in blocks():
        total += len(sources)
        for key, source in zip(_keys(sources, options).tolist(), sources, strict=True):
            if key < limit:
                sentences.setdefault(key, source)
        if len(sentences) > 2 * most:
            sentences = dict(sorted(sentences.items())[:most])
            limit = max(sentences)
    return dict(sorted(sentences.items())[:most]), total


@dataclass(slots=True)
class _Groups:
    """Candidates that stay together: a forest over their indices, and how many lines of the corpus each has."""

    keys: Hashes
    parents: list[int] = field(default_factory=list)
    lines: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    outside: dict[int, str] = field(default_factory=dict)
    """Near-duplicates that are no candidates, by their keys."""
    tied: set[int] = field(default_factory=set)
    """Candidates with near-duplicates outside."""

    def root(self, index: int) -> int:
        while self.parents[index] != index:
            self.parents[index] = index = self.parents[self.parents[index]]
        return index

    def join(self, index: int, other: int) -> None:
        first, second = sorted((self.root(index), self.root(other)))
        self.parents[second] = first

    def complete(self) -> list[list[int]]:
        """The groups without near-duplicates outside, in the order of their smallest keys."""
        tied = set(map(self.root, self.tied))
        groups: dict[int, list[int]] = {}
        for index in range(len(self.parents)):
            groups.setdefault(self.root(index), []).append(index)
        return [members for root, members in sorted(groups.items()) if root not in tied]


def _choose(
    blocks: Blocks, sentences: Mapping[int, str], sizes: Mapping[str, int], options: SplitOptions
) -> dict[str, dict[int, int]]:
    """The keys of each held-out part with their numbers of lines: exactly the size of the part, if that is possible."""
    for last in [*[False] * (ROUNDS - 1), True]:
        groups = _group(blocks, sentences, options)
        chosen = _fill(groups, sizes)
        full = all(sum(keys.values()) == sizes[part] for part, keys in chosen.items())
        if full or last or not groups.outside or len(sentences) + len(groups.outside) > MOST:
            break
        sentences = {**sentences, **groups.outside}
    return chosen


def _group(blocks: Blocks, sentences: Mapping[int, str], options: SplitOptions) -> _Groups:
    """Candidates joined where they are near-duplicates, with the near-duplicates of the whole corpus."""
    keys = np.array(sorted(sentences), np.uint64)
    groups = _Groups(keys, list(range(len(keys))), np.zeros(len(keys), np.int64))
    index = NearIndex(KEPT_TOGETHER, len(keys))
    if options.near:
        texts = [sentences[key] for key in keys.tolist()]
        for start in range(0, len(texts), BLOCK):
            index.add(signatures(texts[start : start + BLOCK]), np.arange(start, min(start + BLOCK, len(texts))))
    for sources, _, _ in blocks():
        of_lines = _keys(sources, options)
        at = np.minimum(np.searchsorted(keys, of_lines), len(keys) - 1)
        members = np.where(keys[at] == of_lines, at, -1)
        groups.lines += np.bincount(members[members >= 0], minlength=len(keys))
        if options.near:
            _join_near(groups, index, sources, of_lines, members)
    return groups


def _join_near(groups: _Groups, index: NearIndex, sources: list[str], keys: Hashes, members: NDArray[np.int64]) -> None:
    """Note the lines of a block that are near-duplicates of candidates with other letters.

    `members` are the candidates that the lines are, −1 for lines that are none.
    """
    for row, candidate in index.all_near(signatures(sources)):
        if members[row] >= 0:
            groups.join(int(members[row]), candidate)
            continue
        groups.tied.add(candidate)
        if len(groups.outside) < MOST:
            groups.outside[int(keys[row])] = sources[row]


def _fill(groups: _Groups, sizes: Mapping[str, int]) -> dict[str, dict[int, int]]:
    """Complete groups for each part in order, skipping those that are larger than what it still needs."""
    chosen: dict[str, dict[int, int]] = {part: {} for part in sizes}
    left = groups.complete()
    for part, size in sizes.items():
        later = []
        for members in left:
            count = int(groups.lines[members].sum())
            if count <= size:
                size -= count
                chosen[part] |= {int(groups.keys[member]): int(groups.lines[member]) for member in members}
            else:
                later.append(members)
        left = later
    return chosen


# --- files ---------------------------------------------------------------------------------------------------------


def _write(
    blocks: Blocks,
    files: Mapping[str, tuple[Path, Path]],
    part_of: Mapping[int, str],
    paths: list[Path],
    options: SplitOptions,
) -> dict[str, int]:
    counts = dict.fromkeys(files, 0)
    rejects = paths[2 * len(files) :]
    with new_text_files(paths) as out:
        for sources, targets, dropped in blocks():
            if rejects:
                out.write(len(paths) - 1, dropped)
                counts["dropped"] = counts.get("dropped", 0) + len(dropped)
            parts = [part_of.get(key, "train") for key in _keys(sources, options).tolist()]
            for part, (source_path, target_path) in files.items():
                rows = [row for row, of in enumerate(parts) if of == part]
                counts[part] += len(rows)
                out.write(paths.index(source_path), (sources[row] for row in rows))
                out.write(paths.index(target_path), (targets[row] for row in rows))
    return counts
