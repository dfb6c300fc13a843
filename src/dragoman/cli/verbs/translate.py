"""`dragoman translate`: documents, each in its format, or lines, one output for each line in the same order."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.shared import arguments as args
from dragoman.cli.shared.console import as_called, console, facts_of, print_json, say
from dragoman.errors import ConfigError, QualityError, counted
from dragoman.system.processes import sigterm_interrupts

if TYPE_CHECKING:
    from dragoman.translator import Translator
    from dragoman.workflows.documents.documents import DocumentsResult
    from dragoman.workflows.lines.via import PivotTranslator
    from dragoman.workflows.lines.work import BundledTranslators

# The file that stdin may be: `translate < FILE -o FILE` would replace it.
STDIN = Path("/dev/stdin")
# The longest extension of a word that may be the name of a file.
EXTENSION = 5
# Percent of likeness from which similar sources are named.
THRESHOLD = 75
# Documents that are named one by one in the report.
NAMED = 20


@dataclass(frozen=True)
class TranslateOptions:
    """The arguments of the verb."""

    text: Annotated[
        list[str] | None,
        typer.Argument(
            help="Documents or folders, or sentences; none, or -, reads lines from stdin.",
            metavar="FILE|TEXT KEY=VALUE",
        ),
    ] = None
    models: Annotated[
        list[Path] | None,
        typer.Option("--model", "-m", help=f"{args.MODEL_HELP} Several form an ensemble. Default: a bundled model."),
    ] = None
    input: Annotated[Path | None, typer.Option("--input", "-i", help="Read lines from this file.")] = None
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write to this file, - is stdout; for several documents a folder."),
    ] = None
    to: args.To = None
    from_: args.From = None
    via: Annotated[
        str | None,
        typer.Option(help="Lines: through this language, by two models in a row.", metavar="LANGUAGE"),
    ] = None
    beam: args.Beam = None
    n_best: Annotated[int | None, typer.Option(min=1, help="Translations per line, with scores.")] = None
    length_penalty: args.Penalty = None
    glossary: Annotated[Path | None, typer.Option(help=args.GLOSSARY_HELP)] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Copy this text, or what matches /EXPRESSION/; or a file with one a line. Repeatable.",
            metavar="TEXT|FILE",
        ),
    ] = None
    target_prefix: Annotated[str, typer.Option(help="Text that every translation begins with.")] = ""
    confidence: Annotated[
        bool,
        typer.Option("--confidence", help="Add a column: the probability that a person would accept the translation."),
    ] = False
    alignment: Annotated[
        bool,
        typer.Option("--alignment", help="Add a column: which source word each word comes from, as 0-0 1-2."),
    ] = False
    options: args.SearchKeys = None
    engine: args.Engine = "auto"
    device: args.Device = "auto"
    precision: args.Precision = "auto"
    threads: args.Threads = None
    base: args.Base = None
    reverse: args.Reverse = None
    as_json: args.Json = False
    jsonl: Annotated[
        bool,
        typer.Option("--jsonl", help='Read one JSON object per line, with a "text" and options; implied by .jsonl.'),
    ] = False
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the translation to -o FILE that was interrupted.")
    ] = False
    force: Annotated[bool, typer.Option("--force", help="Replace the file of -o if it exists.")] = False
    as_text: Annotated[bool, typer.Option("--text", help="An argument is a sentence even if a file has its name.")] = (
        False
    )
    update: Annotated[
        bool, typer.Option("--update", help="Documents: keep their translations, translate what has none.")
    ] = False
    columns: Annotated[
        str, typer.Option(help="Tables: the columns to translate, by name or number, e.g. title,3.", metavar="NAMES")
    ] = ""
    mark: Annotated[
        bool, typer.Option("--mark", help="Documents: mark translations as unreviewed, as fuzzy in PO.")
    ] = False
    max_chars: Annotated[
        int | None, typer.Option(min=1, help="Documents: the most characters of each translation.")
    ] = None
    memory: args.Memory = None
    memory_threshold: Annotated[
        int | None,
        typer.Option(help="Documents: percent from which similar sources are named, in PO and XLIFF; 75 unless given."),
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 6 on a warning other than `doubtful` and `segmented`.")
    ] = False
    ray: Annotated[
        bool, typer.Option("--ray", help="Lines of -i FILE: on a Ray cluster, to the same bytes as in one process.")
    ] = False
    ray_address: args.RayAddress = None
    shard_lines: Annotated[
        int | None,
        typer.Option(min=1, help="With --ray: lines that a worker gets at a time; about 8,000 unless given."),
    ] = None

    def changes(self, keys: Sequence[str]) -> dict[str, Any]:
        """What is changed of [decode], by `keys` and by options of their own."""
        from dragoman.cli.shared.loading import changes
        from dragoman.text.terms.keep import read_keep

        return changes(
            [*keys, *(self.options or ())],
            beam=self.beam,
            n_best=self.n_best,
            length_penalty=self.length_penalty,
            confidence=self.confidence or None,
            alignment=self.alignment or None,
            keep=read_keep(self.keep) if self.keep else None,
        )

    def identity(self) -> dict[str, Any]:
        """What must be the same when the work is resumed, by the name it has in an error."""
        from dragoman.bundled import bundled_models
        from dragoman.installed import resolve_model
        from dragoman.installed.opening import open_model
        from dragoman.system.files import sha256

        if self.via:
            from dragoman.workflows.lines.via import choose_hops

            folders = [hop.folder for hop in choose_hops(self.via, self.from_, self.to, self.models or ())]
        else:
            folders = [resolve_model(model) for model in self.models or ()]
            folders = folders or [model.folder for model in bundled_models()]
        return {
            "model": [sha256(folder / "bundle.json") for folder in folders],
            **({"reverse model": sha256(open_model(self.reverse).folder / "bundle.json")} if self.reverse else {}),
            "engine, device or precision": [self.engine, self.device, self.precision],
        }


@args.app.command()
@args.verb_of(TranslateOptions)
def translate(options: TranslateOptions) -> None:
    """Translate documents, or lines.

    An argument that names a file is a document, which keeps its format; `dragoman documents` lists them. Of lines there
    are as many in the output as in the input, in the same order; an empty line stays empty. Without -m a bundled model
    that reads the script of the text is used. A key is one of [decode], e.g. decode.method=mbr.
    """
    arguments = options.text or ()
    keys = [argument for argument in arguments if argument.startswith("decode.") and args.split_keys([argument])[1]]
    sentences = [argument for argument in arguments if argument not in keys]
    if not options.as_text:
        args.refuse_mistyped(sentences)
    changes = options.changes(keys)
    files = () if options.as_text or options.input else _documents_among(sentences)
    only_documents = {
        "update": options.update,
        "columns": options.columns,
        "mark": options.mark,
        "max-chars": options.max_chars,
        "memory-threshold": options.memory_threshold is not None,
    }
    only_lines = {
        "n-best": options.n_best,
        "target-prefix": options.target_prefix,
        "confidence": options.confidence,
        "jsonl": options.jsonl,
        "alignment": options.alignment,
        "ray": options.ray,
        "via": options.via,
    }
    if options.via:
        of_one_model = {
            "alignment": options.alignment,
            "confidence": options.confidence,
            "memory": options.memory,
            "ray": options.ray,
            "reverse": options.reverse,
        }
        args.refuse_useless(of_one_model, "two models in a row (--via)")
    if not options.models:
        args.refuse_useless({"reverse": options.reverse}, "the bundled models, which help each other without it")
    if not options.ray:
        of_ray = {"ray-address": options.ray_address, "shard-lines": options.shard_lines}
        args.refuse_useless(of_ray, "one process; add --ray")
    args.refuse_useless(only_lines if files else only_documents, "documents" if files else "lines")
    if files:
        if not options.memory:
            args.refuse_useless(
                {"memory-threshold": options.memory_threshold is not None}, "documents without --memory"
            )
        _translate_documents(options, files, changes)
    else:
        _translate_lines(options, sentences, changes)


def _documents_among(arguments: Sequence[str]) -> tuple[Path, ...]:
    """The arguments as paths if they name files or folders that exist; none if they are text. Raises ConfigError.

    One word that ends as a document's name does, `report.docx`, or that is a path, `./letters`, is a name that was
    mistyped and no sentence. One that may be either, `letters.de` or `example.com`, is text, with a warning.
    """
    from dragoman.documents.formats import SUFFIXES

    exist = [os.path.exists(name) for name in arguments]  # not Path.exists, which fails for a name that is too long
    if not any(exist):
        names = [name for name in arguments if len(name.split()) == 1]
        for name in names:
            if name.lower().endswith((*SUFFIXES, ".jsonl")) or _is_path(name):
                raise ConfigError(f"{name}: no such file; check its name, or give --text if it is a sentence")
        if name := next(filter(_may_be_file, names), ""):
            say(f"dragoman: {name}: no such file, so it is translated as text; --text leaves this warning out")
        return ()
    if not all(exist):
        document, other = arguments[exist.index(True)], arguments[exist.index(False)]
        raise ConfigError(
            f"{other:.80}: no such file, while {document} is one; give documents, or sentences with --text"
        )
    for name in arguments:
        if name.endswith(".jsonl") and not os.path.isdir(name):
            raise ConfigError(f"{name}: lines of JSON, which is no format of documents; give -i {name}")
    return tuple(map(Path, arguments))


def _is_path(word: str) -> bool:
    """Whether a word is surely a path, unlike `and/or`: of this or an outer folder, or of a folder that exists."""
    folder = os.path.dirname(word)
    return word.startswith(("./", "../", "~/")) or (folder.strip("/") != "" and os.path.isdir(folder))


def _may_be_file(word: str) -> bool:
    """Whether a word has a short extension, as the name of a file does; no address of mail or of the web."""
    stem, extension = os.path.splitext(word)
    is_short = 1 < len(extension) <= 1 + EXTENSION and extension[1:].isalnum() and extension.isascii()
    return bool(stem) and is_short and not extension[1:].isdigit() and "@" not in word and "://" not in word


# --- lines -------------------------------------------------------------------------------------------------------


def _translate_lines(options: TranslateOptions, sentences: Sequence[str], changes: dict[str, Any]) -> None:
    """Translate and write, line by line."""
    from dragoman.cli.shared.output import STDOUT, is_stdout, line_output, refuse_output
    from dragoman.cli.shared.progress import LINE_EVERY, LineDisplay
    from dragoman.data.corpus.corpus import decode_lines
    from dragoman.memory import existing_memory
    from dragoman.system.pipe import pipe_lines
    from dragoman.workflows.lines.on_ray import RayCluster
    from dragoman.workflows.lines.partial_output import saved_lines
    from dragoman.workflows.lines.translate import is_jsonl, translate_lines
    from dragoman.workflows.lines.work import BundledTranslators, LineWork
    from dragoman.workflows.listener import Listeners

    source = options.input if options.input and str(options.input) != "-" else None
    output = STDOUT if options.output is None or is_stdout(options.output) else options.output
    jsonl = options.jsonl or bool(source and is_jsonl(source))
    typed = not options.input and sentences in ([], ["-"]) and sys.stdin.isatty()  # by a person, in a terminal
    pipe = pipe_lines(sys.stdin.buffer) if source is None and sentences in ([], ["-"]) and not typed else None
    lines = decode_lines(pipe, "stdin") if pipe else _lines(options, sentences, source, typed)
    if options.ray and not (source and source.is_file()):
        raise ConfigError("--ray: translates the lines of a file; give it as -i FILE, or leave --ray out")
    if options.memory:
        existing_memory(options.memory)
    inputs = [path for path in (source or STDIN, options.glossary, options.memory) if path]
    refuse_output(output, inputs, resume=options.resume, force=options.force)
    shows_progress = not typed and not (output == STDOUT and sys.stdout.isatty())
    display = LineDisplay(shows_progress)
    listener = Listeners([display])
    translators = (_pivot if options.via else _translators)(options, changes, listener.notice)
    if not isinstance(translators, BundledTranslators):
        translators = translators.to(options.to, options.from_)
    elif isinstance(lines, list):
        translators.refuse_unreadable(lines)
    name = str(source or ("text" if isinstance(lines, list) else "stdin"))
    as_json = options.as_json or jsonl
    work = LineWork(translators, name, options.target_prefix, jsonl, as_json, options.memory, listener)
    cluster = None
    if options.ray:
        on_gpu = options.device.startswith("cuda")
        cluster = RayCluster(options.ray_address, options.shard_lines, options.threads, on_gpu)
    with sigterm_interrupts(), display:
        result = translate_lines(
            work,
            lines,
            partial(line_output, output, resume=options.resume, force=options.force),
            source=source,
            identity={
                **options.identity(),
                "language": [options.to, options.from_, *([options.via] if options.via else [])],
            },
            cluster=cluster,
            saved=saved_lines(output) if options.resume else 0,
            one_by_one=typed,
            waits=pipe.waits if pipe else None,
        )
    if shows_progress and (output != STDOUT or console().is_terminal or result.seconds > LINE_EVERY):
        count = result.lines - result.resumed  # a person may have waited for them
        speed = count / max(result.seconds, 1e-9)
        say(f"{counted(count, 'line')} in {result.seconds:,.1f} s, {speed:,.0f} lines/s")
    if options.memory and not typed:
        say(f"from {options.memory}: {counted(result.from_memory, 'line')}")
    if options.strict and result.flagged:
        raise QualityError(f"{counted(result.flagged, 'line')} with a warning, see above; all are written (--strict)")


def _lines(options: TranslateOptions, sentences: Sequence[str], source: Path | None, typed: bool) -> Iterable[str]:
    """The lines to translate: a list of those in the arguments, or those of a file or of stdin as they are read."""
    from dragoman.data.corpus.corpus import decode_lines, read_lines

    if sentences and sentences != ["-"]:
        if options.input:
            raise ConfigError("give sentences or --input, not both")
        return [line for text in sentences for line in text.split("\n")]
    if source:
        return read_lines(source)
    if typed:
        say("reading lines from the terminal; end with Ctrl-D")
    return decode_lines(sys.stdin.buffer, "stdin")


def _translators(
    options: TranslateOptions, changes: dict[str, Any], notice: Callable[[str], None]
) -> "Translator | BundledTranslators":
    """The translator of the models, or else those of the bundled models, which are loaded when they are first used."""
    from dragoman.cli.shared.loading import EngineChoice, load_translator
    from dragoman.config import DecodeConfig
    from dragoman.control.search.request import change_options
    from dragoman.text.terms.tbx import read_glossary
    from dragoman.workflows.lines.work import BundledTranslators

    glossary = read_glossary(options.glossary) if options.glossary else None
    choice = EngineChoice(
        options.engine, options.device, options.precision, options.threads, options.base, options.reverse
    )
    load = partial(load_translator, choice=choice, changes=changes, glossary=glossary)
    if options.models:
        return load(options.models)
    search = change_options(DecodeConfig(), changes)
    return BundledTranslators(load, search, glossary, options.to, options.from_, notice)


def _pivot(options: TranslateOptions, changes: dict[str, Any], notice: Callable[[str], None]) -> "PivotTranslator":
    """The translator of two models at hand, through the language of --via."""
    from dragoman.cli.shared.loading import EngineChoice, load_translator
    from dragoman.text.terms.tbx import read_glossary
    from dragoman.workflows.lines.via import choose_hops, load_route

    route = choose_hops(options.via or "", options.from_, options.to, options.models or ())
    first, second = route
    notice(f"{first.source} → {first.target} → {second.target}, by {first.folder.name} and {second.folder.name}")
    choice = EngineChoice(options.engine, options.device, options.precision, options.threads, options.base)
    load = partial(load_translator, choice=choice, changes=changes)
    return load_route(load, route, glossary=read_glossary(options.glossary) if options.glossary else None)


# --- documents ---------------------------------------------------------------------------------------------------


def _translate_documents(options: TranslateOptions, files: tuple[Path, ...], changes: dict[str, Any]) -> None:
    """Translate and write documents, and report them."""
    from dragoman.cli.shared.output import is_stdout
    from dragoman.cli.shared.progress import Display
    from dragoman.workflows.documents.documents import DocumentTask, run_documents

    if options.output and is_stdout(options.output):
        raise ConfigError("-o -: a document is written to a file, and not to stdout; give -o FILE")
    choose = _chooser(options, changes)  # first of all, as it names a model that is not there
    task = DocumentTask(
        files,
        options.output,
        update=options.update,
        columns=tuple(name.strip() for name in options.columns.split(",") if name.strip()),
        mark=options.mark,
        max_chars=options.max_chars,
        resume=options.resume,
        force=options.force,
        memory=options.memory,
        memory_threshold=THRESHOLD if options.memory_threshold is None else options.memory_threshold,
        identity=options.identity(),
    )
    with sigterm_interrupts(), Display() as display:
        result = run_documents(task, choose, [display])
    _report(result, options)


def _chooser(options: TranslateOptions, changes: dict[str, Any]) -> Callable[[Sequence[str]], "Translator"]:
    """The translator for documents that begin with some texts: of the models, or else a bundled one."""
    from dragoman.translation import Translation
    from dragoman.workflows.lines.work import BundledTranslators

    translators = _translators(options, changes, lambda text: say(as_called(text)))

    def choose(texts: Sequence[str]) -> "Translator":
        if isinstance(translators, BundledTranslators):
            translators.refuse_unreadable(texts)
            bundled = translators("\n".join(texts))
            if isinstance(bundled, Translation):
                raise ConfigError(f"{bundled.warnings[0].text.partition(';')[0]}; give a model with -m MODEL")
            return bundled
        chosen = translators.to(options.to, options.from_, texts)
        if chosen.pair and not translators.pair and options.to is None:
            say(f"{chosen.pair.source} → {chosen.pair.target}, by the letters of the text; --to chooses another")
        return chosen

    return choose


def _report(result: "DocumentsResult", options: TranslateOptions) -> None:
    """What was done; raises the worst failure, or QualityError for warnings with --strict."""
    if options.as_json:
        failures = [{"path": str(failure.path), "error": str(failure.error)} for failure in result.failures]
        facts = {**facts_of(result), "failures": failures}
        print_json({"schema": "dragoman.translate.documents/1", **facts})
    for document in result.files if len(result.files) <= NAMED else ():
        unchanged = f", {document.units_kept:,} of them kept" if document.units_kept else ""
        unchanged += f", {document.units_replaced:,} replaced" if document.units_replaced else ""
        flagged = f", {document.flagged:,} to review" if document.flagged else ""
        say(f"{document.source} → {document.target}: {counted(document.units, 'text')}{unchanged}{flagged}")
    for path in result.left_out[:NAMED]:
        say(f"left out, not a document: {path}")
    if len(result.left_out) > NAMED:
        say(f"and {counted(len(result.left_out) - NAMED, 'other file')}")
    for failure in result.failures:
        say(f"not translated: {failure.error}", style="red")
    done = f"{counted(len(result.files), 'document')}, {counted(result.units, 'text')} in {result.seconds:,.1f} s"
    if len(result.files) > 1:
        say(done)
    if options.memory:
        say(f"from {options.memory}: {counted(result.from_memory, 'text')}")
    if result.review:
        say(f"To review: {counted(result.flagged, 'text')} in {result.review} and {result.review.with_suffix('.html')}")
    if result.failures:
        worst = max((failure.error for failure in result.failures), key=lambda error: error.exit_code)
        failed, total = len(result.failures), len(result.failures) + len(result.files)
        raise type(worst)(f"{failed:,} of {counted(total, 'file')} could not be translated; they are named above")
    if options.strict and (faults := result.flagged - result.doubtful):
        raise QualityError(f"{counted(faults, 'translation')} with a warning (--strict); see {result.review}")
