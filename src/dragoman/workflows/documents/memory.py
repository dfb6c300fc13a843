"""Translation memories as files: opened for a translator, added to, exported. TMX, TSV, PO, XLIFF → units.

What is added is what a person has confirmed: of PO and XLIFF files the finished translations, nothing fuzzy or new; of
the table that `dragoman translate` writes for review the rows with a translation.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from dragoman.config import CorpusConfig
from dragoman.config.sections.project import pair_name
from dragoman.data.corpus.corpus import read_pairs
from dragoman.data.corpus.tmx import tmx_languages
from dragoman.documents import DocumentOptions
from dragoman.documents.formats import Kind
from dragoman.documents.xml.text import writable
from dragoman.errors import ConfigError, DataError, check_type, checked_path
from dragoman.memory import Memory, MemoryMatch, MemoryUnit, contents, existing_memory
from dragoman.memory.keys import similarity
from dragoman.system.files import atomic_file, refuse_existing
from dragoman.text.words.language import primary_language
from dragoman.version import __version__
from dragoman.workflows.data.convert import BILINGUAL, bilingual_pairs
from dragoman.workflows.documents.review import review_pairs

DATABASE = ".db"
THRESHOLDS = range(50, 100)
_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*")


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """What was added to a memory, or exported from it: pairs by file, and how many of them are new."""

    path: Path
    files: dict[str, int]
    new: int = 0


class NoUnitsError(DataError):
    """A memory has nothing in the languages that it is asked for."""


def open_memory(path: str | PathLike[str], source: str, target: str) -> Memory:
    """The memory in a `.db`, or the units of another file in a temporary one, for text from `source` into `target`.

    Raises ConfigError for a missing file, DataError for one that cannot be read or has nothing in these languages.
    """
    path = existing_memory(path)
    check_type("source", source, str, "a language, such as en")
    check_type("target", target, str, "a language, such as ko")
    if path.name.endswith(DATABASE):
        memory = Memory.open(path, source, target)
        known = ", ".join(f"{pair.source} → {pair.target}" for pair in contents(path))
    else:
        memory = Memory.temporary(path, source, target)
        memory.add(_units(path, source, target))
        known = "" if len(memory) else _languages(path)
    if not len(memory):
        memory.close()
        remedy = f"it has {known}" if known else "name them with --from and --to, or give another file"
        raise NoUnitsError(f"{path}: nothing from {source} into {target}; {remedy}")
    return memory


def candidates_of(memory: Memory, threshold: int, kinds: Iterable[Kind]) -> Callable[[str], Sequence[MemoryMatch]]:
    """A function from a text to the similar sources that a person may begin with; none for what is translated from it.

    `kinds` are the formats for which it is. Raises ConfigError for a threshold that is none, ResourceError if one of
    the formats names similar sources and rapidfuzz is not installed.
    """
    if not isinstance(threshold, int) or threshold not in THRESHOLDS:
        raise ConfigError(
            f"memory threshold (--memory-threshold) {threshold!r}: give percent, a whole number from "
            f"{THRESHOLDS.start} to {THRESHOLDS.stop - 1}"
        )
    if any(kind.name in BILINGUAL for kind in kinds):
        similarity([], [])  # what is missing is reported before the engine has worked
    return lambda text: [] if memory.find(text) else memory.similar(text, threshold)


def add_to_memory(
    memory: str | PathLike[str],
    files: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    source: str,
    target: str,
) -> MemoryChange:
    """Add what files hold to `memory` (a `.db`, made if there is none): all of it or, after an error, nothing.

    `.tmx`, `.tsv`, `.jsonl`, `.po`, `.xliff`, and the corrected `.review.tsv`. Raises ConfigError and DataError.
    """
    path = _database(memory)
    _check_languages(source, target)
    named = [checked_path("files", file) for file in ([files] if isinstance(files, str | PathLike) else files)]
    if not named:
        raise ConfigError("files: an empty list; give files of translations, such as .tmx")
    counts = dict[str, int]()

    def units() -> Iterator[MemoryUnit]:
        for file in named:
            counts[str(file)] = 0
            for unit in _units(file, source, target):
                counts[str(file)] += 1
                yield unit
        if not any(counts.values()):
            known = _languages(named[0])
            remedy = f"it has {known}" if known else "give a file with translations"
            raise DataError(f"{named[0]}: nothing from {source} into {target}; {remedy}")

    if not path.exists():  # what cannot be read makes no memory; one that exists may be another program's, and stays
        deque(units(), maxlen=0)
    with closing(Memory.open(path, source, target, create=True)) as made:
        return MemoryChange(path, counts, made.add(units()))


def _check_languages(source: str, target: str) -> None:
    """Raise ConfigError unless the two are tags of different languages."""
    for option, tag in (("--from", source), ("--to", target)):
        check_type(option, tag, str, "a language, such as en")
        if not _TAG.fullmatch(tag):
            raise ConfigError(f"language ({option}) {tag!r}: not a BCP-47 tag; write one such as en or ko")
    if primary_language(source) == primary_language(target):
        raise ConfigError(f"languages (--from, --to): both are {source}; a memory has two")


def export_memory(
    memory: str | PathLike[str],
    output: str | PathLike[str],
    *,
    source: str | None = None,
    target: str | None = None,
    force: bool = False,
) -> MemoryChange:
    """Write the units of one pair of languages, which may be left out where there is one only, as `.tmx` or `.tsv`.

    Raises ConfigError and DataError.
    """
    path, output = _database(memory), checked_path("output", output)
    if output.suffix not in (".tmx", ".tsv"):
        raise ConfigError(f"{output}: units are written as .tmx or .tsv; give it that name")
    if not force:
        refuse_existing([output])
    if source is None or target is None:
        known = [(pair.source, pair.target) for pair in contents(path)]
        wanted = [tag if tag is None else primary_language(tag) for tag in (source, target)]
        pairs = [pair for pair in known if all(tag in (None, of) for tag, of in zip(wanted, pair, strict=True))]
        if len(pairs) != 1:
            names = ", ".join(pair_name(*pair) for pair in known) or "nothing"
            raise ConfigError(f"{path}: has {names}; choose a pair with --from and --to")
        source, target = pairs[0]
    with closing(open_memory(path, source, target)) as opened, atomic_file(output) as file:
        file.writelines(line.encode() for line in memory_lines(opened, output.suffix))
        return MemoryChange(output, {str(path): len(opened)})


def _languages(path: Path) -> str:
    """The languages that a TMX file names; nothing of another file, which names none."""
    return ", ".join(tmx_languages(path)) if ".tmx" in path.name.lower() else ""


def _database(memory: str | PathLike[str]) -> Path:
    path = checked_path("memory", memory)
    if not path.name.endswith(DATABASE):
        raise ConfigError(f"{path}: a memory that is kept is a .db; `--memory` reads other files directly")
    return path


def _units(path: Path, source: str, target: str) -> Iterator[MemoryUnit]:
    name = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    if name.endswith((".tsv", ".jsonl")):
        reviewed = review_pairs(path) if name.endswith(".tsv") else None
        read = read_pairs(CorpusConfig(source=path)) if reviewed is None else reviewed
        pairs: Iterator[tuple[str, str]] = ((pair.source, pair.target) for pair in read)
    elif name.endswith((".tmx", ".po", ".xlf", "xliff")):
        pairs = bilingual_pairs(path, DocumentOptions(source, target))
    else:
        raise ConfigError(f"{path}: not a memory; give a .db, .tmx, .tsv, .jsonl, .po or .xliff file")
    return (MemoryUnit(text, other, path.name) for text, other in pairs)


def memory_lines(memory: Memory, suffix: str) -> Iterator[str]:
    """The units of a memory as lines of a file `.tmx` or `.tsv`, newlines included."""
    if suffix == ".tmx":
        return _tmx(memory)
    return (f"{' '.join(unit.source.split())}\t{' '.join(unit.target.split())}\n" for unit in memory.units())


def _tmx(memory: Memory) -> Iterator[str]:
    """TMX 1.4, a line for each variant."""
    source, target = memory.pair
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        f'<header creationtool="dragoman" creationtoolversion="{__version__}" segtype="sentence" o-tmf="dragoman" '
        f'adminlang="en" srclang={quoteattr(source)} datatype="plaintext" creationdate="{now}"/>\n<body>\n'
    )
    for unit in memory.units():
        yield "<tu>\n"
        for language, text in ((source, unit.source), (target, unit.target)):
            yield f"<tuv xml:lang={quoteattr(language)}><seg>{escape(writable(text))}</seg></tuv>\n"
        yield "</tu>\n"
    yield "</body>\n</tmx>\n"
