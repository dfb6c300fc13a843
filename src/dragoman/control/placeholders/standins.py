"""Stand-ins: a source with names in place of what its translation lost, and their way back.

A model that loses `%(name)s` may well copy `PDF`. Which names it copies, nobody knows beforehand: a source has several
variants, each with names of another kind, and what comes back complete is compared by score. Numbers are replaced by
other numbers, which models copy better than they convert: for `3천5백만 원` the source has `2,900 원`, and where the
translation has 2,900 it gets `35 million`.

After a placeholder a Korean particle is written in both shapes (`%s을(를)`), because nobody knows what will be
there; after a number it agrees with how the number is read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from dragoman.control.faults.faults import Requirements
from dragoman.text.words.amounts import Amount
from dragoman.text.words.normalise import normalise
from dragoman.text.words.number_words import power_at, written
from dragoman.text.words.particles import (
    both_shapes,
    hangul_run,
    is_particles,
    with_number_particles,
    with_particles_of,
)

# What models copy, in kinds, those that most sentences keep first; no kind is copied by all models.
KINDS = (
    ("3100", "4200", "5300", "6400", "7500", "8600", "2700", "9800"),
    ("PDF", "USB", "XML", "CPU", "SQL", "DVD", "GPS", "LED", "RAM", "VPN"),
    ("{0}", "{1}", "{2}", "{3}", "{4}", "{5}", "{6}", "{7}", "{8}", "{9}"),
    ("%1$s", "%2$s", "%3$s", "%4$s", "%5$s", "%6$s", "%7$s", "%8$s", "%9$s"),
    ("X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "X9", "X10", "X11", "X12", "X13", "X14", "X15", "X16"),
    ("Tom", "Mary", "John", "Anna", "Paul", "Lisa"),
)
NUMBERS = ("31", "42", "53", "64", "75", "86", "27", "98", "39", "46", "57", "68", "72", "83", "94", "35")
# For amounts, numbers with powers of ten in words.
AMOUNTS = ("2,900", "3,800", "4,700", "5,600", "6,500", "7,400", "8,300", "9,200")
# What is written together with a number of 만 or 억, as a particle is.
_SUFFIXES = ("여", "쯤", "씩", "대")
# Placeholders whose value, and therefore whose last sound, is unknown.
_VARIABLE = ("printf", "percent", "brace", "template", "shell", "i18next", "vue", "laravel", "literal")


@dataclass(frozen=True, slots=True)
class _StandIn:
    """A name, what it replaces, and whether this is a number or a variable."""

    name: str
    text: str
    kind: str

    @property
    def is_number(self) -> bool:
        return self.kind in ("number", "amount")

    @property
    def occurrence(self) -> re.Pattern[str]:
        """The name, and not as a part of a longer word or number; a repeated `%` or brace is none of it."""
        name, before = re.escape(self.name).replace(",", ",?"), "" if self.is_number else "$"
        return re.compile(rf"(?<![A-Za-z0-9%{{{before}])(?<!\d[.,]){name}(?![A-Za-z0-9}}$]|[.,]\d)")


@dataclass(frozen=True, slots=True)
class SourceVariant:
    """A source with stand-ins."""

    text: str
    stand_ins: tuple[_StandIn, ...]

    def restored(self, translation: str) -> str | None:
        """A translation with what the stand-ins replace; None unless it has each of them once."""
        spans = []
        for stand_in in self.stand_ins:
            matches = list(stand_in.occurrence.finditer(translation))
            if len(matches) != 1 or (stand_in.is_number and power_at(translation, matches[0].end())):
                return None
            spans.append((*matches[0].span(), stand_in))
        spans.sort(key=lambda span: span[:2])
        parts, at = [], 0
        for begin, end, stand_in in spans:
            after = hangul_run(translation, end)
            behind = translation[end:after]
            if stand_in.is_number:
                behind = _behind_number(stand_in.text, behind)
            elif stand_in.kind in _VARIABLE and translation[after : after + 1] != "(":
                behind = both_shapes(behind)
            parts += [translation[at:begin], stand_in.text, behind]
            at = after
        return normalise("".join([*parts, translation[at:]]))


def _behind_number(number: str, behind: str) -> str:
    """The syllables behind a number: particles that agree with it, or a noun, before which 만 and 억 have a space."""
    if not "가" <= number[-1] <= "힣":
        return with_number_particles(number, behind)
    if is_particles(number, behind, agree=False) or behind.startswith(_SUFFIXES):
        return with_particles_of(number, behind)
    return f" {behind}"


def variants(requirements: Requirements, numbers: Sequence[Amount]) -> Iterator[SourceVariant]:
    """The variants of a source, one of each kind that has enough names; `numbers` are those that are replaced too."""
    seen = set[str]()
    for kind, amounts in zip(KINDS, cycle((AMOUNTS, NUMBERS)), strict=False):
        variant = _variant(requirements, kind, numbers, amounts)
        if variant and variant.text not in seen:
            seen.add(variant.text)
            yield variant


def _variant(
    requirements: Requirements, kind: Sequence[str], numbers: Sequence[Amount], amounts: Sequence[str]
) -> SourceVariant | None:
    """The variant with names of this kind, and of `amounts` for amounts."""
    source = requirements.source
    spans = [(span.begin, span.end, span.text, span.pattern) for span in requirements.placeholders]
    spans += [_number(requirements, number) for number in numbers]
    short = iter([name for name in NUMBERS if name not in source and name not in kind])
    longer = iter([name for name in AMOUNTS if name not in source])
    names = {"number": short, "amount": longer if amounts is AMOUNTS else short}
    copied = iter([name for name in kind if name not in source])
    parts, at, stand_ins = [], 0, []
    for begin, end, text, pattern in sorted(spans):
        name = next(names.get(pattern, copied), None)
        if name is None:
            return None
        stand_ins.append(_StandIn(name, text, pattern))
        parts += [source[at:begin], name]
        at = end
    return SourceVariant("".join([*parts, source[at:]]), tuple(stand_ins)) if stand_ins else None


def _number(requirements: Requirements, number: Amount) -> tuple[int, int, str, str]:
    """Where a number is in the source, with its words for powers of ten; how a translation writes it; its kind."""
    is_sure = number.has_power and requirements.knows_words and number.is_sure(requirements.outside)
    if not is_sure or isinstance(number.value, str):
        return number.begin, number.end, requirements.source[number.begin : number.end], "number"
    assert requirements.languages
    return number.first, number.last, written(number.value, requirements.languages[1]), "amount"
