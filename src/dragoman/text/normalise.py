"""Unicode and spaces: str → str, the same for training text, test text and users' text.

Kept small on purpose: NFC (so that Hangul typed as letters equals Hangul typed as syllables), no control or
invisible direction characters, one space between words. Width, case and punctuation stay as written, since a
translation has to reproduce them.
"""

import re
import unicodedata

# C0 and C1 controls, zero-width space, byte-order mark, bidirectional embeddings. The joiners U+200C and U+200D
# stay: Persian and emoji need them.
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]")


def is_text(text: str) -> bool:
    """Whether every character is whole: no half of a surrogate pair, as broken JSON or a shell may give."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def normalise(text: str) -> str:
    """`text` in NFC on one line, without invisible characters, with single spaces between words."""
    return " ".join(unicodedata.normalize("NFC", _INVISIBLE.sub("", text)).split())


def folded(text: str) -> str:
    """What sentences share that differ in case, spaces or composition alone: fit to be compared, not to be read."""
    return normalise(text).casefold()
