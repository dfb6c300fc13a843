"""SRT and WebVTT: the text of the cues. Times, settings, numbers, remarks and styles stay as they are.

A sentence that runs over several cues is one unit. Its translation is divided over them by the length of their texts;
lines are broken where people of the language break them. The limits of lines and speed are those that subtitlers of a
language are used to (Netflix's timed text guides), not rules of the formats.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import accumulate, groupby, takewhile
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.spans import Item, UnitSpan, line_numbers, pieces, source_of, written
from dragoman.documents.core.splice import Splice, check_letters, decode, read_again, spliced
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText
from dragoman.text.words.language import primary_language


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """The width of a line, the characters per second, and whether words are divided by spaces."""

    line: int = 42
    speed: int = 17
    spaced: bool = True
    wide: bool = False
    """Whether Latin letters, digits, spaces and marks count half."""


_LIMITS = {
    "en": ReadingLimits(speed=20),
    "ko": ReadingLimits(16, 12, wide=True),
    "ja": ReadingLimits(13, 4, spaced=False, wide=True),
    "zh": ReadingLimits(16, 9, spaced=False, wide=True),
    "th": ReadingLimits(35, spaced=False),
}
_MARK = re.compile(r"[,.;:!?…،。、，！？؟]['\")\]»”’」』]*$")
_ENDS = re.compile(r"[.!?…。！？؟]['\")\]»”’」』]*$")
# What does not begin a line.
_CLOSING = re.compile(r"[\s,.;:!?…)\]»”’」』。、，！？ーぁぃぅぇぉっゃゅょァィゥェォッャュョ]")


def limits_of(language: str) -> ReadingLimits:
    """The limits of a language, by its BCP-47 tag."""
    return _LIMITS.get(primary_language(language), ReadingLimits())


def width(text: str, limits: ReadingLimits) -> float:
    """The width of a line of text."""
    if not limits.wide:
        return float(len(text))
    return sum(0.5 if ord(character) < 0x1100 else 1.0 for character in text)


def divided(text: str, shares: list[int], limits: ReadingLimits) -> list[str] | None:
    """A text in parts of about these shares, divided between words, rather after marks; None: it has too few words."""
    if limits.spaced:
        borders = [match.start() for match in re.finditer(r"\s+", text)]
    else:
        borders = [index for index in range(1, len(text)) if not _CLOSING.match(text, index)]
    if len(borders) < len(shares) - 1:
        return None
    cuts: list[int] = []
    free = 0
    for number, sum_of_shares in enumerate(list(accumulate(shares))[:-1]):
        ideal = len(text) * sum_of_shares / sum(shares)
        last = len(borders) - (len(shares) - 2 - number)
        best = min(range(free, last), key=lambda index: _cost(text, borders[index], ideal))
        cuts.append(borders[best])
        free = best + 1
    return [text[begin:end].strip() for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _cost(text: str, border: int, ideal: float) -> float:
    """How far a border is from the ideal one; a mark before it is worth a sixth of the text."""
    before = text[max(0, border - 4) : border]
    bonus = len(text) / 4 if _ENDS.search(before) else len(text) / 6 if _MARK.search(before) else 0
    return abs(border - ideal) - bonus


def wrapped(text: str, lines: int, limits: ReadingLimits) -> list[str]:
    """A text in as few lines as its width allows, at most `lines`."""
    for count in range(1, lines):
        parts = divided(text, [1] * count, limits)
        if parts is not None and all(width(part, limits) <= limits.line for part in parts):
            return parts
    return divided(text, [1] * lines, limits) or [text]


_LINE_END = re.compile(r"\r\n?|\n")
_CLOCK = r"(?:(\d+):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMES = re.compile(rf"[ \t]*{_CLOCK}[ \t]*-->[ \t]*{_CLOCK}")
_TAG = re.compile(r"</?([A-Za-z]+)[^>\r\n]{0,200}>|<\d[\d:.]{0,20}>|\{\\[^}\r\n]{0,100}\}|&#?\w{1,12};")
_VOICE = re.compile(r"<v[^>]*>")
_SPEAKER = re.compile(
    r"(?:(?:</?[A-Za-z][^<>\r\n]{0,200}>|\{\\[^}\r\n]{0,100}\}){1,5}(?![-–—#]\d))?"
    r"(?:[-–—]|>>|[\u2669-\u266c]|#|\[|\(|[A-Z][A-Z .']+:)"
)
# What a line of a speaker or of a song begins with, and what one of a song ends with: copied as it is.
_DASH = re.compile(r"[ \t]*(?:[-\u2010-\u2015\u2212][ \t]*(?![\d\s.,-]*\d|[\s-])|>>+[ \t]*|[\u2669-\u266c]+[ \t]*)")
_SUNG = re.compile(r"[ \t]*[\u2669-\u266c]+[ \t]*$")
# Cues of one sentence follow each other within this time, and are at most this number.
_GAP, _MOST = 1000, 6


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue, or a block of text in it: milliseconds, number of lines of text, and its units."""

    begin: int
    end: int
    lines: int
    pieces: tuple[UnitSpan, ...]
    text: str


def cues(content: str, *, webvtt: bool) -> list[Cue]:
    """The cues of a file, in its order."""
    lines = _lines(content)
    times = list(_timing(content, lines, webvtt))
    listed = []
    for number, (index, match) in enumerate(times):
        stop = times[number + 1][0] if number + 1 < len(times) else len(lines)
        if stop < len(lines) and stop - 1 > index and content[slice(*lines[stop - 1])].strip().isdigit():
            stop -= 1
        for block in _blocks(content, lines[index + 1 : stop], webvtt):
            begin, end = _clock(match.groups()[:4]), _clock(match.groups()[4:])
            text = content[block[0][0] : block[-1][1]]
            items = list(_items(content, block, webvtt))
            listed.append(Cue(begin, end, len(block), tuple(pieces(items, content)), text))
    return listed


def _lines(content: str) -> list[tuple[int, int]]:
    """The span of each line, without its end."""
    ends = [match.span() for match in _LINE_END.finditer(content)]
    return list(zip([0, *(end for _, end in ends)], [*(begin for begin, _ in ends), len(content)], strict=True))


def _timing(content: str, lines: Sequence[tuple[int, int]], webvtt: bool) -> Iterator[tuple[int, re.Match[str]]]:
    """The lines with times. In WebVTT they are the first or second of their block, which is no remark or style."""
    first = 0
    for index, (begin, end) in enumerate(lines):
        if not content[begin:end].strip():
            first = index + 1
        elif (match := _TIMES.match(content, begin, end)) and not (
            webvtt and (index > first + 1 or re.match(r"(NOTE|STYLE|REGION)\b", content[lines[first][0] :][:8]))
        ):
            yield index, match


def _clock(parts: Sequence[str | None]) -> int:
    hours, minutes, seconds, rest = (int(part or 0) for part in parts)
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + int(str(parts[3]).ljust(3, "0") if rest else 0)


def _blocks(content: str, lines: Sequence[tuple[int, int]], webvtt: bool) -> list[list[tuple[int, int]]]:
    """Lines up to a blank one. In SRT what follows it, before the next cue, is still text."""

    def has_text(line: tuple[int, int]) -> bool:
        return bool(content[slice(*line)].strip())

    first = takewhile(has_text, lines) if webvtt else lines
    return [list(block) for is_text, block in groupby(first, has_text) if is_text]


def _items(content: str, block: Sequence[tuple[int, int]], webvtt: bool) -> Iterator[Item]:
    for number, (begin, end) in enumerate(block):
        if number:
            # Three lines and more are a list: the names at the end of a film.
            breaks = len(block) > 2 or _SPEAKER.match(content, begin, end)
            yield Item("break" if breaks else "text", block[number - 1][1], begin, "\n" if breaks else " ")
        last = _SUNG.search(content, begin, end)
        stop = last.start() if last else end
        spans = [match for match in _TAG.finditer(content, begin, stop) if match[0][0] != "&" or webvtt]
        at, is_first = begin, True
        for match in [*spans, None]:
            upto = match.start() if match else stop
            if is_first and (mark := _DASH.match(content, at, end)) and mark.end() <= upto:
                yield Item("alone", *mark.span())
                at, is_first = mark.end(), False
            if at < upto:
                yield Item("text", at, upto, content[at:upto])
                is_first = False
            if match:
                yield _code(match)
                at = match.end()
        if last:
            yield Item("alone", *last.span())


def _code(match: re.Match[str]) -> Item:
    if match[0][0] == "&":
        return Item("text", *match.span(), unescape(match[0]))
    if match[1] is None:
        return Item("alone", *match.span())
    return Item("close" if match[0][1] == "/" else "open", *match.span(), match[1].lower())


def sentences(listed: Sequence[Cue]) -> list[list[tuple[Cue, UnitSpan]]]:
    """The units of the cues: each a piece of one, or the pieces of several cues that one sentence runs over."""
    full_stops = sum(cue.pieces[-1].inline.text.endswith((".", "。", "।")) for cue in listed if cue.pieces)
    # Without full stops (Korean subtitles have none), nothing says which cues belong together.
    marked = full_stops * 10 >= sum(bool(cue.pieces) for cue in listed)
    units: list[list[tuple[Cue, UnitSpan]]] = []
    previous: Cue | None = None
    for cue in listed:
        if marked and previous is not None and len(units[-1]) < _MOST and _continues(previous, cue):
            units[-1].append((cue, cue.pieces[0]))
        else:
            units += [[(cue, piece)] for piece in cue.pieces]
        previous = cue if cue.pieces else None
    return units


def _continues(first: Cue, second: Cue) -> bool:
    """Whether a sentence runs from one cue into the next: plain text of one speaker, without a pause."""
    plain = all(
        len(cue.pieces) == 1 and not cue.pieces[0].codes and not cue.pieces[0].breaks and cue.end > cue.begin
        for cue in (first, second)
    )
    return (
        plain
        and first.begin <= second.begin
        and second.begin - first.end < _GAP
        and not _ENDS.search(first.pieces[0].inline.text.rstrip())
        and not first.text.rstrip().endswith((")", "]", "♪", ":", '"'))
        and not any(_SPEAKER.match(text) for text in (second.pieces[0].inline.text, second.text.lstrip()))
        and _VOICE.findall(first.text) == _VOICE.findall(second.text)
    )


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
    line_of, limits, source_limits = line_numbers(decoded.text), limits_of(options.target), limits_of(options.source)
    units = []
    for group in groups:
        is_long = any(_is_long(cue, source_limits) for cue, _ in group)
        most = None if is_long else sum(max(2, cue.lines) * limits.line for cue, _ in group)
        units.append(Unit(_joined(group), f"line {line_of(group[0][1].begin)}", max_length=most))
    return Document(path, units, (decoded, webvtt, groups))


def _joined(group: list[tuple[Cue, UnitSpan]]) -> InlineText:
    if len(group) == 1:
        return group[0][1].inline
    return InlineText(" ".join(piece.inline.text for _, piece in group))


def _is_long(cue: Cue, limits: ReadingLimits) -> bool:
    """Whether a source does not keep to the limits of its own language: then its translation need not."""
    text = " ".join(piece.inline.text for piece in cue.pieces)
    return width(text, limits) > max(2, cue.lines) * limits.line


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The subtitles with the translations in their cues; what is hard to read is in `document.remarks`."""
    decoded, webvtt, groups = document.skeleton
    limits, source_limits = limits_of(options.target), limits_of(options.source)
    line_of = line_numbers(decoded.text)
    source, match = source_of(decoded.text), _LINE_END.search(decoded.text)
    end = match[0] if match else "\n"
    changes = []
    expected = []
    for group, translation in zip(groups, translations, strict=True):
        expected.append(_joined(group).text)
        if translation is None or translation.text == _joined(group).text:
            continue
        location = f"line {line_of(group[0][1].begin)}"
        parts = _parts(group, translation, limits)
        if parts is None:
            document.remarks.append(f"{location}: the translation has fewer words than cues and stays untranslated")
            continue
        expected[-1] = _escaped(translation.text, False, "") if not webvtt else translation.text
        for (cue, piece), part in zip(group, parts, strict=True):
            part = _broken(part, cue, limits)
            text = written(piece, part, lambda line: _escaped(line, webvtt, end), source)
            changes.append(Splice(piece.begin, piece.end, text))
            if not _is_long(cue, source_limits):
                hard = _hard(part, cue, limits, source_limits)
                document.remarks.extend(f"line {line_of(piece.begin)}: {remark}" for remark in hard)
    listed = cues(read_again(document.path, decoded, changes), webvtt=webvtt)
    check_letters(document.path, expected, [piece.inline.text for cue in listed for piece in cue.pieces])
    file.write(spliced(decoded, changes))


def _parts(group: list[tuple[Cue, UnitSpan]], text: InlineText, limits: ReadingLimits) -> list[InlineText] | None:
    if len(group) == 1:
        return [text]
    parts = divided(" ".join(text.text.split()), [len(piece.inline.text) for _, piece in group], limits)
    return None if parts is None else [InlineText(part) for part in parts]


def _broken(text: InlineText, cue: Cue, limits: ReadingLimits) -> InlineText:
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
