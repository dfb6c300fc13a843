"""What the check of a corpus reports: sizes, findings with examples, histograms, and whether it can be trained on."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.errors import DataError

# Examples of each kind that a report keeps.
EXAMPLES = 5
# An example's text is cut to this many characters.
EXCERPT = 200
# Kinds with which training is impossible, with what is wrong on a line and what to do.
UNUSABLE = {
    "bad_bytes": "not UTF-8; convert the file to UTF-8, with iconv for example",
    "empty": "empty line; each line must translate {partner}: fill it or remove the pair",
}
# Shares from which a finding says that the whole corpus is wrong rather than some lines.
ALARMING = {
    "swapped": 0.3,
    "shuffled": 0.2,
    "shift": 0.05,
    "copies": 0.1,
    "script": 0.1,
    "language": 0.1,
    "leakage": 0.02,
}


# The share from which a kind that alarms says that hardly any pair is right.
WRONG_AS_A_WHOLE = 0.5


@dataclass(slots=True)
class FaultExample:
    """A pair that shows a finding."""

    location: str
    source: str
    target: str
    detail: str = ""
    """What a reader cannot see in the texts, such as by how many lines they are shifted."""


@dataclass(slots=True)
class CorpusFinding:
    """One kind of problem: its count, its share of the pairs, the location of its first occurrence, examples."""

    count: int = 0
    first: str = ""
    share: float = 0.0
    examples: list[FaultExample] = field(default_factory=list)


@dataclass(slots=True)
class CorpusReport:
    """Size and problems of a corpus."""

    name: str
    files: tuple[str, ...]
    sha256: tuple[str, ...] = ()
    pairs: int = 0
    source_characters: int = 0
    target_characters: int = 0
    longest: int = 0
    """Characters of the longest side."""
    lines: tuple[int, ...] = ()
    ratio: float = 1.0
    """Usual number of target characters per source character: the median of the training text."""
    findings: dict[str, CorpusFinding] = field(default_factory=dict)
    unseen: dict[str, float] = field(default_factory=dict)
    """Of held-out text the share of characters and words, on each side, that the training text lacks."""
    histograms: dict[str, list[int]] = field(default_factory=dict)
    """Pairs by length of source and of target (powers of √2 characters), and by ratio (powers of √2 of the usual)."""
    unequal: str = ""
    """What is known about files of unequal numbers of lines; empty if they are equal."""

    def add(self, kind: str, count: int, first: str, examples: Iterable[FaultExample] = ()) -> None:
        finding = self.findings.setdefault(kind, CorpusFinding())
        finding.count += count
        finding.first = finding.first or first
        finding.examples += examples

    @property
    def usable(self) -> bool:
        return not (self.unequal or not self.pairs or UNUSABLE.keys() & self.findings.keys())


def problems(reports: Iterable[CorpusReport]) -> Iterator[tuple[CorpusReport, str, CorpusFinding]]:
    """Every problem, in each corpus what stops training, then what is wrong as a whole, then the most frequent."""
    for report in reports:

        def order(item: tuple[str, CorpusFinding]) -> tuple[bool, int, int]:
            kind, finding = item
            alarm = list(ALARMING).index(kind) if is_alarming(kind, finding) else len(ALARMING)
            return kind not in UNUSABLE, alarm, -finding.count

        for kind, finding in sorted(report.findings.items(), key=order):
            yield report, kind, finding


def is_alarming(kind: str, finding: CorpusFinding) -> bool:
    """Whether the share of pairs with this problem means that something is wrong with the whole corpus."""
    return finding.share >= ALARMING.get(kind, 2.0)


def wrong_as_a_whole(reports: Iterable[CorpusReport]) -> tuple[CorpusReport, str, CorpusFinding] | None:
    """The first fault that most pairs of a corpus have, by which it is wrong as a whole; None if there is none."""
    faults = ((report, kind, finding) for report, kind, finding in problems(reports) if kind in ALARMING)
    return next((fault for fault in faults if fault[2].share >= WRONG_AS_A_WHOLE), None)


def require_usable(reports: Sequence[CorpusReport], others: str = "see `dragoman data check`") -> None:
    """Raises DataError if training is impossible, with the first reason, how many more there are and where."""
    reasons = [reason for report in reports for reason in _reasons(report)]
    if reasons:
        more = f" (and {len(reasons) - 1} more: {others})" if len(reasons) > 1 else ""
        raise DataError(reasons[0] + more)


def _reasons(report: CorpusReport) -> Iterator[str]:
    if report.unequal:
        yield report.unequal
    elif not report.pairs:
        yield f"{report.files[0]}: no lines; {report.name} needs text"
    for kind, remedy in UNUSABLE.items():
        if finding := report.findings.get(kind):
            count = f" ({finding.count:,} such lines; `dragoman data clean` removes them)" if finding.count > 1 else ""
            others = [Path(name).name for name in report.files if not finding.first.startswith(f"{name}:")]
            partner = f"the same line of {others[0]}" if others else "the other side"
            detail = finding.examples[0].detail if finding.examples else ""
            yield f"{finding.first}: {detail or remedy.format(partner=partner)}{count}"


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
