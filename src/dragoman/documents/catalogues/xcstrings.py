"""String catalogues of Xcode (`.xcstrings`): each string gets a localization in the target language. All else stays.

A string's text is its localization in the source language, or its key. Plural forms, devices and substitutions are
those of the source; a language whose nouns have one form gets `other` alone. With `update` only strings are translated
whose localization is missing, new or to be reviewed. What is stale or `shouldTranslate: false` stays.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

from dragoman.documents.catalogues.json import Keys, Scanner
from dragoman.documents.catalogues.po_header import rule_of
from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.labels import length_limit
from dragoman.documents.core.passage import UNFIT, Message, plain, units_of, written
from dragoman.documents.core.splice import Decoded, Splice, decode, spliced
from dragoman.errors import DataError
from dragoman.text.words.language import primary_language, same_language

_KEEP = re.compile(
    r"%%|%(?:\d{1,2}\$)?#@\w+@|%arg|%(?:\d+\$)?[-+#0']{0,4}(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh?|ll?|[qzjtL])?"
    r"[@dDiuUxXoOfFeEgGaAcCsSp]"
)
Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class XcodeString:
    """A string to translate: its key, its localization in the source language, and the messages that are in it."""

    key: str
    source: Tree
    messages: list[tuple[Keys, Message]]
    target: str
    """The tag of its localization in the target language, as the file has it or is to have it."""


@dataclass(frozen=True, slots=True)
class _XcodeFile:
    decoded: Decoded
    spans: dict[Keys, tuple[int, int]]
    entries: list[XcodeString] = field(default_factory=list)


def read(path: Path, options: DocumentOptions) -> Document:
    """The strings of a catalogue. Raises DataError with the line for what is not JSON."""
    decoded = decode(path, path.read_bytes())
    scanner = Scanner(path, decoded.text)
    data = json.loads(decoded.text)
    if not isinstance(data, dict) or not isinstance(data.get("strings"), dict) or "sourceLanguage" not in data:
        raise DataError(f"{path}: no string catalogue of Xcode: it has no sourceLanguage or no strings")
    file, units, notices = _XcodeFile(decoded, scanner.spans), list[Unit](), list[str]()
    language = str(data["sourceLanguage"])
    if options.source != "und" and primary_language(language) != primary_language(options.source):
        notices.append(f"its source language is {language}; only what it has in {options.source} is translated")
    for key, entry in data["strings"].items():
        if not isinstance(entry, dict) or entry.get("shouldTranslate") is False or not key.strip():
            continue
        localizations = _dict(entry, "localizations")
        source = _localization(localizations, key, language, options)
        if source is None or entry.get("extractionState") == "stale":
            continue
        target = next((tag for tag in localizations if same_language(tag, options.target)), options.target)
        existing = dict(_leaves(_dict(localizations, target)))
        is_finished = existing and all(unit.get("state") == "translated" for unit in existing.values())
        texts = [(place, str(unit.get("value", ""))) for place, unit in _leaves(_for_target(source, options.target))]
        if any(UNFIT.search(text) for _, text in texts):
            notices.append(f"{key}: unpaired surrogate, NUL or private character; left unchanged")
        elif not (options.update and is_finished):
            comment = str(entry.get("comment", ""))
            messages = [(place, (plain(text, _KEEP),)) for place, text in texts]
            file.entries.append(XcodeString(key, source, messages, target))  # type: ignore[arg-type]
            units += _units(file.entries[-1], comment, existing)
    return Document(path, units, file, tuple(notices))


def _dict(tree: Tree, key: str) -> Tree:
    child = tree.get(key)
    return child if isinstance(child, dict) else {}


def _localization(localizations: Tree, key: str, language: str, options: DocumentOptions) -> Tree | None:
    """The text of a string in the source language, in the form of a localization; None if there is none."""
    wanted = language if options.source == "und" else options.source
    tags = [tag for tag in localizations if primary_language(tag) == primary_language(wanted)]
    for tag in sorted(tags, key=lambda tag: (tag != language, tag != wanted)):
        if next(_leaves(_dict(localizations, tag)), None):
            return deepcopy(_dict(localizations, tag))
    is_key = primary_language(language) == primary_language(wanted)
    return {"stringUnit": {"state": "translated", "value": key}} if is_key else None


def _leaves(tree: Tree, place: Keys = ()) -> Iterator[tuple[Keys, Tree]]:
    """The string units of a localization, each with the keys that lead to it."""
    for key, child in tree.items():
        if isinstance(child, dict):
            if key == "stringUnit":
                yield (*place, key), child
            else:
                yield from _leaves(child, (*place, key))


def _for_target(tree: Tree, target: str) -> Tree:
    """A localization with the plural forms that the target language has: `other` alone, or those of the source."""
    rule = rule_of(target)
    for key, child in tree.items():
        if key == "plural" and isinstance(child, dict) and "other" in child and rule and rule[0] == 1:
            tree[key] = {"other": child["other"]}
        elif isinstance(child, dict):
            _for_target(child, target)
    return tree


def _units(entry: XcodeString, comment: str, existing: dict[Keys, Tree]) -> Iterator[Unit]:
    for place, message in entry.messages:
        names = [str(key) for key in place[:-1] if key not in ("variations", "substitutions")]
        text = str(existing[place].get("value", "")) if place in existing else ""
        for _, inline in units_of(message):
            location = " ".join((entry.key, *names)).replace("\n", " ")
            yield Unit(inline, location, comment, max_length=length_limit(comment), existing=plain(text, _KEEP).inline)


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The catalogue with a localization in the target language for each string that is translated."""
    skeleton: _XcodeFile = document.skeleton
    style, changes = JsonStyle(skeleton.decoded.text), list[Splice]()
    remaining = zip(document.units, translations, strict=True)
    tags = defaultdict[str, list[str]](list)
    for keys in skeleton.spans:
        if len(keys) == 4 and keys[0] == "strings" and keys[2] == "localizations":
            tags[str(keys[1])].append(str(keys[3]))
    for entry in skeleton.entries:
        tree, differs = deepcopy(entry.source), False
        for place, message in entry.messages:
            pairs = list(islice(remaining, sum(1 for _ in units_of(message))))
            unit = tree
            for key in place:
                unit = unit[key]  # type: ignore[index]
            differs = differs or any(text not in (None, known.existing) for known, text in pairs)
            unit["value"] = written(message, iter([text for _, text in pairs]))
            unit["state"] = "needs_review" if options.mark else "translated"
        if differs:
            changes.append(_splice(skeleton, style, entry, tree, sorted(tags[entry.key])))
    rest = next(remaining, None)
    assert rest is None, "one translation for each unit"
    file.write(spliced(skeleton.decoded, changes))


def _splice(file: _XcodeFile, style: "JsonStyle", entry: XcodeString, tree: Tree, tags: list[str]) -> Splice:
    """The new localization in place of the old one, or among the others in the order of their tags."""
    spans, text = file.spans, file.decoded.text
    holder: Keys = ("strings", entry.key)
    listed: Keys = (*holder, "localizations")
    if (span := spans.get((*listed, entry.target))) is not None:
        return Splice(*span, style.written(tree, 4))
    member = f"{style.line(4)}{json.dumps(entry.target)}{style.colon}{style.written(tree, 4)}"
    if listed in spans:
        before = [tag for tag in tags if tag < entry.target]
        if before:
            end = spans[(*listed, before[-1])][1]
            return Splice(end, end, f",{member}")
        begin, end = spans[listed]
        return (
            Splice(begin + 1, begin + 1, f"{member},") if tags else Splice(begin, end, f"{{{member}{style.line(3)}}}")
        )
    begin, end = spans[holder]
    inside = text[begin + 1 : end - 1].rstrip()
    member = f"{style.line(3)}{json.dumps('localizations')}{style.colon}{style.written({entry.target: tree}, 3)}"
    if not inside:
        return Splice(begin, end, f"{{{member}{style.line(2)}}}")
    return Splice(begin + 1 + len(inside), begin + 1 + len(inside), f",{member}")


class JsonStyle:
    """How a JSON file is written: its line ends, its indent, what is between a key and its value."""

    def __init__(self, text: str) -> None:
        first = re.match(r"\s*\{(\s*)\"", text)
        colon = re.search(r"\"sourceLanguage\"(\s*:\s*)", text)
        lead = first[1] if first else ""
        self.newline = "\r\n" if "\r\n" in lead else "\n" if "\n" in lead else ""
        self.indent = lead.rpartition("\n")[2] if self.newline else ""
        self.colon = colon[1] if colon else " : "

    def line(self, level: int) -> str:
        return self.newline + level * self.indent

    def written(self, value: Any, level: int) -> str:
        if not isinstance(value, dict):
            return json.dumps(value, ensure_ascii=False)
        members = (f"{json.dumps(key, ensure_ascii=False)}{self.colon}{self.written(child, level + 1)}"
                   for key, child in value.items())  # fmt: skip
        return "{" + ",".join(self.line(level + 1) + member for member in members) + self.line(level) + "}"
