"""What is to be compared: configurations and folders → the runs by name, and the one test set that they share."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from dragoman.config import LanguageModelConfig, RunConfig
from dragoman.config.file import read_config, read_run_config
from dragoman.errors import ConfigError, DataError, ModelError, checked_path
from dragoman.training.resume.checkpoint import resumable_steps
from dragoman.workflows.evaluate.evaluate import TestSet
from dragoman.workflows.evaluate.held_out import held_out_by_pair
from dragoman.workflows.train.run_folder import output_of

MODEL = Path("model") / "bundle.json"


@dataclass(frozen=True)
class Entry:
    """One system: its run, finished or not."""

    name: str
    folder: Path
    """Of the run."""
    config: RunConfig
    given: Collection[str] = ()
    """The dotted keys of a configuration file."""

    @property
    def is_finished(self) -> bool:
        """Whether there is a model."""
        return (self.folder / MODEL).exists()

    @property
    def is_started(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return bool(resumable_steps(self.folder / "checkpoints"))


def read_entries(runs: Sequence[str | PathLike[str]]) -> list[Entry]:
    """The systems. Raises ConfigError for what is neither a configuration nor a run, for one alone, for one twice."""
    entries = [entry for given in runs for entry in _entries(checked_path("run", given))]
    if len(entries) < 2:
        raise ConfigError("compare: one system; give two configurations or folders of runs, or a folder of several")
    folders = [entry.folder.absolute() for entry in entries]
    for entry, folder in zip(entries, folders, strict=True):
        if folders.count(folder) > 1:
            raise ConfigError(f"{entry.folder}: two of the systems are this run; give each a train.output of its own")
    names = _distinct(entries)
    return [Entry(name, one.folder, one.config, one.given) for name, one in zip(names, entries, strict=True)]


def shared_test_set(entries: Sequence[Entry]) -> TestSet:
    """The test set of all, or where there is none their validation text.

    Raises ConfigError if they differ, because scores on different text cannot be compared, and DataError if the text
    of a run is gone.
    """
    first, *others = [(entry, _test_set(entry)) for entry in entries]
    for entry, found in others:
        if (found.sources, found.references) != (first[1].sources, first[1].references):
            here, there = found.name, first[1].name
            if here == there:  # files of one name in two folders
                here, there = (", ".join(map(str, _test_files(one))) for one in (entry, first[0]))
            raise ConfigError(
                f"{entry.name}: its test text ({here}) is not that of {first[0].name} ({there}); "
                "compare needs one test set: give both the same data.test"
            )
    return first[1]


def require_training_text(entries: Sequence[Entry]) -> None:
    """Raise DataError where a file is gone: a finished run needs it too, to count what its training cost."""
    for entry in entries:
        for path in (path for corpus in entry.config.data.train for path in corpus.files):
            if not path.exists():
                raise DataError(f"{entry.name}: its training text {path} is not there; put it back where it was")


def _entries(path: Path) -> Iterator[Entry]:
    if path.is_file():
        config, given = read_config(path)
        _refuse_language_model(path, config)
        yield Entry(config.project.name, output_of(config), config, given)
    elif (path / "config.toml").exists():
        yield _run(path)
    elif path.is_dir():
        runs = [_run(one) for one in sorted(path.iterdir()) if (one / MODEL).exists() and not _is_language_model(one)]
        if not runs:
            raise ConfigError(f"{path}: no finished run in this folder; train one, or give a configuration")
        yield from runs
    else:
        raise ConfigError(f"{path}: no such file or folder; give a configuration, or the folder of a run")


def _run(folder: Path) -> Entry:
    """A run by its folder, or by the folder of its model."""
    if (folder / "bundle.json").exists():
        folder = folder.absolute().parent
    if not (folder / MODEL).exists():
        raise ConfigError(f"{folder}: the run is not finished; give its configuration, then it is trained to the end")
    config = read_run_config(folder)
    _refuse_language_model(folder, config)
    return Entry(folder.name, folder, config)


def _is_language_model(folder: Path) -> bool:
    return isinstance(read_run_config(folder).model, LanguageModelConfig)


def _refuse_language_model(path: Path, config: RunConfig) -> None:
    if isinstance(config.model, LanguageModelConfig):
        raise ModelError(f"{path}: a language model, which translates nothing; give translation models")


def _test_set(entry: Entry) -> TestSet:
    data = entry.config.data
    try:
        text = held_out_by_pair(entry.config, data.test_corpora or data.valid_corpora)[0]
    except (DataError, OSError) as error:
        raise DataError(f"{entry.name}: its test text cannot be read: {error}; put it back where it was") from None
    return TestSet(text.sources, text.references, " + ".join(path.name for path in _test_files(entry)))


def _test_files(entry: Entry) -> tuple[Path, ...]:
    data = entry.config.data
    return (data.test_corpora or data.valid_corpora)[0].files


def _distinct(entries: Sequence[Entry]) -> list[str]:
    """The names, with the folder's where several projects have one name, and a number where that is not enough."""
    names = [one.name for one in entries]
    if len(set(names)) < len(names):
        names = [one.folder.name for one in entries]
    return [name if names.count(name) == 1 else f"{name} ({number})" for number, name in enumerate(names, 1)]
