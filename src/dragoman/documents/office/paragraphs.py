"""Tokens of a paragraph ↔ text with inline codes.

- a line break or a tab is the end of a line of the text, so that a translation has as many;
- the style of most of the text needs no code, any other is a span; so is a wrapper;
- what begins or ends a paragraph and is no text stays there and is no code.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.documents.office.token_edges import peel
from dragoman.documents.office.token_spans import with_spans
from dragoman.documents.office.tokens import Alone, Break, Close, Copied, Open, Slot, Token, Words
from dragoman.text.words.inline import Code, InlineText


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Tokens around the text, the text with its codes, the token of each code by its name."""

    before: list[Token]
    source: InlineText
    named: dict[str, Token]
    closes: dict[str, Close]
    breaks: list[Break]
    after: list[Token]
    style: Hashable


def slot(
    tokens: Sequence[Token], location: str, build: Callable[[list[Token]], None], context: str = ""
) -> Slot | None:
    """The slot of a paragraph that `build` writes; None if it has no text."""
    paragraph = analyse(tokens)
    if paragraph is None:
        return None
    return Slot(paragraph.source, location, lambda inline: build(translated(paragraph, inline)), context)


def analyse(tokens: Sequence[Token]) -> Paragraph | None:
    """The text of a paragraph, None if there is nothing to translate."""
    spanned, style = with_spans(tokens)
    before, core, after = peel(spanned)
    if not any(isinstance(token, Words) and any(map(str.isalpha, token.text)) for token in core):
        return None
    text, codes, protected = "", list[Code](), list[tuple[int, int]]()
    named, closes, opened = dict[str, Token](), dict[str, Close](), list[tuple[str, str]]()
    for token in core:
        if isinstance(token, Words):
            text += token.text
        elif isinstance(token, Break):
            text += "\n"
        elif isinstance(token, Close):
            name, label = opened.pop()
            closes[name] = token
            codes.append(Code(len(text), "close", name, f"</{label}>"))
        else:
            name = str(len(named) + 1)
            named[name] = token
            kind, shown = _KINDS[type(token)]
            codes.append(Code(len(text), kind, name, shown.format(token.label)))
            if isinstance(token, Open):
                opened.append((name, token.label))
            elif isinstance(token, Copied):
                protected.append((len(text), len(text) + len(token.text)))
                text += token.text
                codes.append(Code(len(text), "close", name, f"</{token.label}>"))
    breaks = [token for token in core if isinstance(token, Break)]
    return Paragraph(before, InlineText(text, tuple(codes), tuple(protected)), named, closes, breaks, after, style)


_KINDS: dict[type, tuple[Any, str]] = {Open: ("open", "<{}>"), Copied: ("open", "<{}>"), Alone: ("alone", "<{}/>")}


def translated(paragraph: Paragraph, inline: InlineText) -> list[Token]:
    """The tokens of a translation. What it has lost of the source's codes and breaks comes at the end."""
    styles = [paragraph.style]
    for token in paragraph.before:
        if isinstance(token, Open):
            styles.append(token.style)
        elif isinstance(token, Close):
            styles.pop()
    breaks, out, at = iter(paragraph.breaks), list(paragraph.before), 0

    def add(text: str) -> None:
        for index, line in enumerate(text.split("\n")):
            if index:
                out.append(next(breaks, None) or Words(" ", styles[-1]))
            if line:
                out.append(Words(line, styles[-1]))

    for begin, end, token in _events(paragraph, inline):
        begin = max(at, begin)
        add(inline.text[at:begin])
        at = max(begin, end)
        out.append(token)
        if isinstance(token, Open):
            styles.append(token.style)
        elif isinstance(token, Close):
            styles.pop()
    add(inline.text[at:])
    there = {code.name for code in inline.codes}
    lost = [token for name, token in paragraph.named.items() if name not in there and not isinstance(token, Open)]
    return _merged([*out, *breaks, *lost, *paragraph.after])


def _events(paragraph: Paragraph, inline: InlineText) -> Iterator[tuple[int, int, Token]]:
    """The tokens of the codes in order, each with the text that it is in place of."""
    spans = _kept_spans(paragraph, inline)
    events = list[tuple[int, int, Token]]()
    for code in inline.codes:
        if code.name in spans:
            if code.kind == "open":
                events.append((*spans[code.name], paragraph.named[code.name]))
        elif code.kind == "close":
            events.append((code.position, code.position, paragraph.closes[code.name]))
        else:
            events.append((code.position, code.position, paragraph.named[code.name]))
    yield from sorted(events, key=lambda event: event[0])


def _kept_spans(paragraph: Paragraph, inline: InlineText) -> dict[str, tuple[int, int]]:
    """Where the text of each `Copied` is in a translation: between its codes, otherwise where it is nearest to them."""
    text, taken = inline.text, dict[str, tuple[int, int]]()
    ends = {code.name: code.position for code in inline.codes if code.kind == "close"}
    lost = dict[str, tuple[str, int]]()
    for code in inline.codes:
        token = paragraph.named.get(code.name)
        if code.kind == "open" and isinstance(token, Copied):
            inside = text[code.position : ends.get(code.name, code.position)]
            if inside.strip() == token.text:
                begin = code.position + inside.index(token.text)
                taken[code.name] = begin, begin + len(token.text)
            else:
                lost[code.name] = token.text, code.position
    for name, (wanted, position) in lost.items():
        places = [at for at in _occurrences(text, wanted) if not _overlaps(at, at + len(wanted), taken.values())]
        at = min(places, key=lambda at: abs(at - position), default=position)
        taken[name] = at, at + len(wanted) if places else at
    return taken


def _occurrences(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _overlaps(begin: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(begin < other_end and other_begin < end for other_begin, other_end in spans)


def _merged(tokens: list[Token]) -> list[Token]:
    """Neighbouring texts of one style are one."""
    out = list[Token]()
    for token in tokens:
        if isinstance(token, Words) and out and isinstance(out[-1], Words) and out[-1].style == token.style:
            out[-1] = Words(out[-1].text + token.text, token.style)
        else:
            out.append(token)
    return out
