r"""ASS and SSA subtitles (`.ass`, `.ssa`): the text of the dialogue. Times, styles, comments and drawings stay.

A sentence over several events is one unit, as in SRT (`subtitles`), and its translation is divided over them. Tags in
braces (`{\i1}`) are codes, `\N` is a line break. Karaoke stays: its tags measure the syllables of the source.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.spans import Item, line_numbers, pieces, source_of, written
from dragoman.documents.core.splice import Splice, check_letters, decode, read_again, spliced
from dragoman.documents.plain.subtitles import Cue, divided, limits_of, sentences, wrapped
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

_LINE = re.compile(r"[^\r\n]+")
_FIELD = re.compile(r"(?P<key>[A-Za-z ]{1,40}):[ \t]*")
_CLOCK = re.compile(r"\s*(\d{1,3}):(\d{1,2}):(\d{1,2})[.:](\d{1,3})\s*")
_TAG = re.compile(r"(?P<braces>\{[^}]*\})|(?P<line>[ \t]*\\[Nn][ \t]*)|(?P<space>\\h)")
_DRAWING = re.compile(r"\\p[1-9]")
_KARAOKE = re.compile(r"\\[kK][fot]?\d")
_STYLE = re.compile(r"\{\\(?P<style>[ibus])(?P<on>[01])\}")
_SPEAKER = re.compile(r"(?:\{\\[^}\r\n]{0,100}\}){0,5}(?:[-–—]|[\u2669-\u266c]|#|\[|\()")
# Fields that each version of the format has before the text.
_USUAL = ("layer", "start", "end", "style", "name", "marginl", "marginr", "marginv", "effect", "text")
# A line break that a translation gets where its source has one.
_BREAK = "\u2028"


@dataclass(frozen=True, slots=True)
class _Event:
    """Where the text of a line of dialogue is, and when it is shown, in milliseconds."""

    begin: int
    end: int
    start: int
    stop: int


def read(path: Path, options: DocumentOptions) -> Document:
    """The sentences of the dialogue. Raises DataError for a file that has no events."""
    decoded = decode(path, path.read_bytes())
    listed = _cues(path, decoded.text)
    groups, line_of = sentences(listed), line_numbers(decoded.text)
    units = [
        Unit(InlineText(" ".join(piece.inline.text for _, piece in group)), f"line {line_of(group[0][1].begin)}")
        if len(group) > 1
        else Unit(group[0][1].inline, f"line {line_of(group[0][1].begin)}")
        for group in groups
    ]
    return Document(path, units, (decoded, groups))


def _cues(path: Path | str, content: str) -> list[Cue]:
    events = sorted(_events(path, content), key=lambda event: (event.start, event.begin))
    cues = []
    for event in events:
        text = content[event.begin : event.end]
        items = list(_items(content, event))
        cue_pieces = () if _KARAOKE.search(text) else tuple(pieces(items, content))
        cues.append(Cue(event.start, event.stop, text.count(r"\N") + 1, cue_pieces, text))
    return cues


def _events(path: Path | str, content: str) -> Iterator[_Event]:
    section, fields, has_section = "", list(_USUAL), False
    for line in _LINE.finditer(content):
        if line[0].startswith("["):
            section = line[0].strip().lower()
            has_section = has_section or section == "[events]"
            continue
        match = _FIELD.match(content, *line.span())
        if match is None or section != "[events]":
            continue
        key = match["key"].strip().lower()
        if key == "format":
            fields = [name.strip().lower() for name in content[match.end() : line.end()].split(",")]
        elif key == "dialogue":
            yield from _event(content, match.end(), line.end(), fields)
    if not has_section:
        raise DataError(f"{path}: no subtitles in ASS or SSA: it has no [Events]; is it another format?")


def _event(content: str, begin: int, end: int, fields: list[str]) -> Iterator[_Event]:
    """The event of a line; none if the line has too few fields or no times. The text is the last one."""
    values = content[begin:end].split(",", len(fields) - 1)
    if len(values) < len(fields) or fields[-1] != "text" or not {"start", "end"} <= set(fields):
        return
    times = [_CLOCK.fullmatch(values[fields.index(name)]) for name in ("start", "end")]
    if times[0] and times[1]:
        start, stop = (_milliseconds(match) for match in times if match)
        yield _Event(end - len(values[-1]), end, start, stop)


def _milliseconds(match: re.Match[str]) -> int:
    hours, minutes, seconds = (int(match[number]) for number in (1, 2, 3))
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + int(match[4].ljust(3, "0"))


def _items(content: str, event: _Event) -> Iterator[Item]:
    at, drawing, styles = event.begin, False, _styles(content, event)
    breaks = len(re.findall(r"\\N", content[event.begin : event.end])) > 1
    for match in _TAG.finditer(content, event.begin, event.end):
        yield from _text(content, at, match.start(), drawing)
        at = match.end()
        if match["braces"]:
            if "\\p" in match[0]:
                drawing = _DRAWING.search(match[0]) is not None
            yield styles.get(match.start()) or Item("alone", *match.span())
        elif match["space"]:
            yield Item("text", *match.span(), " ")
        else:  # three lines and more are a list, and speakers have lines of their own
            is_line = breaks or _SPEAKER.match(content, at, event.end) is not None
            yield Item("break" if is_line else "text", *match.span(), "\n" if is_line else " ")
    yield from _text(content, at, event.end, drawing)


def _styles(content: str, event: _Event) -> dict[int, Item]:
    """The tags of an event that begin and end a style, `{\\i1}` and `{\\i0}`, in pairs, by where they are."""
    styles, opened = dict[int, Item](), list[re.Match[str]]()
    for match in _STYLE.finditer(content, event.begin, event.end):
        if match["on"] == "1":
            opened.append(match)
        elif opened and opened[-1]["style"] == match["style"]:
            first = opened.pop()
            styles[first.start()] = Item("open", *first.span(), match["style"])
            styles[match.start()] = Item("close", *match.span(), match["style"])
        else:  # it crosses another
            opened.clear()
    return styles


def _text(content: str, begin: int, end: int, drawing: bool) -> Iterator[Item]:
    if begin < end:
        yield Item("alone" if drawing else "text", begin, end, "" if drawing else content[begin:end])


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The subtitles with the translations in their events."""
    decoded, groups = document.skeleton
    limits, source, line_of = limits_of(options.target), source_of(decoded.text), line_numbers(decoded.text)
    changes, expected = [], []
    for group, unit, new in zip(groups, document.units, translations, strict=True):
        expected.append(unit.source.text)
        if new is None or new.text == unit.source.text:
            continue
        parts = [new]
        if len(group) > 1:
            shares = [len(piece.inline.text) for _, piece in group]
            texts = divided(" ".join(new.text.split()), shares, limits)
            if texts is None:
                place = f"line {line_of(group[0][1].begin)}"
                document.remarks.append(f"{place}: the translation has fewer words than events and stays untranslated")
                continue
            parts = [InlineText(text) for text in texts]
        expected[-1] = _escaped(new.text)
        for (cue, piece), part in zip(group, parts, strict=True):
            if cue.lines == 2 and not part.codes and not part.protected and "\n" not in part.text:
                part = InlineText(_BREAK.join(wrapped(part.text, 2, limits)))
            changes.append(Splice(piece.begin, piece.end, written(piece, part, _escaped, source)))
    listed = _cues(document.path, read_again(document.path, decoded, changes)) if changes else []
    if changes:
        read_back = (piece.inline.text for group in sentences(listed) for _, piece in group)
        check_letters(document.path, expected, read_back)
    file.write(spliced(decoded, changes))


def _escaped(text: str) -> str:
    """Text that is no tag: ASS has no escapes, so that similar signs are written."""
    text = text.translate({ord("{"): "(", ord("}"): ")"})
    return re.sub(r"\\(?=[Nnh])", "/", text).replace(_BREAK, r"\N").replace("\n", " ")
