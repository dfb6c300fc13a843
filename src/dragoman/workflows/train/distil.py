"""Distillation: a student learns from a teacher's translations (Kim and Rush 2016, section 3.2).

Translations by one model are more regular than those of many people, so a small model learns them more easily. Input: a
trained bundle, the teacher, and the run of the student. The teacher translates the source side of the student's
training text; the student is trained on the result with the teacher's tokenizer. It is validated and tested on the
human reference translations. Output: the student's bundle, and these files in the folder of its run:

OUTPUT/distilled.tsv        source, tab, translation; distilled-2.tsv, … for further corpora of data.train
OUTPUT/distilled.json       hashes of teacher, text and finished files, the engine that translates, and whether the
                            human references are kept
the rest                    see `dragoman.workflows.train.train`
"""

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, Any

from dragoman.adapter import ADAPTER
from dragoman.bundle import WEIGHTS, Bundle
from dragoman.config import CorpusConfig, RunConfig
from dragoman.config.file import build_config, changed_keys, differences, read_config
from dragoman.data.corpus.corpus import Pair
from dragoman.data.corpus.directions import Direction, directions
from dragoman.data.corpus.report import CorpusReport, require_usable
from dragoman.engine.resources import GPU_WINDOW, on_gpu
from dragoman.errors import ConfigError, ResumeError, checked_path, counted
from dragoman.installed.opening import open_model
from dragoman.system.files import sha256, storage_error, write_text_atomically
from dragoman.system.parsing import parse_json
from dragoman.text.tokens.marks import Marks
from dragoman.text.words.normalise import normalise
from dragoman.training.resume.checkpoint import checkpoint_steps
from dragoman.translator import GLOSSARY, Translator
from dragoman.workflows.data.check import check_with_progress
from dragoman.workflows.journal import different_names, saved_work, write_to_disk
from dragoman.workflows.listener import Listener, Listeners, Progress
from dragoman.workflows.train.run_folder import (
    DISTILLED_NOTE,
    begin,
    check_resumable,
    lock_run,
    output_of,
    with_original_choices,
)
from dragoman.workflows.train.train import TrainResult, check_trainable, train

KEEP_ORIGINAL = "keep_original"
"""The key of `distilled.json` that says whether the student learns from the human references too."""
ENGINE = "engine"
"""The key of the engine, one for all translations: an export that is made meanwhile differs a little."""
# What translations depend on, of the files of a teacher, with those in the folders of its tokenizer and its engine.
OF_TRANSLATIONS = ("config.toml", WEIGHTS, ADAPTER, GLOSSARY)


def distill(
    teacher: str | PathLike[str],
    config: RunConfig | str | PathLike[str],
    *,
    keep_original: bool = False,
    resume: bool = False,
    listeners: Iterable[Listener] = (),
    user_keys: Collection[str] | None = None,
    where: str = "configuration",
    overrides: Sequence[str] = (),
) -> TrainResult:
    """Translate the training text with the model `teacher`, and train a student on the translations.

    `config` is the student's configuration or the path of one. With `keep_original` the student learns from the human
    reference translations too. With `resume` the work continues where it stopped. For a configuration that is not
    read here, `user_keys` are the dotted keys that the user set, `overrides` the KEY=VALUE among them, and errors name
    it `where`. Raises as `train` does, and ModelError if the teacher cannot be used.
    """
    if isinstance(config, RunConfig):
        student_config, user_keys = config, changed_keys(config) if user_keys is None else user_keys
    else:
        where = str(config)
        student_config, user_keys = read_config(config)
    check_trainable(student_config, where)
    bundle, listener = open_model(checked_path("teacher", teacher)), Listeners(listeners)
    _check_teacher(student_config, bundle, where)
    distilled_config = student_of(student_config, user_keys, bundle, where, keep_original)
    folder = output_of(student_config)
    training = bool(checkpoint_steps(folder / "checkpoints"))
    if training and resume:
        distilled_config = with_original_choices(folder, distilled_config, user_keys)
    _check_resumable(folder, distilled_config, resume, training, keep_original)
    reports = check_with_progress(student_config, listener)
    listener.on_data(reports)
    require_usable(reports)
    with lock_run(folder):
        if not resume:
            begin(folder, overrides)
        texts = reports[-len(student_config.data.train) :]
        path = folder / DISTILLED_NOTE
        engine = (_content_of(path) if resume else {}).get(ENGINE) or _fastest_engine(bundle)
        note = DistilledNote(path, inputs_of(bundle, engine, texts), keep_original, resume)
        _translate(student_config, bundle, texts, note, listener)
    return train(
        distilled_config,
        resume=training,
        listeners=listener.listeners,
        user_keys=user_keys,
        teacher=bundle,
        overrides=overrides,
    )


def student_of(
    student_config: RunConfig, user_keys: Collection[str], teacher: Bundle, where: str, keep_original: bool
) -> RunConfig:
    """The run of the student: the teacher's tokenizer and translations. Raises ConfigError if a key contradicts."""
    tokenizer = teacher.config.tokenizer.model_copy(update={"sampling": student_config.tokenizer.sampling})
    changed = differences(tokenizer, student_config.tokenizer)
    if different := [key for key in changed if f"tokenizer.{key}" in user_keys]:
        raise ConfigError(
            f"{where}: tokenizer.{different[0]}: differs from {teacher.folder}; "
            "leave [tokenizer] out, the tokenizer comes from the teacher"
        )
    corpora = student_config.data.train
    distilled = [
        CorpusConfig(
            source=path, weight=direction.corpus.weight, languages=direction.pair.name if direction.pair else ""
        )
        for path, direction in _texts(student_config)
    ]
    protect = teacher.config.data.protect if "data.protect" not in user_keys else student_config.data.protect
    if protect and not teacher.tokenizer.symbols:
        raise ConfigError(
            f"{where}: data.protect: the tokenizer comes from the teacher {teacher.folder}, which has no symbols for "
            "placeholders; leave the key out, or train the teacher with it"
        )
    texts = (*distilled, *(corpora if keep_original else ()))
    data = student_config.data.model_copy(update={"train": texts, "protect": protect})
    tree = student_config.model_copy(update={"tokenizer": tokenizer, "data": data}).model_dump()
    return build_config(tree, where, Path())  # checks the keys together


def _texts(config: RunConfig) -> list[tuple[Path, Direction]]:
    """What is translated, in each direction of its corpus, and the file that the translations go to."""
    folder, corpus_directions = output_of(config), directions(config, config.data.train)
    names = ["distilled.tsv", *(f"distilled-{number}.tsv" for number in range(2, len(corpus_directions) + 1))]
    return [(folder / name, direction) for name, direction in zip(names, corpus_directions, strict=True)]


def _check_teacher(config: RunConfig, teacher: Bundle, where: str) -> None:
    for pair in config.project.all_pairs:
        if not teacher.config.project.pair(pair.name):
            taught = ", ".join(
                f"{teacher_pair.source} → {teacher_pair.target}" for teacher_pair in teacher.config.project.all_pairs
            )
            raise ConfigError(
                f"{where}: translates {pair.source} → {pair.target}, but the teacher {teacher.folder} {taught}; "
                "give a teacher of the same languages"
            )
        Marks.of(pair, teacher.tokenizer)
    if config.train.start_from:
        raise ConfigError(f"{where}: train.start_from: a student starts without a base model; leave it out")
    if (output_of(config) / "model").resolve() == teacher.folder.resolve():
        raise ConfigError(f"{where}: the student would overwrite its teacher; choose another train.output")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError("distill: runs in one process, which writes the translations; start it without torchrun")


def _check_resumable(folder: Path, student: RunConfig, resume: bool, training: bool, keep_original: bool) -> None:
    """Raise ConfigError or ResumeError rather than overwrite a run, or resume one that is missing or different.

    Files that are not of a run are not overwritten either.
    """
    started = (folder / DISTILLED_NOTE).exists()
    if started and not resume:
        raise ConfigError(f"{folder}: holds distilled text; continue with --resume, or choose another train.output")
    if resume and not started:
        raise ResumeError(f"{folder}: holds no distilled text to resume; start without --resume")
    if resume:
        _refuse_other_references(folder, keep_original)
    if training or not resume:
        check_resumable(folder, student, resume)


def _refuse_other_references(folder: Path, keep_original: bool) -> None:
    """Raise ResumeError if the human references were kept at the start and are not now, or the other way round."""
    before = _content_of(folder / DISTILLED_NOTE).get(KEEP_ORIGINAL, keep_original)  # older versions noted nothing
    if before == keep_original:
        return
    how, remedy = ("with", "give it again") if before else ("without", "leave it out")
    raise ResumeError(
        f"{folder}: the translations were started {how} --keep-original; {remedy}, or choose another train.output"
    )


def _translate(
    config: RunConfig, teacher: Bundle, reports: Sequence[CorpusReport], note: "DistilledNote", listener: Listeners
) -> None:
    """Translate every corpus that is not translated yet, and note which are finished."""
    pairs_of = {id(corpus): report.pairs for corpus, report in zip(config.data.train, reports, strict=True)}
    unfinished = [
        (path, direction, pairs_of[id(direction.corpus)])
        for path, direction in _texts(config)
        if not note.is_finished(path)
    ]
    if not unfinished:
        return
    if config.train.threads:
        import torch

        torch.set_num_threads(config.train.threads)
    # Without a shortlist: quality matters more than speed here.
    options = teacher.config.decode.model_copy(update={"n_best": 1, "shortlist": False})
    engine = note.content[ENGINE]
    translator = Translator.of_bundle(teacher, engine=engine, device=config.train.device, options=options)
    for path, direction, pairs in unfinished:
        pair_translator = translator.to(direction.pair.target, direction.pair.source) if direction.pair else translator
        listener.notice(f"translating {counted(pairs, 'sentence')} into {path.name}")
        translate_corpus(direction, path, pair_translator, pairs, listener)
        note.finish(path, pairs)


# --- the translations of a teacher on disk --------------------------------------------------------------------------


# Lines translated together on a CPU, and the most that a power cut can lose: enough for batches of about equal length.
WINDOW = 512


def translate_corpus(text: Direction, path: Path, translator: Translator, pairs: int, listener: Listeners) -> None:
    """Write the sources of `text`, which has `pairs` pairs, and their translations into `path`.

    An existing file is continued. An incomplete window at its end is translated again, because in other batches
    the last bits of a score could differ. A sentence whose translation is empty keeps its human reference translation.
    Raises DragomanError that says how to continue.
    """
    ending = "the translations are kept"
    with saved_work(lambda: f"{path}: interrupted; {ending},", lambda: ending):
        try:
            with path.open("ab+") as file:
                _append(text, file, translator, pairs, listener)
        except OSError as error:
            raise storage_error(path, error) from None


def _append(text: Direction, file: IO[bytes], translator: Translator, pairs: int, listener: Listeners) -> None:
    size = GPU_WINDOW.lines if on_gpu(translator.engine) else WINDOW
    done = _keep_windows(file, size)
    rest = islice(text.read(), done, None)
    while window := list(islice(rest, size)):
        listener.on_progress(Progress("translating", done, pairs, "sentences"))
        translations = translator.translate([pair.source for pair in window])
        lines = [_line(pair, translation.text) for pair, translation in zip(window, translations, strict=True)]
        write_to_disk(file, "".join(lines).encode())  # takes about a hundredth of the time of the window
        done += len(window)
    listener.on_progress(Progress("translating", done, done, "sentences"))


def _line(pair: Pair, translation: str) -> str:
    return f"{normalise(pair.source)}\t{translation or normalise(pair.target)}\n"


def _keep_windows(file: IO[bytes], size: int) -> int:
    """Cut the file after its last complete window of this size; the number of lines that remain."""
    file.seek(0)
    done = end = read = 0
    for number, line in enumerate(file, 1):
        read += len(line)
        if number % size == 0 and line.endswith(b"\n"):
            done, end = number, read
    file.truncate(end)
    return done


class DistilledNote:
    """`distilled.json`: hashes of what the translations are made from, compared on resume, and of finished files."""

    def __init__(self, path: Path, inputs: Mapping[str, Any], keep_original: bool, resume: bool) -> None:
        self.path, self.content = path, {**inputs, KEEP_ORIGINAL: keep_original, "finished": {}}
        if resume:
            self.content = _content_of(path)
            if names := different_names({key: self.content.get(key) for key in inputs}, inputs):
                raise ResumeError(
                    f"{path.parent}: the {names[0]} changed since the translations were started; "
                    "restore it, or choose another train.output"
                )
        self._write()

    def is_finished(self, path: Path) -> bool:
        """Whether `path` is complete. Raises ResumeError if it was changed since."""
        expected = self.content["finished"].get(path.name)
        if expected and not (path.is_file() and expected == {**expected, "sha256": sha256(path)}):
            raise ResumeError(f"{path}: was altered after it was finished; restore it, or choose another train.output")
        return bool(expected)

    def finish(self, path: Path, pairs: int) -> None:
        """Note that `path` is complete. Raises ResumeError unless it has exactly `pairs` lines."""
        with path.open("rb") as file:
            lines = sum(1 for _ in file)
        if lines != pairs:
            counts = f"{counted(lines, 'line')} for {counted(pairs, 'pair')}"
            raise ResumeError(f"{path}: {counts}; the text changed meanwhile, start again")
        self.content["finished"][path.name] = {"pairs": pairs, "sha256": sha256(path)}
        self._write()

    def _write(self) -> None:
        write_text_atomically(self.path, json.dumps(self.content, indent=2) + "\n")


def _content_of(note: Path) -> dict[str, Any]:
    """What a `distilled.json` says. Raises ResumeError if it cannot be read."""
    try:
        content = parse_json(note.read_bytes())
        if not isinstance(content["finished"], dict):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError):
        raise ResumeError(f"{note}: cannot be read; choose another train.output and start again") from None
    return dict(content)


def inputs_of(teacher: Bundle, engine: str, reports: Sequence[CorpusReport]) -> dict[str, Any]:
    """The engine, and the hashes of the text and of what the teacher's translations depend on."""
    hashes = {
        name: facts["sha256"]
        for name, facts in teacher.manifest["files"].items()
        if name in OF_TRANSLATIONS or name.startswith(("tokenizer/", f"{engine}/"))
    }
    if teacher.base:
        hashes["base"] = teacher.base.weights_sha256
    return {"teacher": hashes, ENGINE: engine, "text": [list(report.sha256) for report in reports]}


def _fastest_engine(teacher: Bundle) -> str:
    """The name of the engine that `auto` is."""
    return next((export.name for export in teacher.exports), "torch")
