"""Accelerator keys of menus and buttons: `_File`, `E&xit`, `~Save`, `파일(_F)`. Pure functions, for any language.

Input: a label. Output: the label without its mark, and how to set one in its translation: in scripts with capitals
before the same letter of the translation, or before its first; in others in parentheses behind it, as Korean and
Japanese programs do.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MARKS = "_&~"
# Longer texts are sentences, in which a mark is more often something else.
LONGEST = 80
_BEHIND = re.compile(r"\s?\(([_&~])([A-Za-z0-9])\)")
_ENTITY = re.compile(r"&(?:#\w{1,8}|[A-Za-z]\w{0,31});")
# What follows a label: `Open…`, `Name:`.
_ENDING = re.compile(r"[\s.…:：。]*\Z")


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A label, its text without the mark, the mark and the key."""

    label: str
    text: str
    mark: str
    key: str


def find_accelerator(label: str) -> Accelerator | None:
    """The accelerator of a label; None if it has none, or several marks, or its mark is more likely something else."""
    if len(label) > LONGEST:
        return None
    behind = list(_BEHIND.finditer(label))
    others = sum(map(label.count, MARKS)) - 1
    if len(behind) == 1 and (not others or _ENDING.match(label, behind[0].end())):
        match = behind[0]
        return Accelerator(label, label[: match.start()] + label[match.end() :], match[1], match[2])
    for mark in MARKS:
        if label.count(mark) == 1 and _is_set(label, label.index(mark)):
            at = label.index(mark)
            return Accelerator(label, label[:at] + label[at + 1 :], mark, label[at + 1])
    return None


def _is_set(label: str, at: int) -> bool:
    """Whether the mark at a position sets a key: before a word, or before a small letter in a word with a capital."""
    before, after = label[:at], label[at + 1 :]
    if not after[:1].isalpha() or _ENTITY.match(label, at):
        return False
    word = re.search(r"\w*\Z", before)
    if word and word[0]:
        return word[0][0].isupper() and word[0].isalpha() and after[0].islower()
    name = re.match(r"\w+", after)
    is_identifier = before == "" and name is not None and len(name[0]) == len(after) and after.islower()
    return before[-1:] in ("", " ", "(", "[", '"', "/") and not is_identifier


def with_accelerator(translation: str, source: Accelerator) -> str:
    """The translation of the text of a label, with the key of the source; without one where none would be found."""
    if translation == source.text:
        return source.label
    letters = [letter for letter in translation if letter.isalpha()]
    if not letters:
        return translation
    has_capitals = all(letter.lower() != letter.upper() for letter in letters)
    labels = [*(_inside(translation, source) if has_capitals else ()), _behind(translation, source)]
    return next((label for label in labels if _is_found(label, translation)), translation)


def _inside(translation: str, source: Accelerator) -> Iterator[str]:
    """The labels with the mark before a letter: the key at the beginning of a word, anywhere, another first letter."""
    key = re.escape(source.key)
    for pattern in (rf"\b{key}", key, r"(?<!\w)[^\W\d_]"):
        for match in re.finditer(pattern, translation, re.IGNORECASE):
            yield f"{translation[: match.start()]}{source.mark}{translation[match.start() :]}"


def _behind(translation: str, source: Accelerator) -> str:
    ending = _ENDING.search(translation)
    at = ending.start() if ending else len(translation)
    return f"{translation[:at]}({source.mark}{source.key.upper()}){translation[at:]}"


def _is_found(label: str, text: str) -> bool:
    accelerator = find_accelerator(label)
    return accelerator is not None and accelerator.text == text


def without_accelerator(translation: str) -> str:
    """A translation that has an accelerator, without it."""
    accelerator = find_accelerator(translation)
    return accelerator.text if accelerator else translation
