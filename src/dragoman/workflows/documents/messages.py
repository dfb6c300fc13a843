"""ICU messages in formats that do not read them themselves (XLIFF, PO, tables, …): a unit → the units of its branches.

A format gives such a message as one text. Its codes and protected spans are written as tags and arguments for the
parser of messages, and are codes again in what the translated branches make. A message that does not parse, with them
or after its translation, stays.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.documents import Unit
from dragoman.documents.catalogues.icu_messages import has_branches, parse
from dragoman.documents.core.passage import Message, units_of, written
from dragoman.text.words.inline import Code, InlineText

_NAME = "inl"
_STAND_IN = re.compile(rf"</?{_NAME}\d+>|\{{{_NAME}\d+\}}")


@dataclass(frozen=True, slots=True)
class BranchedMessage:
    """A message of a unit. `stand_ins` are what its codes and protected spans are written as."""

    unit: Unit
    message: Message
    stand_ins: dict[str, Code | str]

    @property
    def units(self) -> list[Unit]:
        """A unit for each branch, and one for what is around the arguments."""
        return [replace(self.unit, source=inline, existing=None) for _, inline in units_of(self.message)]

    def assembled(self, translations: Sequence[InlineText]) -> InlineText | None:
        """The message with these translations of its units; None if it would no longer be one."""
        text = written(self.message, iter(translations))
        try:
            count = sum(1 for _ in units_of(parse(text)))
        except ValueError:
            return None
        matches = list(_STAND_IN.finditer(text))
        if count != len(translations) or sorted(match[0] for match in matches) != sorted(self.stand_ins):
            return None
        return _with_codes(text, matches, self.stand_ins)


def branched(unit: Unit) -> BranchedMessage | None:
    """The message of a unit; None if it does not parse."""
    text, stand_ins = _without_codes(unit.source)
    try:
        return BranchedMessage(unit, parse(text), stand_ins)
    except ValueError:
        return None


def _without_codes(source: InlineText) -> tuple[str, dict[str, Code | str]]:
    """The text with stand-ins in place of codes and of protected spans, but of those that have branches inside."""
    stand_ins, names = dict[str, Code | str](), dict[str, str]()
    spans = [span for span in source.protected if not has_branches(source.text[slice(*span)])]
    parts, at = list[str](), 0
    for begin, end, code in _marks(source, spans):
        parts.append(source.text[at:begin])
        if code is None:
            stand_ins[name := f"{{{_NAME}{len(stand_ins)}}}"] = source.text[begin:end]
        else:
            number = names.setdefault(code.name, str(len(stand_ins)))
            forms = {"open": "<{}{}>", "close": "</{}{}>", "alone": "{{{}{}}}"}
            name = forms[code.kind].format(_NAME, number if code.kind != "alone" else len(stand_ins))
            stand_ins[name] = code
        parts.append(name)
        at = end
    return "".join([*parts, source.text[at:]]), stand_ins


def _marks(source: InlineText, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, Code | None]]:
    marks: list[tuple[int, int, Code | None]] = [(code.position, code.position, code) for code in source.codes]
    marks += [(*span, None) for span in spans]
    yield from sorted(marks, key=lambda mark: mark[:2])


def _with_codes(text: str, matches: Sequence[re.Match[str]], stand_ins: dict[str, Code | str]) -> InlineText:
    result, codes, protected, at = "", list[Code](), list[tuple[int, int]](), 0
    for match in matches:
        result += text[at : match.start()]
        value = stand_ins[match[0]]
        if isinstance(value, Code):
            codes.append(replace(value, position=len(result)))
        else:
            protected.append((len(result), len(result) + len(value)))
            result += value
        at = match.end()
    return InlineText(result + text[at:], tuple(codes), tuple(protected))
