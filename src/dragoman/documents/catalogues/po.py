"""gettext PO and POT: each message is a unit, each plural form that differs one more. All other lines stay as they are.

Only the `msgstr` of a message whose translation changes is written again, in the wrapping of the file. The header names
the target language and its plural rule. A fuzzy message counts as not translated: with `update` it is translated again.
A translation of a format string that lost a directive is fuzzy, so that no program uses it before a person looked. The
mark of an accelerator key (`_File`) is not translated, but set again.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import IO

import polib

from dragoman.documents.catalogues.icu_messages import has_branches
from dragoman.documents.catalogues.po_formats import directives, is_kept, numbered, patterns, unnumbered
from dragoman.documents.catalogues.po_header import Plurals, PoHeader, header_of, header_splices
from dragoman.documents.catalogues.po_lines import Layout, PoMessage, layout, messages
from dragoman.documents.core.document import Document, DocumentOptions, Translations, Unit
from dragoman.documents.core.labels import length_limit
from dragoman.documents.core.splice import Decoded, Splice, decode, spliced
from dragoman.errors import DataError
from dragoman.text.terms.accelerators import Accelerator, find_accelerator, with_accelerator, without_accelerator
from dragoman.text.words.inline import InlineText
from dragoman.text.words.language import declares_other

_CHARSET = re.compile(rb'^(?:msgstr[ \t]*)?"[^"\n]*\bcharset=([\w.:-]+)', re.MULTILINE)
_SPACE = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)
# What a form of a message may not lose; only to compare a singular with its plural.
_DIRECTIVE = re.compile(r"%(?:\([^)\s]*\))?[-+#0-9.*$]{0,9}[a-zA-Z@]|\{[^{}\s]*\}")


@dataclass(frozen=True, slots=True)
class _MessageForms:
    """What one unit fills: some forms of a message. The form None is its only `msgstr`."""

    message: PoMessage
    entry: polib.POEntry
    source: str
    forms: tuple[int | None, ...]

    @property
    def accelerator(self) -> Accelerator | None:
        """The accelerator key of the source, if it is the label of a menu or a button."""
        return find_accelerator(self.source.strip())

    @property
    def text(self) -> str:
        return self.accelerator.text if self.accelerator else self.source.strip()

    def existing(self, form: int | None) -> str:
        return self.entry.msgstr if form is None else self.entry.msgstr_plural.get(form, "")


@dataclass(frozen=True, slots=True)
class _PoFile:
    decoded: Decoded
    header: PoHeader
    layout: Layout
    slots: list[_MessageForms]


def read(path: Path, options: DocumentOptions) -> Document:
    """The messages of a PO file, but for obsolete ones; with `update` those that are empty or fuzzy."""
    decoded = _decode(path, path.read_bytes())
    listed = messages(path, decoded)
    first = next((message for message in listed if message.is_header), None)
    header = header_of(path, first, options.target, options.update)
    current = [
        (message, entry)
        for message, entry in _entries(path, decoded, listed)
        if not message.obsolete and entry.msgid.strip()
    ]
    slots = [slot for message, entry in current for slot in _slots(message, entry, header.plurals, options.update)]
    notices = (*header.notices, *_duplicates(current))
    units = [_unit(slot) for slot in slots]
    # Translations into another language say nothing about ours.
    if not options.any_language and declares_other(header.values.get("Language", ""), options.target):
        units = [replace(unit, existing=None) for unit in units]
    return Document(path, units, _PoFile(decoded, header, layout(listed, decoded.text), slots), notices)


def _decode(path: Path, content: bytes) -> Decoded:
    """The text of a PO file in the charset of its header, which is before the second `msgid`."""
    second = content.find(b"\nmsgid", content.find(b"msgid") + 1)
    declared = _CHARSET.search(content, 0, second if second > 0 else len(content))
    charset = declared[1].decode("ascii") if declared else "UTF-8"
    if charset == "CHARSET":  # a template that nobody has filled in
        charset = "UTF-8"
    try:
        "a".encode(charset)
    except (LookupError, UnicodeError):
        line = content.count(b"\n", 0, declared.start(1) if declared else 0) + 1
        raise DataError(f"{path}:{line}: charset {charset} is unknown; name the one the file is saved in") from None
    return decode(path, content, charset.lower())


def _entries(path: Path, decoded: Decoded, listed: list[PoMessage]) -> list[tuple[PoMessage, polib.POEntry]]:
    """What polib reads of each message but the header. Raises DataError where it reads something else than is there."""
    try:
        entries = list(polib.pofile(str(path), encoding=decoded.encoding))
    except (OSError, ValueError) as error:
        line = re.search(r"line (\d+)", str(error))
        where = f"{path}:{line[1]}" if line else str(path)
        raise DataError(f"{where}: not a line of a PO file; check it with `msgfmt -c`") from None
    header = next((message for message in listed if message.is_header), None)
    pairs = list(zip((message for message in listed if message is not header), entries, strict=False))
    for message, entry in pairs:
        msgid = message.get("msgid")
        if msgid is None or polib.unescape("".join(msgid.raw)) != entry.msgid:
            raise DataError(f"{path}:{message.line}: cannot be read for certain; check it with `msgfmt -c`")
    if len(entries) != len(listed) - (header is not None):
        raise DataError(f"{path}: {len(listed)} messages, but {len(entries)} are read; check it with `msgfmt -c`")
    return pairs


def _duplicates(current: list[tuple[PoMessage, polib.POEntry]]) -> Iterator[str]:
    """What to tell of messages that are there twice: `msgfmt` refuses such a file."""
    first: dict[tuple[str | None, str], int] = {}
    for message, entry in current:
        key = (entry.msgctxt, entry.msgid)
        if key in first:
            yield f"line {message.line}: the same msgid as in line {first[key]}; msgfmt refuses it"
        first.setdefault(key, message.line)


def _slots(message: PoMessage, entry: polib.POEntry, rule: Plurals, update: bool) -> list[_MessageForms]:
    forms: list[tuple[str, tuple[int | None, ...]]]
    if not entry.msgid_plural:
        forms = [(entry.msgid, (None,))]
    else:
        # A form for several numbers needs the number, which the singular may lack: "one file", "%d files".
        alike = sorted(_DIRECTIVE.findall(entry.msgid)) == sorted(_DIRECTIVE.findall(entry.msgid_plural))
        singular = rule.singular if rule.only_one or alike else None
        forms = [] if singular is None else [(entry.msgid, (singular,))]
        forms.append((entry.msgid_plural, tuple(form for form in range(rule.count) if form != singular)))
    slots = [_MessageForms(message, entry, source, some) for source, some in forms if source.strip()]
    if update and not entry.fuzzy:
        return [slot for slot in slots if not all(slot.existing(form) for form in slot.forms)]
    return slots


def _unit(slot: _MessageForms) -> Unit:
    entry = slot.entry
    existing = next((text for form in reversed(slot.forms) if (text := slot.existing(form).strip())), None)
    source = numbered(slot.text, entry.flags)
    if existing and slot.accelerator:
        existing = without_accelerator(existing)
    return Unit(
        InlineText(source, protected=directives(source, entry.flags)),
        f"line {slot.message.line}",
        context="; ".join(" ".join(comment.split()) for comment in (entry.msgctxt, entry.comment) if comment),
        patterns=patterns(entry.flags),
        max_length=length_limit(f"{entry.comment}\n{entry.tcomment}"),
        existing=InlineText(numbered(existing, entry.flags)) if existing else None,
    )


def write(document: Document, translations: Translations, options: DocumentOptions, file: IO[bytes]) -> None:
    """The PO file with new `msgstr`s, and a header that names their language and plural rule."""
    skeleton: _PoFile = document.skeleton
    units: list[Unit] = list(document.units)
    splices: list[Splice] = []
    translated = zip(skeleton.slots, units, translations, strict=True)
    for _, group in groupby(translated, key=lambda entry: id(entry[0].message)):
        texts: dict[int | None, str] = {}
        mark = options.mark
        for slot, unit, translation in group:
            if translation is not None and (new := _texts(slot, unit, translation.text, options.update)):
                last, texts = slot, texts | new
                if not has_branches(unit.source.text) and not is_kept(
                    unit.source.text, translation.text, slot.entry.flags
                ):
                    mark = True
                    remark = f"{unit.location}: fuzzy, because a directive of its format is missing or moved"
                    document.remarks.append(remark)
        if texts:
            splices += _message_splices(last, texts, skeleton, replace(options, mark=mark))
    decoded = skeleton.decoded
    if splices:
        charset = None
        if not _encodable(splices, decoded.encoding):
            charset, decoded = "UTF-8", Decoded(decoded.text, "utf-8", decoded.mark)
        splices = header_splices(skeleton.header, decoded, charset, skeleton.layout.newline) + splices
    file.write(spliced(decoded, splices))


def _texts(slot: _MessageForms, unit: Unit, text: str, update: bool) -> dict[int | None, str]:
    """The new text of each form that changes, with the white space around the source's."""
    before, _, after = _SPACE.fullmatch(slot.source).groups()  # type: ignore[union-attr]  # it matches any text
    complete = update and not slot.entry.fuzzy
    same = unit.existing is not None and unit.existing.text == text
    text = unnumbered(text, slot.entry.flags, slot.source)
    if slot.accelerator:
        text = with_accelerator(text, slot.accelerator)
    return {form: before + text + after for form in slot.forms if not (slot.existing(form) and (complete or same))}


def _message_splices(
    slot: _MessageForms, texts: dict[int | None, str], skeleton: _PoFile, options: DocumentOptions
) -> list[Splice]:
    """What changes in the lines of one message."""
    message, text = slot.message, skeleton.decoded.text
    splices = _similar_splices(slot, skeleton, options)
    splices += _flag_splices(message, text, skeleton.layout.newline, options)
    fields = {field.index: field for field in message.forms}
    if None in texts or set(fields) == set(range(skeleton.header.plurals.count)):
        for form, translation in texts.items():
            field = fields[form]
            prefix = text[field.begin : field.quoted]
            quoted = skeleton.layout.quoted(prefix, polib.escape(translation))
            splices.append(Splice(field.quoted, field.end, quoted))
        return splices
    lines = []
    for form in range(skeleton.header.plurals.count):
        prefix = f"msgstr[{form}] "
        lines.append(prefix + skeleton.layout.quoted(prefix, polib.escape(texts.get(form, ""))))
    splices.append(Splice(message.forms[0].begin, message.forms[-1].end, skeleton.layout.newline.join(lines)))
    return splices


def _similar_splices(slot: _MessageForms, skeleton: _PoFile, options: DocumentOptions) -> list[Splice]:
    """Comments for the translator: translations of similar sources, as `# 83 %: source → translation`."""
    matches = options.similar(slot.text)
    if not matches:
        return []
    at = min([slot.message.fields[0].begin, *(begin for begin, _ in slot.message.comments)])
    text = skeleton.decoded.text
    known = {text[begin:end].strip().partition(" %: ")[2] for begin, end in slot.message.comments}
    pairs = ((match.score, f"{polib.escape(match.source)} → {polib.escape(match.target)}") for match in matches)
    lines = (f"# {score} %: {pair}{skeleton.layout.newline}" for score, pair in pairs if pair.strip() not in known)
    return [Splice(at, at, "".join(lines))]


def _flag_splices(message: PoMessage, text: str, newline: str, options: DocumentOptions) -> list[Splice]:
    """`fuzzy` set where translations are marked; cleared, with the previous msgid, where a guess was replaced."""
    flags = [(begin, end) for begin, end in message.comments if text.startswith("#,", begin)]
    fuzzy = [flag_line for flag_line in flags if re.search(r"\bfuzzy\b", text[slice(*flag_line)])]
    if options.mark and not fuzzy:
        if flags:
            return [Splice(flags[0][0] + 2, flags[0][0] + 2, " fuzzy,")]
        previous = [begin for begin, _ in message.comments if text.startswith("#|", begin)]
        at = min(previous, default=message.fields[0].begin)
        return [Splice(at, at, f"#, fuzzy{newline}")]
    if options.mark or not fuzzy:
        return []
    splices = []
    for begin, end in message.comments:
        line = text[begin:end]
        if (begin, end) in fuzzy:
            others = [flag for flag_line in line[2:].split(",") if (flag := flag_line.strip()) and flag != "fuzzy"]
            splices.append(Splice(begin, end, f"#, {', '.join(others)}{newline}" if others else ""))
        elif line.startswith("#|"):
            splices.append(Splice(begin, end, ""))
    return splices


def _encodable(splices: Sequence[Splice], encoding: str) -> bool:
    try:
        for splice in splices:
            splice.written.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
