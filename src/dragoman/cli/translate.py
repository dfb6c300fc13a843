"""`dragoman translate`: translate lines, one output line for each input line, in the same order."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import IO, Any

from dragoman.bundled import bundled_model_for
from dragoman.cli.console import program, say
from dragoman.cli.loading import EngineChoice, load_translator
from dragoman.cli.progress import Display
from dragoman.data.corpus import decode_lines, read_lines
from dragoman.errors import ConfigError
from dragoman.storage import atomic_file, refuse_unwritable_file
from dragoman.text.glossary import Glossary
from dragoman.text.lines import WINDOW
from dragoman.translation import Translation
from dragoman.workflows.listener import Listeners

# How the command line names it.
STDOUT = Path("-")
# Lines between two reports of memory: they are at least a minute apart.
REPORT_EVERY = 100_000


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    models: Sequence[Path]  # none: a bundled model
    text: tuple[str, ...]
    input: Path | None
    output: Path | None
    glossary: Path | None
    target_prefix: str
    engine: EngineChoice
    as_json: bool


def run_translate(request: Request, changes: Mapping[str, Any]) -> None:
    """Translate and write, line by line."""
    lines = _lines(request)
    output = request.output or STDOUT
    refuse_unwritable(output, [request.input] if request.input else [])
    glossary = Glossary.read(request.glossary) if request.glossary else None
    models, lines = (request.models, lines) if request.models else _bundled_model(lines)
    translator = load_translator(models, request.engine, changes, glossary)
    with Display() as display, destination(output) as out:
        window = 1 if _typed(request) else WINDOW  # lines that are typed are translated one by one
        translations = translator.stream(lines, window, target_prefix=request.target_prefix)
        if _shows_progress(request, output):
            translations = Listeners([display]).follow(translations, "translating", "lines", _line_count(request), 64)
        for number, translation in enumerate(translations, 1):
            out.write("".join(_render(number, translation, translator.options.n_best, request.as_json)))
            if output == STDOUT:  # line by line, so that a killed process leaves whole lines
                out.flush()
            _warn(number, translation)
            if number % REPORT_EVERY == 0:
                say(f"{number:,} lines{_peak_memory()}")


def _bundled_model(lines: Iterable[str]) -> tuple[Sequence[Path], Iterable[str]]:
    """The bundled model for the script of the first line that is not blank, and all the lines."""
    rest, read = iter(lines), list[str]()
    for line in rest:
        read.append(line)
        if line.strip():
            break
    model = bundled_model_for(read[-1] if read else "")
    say(f"Using the bundled model {model.name}: {model.limits} Train your own with `{program()} train`")
    return [model.folder], chain(read, rest)


def _shows_progress(request: Request, output: Path) -> bool:
    """Whether to show progress: not while sentences are typed, and not between translations in the same terminal."""
    return not _typed(request) and not (output == STDOUT and sys.stdout.isatty())


def _line_count(request: Request) -> int | None:
    """The number of lines to translate if it can be known before reading stdin, otherwise None."""
    if request.input and request.input.is_file():
        return sum(1 for _ in read_lines(request.input))
    return None


def _warn(number: int, translation: Translation) -> None:
    for flag in translation.warnings:
        if flag.kind != "segmented":  # not a fault; --json has it
            say(f"dragoman: line {number}: {flag.text}")
    for term in translation.terms:
        if not term.satisfied:
            say(f"dragoman: line {number}: {term.source!r} is not translated as {term.target!r}; check it by hand")


def _peak_memory() -> str:
    """The most memory that this process has used so far, for a progress line; nothing on Windows."""
    try:
        import resource
    except ImportError:
        return ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return f", peak memory {peak:,} MB"


def _lines(request: Request) -> Iterable[str]:
    if request.text and request.text != ("-",):
        if request.input:
            raise ConfigError("give sentences or --input, not both")
        return [line for text in request.text for line in text.split("\n")]
    if request.input and str(request.input) != "-":
        return read_lines(request.input)
    if _typed(request):
        say("reading lines from the terminal; end with Ctrl-D")
    return decode_lines(sys.stdin.buffer, "stdin")


def _typed(request: Request) -> bool:
    return not request.input and request.text in ((), ("-",)) and sys.stdin.isatty()


def refuse_unwritable(output: Path, inputs: Sequence[Path] = ()) -> None:
    """Raise DragomanError, before long work, if `destination` could not write or would replace one of the inputs."""
    if output == STDOUT:
        return
    refuse_unwritable_file(output)
    if any(output.is_file() and path.is_file() and output.samefile(path) for path in inputs):
        raise ConfigError(f"{output}: is read too, and its text would be lost; write to another file")


@contextmanager
def destination(output: Path) -> Iterator[IO[str]]:
    """Where translations go: stdout, or a file that appears only when it is complete.

    Raises DragomanError if writing fails.
    """
    if output == STDOUT:
        yield sys.stdout
        return
    with atomic_file(output) as file, TextIOWrapper(file, encoding="utf-8", newline="\n") as text:
        yield text


def _render(number: int, translation: Translation, n_best: int, as_json: bool) -> Iterator[str]:
    import json

    if as_json:
        candidates = [
            {"text": c.text, "score": c.score, "log_prob": c.log_prob}
            | ({"log_probs": c.log_probs} if c.log_probs else {})
            for c in translation.candidates
        ]
        warnings = [{"kind": flag.kind, "text": flag.text} for flag in translation.warnings]
        record = {"line": number, "source": translation.source, "translations": candidates, "warnings": warnings}
        if translation.terms:
            record["terms"] = [asdict(term) for term in translation.terms]
        yield json.dumps(record, ensure_ascii=False) + "\n"
    elif n_best == 1:
        yield translation.text + "\n"
    else:
        for candidate in translation.candidates:
            yield f"{number}\t{candidate.score:.4f}\t{candidate.text}\n"
