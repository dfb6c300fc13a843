"""`dragoman distill`: a student learns from a teacher's translations (Kim and Rush 2016, section 3.2).

A small model fits one model's regular translations more easily than those of many people. Enter a trained bundle and
the run of the student; the teacher translates the source side of its training text, and the student is trained on
that with the teacher's pieces. What it is validated and tested on stays people's.

OUTPUT/distilled.tsv        source, tab, translation; distilled-2.tsv, … for further corpora of data.train
OUTPUT/distilled.json       hashes of teacher and text, and of the files that are finished
the rest                    see `dragoman.cli.train`
"""

import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from dragoman.bundle import Bundle, open_bundle
from dragoman.cli.console import console, program, say
from dragoman.cli.data import say_reports
from dragoman.cli.train import train_run
from dragoman.config import CorpusConfig, RunConfig
from dragoman.config.file import build_config, differences, read_config
from dragoman.data.check import CorpusReport, check_data
from dragoman.data.corpus import Pair, read_pairs
from dragoman.errors import ConfigError, Interrupted, ResumeError
from dragoman.storage import sha256, storage_error, write_text_atomically
from dragoman.text.normalise import normalise
from dragoman.training.checkpoint import checkpoint_steps
from dragoman.translator import Translator
from dragoman.workflows.run_folder import check_resumable, lock_run, output_of

NOTE = "distilled.json"
# Lines translated together, and at the most those lost to a power cut: enough for batches of about equal length.
WINDOW = 512
# Seconds between lines about how far it is, where there is no terminal to show it on.
LINE_EVERY = 30.0


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    teacher: Path
    config: Path
    overrides: tuple[str, ...]
    keep_original: bool
    resume: bool


def run_distill(request: Request) -> None:
    """Translate, train, say what to type next."""
    people, given = read_config(request.config, request.overrides)
    teacher = open_bundle(request.teacher)
    _refuse_unfit(people, teacher, request.config)
    student = student_of(people, given, teacher, request)
    folder, training = output_of(people), bool(checkpoint_steps(output_of(people) / "checkpoints"))
    _refuse_mix_up(folder, student, request.resume, training)
    reports = check_data(people.data)
    say_reports(reports)
    with lock_run(folder):
        _distil(people, teacher, reports[-len(people.data.train) :], request.resume)
    if model := train_run(student, given, resume=training, teacher=teacher):
        say(f"\nThe student is in {model}. Next:")
        say(f'  {program()} translate -m {model} "…"\n  {program()} evaluate -m {model} …')


def student_of(people: RunConfig, given: Collection[str], teacher: Bundle, request: Request) -> RunConfig:
    """The run of the student: the teacher's pieces and translations. Raises ConfigError if a key contradicts."""
    pieces = teacher.config.tokenizer.model_copy(update={"sampling": people.tokenizer.sampling})
    if odd := [key for key in differences(pieces, people.tokenizer) if f"tokenizer.{key}" in given]:
        raise ConfigError(
            f"{request.config}: tokenizer.{odd[0]}: differs from {teacher.folder}; "
            "leave [tokenizer] out, the pieces come with the teacher"
        )
    corpora = people.data.train
    learned = [
        CorpusConfig(source=path, weight=corpus.weight)
        for path, corpus in zip(_files(output_of(people), len(corpora)), corpora, strict=True)
    ]
    tree = people.model_dump()
    tree["tokenizer"] = pieces.model_dump()
    tree["data"]["train"] = [corpus.model_dump() for corpus in (*learned, *(corpora if request.keep_original else ()))]
    return build_config(tree, str(request.config), request.config.parent)


def _files(folder: Path, count: int) -> list[Path]:
    return [folder / ("distilled.tsv" if number == 1 else f"distilled-{number}.tsv") for number in range(1, count + 1)]


def _refuse_unfit(people: RunConfig, teacher: Bundle, where: Path) -> None:
    wanted, given = ((run.project.source, run.project.target) for run in (people, teacher.config))
    if wanted != given:
        raise ConfigError(
            f"{where}: translates {' → '.join(wanted)}, but the teacher {teacher.folder} {' → '.join(given)}; "
            "give a teacher of the same languages"
        )
    if people.train.start_from:
        raise ConfigError(f"{where}: train.start_from: a student begins with no weights; leave it out")
    if (output_of(people) / "model").resolve() == teacher.folder.resolve():
        raise ConfigError(f"{where}: the student would take its teacher's place; choose another train.output")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError("distill: runs in one process, for one writes the translations; start it without torchrun")


def _refuse_mix_up(folder: Path, student: RunConfig, resume: bool, training: bool) -> None:
    """Nothing is overwritten, and nothing resumed that is not there or is another run."""
    begun = (folder / NOTE).exists()
    if begun and not resume:
        raise ConfigError(f"{folder}: holds distilled text; go on with --resume, or choose another train.output")
    if resume and not begun:
        raise ResumeError(f"{folder}: holds no distilled text to resume; start without --resume")
    if training:
        check_resumable(folder, student, resume)


def _distil(people: RunConfig, teacher: Bundle, reports: Sequence[CorpusReport], resume: bool) -> None:
    """Have every corpus translated that is not yet, and note what is finished."""
    folder = output_of(people)
    note = _Note(folder / NOTE, _made_of(teacher, reports), resume)
    todo = []
    for path, corpus, report in zip(_files(folder, len(reports)), people.data.train, reports, strict=True):
        if not note.is_finished(path):
            todo.append((path, corpus, report.pairs))
    if not todo:
        return
    if people.train.threads:
        import torch

        torch.set_num_threads(people.train.threads)
    # The teacher's own words, all of them: nobody waits for these translations.
    options = teacher.config.decode.model_copy(update={"n_best": 1, "shortlist": False})
    translator = Translator.of_bundle(teacher, device=people.train.device, options=options)
    for path, corpus, pairs in todo:
        try:
            with _shown(path, pairs) as show:
                translate_corpus(corpus, path, translator, show)
        except KeyboardInterrupt:
            raise Interrupted(f"{path}: interrupted; what is translated is kept, go on with --resume") from None
        except OSError as error:
            raise storage_error(path, error, "; what is translated is kept, go on with --resume") from None
        note.finish(path, pairs)


def translate_corpus(
    corpus: CorpusConfig, path: Path, translator: Translator, show: Callable[[int], None] = lambda lines: None
) -> None:
    """Write the pairs of `corpus` with the translator's targets into `path`, going on where it ends.

    Lines are translated in windows, and a last window that is not whole is translated again: with other lines beside
    it a sentence might differ in a last bit. A sentence that the teacher says nothing to keeps people's translation.
    """
    with path.open("ab+") as file:
        done = _keep_windows(file)
        pairs = islice(read_pairs(corpus), done, None)
        while window := list(islice(pairs, WINDOW)):
            show(done)
            found = translator.translate([pair.source for pair in window])
            lines = [_line(pair, translation.text) for pair, translation in zip(window, found, strict=True)]
            file.write("".join(lines).encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())  # a window takes seconds, and this a hundredth of one
            done += len(window)


def _line(pair: Pair, translation: str) -> str:
    return f"{normalise(pair.source)}\t{translation or normalise(pair.target)}\n"


def _keep_windows(file: IO[bytes]) -> int:
    """Cut the file after its last whole window; how many lines are left."""
    file.seek(0)
    done = end = read = 0
    for number, line in enumerate(file, 1):
        read += len(line)
        if number % WINDOW == 0 and line.endswith(b"\n"):
            done, end = number, read
    file.truncate(end)
    return done


class _Note:
    """`distilled.json`: what the translations are made of, compared on --resume, and which files are finished."""

    def __init__(self, path: Path, made_of: Mapping[str, Any], resume: bool) -> None:
        self.path, self.content = path, {**made_of, "finished": {}}
        if resume:
            self.content = self._read()
            for key, now in made_of.items():
                if self.content.get(key) != now:
                    raise ResumeError(
                        f"{path.parent}: the {key} changed since the translations began; "
                        "restore it, or choose another train.output"
                    )
        self._write()

    def is_finished(self, path: Path) -> bool:
        """Whether `path` is whole. Raises ResumeError if it was altered since."""
        expected = self.content["finished"].get(path.name)
        if expected and not (path.is_file() and expected == {**expected, "sha256": sha256(path)}):
            raise ResumeError(f"{path}: was altered after it was finished; restore it, or choose another train.output")
        return bool(expected)

    def finish(self, path: Path, pairs: int) -> None:
        """Note that `path` is whole. Raises ResumeError if it holds other than so many lines."""
        with path.open("rb") as file:
            lines = sum(1 for _ in file)
        if lines != pairs:
            raise ResumeError(f"{path}: {lines:,} lines for {pairs:,} pairs; the text changed meanwhile, start anew")
        self.content["finished"][path.name] = {"pairs": pairs, "sha256": sha256(path)}
        self._write()

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            if not isinstance(content["finished"], dict):
                raise TypeError
        except (OSError, ValueError, KeyError, TypeError):
            raise ResumeError(f"{self.path}: cannot be read; choose another train.output and start anew") from None
        return dict(content)

    def _write(self) -> None:
        write_text_atomically(self.path, json.dumps(self.content, indent=2) + "\n")


def _made_of(teacher: Bundle, reports: Sequence[CorpusReport]) -> dict[str, Any]:
    return {"teacher": sha256(teacher.folder / "bundle.json"), "text": [list(report.sha256) for report in reports]}


@contextmanager
def _shown(path: Path, pairs: int) -> Iterator[Callable[[int], None]]:
    """How far the translation of so many pairs is: at the foot of a terminal, or a line now and then."""
    started, first, spoken = time.monotonic(), -1, time.monotonic()
    say(f"translating {pairs:,} sentences into {path.name}")
    with console().status("translating") as status:

        def show(done: int) -> None:
            nonlocal first, spoken
            first = done if first < 0 else first  # what an earlier process did tells nothing of this one's speed
            seconds = time.monotonic() - started
            line = f"{done:,} of {pairs:,} translated"
            if done > first:
                speed = (done - first) / seconds
                line += f"  {speed:,.0f} lines/s  {(pairs - done) / speed / 60:.1f} min left"
            status.update(line)
            if not console().is_terminal and time.monotonic() - spoken > LINE_EVERY:
                spoken = time.monotonic()
                say(line)

        yield show
