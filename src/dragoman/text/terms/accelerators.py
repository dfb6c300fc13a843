"""Accelerator keys of menus and buttons: `_File`, `E&xit`, `~Save`, `파일(_F)`. Pure functions, for any language.

Input: a label. Output: the label without its mark, and how to set one in its translation: in scripts with capitals
before the same letter of the translation, or before its first; in others in parentheses behind it, as Korean and
Japanese programs do.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.text.terms.protect import find_placeholders

MARKS = "_&~"
# Longer texts are sentences, in which a mark is more often something else.
LONGEST = 80
_BEHIND = re.compile(r"\s?\(([_&~])([A-Za-z0-9])\)")
_ENTITY = re.compile(r"&(?:#\w{1,8}|[A-Za-z]\w{0,31});")
# What is copied: a sign in it is no mark, nor one before a path; one before an identifier is: `_MP3`.
_COPIED = ("printf", "brace", "template", "shell", "tag", "url", "email", "path", "code", "identifier")
_MARKUP = re.compile(r"<[/!A-Za-z]|://")
# The second of two words with a sign for `and` between them: `Drag&drop`, `Copy&paste`.
_SECOND_WORD = re.compile(
    "answers|bass|breakfast|butter|click|close|conditions|continue|development|drinks?|drop|edit|exit|forth|go|learn|"
    "match|open|paste|pepper|place|print|quit|replace|roll|run|save|send|share|trace|white|win"
)
# The second part of a name in a program: `User_id`, `Max_size`. The name itself may be behind the mark: `_id`.
_FIELD = re.compile(
    "code|count|data|date|file|ids?|index|info|keys?|length|level|list|mode|name|number|page|path|size|state|status|str|"
    "string|table|text|time|type|uid|url|user|values?"
)
_ID = re.compile("u{0,2}ids?")
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
    if not after[:1].isalpha() or _ENTITY.match(label, at) or _is_copied(label, at):
        return False
    head, tail = re.findall(r"\w*\Z", before)[0], re.findall(r"\w+", after)[0]
    if head:
        return _is_in_word(label, head, tail)
    is_identifier = before == "" and tail == after and after.islower()
    return before[-1:] in ("", " ", "(", "[", '"', "/") and not is_identifier and not _ID.fullmatch(tail)


def _is_copied(label: str, at: int) -> bool:
    """Whether the sign at a position is a part of what a translation copies."""
    if label[at - 1 : at] in ('"', "/") and _MARKUP.search(label):
        return True
    copies = find_placeholders(label, _COPIED)
    return any(copy.begin + (copy.pattern != "path") <= at < copy.end for copy in copies)


def _is_in_word(label: str, head: str, tail: str) -> bool:
    """Whether a mark between two parts of a word sets a key, and does not join two words or make a name of them."""
    if not (head[0].isupper() and head.isalpha() and tail[0].islower()) or (len(head) > 1 and head.isupper()):
        return False
    if "_" not in label:
        return len(head) < 3 or not _SECOND_WORD.fullmatch(tail)
    # Where a label has capitals it has them in all words: what has small words before such a name is a sentence.
    words = label.split()
    is_sentence = len(words) > 2 and "_" not in words[0] and any(len(word) > 3 and word[0].islower() for word in words)
    return not is_sentence and (len(head) < 3 or not _FIELD.fullmatch(tail))


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
