"""Cleaning a corpus: files of the same names without the pairs that break a rule, and a file of those pairs."""

from array import array
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import compress
from os import PathLike
from pathlib import Path

from dragoman.config import CorpusConfig, RunConfig
from dragoman.config.file import load_config
from dragoman.data.corpus.block_reader import BlockReader, Reading
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
from dragoman.errors import ConfigError, DataError, check_count, checked_path
from dragoman.installed.opening import ModelPath
from dragoman.system.files import refuse_existing
from dragoman.workflows.data.agreement import DISAGREEMENT, ModelAgreement, percentiles
from dragoman.workflows.data.check import REJECTS, corpus_of
from dragoman.workflows.listener import Listener, Listeners, Progress


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


def clean_data(
    config: RunConfig | str | PathLike[str],
    source: str | PathLike[str],
    target: str | PathLike[str] | None = None,
    *,
    output: str | PathLike[str],
    workers: int = 1,
    force: bool = False,
    ray: bool = False,
    models: Sequence[ModelPath] = (),
    disagreement: float = DISAGREEMENT,
    listeners: Iterable[Listener] = (),
) -> CleanResult:
    """Write the pairs that break no rule of [data.clean] to files of the same names in the folder `output`.

    `source` and `target` are two files of lines, or `source` alone is a .tsv or .jsonl file. Pairs keep their order;
    the removed ones go to `rejects.jsonl`. The result does not depend on `workers`, the number of processes, nor on
    `ray`, with which the rules run under Ray Data. With `models`, one of each direction, a pair that breaks no rule is
    removed if their score of it (`agreement`, nats per token) is above `disagreement`. Raises ConfigError if a file
    exists and not `force`, ModelError, or DataError.
    """
    config = config if isinstance(config, RunConfig) else load_config(config)
    corpus = corpus_of(source, target)
    folder = checked_path("output", output)
    check_count("workers", workers)
    agreement = ModelAgreement(models, config.project.source, config.project.target) if models else None
    scores = array("d")
    refuse_pipes(corpus.files)
    if ray:
        refuse_without_ray(corpus)
    files = _output_files(corpus, folder, force)
    listener = Listeners(listeners)
    reading = Reading([corpus])
    reader = BlockReader(corpus, reading)
    context = Context(config.project.source, config.project.target, config.data.clean)
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
            _write(cleaned, out, corpus)
            listener.on_progress(Progress("cleaning", cleaner.pairs, reading.expected(cleaner.pairs), "pairs"))
        if reader.surplus:
            raise DataError(describe_unequal(corpus))
        if not cleaner.pairs:
            raise DataError(f"{corpus.source}: no lines; there is nothing to clean")
    removed, ratio = dict(cleaner.removed.most_common()), round(judge.context.ratio, 4)
    return CleanResult(cleaner.pairs, cleaner.remaining, removed, files, folder / REJECTS, ratio, percentiles(scores))


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


def _write(cleaned: CleanedBlock, out: TextFiles, corpus: CorpusConfig) -> None:
    """Append the pairs of a block that stay to the files, and the rest to the rejects."""
    block, stays = cleaned.block, cleaned.stays.tolist()
    source, target = (compress(side.lines, stays) for side in (block.source, block.target))
    out.write_pairs(corpus, zip(source, target, strict=True))
    lines = (reject_line(block, row, why, cleaned.scores.get(row)) for row, why in cleaned.reasons.items())
    out.write(len(corpus.files), lines)
