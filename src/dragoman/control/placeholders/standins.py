"""Stand-ins: a source with names in place of what its translation lost, and their way back.

A model that loses `%(name)s` may well copy `PDF`. Which names it copies, nobody knows beforehand: a source has several
variants, each with names of another kind, and what comes back complete is compared by score. Numbers are replaced by
other numbers.

After a placeholder a Korean particle is written in both shapes (`%s을(를)`), because nobody knows what will be
there; after a number it agrees with how the number is read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dragoman.control.faults.faults import Requirements
from dragoman.text.words.normalise import normalise
from dragoman.text.words.particles import both_shapes, hangul_run, with_number_particles

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
# Placeholders whose value, and therefore whose last sound, is unknown.
_VARIABLE = ("printf", "percent", "brace", "template", "shell", "i18next", "vue", "laravel", "literal")


@dataclass(frozen=True, slots=True)
class _StandIn:
    """A name, what it replaces, and whether this is a number or a variable."""

    name: str
    text: str
    kind: str

    @property
    def occurrence(self) -> re.Pattern[str]:
        """The name, and not as a part of a longer word or number; a repeated `%` or brace is none of it."""
        return re.compile(rf"(?<![A-Za-z0-9%{{$])(?<!\d[.,]){re.escape(self.name)}(?![A-Za-z0-9}}$]|[.,]\d)")


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
            if len(matches) != 1:
                return None
            spans.append((*matches[0].span(), stand_in))
        spans.sort(key=lambda span: span[:2])
        written, at = [], 0
        for begin, end, stand_in in spans:
            after = hangul_run(translation, end)
            particles = translation[end:after]
            if stand_in.kind == "number":
                particles = with_number_particles(stand_in.text, particles)
            elif stand_in.kind in _VARIABLE and translation[after : after + 1] != "(":
                particles = both_shapes(particles)
            written += [translation[at:begin], stand_in.text, particles]
            at = after
        return normalise("".join([*written, translation[at:]]))


def variants(requirements: Requirements, numbers: bool) -> Iterator[SourceVariant]:
    """The variants of a source, one of each kind that has enough names; with `numbers`, these are replaced too."""
    seen = set[str]()
    for kind in KINDS:
        variant = _variant(requirements, kind, numbers)
        if variant and variant.text not in seen:
            seen.add(variant.text)
            yield variant


def _variant(requirements: Requirements, kind: Sequence[str], numbers: bool) -> SourceVariant | None:
    spans = [(span.begin, span.end, span.text, span.pattern) for span in requirements.placeholders]
    if numbers:
        spans += [
            (span.begin, span.end, requirements.source[span.begin : span.end], "number")
            for span in requirements.numbers
        ]
    names = iter([name for name in kind if name not in requirements.source])
    others = iter([name for name in NUMBERS if name not in requirements.source and name not in kind])
    written, at, stand_ins = [], 0, []
    for begin, end, text, pattern in sorted(spans):
        name = next(others if pattern == "number" else names, None)
        if name is None:
            return None
        stand_ins.append(_StandIn(name, text, pattern))
        written += [requirements.source[at:begin], name]
        at = end
    return SourceVariant("".join([*written, requirements.source[at:]]), tuple(stand_ins)) if stand_ins else None
