"""The header entry of a PO file: its charset and plural rule, and the lines of it that a translation sets."""

import re
from dataclasses import dataclass

import polib

from dragoman.documents.catalogues.po_lines import PoMessage
from dragoman.documents.catalogues.po_plurals import Plurals, is_known, is_rule, plurals
from dragoman.documents.core.splice import Decoded, Splice
from dragoman.text.words.language import same_language

# The value of a header line in the text of the file; long ones run over several quoted lines.
_VALUE = r"""(?:(?<=")|(?<=\\n)){key}:((?:[^"\\\r\n]|\\[^n\r\n]|"\s*\n\s*")*)\\n"""
_LANGUAGES = {"zh-hant": "zh_TW", "zh-hans": "zh_CN", "sr-latn": "sr@latin", "uz-cyrl": "uz@cyrillic"}


@dataclass(frozen=True, slots=True)
class PoHeader:
    """The header entry, if the file has one, and what it means for a translation into the target."""

    message: PoMessage | None
    values: dict[str, str]
    language: str
    """The target, as PO files name it."""
    plurals: Plurals
    notices: tuple[str, ...]


def header_of(message: PoMessage | None, target: str, update: bool) -> PoHeader:
    """The header of a file, for a translation into `target`."""
    text = polib.unescape("".join(message.forms[0].raw)) if message else ""
    lines = [line.partition(":") for line in text.splitlines()]
    values = {key.strip(): value.strip() for key, _, value in lines}
    rule, language = values.get("Plural-Forms", ""), values.get("Language", "")
    forms = plurals(rule, language, target)
    notices = []
    if rule and not is_rule(rule):
        notices.append("its header has no valid Plural-Forms; that of the target language is written")
    if forms.rule and not is_known(target):
        notices.append(f"the plural rule of {target} is not known: {forms.rule} is written; check it")
    if update and language and not same_language(language, target):
        notices.append(f"its header names the language {language}: what it has is kept as if it were {target}")
    return PoHeader(message, values, _gettext_name(target), forms, tuple(notices))


def _gettext_name(tag: str) -> str:
    """A BCP-47 tag as gettext writes it: "pt-BR" is "pt_BR"."""
    parts = tag.replace("_", "-").split("-")
    if special := _LANGUAGES.get("-".join(parts[:2]).lower()):
        return special
    region = next((part.upper() for part in parts[1:] if len(part) == 2 or part.isdigit()), "")
    return f"{parts[0].lower()}_{region}" if region else parts[0].lower()


def header_splices(header: PoHeader, decoded: Decoded, charset: str | None, newline: str) -> list[Splice]:
    """What the header of a translated file changes; `charset` is given where that of the file cannot write it."""
    if header.message is None:
        lines = [
            "MIME-Version: 1.0",
            f"Content-Type: text/plain; charset={charset or _charset_name(decoded)}",
            "Content-Transfer-Encoding: 8bit",
            f"Language: {header.language}",
            f"Plural-Forms: {header.plurals.rule}",
        ]
        quoted = [f'"{line}\\n"' for line in lines]
        return [Splice(0, 0, newline.join(['msgid ""', 'msgstr ""', *quoted, "", ""]))]
    wanted = {}
    language = header.values.get("Language", "")
    if not same_language(language, header.language):
        wanted["Language"] = header.language
    if header.plurals.rule:
        wanted["Plural-Forms"] = header.plurals.rule
    content = header.values.get("Content-Type", "")
    if charset or content.partition("charset=")[2] in ("", "CHARSET"):
        wanted["Content-Type"] = f"text/plain; charset={charset or _charset_name(decoded)}"
    return _lines(header.message, decoded.text, wanted, newline) if wanted else []


def _charset_name(decoded: Decoded) -> str:
    return decoded.encoding.upper()


def _lines(message: PoMessage, text: str, wanted: dict[str, str], newline: str) -> list[Splice]:
    """Header lines replaced where they are, or added after the last one."""
    field = message.forms[0]
    raw = text[field.quoted : field.end]
    splices, added = [], []
    for key, value in wanted.items():
        if match := re.search(_VALUE.format(key=re.escape(key)), raw):
            splices.append(Splice(field.quoted + match.start(1), field.quoted + match.end(1), f" {value}"))
        else:
            added.append(f'{newline}"{key}: {value}\\n"')
    if added:
        joined = "".join(field.raw)
        open_line = joined and not joined.endswith("\\n")
        splices.append(Splice(field.end, field.end, (f'{newline}"\\n"' if open_line else "") + "".join(added)))
    for begin, end in message.comments:
        if re.fullmatch(r"#,\s*fuzzy\s*", text[begin:end]):
            splices.append(Splice(begin, end, ""))
    return sorted(splices, key=lambda splice: splice.begin)
