"""What an engine is given at a time: of a processor a thousand lines, of a GPU what fills its batches.

The engine is a stub that reports a device and counts; what is written is the same.
"""

import os
import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.config import CorpusConfig, DecodeConfig
from dragoman.data.corpus.corpus import decode_lines
from dragoman.data.corpus.directions import Direction
from dragoman.engine import resources
from dragoman.system import pipe as pipe_module
from dragoman.system.pipe import PipeLines
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.lines import WindowSize
from dragoman.translator import Translator
from dragoman.workflows.documents.documents import DocumentTask, run_documents
from dragoman.workflows.lines.partial_output import partial_output, saved_lines
from dragoman.workflows.lines.translate import LinesResult, translate_file, translate_lines
from dragoman.workflows.lines.work import LineWork
from dragoman.workflows.listener import Listeners, Progress
from dragoman.workflows.train import distil
from stand_ins import OnDevice
from workflows.document_stand_in import Capitals, chosen

COUNT = 300
LINES = [f"a dog sees {number} cats" for number in range(COUNT)]
ON_CPU, ON_GPU = [16, 32, 64, 128, 60], [100, 200]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window of a GPU begins with 100 lines here."""
    monkeypatch.setattr(resources, "GPU_WINDOW", WindowSize(first=100, seconds=1.0))


def stub(tokenizer: Tokenizer, device: str) -> tuple[Translator, list[int]]:
    """A translator that repeats its sources, and the sizes of the calls of its engine."""
    engine = OnDevice(device)
    return Translator(tokenizer, engine, DecodeConfig()), engine.calls


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.write_text("".join(line + "\n" for line in LINES), encoding="utf-8")
    return path


class StopAt(dragoman.Listener):
    """Interrupts the work behind this line."""

    def __init__(self, line: int) -> None:
        self.line = line

    def on_progress(self, progress: Progress) -> None:
        if progress.done == self.line:
            raise KeyboardInterrupt


# --- lines ------------------------------------------------------------------------------------------------------------


def test_a_file_fills_the_batches_of_a_gpu(toy_tokenizer: Tokenizer, source: Path, tmp_path: Path) -> None:
    written = []
    for device, sizes in (("cpu", ON_CPU), ("cuda", ON_GPU)):
        translator, calls = stub(toy_tokenizer, device)
        assert translate_file(source, tmp_path / device, model=translator).lines == COUNT
        assert calls == sizes
        written.append((tmp_path / device).read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("started_on", "line", "resumed_on", "sizes"),
    [
        ("cuda", 100, "cuda", [200]),
        ("cpu", 48, "cuda", [52, 200]),
        ("cuda", 100, "cpu", [12, 128, 60]),
    ],
)
def test_what_one_device_began_another_resumes(
    toy_tokenizer: Tokenizer,
    source: Path,
    tmp_path: Path,
    started_on: str,
    line: int,
    resumed_on: str,
    sizes: Sequence[int],
) -> None:
    output = tmp_path / "out"
    with pytest.raises(dragoman.Interrupted, match=rf"stopped at line {line:,}, saved"):
        translate_file(source, output, model=stub(toy_tokenizer, started_on)[0], listeners=[StopAt(line)])
    translator, calls = stub(toy_tokenizer, resumed_on)
    result = translate_file(source, output, model=translator, resume=True)
    assert (result.lines, result.resumed, calls) == (COUNT, line, sizes)
    whole = tmp_path / "whole"
    translate_file(source, whole, model=stub(toy_tokenizer, resumed_on)[0])
    assert output.read_bytes() == whole.read_bytes()


def test_the_lines_of_a_pipe_are_resumed_in_other_windows(toy_tokenizer: Tokenizer, tmp_path: Path) -> None:
    output = tmp_path / "out"

    def run(resume: bool, waits: Callable[[], bool], *listeners: dragoman.Listener) -> LinesResult:
        work = LineWork(stub(toy_tokenizer, "cpu")[0], "stdin", listener=Listeners(listeners))
        opened, saved = partial(partial_output, output, resume=resume), saved_lines(output) if resume else 0
        return translate_lines(work, iter(LINES[:20]), opened, saved=saved, waits=waits)

    with pytest.raises(dragoman.Interrupted, match="stopped at line 5, saved"):
        run(False, lambda: True, StopAt(5))
    assert run(True, lambda: False).resumed == 5
    assert output.read_text(encoding="utf-8").splitlines() == LINES[:20]


class Program:
    """Writes a line into a pipe only when it has the translation of the one before."""

    def __init__(self, end: int, lines: Sequence[str]) -> None:
        self.end, self.lines, self.answers = end, [*lines], list[str]()
        self.next()

    def next(self) -> None:
        if self.lines:
            os.write(self.end, self.lines.pop(0).encode() + b"\n")
        else:
            os.close(self.end)

    def has(self, lines: Sequence[str]) -> bool:
        return False

    def write(self, lines: Sequence[str], text: str) -> None:
        self.answers.append(text)
        self.next()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_line_of_a_pipe_is_answered_before_the_next_is_awaited(
    toy_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    monkeypatch.setattr(pipe_module, "PAUSE", 0.001)
    reading, writing = os.pipe()
    pipe, program = PipeLines(reading), Program(writing, LINES[:20])
    translator, calls = stub(toy_tokenizer, device)
    work = LineWork(translator, "stdin")
    translate_lines(work, decode_lines(pipe, "stdin"), lambda _: nullcontext(program), waits=pipe.waits)
    os.close(reading)
    assert len(program.answers) == 20
    assert calls == [1] * 20


class Written:
    """An output that keeps nothing."""

    def has(self, lines: Sequence[str]) -> bool:
        return False

    def write(self, lines: Sequence[str], text: str) -> None:
        pass


def test_of_a_named_pipe_few_lines_are_awaited(toy_tokenizer: Tokenizer, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    translator, calls = stub(toy_tokenizer, "cuda")
    work = LineWork(translator, "pipe")
    translate_lines(work, iter(LINES[:50]), lambda _: nullcontext(Written()), source=tmp_path / "pipe")
    assert calls == [16, 32, 2]


def test_a_stream_fills_them_too(toy_tokenizer: Tokenizer) -> None:
    translator, calls = stub(toy_tokenizer, "cuda:1")
    assert [translation.source for translation in translator.stream(LINES)] == LINES
    assert calls == ON_GPU
    calls.clear()
    list(translator.stream(LINES, 120))
    assert calls == [120, 120, 60]


def test_a_stream_on_a_gpu_answers_a_line_before_the_next_is_awaited(toy_tokenizer: Tokenizer) -> None:
    translator, calls = stub(toy_tokenizer, "cuda")
    answered: queue.Queue[str] = queue.Queue()

    def lines() -> Iterator[str]:
        for line in LINES[:3]:
            yield line
            assert answered.get(timeout=30) == line

    for translation in translator.stream(lines()):
        answered.put(translation.source)
    assert calls == [1, 1, 1]


# --- documents, and the text of a student -----------------------------------------------------------------------------


@pytest.mark.parametrize(("device", "sizes"), [("cpu", [64, 128, 108]), ("cuda", ON_GPU)])
def test_a_document_fills_them_too(tmp_path: Path, device: str, sizes: Sequence[int]) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    by: Any = Capitals()
    by.engine = OnDevice(device)
    run_documents(DocumentTask((tmp_path / "in.txt",), tmp_path / "out.txt"), chosen(by))
    assert [len(texts) for texts in by.asked] == sizes
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines() == [line.upper() for line in LINES]


@pytest.mark.parametrize(("device", "sizes"), [("cpu", [4, 4, 2]), ("cuda", [8, 2])])
def test_the_text_of_a_student_fills_them_too(
    toy_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, sizes: Sequence[int]
) -> None:
    monkeypatch.setattr(distil, "WINDOW", 4)
    monkeypatch.setattr(distil, "GPU_WINDOW", WindowSize(8))
    (tmp_path / "pairs.tsv").write_text("".join(f"{line}\tx\n" for line in LINES[:10]), encoding="utf-8")
    translator, calls = stub(toy_tokenizer, device)
    text = Direction(CorpusConfig(source=tmp_path / "pairs.tsv"))
    distil.translate_corpus(text, tmp_path / "distilled.tsv", translator, 10, Listeners(()))
    assert calls == sizes
    assert (tmp_path / "distilled.tsv").read_text(encoding="utf-8").count("\n") == 10
