"""`dragoman translate`: translate lines, one output line for each input line, in the same order."""

import hashlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.bundled import bundled_models
from dragoman.cli.bundled import BundledTranslators
from dragoman.cli.console import console, say
from dragoman.cli.line_work import LineWork
from dragoman.cli.loading import EngineChoice, load_translator
from dragoman.cli.output import STDOUT, LineOutput, is_stdout, line_output, refuse_output
from dragoman.cli.progress import LINE_EVERY, Display
from dragoman.cli.translate_on_ray import RayChoice, translated_on_ray
from dragoman.data.corpus.corpus import decode_lines, read_lines
from dragoman.errors import ConfigError, QualityError, counted
from dragoman.installed import resolve_model
from dragoman.system.cluster import cluster
from dragoman.system.files import sha256
from dragoman.system.processes import sigterm_interrupts
from dragoman.text.terms.tbx import TermBase, read_glossary
from dragoman.translator import Translator
from dragoman.version import __version__
from dragoman.workflows.documents.memory import existing_memory
from dragoman.workflows.lines.partial_output import saved_lines
from dragoman.workflows.lines.parts import Part
from dragoman.workflows.lines.shards import Shard, cut, windows
from dragoman.workflows.listener import Progress

# The file that stdin may be: `translate < FILE -o FILE` would replace it.
STDIN = Path("/dev/stdin")
# Lines between two reports of memory: they are at least a minute apart.
REPORT_EVERY = 100_000


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    models: Sequence[Path]  # none: the bundled models
    text: tuple[str, ...]
    input: Path | None
    output: Path | None
    glossary: Path | None
    target_prefix: str
    engine: EngineChoice
    as_json: bool
    jsonl: bool = False
    resume: bool = False
    force: bool = False
    to: str | None = None
    from_: str | None = None
    strict: bool = False
    memory: Path | None = None
    ray: RayChoice | None = None

    @property
    def destination(self) -> Path:
        """The output; STDOUT whatever name it has."""
        return STDOUT if self.output is None or is_stdout(self.output) else self.output

    @property
    def source(self) -> Path | None:
        """The input, if it is a file."""
        return self.input if self.input and str(self.input) != "-" else None

    @property
    def typed(self) -> bool:
        """Whether a person types the lines in a terminal."""
        return not self.input and self.text in ((), ("-",)) and sys.stdin.isatty()


def run_translate(request: Request, changes: Mapping[str, Any]) -> None:
    """Translate and write, line by line."""
    names = [str(request.source or "").removesuffix(end) for end in (".gz", ".zst")]
    jsonl = request.jsonl or any(name.endswith(".jsonl") for name in names)
    request = replace(request, jsonl=jsonl, as_json=request.as_json or jsonl)
    lines = _lines(request)
    if request.ray and not (request.source and request.source.is_file()):
        raise ConfigError("--ray: translates the lines of a file; give it as -i FILE, or leave --ray out")
    inputs = [path for path in (request.source or STDIN, request.glossary, request.memory) if path]
    if request.memory:
        existing_memory(request.memory)
    refuse_output(request.destination, inputs, resume=request.resume, force=request.force)
    glossary = read_glossary(request.glossary) if request.glossary else None
    translators: Translator | BundledTranslators
    if request.models:
        translators = load_translator(request.models, request.engine, changes, glossary).to(request.to, request.from_)
    else:
        translators = BundledTranslators(request.engine, changes, glossary, request.to, request.from_)
        if isinstance(lines, list):
            translators.refuse_unreadable(lines)
    name = str(request.source or ("text" if isinstance(lines, list) else "stdin"))
    work = LineWork(translators, name, request.target_prefix, request.jsonl, request.as_json, request.memory)
    with ExitStack() as stack:
        ray = stack.enter_context(cluster(request.ray.address, request.engine.threads or 0)) if request.ray else None
        stack.enter_context(sigterm_interrupts())
        shards = _shards(request, work)
        total = sum(one.lines for one in shards) if request.ray else _line_count(request, work)
        started_with = _identity(request, translators)
        display = stack.enter_context(Display())
        output = stack.enter_context(
            line_output(request.destination, started_with, resume=request.resume, force=request.force)
        )
        if ray and request.source:
            parts = translated_on_ray(ray, work, request.source, shards, request.engine, output.has)
        else:
            parts = _translated_here(request, work, lines, output.has)
        flagged = _run(request, parts, total, output, display)
    if request.strict and flagged:  # after the output is complete
        raise QualityError(f"{counted(flagged, 'line')} with a warning, see above; all are written (--strict)")


def _translated_here(
    request: Request, work: LineWork, lines: Iterable[str], has: Callable[[list[str]], bool]
) -> Iterator[tuple[list[str], Callable[[], Part] | None]]:
    """Growing windows of lines, so that the first soon appear, and what translates them; nothing for what is done."""
    requests, first = work.requests(lines), 1
    for window in windows(requests) if not request.typed else ([one] for one in requests):
        if not request.typed:
            work.decide(window)
        raw = [one.line for one in window]
        yield raw, None if has(raw) else partial(work.part, window, first)
        first += len(window)


def _run(
    request: Request,
    parts: Iterable[tuple[list[str], Callable[[], Part] | None]],
    total: int | None,
    output: LineOutput,
    display: Display,
) -> int:
    """Write the parts in order; report progress and warnings. Output: the number of lines with a warning."""
    shows = not request.typed and not (request.destination == STDOUT and sys.stdout.isatty())
    started, resumed, done, flagged, from_memory = time.monotonic(), 0, 0, 0, 0
    for raw, translate in parts:
        if translate is None:
            done = resumed = done + len(raw)
            continue
        if done == resumed:  # nothing translated yet
            if resumed:
                say(f"continuing at line {done + 1:,}")
            if shows:
                display.on_progress(Progress("translating", done, total, "lines"))
        part = translate()
        output.write(raw, part.text)
        for warning in part.warnings:
            say(f"dragoman: {warning}")
        flagged, from_memory = flagged + part.flagged, from_memory + part.from_memory
        for number in range(done - done % REPORT_EVERY + REPORT_EVERY, done + len(raw) + 1, REPORT_EVERY):
            say(f"{number:,} lines{_peak_memory()}")
        done += len(raw)
        if shows and done != total:
            display.on_progress(Progress("translating", done, total, "lines"))
    if shows:
        display.on_progress(Progress("translating", done, done, "lines"))
        _summarise(request, done - resumed, time.monotonic() - started)
    if request.memory and not request.typed:
        say(f"from {request.memory}: {counted(from_memory, 'line')}")
    return flagged


def _shards(request: Request, work: LineWork) -> list[Shard]:
    """The shards for Ray, the next begins where an interrupted translation ended."""
    if not (request.ray and request.source):
        return []
    done = saved_lines(request.destination) if request.resume else 0
    return cut(request.source, work.requests, request.ray.shard_lines, done, work.decide)


def _line_count(request: Request, work: LineWork) -> int | None:
    """The number of lines if it can be known before stdin is read; every line of a JSONL file is checked meanwhile."""
    if request.source and request.source.is_file():
        return sum(1 for _ in work.requests(read_lines(request.source)))
    return None


def _identity(request: Request, translators: Translator | BundledTranslators) -> dict[str, Any]:
    """What must be the same when an interrupted translation is continued, by the name it has in an error."""
    choice, options = request.engine, translators.options
    glossary = translators.glossary
    given = glossary.concepts if isinstance(glossary, TermBase) else glossary.entries if glossary else ()
    folders = [resolve_model(model) for model in request.models] or [model.folder for model in bundled_models()]
    return {
        "version of dragoman": __version__,
        "model": [sha256(model / "bundle.json") for model in folders],
        "engine, device or precision": [choice.engine, choice.device, choice.precision],
        "glossary": hashlib.sha256(repr(given).encode()).hexdigest(),
        "target prefix": request.target_prefix,
        **({"memory": sha256(request.memory)} if request.memory else {}),
        "language": [request.to, request.from_],
        "format": ["jsonl" if request.jsonl else "text", "json" if request.as_json else "text"],
        **{f"decode.{key}": value for key, value in options.model_dump(mode="json").items()},
    }


def _summarise(request: Request, lines: int, seconds: float) -> None:
    """One line at the end of work that a person may have waited for."""
    if request.destination != STDOUT or console().is_terminal or seconds > LINE_EVERY:
        say(f"{counted(lines, 'line')} in {seconds:,.1f} s, {lines / max(seconds, 1e-9):,.0f} lines/s")


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
    if request.source:
        return read_lines(request.source)
    if request.typed:
        say("reading lines from the terminal; end with Ctrl-D")
    return decode_lines(sys.stdin.buffer, "stdin")
