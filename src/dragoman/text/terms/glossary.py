"""Glossaries: the terms that occur in a sentence, and the required translation of each. Language-independent.

Input: a TSV file or a mapping, and sentences. Output: the terms in a sentence, with their positions. A line of the
file has the term, a tab and its translation; further columns, or further lines with the same term, are alternatives.
Empty lines, lines that begin with `#`, and a first line that names columns (`source`, `target`; `English`, `Korean`)
are ignored; a term that begins with `#` is written `\\#`. The file may be as Excel saves it: in UTF-16, with quotation
marks around a cell that has a comma or quotation marks. Texts are normalised before they are compared.

**Matching.** A match begins where a word begins and ends where a word ends; longer terms come first, and matches do
not overlap. Word boundaries follow from the kinds of the characters (`text.words.words`):

- a word ends between two kinds: `GPU` matches in `GPU를` and in `このGPUは`;
- Hangul takes particles: `서버` matches in `서버를` and `서버들에게만`, but not in `웹서버`, `서버실` or `서버합니다`;
  `표` neither in `표시` nor in `표이`, which does not agree (`text.words.particles`);
- Latin letters take the plural: `server` matches in `servers`, `box` in `boxes`, `policy` in `policies`, `GPU` in
  `GPUs`. A possessive ends before its apostrophe;
- in scripts without spaces between words (Han, Hiragana, Thai, …) a word may begin and end anywhere. Katakana is an
  exception: its runs are words, and `バー` does not match in `サーバー`;
- a combining mark or a sign that prolongs a letter (`ー`, vowel signs) belongs to that letter; no word ends before it.

**Stems.** A term that ends with `*` matches every word that begins with it, up to the end of that word: `복사*` in
`복사합니다`, `Datei*` in `Dateien`. So does a translation. A star of the term itself is written `\\*`.

**Case.** A match in the same case comes before a match in another case. Terms in capitals are abbreviations and match
only in capitals: `IT` does not match `it`.

**Contradictions.** Terms that differ only in case but have different translations are refused, because the first word
of a sentence is capitalised for another reason. Written as one term with alternatives, they leave the choice to the
model.
"""

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from dragoman.errors import ConfigError, DataError, checked_path, describe_type
from dragoman.text.words.language import language_titled
from dragoman.text.words.normalise import is_text, normalise
from dragoman.text.words.words import begins_word, end_of_word, ends_word, forms, is_abbreviation, is_stem, spelled

Terms = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A term and its alternative translations as listed, normalised."""

    term: str
    translations: tuple[str, ...]

    @property
    def source(self) -> str:
        """The term without the mark of a stem."""
        return spelled(self.term)


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that occurs in a text, at characters `start:end` of the normalised text."""

    entry: Entry
    start: int
    end: int


@dataclass(frozen=True)
class Glossary:
    """Entries in the given order, one per term."""

    entries: tuple[Entry, ...] = ()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read the file `path`. Raises DataError that names the line."""
        path = checked_path("glossary", path)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DataError(f"{path}: the glossary cannot be read: {error.strerror}; check the path") from None
        return cls.parse(content, str(path))

    @classmethod
    def parse(cls, content: bytes, name: str = "glossary") -> Self:
        """The glossary in the content of a file, which errors call `name`. Raises DataError that names the line."""
        if content.startswith(_UTF_16):
            with suppress(UnicodeDecodeError):  # it is refused with its first line
                content = table_text(content).encode("utf-8", "surrogatepass")
        return cls._of_rows(_rows(_LINE_END.split(content.removeprefix(codecs.BOM_UTF8)), name), name)

    @classmethod
    def of(cls, terms: Terms, name: str = "glossary") -> Self:
        """A glossary from a mapping of terms to a translation or several.

        Raises DataError that names `name` and the number of the term, counted from 1.
        """
        if not isinstance(terms, Mapping):
            raise ConfigError(f"{name}: {describe_type(terms)} given; give a mapping of terms to translations")
        listed = ((term, [forms] if isinstance(forms, str) else forms) for term, forms in terms.items())
        return cls._of_rows(((number, *row) for number, row in enumerate(listed, 1)), name)

    def over(self, other: Self) -> Self:
        """This glossary, with the entries of `other` for terms that it does not have."""
        known = {entry.term.casefold() for entry in self.entries}
        return type(self)((*self.entries, *(entry for entry in other.entries if entry.term.casefold() not in known)))

    def find(self, text: str) -> list[Match]:
        """The terms that occur in `text`, from left to right."""
        text, position, matches = normalise(text), 0, []
        while position < len(text):
            match = self._at(text, position) if begins_word(text, position) else None
            if match:
                matches.append(match)
            position = match.end if match else position + 1
        return matches

    def _at(self, text: str, position: int) -> Match | None:
        """The longest term that begins at `position`; of equal length the one as written, then a stem last."""
        for length in self._lengths:
            end = position + length
            written = text[position:end]
            if end <= len(text) and (candidates := self._index.get(written.casefold())):
                whole = ends_word(text, position, end)
                for form, entry in sorted(candidates, key=lambda pair: pair[0] != written):
                    if form != written and is_abbreviation(entry.source):
                        continue
                    if is_stem(entry.term):
                        return Match(entry, position, end_of_word(text, end))
                    if whole:
                        return Match(entry, position, end)
        return None

    @cached_property
    def _index(self) -> dict[str, list[tuple[str, Entry]]]:
        """By written form, without regard to case: the forms and their entries, those as listed first, stems last."""
        listed = [(form, number, entry) for entry in self.entries for number, form in enumerate(forms(entry.term))]
        index: dict[str, list[tuple[str, Entry]]] = {}
        for form, _, entry in sorted(listed, key=lambda row: (is_stem(row[2].term), row[1] > 0)):
            index.setdefault(form.casefold(), []).append((form, entry))
        return index

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({len(form) for entry in self.entries for form in forms(entry.term)}, reverse=True)

    @classmethod
    def _of_rows(cls, rows: Iterable[tuple[int, str, Sequence[str]]], name: str) -> Self:
        by_term: dict[str, dict[str, None]] = {}  # an ordered set of translations for each term
        first: dict[str, int] = {}
        for number, raw_term, raw_translations in rows:
            term, translations = _checked(raw_term, raw_translations, f"{name}:{number}")
            by_term.setdefault(term, {}).update(dict.fromkeys(translations))
            first.setdefault(term, number)
        _refuse_contradictions(by_term, first, name)
        return cls(tuple(Entry(term, tuple(translations)) for term, translations in by_term.items()))


GlossaryLike = Glossary | Terms


_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# A carriage return alone ends a line in files of Excel for the Mac.
_LINE_END = re.compile(rb"\r\n|\n|\r")
# A cell that Excel put into quotation marks: it has a comma, or quotation marks, which are then doubled.
_QUOTED = re.compile(r'"(?=[^\t]*(?:,|""))((?:[^"]|"")*+)"')
TITLES = ("source", "target")
# First cells of a line that names its columns, and what is next to them.
_TITLES = {
    "source": "target", "term": "translation", "source term": "target term",
    "원문": "번역", "용어": "번역", "출발어": "도착어",
}  # fmt: skip


def table_text(content: bytes) -> str:
    """The text of a table as spreadsheets save it: in UTF-8, or in UTF-16 with its mark. Raises UnicodeDecodeError."""
    return content.decode("utf-16" if content.startswith(_UTF_16) else "utf-8-sig")


# A backslash before `#`, or before other backslashes and `#`, is taken off: so every term can be written.
_ESCAPED, _TO_ESCAPE = re.compile(r"\\+#"), re.compile(r"\\*#")


def rows_of(entries: Sequence[Entry]) -> Iterator[list[str]]:
    """The rows of a file of these entries: a line of titles comes first where the first entry reads as one."""
    if entries and is_header(entries[0].term, entries[0].translations[0]):
        yield [*TITLES]
    yield from ([entry.term, *entry.translations] for entry in entries)


def as_tsv(entries: Sequence[Entry]) -> str:
    """The text of a TSV file from which `Glossary.parse` reads these entries again."""
    rows = ((_escaped(term), *translations) for term, *translations in rows_of(entries))
    return "".join("\t".join(map(_as_cell, row)) + "\n" for row in rows)


def _escaped(term: str) -> str:
    """A term as a TSV file has it, where a line that begins with `#` is a comment."""
    return f"\\{term}" if _TO_ESCAPE.match(term) else term


def _as_cell(text: str) -> str:
    """A text as a cell: in quotation marks where its own would be taken off."""
    return '"{}"'.format(text.replace('"', '""')) if _cell(text) != text else text


def _rows(lines: Sequence[bytes], name: str) -> Iterator[tuple[int, str, list[str]]]:
    is_first = True
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name}:{number}: not UTF-8 at byte {error.start + 1} of the line (0x{line[error.start]:02x}); "
                f"convert the glossary to UTF-8, with iconv for example"
            ) from None
        if not text.strip() or text.startswith("#"):
            continue
        if "\t" not in text:
            raise DataError(f"{name}:{number}: no tab; write the term, a tab and its translation")
        term, *translations = map(_cell, text.split("\t"))
        was_first, is_first = is_first, False
        if was_first and is_header(term, translations[0]):
            continue
        yield number, term[1:] if _ESCAPED.match(term) else term, translations


def _cell(text: str) -> str:
    """A cell without the quotation marks that Excel put around it."""
    match = _QUOTED.fullmatch(text.strip())
    return match[1].replace('""', '"') if match else text


def is_header(first: str, second: str) -> bool:
    """Whether two cells name columns: by the words for them, or by two languages."""
    ours, theirs = (" ".join(cell.split()).casefold() for cell in (first, second))
    if _TITLES.get(ours) == theirs:
        return True
    languages = [language_titled(cell) for cell in (ours, theirs)]
    return None not in languages and languages[0] != languages[1]


def _checked(term: str, translations: Sequence[str], where: str) -> tuple[str, list[str]]:
    """A row, normalised, without the empty columns that spreadsheets add."""
    if isinstance(translations, bytes | Mapping) or not isinstance(translations, Iterable):
        raise DataError(f"{where}: {describe_type(translations)} as translation of {term!r}; give a str, or several")
    for text in (term, *translations):
        if not isinstance(text, str):
            raise DataError(f"{where}: {describe_type(text)}; terms and their translations are str")
        if "\t" in text:
            raise DataError(f"{where}: a tab in {text!r}; give alternatives as a list")
    for text in (term, *translations):
        if not is_text(text):
            raise DataError(f"{where}: {text!r} contains an unpaired surrogate (invalid Unicode); fix the encoding")
    term, cleaned = normalise(term), [normalise(text) for text in translations]
    if not term:
        raise DataError(f"{where}: empty term; write the term of the source, or remove its translation")
    if not any(cleaned):
        raise DataError(f"{where}: empty translation of {term!r}; write one, or remove the term")
    return term, [text for text in cleaned if text]


def _refuse_contradictions(by_term: Mapping[str, Mapping[str, None]], first: Mapping[str, int], name: str) -> None:
    seen: dict[str, str] = {}
    for term in by_term:
        if is_abbreviation(term):
            continue
        other = seen.setdefault(term.casefold(), term)
        if set(by_term[other]) != set(by_term[term]):
            raise DataError(
                f"{name}:{first[term]}: {term!r} and {other!r} of line {first[other]} differ only in case "
                f"but have different translations; write one of them, with all the translations"
            )
