"""The suite of robustness: test lines as people also type them, each with what its translation is compared with.

Input: sources and references of a test set. Output: for each kind of change the changed sources, their references, and
the lines that they come from, so that a model's translations of changed and of plain text can be scored alike. Nothing
here depends on the language; a kind for which the text has no lines says why. The same seed gives the same cases.

    upper, title     the case of the source changes; both sides are compared without case
    unpunctuated     no final full stop, question or exclamation mark; they are removed from both sides before scoring
    typos            a few letters swapped, dropped or doubled; the reference stays
    word             one word of the line alone; the reference is the line's, and only precision counts, because a
                     translated word should occur in the translation of the line
    number           numbers that both sides share are replaced by others on both sides; a line without one gets a
                     number in front, as in a list, on both sides
    script           a name in another script in brackets at the end, on both sides
    sentences        three to five consecutive lines as one line; references and plain translations are joined too
    whole            all lines as one line
"""

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dragoman.data.batches.augment import final_mark, mistyped, mostly_cased, title_case, upper_case
from dragoman.text.words.words import clusters

Lines = Sequence[str]

NUMBER = re.compile(r"\d+")
# A word alone has at least this many letters as a reader sees them.
WORD_LETTERS = 2
# How many lines are joined.
JOINED = (3, 5)
# A name for each of several scripts; `unicodedata` begins the names of a script's letters with its name.
NAMES = {
    "LATIN": "Heidelberg",
    "CYRILLIC": "Новгород",
    "GREEK": "Θεσσαλονίκη",
    "HANGUL": "서울",
    "CJK": "東京",
    "ARABIC": "القاهرة",
    "HEBREW": "ירושלים",
    "DEVANAGARI": "दिल्ली",
    "THAI": "กรุงเทพ",
}
# A script is the text's own if at least this share of its letters is of it.
OWN_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class RobustnessCases:
    """The cases of one kind of change, in parallel sequences."""

    kind: str
    sources: tuple[str, ...]
    references: tuple[str, ...]
    """What the translations of the changed sources are compared with."""
    origins: tuple[tuple[int, ...], ...]
    """The indices of the test lines that each source comes from: their translations, joined, are the plain one."""
    plain_references: tuple[str, ...]
    """What the plain translations are compared with."""
    comparable: Callable[[str], str] = str
    """What is done to translations and references before they are compared."""
    precision_only: bool = False


class NoLinesError(Exception):
    """No line of the text can be changed in this way; the text says why."""


def variants(sources: Lines, references: Lines, lines: int, seed: int) -> tuple[list[RobustnessCases], dict[str, str]]:
    """Every kind with at most `lines` cases, and for the kinds without any the reason."""
    usable = [index for index, both in enumerate(zip(sources, references, strict=True)) if all(map(str.strip, both))]
    suite = _Suite(sources, references, usable, lines, seed)
    suites, skipped = list[RobustnessCases](), dict[str, str]()
    for kind, make in suite.kinds.items():
        try:
            suites.append(make(kind))
        except NoLinesError as why:
            skipped[kind] = str(why)
    return suites, skipped


@dataclass(frozen=True)
class _Suite:
    sources: Lines
    references: Lines
    usable: Sequence[int]
    lines: int
    seed: int

    @property
    def kinds(self) -> dict[str, Callable[[str], RobustnessCases]]:
        return {
            "upper": lambda kind: self._case(kind, upper_case),
            "title": lambda kind: self._case(kind, title_case),
            "unpunctuated": self._unpunctuated,
            "typos": self._typos,
            "word": self._word,
            "number": self._number,
            "script": self._script,
            "sentences": self._sentences,
            "whole": self._whole,
        }

    def _chosen(self, fits: Callable[[int], object] = lambda _: True) -> list[int]:
        """At most `lines` of the lines that fit, evenly spread over the text."""
        fitting = [index for index in self.usable if fits(index)]
        count = min(self.lines, len(fitting))
        return [fitting[index * len(fitting) // count] for index in range(count)]

    def _variant(
        self, kind: str, cases: Sequence[tuple[int, str, str]], why: str, comparable: Callable[[str], str] = str
    ) -> RobustnessCases:
        """A variant of single lines: index, changed source, changed reference. Raises NoLinesError without cases."""
        if not cases:
            raise NoLinesError(why)
        indices, sources, references = zip(*cases, strict=True)
        plain = tuple(self.references[index] for index in indices)
        return RobustnessCases(kind, sources, references, tuple((index,) for index in indices), plain, comparable)

    def _rng(self, kind: str) -> random.Random:
        return random.Random(f"{self.seed} {kind}")

    def _case(self, kind: str, change: Callable[[str], str]) -> RobustnessCases:
        def changes(index: int) -> bool:
            source = self.sources[index]
            return mostly_cased(source) and change(source) != source

        cases = [(index, change(self.sources[index]), self.references[index]) for index in self._chosen(changes)]
        return self._variant(kind, cases, "no line whose letters have case and would change", str.casefold)

    def _unpunctuated(self, kind: str) -> RobustnessCases:
        chosen = self._chosen(lambda index: without_final_mark(self.sources[index]) != self.sources[index])
        cases = [(index, without_final_mark(self.sources[index]), self.references[index]) for index in chosen]
        return self._variant(kind, cases, "no line ends with a punctuation mark", without_final_mark)

    def _typos(self, kind: str) -> RobustnessCases:
        rng = self._rng(kind)
        cases = [(index, mistyped(self.sources[index], rng), self.references[index]) for index in self._chosen()]
        changed = [case for case in cases if case[1] != self.sources[case[0]]]
        return self._variant(kind, changed, "no line has a word of at least three letters")

    def _word(self, kind: str) -> RobustnessCases:
        rng = self._rng(kind)
        chosen = self._chosen(lambda index: len(self.sources[index].split()) > 1 and _words(self.sources[index]))
        cases = [(index, rng.choice(_words(self.sources[index])), self.references[index]) for index in chosen]
        words = self._variant(kind, cases, "no line has several words separated by spaces")
        return replace(words, precision_only=True)

    def _number(self, kind: str) -> RobustnessCases:
        rng = self._rng(kind)
        cases = [(index, *_renumbered((self.sources[index], self.references[index]), rng)) for index in self._chosen()]
        return self._variant(kind, cases, "no lines with text on both sides")

    def _script(self, kind: str) -> RobustnessCases:
        rng, chosen = self._rng(kind), self._chosen()
        text = "".join(side[index] for index in chosen for side in (self.sources, self.references))
        scripts = _scripts(text)
        names = [name for script, name in NAMES.items() if script not in scripts]
        cases = []
        for index in chosen:
            added = f" ({rng.choice(names)})"
            cases.append((index, _before_mark(self.sources[index], added), _before_mark(self.references[index], added)))
        return self._variant(kind, cases, "no lines with text on both sides")

    def _sentences(self, kind: str) -> RobustnessCases:
        rng, groups, start = self._rng(kind), list[tuple[int, ...]](), 0
        usable = self.usable[: self.lines]
        while len(usable) - start >= JOINED[0]:
            size = rng.randint(*JOINED)
            groups.append(tuple(usable[start : start + size]))
            start += size
        return self._joined(kind, groups)

    def _whole(self, kind: str) -> RobustnessCases:
        return self._joined(kind, [tuple(self.usable[: self.lines])] if len(self.usable) > 1 else [])

    def _joined(self, kind: str, groups: Sequence[tuple[int, ...]]) -> RobustnessCases:
        if not groups:
            raise NoLinesError("too few lines to join")
        sources, references = (
            tuple(" ".join(side[index] for index in group) for group in groups)
            for side in (self.sources, self.references)
        )
        return RobustnessCases(kind, sources, references, tuple(groups), references)


def without_final_mark(text: str) -> str:
    """The text without its final full stop, question or exclamation mark; closing quotes stay."""
    match = final_mark(text)
    return f"{text[: match.start()]}{match[1]}" if match and match.start() else text


def _before_mark(text: str, added: str) -> str:
    match = final_mark(text)
    return f"{text[: match.start()]}{added}{text[match.start() :]}" if match else text + added


def _words(text: str) -> list[str]:
    """The words of letters alone, without the punctuation around them."""
    stripped = (re.sub(r"^[\W_]+|[\W_]+$", "", word) for word in text.split())
    return [word for word in stripped if word.isalpha() and len(clusters(word)) >= WORD_LETTERS]


def _renumbered(sides: tuple[str, str], rng: random.Random) -> tuple[str, str]:
    """Both sides with other numbers of as many digits; a number in front if they share none."""
    counts = [Counter(NUMBER.findall(side)) for side in sides]
    shared = [number for number in counts[0] if number.isascii() and counts[0][number] == counts[1][number]]
    if not shared:
        number = rng.randint(10, 9999)
        return f"({number}) {sides[0]}", f"({number}) {sides[1]}"
    others = {number: _other(number, rng) for number in shared}
    source, reference = (NUMBER.sub(lambda match: others.get(match[0], match[0]), side) for side in sides)
    return source, reference


def _other(number: str, rng: random.Random) -> str:
    if len(number) == 1:
        return rng.choice([digit for digit in "23456789" if digit != number])
    while (other := str(rng.randint(10 ** (len(number) - 1), 10 ** len(number) - 1))) == number:
        pass
    return other


def _scripts(text: str) -> set[str]:
    """The scripts of at least OWN_SHARE of the letters."""
    letters = Counter(character for character in text if character.isalpha())
    scripts = Counter[str]()
    for letter, count in letters.items():
        scripts[unicodedata.name(letter, "OTHER").split()[0]] += count
    return {script for script, count in scripts.items() if count >= OWN_SHARE * letters.total()}
