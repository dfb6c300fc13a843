"""Corpora → reports of their problems, in one pass, before hours of training.

Text that cannot be trained on raises a DataError (unequal numbers of lines, not UTF-8, an empty side). Text that
probably should not be trained on is counted, with the location of its first occurrence.
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

# Number of pairs whose hashes are kept in memory to find repeats: about 60 bytes each.
REMEMBERED = 2_000_000
# A pair is reported if the ratio of its lengths differs from that of the corpus by more than this factor.
LOPSIDED = 4.0
# Reported only if more than a third of the lines show it: a few spaces before full stops are typing errors.
TOKENISED = "lines look tokenised"

_DIGITS = re.compile(r"\d+")
_ENTITY = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|[a-zA-Z]+);")
_MOJIBAKE = re.compile("\ufffd|Ã[\x80-\xbf]|â€|[ìíëê][\x80-\xbf\u2018-\u201d]")


@dataclass(slots=True)
class Finding:
    """One kind of problem: its count and the location of its first occurrence."""

    count: int = 0
    first: str = ""

    def add(self, location: str) -> None:
        """Count an occurrence."""
        self.count += 1
        self.first = self.first or location


@dataclass(slots=True)
class CorpusReport:
    """Size and problems of a corpus."""

    name: str
    files: tuple[str, ...]
    sha256: tuple[str, ...]
    pairs: int = 0
    source_characters: int = 0
    target_characters: int = 0
    longest: int = 0
    """Characters of the longest side."""
    findings: dict[str, Finding] = field(default_factory=dict)

    def found(self, kind: str, location: str) -> None:
        """Count a problem of this kind."""
        self.findings.setdefault(kind, Finding()).add(location)


def check_data(data: DataConfig, progress: Callable[[int], None] = lambda pairs: None) -> list[CorpusReport]:
    """Read every corpus once. Raises DataError if training is impossible.

    Order of the reports: valid, test if there is one, then the training corpora. `progress` is called now and then
    with the number of pairs read so far.
    """
    held_out = [("valid", data.valid), *([("test", data.test)] if data.test else [])]
    training = [(f"train[{number}]", corpus) for number, corpus in enumerate(data.train)]
    held_out_sources: dict[int, str] = {}
    seen: set[int] = set()
    reports, total = [], 0
    for name, corpus in [*held_out, *training]:
        report = _new_report(name, corpus)
        for pair in read_pairs(corpus):
            location = f"{corpus.source}:{pair.line}"
            _check_pair(pair, report, location)
            if name in ("valid", "test"):
                held_out_sources.setdefault(hash(folded(pair.source)), name)
            else:
                _check_repeats(pair, report, location, seen, held_out_sources)
            total += 1
            if total % 10_000 == 0:
                progress(total)
        if not report.pairs:
            raise DataError(f"{corpus.source}: no lines; {name} needs text")
        if TOKENISED in report.findings and not _exceeds_third(report.findings[TOKENISED].count, report.pairs):
            del report.findings[TOKENISED]
        reports.append(report)
    return reports


def looks_tokenised(texts: Sequence[str]) -> bool:
    """Whether these lines look pre-tokenised; their BLEU is not comparable, because BLEU tokenises itself."""
    return _exceeds_third(sum(map(_stop_apart, texts)), len(texts))


def problems(reports: Iterable[CorpusReport]) -> Iterator[tuple[CorpusReport, str, Finding]]:
    """Every problem, in each corpus the most frequent first."""
    for report in reports:
        for kind, finding in sorted(report.findings.items(), key=lambda item: -item[1].count):
            yield report, kind, finding


def _new_report(name: str, corpus: CorpusConfig) -> CorpusReport:
    return CorpusReport(name, tuple(map(str, corpus.files)), tuple(_hash(path) for path in corpus.files))


def _check_pair(pair: Pair, report: CorpusReport, location: str) -> None:
    source, target = pair.source, pair.target
    report.pairs += 1
    report.source_characters += len(source)
    report.target_characters += len(target)
    report.longest = max(report.longest, len(source), len(target))
    usual = report.target_characters / report.source_characters
    ratio = len(target) / len(source) / usual
    if report.pairs > 100 and len(source) + len(target) > 20 and not 1 / LOPSIDED < ratio < LOPSIDED:
        report.found("lengths far apart", location)
    if source == target and len(source.split()) > 3:
        report.found("target copies the source", location)
    if Counter(_DIGITS.findall(source)) != Counter(_DIGITS.findall(target)):
        report.found("numbers differ", location)
    if any(html.unescape(entity) != entity for entity in _ENTITY.findall(source + target)):
        report.found("HTML entities", location)
    if _stop_apart(source) or _stop_apart(target):
        report.found(TOKENISED, location)
    if _MOJIBAKE.search(source + target):
        report.found("damaged characters", location)


def _stop_apart(text: str) -> bool:
    return text.endswith(" .")


def _exceeds_third(count: int, of: int) -> bool:
    return 3 * count > of


def _check_repeats(
    pair: Pair, report: CorpusReport, location: str, seen: set[int], held_out_sources: dict[int, str]
) -> None:
    source = folded(pair.source)
    fingerprint = hash((source, folded(pair.target)))
    if fingerprint in seen:
        report.found("repeated pairs", location)
    elif len(seen) < REMEMBERED:
        seen.add(fingerprint)
    if leaked := held_out_sources.get(hash(source)):
        report.found(f"source also in {leaked}", location)


def _hash(path: Path) -> str:
    try:
        return sha256(path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the path") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def summary(reports: Sequence[CorpusReport]) -> list[dict[str, object]]:
    """The data of a model for `bundle.json`: file names, sizes and hashes, without text and folders."""
    return [
        {
            "corpus": report.name,
            "files": [Path(name).name for name in report.files],
            "sha256": list(report.sha256),
            "pairs": report.pairs,
        }
        for report in reports
    ]
