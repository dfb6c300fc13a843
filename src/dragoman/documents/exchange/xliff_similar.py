"""Translations of similar sources in XLIFF: `<alt-trans>` of 1.2, the translation candidates module (`mtc:`) of 2.x.

Input: the elements of a file, matches of a memory. Output: what is written next to a target, or at the head of a unit.
Matches that a unit of 2.x has stay, new ones come after them; a segment without an id gets one, to which matches refer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.documents.core.splice import Decoded, Splice, indent_before
from dragoman.documents.xml.elements import Element, tag_name
from dragoman.documents.xml.text import escape, writable
from dragoman.memory import Match

MODULE = "urn:oasis:names:tc:xliff:matches:2.0"


@dataclass(slots=True)
class UnitMatches:
    """The matches of a `<unit>`, by the ids of its segments."""

    unit: Element
    by_segment: list[tuple[str, Sequence[Match]]] = field(default_factory=list)


def alternatives(decoded: Decoded, source: Element, matches: Sequence[Match]) -> str:
    """`<alt-trans>` of 1.2 for each match, to be written after the target of this source."""
    text = decoded.text
    indent = indent_before(text, source.begin)
    prefix = tag_name(text[source.begin : source.opened]).removesuffix(source.name)
    return "".join(
        f'{indent}<{prefix}alt-trans match-quality="{one.score}%" origin="{_escaped(one.origin, decoded)}">'
        f"{_pair(one, decoded, prefix)}</{prefix}alt-trans>"
        for one in matches
    )


def segment_id(unit: Element, segment: Element) -> str:
    """The id of a segment: its own, or a free one, by its number in the unit."""
    if own := segment.attributes.get("id"):
        return own
    taken = {each.attributes.get("id") for each in unit.walk()}
    name = f"s{1 + [each.begin for each in unit.children if each.name == segment.name].index(segment.begin)}"
    while name in taken:
        name += "-"
    return name


def candidates(decoded: Decoded, found: UnitMatches, space: str) -> Splice:
    """The `<mtc:match>` elements of a unit, in the `<mtc:matches>` that it has or in a new one, which comes first.

    `space` is the namespace of the document, in which the texts of a match are.
    """
    unit, text = found.unit, decoded.text
    rows = [
        f'<mtc:match ref="#{_escaped(identity, decoded)}" similarity="{one.score}" type="tm"'
        f"{_origin(one, decoded)}>{_pair(one, decoded, '')}</mtc:match>"
        for identity, matches in found.by_segment
        for one in matches
    ]
    names = f'xmlns:mtc="{MODULE}" xmlns="{_escaped(space, decoded)}"'
    there = next((each for each in unit.children if (each.name, each.space) == ("matches", MODULE)), None)
    if there is not None and there.closing < there.end:
        declared = (row.replace("<mtc:match ", f"<mtc:match {names} ", 1) for row in rows)
        return Splice(there.closing, there.closing, "".join(declared))
    indent = text[unit.opened : unit.children[0].begin]
    indent = "" if indent.strip() else indent
    return Splice(unit.opened, unit.opened, f"{indent}<mtc:matches {names}>{''.join(rows)}</mtc:matches>")


def _origin(match: Match, decoded: Decoded) -> str:
    return f' origin="{_escaped(match.origin, decoded)}"' if match.origin else ""


def _pair(match: Match, decoded: Decoded, prefix: str) -> str:
    texts = (("source", match.source), ("target", match.target))
    return "".join(f"<{prefix}{name}>{_escaped(text, decoded)}</{prefix}{name}>" for name, text in texts)


def _escaped(text: str, decoded: Decoded) -> str:
    return escape(writable(text), decoded.encoding, quote='"')
