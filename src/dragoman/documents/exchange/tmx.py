"""TMX: the text of each translation unit in the source language, and its variant in the target language.

With `update` only units without that variant are translated. Inline codes (`<bpt>`, `<ph>`, …) are copied with the
native code in them, `<hi>` encloses the same words. All other variants, notes and properties stay.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, Request, Translations, Unit
from dragoman.documents.core.rewrite import written
from dragoman.documents.core.runs import Piece
from dragoman.documents.core.splice import Decoded, Splice, indent_before, spliced
from dragoman.documents.exchange.xliff_codes import begins_before_ends, role
from dragoman.documents.xml.elements import Element, plain_text, read_elements
from dragoman.documents.xml.runs import applied, source_of, translated_piece, xml_pieces
from dragoman.documents.xml.text import escape, writable
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText
from dragoman.text.words.language import primary_language, same_language, tag_distance


@dataclass(frozen=True, slots=True)
class _Entry:
    source: Element
    """The variant to translate."""
    segment: Element
    target: Element | None
    """The variant of the target language."""
    pieces: list[Piece]


def read(path: Path, request: Request) -> Document:
    """The units of a memory; with `update` those that have no translation yet."""
    decoded, root = read_elements(str(path), path.read_bytes())
    if root.name != "tmx":
        raise DataError(f"{path}:{root.line}: not TMX, but <{root.name}>; check the file")
    entries: list[_Entry] = []
    units: list[Unit] = []
    languages: set[str] = set()
    for unit in (each for each in root.walk() if each.name == "tu"):
        variants = [child for child in unit.children if child.name == "tuv"]
        languages |= {primary_language(_tag(variant)) for variant in variants}
        sources = _in_language(variants, request.source)
        targets = [variant for variant in _in_language(variants, request.target) if variant.child("seg")]
        targets = [each for each in targets if each not in sources[:1] and same_language(_tag(each), request.target)]
        segment = sources[0].child("seg") if sources else None
        translated = (each for each in targets if (seg := each.child("seg")) and plain_text(decoded.text, seg))
        existing = next(translated, None)
        if segment is None or (existing and request.update):
            continue
        target = existing or (targets[0] if targets else None)
        entry = _Entry(sources[0], segment, target, xml_pieces(decoded.text, segment, role, lines=True))
        entries.append(entry)
        units += _units(decoded.text, unit, entry)
    notices = () if primary_language(request.source) in languages else (f"it has no text in {request.source}",)
    return Document(path, units, (decoded, entries), notices if languages else ())


def _units(text: str, unit: Element, entry: _Entry) -> Iterator[Unit]:
    notes = [each for owner in (unit, entry.source) for each in owner.children if each.name in ("note", "prop")]
    comments = [" ".join(plain_text(text, each).split()) for each in notes]
    name = unit.attributes.get("tuid", "")
    seg = entry.target.child("seg") if entry.target else None
    for piece in entry.pieces:
        location = f"line {entry.segment.line}" + (f", {name}" if name else "")
        kept = translated_piece(text, entry.segment, piece, seg, role) if seg else None
        yield Unit(piece.inline, location, context="; ".join(comments[:3]), existing=kept.inline if kept else None)


def write(document: Document, translations: Translations, request: Request, file: IO[bytes]) -> None:
    """The same memory with a variant in the target language for each unit that is translated."""
    decoded, entries = document.skeleton
    given = iter(zip(document.units, translations, strict=True))

    def splices() -> Iterator[Splice]:
        for entry in entries:
            found = [next(given) for _ in entry.pieces]
            texts = [text for unit, text in found if text is not None and text != unit.existing]
            if texts and len(texts) == len(found):
                yield _variant(decoded, entry, texts, request.target)
        assert next(given, None) is None, "a translation for each unit"

    file.writelines(spliced(decoded, sorted(splices(), key=lambda splice: splice.begin)))


def _variant(decoded: Decoded, entry: _Entry, texts: list[InlineText], target: str) -> Splice:
    """The new variant, after that of the source or in the place of the empty one."""
    text, segment = decoded.text, entry.segment

    def write_text(part: str) -> str:
        return escape(writable(part), decoded.encoding)

    inside = [
        Splice(
            piece.begin,
            piece.end,
            written(piece, begins_before_ends(piece, translation, source_of(text)), write_text, source_of(text)),
        )
        for piece, translation in zip(entry.pieces, texts, strict=True)
    ]
    body = applied(text, segment.opened, segment.closing, inside)
    if entry.target is not None:
        seg = entry.target.child("seg")
        assert seg is not None, "a variant without a segment is none"
        if seg.closing == seg.end:
            return Splice(seg.begin, seg.end, f"<seg>{body}</seg>")
        return Splice(seg.opened, seg.closing, body)
    at = entry.source.end
    indent = indent_before(text, entry.source.begin)
    around = text[entry.source.opened : segment.begin]
    around = around if not around.strip() else ""
    after = text[segment.end : entry.source.closing]
    after = after if not after.strip() else ""
    tag = f'<tuv xml:lang="{escape(target, quote=chr(34))}">'
    return Splice(at, at, f"{indent}{tag}{around}<seg>{body}</seg>{after}</tuv>")


def _in_language(variants: list[Element], wanted: str) -> list[Element]:
    """The variants in this primary language, the nearest to its region and script first."""
    variants = [variant for variant in variants if primary_language(_tag(variant)) == primary_language(wanted)]
    return sorted(variants, key=lambda variant: tag_distance(_tag(variant), wanted))


def _tag(element: Element) -> str:
    return element.attributes.get("xml:lang") or element.attributes.get("lang", "")
