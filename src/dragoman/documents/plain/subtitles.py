"""SRT and WebVTT: the text of the cues. Times, settings, numbers, remarks and styles stay as they are.

A sentence that runs over several cues is one unit. Its translation is divided over them by the length of their texts;
lines are broken where people of the language break them.
"""

import re
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.rewrite import check_letters, written
from dragoman.documents.core.spans import LineNumbers, UnitSpan
from dragoman.documents.core.splice import Splice, decode, read_again, spliced
from dragoman.documents.plain.cue_lines import ReadingLimits, divided, limits_of, width, wrapped
from dragoman.documents.plain.cues import Cue, cues, sentences
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

_WEBVTT = re.compile(r"WEBVTT(?=[ \t\r\n]|$)")
# A line break that this module puts in: as long as the space it replaces, so that codes keep their positions.
_BREAK = "\u2028"
_ENTITIES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\xa0", "&nbsp;"))


def read(path: Path, options: DocumentOptions) -> Document:
    """The sentences of a file of subtitles. Raises DataError for a file that has no cues or no signature."""
    decoded = decode(path, path.read_bytes())
    webvtt = _WEBVTT.match(decoded.text) is not None
    if path.suffix.lower() == ".vtt" and not webvtt:
        raise DataError(f"{path}:1: the first line is not WEBVTT; is it another format?")
    listed = cues(decoded.text, webvtt=webvtt)
    if not listed and not webvtt:
        raise DataError(f"{path}: no times (00:00:01,000 --> 00:00:02,000) with text; is it another format?")
    groups = sentences(listed)
    lines, limits = LineNumbers.of(decoded.text), limits_of(options.target)
    units = [
        Unit(
            _joined(group),
            f"line {lines.at(group[0][1].begin)}",
            max_length=None
            if any(_is_long(cue, limits_of(options.source)) for cue, _ in group)
            else _most(group, limits),
        )
        for group in groups
    ]
    return Document(path, units, (decoded, webvtt, groups))


def _joined(group: list[tuple[Cue, UnitSpan]]) -> InlineText:
    if len(group) == 1:
        return group[0][1].inline
    return InlineText(" ".join(piece.inline.text for _, piece in group))


def _most(group: list[tuple[Cue, UnitSpan]], limits: ReadingLimits) -> int:
    return sum(max(2, cue.lines) * limits.line for cue, _ in group)


def _is_long(cue: Cue, limits: ReadingLimits) -> bool:
    """Whether a source does not keep to the limits of its own language: then its translation need not."""
    text = " ".join(piece.inline.text for piece in cue.pieces)
    return width(text, limits) > max(2, cue.lines) * limits.line


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The subtitles with the translations in their cues; what is hard to read is in `document.remarks`."""
    decoded, webvtt, groups = document.skeleton
    limits, source_limits = limits_of(options.target), limits_of(options.source)
    lines = LineNumbers.of(decoded.text)
    match = re.search(r"\r\n?|\n", decoded.text)
    end = match[0] if match else "\n"
    changes = []
    expected = []
    for group, translation in zip(groups, translations, strict=True):
        expected.append(_joined(group).text)
        if translation is None or translation.text == _joined(group).text:
            continue
        location = f"line {lines.at(group[0][1].begin)}"
        parts = _parts(group, translation, limits)
        if parts is None:
            document.remarks.append(f"{location}: the translation has fewer words than cues and stays untranslated")
            continue
        expected[-1] = _escaped(translation.text, False, "") if not webvtt else translation.text
        for (cue, piece), part in zip(group, parts, strict=True):
            part = _broken(part, cue, piece, limits)
            text = written(
                piece, part, lambda remark: _escaped(remark, webvtt, end), lambda *span: decoded.text[slice(*span)]
            )
            changes.append(Splice(piece.begin, piece.end, text))
            if not _is_long(cue, source_limits):
                hard = _hard(part, cue, limits, source_limits)
                document.remarks.extend(f"line {lines.at(piece.begin)}: {remark}" for remark in hard)
    listed = cues(read_again(document.path, decoded, changes), webvtt=webvtt)
    check_letters(document.path, expected, [piece.inline.text for cue in listed for piece in cue.pieces])
    file.writelines(spliced(decoded, changes))


def _parts(group: list[tuple[Cue, UnitSpan]], text: InlineText, limits: ReadingLimits) -> list[InlineText] | None:
    """The translation for each cue."""
    if len(group) == 1:
        return [text]
    parts = divided(" ".join(text.text.split()), [len(piece.inline.text) for _, piece in group], limits)
    return None if parts is None else [InlineText(part) for part in parts]


def _broken(text: InlineText, cue: Cue, piece: UnitSpan, limits: ReadingLimits) -> InlineText:
    """The text in lines, if its unit is all of its cue and has no line breaks of its own."""
    if "\n" in text.text or len(cue.pieces) > 1 or not (limits.spaced or not text.codes):
        return text
    lines = wrapped(text.text, max(2, cue.lines), limits)
    if not limits.spaced:
        return InlineText(_BREAK.join(lines), text.codes)
    at, broken = 0, text.text
    for line in lines[:-1]:
        at = broken.index(line, at) + len(line)
        broken = broken[:at] + _BREAK + broken[at + 1 :]
    return InlineText(broken, text.codes, text.protected)


def _escaped(text: str, webvtt: bool, end: str) -> str:
    """Text that is no tag. SRT has no escapes: there `<` before a letter becomes a similar sign."""
    if webvtt:
        for character, entity in _ENTITIES:
            text = text.replace(character, entity)
    else:
        text = re.sub(r"<(?=[A-Za-z/\d])", "‹", text).replace("{\\", "{").replace("-->", "→")
    return text.replace(_BREAK, end)


def _hard(text: InlineText, cue: Cue, limits: ReadingLimits, source_limits: ReadingLimits) -> list[str]:
    """What makes a cue hard to read, if its source was not."""
    remarks = []
    widest = max(width(line, limits) for line in re.split(f"[\n{_BREAK}]", text.text))
    if widest > limits.line:
        remarks.append(f"a line of {widest:g} characters, where {limits.line} are usual")
    seconds = (cue.end - cue.begin) / 1000
    source = sum(width(piece.inline.text, source_limits) for piece in cue.pieces)
    speed = width(text.text, limits) / seconds if seconds > 0 else 0.0
    if speed > limits.speed and source / seconds <= source_limits.speed:
        remarks.append(f"{speed:.0f} characters per second, where {limits.speed} are usual")
    return remarks
