"""What is compared of two sources: the whole text, the text without its numbers, its tokens. Pure functions.

Similarity is 1 − d / n: d is the Levenshtein distance of two texts in tokens, n the number of tokens of the longer one
(Levenshtein 1966). Tokens are words, numbers and punctuation marks, without regard to case; of scripts whose words are
not separated by spaces, or hold whole phrases as those of Korean do, they are single characters.
"""

import re
import unicodedata

from dragoman.errors import DataError, ResourceError
from dragoman.text.words.normalise import is_text
from dragoman.text.words.particles import with_number_particles

NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NUMBER_AND_RUN = re.compile(rf"({NUMBER.pattern})([가-힣]*)")
# Han, kana, Hangul, Thai, Lao, Myanmar, Khmer: a character is a token, and a word has one form.
_SINGLE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff"
# The word of such letters after a number, directly, after a space, or the ending of a number after a sign: 5-ös, 3'te.
_WORD = re.compile(rf"(\s?|['’:]|-(?=[^\W\d_]{{1,2}}\b))([^\W\d_{_SINGLE}]+)")
# Languages in which a noun is the same after every number, and those with more forms than one for 1 and one for others.
_ONE_FORM = frozenset(["bo", "dz", "id", "ja", "jv", "km", "ko", "lo", "ms", "my", "su", "th", "vi", "yue", "zh"])
_MANY_FORMS = frozenset(
    ["ar", "be", "bs", "cs", "cy", "ga", "gd", "he", "hr", "lt", "lv", "mt", "pl", "ro", "ru", "sk", "sl", "sr", "uk"]
)
# Languages that write 1,234.5; others write 1.234,5 or 1 234,5 (CLDR).
_POINT = frozenset(
    [
        "am", "bn", "bo", "cy", "dz", "en", "fil", "ga", "gd", "gu", "ha", "he", "hi", "ig", "ja", "kn", "ko", "ml",
        "mr", "ms", "mt", "my", "ne", "pa", "si", "sw", "ta", "te", "th", "tl", "ur", "yo", "yue", "zh", "zu",
    ]
)  # fmt: skip
_TOKEN = re.compile(rf"[{_SINGLE}]|\d+|[^\W\d_{_SINGLE}]+|[^\w\s]|_")


def key_of(text: str) -> str:
    """The text in NFC, with single spaces: two units with the same key have the same source. Raises DataError."""
    if not isinstance(text, str) or not is_text(text):
        raise DataError(f"{text!r:.40}: not text, or with an unpaired surrogate (invalid Unicode); give it in UTF-8")
    return " ".join(unicodedata.normalize("NFC", text).split())


def without_numbers(key: str) -> str:
    """A key with 0 in the place of each number."""
    return NUMBER.sub("0", key)


def with_numbers_of(new: str, source: str, target: str, pair: tuple[str, str]) -> str | None:
    """The `target` of `source` with the numbers of `new`, which differs from `source` in numbers alone.

    `pair` are the primary subtags of their languages. None unless each number that differs is once in the source and
    once in the target, and where the word after it in the target may be another after the new number (`3rd`, `1 file`),
    or the new number is written otherwise in the target (1.5 in German). Korean particles agree with the new number.
    """
    language = pair[1]
    old, wanted = NUMBER.findall(source), NUMBER.findall(new)
    changes = {number: other for number, other in zip(old, wanted, strict=True) if number != other}
    numbers = NUMBER.findall(target)
    if any(old.count(number) != 1 or numbers.count(number) != 1 for number in changes):
        return None
    if not _POINT.issuperset(pair) and any(_is_written_otherwise(*change) for change in changes.items()):
        return None
    if language not in _ONE_FORM and any(_is_bound(*change, source, target, language) for change in changes.items()):
        return None
    return _NUMBER_AND_RUN.sub(lambda match: _changed(match[1], match[2], changes), target)


def _is_written_otherwise(old: str, new: str) -> bool:
    """Whether a number has a point or a comma that the one in its place, which both sides write alike, has not."""
    return not set(",.").intersection(new) <= set(old)


def _is_bound(old: str, new: str, source: str, target: str, language: str) -> bool:
    """Whether a word next to a number in the target may be another one for a new number; a unit, `GB`, is not."""
    if language == "en" and re.search(rf"\ban?\s{re.escape(old)}(?!\d)", target, re.IGNORECASE):
        return True  # an 8-bit value, a 16-bit value
    word, unit = _word_after(old, target), _word_after(old, source)
    if word is None or (unit and unit[2] == word[2]):
        return False
    return not word[1].isspace() or _plural_form(old, language) != _plural_form(new, language)


def _word_after(number: str, text: str) -> re.Match[str] | None:
    return next((_WORD.match(text, match.end()) for match in NUMBER.finditer(text) if match[0] == number), None)


def _plural_form(number: str, language: str) -> str:
    """Equal for numbers after which a noun has the same form; it may have the same after others."""
    singular = ("0", "1") if language == "fr" else ("1",)
    return number[-2:] if language in _MANY_FORMS else str(number in singular)


def _changed(number: str, run: str, changes: dict[str, str]) -> str:
    """A number with the Hangul after it, changed if it is one that differs."""
    new = changes.get(number, number)
    return new + (run if new == number else with_number_particles(new, run))


def tokens_of(key: str) -> list[str]:
    """The tokens that similarity counts."""
    return _TOKEN.findall(key.casefold())


def similarity(tokens: list[str], others: list[str], least: float = 0.0) -> float:
    """How similar two texts are by their tokens, from 0 to 1; 0 if it is below `least`."""
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        raise ResourceError("sources similar to a text: need rapidfuzz; pip install 'dragoman[documents]'") from None
    return float(Levenshtein.normalized_similarity(tokens, others, score_cutoff=least))
