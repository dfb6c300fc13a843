"""Cleaning a corpus: files of the same names without the pairs that break a rule, and a file of those pairs."""

from array import array
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import compress
from os import PathLike
from pathlib import Path

from dragoman.config import CorpusConfig, PairConfig, RunConfig
from dragoman.config.file import load_config
from dragoman.data.corpus.block_reader import BlockReader, Reading, unreadable_at
from dragoman.data.corpus.corpus import describe_unequal
from dragoman.data.corpus.output import (
    TextFiles,
    new_text_files,
    real_path,
    refuse_pipes,
    refuse_same,
    reject_line,
)
from dragoman.data.corpus.rules import Context, with_usual_ratio
from dragoman.data.make.clean import CleanedBlock, Cleaner, HeldOutSources, Judge, held_out, judged
from dragoman.data.make.on_ray import judged_by_ray, refuse_without_ray
from dragoman.errors import ConfigError, DataError, check_count, check_type, checked_path
from dragoman.installed.opening import ModelPath
from dragoman.system.files import refuse_existing
from dragoman.workflows.data.agreement import DISAGREEMENT, ModelAgreement, percentiles
from dragoman.workflows.data.check import REJECTS, corpus_of
from dragoman.workflows.listener import Listener, Listeners, Progress

# Rules that a file breaks whose text, line ends or columns are not those of a corpus.
UNREADABLE = frozenset(("bad_bytes", "control"))


@dataclass(frozen=True, slots=True)
class CleanResult:
    """What a cleaning kept and removed."""

    pairs: int
    pairs_kept: int
    removed: dict[str, int]
    """Pairs by the rule that removed them, the most frequent first; a pair may break several."""
    files: tuple[Path, ...]
    """The cleaned corpus: one file or two."""
    rejects: Path
    """JSON Lines of the removed pairs: line, reasons, source, target."""
    ratio: float
    """The usual number of target characters per source character."""
    disagreement: dict[str, float]
    """Percentiles of the scores of the pairs that models were asked about (`agreement`); empty without models."""
    unreadable: str
    """Where and why the first pair that is no two lines of text cannot be read; "" if there is none."""


def clean_data(
    config: RunConfig | str | PathLike[str],
    source: str | PathLike[str],
    target: str | PathLike[str] | None = None,
    *,
    output: str | PathLike[str],
    languages: str = "",
    workers: int = 1,
    force: bool = False,
    ray: bool = False,
    models: Sequence[ModelPath] = (),
    disagreement: float = DISAGREEMENT,
    listeners: Iterable[Listener] = (),
) -> CleanResult:
    """Write the pairs that break no rule of [data.clean] to files of the same names in the folder `output`.

    `source` and `target` are two files of lines, or `source` alone is a .tsv or .jsonl file. `languages` is which of
    `project.pairs` they are, such as `en-ko`; the first one if it is empty. Pairs keep their order; the removed ones go
    to `rejects.jsonl`. The result does not depend on `workers`, the number of processes, nor on
    `ray`, with which the rules run under Ray Data. With `models`, one of each direction, a pair that breaks no rule is
    removed if their score of it (`agreement`, nats per token) is above `disagreement`. Raises ConfigError if a file
    exists and not `force`, ModelError, or DataError.
    """
    config = config if isinstance(config, RunConfig) else load_config(config)
    corpus = corpus_of(source, target)
    folder = checked_path("output", output)
    check_count("workers", workers)
    pair = _pair_of(config, languages)
    agreement = ModelAgreement(models, pair.source, pair.target) if models else None
    scores, unreadable = array("d"), ""
    refuse_pipes(corpus.files)
    if ray:
        refuse_without_ray(corpus)
    files = _output_files(corpus, folder, force)
    listener = Listeners(listeners)
    reading = Reading([corpus])
    reader = BlockReader(corpus, reading)
    context = Context(pair.source, pair.target, config.data.clean)
    context, blocks = with_usual_ratio(context, iter(reader))
    judge = Judge(context, _held_out(config, corpus, listener))
    with ExitStack() as stack:
        cleaner = Cleaner()
        stack.callback(cleaner.close)
        out = stack.enter_context(new_text_files([*files, folder / REJECTS]))
        for block, judgement in judged_by_ray(corpus, judge) if ray else judged(blocks, judge, workers):
            cleaned = cleaner.decide(block, judgement)
            if agreement:
                cleaned = cleaner.without_disagreement(cleaned, agreement.scores, disagreement)
                scores.extend(cleaned.scores.values())
            unreadable = unreadable or _first_unreadable(cleaned, corpus)
            _write(cleaned, out, corpus)
            listener.on_progress(Progress("cleaning", cleaner.pairs, reading.expected(cleaner.pairs), "pairs"))
        if reader.surplus:
            raise DataError(describe_unequal(corpus))
        if not cleaner.pairs:
            raise DataError(f"{corpus.source}: no lines; there is nothing to clean")
    removed, ratio = dict(cleaner.removed.most_common()), round(judge.context.ratio, 4)
    rejects, disagreements = folder / REJECTS, percentiles(scores)
    return CleanResult(cleaner.pairs, cleaner.remaining, removed, files, rejects, ratio, disagreements, unreadable)


def _pair_of(config: RunConfig, languages: str) -> PairConfig:
    """The pair of languages of this name, or the first one for an empty name. Raises ConfigError for another."""
    check_type("languages", languages, str, "a pair of languages, such as en-ko")
    pair = config.project.pair(languages)
    if pair is None:
        names = ", ".join(pair.name for pair in config.project.all_pairs)
        raise ConfigError(f"languages (--languages) {languages!r}: not in project.pairs, which are {names}; choose one")
    return pair


def _output_files(corpus: CorpusConfig, folder: Path, force: bool) -> tuple[Path, ...]:
    """The files to write, which are none of the files to read."""
    files = tuple(folder / path.name for path in corpus.files)
    written = [*files, folder / REJECTS]
    for path in corpus.files:
        if real_path(path) in map(real_path, written):
            raise ConfigError(f"{path}: would be replaced by its cleaned copy; choose another folder with -o")
    refuse_same(written, "give the files of the two sides different names")
    if not force:
        refuse_existing(written, "give --force to replace it, or another folder with -o")
    return files


def _held_out(config: RunConfig, corpus: CorpusConfig, listener: Listeners) -> HeldOutSources | None:
    """The validation and test text, if it exists and is not what is cleaned."""
    if not config.data.clean.leakage:
        return None
    cleaned = set(map(real_path, corpus.files))
    compared = []
    for part in (*config.data.valid_corpora, *config.data.test_corpora):
        if cleaned & set(map(real_path, part.files)):
            continue
        if all(path.exists() for path in part.files):
            compared.append(part)
        else:
            listener.notice(f"{part.source}: does not exist yet, so leakage of its sentences is not looked for")
    if not compared:
        return None
    return held_out(block for part in compared for block in BlockReader(part))


def _first_unreadable(cleaned: CleanedBlock, corpus: CorpusConfig) -> str:
    rows = (row for row, reasons in cleaned.reasons.items() if not UNREADABLE.isdisjoint(reasons))
    return next(filter(None, (unreadable_at(cleaned.block, row, corpus) for row in rows)), "")


def _write(cleaned: CleanedBlock, out: TextFiles, corpus: CorpusConfig) -> None:
    """Append the pairs of a block that stay to the files, and the rest to the rejects."""
    block, stays = cleaned.block, cleaned.stays.tolist()
    source, target = (compress(side.lines, stays) for side in (block.source, block.target))
    out.write_pairs(corpus, zip(source, target, strict=True))
    lines = (reject_line(block, row, why, cleaned.scores.get(row)) for row, why in cleaned.reasons.items())
    out.write(len(corpus.files), lines)
