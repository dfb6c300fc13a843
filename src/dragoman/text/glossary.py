"""Glossaries: the terms that occur in a sentence, and the required translation of each. Language-independent.

Input: a TSV file or a mapping, and sentences. Output: the terms in a sentence, with their positions. A line of the
file has the term, a tab and its translation; further columns, or further lines with the same term, are alternatives.
Empty lines and lines that begin with `#` are ignored. Texts are normalised before they are compared.

**Matching.** A match begins where a word begins and ends where a word ends; longer terms come first, and matches do
not overlap. Word boundaries follow from the kinds of the characters alone (`_kind`):

- a word ends between two kinds: `GPU` matches in `GPU를` and in `このGPUは`, not in `GPUs`;
- Hangul takes suffixes: `서버` matches in `서버를`, but not in `웹서버`, because no word begins there;
- in scripts without spaces between words (Han, Hiragana, Thai, …) a word may begin and end anywhere. Katakana is an
  exception: its runs are words, and `バー` does not match in `サーバー`;
- a combining mark or a sign that prolongs a letter (`ー`, vowel signs) belongs to that letter; no word ends before it.

**Case.** A match in the same case comes before a match in another case. Terms in capitals are abbreviations and match
only in capitals: `IT` does not match `it`.

**Contradictions.** Terms that differ only in case but have different translations are refused, because the first word
of a sentence is capitalised for another reason. Written as one term with alternatives, they leave the choice to the
model.
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

from dragoman.errors import ConfigError, DataError, checked_path, describe_type
from dragoman.text.normalise import is_text, normalise

# Scripts by the first word of a character's Unicode name, as far as word boundaries depend on them.
_NO_SPACES = re.compile("(CJK|IDEOGRAPHIC|HIRAGANA|BOPOMOFO|THAI|LAO|KHMER|MYANMAR|TIBETAN|JAVANESE|YI)[ -]")
_OWN_KIND = re.compile("(?:HALFWIDTH )?(HANGUL|KATAKANA)[ -]")
_JOINERS = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Entry:
    """A term and its alternative translations, normalised."""

    term: str
    translations: tuple[str, ...]


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
            lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
        except OSError as error:
            raise DataError(f"{path}: the glossary cannot be read: {error.strerror}; check the path") from None
        return cls._of_rows(_rows(lines, str(path)), str(path))

    @classmethod
    def of(cls, terms: Mapping[str, str | Sequence[str]], name: str = "glossary") -> Self:
        """A glossary from a mapping of terms to a translation or several.

        Raises DataError that names `name` and the number of the term, counted from 1.
        """
        if not isinstance(terms, Mapping):
            raise ConfigError(f"{name}: {describe_type(terms)} given; give a mapping of terms to translations")
        listed = ((term, [given] if isinstance(given, str) else given) for term, given in terms.items())
        return cls._of_rows(((number, *row) for number, row in enumerate(listed, 1)), name)

    def over(self, other: Self) -> Self:
        """This glossary, with the entries of `other` for terms that it does not have."""
        known = {entry.term.casefold() for entry in self.entries}
        return type(self)((*self.entries, *(entry for entry in other.entries if entry.term.casefold() not in known)))

    def find(self, text: str) -> list[Match]:
        """The terms that occur in `text`, from left to right."""
        text, position, found = normalise(text), 0, []
        while position < len(text):
            match = self._at(text, position) if _begins(text, position) else None
            if match:
                found.append(match)
            position = match.end if match else position + 1
        return found

    def _at(self, text: str, position: int) -> Match | None:
        """The longest term that begins at `position`."""
        for length in self._lengths:
            end = position + length
            if end <= len(text) and _ends(text, end) and (entry := self._entry(text[position:end])):
                return Match(entry, position, end)
        return None

    def _entry(self, written: str) -> Entry | None:
        entries = self._index.get(written.casefold(), [])
        as_written = [entry for entry in entries if entry.term == written]
        any_case = [entry for entry in entries if not _abbreviation(entry.term)]
        return next(iter(as_written + any_case), None)

    @cached_property
    def _index(self) -> dict[str, list[Entry]]:
        index: dict[str, list[Entry]] = {}
        for entry in self.entries:
            index.setdefault(entry.term.casefold(), []).append(entry)
        return index

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({len(entry.term) for entry in self.entries}, reverse=True)

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


def is_unspaced(character: str) -> bool:
    """Whether the script of `character` puts no spaces between words."""
    return _kind(character) == "no spaces"


def _rows(lines: Sequence[bytes], name: str) -> Iterator[tuple[int, str, list[str]]]:
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
        term, *translations = text.split("\t")
        yield number, term, translations


def _checked(term: str, translations: Sequence[str], where: str) -> tuple[str, list[str]]:
    """A row, normalised, without the empty columns that spreadsheets add."""
    if isinstance(translations, bytes | Mapping) or not isinstance(translations, Iterable):
        raise DataError(f"{where}: {describe_type(translations)} as translation of {term!r}; give a str, or several")
    for text in (term, *translations):
        if not isinstance(text, str):
            raise DataError(f"{where}: {describe_type(text)}; terms and their translations are str")
    for text in (term, *translations):
        if not is_text(text):
            raise DataError(f"{where}: {text!r} contains an unpaired surrogate (invalid Unicode); fix the encoding")
    term, cleaned = normalise(term), [normalise(text) for text in translations]
    if not term:
        raise DataError(f"{where}: empty term; write the source term first, or remove the line")
    if not any(cleaned):
        raise DataError(f"{where}: empty translation of {term!r}; write one after a tab, or remove the line")
    return term, [text for text in cleaned if text]


def _refuse_contradictions(by_term: Mapping[str, Mapping[str, None]], first: Mapping[str, int], name: str) -> None:
    seen: dict[str, str] = {}
    for term in by_term:
        if _abbreviation(term):
            continue
        other = seen.setdefault(term.casefold(), term)
        if set(by_term[other]) != set(by_term[term]):
            raise DataError(
                f"{name}:{first[term]}: {term!r} and {other!r} of line {first[other]} differ only in case "
                f"but have different translations; write one of them, with all the translations"
            )


def _abbreviation(term: str) -> bool:
    """Whether `term` has several letters, all capitals."""
    return term.isupper() and sum(map(str.isupper, term)) > 1


@lru_cache(maxsize=1 << 14)
def _kind(character: str) -> str:
    """The kind of a character for word boundaries: "" separates words, "+" belongs to the character before it."""
    if character in _JOINERS or unicodedata.category(character) in ("Mn", "Mc", "Me", "Lm"):
        return "+"
    if not character.isalnum():
        return ""
    name = unicodedata.name(character, "")
    if _NO_SPACES.match(name):
        return "no spaces"
    own = _OWN_KIND.match(name)
    return own[1] if own else "word"


def _kind_before(text: str, position: int) -> str:
    """The kind of the character before `position`, combining marks skipped."""
    while position and (kind := _kind(text[position - 1])) == "+":
        position -= 1
    return kind if position else ""


def _begins(text: str, position: int) -> bool:
    """Whether a word may begin at `position`."""
    kind = _kind(text[position])
    return kind != "+" and (kind == "no spaces" or kind != _kind_before(text, position) or not kind)


def _ends(text: str, position: int) -> bool:
    """Whether a word may end at `position`."""
    kind = _kind(text[position]) if position < len(text) else ""
    before = _kind_before(text, position)
    return kind != "+" and (before in ("no spaces", "HANGUL") or kind != before or not kind)
