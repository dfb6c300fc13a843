"""ARB, the catalogues of Flutter: the resources are ICU messages, `@key` describes them and stays.

`@@locale` becomes the target's language. An apostrophe is nothing but one, as Flutter reads it by default, unless the
file doubles it (`''`) or a message parses only with quotes.
"""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from dragoman.documents.catalogues import icu_messages
from dragoman.documents.catalogues.json import JsonString, Scanner, encoder
from dragoman.documents.core.document import Document, DocumentOptions
from dragoman.documents.core.passage import UNFIT, Message
from dragoman.documents.core.splice import Splice, decode
from dragoman.documents.core.values import Value, Values, document_of, write_values


def read(path: Path, options: DocumentOptions) -> Document:
    """The messages of an ARB file. Raises DataError with the line for what is not JSON."""
    decoded = decode(path, path.read_bytes())
    scanner = Scanner(path, decoded.text)
    descriptions = {string.keys[0]: string.text for string in scanner.texts if string.keys[1:] == ("description",)}
    quotes = any("''" in string.text for string in _resources(scanner.texts))
    notices = [f"line {line}: the key {key!r} is there twice; both are kept" for line, key in scanner.repeated]
    values = []
    for string in _resources(scanner.texts):
        try:
            message = _message(string.text, quotes)
        except ValueError as error:
            notices.append(f"line {scanner.line(string.begin)}, {string.keys[0]}: {error}; left unchanged")
        else:
            context = descriptions.get(f"@{string.keys[0]}", "")
            read_again = partial(_message, quotes=quotes)
            values.append(Value(string.begin, string.end, str(string.keys[0]), message, context, read_again=read_again))
    # Flutter writes tags with `_`: `pt_BR`.
    locale = json.dumps(options.target.replace("-", "_"))
    locales = [Splice(string.begin, string.end, locale) for string in scanner.texts if string.keys == ("@@locale",)]
    return document_of(path, Values(decoded, values, encoder(decoded), locales), notices)


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
