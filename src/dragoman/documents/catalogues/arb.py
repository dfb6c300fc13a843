"""ARB, the catalogues of Flutter: the resources are ICU messages, `@key` describes them and stays.

`@@locale` becomes the target's language. An apostrophe is nothing but one, as Flutter reads it by default, unless the
file doubles it (`''`) or a message parses only with quotes.
"""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from dragoman.documents.catalogues import messages
from dragoman.documents.catalogues.json import encoder
from dragoman.documents.catalogues.json_text import Scanner, Text
from dragoman.documents.core.document import Document, Request, Translations
from dragoman.documents.core.passage import UNFIT, Message
from dragoman.documents.core.splice import Splice, decode
from dragoman.documents.core.values import Value, Values, document_of, write_values


def read(path: Path, request: Request) -> Document:
    """The messages of an ARB file. Raises DataError with the line for what is not JSON."""
    decoded = decode(path, path.read_bytes())
    scanner = Scanner(path, decoded.text)
    descriptions = {each.keys[0]: each.text for each in scanner.texts if each.keys[1:] == ("description",)}
    quotes = any("''" in each.text for each in _resources(scanner.texts))
    notices = [f"line {line}: the key {key!r} is there twice; both are kept" for line, key in scanner.repeated]
    values = []
    for each in _resources(scanner.texts):
        try:
            message = _message(each.text, quotes)
        except ValueError as error:
            notices.append(f"line {scanner.line(each.begin)}, {each.keys[0]}: {error}; left unchanged")
        else:
            context = descriptions.get(f"@{each.keys[0]}", "")
            read_again = partial(_message, quotes=quotes)
            values.append(Value(each.begin, each.end, str(each.keys[0]), message, context, read_again=read_again))
    # Flutter writes tags with `_`: `pt_BR`.
    locale = json.dumps(request.target.replace("-", "_"))
    locales = [Splice(each.begin, each.end, locale) for each in scanner.texts if each.keys == ("@@locale",)]
    return document_of(path, Values(decoded, values, encoder(decoded), locales), notices)


def write(document: Document, translations: Translations, request: Request, file: IO[bytes]) -> None:
    """The same file with the translations in place of the messages."""
    write_values(document, translations, file)


def _resources(texts: Sequence[Text]) -> Iterator[Text]:
    return (each for each in texts if len(each.keys) == 1 and not str(each.keys[0]).startswith("@"))


def _message(text: str, quotes: bool) -> Message:
    if UNFIT.search(text):
        raise ValueError("unpaired surrogate, NUL or private character")
    if quotes:
        return messages.parse(text)
    try:
        return messages.parse(text, quotes=False)
    except ValueError:
        return messages.parse(text)
