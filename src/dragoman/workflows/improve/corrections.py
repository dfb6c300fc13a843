"""Corrections of people → pairs to learn from, and those that cannot be learned from, each with where it is.

Input: the database in which the service keeps corrections, a .tsv or .jsonl file of sources and right translations, or
the corrected table that `dragoman translate` writes for review.
Of a source with several corrections the newest counts, in a file the last one.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.config import CleanConfig, PairConfig, ProjectConfig
from dragoman.config.sections.project import pair_name
from dragoman.data.corpus.block_reader import BlockReader
from dragoman.data.corpus.pair_block import Lines, MalformedLine, PairBlock
from dragoman.data.corpus.rules import Context, active_rules
from dragoman.data.corpus.side_languages import in_other_language, languages_of
from dragoman.errors import ConfigError, DataError
from dragoman.text.words.language import primary_language
from dragoman.text.words.normalise import normalise
from dragoman.workflows.data.check import corpus_of
from dragoman.workflows.data.check_page import kind_name
from dragoman.workflows.documents.review import review_pairs

TABLE = "corrections"
COLUMNS = ("id", "source", "translation", "correction", "source_language", "target_language", "model", "updated")
_BEGINNING = b"SQLite format 3\0"
DATABASES = (".db", ".sqlite", ".sqlite3")
TEXTS = (".tsv", ".jsonl", ".tsv.gz", ".jsonl.gz", ".tsv.zst", ".jsonl.zst")
# Faults with which a correction teaches what is wrong; the other rules of `data check` are about whole corpora.
FAULTS = ("bad_bytes", "empty", "script", "copies", "too_long", "placeholders", "mojibake", "control")
KINDS = (*FAULTS, "language")


@dataclass(frozen=True, slots=True)
class Correction:
    """A source, its right translation, the pair of languages by name, and where it was found."""

    source: str
    target: str
    pair: str
    where: str
    translation: str = ""
    """What the model had translated, if that is known."""
    is_pair: bool = True
    """Whether its line holds a pair."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A correction that is left out, and the kind of its fault, as `data check` names it."""

    correction: Correction
    kind: str


@dataclass(frozen=True, slots=True)
class Corrections:
    """What there is to learn from."""

    usable: tuple[Correction, ...]
    faults: tuple[Fault, ...] = ()
    elsewhere: int = 0
    """Corrections of pairs of languages that the model does not have."""


def read_corrections(path: Path, project: ProjectConfig, pair: str = "") -> Corrections:
    """The corrections for a model of this project; those of a text file are of `pair`, or of its first pair.

    Raises ConfigError for a pair that the model lacks, DataError for a file that cannot be read or if there is nothing
    to learn from.
    """
    chosen = project.pair(pair)
    if chosen is None:
        names = ", ".join(model_pair.name for model_pair in project.all_pairs)
        raise ConfigError(f"--pair {pair}: not a pair of this model, which has {names}")
    read = list(_read_database(path, project, pair) if _is_database(path) else _read_text(path, chosen.name))
    if not read:
        raise DataError(f"{path}: no corrections; correct some translations first")
    usable = [correction for correction in read if correction.pair]
    if not usable:
        names = ", ".join(sorted({correction.where.rpartition(": ")[2] for correction in read}))
        wanted = ", ".join(model_pair.name for model_pair in project.all_pairs)
        raise DataError(f"{path}: no corrections for {wanted}; they are for {names}")
    return _checked(
        path, [line for correction in usable for line in _lines(correction)], project, len(read) - len(usable)
    )


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return path.suffix in DATABASES or file.read(len(_BEGINNING)) == _BEGINNING
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the path") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def _read_text(path: Path, pair: str) -> Iterator[Correction]:
    """The lines of a file; those that hold no pair are corrections without text."""
    corpus = corpus_of(path) if path.name.lower().endswith(TEXTS) else None
    if corpus is None:
        raise ConfigError(f"{path}: corrections are the corrections.db of the service, or a .tsv or .jsonl file")
    if (reviewed := review_pairs(path) if corpus.single_file == "tsv" else None) is not None:
        for row in reviewed:
            yield Correction(row.source, row.target, pair, f"{path}:{row.line}")
        return
    for block in BlockReader(corpus):
        for index, (source, target) in enumerate(zip(block.source.lines, block.target.lines, strict=True)):
            where = f"{path}:{block.first + index}"
            yield Correction(source, target, pair, where, is_pair=index not in block.malformed)


def _matching(pairs: Sequence[PairConfig], source: str, target: str) -> str:
    """Which of the pairs two language tags are: the same tags, or else the same languages; "" for none."""
    for form in (str.casefold, primary_language):
        for pair in pairs:
            if (form(pair.source), form(pair.target)) == (form(source), form(target)):
                return pair.name
    return ""


def _read_database(path: Path, project: ProjectConfig, only: str) -> Iterator[Correction]:
    """The corrections in the order in which they were made. Raises DataError for a database of another kind."""
    pairs = [pair for pair in project.all_pairs if not only or pair == project.pair(only)]
    query = f"select {', '.join(COLUMNS)} from {TABLE} order by updated, id"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            known = {row[1] for row in database.execute(f"pragma table_info({TABLE})")}
            if not set(COLUMNS) <= known:
                raise DataError(
                    f"{path}: a database without corrections; give the corrections.db of the service, or a .tsv file"
                )
            for number, source, translation, correction, ours, theirs, _, _ in database.execute(query):
                pair = _matching(pairs, ours, theirs)
                where = f"{path}: correction {number}" if pair else f"{path}: {pair_name(ours, theirs)}"
                yield Correction(source, correction, pair, where, translation or "")
    except sqlite3.Error as error:
        raise DataError(
            f"{path}: cannot be read as a database: {error}; give the corrections.db of the service, or a .tsv file"
        ) from None


def _lines(correction: Correction) -> Iterator[Correction]:
    """A correction of a text of several lines as one for each line, if both sides have equally many."""
    sides = [text.replace("\r\n", "\n").strip("\n").split("\n") for text in (correction.source, correction.target)]
    if len(sides[0]) != len(sides[1]) or len(sides[0]) == 1:
        yield correction
        return
    for number, (source, target) in enumerate(zip(*sides, strict=True), 1):
        if source.strip() or target.strip():
            yield Correction(source, target, correction.pair, f"{correction.where}, line {number}")


def _checked(path: Path, corrections: Sequence[Correction], project: ProjectConfig, elsewhere: int) -> Corrections:
    # Lines that hold no pair have no source, and each of them is named.
    newest = {
        (correction.pair, normalise(correction.source) or f"\n{correction.where}"): correction
        for correction in corrections
    }
    usable, faults = list[Correction](), list[Fault]()
    for pair in project.all_pairs:
        pair_corrections = [correction for correction in newest.values() if correction.pair == pair.name]
        kinds = _faults(pair_corrections, pair)
        usable += [correction for correction, kind in zip(pair_corrections, kinds, strict=True) if not kind]
        faults += [Fault(correction, kind) for correction, kind in zip(pair_corrections, kinds, strict=True) if kind]
    if not usable:
        first = faults[0]
        raise DataError(
            f"{first.correction.where}: {kind_name(first.kind)}; {path} has no correction that can be learned from"
        )
    return Corrections(tuple(usable), tuple(faults), elsewhere)


def _faults(corrections: Sequence[Correction], pair: PairConfig) -> list[str]:
    """The first fault of each correction; "" for none."""
    context = Context(pair.source, pair.target, CleanConfig())
    block = PairBlock(
        [correction.source for correction in corrections],
        [correction.target for correction in corrections],
        malformed={row: MalformedLine("", "") for row, correction in enumerate(corrections) if not correction.is_pair},
    )
    rules = active_rules(context)
    faulty_lines: dict[str, Lines] = {kind: rules[kind](block, context) for kind in FAULTS}
    faulty_lines["language"] = in_other_language(languages_of(block, context), context)
    names = np.full(len(corrections), "", dtype=object)
    for kind in reversed(KINDS):
        names[faulty_lines[kind]] = kind
    return [str(name) for name in names]
