"""Long text → segments that a model can translate, and the separators between their translations.

Input: a line of normalised text. Output: segments whose concatenation, with their separators, is exactly that line.

A model translates best what it was trained on: mostly single sentences, none longer than `data.max_length` tokens.
Therefore

- a line of several sentences is split into sentences. Models trained on single sentences omit the second one: with a
  Multi30k model, two captions on one line had half the BLEU of the same captions translated one by one
  (`reproduce/segmentation.py`); longer lines are worse (Variš and Bojar 2021, "Sequence Length is a Domain");
- a line of up to a twentieth of that length, 10 tokens by default, stays whole: "Oh. Really?" is one utterance, occurs
  like this in training text, and its words mean little alone;
- a sentence longer than the limit is halved until its parts fit: at a clause, else at a space, else in a word.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sentencex

from dragoman.text.terms.symbols import is_inside_symbol
from dragoman.text.words.language import primary_language
from dragoman.text.words.words import CLOSING_QUOTES, joined

# A line of several sentences stays whole up to this fraction of the limit.
WHOLE_SHARE = 0.05
# In Korean a quotative follows a quotation, sometimes after a space: `"가자!" 하고 말했다.`
QUOTATIVE = re.compile("이?라(고|며|면서|는)|하(고|며|면서|는|던|더니|자|니|기에|길래|려|려고) |했")
# A year of a date in Korean, `2024. 3. 5.`, or the month behind the sign of a range: neither ends a sentence.
_DATE_BEGINS = re.compile(r"(?:(?<!\d)\d{4}|['’]\d\d|[~∼〜–-]\s?\d{1,2})\. $")
_DATE_CONTINUES = re.compile(r"\d{1,2}\.")
_HANGUL = re.compile("[가-힣]")
# The end of a Korean sentence that no space follows; `초.중.고`, `수요.공급` and `캐나다.미국` are lists.
_UNSPACED_END = re.compile(
    r"[가-힣](?:(?:(?<![나바])다|(?<![수필중주소동민개토월화목금일])요|죠|까|시오)\."
    r"|(?:다|요|죠|까|오|지|네|나|자|라|어|아|해|래)[!?])$"
)
# What follows a quotation or a title without a space, and belongs to it: `잊으셨나요?를`, `가자!라고`.
_ATTACHED = re.compile(
    r"이?라(?:[고며면는]|던)|이?란\s|하(?:고|며|면서|는|던)\s|냐[고는]|했"
    r"|(?:[을를은는의]|에|에서|으?로|[와과]|도)\s"
)
# The end of a clause or a sentence: before a space, or after full-width punctuation, which needs no space.
CLAUSE = re.compile(r"[,;:.!?،؛؟।–—][\"'”’»)\]]*\s|[、，；：。！？][”’」』》）]*\s?")
# A cut within a word moves by at most this many characters to keep a letter and its combining marks together.
CLUSTER = 32

# Abbreviations at which sentencex divides: before a name, and before a small letter or a digit. Those in capitals are
# written so: `Sat.` is a day, and "sat." ends a sentence. Any language has some of a letter.
_TITLES = {
    "en": frozenset(["Ms", "Mx", "Mmes", "Assoc", "Atty", "Br", "Ft", "Amb", "Treas", "Ald", "Engr"]),
    "fr": frozenset(["M", "MM", "Mme", "Mlle", "Mmes", "Mgr", "Me", "Pr", "Dr", "Drs", "Dre", "Prof", "St", "Ste"]),
    "es": frozenset(["D", "Dña", "Cnel", "Tte", "Mons"]), "ru": frozenset(["Им", "д-р", "Д-р"]),
}  # fmt: skip
_SHORTENED = {
    "en": frozenset([
        "approx", "esp", "incl", "excl", "max", "vol", "ch", "eq", "eqn", "sect", "para", "figs", "ed", "eds", "est",
        "tbsp", "tsp", "lbs", "yr", "yrs", "wks", "hrs", "mins", "secs", "avg", "qty", "tel", "apt", "rm", "rte",
        "Mon", "Tue", "Tues", "Wed", "Thu", "Thur", "Thurs", "Fri", "Sat", "Sun",
    ]),
    "nl": frozenset(["bijv", "bv"]), "it": frozenset(["es"]), "pl": frozenset(["np", "in", "tzw", "tj"]),
    "pt": frozenset(["ex"]), "es": frozenset(["ej", "aprox"]), "fr": frozenset(["ex", "env", "suiv", "min", "max"]),
    "ru": frozenset(["рис", "табл", "гл"]),
}  # fmt: skip
# Ordinal numbers with a full stop, by the words before them: `im 20. Jahrhundert`.
_ORDINALS = {
    "de": re.compile(
        r"\b(?:d(?:er|ie|as|en|em|es)|im|am|zum|zur|vom|beim|(?:[mds]ein|ihr|unser)(?:e[mnrs]?)?)\s"
        r"(?:\d{1,2}\.\s(?:und|oder|bis)\s)?\d{1,2}\.\s?$",
        re.IGNORECASE,
    )
}
# Behind a title is a name, and behind an ordinal a noun. These begin a sentence, and what was before ends one.
_STARTS = {
    "fr": re.compile(
        r"(?:Il|Elle|Ils|Elles|On|Je|Tu|Nous|Vous|Le|La|Les|Un|Une|Des|Ce|Cette|Ces|Mais|Et|Puis)\b|[LJCD]['’]"
    ),
    "es": re.compile(
        r"(?:Él|Ella|Ellos|Ellas|Yo|Tú|Se|No|El|La|Los|Las|Un|Una|Es|Son|En|Y|Pero|Si|Sí|Este|Esta|Eso|También)\b"
    ),
    "de": re.compile(
        r"(?:Ich|Du|Er|Sie|Es|Wir|Ihr|Man|Der|Die|Das|Ein|Eine|Und|Aber|Doch|Dann|Danach|Da|Dort|Hier|Heute|Jetzt|In|Im|Am"
        r"|Auf|Bei|Mit|Nach|Von|Vor|Seit|Für|Wenn|Dies\w*)\b"
    ),
}

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a line, and the separator between it and the next part: a space or nothing."""

    text: str
    separator: str

    @classmethod
    def of(cls, part: str) -> "Segment":
        return cls(part.rstrip(" "), " " if part.endswith(" ") else "")


def divide(text: str, language: str, longest: int, count: Count) -> list[str]:
    """The parts of a line of normalised text, each of up to `longest` tokens as counted by `count`.

    Each but the last has the space after it, if there is one.

    `language` (BCP-47) selects the rules for the ends of sentences; sentencex uses English rules for languages that it
    does not know. Only a single character of more than `longest` tokens is a longer segment.
    """
    return [part for sentence in sentences(text, language) for part in _fitting(sentence, longest, count)]


def sentences(text: str, language: str) -> list[str]:
    """The sentences of a text, each with the space after it: by sentencex, with quotations and numbers rejoined."""
    groups: list[list[str]] = []
    before = ""
    for part in sentencex.segment(primary_language(language), text):
        is_abbreviated = bool(groups) and _is_abbreviated(before, part, language)
        if groups and (is_abbreviated or _continues(before, part)):
            groups[-1].append(part)
        else:
            groups.append([part])
        before = before[-CLUSTER:] + part if is_abbreviated else part  # `ch. 3. ` ends a sentence, and `3. ` none
    if len(groups) > 1 and not _has_letters("".join(groups[-1])):
        last = groups.pop()
        groups[-1] += last
    return ["".join(group) for group in groups]


def separator(source: Segment, translation: str) -> str:
    """The separator between the translation of `source` and the next: that of the source.

    If the source has no space after a clause, as in Chinese and Japanese, a translation into a language with spaces
    gets one. There is none where a word was cut.
    """
    if source.separator or not translation:
        return source.separator
    cut_word = source.text[-1:].isalnum() and not _wide(source.text[-1])
    return "" if cut_word or _wide(translation[-1]) else " "


def _continues(before: str, after: str) -> bool:
    """Whether sentencex split text that belongs together: a quotation and its speaker, or a number and its noun."""
    if not _has_letters(before):
        return True
    end = before.rstrip(" ")
    if end != before:
        return (end[-1] in CLOSING_QUOTES and bool(QUOTATIVE.match(after))) or _is_date(before, after)
    if _UNSPACED_END.search(before) and _HANGUL.match(after) and not _ATTACHED.match(after):
        return False
    # A letter right after a quotation (`"가자!"라고`, `「行こう！」と`, `“走吧！”然后`) or a stop (`file.BAK`).
    return after[0].isalnum() and end[-1] in CLOSING_QUOTES + ".!?"


def _is_date(before: str, after: str) -> bool:
    """Whether sentencex split a date in Korean: `2024. 1. 1.부터`, `5. 1.(월) ~ 5. 31.(수)`."""
    return bool(_DATE_BEGINS.search(before) and _DATE_CONTINUES.match(after) and _HANGUL.search(before))


def _is_abbreviated(before: str, after: str, language: str) -> bool:
    """Whether sentencex split behind an abbreviation or an ordinal: `c. à d.`, `J.-C.`, `M. Dupont`, `im 20. Jahr`."""
    if not before.rstrip(" ").endswith("."):
        return False
    if before[-1] == "." and after[0] == "-":
        return bool(re.search(r"(?<![^\W\d_])[^\W\d_]\.$", before))
    word = before.rstrip(" ").rpartition(" ")[2].rstrip(".").lstrip("(\"'«“‘[-")
    tag = primary_language(language)
    is_start = tag in _STARTS and bool(_STARTS[tag].match(after))
    if tag in _ORDINALS and word.isdigit():
        return bool(_ORDINALS[tag].search(before)) and not is_start
    if word in _TITLES.get(tag, ()):
        return not is_start and not re.search(r"\d\s\w+\.\s*$", before)
    if not {word, word.casefold()}.isdisjoint(_SHORTENED.get(tag, ())):
        return after[0].islower() or after[0].isdigit()
    return after[0].islower() and all(len(part) == 1 and part.isalpha() for part in re.split("[.-]+", word))


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


def _fitting(text: str, longest: int, count: Count) -> Iterator[str]:
    if len(text.rstrip(" ")) < 2 or count(text) <= longest:
        yield text
        return
    position = _cut(text)
    yield from _fitting(text[:position], longest, count)
    yield from _fitting(text[position:], longest, count)


def _cut(text: str) -> int:
    """The position of the cut, in the middle half: after a clause, else after a space, else within a word."""
    middle, low, high = len(text) // 2, len(text) // 4, len(text) - len(text) // 4
    ends = [match.end() for match in CLAUSE.finditer(text, low, high)]
    ends = ends or [match.end() for match in re.compile(" ").finditer(text, low, high)]
    ends = [end for end in ends if 0 < end < len(text) and text[end] != " "]
    return min(ends, key=lambda end: abs(end - middle)) if ends else _between_characters(text, middle)


def _between_characters(text: str, position: int) -> int:
    """The first position from `position` on that divides no joined characters and no symbol, unless far away."""
    for end in range(position, min(position + CLUSTER, len(text))):
        if text[end] != " " and not joined(text[end - 1], text[end]) and not is_inside_symbol(text, end):
            return end
    return position


def _wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in ("W", "F")
