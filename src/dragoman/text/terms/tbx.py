"""TBX term bases → glossaries: versions 2 (`martif`) and 3 (ISO 30042:2019), styles DCA and DCT.

Input: a `.tbx` file and two languages. Output: a glossary whose terms are those of the source language in each concept,
with the concept's terms of the target language as translations, those of the nearest region and preferred ones first.
Deprecated and superseded terms (`administrativeStatus`) are not used.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import BinaryIO
from xml.parsers import expat

from dragoman.errors import DataError, checked_path
from dragoman.system.parsing import new_xml_parser, xml_blocks
from dragoman.text.terms.glossary import Glossary
from dragoman.text.words.language import names_language, primary_language, tag_distance
from dragoman.text.words.words import is_abbreviation, listed

SUFFIX = ".tbx"
_ENTRY, _LANGUAGE, _SECTION = {"termEntry", "conceptEntry"}, {"langSet", "langSec"}, {"tig", "ntig", "termSec"}
_STATUS = "administrativeStatus"
_REFUSED, _PREFERRED = ("deprecatedTerm", "supersededTerm"), "preferredTerm"


@dataclass(slots=True)
class Concept:
    """The terms of a concept, by the tags of their languages."""

    line: int
    terms: dict[str, list[str]] = field(default_factory=dict)


class _TermHandler:
    """What expat found so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parser = new_xml_parser(str(path))
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.concepts: list[Concept] = []
        self.root = self.language = self.term = self.status = ""
        self.reads: list[str] | None = None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self.root:
            self.root = name
            if name not in ("martif", "tbx"):
                raise DataError(f"{self.path}: not TBX, but <{name}>; check the file")
        if name in _ENTRY:
            self.concepts.append(Concept(self.parser.CurrentLineNumber))
        elif name in _LANGUAGE:
            self.language = attributes.get("xml:lang", "")
        elif name in _SECTION:
            self.term = self.status = ""
        elif name in ("term", _STATUS) or (name == "termNote" and attributes.get("type") == _STATUS):
            self.reads = []

    def _text(self, text: str) -> None:
        if self.reads is not None:
            self.reads.append(text)

    def _end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        if self.reads is not None and name in ("term", "termNote", _STATUS):
            text, self.reads = " ".join("".join(self.reads).split()), None
            if name == "term":
                self.term = text
            else:
                self.status = text
        elif name in _SECTION and self.concepts and self.term and not self.status.startswith(_REFUSED):
            terms = self.concepts[-1].terms.setdefault(self.language, [])
            terms.insert(0 if self.status.startswith(_PREFERRED) else len(terms), self.term)


@dataclass(frozen=True, slots=True)
class TermBase:
    """The concepts of a TBX file."""

    path: Path
    concepts: tuple[Concept, ...]

    @classmethod
    def read(cls, path: str | PathLike[str]) -> "TermBase":
        """Read the file. Raises DataError with the line if it is not well-formed, declares entities, or is no TBX."""
        path = checked_path("glossary", path)
        try:
            with path.open("rb") as file:
                return cls.parse(file, path)
        except OSError as error:
            raise DataError(f"{path}: the glossary cannot be read: {error.strerror}; check the path") from None

    @classmethod
    def parse(cls, file: BinaryIO, path: Path) -> "TermBase":
        """The terms in an open file, which errors call `path`. Raises DataError as `read` does."""
        handler = _TermHandler(path)
        try:
            for block in xml_blocks(file, str(path)):
                handler.parser.Parse(block, False)
            handler.parser.Parse(b"", True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            where = f"{path}:{error.lineno}:{error.offset + 1}"
            raise DataError(f"{where}: not well-formed XML: {what}; repair it") from None
        return cls(path, tuple(handler.concepts))

    def glossary(self, source: str, target: str) -> Glossary:
        """The terms of one language with their translations in another. Raises DataError if there are none."""
        terms: dict[str, list[str]] = {}
        spelled: dict[str, str] = {}  # concepts with terms that differ in case only become one term
        for term, translations in self._rows(source, target):
            term = spelled.setdefault(term if is_abbreviation(term) else term.casefold(), term)
            terms.setdefault(term, []).extend(form for form in translations if form not in terms[term])
        if not terms:
            known = ", ".join(sorted({primary_language(tag) for concept in self.concepts for tag in concept.terms}))
            raise DataError(f"{self.path}: no term from {source} into {target}; its languages are {known or 'none'}")
        return Glossary.of(terms, str(self.path))

    def _rows(self, source: str, target: str) -> Iterator[tuple[str, list[str]]]:
        for concept in self.concepts:
            translations = [listed(translation) for translation in _of_language(concept, target)]
            for term in _of_language(concept, source) if translations else ():
                yield listed(term), translations


def _of_language(concept: Concept, wanted: str) -> list[str]:
    """The terms of a concept in a language, those of the nearest region and script first."""
    tags = [tag for tag in concept.terms if names_language(tag, wanted)]
    if len(tags) > 1:
        tags.sort(key=lambda tag: tag_distance(tag, wanted))
    return [term for tag in tags for term in concept.terms[tag]]


def read_glossary(path: Path) -> Glossary | TermBase:
    """A glossary in TSV, or a term base by its name. Raises DataError."""
    return TermBase.read(path) if path.name.lower().endswith(SUFFIX) else Glossary.read(path)
