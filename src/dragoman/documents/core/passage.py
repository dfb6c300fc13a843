"""Passages: the strings of a document that are translated as a whole, with what is kept inside them.

A format cuts a string into pieces: text as the document writes it, and what a translation keeps: a variable, an entity,
an argument of a message with passages of its own. Paired and empty tags (`<b>…</b>`, `<br/>`) become inline codes, any
other tag is kept where it is visible. `written` is the way back: the string with its translations, byte for byte as it
was where there is none.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.text.words.inline import Code, InlineText

_TAG = r"</?[A-Za-z0-9][\w.:-]*(?:\s[^<>]*)?/?>"
_NAME = re.compile(r"</?([\w.:-]+)")
ENTITY = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
# Elements of HTML that have no end tag.
_EMPTY = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)

# What is kept is one private character while tags are looked for: the first of plane 15, the second, …
_FIRST = 0xF0000
_EVENT = re.compile(f"{_TAG}|[\U000f0000-\U0010ffff]")
# Half characters, NUL and private characters are in no text that a model can translate.
UNFIT = re.compile("[\0\ud800-\udfff\U000f0000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A piece that a translation copies: shown to the model as `shown`, made of strings and of passages of its own."""

    shown: str
    parts: "tuple[str | Passage, ...]"


@dataclass(frozen=True, slots=True)
class Passage:
    """A text between two borders. `inline` is None if it is blank: whether it has words is not for a format to say."""

    place: str
    """Where in the string it is: "count one", the branch of a plural."""
    pieces: tuple[str | Verbatim, ...]
    inline: InlineText | None
    ends: tuple[str, str] = ("", "")
    """The white space around `inline`."""
    escape: Callable[[str], str] = str
    """Text as the document writes it."""

    @property
    def verbatims(self) -> list[Verbatim]:
        """The pieces that a translation copies, in order."""
        return [piece for piece in self.pieces if isinstance(piece, Verbatim)]


Message = tuple[str | Passage, ...]


def passage(
    pieces: Sequence[str | Verbatim],
    place: str = "",
    *,
    read: Callable[[str], str] = str,
    escape: Callable[[str], str] = str,
) -> Passage:
    """The passage of these pieces. `read` gives the text of what the document writes, `escape` the other direction."""
    shown = [piece.shown for piece in pieces if isinstance(piece, Verbatim)]
    numbers = iter(range(_FIRST, _FIRST + len(shown)))
    marked = "".join(chr(next(numbers)) if isinstance(piece, Verbatim) else read(piece) for piece in pieces)
    inline = _inline(marked, shown)
    inline, ends = _trimmed(inline)
    return Passage(place, tuple(pieces), inline if inline.text.strip() else None, ends, escape)


def plain(text: str, keep: re.Pattern[str], place: str = "", escape: Callable[[str], str] = str) -> Passage:
    """The passage of a text without escapes. What the pattern `keep` finds is kept."""
    pieces = Escaped(text, text, range(len(text) + 1)).pieces(0, len(text), keep)
    return passage(list(pieces), place, escape=escape)


def _inline(marked: str, shown: Sequence[str]) -> InlineText:
    """The text of pieces: paired and empty tags as codes, private characters and other tags as protected spans."""
    events = list(_EVENT.finditer(marked))
    codes_of = _paired([match[0] if match[0][0] == "<" else "" for match in events])

    def expanded(text: str) -> str:
        return "".join(shown[ord(character) - _FIRST] if ord(character) >= _FIRST else character for character in text)

    text, codes, protected, at = "", [], [], 0
    for match, code in zip(events, codes_of, strict=True):
        text += marked[at : match.start()]
        at = match.end()
        if code is not None:
            codes.append(Code(len(text), code.kind, code.name, expanded(match[0])))
        else:
            protected.append((len(text), len(text) + len(expanded(match[0]))))
            text += expanded(match[0])
    return InlineText(text + marked[at:], tuple(codes), tuple(protected))


def _paired(tags: Sequence[str]) -> list[Code | None]:
    """For each tag its code, or None if it is no tag, or neither paired nor empty."""
    codes: list[Code | None] = [None] * len(tags)
    opened: list[tuple[str, int]] = []
    for number, tag in enumerate(tags):
        match = _NAME.match(tag)
        if match is None:
            continue
        name = match[1]
        if tag.endswith("/>"):
            codes[number] = Code(0, "alone", f"{number}:{name}")
        elif tag[1] != "/":
            opened.append((name, number))
        elif name in (names := [opened_name for opened_name, _ in opened]):
            last = len(names) - 1 - names[::-1].index(name)
            begin = opened[last][1]
            del opened[last + 1 :]  # what was opened inside and not closed is no pair
            opened.pop()
            codes[begin] = Code(0, "open", f"{begin}:{name}")
            codes[number] = Code(0, "close", f"{begin}:{name}")
    for number, tag in enumerate(tags):
        match = _NAME.match(tag)
        if match is not None and codes[number] is None and tag[1] != "/" and match[1].lower() in _EMPTY:
            codes[number] = Code(0, "alone", f"{number}:{match[1]}")
    return codes


def _trimmed(inline: InlineText) -> tuple[InlineText, tuple[str, str]]:
    """The text without white space at its ends, as far as no code is there, and that white space."""
    text = inline.text
    begin = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    if begin >= end:
        return inline, ("", "")
    if inline.codes:
        begin, end = min(begin, inline.codes[0].position), max(end, inline.codes[-1].position)
    codes = tuple(Code(code.position - begin, code.kind, code.name, code.text) for code in inline.codes)
    protected = tuple((first - begin, last - begin) for first, last in inline.protected)
    return InlineText(text[begin:end], codes, protected), (text[:begin], text[end:])


def units_of(message: Message) -> Iterator[tuple[str, InlineText]]:
    """The place and the text of every unit of a message, in the order in which `written` takes translations."""
    for part in message:
        if isinstance(part, Passage):
            if part.inline is not None:
                yield part.place, part.inline
            for verbatim in part.verbatims:
                yield from units_of(verbatim.parts)


def written(message: Message, translations: Iterator[InlineText | None]) -> str:
    """The string of a message with the translations of its units."""
    return "".join(part if isinstance(part, str) else _passage(part, translations) for part in message)


def _passage(part: Passage, translations: Iterator[InlineText | None]) -> str:
    translation = next(translations) if part.inline is not None else None
    copies = [(verbatim.shown, written(verbatim.parts, translations)) for verbatim in part.verbatims]
    if translation is None or translation == part.inline:
        texts = iter(copies)
        return "".join(next(texts)[1] if isinstance(piece, Verbatim) else piece for piece in part.pieces)
    assert part.inline is not None
    return part.ends[0] + _restored(part, part.inline, translation, copies) + part.ends[1]


def _restored(part: Passage, source: InlineText, translation: InlineText, copies: Sequence[tuple[str, str]]) -> str:
    """The translation with the tags and the kept pieces of the source as the document writes them."""
    waiting: dict[str, deque[str]] = defaultdict(deque)
    for shown, text in copies:
        waiting[shown].append(text)

    # An earlier translation may have variables that the source has no more; what only looks like one is text.
    named = len(translation.protected) >= len(source.protected)

    def verbatim(shown: str) -> str:
        return waiting[shown].popleft() if waiting[shown] else shown if named else part.escape(shown)

    copied = dict(copies)
    inside = re.compile("|".join(map(re.escape, sorted(copied, key=len, reverse=True))) or "(?!)")

    def tag(text: str) -> str:
        # A tag may have kept pieces inside: `<a href="{url}">`; the rest is text, with the escapes of the file.
        at, parts = 0, list[str]()
        for match in inside.finditer(text):
            parts += (part.escape(text[at : match.start()]), copied[match[0]])
            at = match.end()
        return "".join((*parts, part.escape(text[at:])))

    tags = {(code.kind, code.name): tag(code.text) for code in source.codes}
    events = [
        (code.position, 1, number, tags.get((code.kind, code.name)) or code.text, code.position)
        for number, code in enumerate(translation.codes)
    ]
    for begin, end in _protected(source, translation):
        events.append((begin, 2, begin, verbatim(translation.text[begin:end]), end))
    text, at = "", 0
    for begin, _, _, raw, end in sorted(events):
        text += part.escape(translation.text[at:begin]) + raw
        at = max(at, end)
    return text + part.escape(translation.text[at:])


def _protected(source: InlineText, translation: InlineText) -> Sequence[tuple[int, int]]:
    """The protected spans of a translation: the ones it names, or else what looks like those of the source."""
    if len(translation.protected) >= len(source.protected):
        return translation.protected
    shown = sorted({source.text[begin:end] for begin, end in source.protected}, key=len, reverse=True)
    return [match.span() for match in re.finditer("|".join(map(re.escape, shown)), translation.text)]


@dataclass(frozen=True, slots=True)
class Escaped:
    """A string as the file writes it, `raw`, its `text`, and where in `raw` each character of the text begins."""

    raw: str
    text: str
    starts: Sequence[int]

    def slice(self, begin: int, end: int) -> str:
        """What the file writes for these characters of the text."""
        return self.raw[self.starts[begin] : self.starts[end]]

    def pieces(self, begin: int, end: int, keep: re.Pattern[str]) -> Iterator[str | Verbatim]:
        """What the file writes for a part of the text; what `keep` finds in the text is kept."""
        at = begin
        for match in keep.finditer(self.text, begin, end):
            yield self.slice(at, match.start())
            yield Verbatim(match[0], (self.slice(*match.span()),))
            at = match.end()
        yield self.slice(at, end)


def unescape(raw: str, escape: re.Pattern[str], value: Callable[[str], str]) -> Escaped:
    """The text of `raw`, in which `value` gives the text of whatever `escape` finds."""
    text, at = "", 0
    starts: list[int] = []
    for match in escape.finditer(raw):
        starts += range(at, match.start())
        plain = value(match[0])
        starts += [match.start()] * len(plain)
        text += raw[at : match.start()] + plain
        at = match.end()
    return Escaped(raw, text + raw[at:], [*starts, *range(at, len(raw) + 1)])
