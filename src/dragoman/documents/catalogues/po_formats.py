"""What the format flags of a PO message (`c-format`, `python-format`, …) say about its directives.

A message that is flagged is a format string for certain: its directives are found by the grammar of its language, more
strictly than patterns for any text could, and are spans that a translation copies. Where a C message has different
directives, they are shown with their numbers, `%1$d … %2$s`, so that they may change places; they lose them again where
they did not.
"""

import re
from collections import Counter
from collections.abc import Collection

from dragoman.config.sections.decode import PLACEHOLDERS

_C = r"""%(?:\d+\$)?[-+\ #0'I]{0,5}(?:\d+|\*(?:\d+\$)?)?(?:\.(?:\d+|\*(?:\d+\$)?)?)?
    (?:hh?|ll?|[jztLq])?(?:[diouxXeEfFgGaAcsCSpnm@]|<PRI\w+>)|%%"""
_PYTHON = r"%(?:\([^()]*\))?[-+\ #0]{0,5}(?:\d+|\*)?(?:\.(?:\d+|\*))?[hlL]?[diouxXeEfFgGcrsa]|%%"
_BRACE = r"\{\{|\}\}|\{[^{}]*(?:\{[^{}]*\}[^{}]*){0,3}\}"
_QT = r"%L?(?:\d{1,2}|n)"
_GRAMMARS = {
    "c-format": _C, "objc-format": _C, "php-format": _C, "perl-format": _C, "awk-format": _C, "lua-format": _C,
    "gcc-internal-format": _C, "java-printf-format": _C, "sh-printf-format": _C, "c++-format": _BRACE,
    "go-format": _C, "pascal-format": _C, "object-pascal-format": _C, "python-format": _PYTHON,
    "python-brace-format": _BRACE, "csharp-format": _BRACE, "java-format": _BRACE, "rust-format": _BRACE,
    "perl-brace-format": _BRACE, "qt-format": _QT, "qt-plural-format": _QT, "kde-format": _QT, "kde-kuit-format": _QT,
}  # fmt: skip
_COMPILED = {grammar: re.compile(grammar, re.VERBOSE) for grammar in _GRAMMARS.values()}
_DIRECTIVE = re.compile(r"%(\d+\$)?(?!%)")


def directives(text: str, flags: Collection[str]) -> tuple[tuple[int, int], ...]:
    """The spans of the directives by the flags of a message, in order."""
    patterns = [_COMPILED[_GRAMMARS[flag]] for flag in flags if flag in _GRAMMARS]
    matches = {match.span() for pattern in patterns for match in pattern.finditer(text)}
    spans: list[tuple[int, int]] = []
    for begin, end in sorted(matches):
        if not spans or begin >= spans[-1][1]:
            spans.append((begin, end))
    return tuple(spans)


def is_kept(source: str, text: str, flags: Collection[str]) -> bool:
    """Whether a translation is a format string that takes the arguments of its source."""
    listed = [[side[begin:end] for begin, end in directives(side, flags)] for side in (source, text)]
    counted = [Counter(directive for directive in group if directive != "%%") for group in listed]
    # Without names and numbers they take the arguments one after another.
    ordered = [[part for part in group if re.match(r"%(?![(%]|\d+\$)", part)] for group in listed]
    return counted[0] == counted[1] and ordered[0] == ordered[1] and _stray(text, flags) <= _stray(source, flags)


def _stray(text: str, flags: Collection[str]) -> int:
    """How many characters would begin a directive and do not."""
    grammars = {_GRAMMARS[flag] for flag in flags if flag in _GRAMMARS} - {_QT}
    for begin, end in reversed(directives(text, flags)):
        text = text[:begin] + text[end:]
    return sum(text.count(sign) for sign in ("{}" if grammars == {_BRACE} else "%" if grammars else ""))


def patterns(flags: Collection[str]) -> tuple[str, ...] | None:
    """The patterns of placeholders for the rest of a message; None: the usual ones."""
    if not any(flag.startswith("no-") and flag.removeprefix("no-") in _GRAMMARS for flag in flags):
        return None
    printf = any(_GRAMMARS.get(flag.removeprefix("no-")) in (_C, _PYTHON, _QT) for flag in flags if flag[:3] == "no-")
    without = ("printf", "percent") if printf else ("brace",)
    return tuple(name for name in PLACEHOLDERS if name not in without)


def numbered(text: str, flags: Collection[str]) -> str:
    """A C format string with numbers in its directives, if it has several that are not alike."""
    spans = _arguments(text, flags)
    if len({text[begin:end] for begin, end in spans}) < 2 or any("$" in text[begin:end] for begin, end in spans):
        return text
    for number, (begin, _) in reversed(list(enumerate(spans, 1))):
        text = f"{text[: begin + 1]}{number}${text[begin + 1 :]}"
    return text


def unnumbered(text: str, flags: Collection[str], source: str) -> str:
    """A C format string without the numbers of `numbered`, if `source` has none and the directives are in its order."""
    spans = _arguments(text, flags)
    if "$" in source or [text[begin + 1 : end].partition("$")[0] for begin, end in spans] != [
        str(number) for number in range(1, len(spans) + 1)
    ]:
        return text
    for begin, end in reversed(spans):
        text = f"{text[: begin + 1]}{text[begin:end].partition('$')[2]}{text[end:]}"
    return text


def _arguments(text: str, flags: Collection[str]) -> list[tuple[int, int]]:
    """The directives of a C format string that take an argument; none where a width takes one too."""
    if "c-format" not in flags:
        return []
    spans = [span for span in directives(text, ("c-format",)) if text[slice(*span)] not in ("%%", "%m")]
    return [] if any("*" in text[slice(*span)] for span in spans) else spans
