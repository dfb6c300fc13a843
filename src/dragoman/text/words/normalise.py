"""Unicode and spaces: str → str, the same for training text, test text and users' text.

Deliberately small: NFC (Hangul in letters becomes Hangul in syllables), no control characters and no invisible
direction marks, single spaces between words. Width, case and punctuation stay, because a translation has to reproduce
them.
"""

import re
import unicodedata

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
