"""`dragoman translate FILE… -o OUT` and `dragoman documents`: documents, their formats, and what was done with them."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dragoman.cli.bundled import BundledTranslators
from dragoman.cli.console import print_json, program, say
from dragoman.cli.loading import EngineChoice, load_translator
from dragoman.cli.output import is_stdout
from dragoman.cli.progress import Display
from dragoman.documents.formats import KINDS, SUFFIXES
from dragoman.errors import ConfigError, QualityError, counted
from dragoman.installed import resolve_model
from dragoman.system.files import sha256
from dragoman.system.processes import sigterm_interrupts
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.tbx import TermBase, read_glossary
from dragoman.translation import Translation
from dragoman.translator import Translator
from dragoman.workflows.documents.documents import DocumentsResult, DocumentTask, run_documents

# Documents that are named one by one in the report.
NAMED = 20
KEEPS = {"bytes": "every byte around the text", "tree": "everything around the text, as its parser reads it"}


@dataclass(frozen=True)
class DocumentsRequest:
    """What the command line asked for."""

    models: Sequence[Path]  # none: a bundled model
    files: tuple[Path, ...]
    output: Path | None
    glossary: Path | None
    engine: EngineChoice
    as_json: bool
    to: str | None = None
    from_: str | None = None
    update: bool = False
    columns: tuple[str, ...] = ()
    mark: bool = False
    max_chars: int | None = None
    strict: bool = False
    resume: bool = False
    force: bool = False
    memory: Path | None = None
    memory_threshold: int = 75


def documents_among(arguments: Sequence[str]) -> tuple[Path, ...]:
    """The arguments as paths if they name files or folders that exist; none if they are text. Raises ConfigError.

    One word that ends as a document's name does, `report.docx`, is a name that was mistyped and no sentence.
    """
    exist = [os.path.exists(one) for one in arguments]  # not Path.exists, which fails for a name that is too long
    if not any(exist):
        for one in arguments:
            if one.lower().endswith(SUFFIXES) and len(one.split()) == 1:
                raise ConfigError(f"{one}: no such file; check its name, or give --text if it is a sentence")
        return ()
    if not all(exist):
        document, other = arguments[exist.index(True)], arguments[exist.index(False)]
        raise ConfigError(
            f"{other:.80}: no such file, while {document} is one; give documents, or sentences with --text"
        )
    for one in arguments:
        if one.endswith(".jsonl") and not os.path.isdir(one):
            raise ConfigError(f"{one}: lines of JSON, which is no format of documents; give -i {one}")
    return tuple(map(Path, arguments))


def run_translate_documents(request: DocumentsRequest, changes: Mapping[str, Any]) -> None:
    """Translate and write documents, and report them."""
    if request.output and is_stdout(request.output):
        raise ConfigError("-o -: a document is written to a file, and not to stdout; give -o FILE")
    glossary = read_glossary(request.glossary) if request.glossary else None
    choice = request.engine
    choose = _chooser(request, changes, glossary)  # first of all, as it names a model that is not there
    task = DocumentTask(
        request.files,
        request.output,
        update=request.update,
        columns=request.columns,
        mark=request.mark,
        max_chars=request.max_chars,
        resume=request.resume,
        force=request.force,
        memory=request.memory,
        memory_threshold=request.memory_threshold,
        identity={
            "model": [sha256(resolve_model(model) / "bundle.json") for model in request.models],
            "engine, device or precision": [choice.engine, choice.device, choice.precision],
        },
    )
    with sigterm_interrupts(), Display() as display:
        result = run_documents(task, choose, [display])
    _report(result, request)


def _chooser(
    request: DocumentsRequest, changes: Mapping[str, Any], glossary: Glossary | TermBase | None
) -> Callable[[Sequence[str]], Translator]:
    """The translator for documents that begin with some texts: of the models, or else a bundled one."""
    if request.models:
        translator = load_translator(request.models, request.engine, changes, glossary)

        def of_models(texts: Sequence[str]) -> Translator:
            chosen = translator.to(request.to, request.from_, texts)
            if chosen.pair and not translator.pair and request.to is None:
                say(f"{chosen.pair.source} → {chosen.pair.target}, by the letters of the text; --to chooses another")
            return chosen

        return of_models
    bundled = BundledTranslators(request.engine, changes, glossary, request.to, request.from_)

    def of_bundled(texts: Sequence[str]) -> Translator:
        bundled.refuse_unreadable(texts)
        chosen = bundled("\n".join(texts))
        if isinstance(chosen, Translation):
            raise ConfigError(f"{chosen.warnings[0].text.partition(';')[0]}; give a model with -m MODEL")
        return chosen

    return of_bundled


def _report(result: DocumentsResult, request: DocumentsRequest) -> None:
    """What was done; raises the worst failure, or QualityError for warnings with --strict."""
    if request.as_json:
        print_json(_facts(result))
    for one in result.files if len(result.files) <= NAMED else ():
        kept = f", {one.units_kept:,} of them kept" if one.units_kept else ""
        flagged = f", {one.flagged:,} to review" if one.flagged else ""
        say(f"{one.source} → {one.target}: {counted(one.units, 'text')}{kept}{flagged}")
    for path in result.left_out[:NAMED]:
        say(f"left out, not a document: {path}")
    if len(result.left_out) > NAMED:
        say(f"and {counted(len(result.left_out) - NAMED, 'other file')}")
    for failure in result.failures:
        say(f"not translated: {failure.error}", style="red")
    done = f"{counted(len(result.files), 'document')}, {counted(result.units, 'text')} in {result.seconds:,.1f} s"
    if len(result.files) > 1:
        say(done)
    if request.memory:
        say(f"from {request.memory}: {counted(result.from_memory, 'text')}")
    if result.review:
        say(f"To review: {counted(result.flagged, 'text')} in {result.review} and {result.review.with_suffix('.html')}")
    if result.failures:
        worst = max((failure.error for failure in result.failures), key=lambda error: error.exit_code)
        failed, total = len(result.failures), len(result.failures) + len(result.files)
        raise type(worst)(f"{failed:,} of {counted(total, 'file')} could not be translated; they are named above")
    if request.strict and result.flagged:
        raise QualityError(f"{counted(result.flagged, 'translation')} with a warning (--strict); see {result.review}")


def _facts(result: DocumentsResult) -> dict[str, Any]:
    failures = [{"path": str(one.path), "error": str(one.error)} for one in result.failures]
    facts = {**asdict(result), "files": [asdict(one) for one in result.files], "failures": failures}
    return {"schema": "dragoman.translate.documents/1", **facts}


def run_list(as_json: bool) -> None:
    """Print the formats of documents: data, so stdout."""
    if as_json:
        kinds = [
            {"name": one.name, "suffixes": one.suffixes, "keeps": one.keeps, "extra": _extra(one.needs) or None}
            for one in KINDS
        ]
        print_json({"schema": "dragoman.documents/1", "formats": kinds})
        return
    rows = [("format", "file names", "what stays", "needs")]
    rows += [(one.name, " ".join(one.suffixes), KEEPS.get(one.keeps, one.keeps), _extra(one.needs)) for one in KINDS]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    say(f"`{program()} translate FILE -o OUT` translates one; `{program()} translate FOLDER -o FOLDER` all below it.")


def _extra(needs: bool) -> str:
    return "dragoman[documents]" if needs else ""
