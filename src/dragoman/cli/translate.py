"""`dragoman translate`: lines in, as many lines out, in order."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import IO, Any

from dragoman.bundle import open_bundle
from dragoman.bundled import bundled_model_for, resolve_model
from dragoman.cli.console import program, say
from dragoman.config.file import parse_override
from dragoman.data.corpus import decode_lines, read_lines
from dragoman.errors import ConfigError
from dragoman.storage import atomic_file, refuse_unwritable_file
from dragoman.text.glossary import Glossary
from dragoman.text.lines import WINDOW
from dragoman.translation import Translation
from dragoman.translator import Translator, change_options

# What a person types for it.
STDOUT = Path("-")
# Lines between two reports of how far it is: each is a minute or more away from the last.
REPORT_EVERY = 100_000


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    models: Sequence[Path]  # none: one in the box
    text: tuple[str, ...]
    input: Path | None
    output: Path | None
    glossary: Path | None
    target_prefix: str
    engine: str
    device: str
    as_json: bool


def run_translate(request: Request, changes: Mapping[str, Any]) -> None:
    """Translate and write, line by line."""
    lines = _lines(request)
    output = request.output or STDOUT
    refuse_unwritable(output)
    glossary = Glossary.read(request.glossary) if request.glossary else None
    models, lines = (request.models, lines) if request.models else _found_in_the_box(lines)
    translator = load_translator(models, request.engine, request.device, changes, glossary)
    n_best = translator.options.n_best
    with destination(output) as out:
        window = 1 if _typed(request) else WINDOW  # who types a line waits for its translation
        for number, translation in enumerate(translator.stream(lines, window, target_prefix=request.target_prefix), 1):
            out.write("".join(_render(number, translation, n_best, request.as_json)))
            if output == STDOUT:  # line by line: who is killed in between leaves whole lines
                out.flush()
            _warn(number, translation)
            if number % REPORT_EVERY == 0:
                say(f"{number:,} lines{_peak_memory()}")


def _found_in_the_box(lines: Iterable[str]) -> tuple[Sequence[Path], Iterable[str]]:
    """The model in the box that reads the first line that says something, and all the lines."""
    rest, read = iter(lines), list[str]()
    for line in rest:
        read.append(line)
        if line.strip():
            break
    model = bundled_model_for(read[-1] if read else "")
    say(f"{model.name} answers, a small model in the box: {model.limits} `{program()} train` makes your own")
    return [model.folder], chain(read, rest)


def _warn(number: int, translation: Translation) -> None:
    for flag in translation.warnings:
        if flag.kind != "segmented":  # no fault; told in --json
            say(f"dragoman: line {number}: {flag.text}")
    for term in translation.terms:
        if not term.satisfied:
            say(f"dragoman: line {number}: {term.source!r} is not translated with {term.target!r}; see to it by hand")


def _peak_memory() -> str:
    """The most memory that this process has used so far, for a progress line; nothing on Windows."""
    try:
        import resource
    except ImportError:
        return ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return f", peak memory {peak:,} MB"


def changes(options: Sequence[str] | None, **given: Any) -> dict[str, Any]:
    """The keys of [decode] that the command line gives, by flags of their own and as KEY=VALUE. Raises ConfigError."""
    found = {key: value for key, value in given.items() if value is not None}
    for option in options or ():
        key, value = parse_override(option)
        found[key.removeprefix("decode.")] = value
    return found


def load_translator(
    models: Sequence[Path], engine: str, device: str, changes: Mapping[str, Any], glossary: Glossary | None = None
) -> Translator:
    """The translator of a bundle, or of several, with some search options of the first changed (those not None)."""
    bundle, *others = [open_bundle(resolve_model(model)) for model in models]
    options = change_options(bundle.config.decode, changes)
    translator = Translator.of_bundle(bundle, *others, engine=engine, device=device, options=options, glossary=glossary)
    if "torch" in sys.modules:  # the torch engine: logits are megabytes, freed and allocated at every step
        from dragoman.model.device import keep_freed_memory

        keep_freed_memory()
    return translator


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


def refuse_unwritable(output: Path) -> None:
    """Raise DragomanError, before long work, if `destination` could not write."""
    if output != STDOUT:
        refuse_unwritable_file(output)


@contextmanager
def destination(output: Path) -> Iterator[IO[str]]:
    """Where translations go: stdout, or a file that appears only when it is complete.

    Raises DragomanError if the disk refuses.
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
