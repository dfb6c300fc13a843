"""XLIFF 1.2 and 2.x: `<source>` is translated into `<target>`, which has the same inline codes. The rest stays.

A source in segments (`<seg-source>`, `<mrk mtype="seg">`) has a unit per segment. What is marked not to be translated
is not, nor what a program of translators has locked; native code inside `<ph>`, `<bpt>`, … is copied. The mark of an
accelerator key (`_File`) is not translated, but set again. `<alt-trans>` and matches are left alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.labels import length_limit, with_mark, without_mark
from dragoman.documents.core.spans import UnitSpan, source_of
from dragoman.documents.core.splice import Decoded, Splice, applied, indent_before, spliced
from dragoman.documents.exchange.xliff_codes import (
    VERSIONS,
    XliffVersion,
    allowed_length,
    begins_before_ends,
    is_locked,
    is_waiting,
    locked_segments,
    role,
    waiting_segments,
)
from dragoman.documents.xml.elements import Element, plain_text, read_elements, tag_name, with_attribute
from dragoman.documents.xml.spans import translated_piece, written_xml, xml_pieces
from dragoman.documents.xml.text import escape
from dragoman.errors import DataError
from dragoman.memory import MemoryMatch
from dragoman.text.words.inline import InlineText
from dragoman.text.words.language import declares_other, same_language


@dataclass(frozen=True, slots=True)
class _SourceSegment:
    """A source, or a segment of one."""

    element: Element
    pieces: list[UnitSpan]
    target: Element | None
    """The translation that it has."""
    locked: bool = False


@dataclass(frozen=True, slots=True)
class _TransUnit:
    """A `<trans-unit>` of 1.2, a `<segment>` of 2.x."""

    holder: Element
    owner: Element
    """The `<unit>` of a segment, the `<file>` of a `<trans-unit>`."""
    source: Element
    target: Element | None
    parts: list[_SourceSegment]


@dataclass(frozen=True, slots=True)
class _Scope:
    """What an element inherits."""

    translate: bool = True
    lines: bool = False
    limit: int | None = None
    comments: tuple[str, ...] = ()


@dataclass(slots=True)
class _XliffFile:
    decoded: Decoded
    root: Element
    version: XliffVersion
    entries: list[_TransUnit] = field(default_factory=list)


def read(path: Path, options: DocumentOptions) -> Document:
    """The sources of an XLIFF file; with `update` those without a finished target."""
    decoded, root = read_elements(str(path), path.read_bytes())
    version = VERSIONS.get(root.attributes.get("version", "")[:2])
    if root.name != "xliff" or version is None:
        raise DataError(f"{path}:{root.line}: not XLIFF 1.2 or 2.x, but <{root.name}>; check the file")
    skeleton = _XliffFile(decoded, root, version)
    units: list[Unit] = []
    seen: dict[tuple[int, str], int] = {}
    notices = []
    for entry, scope, owner in _entries(skeleton, root, _Scope(), root):
        if not options.confirmed:
            entry = _without_locked(entry)
            if all(part.locked for part in entry.parts):
                continue
        key = (owner, entry.holder.attributes.get("id", ""))
        if key[1] and key in seen:
            notices.append(f"line {entry.holder.line}: the id {key[1]!r} again, as in line {seen[key]}")
        seen.setdefault(key, entry.holder.line)
        if options.update:
            entry = _without_waiting(entry) if options.confirmed else entry
            parts = [replace(part, pieces=[]) if part.target else part for part in entry.parts]
            entry = entry if _is_unfinished(version, entry) else replace(entry, parts=parts)
        if not (options.update and _is_complete(decoded.text, version, entry)):
            skeleton.entries.append(entry)
            of_entry = _units(decoded.text, entry, scope)
            # Targets of another language say nothing about ours.
            is_other = not options.any_language and _is_of_other_languages(skeleton, entry, options)
            units += (replace(unit, existing=None) for unit in of_entry) if is_other else of_entry
    return Document(path, units, skeleton, tuple(notices))


def _entries(
    skeleton: _XliffFile, element: Element, scope: _Scope, owner: Element
) -> Iterator[tuple[_TransUnit, _Scope, int]]:
    """What can be translated, with what it inherits and where its id counts."""
    text, version = skeleton.decoded.text, skeleton.version
    translate = element.attributes.get("translate")
    space = element.attributes.get("xml:space")
    scope = _Scope(
        translate != "no" if translate else scope.translate,
        space == "preserve" if space else scope.lines,
        allowed_length(element) or scope.limit,
        _comments(text, element) or scope.comments,
    )
    if element.name == version.entry and (source := element.child("source")):
        if scope.translate:
            yield _entry(text, element, owner, source, scope), scope, owner.begin
        return
    owner = element if element.name in ("file", "unit") else owner
    for child in element.children:
        yield from _entries(skeleton, child, scope, owner)


def _comments(text: str, element: Element) -> tuple[str, ...]:
    """The notes of a `<trans-unit>`, or those of a `<unit>`, which are in `<notes>`."""
    if element.name == "file":
        return ()
    notes = [note for child in element.children if child.name == "notes" for note in child.children]
    notes += [child for child in element.children if child.name == "note"]
    return tuple(comment for note in notes if (comment := " ".join(plain_text(text, note).split())))


def _entry(text: str, holder: Element, owner: Element, source: Element, scope: _Scope) -> _TransUnit:
    target = holder.child("target")
    segmented = holder.child("seg-source")
    marks = segmented.walk() if segmented else ()
    segments = [mark for mark in marks if mark.attributes.get("mtype") == "seg"]
    if not segmented or not segments:
        return _TransUnit(holder, owner, source, target, [_part(text, source, target, scope)])
    targets = {element.attributes.get("mid"): element for element in target.walk()} if target else {}
    parts = [_part(text, element, targets.get(element.attributes.get("mid")), scope) for element in segments]
    return _TransUnit(holder, owner, segmented, target, parts)


def _part(text: str, source: Element, target: Element | None, scope: _Scope) -> _SourceSegment:
    target = target if target and plain_text(text, target).strip() else None
    lines = source.attributes.get("xml:space", "preserve" if scope.lines else "") == "preserve"
    return _SourceSegment(source, xml_pieces(text, source, role, lines=lines), target)


def _without_locked(entry: _TransUnit) -> _TransUnit:
    """An entry whose locked segments have nothing to translate."""
    numbers = locked_segments(entry.holder)
    if not (numbers or is_locked(entry.holder)):
        return entry
    locked = [is_locked(entry.holder) or part.element.attributes.get("mid") in numbers for part in entry.parts]
    parts = [
        replace(part, pieces=[], locked=True) if is_part else part
        for part, is_part in zip(entry.parts, locked, strict=True)
    ]
    return replace(entry, parts=parts)


def _without_waiting(entry: _TransUnit) -> _TransUnit:
    """An entry without the translations that no person has confirmed."""
    numbers, is_all = waiting_segments(entry.holder), is_waiting(entry.holder, entry.target)
    parts = [
        replace(part, target=None) if is_all or part.element.attributes.get("mid") in numbers else part
        for part in entry.parts
    ]
    return replace(entry, parts=parts)


def _is_unfinished(version: XliffVersion, entry: _TransUnit) -> bool:
    """Whether the state says that the target is none yet."""
    holder = entry.holder if version.state_of_segment else entry.target
    return holder is not None and holder.attributes.get("state", "") in version.unfinished


def _is_of_other_languages(skeleton: _XliffFile, entry: _TransUnit, options: DocumentOptions) -> bool:
    version = skeleton.version
    tags = (skeleton.root if version.state_of_segment else entry.owner).attributes
    languages = (version.source_language, options.source), (version.language, options.target)
    return any(declares_other(tags.get(name, ""), wanted) for name, wanted in languages)


def _is_complete(text: str, version: XliffVersion, entry: _TransUnit) -> bool:
    has_text = entry.target is not None and bool(plain_text(text, entry.target).strip())
    return has_text and not _is_unfinished(version, entry) and all(part.target or part.locked for part in entry.parts)


def _units(text: str, entry: _TransUnit, scope: _Scope) -> Iterator[Unit]:
    name = entry.holder.attributes.get("resname", "")
    identity = entry.holder.attributes.get("id", "")
    for part in entry.parts:
        for piece in part.pieces:
            translation = translated_piece(text, part.element, piece, part.target, role) if part.target else None
            yield Unit(
                without_mark(piece.inline),
                f"line {part.element.line}" + (f", {identity}" if identity else ""),
                context="; ".join(comment for comment in (name, *scope.comments) if comment),
                max_length=scope.limit or length_limit("\n".join(scope.comments)),
                existing=without_mark(piece.inline, translation.inline) if translation else None,
            )


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The XLIFF file with a target for each translated source, and with the target language."""
    skeleton: _XliffFile = document.skeleton
    decoded, version = skeleton.decoded, skeleton.version
    remaining = iter(zip(document.units, translations, strict=True))
    changes: list[Splice] = []
    without_words: list[_TransUnit] = []
    similar: dict[int, tuple[Element, list[tuple[str, Sequence[MemoryMatch]]]]] = {}
    for entry in skeleton.entries:
        segments = [[next(remaining) for _ in part.pieces] for part in entry.parts]
        if any(text is not None and text != unit.existing for part in segments for unit, text in part):
            texts = [_new_texts(part) for part in segments]
            sources = (piece.inline.text for part in entry.parts for piece in part.pieces)
            matches = [match for source in sources for match in options.similar(source)]
            changes += _entry_splices(decoded, version, entry, texts, options, matches)
            if matches and version.state_of_segment:
                _, by_segment = similar.setdefault(entry.owner.begin, (entry.owner, []))
                by_segment.append((_segment_id(entry.owner, entry.holder), matches))
        elif not any(segments) and not (entry.target and plain_text(decoded.text, entry.target).strip()):
            without_words.append(entry)
    rest = next(remaining, None)
    assert rest is None, "a translation for each unit"
    if changes:
        for entry in without_words:
            if plain_text(decoded.text, entry.source).strip() or entry.source.children:
                changes += _entry_splices(decoded, version, entry, [[] for _ in entry.parts], options)
        changes += _language_splices(decoded, skeleton.root, version, options.target)
    changes += [_candidates(decoded, *unit_matches, skeleton.root.space) for unit_matches in similar.values()]
    file.write(spliced(decoded, changes))


def _new_texts(part: list[tuple[Unit, InlineText | None]]) -> list[InlineText | None]:
    """The translations of a part. None where nothing is new, or where a kept target has other codes than its source."""
    if all(text is None or text == unit.existing for unit, text in part):
        return [None] * len(part)
    return [
        None if text and text == unit.existing and text.counted_codes != unit.source.counted_codes else text
        for unit, text in part
    ]


def _entry_splices(
    decoded: Decoded,
    version: XliffVersion,
    entry: _TransUnit,
    texts: list[list[InlineText | None]],
    options: DocumentOptions,
    matches: Sequence[MemoryMatch] = (),
) -> Iterator[Splice]:
    """The target of an entry, new or in the place of the old one."""
    text, encoding = decoded.text, decoded.encoding
    inside: list[Splice] = []
    for part, translations in zip(entry.parts, texts, strict=True):
        if part.target and all(translation is None for translation in translations):
            unchanged = text[part.target.opened : part.target.closing]
            inside.append(Splice(part.element.opened, part.element.closing, unchanged))
            continue
        if part.locked:
            inside.append(Splice(part.element.opened, part.element.closing, ""))
        for piece, translation in zip(part.pieces, translations, strict=True):
            if translation is not None:
                ordered = begins_before_ends(piece, with_mark(piece.inline, translation), source_of(text))
                inside.append(Splice(piece.begin, piece.end, written_xml(decoded, piece, ordered)))
    body = applied(text, entry.source.opened, entry.source.closing, inside)
    state = version.marked if options.mark else version.translated
    holder, target = entry.holder, entry.target
    if version.state_of_segment:
        tag = with_attribute(text[holder.begin : holder.opened], "state", state, encoding)
        if matches and "id" not in holder.attributes:
            tag = with_attribute(tag, "id", _segment_id(entry.owner, holder), encoding)
        yield Splice(holder.begin, holder.opened, tag)
    elif holder.attributes.get("approved") == "yes":
        tag = with_attribute(text[holder.begin : holder.opened], "approved", "no", encoding)
        yield Splice(holder.begin, holder.opened, tag)
    state = "" if version.state_of_segment else state
    splice = _target_splice(decoded, entry.source, target, body, state, options)
    similar = "" if version.state_of_segment else _alternatives(decoded, entry, matches)
    yield replace(splice, written=splice.written + similar)


def _target_splice(
    decoded: Decoded, source: Element, target: Element | None, body: str, state: str, options: DocumentOptions
) -> Splice:
    text, encoding = decoded.text, decoded.encoding
    if target is not None:
        tag = text[target.begin : target.opened]
        name = tag_name(tag)
        tag = f"{tag[:-2].rstrip()}>" if tag.endswith("/>") else tag
        if state and (options.mark or "state" in target.attributes):
            tag = with_attribute(tag, "state", state, encoding)
        if not same_language(target.attributes.get("xml:lang", options.target), options.target):
            tag = with_attribute(tag, "xml:lang", options.target, encoding)
        return Splice(target.begin, target.end, f"{tag}{body}</{name}>")
    prefix = tag_name(text[source.begin : source.opened]).removesuffix(source.name)
    tag = f"<{prefix}target>"
    if "xml:lang" in source.attributes:
        tag = with_attribute(tag, "xml:lang", options.target, encoding)
    if "xml:space" in source.attributes:
        tag = with_attribute(tag, "xml:space", source.attributes["xml:space"], encoding)
    if state:
        tag = with_attribute(tag, "state", state, encoding)
    indent = indent_before(text, source.begin)
    return Splice(source.end, source.end, f"{indent}{tag}{body}</{prefix}target>")


def _language_splices(decoded: Decoded, root: Element, version: XliffVersion, target: str) -> Iterator[Splice]:
    """The language of the targets, where it is missing or another one."""
    holders = [root] if version.state_of_segment else [holder for holder in root.children if holder.name == "file"]
    for holder in holders:
        if not same_language(holder.attributes.get(version.language, ""), target):
            tag = with_attribute(decoded.text[holder.begin : holder.opened], version.language, target, decoded.encoding)
            yield Splice(holder.begin, holder.opened, tag)


MODULE = "urn:oasis:names:tc:xliff:matches:2.0"


def _alternatives(decoded: Decoded, entry: _TransUnit, matches: Sequence[MemoryMatch]) -> str:
    """`<alt-trans>` of 1.2 for each match that the entry has not yet, to be written after its target."""
    text, source = decoded.text, entry.source
    known = {_texts(text, child) for child in entry.holder.children if child.name == "alt-trans"}
    indent = indent_before(text, source.begin)
    prefix = tag_name(text[source.begin : source.opened]).removesuffix(source.name)
    return "".join(
        f'{indent}<{prefix}alt-trans match-quality="{match.score}%" origin="{_escaped(match.origin, decoded)}">'
        f"{_pair(match, decoded, prefix)}</{prefix}alt-trans>"
        for match in matches
        if (match.source, match.target) not in known
    )


def _segment_id(unit: Element, segment: Element) -> str:
    """The id of a segment: its own, or a free one, by its number in the unit."""
    if identity := segment.attributes.get("id"):
        return identity
    taken = {element.attributes.get("id") for element in unit.walk()}
    name = f"s{1 + [element.begin for element in unit.children if element.name == segment.name].index(segment.begin)}"
    while name in taken:
        name += "-"
    return name


def _candidates(
    decoded: Decoded, unit: Element, by_segment: Sequence[tuple[str, Sequence[MemoryMatch]]], space: str
) -> Splice:
    """The `<mtc:match>` elements of a unit, in the `<mtc:matches>` that it has or in a new one, which comes first.

    `by_segment` are the matches by the ids of its segments, `space` the namespace of the document, in which the texts
    of a match are.
    """
    text = decoded.text
    there = next((child for child in unit.children if (child.name, child.space) == ("matches", MODULE)), None)
    known = {(child.attributes.get("ref"), *_texts(text, child)) for child in (there.children if there else ())}
    rows = [
        f'<mtc:match ref="#{_escaped(identity, decoded)}" similarity="{match.score}" type="tm"'
        f"{_origin(match, decoded)}>{_pair(match, decoded, '')}</mtc:match>"
        for identity, matches in by_segment
        for match in matches
        if (f"#{identity}", match.source, match.target) not in known
    ]
    names = f'xmlns:mtc="{MODULE}" xmlns="{_escaped(space, decoded)}"'
    if there is not None and there.closing < there.end:
        declared = (row.replace("<mtc:match ", f"<mtc:match {names} ", 1) for row in rows)
        return Splice(there.closing, there.closing, "".join(declared))
    indent = text[unit.opened : unit.children[0].begin]
    indent = "" if indent.strip() else indent
    return Splice(unit.opened, unit.opened, f"{indent}<mtc:matches {names}>{''.join(rows)}</mtc:matches>")


def _origin(match: MemoryMatch, decoded: Decoded) -> str:
    return f' origin="{_escaped(match.origin, decoded)}"' if match.origin else ""


def _texts(text: str, match: Element) -> tuple[str, str]:
    """The source and the target that an `<alt-trans>` or a match has."""
    sides = {child.name: plain_text(text, child) for child in match.children}
    return sides.get("source", ""), sides.get("target", "")


def _pair(match: MemoryMatch, decoded: Decoded, prefix: str) -> str:
    texts = (("source", match.source), ("target", match.target))
    return "".join(f"<{prefix}{name}>{_escaped(text, decoded)}</{prefix}{name}>" for name, text in texts)


def _escaped(text: str, decoded: Decoded) -> str:
    return escape(text, decoded.encoding, quote='"')
