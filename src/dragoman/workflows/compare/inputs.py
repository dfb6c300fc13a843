"""What is to be compared: configurations and folders → the runs by name, and the one test set that they share."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from dragoman.config import LanguageModelConfig, PairConfig, RunConfig
from dragoman.config.file import differences, portable, read_config, read_run_config
from dragoman.config.sizes import with_choices_of
from dragoman.errors import ConfigError, DataError, ModelError, checked_path
from dragoman.workflows.evaluate.evaluate import TestSet
from dragoman.workflows.evaluate.held_out import held_out_by_pair, held_out_pairs
from dragoman.workflows.train.run_folder import DISTILLED_NOTE, MAY_CHANGE, output_of

MODEL = Path("model") / "bundle.json"


@dataclass(frozen=True)
class System:
    """One system: its run, finished or not."""

    name: str
    folder: Path
    """Of the run."""
    config: RunConfig
    user_keys: Collection[str] = ()
    """The dotted keys that the configuration file sets."""

    @property
    def is_finished(self) -> bool:
        """Whether there is a model."""
        return (self.folder / MODEL).exists()


# What an equal budget sets in the configurations after the first, whatever they or an override say.
BUDGETED = ("train.max_steps", "train.max_minutes", "train.warmup", "train.validate_every")


def read_systems(
    runs: Sequence[str | PathLike[str]], overrides: Sequence[str] = (), *, budgeted: bool = False
) -> list[System]:
    """The systems; `budgeted`: those after the first have its budget.

    Raises ConfigError for what is neither a configuration nor a run, for one alone, for one twice, for overrides that
    nothing reads.
    """
    paths = [checked_path("run", run) for run in runs]
    if overrides and paths and all(path.is_dir() for path in paths):
        raise ConfigError(
            f"{overrides[0]}: a key is for configurations, and these are runs, which are not trained again"
        )
    systems = list[System]()
    for path in paths:
        skipped = BUDGETED if budgeted and systems else ()
        systems += _systems(path, overrides, skipped)
    if len(systems) < 2:
        raise ConfigError("compare: one system; give two configurations or folders of runs, or a folder of several")
    folders = [system.folder.absolute() for system in systems]
    for system, folder in zip(systems, folders, strict=True):
        if folders.count(folder) > 1:
            raise ConfigError(f"{system.folder}: two of the systems are this run; give each a train.output of its own")
    names = _distinct(systems)
    return [replace(system, name=name) for name, system in zip(names, systems, strict=True)]


def shared_test_set(systems: Sequence[System]) -> TestSet:
    """The test set of all, or where there is none their validation text.

    Raises ConfigError if they differ, because scores on different text cannot be compared, and DataError if the text
    of a run is gone.
    """
    first, *others = [(system, _test_set(system)) for system in systems]
    for system, test_set in others:
        if (test_set.sources, test_set.references) != (first[1].sources, first[1].references):
            here, there = test_set.name, first[1].name
            if here == there:  # files of one name in two folders
                here, there = (", ".join(map(str, _test_files(run))) for run in (system, first[0]))
            raise ConfigError(
                f"{system.name}: its test text ({here}) is not that of {first[0].name} ({there}); "
                "compare needs one test set: give both the same data.test"
            )
    return first[1]


def tested_pair(system: System) -> PairConfig:
    """The languages of the test text; of a model of several pairs it is that of the first."""
    data = system.config.data
    return held_out_pairs(system.config, data.test_corpora or data.valid_corpora)[0]


def require_training_text(systems: Sequence[System]) -> None:
    """Raise DataError where a file is gone: a finished run needs it too, to count what its training cost."""
    for system in systems:
        for path in (path for corpus in system.config.data.train for path in corpus.files):
            if not path.exists():
                raise DataError(f"{system.name}: its training text {path} is not there; put it back where it was")


def edited_keys(system: System, skipped: Sequence[str] = ()) -> list[str]:
    """The keys that a finished run had other values of than its configuration has now.

    Those that follow from others, as `d_k` from `d_model`, are not named next to those that the user set. What a
    resumed run may change counts as the same, but for `[decode]`, and so do `skipped`, what a base model or a teacher
    brought, and the numbers that `auto` became.
    """
    if not system.is_finished:
        return []
    before, distilled = read_run_config(system.folder), (system.folder / DISTILLED_NOTE).exists()
    now = with_choices_of(system.config, before, system.user_keys)
    may_change = [key for key in MAY_CHANGE if key != "decode."]  # which decides the scores
    brought = ["data.train", "data.protect", "tokenizer"] if distilled else []
    free = ("project.name", *may_change, *skipped, *brought)
    changed = [key for key in differences(portable(before), portable(now)) if not key.startswith(free)]
    explicit = [key for key in changed if any(f"{key}.".startswith(f"{name}.") for name in system.user_keys)]
    return explicit if explicit or system.config.train.start_from else changed


def _systems(path: Path, overrides: Sequence[str], skipped: Sequence[str]) -> Iterator[System]:
    if path.is_file():
        config, user_keys = read_config(path, overrides)
        _refuse_language_model(path, config)
        system = System(config.project.name, output_of(config), config, user_keys)
        if system.is_finished:
            _refuse_other_values(system, [item for item in overrides if item.partition("=")[0] not in skipped])
        yield system
    elif (path / "config.toml").exists():
        yield _run(path)
    elif path.is_dir():
        runs = [_run(run) for run in sorted(path.iterdir()) if (run / MODEL).exists() and not _is_language_model(run)]
        if not runs:
            raise ConfigError(f"{path}: no finished run in this folder; train one, or give a configuration")
        yield from runs
    else:
        raise ConfigError(f"{path}: no such file or folder; give a configuration, or the folder of a run")


def _refuse_other_values(system: System, overrides: Sequence[str]) -> None:
    """Raise ConfigError where the finished run has other values: it is not trained again."""
    changed = differences(read_run_config(system.folder), system.config)
    for key, _, value in (override.partition("=") for override in overrides):
        if value.strip("\"'") != "auto" and any(f"{name}.".startswith(f"{key}.") for name in changed):
            raise ConfigError(
                f"{system.folder}: is trained with another {key}; leave {key}={value} out, or give the configuration "
                "another train.output"
            )


def _run(folder: Path) -> System:
    """A run by its folder, or by the folder of its model."""
    if (folder / "bundle.json").exists():
        folder = folder.absolute().parent
    if not (folder / MODEL).exists():
        raise ConfigError(f"{folder}: the run is not finished; give its configuration, then it is trained to the end")
    config = read_run_config(folder)
    _refuse_language_model(folder, config)
    return System(folder.name, folder, config)


def _is_language_model(folder: Path) -> bool:
    return isinstance(read_run_config(folder).model, LanguageModelConfig)


def _refuse_language_model(path: Path, config: RunConfig) -> None:
    if isinstance(config.model, LanguageModelConfig):
        raise ModelError(f"{path}: a language model, which translates nothing; give translation models")


def _test_set(system: System) -> TestSet:
    data = system.config.data
    try:
        text = held_out_by_pair(system.config, data.test_corpora or data.valid_corpora)[0]
    except (DataError, OSError) as error:
        raise DataError(f"{system.name}: its test text cannot be read: {error}; put it back where it was") from None
    return TestSet(text.sources, text.references, " + ".join(path.name for path in _test_files(system)))


def _test_files(system: System) -> tuple[Path, ...]:
    data = system.config.data
    return (data.test_corpora or data.valid_corpora)[0].files


def _distinct(systems: Sequence[System]) -> list[str]:
    """The names, with the folder's where several projects have one name, and a number where that is not enough."""
    names = [system.name for system in systems]
    if len(set(names)) < len(names):
        names = [system.folder.name for system in systems]
    return [name if names.count(name) == 1 else f"{name} ({number})" for number, name in enumerate(names, 1)]
