"""The work on documents: units → windows of texts that differ → translations in the journal → files.

The windows go over the borders of documents. A document is written once its last unit is translated, and read again
before it gets its name.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.control.inline.inline import InlineTranslation
from dragoman.control.languages import other_language
from dragoman.control.search.request import price_of
from dragoman.documents import Document, DocumentOptions, Unit
from dragoman.documents.catalogues.icu_messages import has_branches
from dragoman.documents.core.splice import UnreadableTranslation
from dragoman.documents.formats import load, read_document
from dragoman.engine.resources import window_size
from dragoman.errors import DataError, DragomanError, counted
from dragoman.system.files import atomic_path
from dragoman.text.words.inline import InlineText
from dragoman.text.words.script import script_shares, scripts_of_language
from dragoman.translation import NO_FAULTS, Translation
from dragoman.translator import Translator
from dragoman.workflows.documents.check import check_written
from dragoman.workflows.documents.files import Failure, Source
from dragoman.workflows.documents.journal import Finished, FlaggedUnit, Journal, key_of
from dragoman.workflows.documents.messages import branched
from dragoman.workflows.documents.writing import write_readable
from dragoman.workflows.listener import Listeners, Progress

# Texts translated together at first, on a CPU.
FIRST_WINDOW = 64
# Bytes of several documents that stay in memory after they were counted, and while they wait to be written.
KEPT_BYTES = 1 << 25


@dataclass(frozen=True, slots=True)
class TranslatedDocument:
    """A document that was translated."""

    source: Path
    target: Path
    units: int
    flagged: int
    """Units that a person should look at."""
    doubtful: int = 0
    """Of them, those that have no fault but are probably wrong."""
    characters: int = 0
    """Of the source: those of all its units."""
    units_kept: int = 0
    """Units whose earlier translation was kept (`update`)."""
    units_replaced: int = 0
    """Units of which the document had a translation, and has another now."""


# Why a text stays in the language of the source: kind and text of the warning.
STAYS = ("format", "not translated, because the file could not be read again with this translation")
NO_MESSAGE = ("format", "not translated, because it is a message with branches that cannot be read or written again")
WORDLESS = ("empty", "the translation has no words")
EARLIER_STAYS = ("empty", "the translation has no words; the earlier one stays")

_WORD = re.compile(r"[^\W\d_]+")
# The number of an entry of a list, as JSON and YAML name their units, and as Android does.
_ENTRY, _ITEM = re.compile(r"\[(\d{1,9})\]"), re.compile(r" (\d{1,9})$")

# Size and time of a file.
FileState = tuple[int, int]


@dataclass(slots=True)
class DocumentJob:
    """A document to translate, and the file for its translation."""

    source: Source
    target: Path
    document: Document | None = None
    """The source as it was read, until it is written: it is parsed once."""
    state: FileState = (0, 0)
    """Of the source when it was first read."""
    units: int = 0
    characters: int = 0
    units_kept: int = 0
    earlier: Mapping[tuple[str, int], InlineText] = field(default_factory=dict)
    """Of an earlier translation that is brought up to date: its texts by their keys."""


class DocumentWork:
    """Translates jobs. `failures` are of those that could not be; if the job is `alone`, its error is raised."""

    def __init__(
        self,
        translator: Translator,
        request: DocumentOptions,
        journal: Journal,
        listener: Listeners,
        max_chars: int | None,
        options: Mapping[str, Any],
        alone: bool,
        force: bool = False,
    ) -> None:
        self.translator, self.request, self.journal, self.listener = translator, request, journal, listener
        self.max_chars, self.options, self.alone, self.force = max_chars, options, alone, force
        self.failures: list[Failure] = []
        self.files: list[TranslatedDocument] = []
        self._scripts = scripts_of_language(request.source)
        self._window: dict[bytes, Unit] = {}
        self._most = window_size(translator.engine, translator.options, FIRST_WINDOW)
        self._size, self._characters, self._has_started = self._most.first, 0, False
        self._seen = self._total = self._bytes = 0
        self._budget: int | None = None
        self.from_memory = 0
        """Texts whose translation is from a memory."""

    def run(self, jobs: Sequence[DocumentJob], admit: Callable[[int], None]) -> list[TranslatedDocument]:
        """Translate and write all of them; the result lists those that were written. `admit`: see `run_documents`."""
        self.journal.forget_review()
        self._budget = KEPT_BYTES if len(jobs) > 1 else None
        ready = [job for job in self.listener.follow(jobs, "reading", "documents", len(jobs)) if self._count(job)]
        admit(sum(job.characters for job in ready))
        self._total = sum(job.units for job in ready)
        if price := price_of(self.translator.engine, self.translator.options, self._total):
            self.listener.on_warning(price)
        if self.journal.count:
            self.listener.notice(f"continuing after {self.journal.count:,} texts")
        waiting: list[DocumentJob] = []
        for job in ready:
            failed = len(self.failures)
            for unit, earlier in _with_earlier(job, self._units(job)):
                self._take(unit, earlier)
                job.units_kept += earlier is not None
            if len(self.failures) == failed:
                waiting.append(job)
            if not self._window or sum(job.state[0] for job in waiting) > KEPT_BYTES:
                self._finish(waiting)
        self._finish(waiting)
        return self.files

    def _finish(self, waiting: list[DocumentJob]) -> None:
        """Translate what is in the window, and write the documents that wait for it."""
        self._translate()
        while waiting:
            self._write(waiting.pop(0))

    def _open(self, job: DocumentJob) -> Document:
        """The document, which stays in memory until it is written."""
        if job.document is None:
            job.document = read_document(job.source.path, job.source.kind, self.request)
        return job.document

    def _count(self, job: DocumentJob) -> bool:
        """Read all units of a document; whether it can be translated."""
        path = job.source.path
        try:
            if job.document is None:
                job.state = file_state(path)
            document = self._open(job)
            if self.request.update and job.source.kind.keyed and job.target.exists():
                units = read_document(job.target, job.source.kind, self.request).units
                job.earlier = {key: unit.label or unit.source for key, unit in _numbered(units)}
            translatable = 0
            for unit in document.units:
                job.units += 1
                job.characters += len(unit.source.text)
                translatable += is_translatable(unit, self._scripts)
            if not translatable and not self.request.update:
                raise DataError(f"{path}: there is nothing to translate in it{self._letters(document)}")
            if moved := _moved_list(job, document.units):
                self.listener.on_warning(f"{path}: {moved}")
            if not self.force:
                _refuse_other_language(path, document.units, self.request)
        except (DragomanError, OSError) as error:
            self._fail(job, error)
            return False
        for notice in document.notices:
            self.listener.on_warning(f"{path}: {notice}")
        self._bytes += job.state[0]
        if self._budget is not None and self._bytes > self._budget:
            job.document = None  # it is parsed again when its turn comes
        return True

    def _letters(self, document: Document) -> str:
        """The letters of a document that has nothing to translate, if it has letters."""
        other = other_language((unit.source.visible for unit in document.units), self.request.source, "und")
        return f": the texts are in {other}, the model reads {self.request.source}" if other else ""

    def _units(self, job: DocumentJob) -> Iterator[Unit]:
        """The units of a document; an error is that of the document."""
        try:
            yield from self._open(job).units
        except (DragomanError, OSError) as error:
            self._fail(job, error)

    def _fail(self, job: DocumentJob, error: DragomanError | OSError) -> None:
        path, job.document = job.source.path, None
        if isinstance(error, OSError):
            error = DragomanError(f"{error.filename or path}: {error.strerror or error}")
        if self.alone:
            raise error
        self.failures.append(Failure(path, error))

    def _limit(self, unit: Unit) -> int | None:
        return min((limit for limit in (unit.max_length, self.max_chars) if limit is not None), default=None)

    def _take(self, unit: Unit, earlier: InlineText | None) -> None:
        """Put a unit into the window, unless its text is translated or waits there already."""
        self._seen += 1
        for part in _parts(unit) if earlier is None else ():
            if is_translatable(part, self._scripts):
                key = key_of(part, self._limit(part))
                if key not in self._window and not self.journal.has(key):
                    self._window[key] = part
                    self._characters += len(part.source.text)
        if len(self._window) >= self._size or self._characters >= self._most.characters:
            self._translate()

    def _translate(self) -> None:
        if self._window:
            units = list(self._window.values())
            if not self._has_started:
                self.listener.on_progress(Progress("translating", self._seen - len(units), self._total, "texts"))
            self._has_started = True
            results = self.translator.translate_inline(
                [unit.source for unit in units],
                patterns=[unit.patterns for unit in units],
                max_lengths=[self._limit(unit) for unit in units],
                **self.options,
            )
            self.from_memory += sum(result.translation.match is not None for result in results)
            finished = map(_with_warnings, results)
            self.journal.add(zip(self._window, finished, strict=True))
            self._window, self._characters = {}, 0
            self._size = min(2 * self._size, self._most.lines)
        self.listener.on_progress(Progress("translating", self._seen, self._total, "texts"))

    def _translations(self, job: DocumentJob, document: Document) -> Iterator[tuple[Unit, Finished]]:
        """Each unit with its translation; what is not translated stays as it is."""
        for unit, earlier in _with_earlier(job, document.units):
            if earlier is not None:
                yield unit, Finished(earlier)
            else:
                yield unit, self._message(unit) if _is_message(unit) else self._finished(unit)

    def _finished(self, unit: Unit) -> Finished:
        """A new translation; without one, or without words in it, the one that the document has, or the source."""
        key = key_of(unit, self._limit(unit))
        finished = self.journal.get(key) if is_translatable(unit, self._scripts) else None
        if finished and unit.existing and WORDLESS in finished.why:
            why = tuple(EARLIER_STAYS if reason == WORDLESS else reason for reason in finished.why)
            return replace(finished, inline=unit.existing, why=why)
        return finished or Finished(unit.existing or unit.source)

    def _message(self, unit: Unit) -> Finished:
        """A message of the translations of its branches; one that does not parse stays."""
        message = branched(unit)
        parts = list(map(self._finished, message.units)) if message else []
        inline = message.assembled([part.inline for part in parts]) if message else None
        if inline is None:
            return Finished(unit.existing or unit.source, (NO_MESSAGE,))
        return Finished(inline, tuple(dict.fromkeys(why for part in parts for why in part.why)))

    def _write(self, job: DocumentJob) -> None:
        """Write a document, read it again, and give it its name."""
        source = job.source
        try:
            document = self._open(job)
            with atomic_path(job.target) as path:
                left = self._write_texts(path, job, document)
                if file_state(source.path) != job.state:
                    raise DataError(f"{source.path}: changed while it was translated; translate it again")
        except (DragomanError, OSError) as error:
            self.journal.keep = self.journal.keep or not isinstance(error, DataError)
            self._fail(job, error)
            return
        finally:
            job.document = None
        rows = list(self._rows(job, document, left))
        replaced = sum(
            unit.existing is not None and unit.existing.text != finished.inline.text
            for unit, finished in self._translations(job, document)
        )
        self.journal.add_file(job.target, rows)
        doubtful = sum(all(kind in NO_FAULTS for kind, _ in row.why) for row in rows)
        sizes = {"characters": job.characters, "units_kept": job.units_kept, "units_replaced": replaced}
        done = TranslatedDocument(source.path, job.target, job.units, len(rows), doubtful, **sizes)
        self.files.append(done)

    def _write_texts(self, path: Path, job: DocumentJob, document: Document) -> Collection[int]:
        """Write a document; the numbers of the units that stay, because the file would be wrong with them."""
        kind, texts = job.source.kind, partial(self._texts, job, document)
        request = replace(self.request, suffix=job.target.suffix.lower())

        def write(texts: Callable[[], Iterable[InlineText | None]]) -> None:
            document.remarks.clear()
            with path.open("wb") as file:
                load(kind).write(document, texts(), request, file)
            if not kind.checked:
                check_written(path, kind, request, document, texts())

        try:
            write(texts)
        except UnreadableTranslation:
            return write_readable(write, document, list(texts()))
        return ()

    def _texts(self, job: DocumentJob, document: Document) -> Iterator[InlineText]:
        return (finished.inline for _, finished in self._translations(job, document))

    def _rows(self, job: DocumentJob, document: Document, left: Collection[int]) -> Iterator[FlaggedUnit]:
        """What a person should look at: warnings of translations, remarks of the writer, the units that were `left`."""
        remarks: dict[str, list[tuple[str, str]]] = {}
        for remark in document.remarks:
            location, _, text = remark.partition(": ")
            remarks.setdefault(location, []).append(("format", text or location))
        for number, (unit, finished) in enumerate(self._translations(job, document)):
            stays = (STAYS,) if number in left else ()
            if why := (*finished.why, *stays, *remarks.pop(unit.location, ())):
                yield FlaggedUnit(str(job.source.name), unit.location, unit.source.text, finished.inline.text, why)
        for location, texts in remarks.items():
            yield FlaggedUnit(str(job.source.name), location, "", "", tuple(texts))


def _numbered(units: Iterable[Unit]) -> Iterator[tuple[tuple[str, int], Unit]]:
    """Each unit with its location and its number among those with that location."""
    seen: Counter[str] = Counter()
    for unit in units:
        yield (unit.location, seen[unit.location]), unit
        seen[unit.location] += 1


def _moved_list(job: DocumentJob, units: Iterable[Unit]) -> str:
    """What to say of a list that is longer or shorter than in the earlier translation; "" if there is none."""
    if not job.earlier:
        return ""
    entry = _ITEM if job.source.kind.name == "Android strings" else _ENTRY
    now = _lengths(entry, (unit.location for unit in units))
    before = _lengths(entry, (location for location, _ in job.earlier))
    names = [name for name, length in now.items() if before.get(name, length) != length]
    if not names:
        return ""
    name = repr(names[0]) if names[0] else "of the file"
    more = f" (and {counted(len(names) - 1, 'other list')})" if len(names) > 1 else ""
    lengths = f"{now[names[0]]:,} entries, and {before[names[0]]:,} in the earlier translation"
    return f"the list {name}{more} has {lengths}; they are kept by their places: check them"


def _lengths(entry: re.Pattern[str], locations: Iterable[str]) -> dict[str, int]:
    """How many entries the lists have whose entries these locations number."""
    lengths = dict[str, int]()
    for location in locations:
        for match in entry.finditer(location):
            name = location[: match.start()]
            lengths[name] = max(lengths.get(name, 0), 1 + int(match[1]))
    return lengths


def _with_earlier(job: DocumentJob, units: Iterable[Unit]) -> Iterator[tuple[Unit, InlineText | None]]:
    """Each unit with its earlier translation, if it has one: not the source itself, and with the same codes."""
    if not job.earlier:  # nothing is counted, so that memory does not grow
        yield from ((unit, None) for unit in units)
        return
    for key, unit in _numbered(units):
        earlier, source = job.earlier.get(key), unit.source
        is_new = earlier and earlier.text not in (source.text, (unit.label or source).text)
        is_translation = is_new and earlier and earlier.counted_codes == source.counted_codes
        yield unit, earlier if is_translation else None


def _is_message(unit: Unit) -> bool:
    """Whether a unit is an ICU message with branches that its format has not read."""
    return "{" in unit.source.text and has_branches(unit.source.text)


def _refuse_other_language(where: object, units: Iterable[Unit], request: DocumentOptions) -> None:
    """Raise DataError if the texts are in another language than the source, and not in the target's already."""
    if other := other_language((unit.source.visible for unit in units), request.source, request.target):
        remedy = "give a model of that language, or --force"
        raise DataError(f"{where}: the texts are in {other}, the model reads {request.source}; {remedy}")


def _parts(unit: Unit) -> Sequence[Unit]:
    """What is translated of a unit by itself: the unit, or the branches of a message."""
    if not _is_message(unit):
        return (unit,)
    message = branched(unit)
    return message.units if message else ()


def is_translatable(unit: Unit, source: frozenset[str]) -> bool:
    """Whether a unit has a word, and a letter of a script that the source is written in, or of an unknown one.

    One letter alone, such as the name of a column, is no word where letters have capitals.
    """
    text = unit.source.text if _is_message(unit) else unit.source.visible
    scripts = script_shares(text).keys()
    if not scripts or (source and not scripts & {*source, "Zyyy"}):
        return False
    return any(len(word) > 1 or word.lower() == word.upper() for word in _WORD.findall(text))


def _with_warnings(result: InlineTranslation) -> Finished:
    """A translation with its warnings, one more if the model left nothing but what is copied."""
    why = _why(result.translation)
    from_memory = result.translation.match is not None
    return Finished(
        result.inline, why if from_memory or any(map(str.isalnum, result.inline.visible)) else (*why, WORDLESS)
    )


def _why(translation: Translation) -> tuple[tuple[str, str], ...]:
    """The warnings of a translation that a person should see."""
    flags = [(flag.kind, flag.text) for flag in translation.warnings if flag.kind != "segmented"]  # which is no fault
    terms = [
        ("term", f"{term.source!r} is not translated as {term.target!r}")
        for term in translation.terms
        if not term.satisfied
    ]
    return (*flags, *terms)


def file_state(path: Path) -> FileState:
    """Size and time of a file, by which a change is noticed. Raises OSError."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns
