"""What the elements and attributes of XLIFF 1.2 and 2.x mean: inline codes, states, limits of length."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from dragoman.documents.core.spans import UnitSpan
from dragoman.documents.xml.elements import Element
from dragoman.documents.xml.spans import Role
from dragoman.text.words.inline import InlineText

_SIZE = "urn:oasis:names:tc:xliff:sizerestriction:2.0 sizeRestriction"


@dataclass(frozen=True, slots=True)
class XliffVersion:
    """Where the two versions differ."""

    entry: str
    """The element that has one source and one target."""
    source_language: str
    """The attribute that names the source language."""
    language: str
    """The attribute that names the target language."""
    state_of_segment: bool
    """Whether the state is that of the segment, not of the target."""
    translated: str
    """The state of a translation."""
    marked: str
    """The state of one that a person is to check."""
    unfinished: tuple[str, ...]
    """The states of a target that is none yet."""


VERSIONS = {
    "1.": XliffVersion(
        "trans-unit",
        "source-language",
        "target-language",
        False,
        "translated",
        "needs-review-translation",
        ("new", "needs-translation"),
    ),
    "2.": XliffVersion("segment", "srcLang", "trgLang", True, "translated", "translated", ("initial",)),
}

# What programs write of a translation that no person has confirmed, by the local name of an attribute of its
# `<trans-unit>`: memoQ, Phrase.
_WAITING = {
    "status": (
        "assembledfromfragments", "machinetranslated", "notstarted", "partiallyedited", "pretranslated", "rejected",
    ),
    "confirmed": ("0", "false"),
}  # fmt: skip
_FINAL = ("final", "signed-off")
_SIGNED = ("translated", "approvedtranslation", "approvedsignoff")
_YES = ("1", "locked", "true", "yes")

# Halves of a pair: the kind, and the attributes by which the other half is found.
_HALVES: dict[str, tuple[Role, tuple[str, ...]]] = {
    "bpt": ("open", ("rid", "id", "i")),
    "ept": ("close", ("rid", "id", "i")),
    "bx": ("open", ("rid", "id")),
    "ex": ("close", ("rid", "id")),
    "sc": ("open", ("id",)),
    "ec": ("close", ("startRef", "id")),
    "sm": ("open", ("id",)),
    "em": ("close", ("startRef",)),
}
_FAMILY = {"bpt": "bpt", "ept": "bpt", "bx": "bx", "ex": "bx", "sc": "sc", "ec": "sc", "sm": "sm", "em": "sm"}


def role(element: Element) -> tuple[Role, str]:
    """What an inline element of XLIFF or TMX is, and the name that the halves of a pair share."""
    name = element.name
    if name == "mrk" and (
        element.attributes.get("mtype") == "protected" or element.attributes.get("translate") == "no"
    ):
        return "kept", name
    if name == "sm" and element.attributes.get("translate") == "no":
        return "kept", f"sm{element.attributes.get('id', '')}-"
    if name in ("g", "pc", "mrk", "hi"):
        return "pair", name
    if name in _HALVES:
        kind, keys = _HALVES[name]
        identity = next((element.attributes[key] for key in keys if key in element.attributes), "")
        return kind, f"{_FAMILY[name]}{identity}-"
    return "alone", name


def begins_before_ends(piece: UnitSpan, translation: InlineText, source: Callable[[int, int], str]) -> InlineText:
    """A translation whose halves of overlapping pairs are in the order of the source: `<bx/>` before its `<ex/>`.

    Halves that overlap are codes of their own to the placement; two that came out in the wrong order change places.
    """
    codes, places = list(translation.codes), dict[tuple[str, Role], int]()
    for number, code in enumerate(codes):
        if code.kind == "alone" and (half := _half(source(*piece.codes[code.kind, code.name]))):
            places[half] = number
    for (pair, kind), begin in places.items():
        end = places.get((pair, "close"), begin)
        if kind == "open" and end < begin:
            first, second = codes[begin], codes[end]
            codes[begin] = replace(second, position=first.position)
            codes[end] = replace(first, position=second.position)
    return replace(translation, codes=tuple(codes))


def _half(tag: str) -> tuple[str, Role] | None:
    """The pair that a tag is a half of, and which half; None for another tag."""
    match = re.match(r"<(?:[\w.-]+:)?(\w+)", tag)
    if not match or match[1] not in _HALVES:
        return None
    attributes = dict(re.findall(r"""([\w:.-]+)\s*=\s*["']([^"']*)["']""", tag.partition(">")[0]))
    kind, keys = _HALVES[match[1]]
    identity = next((attributes[key] for key in keys if key in attributes), None)
    return None if identity is None else (f"{_FAMILY[match[1]]}{identity}", kind)


def allowed_length(element: Element) -> int | None:
    """The most characters of a translation, where an element limits them; a limit in pixels or bytes is not one."""
    attributes = element.attributes
    if attributes.get("size-unit") == "char" and attributes.get("maxwidth", "").isdecimal():
        return int(attributes["maxwidth"])
    match = re.search(r"(\d{1,6})\s*$", attributes.get(_SIZE, ""))
    return int(match[1]) if match else None


def is_locked(element: Element) -> bool:
    """Whether a program of translators has locked a `<trans-unit>` (memoQ, Phrase) or the state of a segment."""
    return _local(element, "locked") in _YES


def locked_segments(unit: Element) -> frozenset[str]:
    """The numbers of the segments of a `<trans-unit>` that Trados has locked."""
    return frozenset(_number(segment) for segment in _states(unit) if is_locked(segment))


def waiting_segments(unit: Element) -> frozenset[str]:
    """The numbers of the segments of a `<trans-unit>` whose translations nobody has confirmed in Trados."""
    return frozenset(_number(segment) for segment in _states(unit) if _local(segment, "conf") not in _SIGNED)


def is_waiting(unit: Element, target: Element | None) -> bool:
    """Whether a translation of XLIFF 1.2 waits for a person, by its state or by what a program wrote next to it."""
    state, qualifier = (target.attributes.get(name, "") if target else "" for name in ("state", "state-qualifier"))
    is_guess = qualifier.startswith("rejected-") or qualifier.endswith("-suggestion")
    if state.startswith("needs-") or (is_guess and state not in _FINAL):
        return True
    return any(_local(unit, name) in values for name, values in _WAITING.items())


def _states(unit: Element) -> list[Element]:
    """What Trados says of the segments of a `<trans-unit>`: `<sdl:seg>` in `<sdl:seg-defs>`."""
    return [state for child in unit.children if child.name == "seg-defs" for state in child.children]


def _number(state: Element) -> str:
    return state.attributes.get("id", "")


def _local(element: Element, name: str) -> str:
    """An attribute by its name without namespace, in small letters."""
    return next((value.lower() for key, value in element.attributes.items() if key.rpartition(" ")[2] == name), "")
