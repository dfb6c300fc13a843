"""Documents → translated documents: the units of all files in common batches, each file written whole and read again.

    find_sources      files and folders → documents by their formats (`workflows.documents.files`)
    DocumentWork      units → windows of texts that differ → `Translator.translate_inline` → journal on disk
    write             the format's `write` into a file that appears whole, after `check_written` (`document_check`)
    write_review      what a person should look at, as `OUT.review.tsv` and `OUT.review.html`
    (`workflows.documents.review`)

Memory does not grow with the documents: units are read from the file, translations from the journal.
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
from dragoman.documents import DocumentOptions
from dragoman.documents.formats import read_document
from dragoman.errors import ConfigError, DragomanError, check_count, check_type, checked_path
from dragoman.system.files import sha256
from dragoman.text.terms.glossary import GlossaryLike
from dragoman.translator import Translator
from dragoman.version import __version__
from dragoman.workflows.documents.files import Failure, Source, find_sources, is_folder, refuse_targets, target_of
from dragoman.workflows.documents.journal import open_journal, refuse_unfinished
from dragoman.workflows.documents.memory import candidates_of, existing_memory, open_memory
from dragoman.workflows.documents.review import refuse_review, write_review
from dragoman.workflows.documents.work import DocumentWork, Job, TranslatedDocument
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
    """Those that a person should look at."""
    seconds: float
    kept: int = 0
    """Those whose earlier translation was kept (`update`)."""
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
    return run_documents(task, lambda texts: model.to(to, from_, texts), listeners)


def run_documents(
    task: DocumentTask,
    choose: Choose,
    listeners: Iterable[Listener] = (),
    admit: Callable[[int], None] = lambda characters: None,
) -> DocumentsResult:
    """As `translate_documents`; `choose` returns the translator for documents that begin with these texts.

    `admit` is called with the characters of all documents before they are translated; what it raises ends the work.
    """
    started, listener = time.monotonic(), Listeners(listeners)
    if task.memory:
        existing_memory(task.memory)
    sources, left_out = find_sources(task.files, task.output)
    if task.columns and not any(source.kind.module == "table" for source in sources):
        raise ConfigError("columns (--columns): none of the documents is a table, .csv or .tsv; leave it out")
    if task.output is None and (len(task.files) > 1 or task.files[0].is_dir()):
        raise ConfigError("several documents: where their translations go is missing; give -o FOLDER")
    translator, request = _decided(task, choose, sources)
    if task.memory:
        memory = open_memory(task.memory, request.source, request.target)
        translator = translator.with_memory(memory)
        request = replace(request, similar=candidates_of(memory, task.memory_threshold, (one.kind for one in sources)))
    in_folder = task.output is not None and is_folder(task.files, task.output)
    targets = [target_of(one, task.output, in_folder, (request.source, request.target)) for one in sources]
    output = task.output if task.output is not None and in_folder else targets[0]
    if output.name in ("", ".."):  # the journal and the review are next to it, with its name
        output = output.resolve()
    if not output.name:
        raise ConfigError(f"{output}: no folder for translations; give another -o")
    refuse_unfinished(output, resume=task.resume, force=task.force)
    refuse_review(output, force=task.force or task.resume)
    jobs = [Job(one, target) for one, target in zip(sources, targets, strict=True)]
    with open_journal(output, _identity(task, translator), resume=task.resume, force=task.force) as journal:
        renewed = {job.target for job in jobs if task.update and job.source.kind.keyed}
        refuse_targets(sources, targets, None if task.force else journal.written() | renewed)
        alone = len(jobs) == 1 and not left_out
        work = DocumentWork(translator, request, journal, listener, task.max_chars, _options(task), alone)
        files = work.run(jobs, admit)
        review = write_review(output, journal, request)
    return DocumentsResult(
        tuple(files),
        tuple(work.failures),
        sum(one.units for one in files),
        sum(one.flagged for one in files),
        time.monotonic() - started,
        sum(one.kept for one in files),
        work.from_memory,
        review,
        tuple(left_out),
    )


def _decided(task: DocumentTask, choose: Choose, sources: Sequence[Source]) -> tuple[Translator, DocumentOptions]:
    """The translator for these documents, and what their readers and writers are asked for."""
    request = DocumentOptions("und", "und", task.update, task.columns, task.mark)
    translator = choose(_first_texts(sources, request))
    pair = translator.pair
    if pair is None:
        raise ConfigError("target (--to): the documents do not say which pair of the model is meant; give it")
    return translator, replace(request, source=pair.source, target=pair.target or "und")


def _first_texts(sources: Sequence[Source], request: DocumentOptions) -> list[str]:
    """The first texts of the first document that has any; those that cannot be read are reported later."""
    for source in sources:
        with suppress(DragomanError, OSError):
            units = read_document(source.path, source.kind, request).units
            texts = [unit.source.text for unit in islice(units, DECIDING_UNITS)]
            if any(character.isalpha() for text in texts for character in text):
                return texts
    return []


def _identity(task: DocumentTask, translator: Translator) -> dict[str, Any]:
    """What must be the same when the work is resumed, by the name it has in an error."""
    options = task.options or translator.options
    glossary = merge_glossaries(task.glossary, translator.glossary)
    manifest = translator.bundle.manifest if translator.bundle else {}
    return {
        "version of dragoman": __version__,
        "model": hashlib.sha256(json.dumps(manifest, sort_keys=True, default=str).encode()).hexdigest(),
        "glossary": hashlib.sha256(repr(glossary.entries if glossary else ()).encode()).hexdigest(),
        "language": translator.pair.name if translator.pair else "",
        **({"memory": [sha256(task.memory), task.memory_threshold]} if task.memory else {}),
        **{f"decode.{key}": value for key, value in options.model_dump(mode="json").items()},
        **task.identity,
    }


def _options(task: DocumentTask) -> dict[str, Any]:
    """What each call of the translator is asked for."""
    return {"glossary": task.glossary, "options": task.options}
