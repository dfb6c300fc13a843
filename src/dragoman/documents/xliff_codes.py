"""What the elements and attributes of XLIFF 1.2 and 2.x mean: inline codes, states, limits of length."""

import re
from dataclasses import dataclass

from dragoman.documents.xml_elements import Element
from dragoman.documents.xml_runs import Role

_SIZE = "urn:oasis:names:tc:xliff:sizerestriction:2.0 sizeRestriction"


@dataclass(frozen=True, slots=True)
class Version:
    """Where the two versions differ."""

    entry: str
    """The element that has one source and one target."""
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
    "1.": Version(
        "trans-unit", "target-language", False, "translated", "needs-review-translation", ("new", "needs-translation")
    ),
    "2.": Version("segment", "trgLang", True, "translated", "translated", ("initial",)),
}

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
    if name in ("g", "pc", "mrk", "hi"):
        return "pair", name
    if name in _HALVES:
        kind, keys = _HALVES[name]
        found = next((element.attributes[key] for key in keys if key in element.attributes), "")
        return kind, f"{_FAMILY[name]}{found}-"
    return "alone", name


def allowed_length(element: Element) -> int | None:
    """The most characters of a translation, where an element limits them; a limit in pixels or bytes is not one."""
    attributes = element.attributes
    if attributes.get("size-unit") == "char" and attributes.get("maxwidth", "").isdecimal():
        return int(attributes["maxwidth"])
    match = re.search(r"(\d{1,6})\s*$", attributes.get(_SIZE, ""))
    return int(match[1]) if match else None
