"""ARB, the catalogues of Flutter: the resources are ICU messages, `@key` describes them and stays.

`@@locale` becomes the target's language. An apostrophe is nothing but one, as Flutter reads it by default, unless the
file doubles it (`''`) or a message parses only with quotes.
"""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from dragoman.documents.catalogues import icu_messages
from dragoman.documents.catalogues.json import JsonString, Scanner, strings_document
from dragoman.documents.core.document import Document, DocumentOptions
from dragoman.documents.core.passage import UNFIT, Message
from dragoman.documents.core.splice import Splice, decode
from dragoman.documents.core.values import write_values


def read(path: Path, options: DocumentOptions) -> Document:
    """The messages of an ARB file. Raises DataError with the line for what is not JSON."""
    decoded = decode(path, path.read_bytes())
    scanner = Scanner(path, decoded.text)
    descriptions = {string.keys[0]: string.text for string in scanner.texts if string.keys[1:] == ("description",)}
    quotes = any("''" in string.text for string in _resources(scanner.texts))
    chosen = [(string, descriptions.get(f"@{string.keys[0]}", "")) for string in _resources(scanner.texts)]
    # Flutter writes tags with `_`: `pt_BR`.
    locale = json.dumps(options.target.replace("-", "_"))
    locales = [Splice(string.begin, string.end, locale) for string in scanner.texts if string.keys == ("@@locale",)]
    return strings_document(decoded, scanner, chosen, partial(_message, quotes=quotes), True, locales)


write = write_values


def _resources(texts: Sequence[JsonString]) -> Iterator[JsonString]:
    return (string for string in texts if len(string.keys) == 1 and not str(string.keys[0]).startswith("@"))


def _message(text: str, quotes: bool) -> Message:
    if UNFIT.search(text):
        raise ValueError("unpaired surrogate, NUL or private character")
    if quotes:
        return icu_messages.parse(text)
    try:
        return icu_messages.parse(text, quotes=False)
    except ValueError:
        return icu_messages.parse(text)
