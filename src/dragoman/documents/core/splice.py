"""Splicing: the original text with some spans replaced, the rest byte for byte as it was; and reading it again."""

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import DataError


class UnreadableTranslation(DataError):
    """What was written is not read again as it was meant, or cannot be written in the encoding of the file."""


# Longer marks first: that of UTF-32 begins with that of UTF-16.
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file as text, and how to encode it again. Line ends are as in the file; the mark is not part of the text."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        """`text` in the encoding of the file. Raises DataError if it has not got a character."""
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = text[error.start]
            remedy = "save the source as UTF-8"
            raise UnreadableTranslation(f"{character!r} cannot be written in {self.encoding}; {remedy}") from None


def decode(path: Path | str, content: bytes, encoding: str = "utf-8") -> Decoded:
    """The text of a file: by its byte-order mark, otherwise in `encoding`. Raises DataError with the position."""
    for mark, marked in BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return Decoded(_text(path, content[len(mark) :], marked), marked, mark)
    text = _text(path, content, encoding)
    if "\0" in text:
        raise DataError(f"{path}: contains NUL characters; save it as UTF-8 text")
    return Decoded(text, encoding)


def _text(path: Path | str, content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        likely = likely_encoding(content)
        looks = f" but looks like {likely}" if likely else ""
        raise DataError(
            f"{path}:{line}: byte {error.start} is not {encoding.upper()}{looks}; save the file as UTF-8"
        ) from None


def likely_encoding(content: bytes) -> str:
    """The Korean or Japanese encoding that these bytes look like, "" if they look like neither."""
    for code, name, letters, most in (("cp932", "Shift-JIS", "[ぁ-ヿ一-鿿]", 0.8), ("cp949", "CP949", "[가-힣]", 0.5)):
        try:
            characters = re.findall(r"[^\0-\x7f]", content.decode(code))
        except UnicodeDecodeError:
            continue
        if len(re.findall(letters, "".join(characters))) > most * len(characters):
            return name
    return ""


@dataclass(frozen=True, slots=True)
class Splice:
    """Replace the characters from `begin` to before `end` by `written`."""

    begin: int
    end: int
    written: str


def indent_before(text: str, at: int) -> str:
    """The white space before a position."""
    begin = at
    while begin and text[begin - 1] in " \t\r\n":
        begin -= 1
    return text[begin:at]


def applied(text: str, begin: int, end: int, splices: Iterable[Splice]) -> str:
    """A part of a text with these replacements, which do not overlap, in any order; insertions come first."""
    parts: list[str] = []
    for splice in sorted(splices, key=lambda splice: (splice.begin, splice.end)):
        assert begin <= splice.begin <= splice.end, "splices do not overlap"
        parts += [text[begin : splice.begin], splice.written]
        begin = splice.end
    return "".join([*parts, text[begin:end]])


def spliced(decoded: Decoded, splices: Iterable[Splice]) -> bytes:
    """The bytes of the file with these replacements."""
    return decoded.mark + decoded.encode(applied(decoded.text, 0, len(decoded.text), splices))


def read_again(path: Path | str, decoded: Decoded, splices: Iterable[Splice]) -> str:
    """The text of the file with these replacements, as a reader of its bytes gets it. Raises DataError."""
    return decode(path, spliced(decoded, splices), decoded.encoding).text


def check_letters(path: Path | str, expected: Iterable[str], read_back: Iterable[str]) -> None:
    """Raise DataError with the first difference, if the letters of these texts are not the same."""
    wanted, actual = ("".join(filter(str.isalpha, "".join(texts))) for texts in (expected, read_back))
    if wanted != actual:
        differences = (index for index, (a, b) in enumerate(zip(wanted, actual, strict=False)) if a != b)
        at = next(differences, min(len(wanted), len(actual)))
        here = slice(max(0, at - 8), at + 24)
        raise UnreadableTranslation(
            f"{path}: its translation could not be read again ({actual[here]!r} instead of {wanted[here]!r}); "
            "nothing was written, please report it"
        )
