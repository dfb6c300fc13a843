"""The header entry of a PO file: its charset and plural rule, and the lines of it that a translation sets.

The plural rules are gettext's habits, which are not those of CLDR. A rule is chosen by language or kept as the file has
it; its C expression is checked for its characters and copied, never evaluated.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polib

from dragoman.documents.catalogues.po_lines import PoMessage
from dragoman.documents.core.splice import Decoded, Splice
from dragoman.errors import DataError
from dragoman.text.words.language import primary_language, same_language

# A number of forms, and an expression of `n`, numbers and operators.
_RULE = re.compile(r"\s*nplurals\s*=\s*([1-9])\s*;\s*plural\s*=\s*([n0-9\s?:|&=!<>%+*/()-]+?)\s*;?\s*")

_NOT_ONE = "(n != 1)"
_RULES = {
    "ja ko zh vi th id ms lo my km jv su dz bo ii kde": (1, "0"),
    "en de nl sv da no nn fo es pt it bg el fi et he hu eo eu ca gl af sq az be-tarask bn fy gu hi ka kk ky kn ku lb "
    "ml mn mr ne or pa ps sw ta te tk tr ug ur uz yo zu am as ha ig so st xh": (2, _NOT_ONE),
    "fr pt-br oc ti wa ln mg br hy fil": (2, "(n > 1)"),
    "ru uk be sr hr bs": (3, "(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)"),
    "pl": (3, "(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)"),
    "cs sk": (3, "(n==1 ? 0 : n>=2 && n<=4 ? 1 : 2)"),
    "lt": (3, "(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2)"),
    "lv": (3, "(n%10==1 && n%100!=11 ? 0 : n!=0 ? 1 : 2)"),
    "ro": (3, "(n==1 ? 0 : n==0 || (n%100>0 && n%100<20) ? 1 : 2)"),
    "sl": (4, "(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3)"),
    "mk is": (2, "(n%10==1 && n%100!=11 ? 0 : 1)"),
    "ga": (5, "(n==1 ? 0 : n==2 ? 1 : n<7 ? 2 : n<11 ? 3 : 4)"),
    "gd": (4, "(n==1 || n==11 ? 0 : n==2 || n==12 ? 1 : n>2 && n<20 ? 2 : 3)"),
    "cy": (4, "(n==1 ? 0 : n==2 ? 1 : n!=8 && n!=11 ? 2 : 3)"),
    "mt": (4, "(n==1 ? 0 : n==0 || (n%100>1 && n%100<11) ? 1 : n%100>10 && n%100<20 ? 2 : 3)"),
    "ar": (6, "(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5)"),
}
_BY_LANGUAGE = {language: rule for languages, rule in _RULES.items() for language in languages.split()}
# Languages in which the form of 1 is that of no other number.
_ONLY_ONE = {_BY_LANGUAGE[language][1] for language in ("en", "pl", "cs", "ro", "ga", "cy", "mt", "ar")}


@dataclass(frozen=True, slots=True)
class Plurals:
    """The plural forms of a file."""

    count: int
    singular: int | None
    """The form for 1; None if there is one form for all numbers."""
    only_one: bool
    """Whether that form is for no other number, so that its text need not have the number."""
    rule: str | None
    """The value of `Plural-Forms` to write; None: what the file has is kept."""


def plurals(header: str, language: str, target: str) -> Plurals:
    """The forms of a translation into `target` of a file whose header has this `Plural-Forms` and this `Language`."""
    known = rule_of(target)
    match = _RULE.fullmatch(header)
    is_own = match and (known is None or not language or primary_language(language) == primary_language(target))
    count, expression = known or (2, _NOT_ONE)
    if match and is_own and (known is None or count != int(match[1])):  # the file's own habit
        return Plurals(int(match[1]), 0 if match[1] != "1" else None, False, None)
    singular = None if count == 1 else 1 if primary_language(target) == "ar" else 0
    rule = None if is_own else f"nplurals={count}; plural={expression};"
    return Plurals(count, singular, expression in _ONLY_ONE, rule)


def rule_of(target: str) -> tuple[int, str] | None:
    """The plural rule of a language in the table: the number of forms and the expression."""
    return _BY_LANGUAGE.get(target.replace("_", "-").lower()) or _BY_LANGUAGE.get(primary_language(target))


# The value of a header line in the text of the file; long ones run over several quoted lines.
_VALUE = r"""(?:(?<=")|(?<=\\n)){key}:((?:[^"\\\r\n]|\\[^n\r\n]|"\s*\n\s*")*)\\n"""
_KEY = re.compile(r"[A-Z][A-Za-z-]+: ")
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


def header_of(path: Path, message: PoMessage | None, target: str, update: bool) -> PoHeader:
    """The header of a file, for a translation into `target`. Raises DataError if two of its lines are one."""
    for number, (raw, after) in enumerate(pairwise(message.forms[0].raw if message else ())):
        if message and _KEY.match(after) and raw and not raw.endswith("\\n"):
            line = message.forms[0].line + number
            raise DataError(f"{path}:{line}: a line of the header has no \\n at its end; add it")
    text = polib.unescape("".join(message.forms[0].raw)) if message else ""
    lines = [line.partition(":") for line in text.splitlines()]
    values = {key.strip(): value.strip() for key, _, value in lines}
    rule, language = values.get("Plural-Forms", ""), values.get("Language", "")
    forms = plurals(rule, language, target)
    notices = []
    if rule and not _RULE.fullmatch(rule):
        notices.append("its header has no valid Plural-Forms; that of the target language is written")
    if forms.rule and not rule_of(target):
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
    content_type = f"text/plain; charset={charset or decoded.encoding.upper()}"
    if header.message is None:
        lines = [
            "MIME-Version: 1.0",
            f"Content-Type: {content_type}",
            "Content-Transfer-Encoding: 8bit",
            f"Language: {header.language}",
            f"Plural-Forms: {header.plurals.rule}",
        ]
        quoted = [f'"{line}\\n"' for line in lines]
        return [Splice(0, 0, newline.join(['msgid ""', 'msgstr ""', *quoted, "", ""]))]
    wanted = {}
    if not same_language(header.values.get("Language", ""), header.language):
        wanted["Language"] = header.language
    if header.plurals.rule:
        wanted["Plural-Forms"] = header.plurals.rule
    content = header.values.get("Content-Type", "")
    if charset or content.partition("charset=")[2] in ("", "CHARSET"):
        wanted["Content-Type"] = content_type
    return _lines(header.message, decoded.text, wanted, newline) if wanted else []


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
