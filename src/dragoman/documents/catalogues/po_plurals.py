"""How many plural forms a PO file has, and which of them is the singular.

The rules are gettext's habits, which are not those of CLDR. A rule is chosen by language or kept as the file has it;
its C expression is checked for its characters and copied, never evaluated.
"""

import re
from dataclasses import dataclass

from dragoman.text.words.language import primary_language

_RULE = re.compile(r"\s*nplurals\s*=\s*([1-9])\s*;\s*plural\s*=\s*([n0-9\s?:|&=!<>%+*/()-]+?)\s*;?\s*")

_ONE = "0"
_NOT_ONE = "(n != 1)"
_MORE_THAN_ONE = "(n > 1)"
_SLAVIC = "(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)"
_RULES = {
    "ja ko zh vi th id ms lo my km jv su dz bo ii kde": (1, _ONE),
    "en de nl sv da no nn fo es pt it bg el fi et he hu eo eu ca gl af sq az be-tarask bn fy gu hi ka kk ky kn ku lb "
    "ml mn mr ne or pa ps sw ta te tk tr ug ur uz yo zu am as ha ig so st xh": (2, _NOT_ONE),
    "fr pt-br oc ti wa ln mg br hy fil": (2, _MORE_THAN_ONE),
    "ru uk be sr hr bs": (3, _SLAVIC),
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
_ONLY_ONE = {
    "(n != 1)",
    _RULES["pl"][1],
    _RULES["cs sk"][1],
    _RULES["ro"][1],
    *(_RULES[language][1] for language in ["ga", "cy", "mt", "ar"]),
}


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
    known = _rule_of(target)
    match = _RULE.fullmatch(header)
    if match and (known is None or not language or primary_language(language) == primary_language(target)):
        count = int(match[1])
        if known is None or known[0] != count:  # the file's own habit
            return Plurals(count, 0 if count > 1 else None, False, None)
        rule = None
    else:
        count, rule = (known or (2, _NOT_ONE))[0], _written(known or (2, _NOT_ONE))
    expression = (known or (2, _NOT_ONE))[1]
    singular = None if count == 1 else 1 if primary_language(target) == "ar" else 0
    return Plurals(count, singular, expression in _ONLY_ONE, rule)


def _written(rule: tuple[int, str]) -> str:
    return f"nplurals={rule[0]}; plural={rule[1]};"


def is_known(target: str) -> bool:
    """Whether the plural rule of a language is in the table."""
    return _rule_of(target) is not None


def _rule_of(target: str) -> tuple[int, str] | None:
    return _BY_LANGUAGE.get(target.replace("_", "-").lower()) or _BY_LANGUAGE.get(primary_language(target))


def is_rule(header: str) -> bool:
    """Whether a `Plural-Forms` can be a rule: a number of forms, and an expression of `n`, numbers and operators."""
    return _RULE.fullmatch(header) is not None
