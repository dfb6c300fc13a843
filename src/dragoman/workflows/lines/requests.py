"""Lines to translate, each with what is asked for it: text or JSON → `LineRequest` → `Translation`.

A line of JSON is an object with a "text", and any of

    id              any value, which the output repeats
    to, from        languages, for a model of several pairs
    target_prefix   text that the translation begins with
    glossary        an object of terms, each with a translation or a list of them
    beam, n_best, … the keys of [decode]

Every other key is an error, so that a misspelt option is never ignored.
"""

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dragoman.config import DecodeConfig
from dragoman.control.search.request import change_options
from dragoman.errors import DataError, DragomanError, describe_type
from dragoman.system.parsing import Malformed, parse_json
from dragoman.text.terms.glossary import Glossary
from dragoman.text.words.normalise import is_text
from dragoman.translation import Translation
from dragoman.translator import Translator
from dragoman.workflows.lines.via import PivotTranslator

FIELDS = ("text", "id", "to", "from", "target_prefix", "glossary")
OPTIONS = tuple(key for key in DecodeConfig.model_fields if key != "precision")  # which belongs to a loaded model


@dataclass(frozen=True, slots=True)
class LineRequest:
    """A line of text, and what is asked for it alone."""

    text: str
    location: str = ""
    """Its file and line, for an error; empty if nothing is asked for it alone."""
    to: str = ""
    from_: str = ""
    target_prefix: str = ""
    glossary: Glossary | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    identity: Mapping[str, Any] = field(default_factory=dict)
    """The fields that its output repeats: its "id", if it has one."""
    line: str = ""
    """The line as it was read, by which an interrupted translation recognises it."""

    @property
    def key(self) -> tuple[object, ...]:
        """Lines with the same key are translated together."""
        return self.to, self.from_, self.target_prefix, self.glossary, json.dumps(self.changes, sort_keys=True)


def parse_lines(
    lines: Iterable[str],
    name: str,
    options: DecodeConfig,
    target_prefix: str,
    has_glossary: bool,
    check: Callable[[str | None, str | None], object],
    first: int = 1,
) -> Iterator[LineRequest]:
    """The requests of lines of JSON, with `options` and `target_prefix` for what a line leaves open.

    `first` is the number of the first line. Raises DataError that names the line, also where `check` raises an error
    for its target and source.
    """
    for number, line in enumerate(lines, first):
        location = f"{name}:{number}"
        try:
            record = parse_json(line)
        except Malformed as error:
            raise DataError(f"{location}: {error}; write one object per line") from None
        try:
            request = _request(record, line, location, options, target_prefix, has_glossary)
            check(request.to or None, request.from_ or None)
        except DragomanError as error:
            raise DataError(f"{location}: {str(error).removeprefix(f'{location}: ')}") from None
        yield request


def _request(
    record: object, line: str, location: str, options: DecodeConfig, target_prefix: str, has_glossary: bool
) -> LineRequest:
    if not isinstance(record, dict):
        raise DataError(f'{describe_type(record)}; write an object, as in {{"text": "…"}}')
    for key in record:
        if key not in FIELDS + OPTIONS:
            close = difflib.get_close_matches(key, FIELDS + OPTIONS, n=1)
            remedy = f"did you mean {close[0]}?" if close else f"known here: {', '.join(FIELDS)} and keys of [decode]"
            raise DataError(f'"{key}": unknown key; {remedy}')
    text, prefix, terms = record.get("text"), record.get("target_prefix", target_prefix), record.get("glossary")
    to, from_ = record.get("to", ""), record.get("from", "")
    for name, value in (("text", text), ("target_prefix", prefix), ("to", to), ("from", from_)):
        if not isinstance(value, str):
            missing = "missing" if name not in record else describe_type(value)
            raise DataError(f'"{name}": {missing}; give a string')
        if not is_text(value):
            raise DataError(f'"{name}": an unpaired surrogate (invalid Unicode); fix the encoding')
    if not is_text(json.dumps(record.get("id"), ensure_ascii=False)):  # the output repeats it
        raise DataError('"id": an unpaired surrogate (invalid Unicode); fix the encoding')
    if terms is not None and not isinstance(terms, dict):
        raise DataError(f'"glossary": {describe_type(terms)}; give an object, as in {{"term": "translation"}}')
    glossary = Glossary.of(terms, f"{location}: glossary") if terms else None
    if prefix and (glossary or has_glossary):
        raise DataError("target_prefix and a glossary cannot be combined; leave one of them out")
    changes = {key: record[key] for key in OPTIONS if record.get(key) is not None}
    change_options(options, changes)
    identity = {"id": record["id"]} if "id" in record else {}
    return LineRequest(str(text), location, to, from_, prefix, glossary, changes, identity, line)


@contextmanager
def _located(request: LineRequest) -> Iterator[None]:
    """Within the block an error begins with the location of a request that has one."""
    try:
        yield
    except DragomanError as error:
        raise (type(error)(f"{request.location}: {error}") if request.location else error) from None


def unchanged(translator: Translator | PivotTranslator, texts: Sequence[str]) -> Translator | PivotTranslator:
    """The translator."""
    return translator


def translate_requests(
    requests: Sequence[LineRequest],
    choose: Callable[[LineRequest], Translator | PivotTranslator | Translation],
    prepare: Callable[[Translator | PivotTranslator, Sequence[str]], Translator | PivotTranslator] = unchanged,
) -> list[Translation]:
    """A translation of each request, in order; those for one translator that ask for the same go together.

    `choose` returns the translator of a line, or its finished translation; `prepare` what translates some texts, from
    the translator of the languages that are asked for. Raises what `Translator.translate` raises,
    with the location of a request that has one.
    """
    translations: dict[int, Translation] = {}
    groups: dict[tuple[Any, ...], tuple[Translator | PivotTranslator, list[int]]] = {}
    for index, request in enumerate(requests):
        with _located(request):
            chosen = choose(request)
        if isinstance(chosen, Translation):
            translations[index] = chosen
        else:
            groups.setdefault((id(chosen), *request.key), (chosen, []))[1].append(index)
    for translator, members in groups.values():
        first, texts = requests[members[0]], [requests[index].text for index in members]
        with _located(first):
            if first.to or first.from_:
                translator = translator.to(first.to or None, first.from_ or None, texts)
            of_group = prepare(translator, texts).translate(
                texts,
                target_prefix=first.target_prefix,
                glossary=first.glossary,
                **first.changes,
            )
        translations.update(zip(members, of_group, strict=True))
    return [translations[index] for index in range(len(requests))]
