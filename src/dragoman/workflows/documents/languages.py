"""Is a document in the language that the model reads? Asked before the work, of all its texts together.

By letters first: what is in neither the scripts of the source nor those of the target. Of a script of several
languages, a model of languages says it; it counts where there is much text and it is sure.
"""

import re
from collections.abc import Iterable, Iterator

from dragoman.control.languages import CLOSE, RECOGNISED, script_name
from dragoman.documents import Unit
from dragoman.errors import DataError
from dragoman.text.words.language import detect_language, primary_language
from dragoman.text.words.script import script_of, script_shares, scripts_of_language

# Letters that are looked at; those that a language is told by; how sure that is; the least share of letters to read.
MOST, LEAST, SURE, SHARE = 20_000, 400, 0.9, 0.25
_WORD = re.compile(r"[^\W\d_]{2,}")


def refuse_other_language(where: object, units: Iterable[Unit], source: str, target: str) -> None:
    """Raise DataError if the texts are in another language than `source`, and not in `target` already."""
    other = other_language(units, source, target)
    if other:
        remedy = "give a model of that language, or --force"
        raise DataError(f"{where}: the texts are in {other}, the model reads {source}; {remedy}")


def other_language(units: Iterable[Unit], source: str, target: str) -> str:
    """What texts are in if that is not `source`: "Arabic letters" or "fr"; "" if it is, or if it is uncertain."""
    text = "\n".join(_first(unit.source.visible for unit in units))
    read, written = scripts_of_language(source), scripts_of_language(target)
    if not read:
        return ""
    shares = {script: share for script, share in script_shares(text).items() if script not in written - read}
    total = sum(shares.values())
    if not total:
        return ""
    if sum(share for script, share in shares.items() if script in read) < SHARE * total:
        script = max(shares, key=lambda script: shares[script])
        letter = next(letter for letter in text if script_of(letter) == script)
        return f"{script_name(letter)} letters"
    expected = primary_language(source)
    if expected not in RECOGNISED:
        return ""
    words = " ".join(word for word in _WORD.findall(text) if script_of(word[0]) in read)
    if sum(map(len, words.split())) < LEAST:
        return ""
    language, probability = detect_language(words[:4000])
    near = any({expected, language} <= group for group in CLOSE)
    known = language in (expected, primary_language(target), "und")
    return "" if known or near or probability < SURE else language


def _first(texts: Iterable[str]) -> Iterator[str]:
    """The first texts, as far as they are looked at."""
    count = 0
    for text in texts:
        yield text
        count += len(text)
        if count > MOST:
            return
