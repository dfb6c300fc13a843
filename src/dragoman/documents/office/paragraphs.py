"""A paragraph as tokens, which all office formats and XHTML have in common, ↔ text with inline codes.

A format makes tokens of a paragraph (text with a style, line breaks, wrappers such as links, things that stay whole)
and builds a paragraph of tokens. In the text:

- a line break or a tab is the end of a line of the text, so that a translation has as many;
- the style of most of the text needs no code, any other is a span; so is a wrapper, and what two marks enclose;
- what begins or ends a paragraph and is no text stays there and is no code.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from dragoman.documents.core.document import Unit
from dragoman.text.words.inline import Code, InlineText


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Words in one style. `elements` are what they were read from."""

    text: str
    style: Hashable = None
    elements: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Break:
    """The end of a line inside a paragraph, a tab."""

    elements: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """What has no text to translate: a note's mark, a picture, a bookmark."""

    elements: tuple[Any, ...]
    label: str = ""
    range: Hashable = None
    """Of the two marks around a part of the text (a comment's): the kind and the identifier, which both have."""


@dataclass(frozen=True, slots=True, eq=False)
class Copied:
    """What is seen in the sentence and copied as a whole: a page number, code."""

    text: str
    elements: tuple[Any, ...]
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """The beginning of a wrapper (a link), whose content goes into the element `into`, or of a span of one style."""

    elements: tuple[Any, ...] = ()
    into: Any = None
    style: Hashable = None
    """Of most of the text inside."""
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Close:
    """The end of the last wrapper or span that is open."""

    elements: tuple[Any, ...] = ()


Token = Words | Break | Alone | Copied | Open | Close


def build(
    parent: Any,
    tokens: list[Token],
    clear: Callable[[Any], None],
    add_text: Callable[[Any, Words], None],
    wrapped: Callable[[Any], Any],
) -> None:
    """Write tokens into an element, which `clear` empties; `wrapped` gives an element what it had around it."""
    clear(parent)
    stack = [parent]
    for token in tokens:
        if isinstance(token, Words):
            add_text(stack[-1], token)
            continue
        if isinstance(token, Close):
            stack.pop()
        for element in token.elements:
            outer = wrapped(element)
            outer.tail = None
            stack[-1].append(outer)
        if isinstance(token, Open):
            if token.into is not None:
                clear(token.into)
            stack.append(stack[-1] if token.into is None else token.into)


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a document that takes a translation. `put` is called at most once."""

    source: InlineText
    location: str
    put: Callable[[InlineText], None]
    context: str = ""
    max_length: int | None = None
    """The most characters of a translation; a longer one is not written."""

    @property
    def unit(self) -> Unit:
        return Unit(self.source, self.location, self.context, max_length=self.max_length)


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


def slot(tokens: Sequence[Token], location: str, write: Callable[[list[Token]], None]) -> list[Slot]:
    """The slot of a paragraph that `write` writes; none if it has no text."""
    paragraph = analyse(tokens)
    if paragraph is None:
        return []
    return [Slot(paragraph.source, location, lambda inline: write(translated(paragraph, inline)))]


def analyse(tokens: Sequence[Token]) -> Paragraph | None:
    """The text of a paragraph, None if there is nothing to translate."""
    spanned, style = with_spans(with_ranges(tokens))
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
    breaks, out, at = iter(paragraph.breaks), list[Token](), 0

    def put(token: Token) -> None:
        out.append(token)
        if isinstance(token, Open):
            styles.append(token.style)
        elif isinstance(token, Close):
            styles.pop()

    def add(text: str) -> None:
        for index, line in enumerate(text.split("\n")):
            if index:
                out.append(next(breaks, None) or Words(" ", styles[-1]))
            if line:
                out.append(Words(line, styles[-1]))

    for token in paragraph.before:
        put(token)
    for begin, end, token in _events(paragraph, inline):
        begin = max(at, begin)
        add(inline.text[at:begin])
        at = max(begin, end)
        put(token)
    add(inline.text[at:])
    return _merged([*out, *breaks, *_lost(paragraph, inline), *paragraph.after])


def _lost(paragraph: Paragraph, inline: InlineText) -> Iterator[Token]:
    """The tokens whose codes a translation has not; wrappers and ranges are empty, styles are gone."""
    there = {code.name for code in inline.codes}
    for name, token in paragraph.named.items():
        if name not in there and (token.elements or not isinstance(token, Open)):
            yield token
            if isinstance(token, Open):
                yield paragraph.closes[name]


def _events(paragraph: Paragraph, inline: InlineText) -> Iterator[tuple[int, int, Token]]:
    """The tokens of the codes in order, each with the text that it is in place of. No range ends before it begins."""
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
    events.sort(key=lambda event: event[0])
    order = {id(token): number for number, token in enumerate(paragraph.named.values())}
    ends = defaultdict[Hashable, list[int]](list)
    for at, (_, _, token) in enumerate(events):
        if isinstance(token, Alone) and token.range is not None:
            ends[token.range].append(at)
    for places in ends.values():
        marks = sorted((events[at][2] for at in places), key=lambda token: order[id(token)])
        for at, mark in zip(places, marks, strict=True):
            events[at] = (*events[at][:2], mark)
    yield from events


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
        occurrences = (match.start() for match in re.finditer(f"(?={re.escape(wanted)})", text))
        size, spans = len(wanted), taken.values()
        places = [at for at in occurrences if all(at + size <= begin or end <= at for begin, end in spans)]
        at = min(places, key=lambda at: abs(at - position), default=position)
        taken[name] = at, at + size if places else at
    return taken


def _merged(tokens: list[Token]) -> list[Token]:
    """Neighbouring texts of one style are one."""
    out = list[Token]()
    for token in tokens:
        if isinstance(token, Words) and out and isinstance(out[-1], Words) and out[-1].style == token.style:
            out[-1] = Words(out[-1].text + token.text, token.style)
        else:
            out.append(token)
    return out


def peel(tokens: list[Token]) -> tuple[list[Token], list[Token], list[Token]]:
    """What comes before the text, the text, what comes after it."""
    partner = _partners(tokens)
    first, last = 0, len(tokens) - 1
    before, after = list[Token](), list[Token]()  # `after` is backwards
    while first <= last:
        if partner.get(first) == last:
            before.append(tokens[first])
            after.append(tokens[last])
            first, last = first + 1, last - 1
        elif (end := _empty(tokens, partner, first)) is not None:
            before += tokens[first : end + 1]
            first = end + 1
        elif (end := _empty(tokens, partner, last)) is not None:
            after += reversed(tokens[end : last + 1])
            last = end - 1
        else:
            break
    core = tokens[first : last + 1]
    lead, trail = _outer_space(core, 1), _outer_space(core, -1)
    return [*before, *lead], core, [*trail, *reversed(after)]


def _partners(tokens: list[Token]) -> dict[int, int]:
    partner, opened = dict[int, int](), list[int]()
    for index, token in enumerate(tokens):
        if isinstance(token, Open):
            opened.append(index)
        elif isinstance(token, Close):
            partner[index] = opened.pop()
            partner[partner[index]] = index
    return partner


def _empty(tokens: list[Token], partner: dict[int, int], index: int) -> int | None:
    """The last index of what begins at `index` and has no text; None if it has."""
    token = tokens[index]
    if isinstance(token, Open | Close):
        other = partner[index]
        inner = tokens[min(index, other) : max(index, other)]
        seen = (isinstance(token, Copied) or (isinstance(token, Words) and token.text.strip()) for token in inner)
        return None if any(seen) else other
    if isinstance(token, Alone | Break) or (isinstance(token, Words) and not token.text.strip()):
        return index
    return None


def _outer_space(core: list[Token], step: int) -> list[Token]:
    """Take the white space off the first (1) or last (-1) text of `core`, where only codes are outside of it."""
    for index in range(len(core))[::step]:
        token = core[index]
        if isinstance(token, Words):
            stripped = token.text.lstrip() if step == 1 else token.text.rstrip()
            if stripped == token.text:
                return []
            core[index] = replace(token, text=stripped)
            space = token.text[: -len(stripped) or None] if step == 1 else token.text[len(stripped) :]
            return [replace(token, text=space)]
        if not isinstance(token, Open | Close):
            return []
    return []


def with_ranges(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with the two marks of a range as a span of what they enclose.

    Ranges that overlap, or that begin and end in different wrappers, keep their marks. Marks that enclose nothing are
    one token.
    """
    out, seen = list[Token](), 0
    # Of the paragraph and of each open wrapper: its open ranges, where they begin, and how many texts are before them.
    opened = [dict[Hashable, tuple[int, int]]()]
    for token in tokens:
        out.append(token)
        if isinstance(token, Open):
            opened.append({})
        elif isinstance(token, Close):
            opened.pop()
        elif isinstance(token, Copied) or (isinstance(token, Words) and token.text.strip()):
            seen += 1
        elif isinstance(token, Alone) and token.range is not None:
            ranges = opened[-1]
            if token.range not in ranges:
                ranges[token.range] = len(out) - 1, seen
                continue
            first, before = ranges[token.range]
            while ranges.popitem()[0] != token.range:
                pass
            _close_range(out, first, has_text=seen > before)
    return out


def _close_range(out: list[Token], first: int, *, has_text: bool) -> None:
    """Make what is between the mark at `first` and the last token a span, or one token if there is nothing."""
    begin, end, last = out[first], out[-1], len(out) - 1
    assert isinstance(begin, Alone)
    assert isinstance(end, Alone)
    inner = (out[place] for place in range(first + 1, last))
    if has_text:
        out[first], out[last] = Open(begin.elements, label=begin.label), Close(end.elements)
    elif all(isinstance(token, Alone) and token.range is None for token in inner):
        out[first:] = [Alone(tuple(chain.from_iterable(token.elements for token in out[first:])), begin.label)]


def with_spans(tokens: Sequence[Token]) -> tuple[list[Token], Hashable]:
    """The tokens with spans around text of other styles than most text of its wrapper; the paragraph's style."""
    tokens = _with_spaces(tokens)
    bases = _bases(tokens)
    out, waiting = list[Token](), list[Token]()
    stack, current = [bases[-1]], list[Hashable]()  # `current`: the style of the span that is open, if any

    def end_span() -> None:
        if current:
            out.append(Close())
            current.clear()
        out.extend(waiting)
        waiting.clear()

    for index, token in enumerate(tokens):
        if isinstance(token, Words):
            if not current or token.style != current[0]:
                end_span()
                if token.style != stack[-1]:
                    out.append(Open(style=token.style, label="style"))
                    current.append(token.style)
            out.extend(waiting)
            waiting.clear()
            out.append(token)
        elif isinstance(token, Open | Close):
            end_span()
            if isinstance(token, Open):
                stack.append(bases[index])
                token = replace(token, style=bases[index])
            else:
                stack.pop()
            out.append(token)
        else:
            (waiting if current else out).append(token)  # inside the span only if more of its text follows
    end_span()
    return out, bases[-1]


def _with_spaces(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with each single space in the style of the text before it: no code encloses nothing but a space."""
    out, last = list[Token](), None
    for token in tokens:
        if isinstance(token, Open | Close):
            last = None
        elif isinstance(token, Words):
            token = replace(token, style=last.style) if last is not None and token.text == " " else token
            last = token
        out.append(token)
    return out


def _bases(tokens: Sequence[Token]) -> dict[int, Hashable]:
    """The style of most text in each wrapper, by the index where it opens; -1: outside of all."""
    weights: dict[int, Counter[Hashable]] = {-1: Counter()}
    opened = [-1]
    for index, token in enumerate(tokens):
        if isinstance(token, Open):
            opened.append(index)
            weights[index] = Counter()
        elif isinstance(token, Close):
            opened.pop()
        elif isinstance(token, Words):
            weights[opened[-1]][token.style] += len(token.text.strip())
    return {index: max(styles, key=styles.__getitem__, default=None) for index, styles in weights.items()}
