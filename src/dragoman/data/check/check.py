"""Corpora → reports of their problems, in one pass over any size, before hours of training.

Nothing stops the check but a file that cannot be read: empty sides, bytes that are not UTF-8 and unequal numbers of
lines are counted as well, and `require_usable` refuses them. The rules for one pair are those of
`dragoman.data.corpus.rules`; here is what needs the corpus: repeats, leakage, alignment, swapped sides, vocabulary. Of
the held-out text alone the characters and words are kept, so that memory does not grow with the training text.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dragoman.config import CorpusConfig, DataConfig
from dragoman.data.check.alignment import Alignment, Misaligned
from dragoman.data.corpus.block_reader import BlockReader, Reading, bad_byte
from dragoman.data.corpus.corpus import describe_unequal
from dragoman.data.corpus.hashing import Hashes, letter_hashes, pair_hashes, text_hashes
from dragoman.data.corpus.near_duplicates import NearIndex, signatures
from dragoman.data.corpus.pair_block import SPACE, Lines, PairBlock, TextSide
from dragoman.data.corpus.report import EXAMPLES, EXCERPT, CorpusFinding, CorpusReport, FaultExample
from dragoman.data.corpus.rules import Context, active_rules, with_usual_ratio, without_text
from dragoman.data.corpus.seen_hashes import SeenHashes
from dragoman.data.corpus.side_languages import are_swapped, in_other_language, languages_of
from dragoman.errors import counted
from dragoman.text.words.normalise import is_text

# Reported only if more than a third of the lines show it: a few spaces before full stops are typing errors.
TOKENISED = "tokenised"
HELD_OUT = ("valid", "test", "general_test")
ReadProgress = Callable[[int, int | None], None]
"""Called now and then with the pairs read so far, and about how many there are; None if that is not known."""
_EDGES = 2.0 ** np.arange(0, 15)
_RATIO_EDGES = 2.0 ** np.arange(-3.25, 3.5, 0.5)


def check_data(
    data: DataConfig,
    source: str = "und",
    target: str = "und",
    progress: ReadProgress = lambda pairs, expected: None,
    examples: int = EXAMPLES,
    languages: Mapping[str, tuple[str, str]] | None = None,
) -> list[CorpusReport]:
    """Read every corpus once and report on it, with up to `examples` pairs for each kind of fault.

    `source` and `target` are the languages (BCP-47), `languages` those of single corpora by their names.

    Order of the reports: valid, test and general_test if there are any, replay, then the training corpora. Raises
    DataError if a file cannot be read.
    """
    contexts = {
        name: Context(*(languages or {}).get(name, (source, target)), data.clean) for name in data.named_corpora
    }
    check = _Check(data, contexts, progress, examples)
    with closing(check.seen), closing(check.seen_letters):
        return check.run()


def looks_tokenised(texts: Sequence[str]) -> bool:
    """Whether these lines look pre-tokenised; their BLEU is not comparable, because BLEU tokenises itself."""
    return 3 * sum(text.endswith(" .") for text in texts) > len(texts)


@dataclass(slots=True)
class _HeldOutReport:
    """The sources of a held-out corpus, and which of them training text has."""

    report: CorpusReport
    texts: Hashes = field(default_factory=lambda: np.zeros(0, np.uint64))
    near: NearIndex = field(default_factory=NearIndex)
    examples: dict[int, FaultExample] = field(default_factory=dict)
    leaked: set[int] = field(default_factory=set)
    """Hashes of the sources that training text has."""


class _Check:
    """What the corpora of a run have in common: held-out sources, training pairs so far, the usual ratio."""

    def __init__(self, data: DataConfig, contexts: dict[str, Context], progress: ReadProgress, examples: int) -> None:
        self.data, self.contexts, self.progress, self.examples = data, contexts, progress, examples
        self.context = contexts["train[0]"]
        self.seen, self.seen_letters = SeenHashes(), SeenHashes()
        self.held_out: list[_HeldOutReport] = []
        self.coverage = VocabularyCoverage()
        self.pairs = 0
        self.reading = Reading([*data.named_corpora.values()])

    def run(self) -> list[CorpusReport]:
        training = {name: corpus for name, corpus in self.data.named_corpora.items() if not name.startswith(HELD_OUT)}
        readers = {name: BlockReader(corpus, self.reading) for name, corpus in training.items()}
        blocks = {name: iter(reader) for name, reader in readers.items()}
        for name in readers:
            blocks[name] = self._measure_ratio(name, blocks[name])
        for name, corpus in self.data.named_corpora.items():
            if name not in readers:
                reader = BlockReader(corpus, self.reading)
                self._corpus(name, reader, iter(reader))
        trained = [self._corpus(name, reader, blocks[name]) for name, reader in readers.items()]
        for part in self.held_out:
            part.report.unseen = self.coverage.unseen(part.report.name)
            _report_leakage(part)
        return [*(part.report for part in self.held_out), *trained]

    def _measure_ratio(self, name: str, blocks: Iterator[PairBlock]) -> Iterator[PairBlock]:
        """The usual ratio of lengths, from the first training corpus of a pair of languages, for all corpora of it."""
        context = self.contexts[name]
        pair = context.source, context.target
        same = [key for key, other in self.contexts.items() if (other.source, other.target) == pair]
        read = [other for other in same if not other.startswith(HELD_OUT)]
        if min(read, key=lambda other: not other.startswith("train")) != name:
            return blocks
        measured, blocks = with_usual_ratio(context, blocks)
        self.contexts |= dict.fromkeys(same, measured)
        return blocks

    def _corpus(self, name: str, reader: BlockReader, blocks: Iterable[PairBlock]) -> CorpusReport:
        self.context = self.contexts[name]
        report = CorpusReport(name, tuple(map(str, reader.corpus.files)), ratio=self.context.ratio)
        if name.startswith(HELD_OUT):
            self.held_out.append(_HeldOutReport(report))
        alignment = Alignment()
        for block in blocks:
            _measure(report, block)
            for kind, lines in self._faults(name, block).items():
                _add(report, kind, reader.corpus, block, lines, self.examples)
            alignment.add(block)
            self.pairs += len(block)
            self.progress(self.pairs, self.reading.expected(self.pairs))
        report.sha256, report.lines = reader.sha256, tuple(reader.lines)
        report.unequal = describe_unequal(reader.corpus) if reader.surplus else ""
        for misaligned in alignment.finish():
            _report_misaligned(report, reader.corpus, misaligned)
        for finding in report.findings.values():
            finding.share = finding.count / report.pairs
        if TOKENISED in report.findings and 3 * report.findings[TOKENISED].count <= report.pairs:
            del report.findings[TOKENISED]
        return report

    def _faults(self, name: str, block: PairBlock) -> dict[str, Lines]:
        context, none = self.context, np.zeros(len(block), bool)
        faults = {kind: rule(block, context) for kind, rule in active_rules(context).items()}
        languages = languages_of(block, context)
        faults["language"] = in_other_language(languages, context) & ~faults.get("script", none)
        sources = text_hashes(block.source.lines)
        if name.startswith(HELD_OUT):
            self._hold_out(block, sources)
        else:
            usable = ~(faults.get("empty", none) | faults.get("bad_bytes", none))
            faults |= self._leakage(block, sources, usable)
            faults |= self._repeats(block, sources, usable)
            self.coverage.add_training(block)
        faults["swapped"] = are_swapped(block, languages, context)
        texts = zip(block.source.lines, block.target.lines, strict=True)
        ends = (ours.endswith(" .") or theirs.endswith(" .") for ours, theirs in texts)
        faults[TOKENISED] = np.fromiter(ends, bool, len(block))
        return faults

    def _hold_out(self, block: PairBlock, sources: Hashes) -> None:
        part = self.held_out[-1]
        part.texts = np.union1d(part.texts, sources)
        part.near.add(signatures(block.source.lines), np.arange(block.first, block.first + len(block)))
        for index, number in enumerate(sources.tolist()):
            location = f"{part.report.files[0]}:{block.first + index}"
            part.examples.setdefault(number, _example(location, block, index))
        self.coverage.add_held_out(part.report.name, block)

    def _repeats(self, block: PairBlock, sources: Hashes, usable: Lines) -> dict[str, Lines]:
        if not self.context.clean.duplicate:
            return {}
        exact = self.seen.add(pair_hashes(sources, text_hashes(block.target.lines))) & usable
        letters = pair_hashes(letter_hashes(block.source.lines), letter_hashes(block.target.lines))
        near = self.seen_letters.add(letters) & usable
        return {"duplicate": exact, "near_duplicate": near & ~exact}

    def _leakage(self, block: PairBlock, sources: Hashes, usable: Lines) -> dict[str, Lines]:
        if not self.context.clean.leakage:
            return {}
        signed = signatures(block.source.lines)
        exact, near = np.zeros(len(block), bool), np.zeros(len(block), bool)
        for part in self.held_out:
            hit = np.isin(sources, part.texts) & usable
            part.leaked.update(sources[hit].tolist())
            exact |= hit
            near |= (part.near.find(signed) >= 0) & usable
        return {"leakage": exact, "near_leakage": near & ~exact}


def _measure(report: CorpusReport, block: PairBlock) -> None:
    source, target = block.source.lengths, block.target.lengths
    report.pairs += len(block)
    report.source_characters += int(source.sum())
    report.target_characters += int(target.sum())
    report.longest = max(report.longest, int(source.max(initial=0)), int(target.max(initial=0)))
    ratios = target[source > 0] / source[source > 0] / report.ratio
    for kind, edges, values in ("source", _EDGES, source), ("target", _EDGES, target), ("ratio", _RATIO_EDGES, ratios):
        counts = np.bincount(np.searchsorted(edges, values, "right"), minlength=len(edges) + 1).tolist()
        known = report.histograms.get(kind, [0] * len(counts))
        report.histograms[kind] = [a + b for a, b in zip(known, counts, strict=True)]


def _add(report: CorpusReport, kind: str, corpus: CorpusConfig, block: PairBlock, lines: Lines, most: int) -> None:
    """Count the chosen lines of a block as faults of a kind."""
    chosen = np.flatnonzero(lines)
    if not len(chosen):
        return
    finding = report.findings.setdefault(kind, CorpusFinding())
    finding.count += len(chosen)
    for index in chosen[: most - len(finding.examples)].tolist():
        side = corpus.files[-1] if _is_of_target(kind, block, index) else corpus.files[0]
        finding.examples.append(_example(f"{side}:{block.first + index}", block, index))
        finding.first = finding.first or finding.examples[0].location


def _is_of_target(kind: str, block: PairBlock, index: int) -> bool:
    """Whether an empty line or bad bytes are on the side of the target."""
    if kind == "empty":
        return not without_text(block.source)[index]
    return kind == "bad_bytes" and index not in block.malformed and is_text(block.source.lines[index])


def _example(location: str, block: PairBlock, index: int) -> FaultExample:
    source, target = (_excerpt(side.lines[index]) for side in (block.source, block.target))
    if line := block.malformed.get(index):
        return FaultExample(location, source, target, line.problem)
    detail = bad_byte(block.source.lines[index]) or bad_byte(block.target.lines[index])
    return FaultExample(location, source, target, detail)


def _excerpt(text: str) -> str:
    text = text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"
    return text.encode("utf-8", "backslashreplace").decode()


def _report_misaligned(report: CorpusReport, corpus: CorpusConfig, lines: Misaligned) -> None:
    location = f"{corpus.files[0]}:{lines.first}–{lines.last}"
    count = lines.last - lines.first + 1
    if lines.shift is None:
        kind, detail = "shuffled", "the targets are not translations of these lines, nor are those near them"
    else:
        by = f"{counted(abs(lines.shift), 'line')} {'later' if lines.shift > 0 else 'earlier'}"
        kind, detail = "shift", f"the translations are {by} in {corpus.files[-1].name}"
    report.add(kind, count, location, [FaultExample(location, "", "", detail)])


def _report_leakage(part: _HeldOutReport) -> None:
    """What of a held-out corpus is in the training text: the share that makes its scores worthless."""
    if part.leaked:
        examples = [part.examples[number] for number in part.examples if number in part.leaked]
        part.report.add("leakage", len(part.leaked), examples[0].location, examples[:EXAMPLES])
        part.report.findings["leakage"].share = len(part.leaked) / len(part.texts)


# --- which characters and words of held-out text the training text lacks --------------------------------------------


_UNSPACED = frozenset({"Hani", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr", "Tibt"})
SIDES = ("source", "target")


@dataclass(slots=True)
class _Seen:
    """The characters and words of training text on one side."""

    characters: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0x110000, bool))
    wanted: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    occurs: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))


class VocabularyCoverage:
    """Collects held-out text first, training text then."""

    def __init__(self) -> None:
        self._held_out: dict[str, list[tuple[list[NDArray[np.uint32]], list[NDArray[np.uint64]]]]] = {}
        self._seen = (_Seen(), _Seen())

    def add_held_out(self, name: str, block: PairBlock) -> None:
        """Keep the characters and words of a block of a held-out corpus."""
        sides = self._held_out.setdefault(name, [([], []) for _ in SIDES])
        for side, (characters, words) in zip((block.source, block.target), sides, strict=True):
            characters.append(_characters(side))
            words.append(_words(side))

    def add_training(self, block: PairBlock) -> None:
        """Note which of them occur in a block of training text."""
        for number, side in enumerate((block.source, block.target)):
            seen = self._seen[number]
            seen.characters[side.codes] = True
            if not len(seen.wanted):
                wanted = [words for held_out in self._held_out.values() for words in held_out[number][1]]
                seen.wanted = np.unique(np.concatenate([np.zeros(1, np.uint64), *wanted]))
                seen.occurs = np.zeros(len(seen.wanted), bool)
            words = _words(side)
            at = np.minimum(np.searchsorted(seen.wanted, words), len(seen.wanted) - 1)
            seen.occurs[at[seen.wanted[at] == words]] = True

    def unseen(self, name: str) -> dict[str, float]:
        """The share of characters and words of a held-out corpus that no training text has, for each side."""
        shares = {}
        for side, seen, (characters, words) in zip(SIDES, self._seen, self._held_out.get(name, ()), strict=False):
            letters, tokens = np.concatenate(characters), np.concatenate(words)
            if len(letters):
                shares[f"{side}_characters"] = round(float(1 - seen.characters[letters].mean()), 6)
            if len(tokens) and len(seen.wanted):
                shares[f"{side}_words"] = round(float(1 - seen.occurs[np.searchsorted(seen.wanted, tokens)].mean()), 6)
        return shares


def _characters(side: TextSide) -> NDArray[np.uint32]:
    classes = side.classes
    return side.codes[(classes != 0) & (classes & SPACE == 0)]


def _words(side: TextSide) -> NDArray[np.uint64]:
    unspaced = int(side.letters_in(_UNSPACED).sum())
    return np.zeros(0, np.uint64) if 4 * unspaced > max(int(side.letters.sum()), 1) else side.words[0]
