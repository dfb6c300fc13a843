"""A user's text → the characters that a model knows: no invisible ones, usual letters, entities as characters.

Input: a text as it was written. Output: the same text as it is read. Training text has little of this, and a model
makes nonsense of it; what is copied to the translation is copied from the text as it is read.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Container

from dragoman.text.words.normalise import UNSEEN

# Joiners between letters that are never joined; Persian, Indic scripts and emoji need theirs.
_JOINER = re.compile("(?<=[\u0000-\u024f\u0370-\u058f\u1100-\u11ff\u3000-\ud7ff])[\u200c\u200d]|^[\u200c\u200d]")
_VARIATION = re.compile("(?<=[A-Za-z\u3000-\ud7ff])[\ufe00-\ufe0f]")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
# Decoded, they would make tags of text.
_BRACKETS = frozenset("<>")
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_FULL_WIDTH_LETTERS = {code: to for code, to in _FULL_WIDTH.items() if chr(to).isalnum()}
# Scripts with punctuation of full width. Korean, which has Chinese letters too, writes the narrow one.
_LATIN = frozenset(("Latn",))
_WIDE_SCRIPTS, _NARROW = frozenset(("Hani", "Hira", "Kana", "Bopo")), "Hang"
# Mathematical letters and digits (`𝐎𝐩𝐞𝐧`), and ligatures: what they are in the usual form.
_STYLED = re.compile("[\U0001d400-\U0001d6a3\U0001d7ce-\U0001d7ff\ufb00-\ufb06]")
# What colours a terminal; signs that are seen by no reader: of music, of annotations, in place of an object; tags,
# which make flags of an emoji and nothing of a letter.
COLOUR = "\x1b"
TERMINAL = re.compile(r"\x1b\[[0-9;?]{0,40}[A-Za-z]")
_UNSEEN_HERE = re.compile(
    "[\ufffc\U0001d173-\U0001d17a]|(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]+"
)
# Of Braille the sign without a dot, where no other sign of Braille is: a space.
_BLANK_BRAILLE = re.compile("(?<![\u2800-\u28ff])\u2800+(?![\u2800-\u28ff])")
# A noun of one or more, `file(s)`, by a list: `solve(s)` is a call, `time(s)` are seconds, `copper(s)` is solid.
_ONE_OR_MORE = re.compile(
    r"(?<![\w.])((?:account|attendee|book|car|cat|change|child|comment|cookie|country|day|device|document|dog|email|"
    r"employee|error|file|folder|friend|guest|hour|image|item|language|lesson|line|link|member|message|minute|month|name|"
    r"night|number|option|order|page|parent|participant|passenger|payment|person|photo|picture|player|product|question|"
    r"recipient|result|row|seat|section|student|teacher|ticket|topic|user|video|visitor|warning|week|word|year)"
    r")\(s\)(?![\w(])",
    re.IGNORECASE,
)
# The middle dot that begins an entry of a list.
_BULLET = re.compile(r"\s*[·・ㆍ‧]\s*")
# Punctuation that a model may not know, and what it knows; with the space that other languages write after it.
_EQUIVALENTS = {
    "。": ". ", "、": ", ", "·": ", ", "・": ", ", "ㆍ": ", ", "‧": ", ", "〜": "~", "‐": "-", "‑": "-", "−": "-",
    "⋯": "...", "‥": "..",
}  # fmt: skip
_USUAL_QUOTES = {
    "「": '"', "」": '"', "『": '"', "』": '"', "〈": '"', "〉": '"', "《": '"', "》": '"',
}  # fmt: skip


def read(text: str, scripts: frozenset[str], entities: bool, known: Callable[[], Container[str]]) -> str:
    """`text` as it is read by a model of a language in these `scripts`, whose vocabulary has the `known` characters.

    `entities`: whether those of HTML are read as characters; in a text with tags none is.
    """
    if entities and "&" in text and not _TAG.search(text):
        text = _ENTITY.sub(_decoded, text)
    text = without_colours(text)
    if scripts == _LATIN and "s)" in text:
        text = _ONE_OR_MORE.sub(r"\1s", text)
    if text.isascii():
        return text
    text = _STYLED.sub(lambda match: unicodedata.normalize("NFKC", match[0]), _UNSEEN_HERE.sub("", text))
    text = _VARIATION.sub("", _JOINER.sub("", UNSEEN.sub("", text)))
    text = _BLANK_BRAILLE.sub(" ", text)
    is_wide = bool(scripts & _WIDE_SCRIPTS) and _NARROW not in scripts
    text, end = text.translate(_FULL_WIDTH_LETTERS if is_wide else _FULL_WIDTH), text[-1:]
    bullet = _BULLET.match(text)
    begin = bullet.end() if bullet else 0
    text = text[:begin] + _with_equivalents(text[begin:], _EQUIVALENTS, known)
    return text if end.isspace() else text.rstrip(" ")


def without_colours(text: str) -> str:
    """`text` without what colours a terminal."""
    return TERMINAL.sub("", text) if COLOUR in text else text


def with_usual_quotes(text: str, known: Callable[[], Container[str]]) -> str:
    """`text` with `"` in place of East Asian quotation marks that are not among the `known` characters."""
    return _with_equivalents(text, _USUAL_QUOTES, known)


def _with_equivalents(text: str, equivalents: dict[str, str], known: Callable[[], Container[str]]) -> str:
    if not text.isascii() and (unknown := set(text) & equivalents.keys()):
        characters = known()
        for sign in unknown:
            text = text if sign in characters else text.replace(sign, equivalents[sign])
    return text


def _decoded(match: re.Match[str]) -> str:
    character = html.unescape(match[0])
    return match[0] if _BRACKETS & set(character) else character
