"""TMX: the text of each translation unit in the source language, and its variant in the target language.

With `update` only units without that variant are translated. Inline codes (`<bpt>`, `<ph>`, …) are copied with the
native code in them, `<hi>` encloses the same words. All other variants, notes and properties stay.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.spans import UnitSpan, source_of
from dragoman.documents.core.splice import Decoded, Splice, applied, indent_before, spliced
from dragoman.documents.exchange.xliff_codes import begins_before_ends, role
from dragoman.documents.xml.elements import Element, plain_text, read_elements
from dragoman.documents.xml.spans import translated_piece, written_xml, xml_pieces
from dragoman.documents.xml.text import escape
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText
from dragoman.text.words.language import primary_language, same_language, tag_distance


@dataclass(frozen=True, slots=True)
class _TmxUnit:
    source: Element
    """The variant to translate."""
    segment: Element
    target: Element | None
    """The variant of the target language."""
    pieces: list[UnitSpan]


def read(path: Path, options: DocumentOptions) -> Document:
    """The units of a memory; with `update` those that have no translation yet."""
    decoded, root = read_elements(str(path), path.read_bytes())
    if root.name != "tmx":
        raise DataError(f"{path}:{root.line}: not TMX, but <{root.name}>; check the file")
    entries: list[_TmxUnit] = []
    units: list[Unit] = []
    languages: set[str] = set()
    for unit in (element for element in root.walk() if element.name == "tu"):
        variants = [child for child in unit.children if child.name == "tuv"]
        languages |= {primary_language(_tag(variant)) for variant in variants}
        sources = _in_language(variants, options.source)
        targets = [variant for variant in _in_language(variants, options.target) if variant.child("seg")]
        targets = [variant for variant in targets if same_language(_tag(variant), options.target)]
        targets = [variant for variant in targets if variant not in sources[:1]]
        segment = sources[0].child("seg") if sources else None
        translated = (variant for variant in targets if (seg := variant.child("seg")) and plain_text(decoded.text, seg))
        existing = next(translated, None)
        if segment is None or (existing and options.update):
            continue
        target = existing or (targets[0] if targets else None)
        entry = _TmxUnit(sources[0], segment, target, xml_pieces(decoded.text, segment, role, lines=True))
        entries.append(entry)
        units += _units(decoded.text, unit, entry)
    notices = () if primary_language(options.source) in languages else (f"it has no text in {options.source}",)
    return Document(path, units, (decoded, entries), notices if languages else ())


def _units(text: str, unit: Element, entry: _TmxUnit) -> Iterator[Unit]:
    notes = [note for owner in (unit, entry.source) for note in owner.children if note.name in ("note", "prop")]
    comments = [" ".join(plain_text(text, note).split()) for note in notes]
    name = unit.attributes.get("tuid", "")
    seg = entry.target.child("seg") if entry.target else None
    location = f"line {entry.segment.line}" + (f", {name}" if name else "")
    for piece in entry.pieces:
        target = translated_piece(text, entry.segment, piece, seg, role) if seg else None
        existing = target.inline if target else None
        yield Unit(piece.inline, location, context="; ".join(comments[:3]), existing=existing)


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The memory with a variant in the target language for each unit that is translated."""
    decoded, entries = document.skeleton
    remaining = iter(zip(document.units, translations, strict=True))

    def splices() -> Iterator[Splice]:
        for entry in entries:
            pairs = [next(remaining) for _ in entry.pieces]
            texts = [text for unit, text in pairs if text is not None and text != unit.existing]
            if texts and len(texts) == len(pairs):
                yield _variant(decoded, entry, texts, options.target)
        assert next(remaining, None) is None, "a translation for each unit"

    file.write(spliced(decoded, splices()))


def _variant(decoded: Decoded, entry: _TmxUnit, texts: list[InlineText], target: str) -> Splice:
    """The new variant, after that of the source or in the place of the empty one."""
    text, segment = decoded.text, entry.segment
    inside = []
    for piece, translation in zip(entry.pieces, texts, strict=True):
        ordered = begins_before_ends(piece, translation, source_of(text))
        inside.append(Splice(piece.begin, piece.end, written_xml(decoded, piece, ordered)))
    body = applied(text, segment.opened, segment.closing, inside)
    if entry.target is not None:
        seg = entry.target.child("seg")
        assert seg is not None, "a variant without a segment is none"
        if seg.closing == seg.end:
            return Splice(seg.begin, seg.end, f"<seg>{body}</seg>")
        return Splice(seg.opened, seg.closing, body)
    at = entry.source.end
    indent = indent_before(text, entry.source.begin)
    sides = (text[entry.source.opened : segment.begin], text[segment.end : entry.source.closing])
    around, after = ("" if side.strip() else side for side in sides)
    tag = f'<tuv xml:lang="{escape(target, quote=chr(34))}">'
    return Splice(at, at, f"{indent}{tag}{around}<seg>{body}</seg>{after}</tuv>")


def _in_language(variants: list[Element], wanted: str) -> list[Element]:
    """The variants in this primary language, the nearest to its region and script first."""
    variants = [variant for variant in variants if primary_language(_tag(variant)) == primary_language(wanted)]
    return sorted(variants, key=lambda variant: tag_distance(_tag(variant), wanted))


def _tag(element: Element) -> str:
    return element.attributes.get("xml:lang") or element.attributes.get("lang", "")
