"""`documents.office.tokens` → a paragraph of Word (`w:p`), in the direction in which its language is written."""

from collections.abc import Collection
from copy import deepcopy
from typing import Any

from lxml import etree

from dragoman.documents.office.docx_runs import PROPERTIES, XML_SPACE
from dragoman.documents.office.ooxml import RunStyle, is_east_asian, language_tag
from dragoman.documents.office.parts import local
from dragoman.documents.office.tokens import Close, Open, Token, Words
from dragoman.documents.xml.text import writable
from dragoman.text.words.script import is_right_to_left


def build(paragraph: Any, tokens: list[Token], language: str) -> None:
    """Write the content of a paragraph. Elements of a run get a run of their own with its properties."""
    _clear(paragraph)
    _set_direction(paragraph, language)
    stack = [paragraph]
    for token in tokens:
        if isinstance(token, Words):
            stack[-1].append(_text_run(paragraph, token, language))
            continue
        if isinstance(token, Close):
            stack.pop()
        for element in token.elements:
            stack[-1].append(_in_run(element))
        if isinstance(token, Open):
            if token.into is not None:
                _clear(token.into)
            stack.append(stack[-1] if token.into is None else token.into)


# What follows `w:bidi` in paragraph properties, and `w:rtl` in those of a run.
_AFTER_BIDI = frozenset(
    """adjustRightInd snapToGrid spacing ind contextualSpacing mirrorIndents suppressOverlap jc textDirection
    textAlignment textboxTightWrap outlineLvl divId cnfStyle rPr sectPr pPrChange""".split()  # noqa: SIM905
)
_AFTER_RTL = frozenset({"cs", "em", "lang", "eastAsianLayout", "specVanish", "oMath", "rPrChange"})


def _set_direction(paragraph: Any, language: str) -> None:
    """Write a paragraph from right to left if its language is, and only then."""
    prefix = paragraph.tag[: paragraph.tag.index("}") + 1]
    properties = next(paragraph.iterchildren(f"{prefix}pPr"), None)
    if properties is None and is_right_to_left(language):
        properties = etree.Element(f"{prefix}pPr")
        paragraph.insert(0, properties)
    if properties is not None:
        _set_flag(properties, f"{prefix}bidi", _AFTER_BIDI, is_right_to_left(language))


def _set_flag(properties: Any, tag: str, after: Collection[str], is_set: bool) -> None:
    """Set a property that is there or not, before those of `after`, or take it away."""
    for child in list(properties.iterchildren(tag)):
        properties.remove(child)
    if is_set:
        later = [at for at, child in enumerate(properties) if local(child) in after]
        properties.insert(later[0] if later else len(properties), etree.Element(tag))


def _clear(container: Any) -> None:
    for child in list(container):
        if local(child) not in PROPERTIES and local(child) != "sdtContent":
            container.remove(child)


def _in_run(element: Any) -> Any:
    """An element as a paragraph can hold it."""
    run = element.getparent()
    if run is None or local(run) != "r":
        element.tail = None
        return element
    new = etree.Element(run.tag)
    new.extend(deepcopy(properties) for properties in run.iterchildren("{*}rPr"))
    new.append(element)
    element.tail = None
    return new


def _text_run(paragraph: Any, token: Words, language: str) -> Any:
    prefix = paragraph.tag[: paragraph.tag.index("}") + 1]
    run = etree.Element(f"{prefix}r")
    style = token.style if isinstance(token.style, RunStyle) else RunStyle(())
    properties = deepcopy(style.properties) if style.properties is not None else etree.Element(f"{prefix}rPr")
    _set_flag(properties, f"{prefix}rtl", _AFTER_RTL, is_right_to_left(language))
    _set_language(properties, prefix, language)
    run.append(properties)
    text = etree.SubElement(run, f"{prefix}t")
    text.text = writable(token.text)
    if token.text != " ".join(token.text.split()):
        text.set(XML_SPACE, "preserve")
    return run


# What follows `w:lang` in run properties.
_AFTER_LANGUAGE = {"eastAsianLayout", "specVanish", "oMath", "rPrChange"}


def _set_language(properties: Any, prefix: str, language: str) -> None:
    """Name the language of a run, and that its signs are those of an East Asian font, or not."""
    asian = is_east_asian(language)
    fonts = list(properties.iterchildren(f"{prefix}rFonts"))
    if asian and not fonts:
        fonts = [etree.Element(f"{prefix}rFonts")]
        properties.insert(len(list(properties.iterchildren(f"{prefix}rStyle"))), fonts[0])
    for child in fonts:
        if asian:
            child.set(f"{prefix}hint", "eastAsia")
        else:
            child.attrib.pop(f"{prefix}hint", None)
    element = next(properties.iterchildren(f"{prefix}lang"), None)
    if element is None:
        element = etree.Element(f"{prefix}lang")
        others = enumerate(properties)
        later = [at for at, child in others if local(child) in _AFTER_LANGUAGE or not str(child.tag).startswith(prefix)]
        properties.insert(later[0] if later else len(properties), element)
    attribute = "eastAsia" if asian else "bidi" if is_right_to_left(language) else "val"
    element.set(f"{prefix}{attribute}", language_tag(language))
