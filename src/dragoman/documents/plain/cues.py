"""The cues of SRT and WebVTT: their times, their text with tags as codes, and which of them share a sentence."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape

from dragoman.documents.core.spans import Item, UnitSpan, pieces
from dragoman.documents.plain.cue_lines import ends_sentence

_LINE = re.compile(r"[^\r\n]*")
_LINE_END = re.compile(r"\r\n?|\n")
_CLOCK = r"(?:(\d+):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMES = re.compile(rf"[ \t]*{_CLOCK}[ \t]*-->[ \t]*{_CLOCK}")
_TAG = re.compile(r"</?([A-Za-z]+)[^>\r\n]{0,200}>|<\d[\d:.]{0,20}>|\{\\[^}\r\n]{0,100}\}|&#?\w{1,12};")
_SPEAKER = re.compile(r"[-–—]|>>|♪|#|\[|\(|[A-Z][A-Z .']+:")
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
    times = [(index, match) for index, match in _timing(content, lines, webvtt)]
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


def _blocks(content: str, lines: Sequence[tuple[int, int]], webvtt: bool) -> Iterator[list[tuple[int, int]]]:
    """Lines up to a blank one. In SRT what follows it, before the next cue, is still text."""
    block: list[tuple[int, int]] = []
    for begin, end in lines:
        if content[begin:end].strip():
            block.append((begin, end))
            continue
        if block:
            yield block
        block = []
        if webvtt:
            return
    if block:
        yield block


def _items(content: str, block: Sequence[tuple[int, int]], webvtt: bool) -> Iterator[Item]:
    for number, (begin, end) in enumerate(block):
        if number:
            # Three lines and more are a list: the names at the end of a film.
            breaks = len(block) > 2 or _SPEAKER.match(content, begin, end)
            yield Item("break" if breaks else "text", block[number - 1][1], begin, "\n" if breaks else " ")
        at = begin
        for match in _TAG.finditer(content, begin, end):
            if match[0][0] == "&" and not webvtt:
                continue
            if match.start() > at:
                yield Item("text", at, match.start(), content[at : match.start()])
            yield _code(match)
            at = match.end()
        if at < end:
            yield Item("text", at, end, content[at:end])


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
        and not ends_sentence(first.pieces[0].inline.text)
        and not first.pieces[0].inline.text.endswith((")", "]", "♪", ":", '"'))
        and not _SPEAKER.match(second.pieces[0].inline.text)
        and _voice(first) == _voice(second)
    )


def _voice(cue: Cue) -> list[str]:
    return re.findall(r"<v[^>]*>", cue.text)
