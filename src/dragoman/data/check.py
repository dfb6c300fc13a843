"""Corpora → what is wrong with them, in one pass, before hours are spent on training.

What cannot be trained on stops the pass (a DataError from `corpus`: unequal lines, not UTF-8, an empty side).
What can, but probably should not, is counted here with the first place it was seen.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.config import CorpusConfig, DataConfig
from dragoman.data.corpus import Pair, read_pairs
from dragoman.errors import DataError
from dragoman.storage import sha256
from dragoman.text.normalise import folded

# Sentences whose fingerprints are remembered, to find repeats: about 60 bytes each.
REMEMBERED = 2_000_000
# A pair is called lopsided when its lengths differ from the corpus's usual ratio by more than this.
LOPSIDED = 4.0
# Doubted only where a third of the lines show it: a stray blank before a full stop is no tokeniser's.
TOKENISED = "lines look tokenised"

_DIGITS = re.compile(r"\d+")
_ENTITY = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|[a-zA-Z]+);")
_MOJIBAKE = re.compile("\ufffd|Ã[\x80-\xbf]|â€|[ìíëê][\x80-\xbf\u2018-\u201d]")


@dataclass(slots=True)
class Finding:
    """One kind of doubt: how often, and where first."""

    count: int = 0
    first: str = ""

    def add(self, place: str) -> None:
        """Count one more."""
        self.count += 1
        self.first = self.first or place


@dataclass(slots=True)
class CorpusReport:
    """What one corpus holds and what is doubtful in it."""

    name: str
    files: tuple[str, ...]
    sha256: tuple[str, ...]
    pairs: int = 0
    source_characters: int = 0
    target_characters: int = 0
    longest: int = 0
    """Characters of the longest side."""
    findings: dict[str, Finding] = field(default_factory=dict)

    def found(self, kind: str, place: str) -> None:
        """Count a doubt of this kind."""
        self.findings.setdefault(kind, Finding()).add(place)


def check_data(data: DataConfig, progress: Callable[[int], None] = lambda pairs: None) -> list[CorpusReport]:
    """Read every corpus once. Raises DataError where training could not go on.

    Order of the reports: valid, test if there is one, then the training corpora. `progress` hears the pairs read
    so far, now and then.
    """
    held_out = [("valid", data.valid), *([("test", data.test)] if data.test else [])]
    training = [(f"train[{number}]", corpus) for number, corpus in enumerate(data.train)]
    guarded: dict[int, str] = {}
    seen: set[int] = set()
    reports, total = [], 0
    for name, corpus in [*held_out, *training]:
        report = _new_report(name, corpus)
        for pair in read_pairs(corpus):
            place = f"{corpus.source}:{pair.line}"
            _doubt(pair, report, place)
            if name in ("valid", "test"):
                guarded.setdefault(hash(folded(pair.source)), name)
            else:
                _doubt_repeats(pair, report, place, seen, guarded)
            total += 1
            if total % 10_000 == 0:
                progress(total)
        if not report.pairs:
            raise DataError(f"{corpus.source}: no lines; {name} needs text")
        if TOKENISED in report.findings and not _a_third(report.findings[TOKENISED].count, report.pairs):
            del report.findings[TOKENISED]
        reports.append(report)
    return reports


def looks_tokenised(texts: Sequence[str]) -> bool:
    """Whether the same doubt holds for these lines alone; BLEU, which cuts words itself, differs on such text."""
    return _a_third(sum(map(_stop_apart, texts)), len(texts))


def problems(reports: Iterable[CorpusReport]) -> Iterator[tuple[CorpusReport, str, Finding]]:
    """Every finding, most frequent first within its corpus."""
    for report in reports:
        for kind, finding in sorted(report.findings.items(), key=lambda item: -item[1].count):
            yield report, kind, finding


def _new_report(name: str, corpus: CorpusConfig) -> CorpusReport:
    return CorpusReport(name, tuple(map(str, corpus.files)), tuple(_hash(path) for path in corpus.files))


def _doubt(pair: Pair, report: CorpusReport, place: str) -> None:
    source, target = pair.source, pair.target
    report.pairs += 1
    report.source_characters += len(source)
    report.target_characters += len(target)
    report.longest = max(report.longest, len(source), len(target))
    usual = report.target_characters / report.source_characters
    ratio = len(target) / len(source) / usual
    if report.pairs > 100 and len(source) + len(target) > 20 and not 1 / LOPSIDED < ratio < LOPSIDED:
        report.found("lengths far apart", place)
    if source == target and len(source.split()) > 3:
        report.found("target copies the source", place)
    if Counter(_DIGITS.findall(source)) != Counter(_DIGITS.findall(target)):
        report.found("numbers differ", place)
    if any(html.unescape(entity) != entity for entity in _ENTITY.findall(source + target)):
        report.found("HTML entities", place)
    if _stop_apart(source) or _stop_apart(target):
        report.found(TOKENISED, place)
    if _MOJIBAKE.search(source + target):
        report.found("damaged characters", place)


def _stop_apart(text: str) -> bool:
    return text.endswith(" .")


def _a_third(count: int, of: int) -> bool:
    return 3 * count > of


def _doubt_repeats(pair: Pair, report: CorpusReport, place: str, seen: set[int], guarded: dict[int, str]) -> None:
    source = folded(pair.source)
    fingerprint = hash((source, folded(pair.target)))
    if fingerprint in seen:
        report.found("repeated pairs", place)
    elif len(seen) < REMEMBERED:
        seen.add(fingerprint)
    if leaked := guarded.get(hash(source)):
        report.found(f"source also in {leaked}", place)


def _hash(path: Path) -> str:
    try:
        return sha256(path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the path") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def summary(reports: Sequence[CorpusReport]) -> list[dict[str, object]]:
    """What a model's manifest keeps of its data: names of files, sizes and hashes, no text and no folders."""
    return [
        {
            "corpus": report.name,
            "files": [Path(name).name for name in report.files],
            "sha256": list(report.sha256),
            "pairs": report.pairs,
        }
        for report in reports
    ]
