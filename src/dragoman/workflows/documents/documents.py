"""Documents → translated documents: the units of all files in common batches, each file written whole and read again.

    find_sources      files and folders → documents by their formats (`workflows.documents.files`)
    DocumentWork      units → windows of texts that differ → `Translator.translate_inline` → journal on disk
    write             the format's `write` into a file that appears whole, after `check_written`
    write_review      what a person should look at, as `OUT.review.tsv` and `OUT.review.html`
    (`workflows.documents.review`)

A document is parsed once to be translated and once to be checked: `DocumentJob.document` keeps it until it is written.
Where there is much to translate, documents that wait are parsed again when their turn comes, so that memory does not
grow with their number; translations are read from the journal.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from dragoman.config import DecodeConfig
from dragoman.control.search.request import merge_glossaries
from dragoman.documents import Document, DocumentOptions
from dragoman.documents.formats import read_document
from dragoman.errors import ConfigError, DragomanError, check_count, check_type, checked_path
from dragoman.memory import existing_memory
from dragoman.system.files import sha256
from dragoman.text.terms.glossary import GlossaryLike
from dragoman.translator import Translator
from dragoman.version import __version__
from dragoman.workflows.documents.files import Failure, Source, find_sources, is_folder, refuse_targets, target_of
from dragoman.workflows.documents.journal import open_journal, refuse_unfinished
from dragoman.workflows.documents.memory import candidates_of, open_memory
from dragoman.workflows.documents.review import refuse_review, write_review
from dragoman.workflows.documents.work import DocumentJob, DocumentWork, FileState, TranslatedDocument, file_state
from dragoman.workflows.listener import Listener, Listeners

# Units of the first document from which the languages are decided.
DECIDING_UNITS = 200

Choose = Callable[[Sequence[str]], Translator]


@dataclass(frozen=True, slots=True)
class DocumentsResult:
    """What was translated, and what was not."""

    files: tuple[TranslatedDocument, ...]
    failures: tuple[Failure, ...]
    """Files that could not be read or written, where there were others."""
    units: int
    """Pieces of text in all documents that were written."""
    flagged: int
    """Units that a person should look at."""
    doubtful: int
    """Of them, those that have no fault but are probably wrong."""
    seconds: float
    units_kept: int = 0
    """Units whose earlier translation was kept (`update`)."""
    units_replaced: int = 0
    """Units of which a document had a translation, and has another now."""
    from_memory: int = 0
    """Texts, each counted once, whose translation is from the memory."""
    review: Path | None = None
    """The table of flagged units, with an HTML page of the same name; None if nothing is flagged."""
    left_out: tuple[Path, ...] = ()
    """Files of folders that are no documents, such as pictures."""


@dataclass(frozen=True, slots=True)
class DocumentTask:
    """What is asked for: documents, where their translations go, and how."""

    files: tuple[Path, ...]
    output: Path | None = None
    glossary: GlossaryLike | None = None
    options: DecodeConfig | None = None
    update: bool = False
    columns: tuple[str, ...] = ()
    mark: bool = False
    max_chars: int | None = None
    resume: bool = False
    force: bool = False
    memory: Path | None = None
    memory_threshold: int = 75
    identity: Mapping[str, Any] = field(default_factory=dict)
    """What more must be the same when the work is resumed, by name."""


def translate_documents(
    translator: Translator | str | PathLike[str],
    files: str | PathLike[str] | Iterable[str | PathLike[str]],
    output: str | PathLike[str] | None = None,
    *,
    to: str | None = None,
    from_: str | None = None,
    glossary: GlossaryLike | None = None,
    options: DecodeConfig | None = None,
    update: bool = False,
    columns: Sequence[str] = (),
    mark: bool = False,
    max_chars: int | None = None,
    resume: bool = False,
    force: bool = False,
    memory: str | PathLike[str] | None = None,
    memory_threshold: int = 75,
    listeners: Iterable[Listener] = (),
) -> DocumentsResult:
    """Translate documents and folders of them, each by its format; all that is no text stays.

    `translator` is one, a folder, or the name of a model; `to` and `from_` choose a pair of languages of several.
    `output` is a file, or a folder for several documents; None: next to the one source, with the language in its name.
    `update` keeps the translations that a document has, `columns` are those of a table to translate, `mark` marks what
    is written as unreviewed where the format can, `max_chars` is the most characters of each translation. `resume`
    continues work that was interrupted; `force` starts it again and replaces files that exist. A `memory` (`.db`,
    `.tmx`, `.tsv`, …) is asked before the engine, and of sources that are similar by `memory_threshold` percent PO and
    XLIFF name the translations.

    Raises ConfigError for a wrong request, DataError for one file that cannot be translated; of several files the
    others are translated, and the result lists the failures.
    """
    model = (
        translator if isinstance(translator, Translator) else Translator.load(checked_path("translator", translator))
    )
    check_type("files", files, str | PathLike | Iterable, "documents or folders")
    named = [files] if isinstance(files, str | PathLike) else list(files)
    if not named:
        raise ConfigError("files: an empty list; give documents or folders")
    if max_chars is not None:
        check_count("max_chars", max_chars)
    check_type("columns", columns, tuple | list, "a list of names")
    task = DocumentTask(
        tuple(checked_path("files", path) for path in named),
        None if output is None else checked_path("output", output),
        glossary,
        options,
        update,
        tuple(columns),
        mark,
        max_chars,
        resume,
        force,
        None if memory is None else checked_path("memory", memory),
        memory_threshold,
    )
    if model.pair is not None if to is None and from_ is None else len(model.pairs.matching(to, from_)) == 1:
        return run_documents(task, model.to(to, from_), listeners)
    return run_documents(task, lambda texts: model.to(to, from_, texts), listeners)


def run_documents(
    task: DocumentTask,
    translator: Translator | Choose,
    listeners: Iterable[Listener] = (),
    admit: Callable[[int], None] = lambda characters: None,
) -> DocumentsResult:
    """Translate the documents of `task` with `translator`, or with the one that it returns for their first texts.

    `admit` is called with the characters of all documents before they are translated; what it raises ends the work.
    Raises ConfigError and DataError as `translate_documents`.
    """
    started, listener = time.monotonic(), Listeners(listeners)
    if task.memory:
        existing_memory(task.memory)
    sources, left_out = find_sources(task.files, task.output)
    if task.columns and not any(source.kind.name == "table" for source in sources):
        raise ConfigError("columns (--columns): none of the documents is a table, .csv or .tsv; leave it out")
    if task.output is None and (len(task.files) > 1 or task.files[0].is_dir()):
        raise ConfigError("several documents: where their translations go is missing; give -o FOLDER")
    request = DocumentOptions("und", "und", task.update, task.columns, task.mark)
    first = _First()
    if not isinstance(translator, Translator):
        first = _first_document(sources, request)
        translator = translator(first.texts)
    request = _in_languages(request, translator)
    if task.memory:
        memory = open_memory(task.memory, request.source, request.target)
        translator = translator.with_memory(memory)
        request = replace(
            request, similar=candidates_of(memory, task.memory_threshold, (source.kind for source in sources))
        )
    in_folder = task.output is not None and is_folder(task.files, task.output)
    targets = [target_of(source, task.output, in_folder, (request.source, request.target)) for source in sources]
    output = task.output if task.output is not None and in_folder else targets[0]
    if output.name in ("", ".."):  # the journal and the review are next to it, with its name
        output = output.resolve()
    if not output.name:
        raise ConfigError(f"{output}: no folder for translations; give another -o")
    refuse_unfinished(output, resume=task.resume, force=task.force)
    refuse_review(output, force=task.force or task.resume)
    jobs = [DocumentJob(source, target) for source, target in zip(sources, targets, strict=True)]
    for job in jobs:
        if job.source == first.source:
            job.document, job.state = first.document, first.state
    with open_journal(output, _identity(task, translator), resume=task.resume, force=task.force) as journal:
        renewed = {job.target for job in jobs if task.update and job.source.kind.keyed}
        refuse_targets(sources, targets, None if task.force else journal.written() | renewed)
        alone = len(jobs) == 1 and not left_out
        options = {"glossary": task.glossary, "options": task.options}
        work = DocumentWork(translator, request, journal, listener, task.max_chars, options, alone, task.force)
        files = work.run(jobs, admit)
        review = write_review(output, journal, request)
    return DocumentsResult(
        tuple(files),
        tuple(work.failures),
        sum(file.units for file in files),
        sum(file.flagged for file in files),
        sum(file.doubtful for file in files),
        time.monotonic() - started,
        sum(file.units_kept for file in files),
        sum(file.units_replaced for file in files),
        work.from_memory,
        review,
        tuple(left_out),
    )


@dataclass(frozen=True, slots=True)
class _First:
    """The first document that has text, by which the languages are decided."""

    texts: list[str] = field(default_factory=list)
    source: Source | None = None
    document: Document | None = None
    """None if it must be read again, for the languages."""
    state: FileState = (0, 0)


def _first_document(sources: Sequence[Source], request: DocumentOptions) -> _First:
    """The first document with letters; those that cannot be read are reported later."""
    for source in sources:
        with suppress(DragomanError, OSError):
            state = file_state(source.path)
            document = read_document(source.path, source.kind, request)
            texts = [unit.source.text for unit in islice(document.units, DECIDING_UNITS)]
            if any(character.isalpha() for text in texts for character in text):
                return _First(texts, source, None if source.kind.by_language else document, state)
    return _First()


def _in_languages(request: DocumentOptions, translator: Translator) -> DocumentOptions:
    """The request with the languages of the translator. Raises ConfigError if it has several pairs."""
    if translator.pair is None:
        raise ConfigError("target (--to): the documents do not say which pair of the model is meant; give it")
    return replace(request, source=translator.pair.source, target=translator.pair.target or "und")


def _identity(task: DocumentTask, translator: Translator) -> dict[str, Any]:
    """What must be the same when the work is resumed, by the name it has in an error."""
    options = task.options or translator.options
    glossary = merge_glossaries(task.glossary, translator.glossary)
    used = [model for model in (translator, translator.reverse) if model]
    manifests = [model.bundle.manifest if model.bundle else {} for model in used]
    return {
        "version of dragoman": __version__,
        "model": hashlib.sha256(json.dumps(manifests, sort_keys=True, default=str).encode()).hexdigest(),
        "glossary": hashlib.sha256(repr(glossary.entries if glossary else ()).encode()).hexdigest(),
        "language": translator.pair.name if translator.pair else "",
        **({"memory": [sha256(task.memory), task.memory_threshold]} if task.memory else {}),
        **{f"decode.{key}": value for key, value in options.model_dump(mode="json").items()},
        **task.identity,
    }
