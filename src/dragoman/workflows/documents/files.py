"""Which documents are translated, and into which files: names given by a person → sources and their targets.

A folder means every file below it, apart from hidden ones and those by which Office marks what is open. `-o FOLDER`
keeps the names below the folder that was given; without `-o` a document is written next to its source with the target
language in its name: `report.ko.docx`.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.documents.formats import Kind, kind_of, refuse_other_content
from dragoman.errors import ConfigError, DataError, DragomanError, counted
from dragoman.text.words.language import primary_language

# How the name of a file begins that Office writes next to a document while someone has it open: `~$report.docx`.
_OPEN = "~$"


@dataclass(frozen=True, slots=True)
class Source:
    """A document to translate, its format, and its name in a folder of outputs."""

    path: Path
    kind: Kind
    name: Path


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that was not translated, and why."""

    path: Path
    error: DragomanError


def find_sources(files: Sequence[Path], output: Path | None) -> tuple[list[Source], list[Path]]:
    """The documents among files and folders, and the files of folders that are none.

    Raises DataError for a file that was named itself and is no document, ConfigError if there is none at all.
    """
    sources, others = [], []
    for path in files:
        if not path.is_dir():
            if not path.exists():
                raise ConfigError(f"{path}: no such file; check the path")
            sources.append(Source(path, kind_of(path), Path(path.name)))
            continue
        for file in _files_below(path, output):
            try:
                kind = kind_of(file)
                if kind.signs:  # a name that other files have too
                    refuse_other_content(file, kind)
                sources.append(Source(file, kind, file.relative_to(path)))
            except DataError:
                others.append(file)
    if not sources:
        raise DataError(f"{', '.join(map(str, files))}: no document that can be translated; `dragoman documents` lists")
    return sources, others


def _files_below(folder: Path, output: Path | None) -> Iterator[Path]:
    """The files below a folder in the order of their names, without hidden ones and without those of the output."""
    for here, folders, names in os.walk(folder):
        at = Path(here)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not _same(at / name, output))
        listed = sorted(name for name in names if not name.startswith((".", _OPEN)))
        yield from (at / name for name in listed if not _is_ours(at / name, output))


def _same(path: Path, output: Path | None) -> bool:
    return output is not None and output.exists() and path.samefile(output)


def _is_ours(path: Path, output: Path | None) -> bool:
    """Whether a file is what an earlier translation left next to its output."""
    if output is None or path.parent.resolve() != output.resolve().parent:
        return False
    return path.name in {f"{output.name}{end}" for end in (".partial", ".review.tsv", ".review.html")}


def is_folder(files: Sequence[Path], output: Path) -> bool:
    """Whether an output is a folder: it is one, or several documents go there, or its name has no known suffix.

    Raises ConfigError where a folder is needed and a file has its name.
    """
    if output.is_dir() or len(files) > 1 or files[0].is_dir():
        if output.exists() and not output.is_dir():
            raise ConfigError(f"{output}: is a file, and several documents go into a folder; give -o FOLDER")
        return True
    return not output.exists() and not output.suffix


def target_of(source: Source, output: Path | None, in_folder: bool, languages: tuple[str, str]) -> Path:
    """The file for the translation of a document. Raises ConfigError if its name is of another format."""
    if output is None:
        return source.path.with_name(name_in_language(source, *languages))
    becomes = source.kind.becomes
    target = output / (source.name.with_suffix(becomes[0]) if becomes else source.name) if in_folder else output
    try:
        same = target.suffix.lower() in becomes if becomes else kind_of(target) == source.kind
    except DataError:
        same = False
    if becomes and not same:
        raise ConfigError(f"{target}: a {source.kind.name} is written as {' or '.join(becomes)}; name the output so")
    if not same:
        end = source.kind.suffixes[0]
        raise ConfigError(f"{target}: {source.path.name} stays {source.kind.name}; give the output a name with {end}")
    return target


def name_in_language(source: Source, language: str, target: str) -> str:
    """The file name with the target language: `report.ko.docx`, `app_ko.arb` from `app_en.arb`."""
    name = source.path.name
    end = max((len(s) for s in source.kind.suffixes if name.lower().endswith(s)), default=0)
    stem, suffix = name[: len(name) - end], next(iter(source.kind.becomes), name[len(name) - end :])
    if not stem.strip("."):  # the whole name is the suffix: strings.xml
        stem, suffix = source.path.stem, source.path.suffix
    ending = re.search(r"(?<=[._-])[A-Za-z]{2,3}$", stem)
    if re.search(f"[._-]{re.escape(language)}$", stem, re.IGNORECASE):
        return f"{stem[: len(stem) - len(language)]}{target}{suffix}"
    if ending and primary_language(ending[0]) == primary_language(language):
        return f"{stem[: ending.start()]}{target}{suffix}"
    return f"{stem}.{target}{suffix}"


def refuse_targets(sources: Sequence[Source], targets: Sequence[Path], allowed: frozenset[Path] | None) -> None:
    """Raise ConfigError if a target is a source, is one of two with its name, or exists and is not `allowed`.

    None: all that exist may be replaced.
    """
    seen: dict[Path, Path] = {}
    originals = {source.path.resolve(): source.path for source in sources}
    for source, target in zip(sources, targets, strict=True):
        place = target.resolve()
        if place in originals:
            raise ConfigError(f"{target}: is read too, and its text would be lost; write to another file")
        if place in seen:
            raise ConfigError(f"{target}: would be written for {seen[place]} and for {source.path}; rename one of them")
        seen[place] = source.path
    existing = [target for target in targets if allowed is not None and target.exists() and target not in allowed]
    if existing:
        more = f" (and {counted(len(existing) - 1, 'other file')})" if len(existing) > 1 else ""
        raise ConfigError(f"{existing[0]}: already exists{more}; --force replaces it")
