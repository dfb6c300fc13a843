"""Text as it is given and as it is read: valid Unicode, one form of characters and of spaces.

The form is the same for training text, test text and users' text, and deliberately small: NFC (Hangul in letters
becomes Hangul in syllables), no control characters and no invisible direction marks, single spaces between words.
Width, case and punctuation stay, because a translation has to reproduce them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from dragoman.errors import DataError, describe_type

# C0 and C1 controls, zero-width space, byte-order mark, bidirectional embeddings. The joiners U+200C and U+200D
# stay: Persian and emoji need them.
INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]")

# What a user's text may have besides: soft hyphen, joiners of graphemes and words, directional isolates, invisible
# operators, marks of annotations. Left out before a text is translated; texts to learn from keep them.
UNSEEN = re.compile(f"[{INVISIBLE.pattern[1:-1]}\u00ad\u034f\u061c\u115f\u1160\u180e\u2060-\u206f\u3164\ufff9-\ufffb]")

_SURROGATE = re.compile("[\ud800-\udfff]")


def is_text(text: str) -> bool:
    """Whether the text is valid Unicode: without unpaired surrogates, which broken JSON or a shell may produce."""
    return not _SURROGATE.search(text)


def normalise(text: str) -> str:
    """`text` in NFC on one line, without invisible characters, with single spaces between words."""
    if not (text.isascii() and text.isprintable()):
        text = unicodedata.normalize("NFC", INVISIBLE.sub("", text))
    return " ".join(text.split())


def folded(text: str) -> str:
    """A form for comparison: the same for sentences that differ only in case, spaces or Unicode composition."""
    return normalise(text).casefold()


def lines_of(text: str | Iterable[str]) -> Iterable[str]:
    """The lines of a text: a str is one line, any other iterable holds one line per str. Raises DataError."""
    if isinstance(text, str):
        return [_valid(text)]
    if isinstance(text, bytes | bytearray | Mapping) or not isinstance(text, Iterable):
        raise DataError(f"text: {describe_type(text)} given; give a str, one line, or an iterable of str, several")
    return _checked(text)


def _checked(lines: Iterable[object]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise DataError(f"text: line {number} is {describe_type(line)}; give a str for each line")
        yield _valid(line)


def one_line(text: object) -> str:
    """The text if it is a str. Raises DataError."""
    if not isinstance(text, str):
        raise DataError(f"text: {describe_type(text)} given; give a str, one line")
    return _valid(text)


def _valid(text: str) -> str:
    if not text.isascii() and not is_text(text):
        raise DataError(f"{text!r:.60}: contains an unpaired surrogate (invalid Unicode); give the text in UTF-8")
    return text


def checked_pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs as a list. Raises DataError that says which is no pair of str."""
    if isinstance(pairs, str | bytes | Mapping) or not isinstance(pairs, Iterable):
        raise DataError(f"pairs: {describe_type(pairs)} given; give an iterable of (source, target), two str")
    listed = list(pairs)
    for number, pair in enumerate(listed, 1):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(side, str) for side in pair):
            raise DataError(f"pairs: pair {number} is {pair!r:.80}; give (source, target), two str")
    return listed
