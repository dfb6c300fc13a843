"""What a user wants to be copied: texts, and regular expressions between slashes. `decode.keep`, `--keep`, `keep=`.

Input: entries such as `Contoso`, `/T\\d+/`, and a text. Output: where they are in it. A text counts where it is no part
of a longer word. An expression has `LONGEST` characters at most, its counts multiply to `REPEATS` at most, and it is
given up after `SECONDS` on one text, so that none can stop a service.
"""

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import regex

from dragoman.errors import ConfigError, check_type, describe_type
from dragoman.system.processes import check_work
from dragoman.text.terms.protect import Placeholder, as_word

# Characters of an expression, entries of a list, seconds of one expression on one text.
LONGEST, MOST, SECONDS = 200, 10_000, 0.1
# What `{n}` repeats is compiled n times: the product of all counts, the bytes of one compiled, and how many are cached.
REPEATS, COMPILED_BYTES, CACHED = 10_000, 128 << 10, 1024
KEEP = "keep"
# A count, with the white space and the comment that `(?x)` allows within.
_COUNT, _VERBOSE = re.compile(r"\{([\d\s]*)(?:,([\d\s]*))?(\}|#)"), re.compile(r"\(\?[\w-]*x")


def find_kept(text: str, entries: Sequence[str]) -> list[Placeholder]:
    """What the entries find in a text, also where it overlaps. Raises ConfigError for one that cannot be used.

    Letters are composed to be compared; what is found is as the text has it.
    """
    if not entries:
        return []
    composed = unicodedata.normalize("NFC", text)
    if composed == text:
        return _hits(text, entries)
    places, composed = _places(text)
    spans = ((places[hit.begin][0], places[hit.end - 1][1]) for hit in _hits(composed, entries))
    return [Placeholder(begin, end, KEEP, text[begin:end]) for begin, end in spans]


def _places(text: str) -> tuple[list[tuple[int, int]], str]:
    """Where each character of a text in composed letters is in the text, and these."""
    places, composed = list[tuple[int, int]](), list[str]()
    for cluster in regex.finditer(r"\X", text):
        letters = unicodedata.normalize("NFC", cluster[0])
        composed.append(letters)
        places += [cluster.span()] * len(letters)
    return places, "".join(composed)


def _hits(text: str, entries: Sequence[str]) -> list[Placeholder]:
    hits = list[Placeholder]()
    texts = _alternatives(tuple(entry for entry in entries if not _is_expression(entry)))
    if texts:
        hits += [Placeholder(*match.span(), KEEP, match[0]) for match in texts.finditer(text)]
    for entry in filter(_is_expression, entries):
        check_work()
        try:
            spans = [match.span() for match in _compiled(entry).finditer(text, timeout=SECONDS)]
        except TimeoutError:
            raise ConfigError(
                f"keep: {entry}: takes too long on a line of {len(text):,} characters; leave out repetitions of "
                "repetitions, or write {1,20} in place of +"
            ) from None
        hits += [Placeholder(begin, end, KEEP, text[begin:end]) for begin, end in spans if begin < end]
    return hits


def check_keep(entries: Iterable[str], where: str = "keep") -> None:
    """Raise ConfigError, which begins with `where`, for an entry that cannot be used."""
    if isinstance(entries, str) or not isinstance(entries, Iterable):
        raise ConfigError(f'{where}: {describe_type(entries)} given; give a list of texts, such as ["Contoso"]')
    number = 0
    for number, entry in enumerate(entries, 1):
        check_type(f"{where}: entry {number}", entry, str, "a str")
        if not entry.strip():
            raise ConfigError(f"{where}: entry {number} is empty; write a text, or /an expression/")
        if _is_expression(entry) and len(entry) > LONGEST + 2:
            raise ConfigError(f"{where}: {entry:.40}…: {len(entry) - 2:,} characters; write at most {LONGEST}")
        if _is_expression(entry):
            _compiled(entry, where)
    if number > MOST:
        raise ConfigError(f"{where}: {number:,} entries; give at most {MOST:,}")


def read_keep(arguments: Iterable[str], where: str = "--keep") -> tuple[str, ...]:
    """The entries of arguments, each an entry or a file with one a line. Raises ConfigError that names the line."""
    entries = list[str]()
    for argument in arguments:
        if _is_file(argument):
            entries += _lines_of(Path(argument))
        else:
            check_keep([argument], where)
            entries.append(argument)
    return tuple(dict.fromkeys(entries))


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except OSError:
        return False


def _lines_of(path: Path) -> Iterator[str]:
    """The entries of a file: lines that are neither blank nor begin with `#` and a space."""
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8; convert the file, with iconv for example") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; check the path") from None
    for number, line in enumerate(lines, 1):
        entry = line.strip()
        if entry and not entry.startswith("# "):
            check_keep([entry], f"{path}:{number}")
            yield entry


def _is_expression(entry: str) -> bool:
    return len(entry) > 2 and entry[0] == entry[-1] == "/"


@lru_cache(maxsize=16)
def _alternatives(texts: tuple[str, ...]) -> re.Pattern[str] | None:
    """One of the texts, the longest that fits."""
    longest_first = sorted({unicodedata.normalize("NFC", text) for text in texts}, key=len, reverse=True)
    return re.compile("|".join(map(as_word, longest_first))) if texts else None


@lru_cache(maxsize=CACHED)
def _compiled(entry: str, where: str = "decode.keep") -> Any:
    expression = unicodedata.normalize("NFC", entry[1:-1])
    if _repeats(expression) > REPEATS:
        raise ConfigError(f"{where}: {entry}: repeats too much: its counts multiply to more than {REPEATS:,}; write +")
    try:
        compiled = regex.compile(expression, cache_pattern=False)
    except regex.error as error:
        raise ConfigError(f"{where}: {entry}: {error}; correct the expression, or leave out its slashes") from None
    if sys.getsizeof(compiled) > COMPILED_BYTES:
        raise ConfigError(f"{where}: {entry}: repeats too much; write smaller counts, or +")
    return compiled


def _repeats(expression: str) -> int:
    """The product of the counts of an expression; more than is allowed if one has a comment within."""
    product, has_comments = 1, bool(_VERBOSE.search(expression))
    for low, high, end in _COUNT.findall(expression):
        numbers = ["".join(number.split()) for number in (low, high)]
        if (end == "#" and has_comments) or max(map(len, numbers)) > len(str(REPEATS)):
            return REPEATS + 1
        product *= max(1, *(int(number or 0) for number in numbers))
    return product
