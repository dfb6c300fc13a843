"""A teacher's translations of the training text, for students (Kim and Rush 2016, section 3.2 and 4.2).

Of the hypotheses of a beam the one is taken that is most like what a person wrote: of 1 to 4 pieces, the n-grams that
both have (GLEU). A translation that repeats itself, is a copy, empty or far too long or short is none. The shortest
lines come first, so that a clock that ends the work leaves out the longest; where a line has no translation, a student
learns what the person wrote.

    distilled.en-ko.1.xz, …     number of the line in the packed text, tab, translation
"""

import lzma
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import jobs

from dragoman.config import DecodeConfig
from dragoman.control.faults.faults import detect_fault, is_copy
from dragoman.engine import Engine, Query
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.normalise import normalise
from dragoman.workflows.train.sampled import gleu

# Lines that are translated and written together.
WINDOW = 20_000
# A file grows to this size; then the next one begins.
FULL = 14 << 20
# A window is started if this many times the duration of the one before is left.
LONGER = 1.5
Ids = Sequence[int]
Beam = tuple[Ids, str, Ids, list[Ids]]
"""The ids and the text of a source, the ids of its reference, and the hypotheses."""


def chosen(beams: Sequence[Beam]) -> list[int]:
    """For each beam the number of the hypothesis that is most like the reference; -1 if all of them are faulty."""
    return [_chosen(*beam) for beam in beams]


def _chosen(source_ids: Ids, source: str, reference: Ids, hypotheses: Sequence[Ids]) -> int:
    order = sorted(range(len(hypotheses)), key=lambda number: -gleu(hypotheses[number], reference))
    sound = (n for n in order if hypotheses[n] and not detect_fault(source_ids, source, hypotheses[n]))
    return next(sound, -1)


@dataclass
class DistilledText:
    """The lines of one direction that a teacher translates, and what it has translated so far."""

    name: str
    sources: Sequence[str]
    references: Sequence[str]
    order: list[int] = field(init=False)
    """The numbers of the lines, the shortest first."""
    started: int = 0
    lines: int = 0
    """Translations that were taken."""
    files: list[bytes] = field(default_factory=lambda: [b""])

    def __post_init__(self) -> None:
        self.order = sorted(range(len(self.sources)), key=lambda number: len(self.sources[number]))

    @property
    def counts(self) -> dict[str, int]:
        """All lines, those that were translated, and the translations that were taken."""
        return {"lines": len(self.order), "translated": self.started, "taken": self.lines}

    def window(self, size: int) -> list[int]:
        """The next lines, in the order of the text: neighbours compress better."""
        self.started, begin = min(len(self.order), self.started + size), self.started
        return sorted(self.order[begin : self.started])

    def add(self, numbered: Iterable[tuple[int, str]]) -> None:
        """Append these translations."""
        rows = [f"{number}\t{text}\n" for number, text in numbered]
        self.lines += len(rows)
        if len(self.files[-1]) > FULL:
            self.files.append(b"")
        self.files[-1] += lzma.compress("".join(rows).encode())

    def write(self, job: jobs.Job, folder: Path) -> None:
        """Write the files, for the results and into `folder` for the next job."""
        for number, content in enumerate(self.files, 1):
            name = f"distilled.{self.name}.{number}.xz"
            job.write(name, content)
            (folder / name).write_bytes(content)


class Distiller:
    """Translates directions in turns until the time is over."""

    def __init__(self, job: jobs.Job, tokenizer: Tokenizer, folder: Path, max_length: int) -> None:
        self.job, self.tokenizer, self.folder, self.max_length = job, tokenizer, folder, max_length
        folder.mkdir(parents=True, exist_ok=True)
        self.workers = max(1, jobs.processors() - 2) if job.device.type == "cuda" else 1
        # Started early: a process takes seconds to import what it needs.
        self.pool = ProcessPoolExecutor(self.workers, get_context("spawn"))
        for _ in range(self.workers):
            self.pool.submit(chosen, [])

    def translate(
        self, engine: Engine, directions: Sequence[DistilledText], options: DecodeConfig, until: float
    ) -> None:
        """Translate windows until `until` seconds of the job are left, and write them."""
        window = max(1, WINDOW // (100 if self.job.rehearse else 1))
        waiting: list[Searched] = []
        took = 0.0
        while any(direction.started < len(direction.order) for direction in directions):
            direction = min(directions, key=lambda one: one.started / max(1, len(one.order)))
            if self.job.left - until < LONGER * took:
                break
            began = time.monotonic()
            waiting.append(self._search(engine, direction, direction.window(window), options))
            if len(waiting) > 1:
                self._collect(waiting.pop(0), directions)
            took = time.monotonic() - began
        for work in waiting:
            self._collect(work, directions)
        self.pool.shutdown(wait=False, cancel_futures=True)

    def _search(
        self, engine: Engine, direction: DistilledText, numbers: list[int], options: DecodeConfig
    ) -> "Searched":
        sources, references = ([lines[n] for n in numbers] for lines in (direction.sources, direction.references))
        source_ids = self.tokenizer.encode(sources, "source")
        reference_ids = self.tokenizer.encode(references, "target")
        short = [n for n, ids in enumerate(source_ids) if 0 < len(ids) <= self.max_length]
        hypotheses = engine.translate([Query(source_ids[n]) for n in short], options)
        beams = [
            (source_ids[n], sources[n], reference_ids[n], [hypothesis.tokens for hypothesis in beam])
            for n, beam in zip(short, hypotheses, strict=True)
        ]
        size = -(-len(beams) // self.workers) or 1
        shares = [beams[at : at + size] for at in range(0, len(beams), size)]
        return Searched(direction, [numbers[n] for n in short], shares, [self.pool.submit(chosen, s) for s in shares])

    def _collect(self, work: "Searched", directions: Sequence[DistilledText]) -> None:
        direction, beams = work.direction, [beam for share in work.shares for beam in share]
        best = [number for numbers in map(_result, work.futures, work.shares) for number in numbers]
        taken = [(n, beam[-1][at]) for n, beam, at in zip(work.numbers, beams, best, strict=True) if at >= 0]
        texts = self.tokenizer.decode([ids for _, ids in taken], "target")
        rows = [(n, normalise(text)) for (n, _), text in zip(taken, texts, strict=True)]
        direction.add((n, text) for n, text in rows if text and not is_copy(direction.sources[n], text))
        direction.write(self.job, self.folder)
        self.job.note(translations={text.name: text.counts for text in directions})
        self.job.say(f"{direction.name}: {direction.started:,} of {len(direction.order):,} translated")


@dataclass(frozen=True)
class Searched:
    """A window whose hypotheses are being compared with what people wrote."""

    direction: DistilledText
    numbers: list[int]
    shares: list[list[Beam]]
    futures: list[Future[list[int]]]


def _result(future: Future[list[int]], share: list[Beam]) -> list[int]:
    """What the process found; found here if it is gone."""
    try:
        return future.result()
    except BrokenExecutor:
        return chosen(share)


def read_translations(folders: Iterable[Path], name: str) -> dict[int, str]:
    """The translations of a direction by the number of their line; of a file that is cut off, what is whole."""
    found: dict[int, str] = {}
    for folder in folders:
        for path in sorted(folder.glob(f"distilled.{name}.*.xz")):
            for line in _lines(path.read_bytes()):
                number, tab, text = line.partition("\t")
                if tab and number.isdigit() and text:
                    found[int(number)] = text
    return found


def _lines(content: bytes) -> Iterator[str]:
    while content:
        unpacked = lzma.LZMADecompressor()
        try:
            yield from unpacked.decompress(content).decode("utf-8", "ignore").split("\n")[:-1]
        except lzma.LZMAError:
            return
        content = unpacked.unused_data
