"""`dragoman translate`: translate lines, one output line for each input line, in the same order."""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dragoman import __version__
from dragoman.bundled import bundled_models
from dragoman.cli.bundled import BundledTranslators
from dragoman.cli.console import console, say
from dragoman.cli.loading import EngineChoice, load_translator
from dragoman.cli.memory import WithMemory
from dragoman.cli.output import STDOUT, LineOutput, is_stdout, line_output, refuse_output
from dragoman.cli.progress import LINE_EVERY, Display
from dragoman.config import DecodeConfig
from dragoman.control.alignment import pharaoh
from dragoman.data.corpus import decode_lines, read_lines
from dragoman.errors import ConfigError, QualityError, counted
from dragoman.installed import resolve_model
from dragoman.runtime import sigterm_interrupts
from dragoman.storage import sha256
from dragoman.text.lines import WINDOW, chunks_of
from dragoman.text.tbx import TermBase, read_glossary
from dragoman.translation import Translation
from dragoman.translator import Translator
from dragoman.workflows.line_requests import LineRequest, parse_lines, translate_requests
from dragoman.workflows.listener import Progress
from dragoman.workflows.memory import existing_memory

# The file that stdin may be: `translate < FILE -o FILE` would replace it.
STDIN = Path("/dev/stdin")
# Lines between two reports of memory: they are at least a minute apart.
REPORT_EVERY = 100_000
# Lines translated together at first; twice as many each time, up to WINDOW.
FIRST_WINDOW = 16


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
    with sigterm_interrupts():
        total = _line_count(request, translators)
        started_with = _identity(request, translators)
        with (
            Display() as display,
            line_output(request.destination, started_with, resume=request.resume, force=request.force) as output,
        ):
            flagged = _run(request, translators, lines, total, output, display)
    if request.strict and flagged:  # after the output is complete
        raise QualityError(f"{counted(flagged, 'line')} with a warning, see above; all are written (--strict)")


def _run(
    request: Request,
    translators: Translator | BundledTranslators,
    lines: Iterable[str],
    total: int | None,
    output: LineOutput,
    display: Display,
) -> int:
    """Translate in growing windows, so that the first lines soon appear; report progress and warnings.

    Output: the number of lines with a warning.
    """
    shows = not request.typed and not (request.destination == STDOUT and sys.stdout.isatty())
    window, first = (1, 1) if request.typed else (WINDOW, FIRST_WINDOW)
    started, resumed, done, flagged, from_memory = time.monotonic(), 0, 0, 0, 0
    with_memory = WithMemory(request.memory) if request.memory else None
    for chunk in chunks_of(_requests(request, translators, lines), window, first=first, text=lambda line: line.text):
        raw = [line.line for line in chunk]
        if isinstance(translators, Translator) and not request.typed:
            translators = _decided(translators, chunk)
        choose = _chooser(translators, with_memory)
        if output.has(raw):
            done = resumed = done + len(chunk)
            continue
        if done == resumed:  # nothing translated yet
            if resumed:
                say(f"continuing at line {done + 1:,}")
            if shows:
                display.on_progress(Progress("translating", done, total, "lines"))
        translations = translate_requests(chunk, choose)
        from_memory += sum(one.match is not None for one in translations)
        numbered = list(zip(range(done + 1, done + len(chunk) + 1), chunk, translations, strict=True))
        output.write(raw, "".join(_render(*row, translators.options, request.as_json) for row in numbered))
        for number, _, translation in numbered:
            flagged += _warn(number, translation)
            if number % REPORT_EVERY == 0:
                say(f"{number:,} lines{_peak_memory()}")
        done += len(chunk)
        if shows and done != total:
            display.on_progress(Progress("translating", done, total, "lines"))
    if shows:
        display.on_progress(Progress("translating", done, done, "lines"))
        _summarise(request, done - resumed, time.monotonic() - started)
    if request.memory and not request.typed:
        say(f"from {request.memory}: {counted(from_memory, 'line')}")
    return flagged


def _chooser(
    translators: Translator | BundledTranslators, with_memory: WithMemory | None
) -> Callable[[str], Translator | Translation]:
    def choose(text: str) -> Translator | Translation:
        chosen = translators(text) if isinstance(translators, BundledTranslators) else translators
        return with_memory(chosen) if with_memory and isinstance(chosen, Translator) else chosen

    return choose


def _decided(translator: Translator, requests: Sequence[LineRequest]) -> Translator:
    """For one pair of languages: where none is asked for, that of the first lines, which the others keep."""
    texts = [request.text for request in requests if not (request.to or request.from_)]
    if translator.pair or not texts:
        return translator
    chosen = translator.to(texts=texts)
    if chosen.pair:
        say(f"{chosen.pair.source} → {chosen.pair.target}, by the letters of the text; --to chooses another")
    return chosen


def _requests(
    request: Request, translators: Translator | BundledTranslators, lines: Iterable[str]
) -> Iterator[LineRequest]:
    """The lines as requests. Raises DataError for a line that is none."""
    prefix = request.target_prefix
    if request.jsonl:
        name = str(request.source or ("text" if isinstance(lines, list) else "stdin"))
        pairs = translators.pairs if isinstance(translators, Translator) else None
        return parse_lines(lines, name, translators.options, prefix, translators.glossary is not None, pairs)
    return (LineRequest(line, target_prefix=prefix, line=line) for line in lines)


def _line_count(request: Request, translators: Translator | BundledTranslators) -> int | None:
    """The number of lines if it can be known before stdin is read; every line of a JSONL file is checked meanwhile."""
    if request.source and request.source.is_file():
        return sum(1 for _ in _requests(request, translators, read_lines(request.source)))
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


def _warn(number: int, translation: Translation) -> bool:
    """Print the warnings about a translation; return whether there were any, besides those about terms."""
    flags = [flag for flag in translation.warnings if flag.kind != "segmented"]  # not a fault; --json has it
    for flag in flags:
        say(f"dragoman: line {number}: {flag.text}")
    for term in translation.terms:
        if not term.satisfied:
            say(f"dragoman: line {number}: {term.source!r} is not translated as {term.target!r}; check it by hand")
    return bool(flags)


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


def _render(number: int, request: LineRequest, translation: Translation, options: DecodeConfig, as_json: bool) -> str:
    """The output for one line of the input: a record of JSON, or lines of text with columns separated by tabs."""
    if as_json:
        return json.dumps(_record(number, request, translation), ensure_ascii=False) + "\n"
    confidence = "" if translation.confidence is None else f"{translation.confidence:.3f}"
    best = ([confidence] if options.confidence else []) + ([pharaoh(translation)] if options.alignment else [])
    rows = [[candidate.text] for candidate in translation.candidates]
    if options.n_best > 1:
        rows = [[f"{number}", f"{c.score:.4f}", c.text] for c in translation.candidates]
    others = [[""] * len(best)] * (len(rows) - 1)  # as many columns in every row
    rows = [row + more for row, more in zip(rows, [best, *others], strict=True)]
    if len(rows[0]) > 1:  # a line that no bundled model reads is left as it is, with its tabs
        rows = [[cell.replace("\t", " ") for cell in row] for row in rows]
    return "".join("\t".join(row) + "\n" for row in rows)


def _record(number: int, request: LineRequest, translation: Translation) -> dict[str, Any]:
    """What --json has of one line: optional fields only where there is something in them."""
    candidates = [
        {"text": c.text, "score": c.score, "log_prob": c.log_prob} | ({"log_probs": c.log_probs} if c.log_probs else {})
        for c in translation.candidates
    ]
    record = {"line": number, **request.identity, "source": translation.source, "translations": candidates}
    record["warnings"] = [{"kind": flag.kind, "text": flag.text} for flag in translation.warnings]
    if translation.confidence is not None:
        record["confidence"] = translation.confidence
    if translation.match is not None:
        record["match"] = translation.match
    if translation.alignment:
        record["alignment"] = pharaoh(translation)
    if translation.terms:
        record["terms"] = [asdict(term) for term in translation.terms]
    return record
