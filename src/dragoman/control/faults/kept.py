"""What a translation has to have of its source: placeholders as often, tags nested, numbers equal. No torch.

Input: a source and a translation. Output: what is missing or too much, and warnings. This is the last word about every
translation that is returned: whatever the searches before it did, what differs here is reported.

Placeholders are compared as they are written. Those of printf without a number take arguments in their order, so that
another order is a fault, unless all are alike; the blocks of a template stay in order, each with what is in it. Numbers
are compared by `text.words.numbers`, outside of placeholders, if the source has any. What only the translation has is
reported and not repaired, if the source has no placeholder at all, or no such number: there it may be a word.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dragoman.config import DecodeConfig
from dragoman.control.faults.debris import debris
from dragoman.text.terms.protect import Placeholder, blanked, find_placeholders
from dragoman.text.words.normalise import normalise
from dragoman.text.words.numbers import Number, Value, are_other, differences, find_numbers
from dragoman.translation import Flag

# Names in a warning.
LISTED = 5
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
    report_placeholders: bool = False
    report_numbers: bool = False
    """Whether what differs is only reported: a search for the same could spoil the translation."""

    @property
    def count(self) -> int:
        """How much there is that a search may repair; 0: nothing. Another order is better than what is missing."""
        placeholders = 0 if self.report_placeholders else (self.missing + self.extra + self.debris).total()
        numbers = 0 if self.report_numbers else (self.missing_numbers + self.extra_numbers).total()
        return 2 * placeholders + self.order + self.nesting + numbers

    @property
    def flags(self) -> list[Flag]:
        """A warning about placeholders and one about numbers, if there is something to report."""
        parts = [f"{what} {_listed(names)}" for what, names in (("lacks", self.missing), ("adds", self.extra)) if names]
        parts += ["has them in another order"] if self.order else []
        parts += [f"leaves next to them {_listed(self.debris)}"] if self.debris and not self.extra else []
        parts += [f"spells with other spaces or characters {_listed(self.respelled)}"] if self.respelled else []
        parts += ["has tags that are not nested"] if self.nesting else []
        flags = (
            [Flag("placeholder", f"placeholders: the translation {' and '.join(parts)}; correct it")] if parts else []
        )
        named = (("lacks", self.missing_numbers), ("has another", self.extra_numbers))
        parts = [f"{what} {_listed(numbers)}" for what, numbers in named if numbers]
        if parts:
            flags.append(Flag("number", f"numbers: the translation {' and '.join(parts)}; compare it"))
        return flags


NO_FAULTS = Faults()


@dataclass(frozen=True, slots=True)
class Protection:
    """What a line's translation keeps: the names of patterns, None for those of the options, and texts as written."""

    patterns: tuple[str, ...] | None = None
    literals: tuple[str, ...] = ()


USUAL = Protection()
Keeping = Sequence[Protection]


@dataclass(frozen=True)
class Kept:
    """What the translations of a (normalised) source have to have."""

    source: str
    patterns: tuple[str, ...] | None = None
    literals: tuple[str, ...] = ()
    with_numbers: bool = True

    @classmethod
    def of(cls, source: str, options: DecodeConfig, protection: Protection = USUAL) -> "Kept":
        """By the placeholders and numbers that the options ask for, and what is named for this line."""
        patterns = options.placeholders if protection.patterns is None else protection.patterns
        return cls(normalise(source), patterns, tuple(map(normalise, protection.literals)), options.numbers)

    @cached_property
    def placeholders(self) -> list[Placeholder]:
        """Those of the source."""
        return self.find(self.source)

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each placeholder occurs."""
        return Counter(one.text for one in self.placeholders)

    @cached_property
    def numbers(self) -> list[Number]:
        """The numbers of the source outside of its placeholders."""
        return numbers_outside(self.source, self.placeholders) if self.with_numbers else []

    def find(self, text: str) -> list[Placeholder]:
        """The placeholders of a text, in order."""
        return find_placeholders(text, self.patterns, self.literals)

    def faults(self, text: str) -> Faults:
        """What a translation lacks or has too much."""
        found = self.find(text)
        if not found and not self.placeholders and not self.numbers:
            return NO_FAULTS
        counts = Counter(one.text for one in found)
        missing, extra = self.counts - counts, counts - self.counts
        complete = not missing and not extra
        lost, added, report_numbers = self._numbers(text, found)
        return Faults(
            missing,
            extra,
            order=complete and _ordered(self.placeholders) != _ordered(found),
            nesting=complete and is_nested(self.placeholders) and not is_nested(found),
            debris=debris(self.source, self.placeholders, text, found),
            missing_numbers=lost,
            extra_numbers=added,
            report_placeholders=not self.placeholders,
            report_numbers=report_numbers,
        )

    def _numbers(self, text: str, found: Sequence[Placeholder]) -> tuple[Counter[Value], Counter[Value], bool]:
        """The numbers that differ, and whether that is only reported."""
        numbers = numbers_outside(text, found) if self.numbers else []
        ours, theirs = ([number.value for number in each] for each in (self.numbers, numbers))
        lost, added = differences(ours, theirs)
        if not self.numbers or not are_other(lost, added):
            return Counter(), Counter(), False
        differing = [one for one in self.numbers if one.value in lost] + [one for one in numbers if one.value in added]
        may_be_a_word = not lost and not added & Counter(ours)
        return lost, added, may_be_a_word or any(one.has_power for one in differing)


def numbers_outside(text: str, placeholders: Iterable[Placeholder]) -> list[Number]:
    """The numbers of a text that are in no placeholder."""
    return find_numbers(blanked(text, placeholders, "\0"))


def is_nested(placeholders: Iterable[Placeholder]) -> bool:
    """Whether every closing tag closes the tag that was opened last; tags that are never closed stand alone."""
    tags = [one.text for one in placeholders if one.pattern == "tag" and not one.text.startswith("<!")]
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
    return tag.strip("</>").split()[0].rstrip("/").lower() if tag.strip("</> ") else ""


def _ordered(placeholders: Sequence[Placeholder]) -> tuple[list[str], list[Counter[str]]]:
    """The placeholders that take their arguments in order; and those of each block of a template."""
    arguments = [one.text for one in placeholders if one.pattern == "printf" and "$" not in one.text
                 and "(" not in one.text and one.text not in ("%%", "%n", "%m")]  # fmt: skip
    blocks = [Counter[str]()]
    for one in placeholders:
        if one.pattern == "template" and _BLOCK.match(one.text):
            blocks.append(Counter())
        blocks[-1][one.text] += 1
    return arguments, blocks


def _listed(names: Iterable[object]) -> str:
    shown = [str(name)[:80] for name in dict.fromkeys(names)]
    rest = len(shown) - LISTED
    return ", ".join(shown[:LISTED]) + (f" and {rest} more" if rest > 0 else "")
