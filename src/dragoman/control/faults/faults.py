"""What is wrong with a translation: loops, lost or invented text, and what it has to have of its source.

A loop or a copy shows in the ids or the texts. The thresholds are beyond what correct translations reach: a fault costs
a second search and a warning, and warnings are only read if they are rare.

Placeholders have to occur as often as in the source, tags nested, numbers equal. This is the last word about every
translation that is returned: whatever the searches before it did, what differs here is reported. Normalised texts are
compared; a placeholder that is spelled otherwise in the source as it was given (`{a  b}`) is reported too. Placeholders
of printf without a number take arguments in their order, so that another order is a fault, unless all are alike; the
blocks of a template stay in order, each with what is in it. Numbers are compared by value (`control.faults.amounts`),
outside of placeholders. What only the translation has is reported and not repaired, if the source has no placeholder at
all, or no such number: there it may be a word.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dragoman.config import DecodeConfig
from dragoman.control.faults.amounts import SAME, Differences, compare, with_large_numbers
from dragoman.control.faults.debris import debris
from dragoman.control.faults.negation import NEGATIONS, negation_differs
from dragoman.control.faults.signs import (
    FOREIGN,
    OTHERS,
    REPLACEMENT,
    SIGN,
    added_halves,
    differing_signs,
    differing_words,
    lost_measures,
    lost_others,
)
from dragoman.text.terms.protect import LITERAL, Placeholder, blanked, find_placeholders
from dragoman.text.words.amounts import Amount, find_amounts
from dragoman.text.words.inline import InlineText
from dragoman.text.words.normalise import folded, normalise
from dragoman.text.words.number_words import LANGUAGES, LARGE
from dragoman.text.words.numbers import WORDS_UP_TO, Value
from dragoman.text.words.reading import COLOUR, without_colours
from dragoman.translation import Candidate, Flag, Translation

# A block of up to BLOCK tokens repeated MAX_CONSECUTIVE times in a row ("salad salad …"); emphasis repeats three.
BLOCK, MAX_CONSECUTIVE = 4, 6
# MAX_REPEATED tokens repeated word for word are a sentence. Long names and legal formulas stay below a dozen.
N_GRAM, MAX_REPEATED = 4, 16
# One side may be RATIO times as long as the other plus SLACK tokens: pairs of languages and vocabularies stay below 2.
RATIO, SLACK = 3, 20
# A copied text is no name or title if it has more plain words than this, or letters where words are not spaced.
PLAIN_WORDS, PLAIN_LETTERS, COPIED_SHARE = 3, 12, 0.9

# Characters within a word that make it an address, a path or a formula; and what is around a word.
CODE = re.compile(r"[\d_/\\@.:=<>#]")
_AROUND = re.compile(r"^\W+|\W+$")
# A short sentence with a placeholder, or the name in its place: a greeting, no name.
_CALLED = re.compile(r"[A-Z]?[a-z]{2,20},? (?:.{0,40} )?(?:X\d{1,3}|\W{0,2}\{.{1,40})[.!?]")

FLAGS = {
    "loop": Flag("loop", "the translation repeats itself; check it by hand"),
    "length": Flag("length", "source and translation differ much in length; look for lost or invented text"),
    "empty": Flag("empty", "the translation is empty; translate the line by hand"),
    "copy": Flag("copy", "the source was copied, not translated; check it by hand, and the training text for copies"),
}


def detect_fault(source_ids: Sequence[int], source: str, target_ids: Sequence[int]) -> Flag | None:
    """The fault of a translation's tokens, given the ids and the text of its source; None if there is none.

    What the source repeats may be repeated up to twice as often: the laugh "ㅋㅋㅋㅋㅋㅋ" is one token or six.
    """
    repeats = max_consecutive_repeats(target_ids)
    if repeats >= MAX_CONSECUTIVE and repeats > 2 * max(map(max_consecutive_repeats, (source_ids, source))):
        return FLAGS["loop"]
    span = longest_repeated_span(target_ids)
    if span >= MAX_REPEATED and span > 2 * longest_repeated_span(source_ids):
        return FLAGS["loop"]
    short, long = sorted((len(source_ids), len(target_ids)))
    return FLAGS["length"] if long > RATIO * short + SLACK else None


def max_consecutive_repeats(items: Sequence[Hashable]) -> int:
    """The most times in a row that a block of up to BLOCK items occurs; at least 1."""
    most = 1
    for size in range(1, BLOCK + 1):
        equal = longest = 0
        for before, now in zip(items, items[size:], strict=False):
            equal = equal + 1 if before == now else 0
            if equal > longest:
                longest = equal
        most = max(most, 1 + longest // size)
    return most


def longest_repeated_span(items: Sequence[Hashable]) -> int:
    """The length of the longest span of which every n-gram occurred before; 0 if there is none."""
    seen: set[tuple[Hashable, ...]] = set()
    longest = span = 0
    for start in range(len(items) - N_GRAM + 1):
        gram = tuple(items[start : start + N_GRAM])
        span = span + 1 if gram in seen else 0
        longest = max(longest, span)
        seen.add(gram)
    return longest + N_GRAM - 1 if longest else 0


def is_copy(source: str, translation: str) -> bool:
    """Whether a translation repeats its source although the source has something to translate.

    Names, numbers, addresses and code are copied correctly: capitalised words and words with other characters than
    letters do not count.
    """
    plain = plain_words(source)
    if _CALLED.fullmatch(source) and folded(source) == folded(translation):
        return True
    if len(plain) <= PLAIN_WORDS and sum(unspaced(letter) for word in plain for letter in word) <= PLAIN_LETTERS:
        return False
    if folded(source) == folded(translation):
        return True
    common = Counter(plain) & Counter(plain_words(translation))
    return len(plain) > PLAIN_WORDS and common.total() >= COPIED_SHARE * len(plain)


def unspaced(character: str) -> bool:
    """Whether a letter has no case: some of those scripts write no spaces, so that words cannot be counted."""
    return character.isalpha() and character.lower() == character.upper()


def plain_words(text: str) -> list[str]:
    """The words of a text that are to be translated: in lower case, and neither addresses nor code."""
    text = normalise(text)
    is_code = CODE.search if CODE.search(text) else lambda word: None  # most texts have none, and their words neither
    words = (word if word.isalnum() else _AROUND.sub("", word) for word in text.split())
    return [word for word in words if word[:1].isalpha() and not word[0].isupper() and not is_code(word)]


# Primary subtags of a source and a target; None: not known.
Languages = tuple[str, str] | None
# Kinds of warnings about what a translation has otherwise than its source.
COMPARED = frozenset(("placeholder", "number", "sign", "word", "negation"))
LISTED = 5  # names in a warning
HAS_DIGIT = re.compile(r"\d").search
# A name with digits for which a language has a word, that may have the same digits behind it.
_WORDS_FOR = {"COVID-19": re.compile(r"코로나(?:바이러스)?(?P<digits>[\s-]?19(?!\d))?")}
# A placeholder that begins, divides or ends a block, and not one that is replaced by a value.
_BLOCK = re.compile(r"\{%|\{\{~?\s*(?:[#/^]|else\b)|<%(?!=)|<\?(?!=)")


@dataclass(frozen=True, slots=True)
class Faults:
    """How a translation differs from what it has to have; `missing` and `extra` are placeholders by their text."""

    missing: Counter[str] = field(default_factory=Counter)
    extra: Counter[str] = field(default_factory=Counter)
    order: bool = False
    nesting: bool = False
    debris: Counter[str] = field(default_factory=Counter)
    """What is left next to the placeholders, of the signs or letters that they consist of."""
    respelled: tuple[str, ...] = ()
    """Placeholders that are the same only after they are normalised."""
    missing_numbers: Counter[Value] = field(default_factory=Counter)
    extra_numbers: Counter[Value] = field(default_factory=Counter)
    number_order: bool = False
    """Whether the numbers of a list are in another order."""
    missing_signs: Counter[str] = field(default_factory=Counter)
    extra_signs: Counter[str] = field(default_factory=Counter)
    missing_words: Counter[str] = field(default_factory=Counter)
    extra_words: Counter[str] = field(default_factory=Counter)
    negation: str = ""
    """`lacks` or `adds`, if only one of source and translation is negated."""
    report_placeholders: bool = False
    report_numbers: bool = False
    """Whether what differs is only reported: a search for the same could spoil the translation."""
    in_words: bool = False
    """Whether a number that is lost has a word for a power of ten: a search may find it, no edit can write it."""

    @property
    def count(self) -> int:
        """How much there is that a search may repair; 0: nothing. Another order is better than what is missing."""
        placeholders = 0 if self.report_placeholders else (self.missing + self.extra + self.debris).total()
        numbers = 0 if self.report_numbers else (self.missing_numbers + self.extra_numbers).total()
        return 2 * placeholders + self.order + self.nesting + numbers

    @property
    def doubts(self) -> int:
        """How much there is that another hypothesis may have right, and that no edit can repair."""
        signs = (self.missing_signs + self.extra_signs + self.missing_words + self.extra_words).total()
        return signs + bool(self.negation) + self.number_order

    @property
    def changes(self) -> int:
        """The most edits that may be needed."""
        differing = (self.missing, self.extra, self.debris, self.missing_numbers, self.extra_numbers)
        return sum(counts.total() for counts in differing)

    @property
    def flags(self) -> list[Flag]:
        parts = [f"{what} {_listed(names)}" for what, names in (("lacks", self.missing), ("adds", self.extra)) if names]
        parts += ["has them in another order"] if self.order else []
        parts += (
            [f"has stray characters next to placeholders: {_listed(self.debris)}"]
            if self.debris and not self.extra
            else []
        )
        parts += [f"spells with other spaces or characters {_listed(self.respelled)}"] if self.respelled else []
        parts += ["has tags that are not nested"] if self.nesting else []
        flags = (
            [Flag("placeholder", f"placeholders: the translation {' and '.join(parts)}; correct it")] if parts else []
        )
        named = (("lacks", self.missing_numbers), ("has another", self.extra_numbers))
        parts = [f"{what} {_listed(numbers)}" for what, numbers in named if numbers]
        parts += ["has those of a list in another order"] if self.number_order else []
        if parts:
            flags.append(Flag("number", f"numbers: the translation {' and '.join(parts)}; compare it"))
        if signs := _named(self.missing_signs, self.extra_signs):
            flags.append(Flag("sign", f"signs: the translation {signs}; compare it"))
        if words := _named(self.missing_words, self.extra_words):
            flags.append(Flag("word", f"words: the translation {words}, in letters of another language; compare it"))
        if self.negation:
            flags.append(Flag("negation", f"negation: the translation {self.negation} a negation; compare it"))
        return flags


NO_FAULTS = Faults()


@dataclass(frozen=True)
class Requirements:
    """What the translations of a (normalised) source have to have."""

    source: str
    patterns: tuple[str, ...] | None = None
    literals: tuple[str, ...] = ()
    with_numbers: bool = True
    languages: Languages = None

    @classmethod
    def of(
        cls,
        source: str,
        options: DecodeConfig,
        patterns: tuple[str, ...] | None = None,
        literals: Iterable[str] = (),
        languages: Languages = None,
    ) -> "Requirements":
        """The requirements by the placeholders and numbers that the options name; `patterns` and `literals` are named
        for this source."""
        names = options.placeholders if patterns is None else patterns
        source = without_colours(source) if COLOUR in source else source
        return cls(normalise(source), names, tuple(map(normalise, literals)), options.numbers, languages)

    @cached_property
    def placeholders(self) -> list[Placeholder]:
        return self.find(self.source)

    @cached_property
    def counts(self) -> Counter[str]:
        return Counter(placeholder.text for placeholder in self.placeholders)

    @cached_property
    def outside(self) -> str:
        """The source without its placeholders."""
        return blanked(self.source, self.placeholders, "\0")

    @cached_property
    def numbers(self) -> list[Amount]:
        """The numbers of the source outside of its placeholders; the large ones in words too, where they are known."""
        if not self.with_numbers:
            return []
        numbers = find_amounts(self.outside) if HAS_DIGIT(self.source) else []
        is_large = self.knows_words and any(pattern.search(self.outside) for pattern in LARGE)
        return with_large_numbers(numbers, self.outside) if is_large else numbers

    def find(self, text: str) -> list[Placeholder]:
        return find_placeholders(text, self.patterns, self.literals)

    def faults(self, text: str) -> Faults:
        placeholders = self.find(text)
        words = self._words(text, placeholders)
        plain = not placeholders and not self.placeholders and not self.numbers and not HAS_DIGIT(text)
        if plain and not words:
            return NO_FAULTS
        counts = Counter(placeholder.text for placeholder in placeholders)
        missing, extra = self.counts - counts, counts - self.counts
        differing, report_numbers, in_words = self._numbers(text, placeholders)
        lost, added, reordered = differing
        for name, word in _WORDS_FOR.items():
            for names, numbers, other in ((missing, added, text), (extra, lost, self.source)):
                if name in names and (hits := list(word.finditer(other))):
                    names -= Counter({name: names[name]})
                    digits = sum(match["digits"] is not None for match in hits)
                    for number in find_amounts(name):
                        numbers -= Counter({number.value: digits})
        complete = not missing and not extra
        return Faults(
            missing,
            extra,
            order=complete and counts == self.counts and _ordered(self.placeholders) != _ordered(placeholders),
            nesting=complete and is_nested(self.placeholders) and not is_nested(placeholders),
            debris=debris(self.source, self.placeholders, text, placeholders),
            missing_numbers=lost,
            extra_numbers=added,
            number_order=reordered,
            **words,
            report_placeholders=not self.placeholders,
            report_numbers=report_numbers,
            in_words=in_words,
        )

    def _words(self, text: str, placeholders: Sequence[Placeholder]) -> dict[str, Any]:
        """Signs, foreign words and negation that differ, by the names of the fields of `Faults`.

        Of languages whose words are not known, broken bytes only.
        """
        if not self.knows_words:
            broken = REPLACEMENT in text and REPLACEMENT not in self.source
            return {"extra_signs": Counter(REPLACEMENT)} if broken else {}
        assert self.languages
        source, outside = self.outside, blanked(text, placeholders, "\0")
        differing: dict[str, Any] = {}
        if SIGN.search(outside) or SIGN.search(source):
            differing["missing_signs"], differing["extra_signs"] = differing_signs(source, outside)
        if HAS_DIGIT(source) or HAS_DIGIT(outside):
            differing["missing_signs"] = differing.get("missing_signs", Counter()) + lost_measures(source, outside)
            differing["extra_signs"] = differing.get("extra_signs", Counter()) + added_halves(source, outside)
        if any(pattern.search(source) for pattern in OTHERS):
            differing["missing_signs"] = differing.get("missing_signs", Counter()) + lost_others(source, outside)
        if FOREIGN[self.languages[0]].search(source) or FOREIGN[self.languages[1]].search(outside):
            differing["missing_words"], differing["extra_words"] = differing_words(source, outside, self.languages)
        if NEGATIONS[self.languages[0]].sure.search(source) or NEGATIONS[self.languages[1]].sure.search(outside):
            differing["negation"] = negation_differs(source, outside, self.languages)
        return {name: value for name, value in differing.items() if value}

    @cached_property
    def knows_words(self) -> bool:
        """Whether the words of both languages are known."""
        return bool(self.languages) and LANGUAGES.issuperset(self.languages or ())

    def _numbers(self, text: str, placeholders: Sequence[Placeholder]) -> tuple[Differences, bool, bool]:
        """The numbers that differ; whether that is only reported; whether a lost one has a power of ten in words."""
        if not self.with_numbers or not (self.numbers or (self.languages and HAS_DIGIT(text))):
            return SAME, False, False
        outside = blanked(text, placeholders, "\0")
        numbers = find_amounts(outside)
        differing = compare(self.numbers, numbers, self.outside, outside, self.languages)
        lost, added, _ = differing
        may_be_a_word = not lost and not added & Counter(number.value for number in self.numbers)
        in_words = [number for number in self.numbers if number.has_power and number.value in lost]
        unsure = bool(in_words) and not (self.knows_words and all(number.is_sure(self.outside) for number in in_words))
        return differing, bool(lost or added) and (may_be_a_word or unsure), bool(in_words)


def checked(translation: Translation, requirements: Requirements, source: str | None = None) -> Translation:
    """The translation of a line, with a warning where it lacks or adds placeholders or numbers.

    `source` has the placeholders as they are to be written; None: that of the translation.

    Others than the best that do are left out, unless the best one does.
    """
    source = translation.source if source is None else source
    flags = [_flags(source, requirements, candidate.text) for candidate in translation.candidates]
    if not any(flags):
        return translation
    if flags[0]:
        return replace(translation, warnings=(*translation.warnings, *flags[0]))
    pairs = zip(translation.candidates, flags, strict=True)
    return replace(translation, candidates=tuple(candidate for candidate, warnings in pairs if not warnings))


def _flags(source: str, requirements: Requirements, text: str) -> list[Flag]:
    """What differs between a line as it was given and the text of its translation."""
    flags = requirements.faults(normalise(without_colours(text) if COLOUR in text else text)).flags
    if flags or source == requirements.source:
        return flags
    written = [name for name in requirements.counts if source.count(name) < requirements.source.count(name)]
    return Faults(respelled=tuple(name for name in written if text.count(name) > source.count(name))).flags


def reported(
    translation: Translation,
    options: DecodeConfig,
    again: Callable[[DecodeConfig], Translation],
    languages: Languages = None,
) -> tuple[Candidate, ...]:
    """Of alternatives, which can have no warning, those that need none; if all do, the line translated `again`.

    Without any that keeps the placeholders there is none.
    """
    whole = {candidate.text: candidate for candidate in translation.candidates if REPLACEMENT not in candidate.text}
    for candidate in translation.candidates:
        text = normalise(candidate.text.replace(REPLACEMENT, ""))
        whole.setdefault(text, replace(candidate, text=text))
    candidates = sorted(whole.values(), key=lambda candidate: -candidate.score)
    if not candidates:
        return ()
    requirements = Requirements.of(translation.source, options, languages=languages)
    flags = [
        {flag.kind for flag in _flags(translation.source, requirements, candidate.text)} for candidate in candidates
    ]
    for kinds in {"placeholder", "number"}, {"placeholder"}:
        if complete := [candidate for candidate, warned in zip(candidates, flags, strict=True) if not warned & kinds]:
            return tuple(complete)
    repaired = again(options.model_copy(update={"n_best": 1, "confidence": False, "alignment": False}))
    return () if any(flag.kind == "placeholder" for flag in repaired.warnings) else repaired.candidates


def respelled(
    translation: Translation,
    options: DecodeConfig,
    patterns: tuple[str, ...] | None,
    literals: Sequence[str],
    languages: Languages = None,
) -> Translation:
    """A line's translation with its placeholders spelled as in the source, and what is to be reported about that."""
    source = translation.source
    names = options.placeholders if patterns is None else patterns
    written = Counter(placeholder.text for placeholder in find_placeholders(source, names, literals))
    spellings = {normalise(text): text for text in written if normalise(text) != text}
    spellings = {
        name: text for name, text in spellings.items() if normalise(source).count(name) == written[text] and name
    }
    candidates = []
    for candidate in translation.candidates:
        text = candidate.text
        for name, spelling in spellings.items():
            text = text.replace(name, spelling)
        candidates.append(replace(candidate, text=text))
    others = tuple(flag for flag in translation.warnings if flag.kind not in COMPARED)
    changed = replace(translation, candidates=tuple(candidates), warnings=others)
    return checked(changed, Requirements.of(source, options, patterns, literals, languages))


def inline_flags(source: InlineText, written: str, patterns: Sequence[str] | None, options: DecodeConfig) -> list[Flag]:
    """What the whole of a written text has not kept: placeholders as often, a protected text at least as often.

    A protected text may be a word elsewhere in the source, and is then translated there.
    """
    patterns = options.placeholders if patterns is None else patterns
    protected = Counter(source.text[slice(*span)] for span in source.protected)
    ours, theirs = (find_placeholders(text, patterns, protected) for text in (source.text, written))
    most, present = (Counter(placeholder.text for placeholder in side) for side in (ours, theirs))
    least = Counter(
        {placeholder.text: most[placeholder.text] for placeholder in ours if placeholder.pattern != LITERAL}
    )
    least |= Counter({name: min(count, most[name]) for name, count in protected.items()})
    return Faults(least - present, present - most).flags


def numbers_outside(text: str, placeholders: Iterable[Placeholder]) -> list[Amount]:
    """The numbers of a text that are in no placeholder."""
    return find_amounts(blanked(text, placeholders, "\0"))


def may_be_a_word(number: Value) -> bool:
    """Whether a number is often written as a word."""
    return not isinstance(number, str) and 0 <= number <= WORDS_UP_TO and number == int(number)


def is_nested(placeholders: Iterable[Placeholder]) -> bool:
    """Whether every closing tag closes the tag that was opened last; tags that are never closed stand alone."""
    tags = [tag.text for tag in placeholders if tag.pattern == "tag" and not tag.text.startswith("<!")]
    closed = {tag_name(tag) for tag in tags if tag.startswith("</")}
    opened: list[str] = []
    for tag in tags:
        if tag.startswith("</"):
            if not opened or opened.pop() != tag_name(tag):
                return False
        elif not tag.endswith("/>") and tag_name(tag) in closed:
            opened.append(tag_name(tag))
    return not opened


def tag_name(tag: str) -> str:
    """The name in a tag, in lower case."""
    return tag.strip("</>").split()[0].partition("=")[0].rstrip("/").lower() if tag.strip("</> ") else ""


def _ordered(placeholders: Sequence[Placeholder]) -> tuple[list[str], list[Counter[str]]]:
    """The placeholders that take their arguments in order; and those of each block of a template."""
    directives = [placeholder.text for placeholder in placeholders if placeholder.pattern == "printf"]
    arguments = [text for text in directives if not {*text} & {*"$([<"} and text not in ("%%", "%n", "%m")]
    blocks = [Counter[str]()]
    for placeholder in placeholders:
        if placeholder.pattern == "template" and _BLOCK.match(placeholder.text):
            blocks.append(Counter())
        blocks[-1][placeholder.text] += 1
    return arguments, blocks


def _named(missing: Iterable[object], extra: Iterable[object]) -> str:
    """What a translation lacks and what it adds, as a predicate."""
    return " and ".join(f"{what} {_listed(names)}" for what, names in (("lacks", missing), ("adds", extra)) if names)


def _listed(names: Iterable[object]) -> str:
    shown = [str(name)[:80] for name in dict.fromkeys(names)]
    rest = len(shown) - LISTED
    return ", ".join(shown[:LISTED]) + (f" and {rest} more" if rest > 0 else "")
