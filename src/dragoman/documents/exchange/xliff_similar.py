"""Translations of similar sources in XLIFF: `<alt-trans>` of 1.2, the translation candidates module (`mtc:`) of 2.x.

Input: the elements of a file, matches of a memory. Output: what is written next to a target, or at the head of a unit.
Matches that a unit of 2.x has stay, new ones come after them; a segment without an id gets one, to which matches refer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.documents.core.splice import Decoded, Splice, indent_before
from dragoman.documents.xml.elements import Element, tag_name
from dragoman.documents.xml.text import escape
from dragoman.memory import MemoryMatch

MODULE = "urn:oasis:names:tc:xliff:matches:2.0"


@dataclass(slots=True)
class UnitMatches:
    """The matches of a `<unit>`, by the ids of its segments."""

    unit: Element
    by_segment: list[tuple[str, Sequence[MemoryMatch]]] = field(default_factory=list)


def alternatives(decoded: Decoded, source: Element, matches: Sequence[MemoryMatch]) -> str:
    """`<alt-trans>` of 1.2 for each match, to be written after the target of this source."""
    text = decoded.text
    indent = indent_before(text, source.begin)
    prefix = tag_name(text[source.begin : source.opened]).removesuffix(source.name)
    return "".join(
        f'{indent}<{prefix}alt-trans match-quality="{match.score}%" origin="{_escaped(match.origin, decoded)}">'
        f"{_pair(match, decoded, prefix)}</{prefix}alt-trans>"
        for match in matches
    )


def segment_id(unit: Element, segment: Element) -> str:
    """The id of a segment: its own, or a free one, by its number in the unit."""
    if identity := segment.attributes.get("id"):
        return identity
    taken = {element.attributes.get("id") for element in unit.walk()}
    name = f"s{1 + [element.begin for element in unit.children if element.name == segment.name].index(segment.begin)}"
    while name in taken:
        name += "-"
    return name


def candidates(decoded: Decoded, unit_matches: UnitMatches, space: str) -> Splice:
    """The `<mtc:match>` elements of a unit, in the `<mtc:matches>` that it has or in a new one, which comes first.

    `space` is the namespace of the document, in which the texts of a match are.
    """
    unit, text = unit_matches.unit, decoded.text
    rows = [
        f'<mtc:match ref="#{_escaped(identity, decoded)}" similarity="{match.score}" type="tm"'
        f"{_origin(match, decoded)}>{_pair(match, decoded, '')}</mtc:match>"
        for identity, matches in unit_matches.by_segment
        for match in matches
    ]
    names = f'xmlns:mtc="{MODULE}" xmlns="{_escaped(space, decoded)}"'
    there = next((child for child in unit.children if (child.name, child.space) == ("matches", MODULE)), None)
    if there is not None and there.closing < there.end:
        declared = (row.replace("<mtc:match ", f"<mtc:match {names} ", 1) for row in rows)
        return Splice(there.closing, there.closing, "".join(declared))
    indent = text[unit.opened : unit.children[0].begin]
    indent = "" if indent.strip() else indent
    return Splice(unit.opened, unit.opened, f"{indent}<mtc:matches {names}>{''.join(rows)}</mtc:matches>")


def _origin(match: MemoryMatch, decoded: Decoded) -> str:
    return f' origin="{_escaped(match.origin, decoded)}"' if match.origin else ""


def _pair(match: MemoryMatch, decoded: Decoded, prefix: str) -> str:
    texts = (("source", match.source), ("target", match.target))
    return "".join(f"<{prefix}{name}>{_escaped(text, decoded)}</{prefix}{name}>" for name, text in texts)


def _escaped(text: str, decoded: Decoded) -> str:
    return escape(text, decoded.encoding, quote='"')
