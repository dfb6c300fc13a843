"""Glossaries: which terms stand in a sentence, and how each must be translated. str → terms; knows no language.

A file holds a term a line: the term, a tab, its translation; further columns, or further rows of the same term,
are alternatives. Lines that are empty or begin with `#` say nothing. Everything is compared normalised.

**Where a term stands.** It begins where a word begins and ends where a word ends, the longest term first, and no two
overlap. What a word is follows from the kinds of its characters alone (`_kind`):

- between two kinds a word ends: `GPU` stands in `GPU를` and in `このGPUは`, not in `GPUs`;
- Hangul takes suffixes: `서버` stands in `서버를`, but not in `웹서버`, where no word begins with it;
- scripts that put no spaces between words (Han, Hiragana, Thai, …) begin and end a word anywhere. Katakana does not:
  its runs are words, and `バー` must not be found in `サーバー`;
- a mark or a sign that prolongs a letter (`ー`, vowel signs) belongs to it, and nothing ends before it.

**Case.** A term as written comes before the same term in another case. Terms of capitals alone are abbreviations and
stand only as written: `IT` must not be found in every `it`.

**Contradictions.** Terms that differ in case alone but not in their translations are refused, since the first word of
a sentence has its capital from its place; written as one term with alternatives they leave the choice to the model.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Self

from dragoman.errors import DataError
from dragoman.text.normalise import is_text, normalise

# The first word of a character's Unicode name tells its script, as far as words need to know it.
_NO_SPACES = re.compile("(CJK|IDEOGRAPHIC|HIRAGANA|BOPOMOFO|THAI|LAO|KHMER|MYANMAR|TIBETAN|JAVANESE|YI)[ -]")
_OWN_KIND = re.compile("(?:HALFWIDTH )?(HANGUL|KATAKANA)[ -]")
_JOINERS = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Entry:
    """A term and the translations any of which will do; normalised."""

    term: str
    translations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """An entry found in a text, at `start:end` of its normalised form."""

    entry: Entry
    start: int
    end: int


@dataclass(frozen=True)
class Glossary:
    """Entries, one a term, in the order in which they were given."""

    entries: tuple[Entry, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Self:
        """The glossary in file `path`. Raises DataError that names the line."""
        try:
            lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
        except OSError as error:
            raise DataError(f"{path}: the glossary cannot be read: {error.strerror}; check the path") from None
        return cls._of_rows(_rows(lines, str(path)), str(path))

    @classmethod
    def of(cls, terms: Mapping[str, str | Sequence[str]], name: str = "glossary") -> Self:
        """The glossary that a request called `name` gives: each term with its translation or translations.

        Raises DataError that counts the terms from 1 as if each were a line.
        """
        listed = ((term, [said] if isinstance(said, str) else said) for term, said in terms.items())
        return cls._of_rows(((number, *row) for number, row in enumerate(listed, 1)), name)

    def over(self, other: Self) -> Self:
        """This glossary and whatever of `other` it says nothing about, as a request's over a model's."""
        known = {entry.term.casefold() for entry in self.entries}
        return type(self)((*self.entries, *(entry for entry in other.entries if entry.term.casefold() not in known)))

    def find(self, text: str) -> list[Match]:
        """The terms that stand in `text`, from left to right."""
        text, place, found = normalise(text), 0, []
        while place < len(text):
            match = self._at(text, place) if _begins(text, place) else None
            if match:
                found.append(match)
            place = match.end if match else place + 1
        return found

    def _at(self, text: str, place: int) -> Match | None:
        """The longest term that stands at `place`."""
        for length in self._lengths:
            end = place + length
            if end <= len(text) and _ends(text, end) and (entry := self._entry(text[place:end])):
                return Match(entry, place, end)
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
        said: dict[str, dict[str, None]] = {}  # an ordered set of translations for each term
        first: dict[str, int] = {}
        for number, raw_term, raw_translations in rows:
            term, translations = _checked(raw_term, raw_translations, f"{name}:{number}")
            said.setdefault(term, {}).update(dict.fromkeys(translations))
            first.setdefault(term, number)
        _refuse_contradictions(said, first, name)
        return cls(tuple(Entry(term, tuple(translations)) for term, translations in said.items()))


def joins(character: str) -> bool:
    """Whether a word may end behind `character` and another begin with no space between them."""
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
            raise DataError(f"{name}:{number}: no tab; a line is the term, a tab and its translation")
        term, *translations = text.split("\t")
        yield number, term, translations


def _checked(term: str, translations: Sequence[str], where: str) -> tuple[str, list[str]]:
    """A row normalised. Columns that are empty are a spreadsheet's filling, as long as one is not."""
    for text in (term, *translations):
        if not is_text(text):
            raise DataError(f"{where}: {text!r} holds half a character; write it whole, in UTF-8")
    term, said = normalise(term), [normalise(text) for text in translations]
    if not term:
        raise DataError(f"{where}: empty term; write the source term first, or remove the line")
    if not any(said):
        raise DataError(f"{where}: empty translation of {term!r}; write one after a tab, or remove the line")
    return term, [text for text in said if text]


def _refuse_contradictions(said: Mapping[str, Mapping[str, None]], first: Mapping[str, int], name: str) -> None:
    seen: dict[str, str] = {}
    for term in said:
        if _abbreviation(term):
            continue
        other = seen.setdefault(term.casefold(), term)
        if set(said[other]) != set(said[term]):
            raise DataError(
                f"{name}:{first[term]}: {term!r} and {other!r} of line {first[other]} differ in case alone but not in "
                f"translation; write one of them, with all the translations"
            )


def _abbreviation(term: str) -> bool:
    """Whether `term` is of capitals alone, several, so that its case is its meaning."""
    return term.isupper() and sum(map(str.isupper, term)) > 1


@lru_cache(maxsize=1 << 14)
def _kind(character: str) -> str:
    """What makes words of a character: "" is between words, "+" belongs to what is before it."""
    if character in _JOINERS or unicodedata.category(character) in ("Mn", "Mc", "Me", "Lm"):
        return "+"
    if not character.isalnum():
        return ""
    name = unicodedata.name(character, "")
    if _NO_SPACES.match(name):
        return "no spaces"
    own = _OWN_KIND.match(name)
    return own[1] if own else "word"


def _kind_before(text: str, place: int) -> str:
    """The kind of the character that ends at `place`, or that its marks belong to."""
    while place and (kind := _kind(text[place - 1])) == "+":
        place -= 1
    return kind if place else ""


def _begins(text: str, place: int) -> bool:
    """Whether a word may begin at `place`."""
    kind = _kind(text[place])
    return kind != "+" and (kind == "no spaces" or kind != _kind_before(text, place) or not kind)


def _ends(text: str, place: int) -> bool:
    """Whether a word may end at `place`."""
    kind = _kind(text[place]) if place < len(text) else ""
    before = _kind_before(text, place)
    return kind != "+" and (before in ("no spaces", "HANGUL") or kind != before or not kind)
