"""XLIFF 1.2 and 2.x: `<source>` is translated into `<target>`, which has the same inline codes. The rest stays.

A source in segments (`<seg-source>`, `<mrk mtype="seg">`) has a unit per segment. What is marked not to be translated
is not, native code inside `<ph>`, `<bpt>`, … is copied. The mark of an accelerator key (`_File`) is not translated, but
set again. `<alt-trans>` and matches are left alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from dragoman.documents.core.document import Document, Request, Translations, Unit
from dragoman.documents.core.labels import with_mark, without_mark
from dragoman.documents.core.limits import length_limit
from dragoman.documents.core.rewrite import written
from dragoman.documents.core.runs import Piece
from dragoman.documents.core.splice import Decoded, Splice, indent_before, spliced
from dragoman.documents.exchange.xliff_codes import VERSIONS, Version, allowed_length, begins_before_ends, role
from dragoman.documents.exchange.xliff_similar import UnitMatches, alternatives, candidates, segment_id
from dragoman.documents.xml.elements import Element, plain_text, read_elements, tag_name, with_attribute
from dragoman.documents.xml.runs import applied, source_of, translated_piece, xml_pieces
from dragoman.documents.xml.text import escape, writable
from dragoman.errors import DataError
from dragoman.memory import Match
from dragoman.text.words.inline import InlineText
from dragoman.text.words.language import same_language


@dataclass(frozen=True, slots=True)
class _Part:
    """A source, or a segment of one."""

    element: Element
    pieces: list[Piece]
    kept: Element | None
    """The translation that it has."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A `<trans-unit>` of 1.2, a `<segment>` of 2.x."""

    holder: Element
    owner: Element
    """The `<unit>` of a segment, the `<file>` of a `<trans-unit>`."""
    source: Element
    target: Element | None
    parts: list[_Part]


@dataclass(frozen=True, slots=True)
class _Scope:
    """What an element inherits."""

    translate: bool = True
    lines: bool = False
    limit: int | None = None
    comments: tuple[str, ...] = ()


@dataclass(slots=True)
class _Skeleton:
    decoded: Decoded
    root: Element
    version: Version
    entries: list[_Entry] = field(default_factory=list)


def read(path: Path, request: Request) -> Document:
    """The sources of an XLIFF file; with `update` those without a finished target."""
    decoded, root = read_elements(str(path), path.read_bytes())
    version = VERSIONS.get(root.attributes.get("version", "")[:2])
    if root.name != "xliff" or version is None:
        raise DataError(f"{path}:{root.line}: not XLIFF 1.2 or 2.x, but <{root.name}>; check the file")
    skeleton = _Skeleton(decoded, root, version)
    units: list[Unit] = []
    seen: dict[tuple[int, str], int] = {}
    notices = []
    for entry, scope, owner in _entries(skeleton, root, _Scope(), root):
        key = (owner, entry.holder.attributes.get("id", ""))
        if key[1] and key in seen:
            notices.append(f"line {entry.holder.line}: the id {key[1]!r} again, as in line {seen[key]}")
        seen.setdefault(key, entry.holder.line)
        if request.update:
            parts = [replace(part, pieces=[]) if part.kept else part for part in entry.parts]
            entry = entry if _is_unfinished(version, entry) else replace(entry, parts=parts)
        if not (request.update and _is_complete(decoded.text, version, entry)):
            skeleton.entries.append(entry)
            units += _units(decoded.text, entry, scope)
    return Document(path, units, skeleton, tuple(notices))


def _entries(
    skeleton: _Skeleton, element: Element, scope: _Scope, owner: Element
) -> Iterator[tuple[_Entry, _Scope, int]]:
    """What can be translated, with what it inherits and where its id counts."""
    text, version = skeleton.decoded.text, skeleton.version
    given = element.attributes.get("translate")
    space = element.attributes.get("xml:space")
    scope = _Scope(
        given != "no" if given else scope.translate,
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
    notes = [note for each in element.children if each.name == "notes" for note in each.children]
    notes += [each for each in element.children if each.name == "note"]
    return tuple(comment for each in notes if (comment := " ".join(plain_text(text, each).split())))


def _entry(text: str, holder: Element, owner: Element, source: Element, scope: _Scope) -> _Entry:
    target = holder.child("target")
    segmented = holder.child("seg-source")
    segments = [each for each in segmented.walk() if each.attributes.get("mtype") == "seg"] if segmented else []
    if not segmented or not segments:
        return _Entry(holder, owner, source, target, [_part(text, source, target, scope)])
    kept = {each.attributes.get("mid"): each for each in target.walk()} if target else {}
    parts = [_part(text, each, kept.get(each.attributes.get("mid")), scope) for each in segments]
    return _Entry(holder, owner, segmented, target, parts)


def _part(text: str, source: Element, kept: Element | None, scope: _Scope) -> _Part:
    kept = kept if kept and plain_text(text, kept).strip() else None
    lines = source.attributes.get("xml:space", "preserve" if scope.lines else "") == "preserve"
    return _Part(source, xml_pieces(text, source, role, lines=lines), kept)


def _is_unfinished(version: Version, entry: _Entry) -> bool:
    """Whether the state says that the target is none yet."""
    holder = entry.holder if version.state_of_segment else entry.target
    return holder is not None and holder.attributes.get("state", "") in version.unfinished


def _is_complete(text: str, version: Version, entry: _Entry) -> bool:
    """Whether an entry has its whole translation."""
    has_text = entry.target is not None and bool(plain_text(text, entry.target).strip())
    return has_text and not _is_unfinished(version, entry) and all(part.kept for part in entry.parts)


def _units(text: str, entry: _Entry, scope: _Scope) -> Iterator[Unit]:
    name = entry.holder.attributes.get("resname", "")
    identity = entry.holder.attributes.get("id", "")
    for part in entry.parts:
        for piece in part.pieces:
            kept = translated_piece(text, part.element, piece, part.kept, role) if part.kept else None
            yield Unit(
                without_mark(piece.inline),
                f"line {part.element.line}" + (f", {identity}" if identity else ""),
                context="; ".join(each for each in (name, *scope.comments) if each),
                max_length=scope.limit or length_limit("\n".join(scope.comments)),
                existing=without_mark(piece.inline, kept.inline) if kept else None,
            )


def write(document: Document, translations: Translations, request: Request, file: IO[bytes]) -> None:
    """The same file with targets, and with the target language."""
    skeleton: _Skeleton = document.skeleton
    decoded, version = skeleton.decoded, skeleton.version
    given = iter(zip(document.units, translations, strict=True))
    changes: list[Splice] = []
    without_words: list[_Entry] = []
    similar: dict[int, UnitMatches] = {}
    for entry in skeleton.entries:
        found = [[next(given) for _ in part.pieces] for part in entry.parts]
        if any(text is not None and text != unit.existing for part in found for unit, text in part):
            texts = [[text for _, text in part] for part in found]
            matches = _similar(entry, request)
            changes += _entry_splices(decoded, version, entry, texts, request, matches)
            if matches and version.state_of_segment:
                unit = similar.setdefault(entry.owner.begin, UnitMatches(entry.owner))
                unit.by_segment.append((segment_id(entry.owner, entry.holder), matches))
        elif not any(found) and not (entry.target and plain_text(decoded.text, entry.target).strip()):
            without_words.append(entry)
    rest = next(given, None)
    assert rest is None, "a translation for each unit"
    if changes:
        for entry in without_words:
            if plain_text(decoded.text, entry.source).strip() or entry.source.children:
                changes += _entry_splices(decoded, version, entry, [[] for _ in entry.parts], request)
        changes += _language_splices(decoded, skeleton.root, version, request.target)
    changes += [candidates(decoded, unit, skeleton.root.space) for unit in similar.values()]
    file.writelines(spliced(decoded, sorted(changes, key=lambda splice: splice.begin)))


def _entry_splices(
    decoded: Decoded,
    version: Version,
    entry: _Entry,
    texts: list[list[InlineText | None]],
    request: Request,
    matches: Sequence[Match] = (),
) -> Iterator[Splice]:
    """The target of an entry, new or in the place of the old one."""
    text, encoding = decoded.text, decoded.encoding
    inside: list[Splice] = []
    for part, given in zip(entry.parts, texts, strict=True):
        if part.kept and all(each is None for each in given):
            kept = text[part.kept.opened : part.kept.closing]
            inside.append(Splice(part.element.opened, part.element.closing, kept))
            continue
        for piece, each in zip(part.pieces, given, strict=True):
            if each is not None:
                ordered = begins_before_ends(piece, with_mark(piece.inline, each), source_of(text))
                new = written(piece, ordered, lambda part: escape(writable(part), encoding), source_of(text))
                inside.append(Splice(piece.begin, piece.end, new))
    body = applied(text, entry.source.opened, entry.source.closing, inside)
    state = version.marked if request.mark else version.translated
    holder, target = entry.holder, entry.target
    if version.state_of_segment:
        tag = with_attribute(text[holder.begin : holder.opened], "state", state, encoding)
        if matches and "id" not in holder.attributes:
            tag = with_attribute(tag, "id", segment_id(entry.owner, holder), encoding)
        yield Splice(holder.begin, holder.opened, tag)
    elif holder.attributes.get("approved") == "yes":
        tag = with_attribute(text[holder.begin : holder.opened], "approved", "no", encoding)
        yield Splice(holder.begin, holder.opened, tag)
    state = "" if version.state_of_segment else state
    for splice in _target_splices(decoded, entry.source, target, body, state, request):
        similar = "" if version.state_of_segment else alternatives(decoded, entry.source, matches)
        yield replace(splice, written=splice.written + similar)


def _similar(entry: _Entry, request: Request) -> list[Match]:
    """Translations of sources that are similar to those of an entry."""
    return [one for part in entry.parts for piece in part.pieces for one in request.similar(piece.inline.text)]


def _target_splices(
    decoded: Decoded, source: Element, target: Element | None, body: str, state: str, request: Request
) -> Iterator[Splice]:
    text, encoding = decoded.text, decoded.encoding
    if target is not None:
        tag = text[target.begin : target.opened]
        name = tag_name(tag)
        tag = f"{tag[:-2].rstrip()}>" if tag.endswith("/>") else tag
        if state and (request.mark or "state" in target.attributes):
            tag = with_attribute(tag, "state", state, encoding)
        if not same_language(target.attributes.get("xml:lang", request.target), request.target):
            tag = with_attribute(tag, "xml:lang", request.target, encoding)
        yield Splice(target.begin, target.end, f"{tag}{body}</{name}>")
        return
    prefix = tag_name(text[source.begin : source.opened]).removesuffix(source.name)
    tag = f"<{prefix}target>"
    if "xml:lang" in source.attributes:
        tag = with_attribute(tag, "xml:lang", request.target, encoding)
    if "xml:space" in source.attributes:
        tag = with_attribute(tag, "xml:space", source.attributes["xml:space"], encoding)
    if state:
        tag = with_attribute(tag, "state", state, encoding)
    indent = indent_before(text, source.begin)
    yield Splice(source.end, source.end, f"{indent}{tag}{body}</{prefix}target>")


def _language_splices(decoded: Decoded, root: Element, version: Version, target: str) -> Iterator[Splice]:
    """The language of the targets, where it is missing or another one."""
    holders = [root] if version.state_of_segment else [each for each in root.children if each.name == "file"]
    for each in holders:
        if not same_language(each.attributes.get(version.language, ""), target):
            tag = with_attribute(decoded.text[each.begin : each.opened], version.language, target, decoded.encoding)
            yield Splice(each.begin, each.opened, tag)
