"""Checking and splitting the text of a run."""

from collections.abc import Iterable, Mapping
from os import PathLike

from dragoman.config import CorpusConfig, RunConfig
from dragoman.config.file import load_config, require_text
from dragoman.data.check.check import check_data as check_corpora
from dragoman.data.corpus.output import refuse_pipes
from dragoman.data.corpus.report import CorpusReport
from dragoman.data.make.split import SplitOptions, split_corpus, usable_pairs, whole_pairs
from dragoman.errors import ConfigError, check_count, checked_path
from dragoman.workflows.listener import Listener, Listeners, Progress

# What was dropped, and why.
REJECTS = "rejects.jsonl"


def check_data(config: RunConfig | str | PathLike[str], listeners: Iterable[Listener] = ()) -> tuple[CorpusReport, ...]:
    """Read all text of a run and report on it: valid, test and general_test if there are any, replay, train.

    `config` is a configuration or the path of one. All faults are counted; `CorpusReport.usable` says whether training
    is possible. Raises DataError for a file that cannot be read.
    """
    config = config if isinstance(config, RunConfig) else load_config(config)
    return tuple(check_with_progress(config, Listeners(listeners)))


def check_with_progress(config: RunConfig, listener: Listeners) -> list[CorpusReport]:
    """The reports on every corpus, with the progress of reading."""

    def report(pairs: int, expected: int | None) -> None:
        listener.on_progress(Progress("reading", pairs, expected, "pairs"))

    require_text(config)
    corpora = config.data.named_corpora
    refuse_pipes(path for corpus in corpora.values() for path in corpus.files)
    report(0, None)
    pairs = {name: config.pairs_of(corpus)[0] for name, corpus in corpora.items()}
    languages = {name: (pair.source, pair.target) for name, pair in pairs.items()}
    reports = check_corpora(config.data, config.project.source, config.project.target, report, languages=languages)
    read = sum(corpus.pairs for corpus in reports)
    report(read, read)
    return reports


def split_data(
    config: RunConfig | str | PathLike[str],
    source: str | PathLike[str],
    target: str | PathLike[str] | None = None,
    held_out: int | None = None,
    *,
    seed: int = 1,
    near: bool = True,
    drop: bool = False,
) -> Mapping[str, int]:
    """Split a corpus into the train, valid and test files that a configuration names; how many pairs each got.

    `source` and `target` are two files of lines, or `source` alone is a .tsv or .jsonl file; `held_out` is the exact
    number of pairs for each of valid and test. Repeats of a source sentence stay together, and with `near` its
    near-duplicates too. With `drop`, lines with an empty side or bad bytes go to `rejects.jsonl` next to the training
    text, and are counted as "dropped"; otherwise the first of them is an error. Raises ConfigError or DataError.
    """
    config = config if isinstance(config, RunConfig) else load_config(config)
    if held_out is not None:
        check_count("held_out", held_out)
    if not isinstance(seed, int) or not 0 <= seed < 1 << 63:
        raise ConfigError(f"seed: give a whole number from 0 to 2^63 - 1, not {seed!r}")
    require_text(config)
    parts = split_parts(config)
    corpus = corpus_of(source, target)
    refuse_pipes(corpus.files)
    options, name = SplitOptions(held_out, seed, near), str(corpus.source)
    if drop:
        rejects = parts["train"].source.with_name(REJECTS)
        return split_corpus(lambda: usable_pairs(corpus), name, parts, options, rejects)
    return split_corpus(lambda: whole_pairs(corpus), name, parts, options)


def split_parts(config: RunConfig) -> dict[str, CorpusConfig]:
    """The corpora that a split fills: valid, test if there is one, train. Raises ConfigError for several of one."""
    data, parts = config.data, dict[str, CorpusConfig]()
    for name, corpora in (("valid", data.valid_corpora), ("test", data.test_corpora), ("train", data.train)):
        if len(corpora) > 1:
            raise ConfigError(f"data.{name}: names {len(corpora)} corpora, but a split fills one; name one")
        if corpora:
            parts[name] = corpora[0]
    return parts


def corpus_of(source: str | PathLike[str], target: str | PathLike[str] | None = None) -> CorpusConfig:
    """The corpus of two files of lines, or of one .tsv or .jsonl file. Raises ConfigError."""
    try:
        return CorpusConfig(
            source=checked_path("source", source),
            target=None if target is None else checked_path("target", target),
        )
    except ValueError:
        if target:
            raise ConfigError(f"{source}: holds both sides; give it alone") from None
        raise ConfigError(f"{source}: give the file of the other side too, or one .tsv or .jsonl of both") from None
