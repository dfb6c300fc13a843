"""Labels of menus and buttons in documents: the mark of an accelerator key, and the most characters of a translation.

The mark is taken off a text that may be a label (`text.terms.accelerators`), and set again; a text with inline codes or
protected spans is none. The limit is that of a comment for translators: "Max length: 20", "at most 20 characters".
"""

import re
from dataclasses import replace

from dragoman.documents.core.document import Document
from dragoman.text.terms.accelerators import Accelerator, find_accelerator, with_accelerator, without_accelerator
from dragoman.text.words.inline import InlineText

_LIMITS = (
    re.compile(
        r"\bmax(?:imum|\.)?[ _-]?(?:(?:string |text )?(?:length|len|width|size|chars?|characters?)\b)"
        r"(?: is| of)?\s{0,3}[:=]?\s{0,3}(\d{1,5})",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:max(?:imum|\.)?(?: of)?|at most|up to|no more than|limit(?:ed)?(?: to| of|:)?) (\d{1,5}) char", re.I
    ),
    re.compile(r"\b(\d{1,5}) (?:chars?|characters?) (?:max(?:imum)?\b|at most|or (?:less|fewer))", re.I),
    re.compile(r"\b(?:char(?:acter)?|length)[ _-]?limit\s{0,3}[:=]?\s{0,3}(\d{1,5})", re.I),
    re.compile(r"최대\s{0,3}(\d{1,5})\s{0,3}(?:자|글자)"),
)


def without_mark(source: InlineText, translation: InlineText | None = None) -> InlineText:
    """What is translated of a source, or the text of its existing translation."""
    accelerator = _accelerator(source)
    if translation is None:
        return source if accelerator is None else InlineText(accelerator.text)
    return replace(translation, text=without_accelerator(translation.text)) if accelerator else translation


def without_marks(document: Document) -> Document:
    """A document whose units are labels: without the marks, which each unit's `label` has."""
    units = [replace(unit, source=without_mark(unit.source), label=unit.source) for unit in document.units]
    return replace(document, units=units)


def with_mark(source: InlineText, translation: InlineText) -> InlineText:
    """A translation of `without_mark(source)`, with the key of the source; one that has a key keeps it."""
    accelerator = _accelerator(source)
    if accelerator is None or find_accelerator(translation.text):
        return translation
    return InlineText(with_accelerator(translation.text, accelerator))


def _accelerator(source: InlineText) -> Accelerator | None:
    return None if source.codes or source.protected else find_accelerator(source.text)


# What only formulas have: a command of TeX with an argument, or with a script; signs and letters without words.
_FORMULA = re.compile(
    r"\\[A-Za-z]+\s*[\^_{(\\]|\\(?:begin|left|right|frac|sqrt|displaystyle)\b|^\s*\$.*\$\s*$", re.DOTALL
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_SCRIPT = re.compile(r"[\^_]\{|\w\^\w|\w_\w\b|=")


def is_formula(text: str) -> bool:
    """Whether a text in place of a picture is the formula that the picture shows, in TeX or in signs."""
    if _FORMULA.search(text):
        return True
    words = _WORD.findall(re.sub(r"\\[A-Za-z]+", " ", text))
    return bool(_SCRIPT.search(text)) and not words


def length_limit(comment: str) -> int | None:
    """The limit that a comment names, in characters of the translation."""
    for pattern in _LIMITS:
        if match := pattern.search(comment):
            return int(match[1]) or None
    return None
