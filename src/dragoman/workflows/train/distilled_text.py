"""The translations of a teacher: a file for each corpus, continued where it ends, and a note of what is finished."""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

from dragoman.bundle import Bundle
from dragoman.data.corpus.corpus import Pair
from dragoman.data.corpus.directions import Direction
from dragoman.data.corpus.report import CorpusReport
from dragoman.errors import ResumeError, counted
from dragoman.system.files import sha256, storage_error, write_text_atomically
from dragoman.system.parsing import parse_json
from dragoman.text.words.normalise import normalise
from dragoman.translator import Translator
from dragoman.workflows.journal import differences, saved_work, write_to_disk
from dragoman.workflows.listener import Listeners, Progress

NOTE = "distilled.json"
# Lines translated together, and the most that a power cut can lose: enough for batches of about equal length.
WINDOW = 512


def translate_corpus(text: Direction, path: Path, translator: Translator, pairs: int, listener: Listeners) -> None:
    """Write the sources of `text`, which has `pairs` pairs, and their translations into `path`.

    An existing file is continued. An incomplete window at its end is translated again, because in other batches
    the last bits of a score could differ. A sentence whose translation is empty keeps its human reference translation.
    Raises DragomanError that says how to continue.
    """
    kept = "the translations are kept"
    with saved_work(lambda: f"{path}: interrupted; {kept},", lambda: kept):
        try:
            with path.open("ab+") as file:
                _append(text, file, translator, pairs, listener)
        except OSError as error:
            raise storage_error(path, error) from None


def _append(text: Direction, file: IO[bytes], translator: Translator, pairs: int, listener: Listeners) -> None:
    done = _keep_windows(file)
    rest = islice(text.read(), done, None)
    while window := list(islice(rest, WINDOW)):
        listener.on_progress(Progress("translating", done, pairs, "sentences"))
        translations = translator.translate([pair.source for pair in window])
        lines = [_line(pair, translation.text) for pair, translation in zip(window, translations, strict=True)]
        write_to_disk(file, "".join(lines).encode())  # takes about a hundredth of the time of the window
        done += len(window)
    listener.on_progress(Progress("translating", done, done, "sentences"))


def _line(pair: Pair, translation: str) -> str:
    return f"{normalise(pair.source)}\t{translation or normalise(pair.target)}\n"


def _keep_windows(file: IO[bytes]) -> int:
    """Cut the file after its last complete window; the number of lines that remain."""
    file.seek(0)
    done = end = read = 0
    for number, line in enumerate(file, 1):
        read += len(line)
        if number % WINDOW == 0 and line.endswith(b"\n"):
            done, end = number, read
    file.truncate(end)
    return done


class DistilledNote:
    """`distilled.json`: hashes of what the translations are made from, compared on resume, and of finished files."""

    def __init__(self, path: Path, inputs: Mapping[str, Any], resume: bool) -> None:
        self.path, self.content = path, {**inputs, "finished": {}}
        if resume:
            self.content = self._read()
            if names := differences({key: self.content.get(key) for key in inputs}, inputs):
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

    def _read(self) -> dict[str, Any]:
        try:
            content = parse_json(self.path.read_bytes())
            if not isinstance(content["finished"], dict):
                raise TypeError
        except (OSError, ValueError, KeyError, TypeError):
            raise ResumeError(f"{self.path}: cannot be read; choose another train.output and start again") from None
        return dict(content)

    def _write(self) -> None:
        write_text_atomically(self.path, json.dumps(self.content, indent=2) + "\n")


def inputs_of(teacher: Bundle, reports: Sequence[CorpusReport]) -> dict[str, Any]:
    """The hashes of teacher and text."""
    return {"teacher": sha256(teacher.folder / "bundle.json"), "text": [list(report.sha256) for report in reports]}
