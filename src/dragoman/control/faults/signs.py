"""Signs and foreign words that a translation loses or makes up: currency, degrees, ticks, arrows; `مرحبا` in English.

A sign is there as itself, in another form (`％` is `%`), as a sign that is written for it elsewhere, or in words. Signs
that languages use differently (dashes, `·`, `~`, `&`, usual quotation marks) say nothing. Of quotation marks that are
chosen (`«»`, `„“`, `「」`) a translation has as many pairs, of any kind.

U+FFFD is what is left of bytes that are no character: a translation never has it unless its source has.

A word in letters that its language does not use is copied: a model that does not know it invents one. What a Korean
translation has in Latin letters is in its English source.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from dragoman.text.terms.protect import COMMAND, DASHED_WORDS
from dragoman.text.words.amounts import find_amounts

REPLACEMENT = "\ufffd"
# Signs for which there are words (English and Korean, in lower case), and others that are written for them.
_WORDS = {
    "%": "percent|per cent|percentage|pct|퍼센트|프로(?![그젝세필토])|\\d\\s?[할푼](?!인)|백분율|반값|절반",
    "‰": "per mille|per mil|per thousand|퍼밀|천분율",
    "$": "dollars?|bucks?|usd|달러|\\d\\s?불",
    "€": "euros?|eur|유로",
    "£": "pounds?|quid|gbp|sterling|파운드",
    "¥": "yen|yuan|jpy|cny|rmb|renminbi|\\d\\s?엔|위안|円|元",
    "₩": "won|krw|[\\d만천백억조]\\s?원",
    "¢": "cents?|센트",
    "°": "degrees?|\\d\\s?도|celsius|fahrenheit|섭씨|화씨|℃|℉|º|˚|deg",
    "℃": "°|º|degrees?|celsius|도|섭씨",
    "℉": "°|º|degrees?|fahrenheit|도|화씨",
    "№": "no\\.|number|nr|#|번|호|번호|제",
    "§": "section|sections|sec\\.|article|절|조|항|섹션|장",
    "¶": "paragraph|paragraphs|para|단락|문단|항",
    "©": "\\(c\\)|copyright|저작권",
    "®": "\\(r\\)|registered|등록",
    "™": "\\(tm\\)|trademark|상표|tm",
    "½": "half|halves|1[/⁄]2|0\\.5|\\b반\\b|절반|2분의",
    "¼": "quarters?|1[/⁄]4|0\\.25|4분의|사분의",
    "¾": "three[ -]quarters?|3[/⁄]4|0\\.75|4분의|사분의",
    "²": "squared?|제곱|평방|\\^2|m2|㎡|㎢|2",
    "³": "cubed?|cubic|세제곱|입방|\\^3|m3|㎥|3",
    "㎡": "m²|m\\^2|square met(?:er|re)s?|sq\\.? ?m|sqm|(?:제곱|평방) ?미터",
    "㎢": "km²|km\\^2|square kilomet(?:er|re)s?|sq\\.? ?km|(?:제곱|평방) ?킬로미터",
    "㎥": "m³|m\\^3|cubic met(?:er|re)s?|(?:세제곱|입방) ?미터",
    "㎞": "kilomet(?:er|re)s?|킬로(?:미터)?",
    "㎝": "centimet(?:er|re)s?|센티(?:미터)?",
    "㎜": "millimet(?:er|re)s?|밀리(?:미터)?",
    "㎏": "kilo(?:gram(?:me)?)?s?|킬로(?:그램)?",
    "㎎": "milligram(?:me)?s?|밀리그램",
    "㎖": "millilit(?:er|re)s?|밀리(?:리터)?",
    "ℓ": "lit(?:er|re)s?|리터",
    "㏊": "hectares?|헥타르",
    "㎾": "kilowatts?|킬로와트",
    "㏄": "cubic centimet(?:er|re)s?|시시",
    "㎍": "micrograms?|마이크로그램",
    "㈜": "co|ltd|inc|corp(?:oration)?|llc|company|주식회사",
    "^": "[:;=]-?[)d]|\\(:|²|³|squared|powers?|제곱|승",
    "×": "x|\\*|times|by|multipl\\w+|곱\\w*|배",
    "÷": "/|divid\\w+|나누\\w*|나눗\\w*",
    "±": "\\+/-|plus or minus|give or take|플러스마이너스|오차|내외",
    "≤": "<=|at most|less than or equal\\w*|up to|no more|이하|작거나",
    "≥": ">=|at least|greater than or equal\\w*|or more|이상|크거나",
    "≠": "!=|not equal\\w*|unequal|같지|다르",
    "≈": "~|about|approx\\w*|around|roughly|약|대략|근사",
    "∞": "infinit\\w+|무한\\w*",
    "√": "(?:square )?roots?|제곱근|루트",
    "π": "pi|파이|원주율",
    "→": "->|=>|⇒|➔|➜|▶|to|>|arrow|화살표|에서",
    "←": "<-|⇐|arrow|화살표",
    "↑": "up|arrow|위|화살표",
    "↓": "down|arrow|아래|화살표",
    "•": "·|\\*|-|–|—|▪|●|ㆍ|∙|◦|‣",
    "✓": "✔|☑|√|check\\w*|ticks?|체크",
    "✔": "✓|☑|√|check\\w*|ticks?|체크",
    "@": "at|골뱅이|앳",
    "#": "number|no\\.|hash\\w*|sharp|번|호|해시|샵|우물|№",
    "=": "equals?|is|같\\w*|등호",
    "+": "plus|and|more|over|positive|added?|increas\\w+|boost\\w*|gains?|bonus|"
    "플러스|더하\\w*|이상|및|양수|증가|늘[어었렸리린]|상승|추가|보너스",
    "*": "×|·|•|asterisk|stars?|별표|별",
    "♪": "♫|♬|♩",
    "♫": "♪|♬|♩",
}
# Of these a translation has as many as its source; of the others it may have several for one, or a word.
_COUNTED = frozenset("★☆✓✔✗✘●○■□◆◇▲△▼▽♥♡♪♫")
_ASCII = r"%$@#=+*{}|\^\\"
_OTHERS = "\u00a1-\u00a7\u00a9\u00ac\u00ae\u00b0-\u00b3\u00b6\u00b9\u00bc-\u00be\u00d7\u00f7\u0152\u2020-\u2022\u2030"
_BLOCKS = "\u2070-\u209c\u20a0-\u20c0\u2100-\u214f\u2150-\u2189\u2190-\u23ff\u2460-\u26ff\u2701-\u27bf\u2900-\u2bff"
_WIDE = "\u3004\u3012\u3200-\u33ff\uff03-\uff05\uff0a\uff0b\uff1d\uff20\uffe0-\uffe6\ufffd"
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,3}(?=[^\s*])([^*\n]{1,200}?)(?<=[^\s*])\*{1,3}(?![*])")
# Quotation marks that people choose: a translation has as many pairs, of any kind. Usual ones come and go.
_QUOTES = "\u00ab\u2039\u201e\u300c\u300e\u300a\u3008"
# What ends a quotation; `"` and “ also begin one.
_CLOSING = '"\u201c\u201d\u00bb\u203a\u300d\u300f\u300b\u3009'
_ANY_QUOTE = re.compile(
    rf"[\"\u201c\u201d\u201f\u00bb\u203a\u300d\u300f\u300b\u3009{_QUOTES}]"
    r"|(?<!\w)['\u2018\u201a]\b|(?<=[\w.!?…,])['\u2019](?!\w)|(?<!\w)[*_]+\b|(?<=[\w.!?…,])[*_]+(?!\w)"
)
SIGN = re.compile(f"[{_ASCII}{_OTHERS}{_BLOCKS}{_WIDE}{_QUOTES}]")


# Latin letters of a unit or an abbreviation, at most.
SHORT = 4
_JOINTS = re.compile(r"[\W_]+")
_UNITS = frozenset([
    "nm", "mm", "cm", "km", "ft", "mg", "kg", "oz", "lb", "ml", "cl", "dl", "kb", "mb", "gb", "tb", "kw", "mw", "hz",
    "khz", "mhz", "ghz", "cal", "kcal", "mph", "kph", "ns", "ms", "sec", "min", "px",
])  # fmt: skip
# Letters of the languages whose words are known; a word of two letters or more in others is foreign.
_LETTERS = {"en": "A-Za-z\u00c0-\u024f", "ko": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af\u3400-\u9fff\uf900-\ufaff"}
FOREIGN = {language: re.compile(rf"[^\W\d_{letters}]{{2,}}") for language, letters in _LETTERS.items()}


def differing_words(source: str, text: str, languages: tuple[str, str]) -> tuple[Counter[str], Counter[str]]:
    """The foreign words that a translation lacks and makes up; both texts are without placeholders."""
    sides = zip(languages, (source, text), strict=True)
    ours, theirs = (
        [word for word in FOREIGN[tag].findall(side) if not (_is_short(word) or _is_raised(word))]
        for tag, side in sides
    )
    if not ours and not theirs:
        return Counter(), Counter()
    source, text = (unicodedata.normalize("NFKC", side).casefold() for side in (source, text))
    return _not_in(ours, text), _not_in(theirs, source)


def _is_there(word: str, folded: str, joined: str) -> bool:
    """Whether a text has a word, with other spaces (`HuggingFace`), or its singular: `URLs` is `URL` in Korean."""
    if word in folded or (word[-1] == "s" and len(word) >= SHORT and word[:-1] in folded):
        return True
    return word in joined


def _is_short(word: str) -> bool:
    """Units and abbreviations (`km`, `TV`, `CCTV`): one language has a word where the other has letters."""
    singular = word[:-1] if word[-1] == "s" and word[:-1].isupper() else word
    return singular.isascii() and len(singular) <= SHORT and (singular.isupper() or singular.casefold() in _UNITS)


def _is_raised(word: str) -> bool:
    """Latin letters above the line, the ending of an ordinal: `9ᵗʰ`."""
    return not word.isascii() and unicodedata.normalize("NFKC", word).isascii()


def _not_in(words: list[str], folded: str) -> Counter[str]:
    joined = _JOINTS.sub("", folded) if words else ""
    usual = ((word, n, unicodedata.normalize("NFKC", word).casefold()) for word, n in Counter(words).items())
    return Counter({word: n for word, n, form in usual if not _is_there(form, folded, joined)})


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# Units behind a number, and their names.
_MEASURES = {
    "km|km/h|kph": "킬로|시속|kilomet|km", "cm": "센티|centimet", "mm": "밀리|millimet|미리", "kg": "킬로|kilo",
    "mg": "밀리|milligram", "lbs?": "파운드|pound|lb", "oz": "온스|ounce", "ft": "피트|feet|foot",
    "mph": "마일|mile|시속", "ml": "밀리|milli|cc", "gb": "기가|gig", "mb": "메가|mega", "kb": "킬로바이트|kilobyte",
    "tb": "테라|tera", "[kmg]?hz": "헤르츠|hertz", "kwh?": "킬로와트|kilowatt", "ms": "밀리초|millisec",
    "px": "픽셀|pixel", "rpm": "분당|알피엠|회전|revol", "fps": "프레임|frame", "db": "데시벨|decibel",
    "kcal": "칼로리|calor", "[kmg]bps": "메가|기가|킬로|mega|giga|kilo", "ha": "헥타르|hectare", "yds?": "야드|yard",
    "secs?": "초|second",
}  # fmt: skip
# Units of one small letter, behind a space but for `30g`: `5G` and `1990s` are other words. Capitals are sizes, wins
# and the west, and an `h` may be the hour of a clock.
_SHORT_MEASURES = {"g": "그램|gram", "s": "초|sec|잠깐|년대", "l": "리터|lit"}
_SHORT_MEASURE = re.compile(r"(?<![\d.,$€£¥₩A-Za-z-])(\d+(?:[.,]\d+)*)(?:\s([gsl])|(g))(?![\w'’/-])")
# Inches, where no quotation ends, points of percentages, a measure of floors in Korea, and currencies in words.
_DIGITS = r"(?<![\d.,/])(?P<number>\d++(?:[.,]\d++)*+)"
_NO_YEAR = rf"(?!(?:19|20)\d\d(?![\d.,])){_DIGITS}"
_NAMED_AMOUNTS = (
    (re.compile(rf'^[^"]*?{_NO_YEAR}(?P<sign>")(?![\w"])[^"]*$'), '["″”]|인치|inch'),
    (
        re.compile(rf"{_DIGITS}\s?(?P<sign>(?:%|퍼센트|percentage|per cent)\s?(?:포인트|points?)|%p\b)"),
        r"포인트|point|%p|\bpp\b|\bbps?\b",
    ),
    (
        re.compile(rf"{_NO_YEAR}\s?(?P<sign>평)(?=형|짜리|대|남짓|정도|[은을이에의]?(?![가-힣]))"),
        r"py[eou]+ng|square|\bsq\b|m2",
    ),
    (re.compile(rf"{_DIGITS}\s?(?P<sign>dollars?|bucks|달러)"), r"달러|불|\$|dollar|buck|usd"),
    (re.compile(rf"{_DIGITS}\s?(?P<sign>euros?\b|유로(?![가-힣]))"), "유로|euro|€|eur"),
    (re.compile(rf"{_DIGITS}\s?(?P<sign>quid\b(?! pro)|pounds sterling\b)"), "파운드|£|pound"),
    (re.compile(rf"{_NO_YEAR}\s?(?P<sign>yen\b|엔(?=[을은이의.,!?]|$)|(?<=\d\d\d)엔(?= ))"), "엔|yen|[¥円]|jpy"),
    (re.compile(rf"{_DIGITS}\s?(?P<sign>yuan\b|위안(?![부소에]))"), "위안|yuan|[¥元]|rmb|cny|renminbi"),
    (re.compile(rf"{_DIGITS}(?P<sign>(?<=\d\d\d)원(?=\s)|원(?=[을은이에의.,!?]|$))"), "won|₩|krw"),
)
# Dollars of other countries, and other currencies by their codes, next to a number; what says so elsewhere.
_CURRENCIES = {
    "A\\$|AU\\$|AUD": "호주|오스트레일리아|australia|aussie|A\\$|AUD?", "C\\$|CA\\$|CAD": "캐나다|canad|C\\$|CAD?",
    "HK\\$|HKD": "홍콩|hong|HK", "NT\\$|TWD": "대만|타이완|taiwan|NT|TWD", "NZ\\$|NZD": "뉴질랜드|zealand|NZ",
    "S\\$|SGD": "싱가[포폴]|singapore|S\\$|SG", "R\\$|BRL": "헤알|레알|레아이스|브라질|reai|real|R\\$|BRL",
    "MX\\$|MXN": "멕시코|페소|mexic|peso|MX", "CHF": "프랑|franc|CHF", "PLN|zł": "즐로티|즈워티|zlot|PLN|zł",
    "INR": "루피|rupee|₹|INR", "THB": "바트|밧|baht|฿|THB", "VND": "동|dong|₫|VND", "RUB": "루블|r[ou]+ble|₽|RUB",
    "SEK|NOK|DKK": "크로[나네너]|kron|SEK|NOK|DKK", "EUR": "유로|euro|€|EUR", "GBP": "파운드|pound|£|GBP|sterling",
    "JPY": "엔|yen|¥|￥|JPY", "CNY|RMB": "위안|yuan|¥|￥|元|CNY|RMB|renminbi", "KRW": "원|won|₩|KRW",
    "USD": "달러|dollar|\\$|USD|불", "PHP": "페소|peso|₱|PHP", "IDR": "루피아|rupiah|IDR",
}  # fmt: skip
_CODES = "|".join(sorted("|".join(_CURRENCIES).split("|"), key=len, reverse=True))
_CURRENCY = re.compile(
    rf"(?<![A-Za-z$])({_CODES})\s?(\d+(?:[.,]\d+)*)|(?<![\d.,])(\d+(?:[.,]\d+)*)\s?({_CODES})(?![A-Za-z])"
)
_MEASURE = re.compile(
    rf"(?<![\d.,])(\d+(?:[.,]\d+)*)\s?({'|'.join(sorted(_MEASURES, key=len, reverse=True))})(?![A-Za-z/])",
    re.IGNORECASE,
)
# Halves of a day with an hour, and what says so elsewhere; hours from 13 on, or with minutes, need none.
_HALVES_OF_DAY = {
    "p.m.": (
        re.compile(r"(?<!\d)(\d{1,2})(?::\d\d)?\s?p\.?\s?m\b|오후\s?(\d{1,2})", re.IGNORECASE),
        re.compile(
            r"\bp\.?\s?m\b|\dp\.?m\b|\b(?:afternoon|evening|night|tonight|noon|midday|dinner)|오후|저녁|밤|낮|정오|자정|점심",
            re.IGNORECASE,
        ),
    ),
    "a.m.": (
        re.compile(
            r"(?<!\d)(\d{1,2})(?::\d\d)?\s?a\.?\s?m\b(?!\s(?:i|we|you|he|she|they)\b)|오전\s?(\d{1,2})", re.IGNORECASE
        ),
        re.compile(
            r"\ba\.?\s?m\b|\da\.?m\b|\b(?:morning|dawn|midnight|night|early|overnight)|오전|아침|새벽|자정|밤",
            re.IGNORECASE,
        ),
    ),
}
_WHOLE_DAY = re.compile(r"\d:\d\d|(?<!\d)(?:1[3-9]|2[0-4])\s?(?:시|h\b|o['’]clock)")
_OTHER_HALF = {"p.m.": "a.m.", "a.m.": "p.m."}

# Units that a translation takes for each other, in English and Korean.
_RIVALS: tuple[dict[str, str], ...] = (
    {
        "second": "(?i:seconds?|secs?)|초(?![반기])", "minute": "(?i:minutes?|mins?)|분(?![의기])",
        "hour": "(?i:hours?|hrs?)|시간", "day": "(?i:days?)|일(?![월요])", "month": "(?i:months?)|개월|달(?!러)",
        "week": "(?i:weeks?|wks?)|주(?:일|간)?(?![년차의])", "year": "(?i:years?|yrs?)|개?년|주년",
    },
    {
        "km": "km|(?i:kilomet(?:er|re)s?)|킬로미터|킬로(?![가-힣])", "m": r"m(?!\d)|(?i:met(?:er|re)s?)|미터",
        "cm": "cm|(?i:centimet(?:er|re)s?)|센티", "mile": "(?i:miles?)|마일", "foot": "(?i:feet|foot|ft)|피트",
    },
    {
        "kg": "kg|(?i:kilo(?:gram(?:me)?)?s?)|킬로그램|킬로(?![가-힣])", "g": "g|(?i:gram(?:me)?s?)|그램",
        "mg": "mg|(?i:milligram(?:me)?s?)|밀리그램", "pound": "(?i:pounds?|lbs?)|파운드",
        "ton": "(?i:tons?|tonnes?)|톤",
    },
    {
        "won": "[Ww]on|₩|원", "dollar": r"(?i:dollars?|bucks?|usd)|\$|달러|불", "euro": "(?i:euros?)|€|유로",
        "yen": "(?i:yen)|엔", "yuan": "(?i:yuan|rmb)|위안",
    },
)  # fmt: skip
_RIVAL_UNITS = tuple(
    re.compile(rf"{_DIGITS}[\s-]?(?:{'|'.join(f'(?P<{unit}>{names})' for unit, names in units.items())})(?![A-Za-z])")
    for units in _RIVALS
)
_SIGN_BEFORE = re.compile(r"([$€₩])\s?(\d++(?:[.,]\d++)*+)")


def _swapped_units(source: str, text: str) -> Iterator[str]:
    """The units of numbers that a translation has with another of their kind, and that it has nowhere else."""
    source, text = (_SIGN_BEFORE.sub(r"\2\1", side) for side in (source, text))
    for units, pattern in zip(_RIVALS, _RIVAL_UNITS, strict=True):
        ours, theirs = (_units_of_numbers(pattern, side) for side in (source, text))
        lost = {
            unit: sign
            for number in ours.keys() & theirs.keys()
            for unit, sign in ours[number].items()
            if theirs[number].keys() - ours[number].keys() and unit not in theirs[number]
        }
        for unit, sign in lost.items():
            if not re.search(rf"(?<![A-Za-z가-힣])(?:{units[unit]})(?![A-Za-z])", text):
                yield sign


def _units_of_numbers(pattern: re.Pattern[str], text: str) -> dict[str, dict[str, str]]:
    """The units of each number of a text in digits, by their names, as they are written."""
    units: dict[str, dict[str, str]] = {}
    for match in pattern.finditer(text):
        unit = match.lastgroup or ""
        units.setdefault(match["number"].replace(",", ""), {})[unit] = match[unit]
    return units


# Round sums of money in Korean words, and what they are in English: `만 원` is no ten won.
_SUMS = {
    "백": r"hundred(?![ -]thousand)|(?<![\d,])100(?![\d,])",
    "천": r"(?<!ten[ -])(?<!hundred[ -])thousand|(?<![\d,])1,?000(?![\d,])",
    "만": r"ten[ -]thousand|(?<![\d,])10,?000(?![\d,])|\b10 ?k\b|\b10 thousand",
    "억": r"hundred[ -]million|\b100 million|(?<![\d,])100,?000,?000(?![\d,])",
}
SUM = re.compile(
    rf"(?<![가-힣\d])(?<![천백십만억조수몇일이삼사오육칠팔구러열\d] )({'|'.join(sorted(_SUMS, key=len, reverse=True))})"
    "(?: ?달러| 원(?=[은을이의에도만씩]|짜리|권|어치|으로|[^가-힣]|$)|원(?=짜리|에|권))(?! ?(?:인|소|원))"
)


def lost_sums(source: str, text: str) -> Counter[str]:
    """The sums of Korean words, such as `만 원`, whose power of ten is not in an English translation."""
    sums = {hit[1]: hit[0] for hit in SUM.finditer(source)}
    return Counter([name for power, name in sums.items() if not re.search(_SUMS[power], text, re.IGNORECASE)])


# Roman numerals of two letters or more, as far as 39, the numbers of chapters, pages and kings.
ROMAN = re.compile(
    r"(?<![\w.-])(?:(?=[IVX]{2})X{0,3}(?:IX|IV|V?I{0,3})|(?=[ivx]{2})x{0,3}(?:ix|iv|v?i{0,3}))(?![\w'’-])", re.ASCII
)


def other_numerals(source: str, text: str) -> Counter[str]:
    """The Roman numerals of a source in place of which a translation has others."""
    ours, theirs = ([hit[0] for hit in ROMAN.finditer(side)] for side in (source, text))
    there, here = ({numeral.upper() for numeral in numerals} for numerals in (theirs, ours))
    return Counter(numeral for numeral in ours if numeral.upper() not in there) if there - here else Counter()


# Options of a command: `-` and a letter or few behind a space; `-Yes` and `-I` are what a speaker says.
OPTION = re.compile(
    r"(?:(?<![.!?…]\s)(?<=[^\s.!?…]\s)-(?:[a-z]{1,3}|[A-Z])|(?<=[\"'`(\[])-(?:[a-z]{1,3}|[A-Z]))"
    r"(?![A-Za-z0-9_'’-])"
)
# What speaks of options: a quoted one, a long one, a word for it.
_ABOUT_OPTIONS = re.compile(
    r"[\"'`(\[]-[A-Za-z]|--[a-z]|\b(?:option|flag|switch|parameter|argument)s?\b|옵션|플래그|인수"
)
# Words that a writer puts between dashes instead of commas.
_DASHED_WORDS = frozenset(f"-{word}" for word in DASHED_WORDS.split("|"))
_WRITTEN_OPTION = re.compile(r"-[A-Za-z]{1,3}(?![A-Za-z0-9_])")


def lost_options(source: str, text: str) -> Counter[str]:
    """The short options of commands that a translation lacks; a dash before a word is none."""
    options = OPTION.findall(source)
    if not (len(set(options)) > 1 or COMMAND.search(source) or _ABOUT_OPTIONS.search(source)):
        return Counter()
    present = {*_WRITTEN_OPTION.findall(text), *_DASHED_WORDS}
    return Counter({option: 1 for option in options if option not in present})


_NO_HOUR = re.compile(r"오[전후]\s?\d{1,3}\.\d")
_HOURS = re.compile(r"오[전후]|[ap]\.?m|morning|noon|evening|night|o['’]clock", re.IGNORECASE)


def added_halves(source: str, text: str) -> Counter[str]:
    """The half of a day that a translation has made of something else: pH 7.4 is no 오후 7.4."""
    halves = _NO_HOUR.findall(text)
    return Counter() if halves and _HOURS.search(source) else Counter(halves)


OTHERS = {OPTION: lost_options, ROMAN: other_numerals, SUM: lost_sums}


def lost_others(source: str, text: str) -> Counter[str]:
    """What a translation lacks of what has no sign of its own: options, Roman numerals, sums in words."""
    lost = Counter[str]()
    for pattern, lacks in OTHERS.items():
        if pattern.search(source):
            lost += lacks(source, text)
    return lost


def _lost_halves(source: str, text: str, numbers: set[str]) -> Iterator[str]:
    """The halves of a day that a translation lacks; next to hours that need none, those that it has as the other."""
    is_whole_day = bool(_WHOLE_DAY.search(text))
    for half, (sure, usual) in _HALVES_OF_DAY.items():
        hours = _hours(sure, source) & (_hours(_HALVES_OF_DAY[_OTHER_HALF[half]][0], text) if is_whole_day else numbers)
        if hours and not usual.search(text):
            yield half


def _hours(half: re.Pattern[str], text: str) -> set[str]:
    return {match[1] or match[2] for match in half.finditer(text)}


def lost_measures(source: str, text: str) -> Counter[str]:
    """The units and the halves of a day of numbers that a translation has in digits, without them."""
    source, text = (unicodedata.normalize("NFKC", side) for side in (source, text))
    numbers = {match[0] for match in _NUMBER.finditer(text)}
    lost = [*_lost_halves(source, text, numbers), *_swapped_units(source, text)]
    for unit in dict.fromkeys(unit for number, unit in _MEASURE.findall(source) if number in numbers):
        names = next(names for forms, names in _MEASURES.items() if re.fullmatch(forms, unit, re.IGNORECASE))
        if not re.search(rf"(?<![A-Za-z]){re.escape(unit)}(?![A-Za-z])|{names}", text, re.IGNORECASE):
            lost.append(unit)
    short = _SHORT_MEASURE.findall(source)
    for unit in dict.fromkeys(spaced or joined for number, spaced, joined in short if number in numbers):
        names = rf"\d\s?{unit}(?![A-Za-z])|{_SHORT_MEASURES[unit]}"
        lost += [] if re.search(names, text, re.IGNORECASE) else [unit]
    for pattern, names in _NAMED_AMOUNTS:
        hits = [hit for hit in pattern.finditer(source) if hit["number"] in numbers]
        lost += [hits[0]["sign"]] if hits and not re.search(names, text, re.IGNORECASE) else []
    amounts = list(_CURRENCY.finditer(source))
    if any((match[2] or match[3]) not in numbers for match in amounts):  # `CHF 2.5 million` is `250만`
        values = {amount.value for amount in find_amounts(text)}
        numbers |= {source[a.begin : a.end] for a in find_amounts(source) if a.has_power and a.value in values}
    for code in dict.fromkeys(match[1] or match[4] for match in amounts if (match[2] or match[3]) in numbers):
        names = next(names for codes, names in _CURRENCIES.items() if re.fullmatch(codes, code))
        lost += [] if re.search(names, text, re.IGNORECASE) else [code]
    return Counter(dict.fromkeys(lost, 1))


def differing_signs(source: str, text: str) -> tuple[Counter[str], Counter[str]]:
    """The signs that a translation lacks, and those that it makes up; both texts are without placeholders."""
    ours, theirs = signs_of(source), signs_of(text)
    unclosed = _unclosed(source, text)
    if ours == theirs:
        return unclosed, Counter()
    missing, extra = Counter(dict(_absent(ours, theirs, text))), Counter(dict(_absent(theirs, ours, source)))
    return missing + _unquoted(source, text) + unclosed, extra + _unquoted(text, source)


def _unquoted(text: str, other: str) -> Counter[str]:
    """The quotation marks of a text that are chosen ones, as far as another text has fewer pairs of any kind."""
    chosen = [sign for sign in text if sign in _QUOTES]
    return Counter(chosen[(len(_ANY_QUOTE.findall(other)) + 1) // 2 :]) if chosen else Counter()


def _unclosed(source: str, text: str) -> Counter[str]:
    """The mark that ends the quotations of a source, where a translation does not end one."""
    closing = [sign for sign in source if sign in _CLOSING]
    opened = [sum(sign in _QUOTES for sign in side) - sum(sign in _CLOSING for sign in side) for side in (source, text)]
    return Counter(closing[:1]) if opened[0] <= 0 < opened[1] else Counter()


def signs_of(text: str) -> Counter[str]:
    """The signs of a text, each in its usual form; asterisks around words emphasise them, as other marks do."""
    text = _EMPHASIS.sub(r"\1", text) if "*" in text else text
    return Counter(_form(sign) for sign in SIGN.findall(text))


def _absent(signs: Counter[str], others: Counter[str], there: str) -> Iterator[tuple[str, int]]:
    """Signs that another text has neither as they are nor in words, or too few of."""
    for sign, count in signs.items():
        if sign in _QUOTES:
            continue
        if sign == "*" and sign in there:  # that of the other text emphasises words
            continue
        if others[sign] and (sign not in _COUNTED or others[sign] >= count):
            continue
        if sign == REPLACEMENT or not (others[sign] or _pattern(sign).search(there)):
            yield sign, count
        elif others[sign]:
            yield sign, count - others[sign]


@lru_cache(maxsize=512)
def _form(sign: str) -> str:
    """A sign as it is compared: full-width forms are the usual ones."""
    usual = unicodedata.normalize("NFKC", sign)
    return usual if len(usual) == 1 and usual in _WORDS else sign


@lru_cache(maxsize=512)
def _pattern(sign: str) -> re.Pattern[str]:
    """What is written for a sign: its words, and its letters or digits (`㎏` is kg, `₂` is 2)."""
    usual = unicodedata.normalize("NFKC", sign)
    choices = [_WORDS[sign]] if sign in _WORDS else []
    choices += [re.escape(usual)] if usual != sign and not usual.isdigit() else []
    words = "|".join(choices) or "(?!)"
    digits = f"|{usual}" if usual.isdigit() else ""
    return re.compile(rf"(?<![A-Za-z](?=[A-Za-z]))(?:{words})(?![A-Za-z]){digits}", re.IGNORECASE)
