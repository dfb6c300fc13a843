"""Numbers in words, by language: data, and the reading of it. `two million`, `이백만`, `5 thousand`, `1억 2천만`.

Input: a text. Output: the powers of ten behind its digits, and the numbers that it says in words. And back: a value as
a language writes it. The words are those of the languages in `LANGUAGES`; no word of one is a word of another, so that
a text is read with all of them unless its language is known. A word that is often no number (`May`, `a`) says a number
that a translation may have in digits, and never one that it must have.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple


def _table(listed: str) -> dict[str, int]:
    """`word=number` or `word,word=number`, separated by spaces."""
    entries = (entry.partition("=") for entry in listed.split())
    return {word: int(number) for words, _, number in entries for word in words.split(",")}


# Powers of ten, and what multiplies like them: below 10,000 (Korean) or 1,000 they multiply what is before them alone.
_SMALL = _table("hundred,hundreds=100 dozen,dozens=12 decade,decades=10 century,centuries=100 십=10 백=100 천=1000")
_BIG = _table(
    "thousand,thousands=1000 million,millions=1000000 billion,billions=1000000000 trillion,trillions=1000000000000 "
    "k=1000 m=1000000 b,bn,bil=1000000000 t=1000000000000 만=10000 억=100000000 조=1000000000000 경=10000000000000000"
)
# After 만 or 조 with these, it is another word: 5만큼, 5조각.
_POWER = re.compile(
    r"[\s-]?(?i:(?P<latin>hundred|thousand|million|billion|trillion|dozen)s?(?![a-z]))"
    r"|(?P<short>[kKMBT]|bn|bil\b)(?![A-Za-z])"
    r"|(?:|\s(?=[십백천만억조경]{1,4}(?:[^가-힣]|$|원|명|개|달러|년|톤|번|여|대|마리|주(?!교|의)|표|권|장|회|건|가구|유로|엔|위안|배|분의"
    r"|[은는이가을를의에도과와로])))(?P<hangul>십(?!자|분|이)|백(?!업|팩|색|신)|천(?!천히|장|사)|만(?!큼|족|일|약|들|나|두|못)|억"
    r"|조(?![각건항합립회차])|경(?=원|\s|[^가-힣]|$))"
)
# Letters that are a power behind the amount of a price alone: `$5B`, `$1.2T`.
_LETTERS_OF_PRICES, _PRICE = frozenset("BT"), re.compile(r"[$€£¥₩]\s?\d[\d.,]{0,20}$")
# A power that is often another word, where the other text has one of these: 5만 is "5 only", 2조 is "group 2".
_ONLY = re.compile(r"\b(?:only|just|alone|merely|solely|simply|no more than)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(?:art(?:icle)?|group|team|section|clause|pair|shift)s?\b", re.IGNORECASE)
_KILO = re.compile(
    r"킬로|kilo|(?<![a-z])k(?:m|b|bps|g|hz|w)(?![a-z])|\(k\)|\d\s?금|켈빈|kelvin|캐럿|carat|karat|해상도|화질|resolution",
    re.IGNORECASE,
)
AMBIGUOUS = {"만": _ONLY, "조": _ARTICLE, "k": _KILO, "m": re.compile("")}

_UNITS = _table(
    "zero,zeros,zeroes,nonzero,nil,none=0 one,primary,once,single,sole=1 "
    "two,twice,double,doubles,doubled,doubling,bilingual,wwii,both,couple,pair,twin,twins,dual,secondary,binary,peer,"
    "sophomore=2 "
    "three,thrice,triplet,triplets,trilingual,triple,triples,tripled,tripling,trio,tertiary,ternary,trinary=3 "
    "four,quadruple,quadruples,quadrupled=4 five,pentagon=5 six,hexagon,sixpence=6 seven=7 eight,octal=8 nine=9 "
    "ten,decimal=10 eleven=11 twelve,noon,midnight=12 "
    "thirteen=13 "
    "fourteen=14 fifteen=15 sixteen,hex,hexadecimal=16 seventeen=17 eighteen=18 nineteen=19 twenty,twenties=20 "
    "thirty,thirties=30 "
    "forty,forties=40 fifty,fifties=50 sixty,sixties=60 seventy,seventies=70 eighty,eighties=80 ninety,nineties=90 "
    "first,firstly,firsts=1 second,secondly=2 third,thirds,thirdly=3 fourth,fourths,quarter,quarters=4 fifth,fifths=5 "
    "sixth,sixths=6 seventh,sevenths=7 eighth,eighths=8 ninth,ninths=9 tenth,tenths=10 eleventh=11 twelfth=12 "
    "thirteenth=13 fourteenth=14 fifteenth=15 sixteenth=16 seventeenth=17 eighteenth=18 nineteenth=19 twentieth=20 "
    "thirtieth=30 fortieth=40 fiftieth=50 sixtieth=60 seventieth=70 eightieth=80 ninetieth=90 hundredth=100 "
    "thousandth,thousandths=1000 millionth,millionths=1000000 billionth,billionths=1000000000 "
    "ones=1 twos=2 threes=3 fours=4 fives=5 sixes=6 sevens=7 eights=8 nines=9 tens=10"
)
_MONTHS = _table(
    "January,Jan=1 February,Feb=2 March,Mar=3 April,Apr=4 May=5 June,Jun=6 July,Jul=7 August,Aug=8 "
    "September,Sept,Sep=9 October,Oct=10 November,Nov=11 December,Dec=12"
)
_MONTH_NAMES = {name.lower(): month for name, month in _MONTHS.items()}
# Words that may be used for a number, among other meanings.
_LIKE = _table(
    "a,an,another,ground,each,every,per,week,weekly,top,year,yearly,annual,daily,monthly,hourly=1 other,biweekly=2 "
    "week=7 fortnight=14 half,halves=30"
)
# A part of a power: `half a million`, `a quarter of a million`; and one and a part: `a million and a half`.
_HALVES = re.compile(
    r"\b(?:(?P<half>half)|(?P<quarter>(?:three[\s-])?quarters?))[\s-](?:of[\s-])?(?:an?[\s-])?"
    r"(?P<power>dozen|century|hundred|thousand|million|billion|trillion)\b"
    r"|\b(?P<unit>[a-z]+)\s(?:and\sa\shalf\s(?P<behind>million|billion|trillion|thousand|dozen)s?"
    r"|(?P<before>million|billion|trillion|thousand|dozen)\sand\sa\shalf)\b",
    re.IGNORECASE,
)
# What says a number next to another word: a quarter of an hour, the first of wars, kings and parts.
_QUARTER_OF_HOUR = re.compile(r"\bquarter\s(?:past|after|to|till|before|of\san\shour)\b", re.IGNORECASE)
_ROMAN_ONE = re.compile(
    r"\b(?:War|Part|Chapter|Act|Book|Volume|Phase|Type|Section|Class|Level|Stage|Grade)\sI\b(?!['’])"
    r"|(?<=[a-z,]\s)[A-Z][a-z]+\sI\b(?!['’])"
)
# Who is from 13 to 19 is a teenager, `10대` or `십대`, and no number.
TEENS = re.compile(r"\bteens?\b|\bteenage(?:d|rs?)?\b", re.IGNORECASE)
TEENS_IN_DIGITS, TEENS_IN_WORDS = re.compile(r"(?<!\d)10\s?대(?!\d)"), re.compile(r"(?<![가-힣])십\s?대")
# What is before the day of a date, after which a year may follow: `May 5, 2024`.
LONGEST_MONTH = 12  # characters, with a full stop and a space
AFTER_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\.?\s$")
# Words that belong to the number before them, and would be lost or mean another thing without it.
BEHIND_NUMBER = "|".join(
    (*_MONTHS, "hundred", "thousand", "million", "billion", "trillion", "dozen", "[ap]m", r"[ap]\.m")
)
SHORT = 3  # letters: `m` in words is no million, as in `I'm two`
HALF = re.compile(r"\bhal(?:f|ves)\b|반")
QUARTER = re.compile(r"\bquarters?\b|분기")
_ROMAN = _table("ii=2 iii=3 iv=4 v=5 vi=6 vii=7 viii=8 ix=9 x=10 xi=11 xii=12 xiii=13 xiv=14 xv=15 xvi=16")
_PERIODS, _ORDINAL = frozenset(("century", "centuries", "decade", "decades")), re.compile(r"(?:st|nd|rd|th)$", re.I)
_LATIN = re.compile(r"[a-z]+", re.IGNORECASE)
_DATE = re.compile(
    rf"(?:\b\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?(?P<after>{'|'.join(_MONTHS)})\b"
    rf"|\b(?P<before>{'|'.join(_MONTHS)})\.?\s\d{{1,2}}(?:st|nd|rd|th)?\b(?!:))"
)

_NATIVE_TENS = _table("열=10 스물,스무=20 서른=30 마흔=40 쉰=50 예순=60 일흔=70 여든=80 아흔=90 백=100")
_NATIVE = _table("하나,한,첫=1 둘,두=2 셋,세,석=3 넷,네,넉=4 다섯=5 여섯=6 일곱=7 여덟=8 아홉=9")
_DAYS = _table(
    "반값,절반=50 하루,처음,상반기,한번,일단,혼자,외동,각=1 이틀,양쪽,양,쌍,다음,하반기,후반,둘째,재,반=2 사흘,셋째=3 "
    "나흘,넷째=4 닷새=5 엿새=6 이레,일주일,주=7 반=30 여드레=8 아흐레=9 "
    "열흘=10 정오,자정=12 보름=15 유월=6 시월=10"
)
# Two numbers next to each other are an estimate.
_ESTIMATES = {
    "한두": (1, 2), "두세": (2, 3), "두서너": (2, 3, 4), "서너": (3, 4), "너댓": (4, 5), "네댓": (4, 5),
    "네다섯": (4, 5), "대여섯": (5, 6), "예닐곱": (6, 7), "일고여덟": (7, 8), "여덟아홉": (8, 9), "사나흘": (3, 4),
    "하루이틀": (1, 2), "이틀사흘": (2, 3),
}  # fmt: skip
_SINO = {"영": 0, "공": 0, "일": 1, "이": 2, "삼": 3, "사": 4, "오": 5, "육": 6, "륙": 6, "칠": 7, "팔": 8, "구": 9}
# Nouns that are counted: before them a syllable is a number.
_COUNTED = (
    "월|일|년|분|초|층|번|호|차|등|위|주|개|회|세|학|급|단|배|인|원|부|절|장|점|킬|퍼|프로|달러|도|명|센|미터|대|시|살|달|잔|가지|쪽|마리|권|쌍|"
    "벌|곳|채|그루|송이|사람|째|병|판|줄|방|통|끼|켤|모금|조각|군데|바퀴|박|편|종|건|자루|척|통|해|평|리터|그램|톤|유로|파운드|엔|위안|줄|칸|자리|면|"
    "중|대|세기|급|교시|할|푼|여|몇|사이클|페이지|단어|글자|발|팀|쪽|모두|다|팀|문장|항목|륜|차원|진법"
)
# Those of them that are no particle and no ending: before them a syllable is no day.
_SURELY_COUNTED = (
    r"\s?(?:명|개(?!월)|번|살|마리|권|대(?!로)|원|층|호|시(?=에|부터|까지|쯤|간|[^가-힣]|$)|초|달러|퍼센트|프로|킬로|미터|회|점|년|월|잔|병|채|그루|가구|건|배|페이지|"
    "분의|세기|위|등)"
)
# As a text, which `re` compiles at the first Korean word: reading it takes longer than a line.
_HANGUL = (
    rf"(?<![가-힣])(?P<estimate>{'|'.join(_ESTIMATES)})"
    rf"|(?<![가-힣])(?:(?P<tens>{'|'.join(_NATIVE_TENS)})\s?)?(?P<native>다섯|여섯|일곱|여덟|아홉|하나|둘|셋|넷|[한두세네석넉](?=\s|{_COUNTED})|첫)"
    rf"|(?<![가-힣])(?P<only_tens>{'|'.join(_NATIVE_TENS)})(?=\s|{_COUNTED}|[은는이가을를의도]|$)"
    rf"|(?<![가-힣])(?P<day>{'|'.join(_DAYS)})"
    rf"|(?<=시)(?P<half>반)"
    rf"|(?<![가-힣])제?(?P<sino>[영공일이삼사오육륙칠팔구십백천만억조]+)(?=\s?(?:{_COUNTED})|[의은는이가을를에]?(?![가-힣]))"
)
# Languages whose numbers these are: of another, what is only in words is not known.
LANGUAGES = frozenset(("en", "ko"))
# Hours of an afternoon, which may be written from 13 to 23.
AFTERNOON = re.compile(
    r"(?<![a-z])p\.?\s?m\b|\b(?:afternoon|evening|night|tonight|midnight)\b|오후|저녁|밤|자정", re.IGNORECASE
)
# The first hour of a day, which may be written 0 or 12.
MIDNIGHT = re.compile(r"(?<![a-z])a\.?\s?m\b|\b(?:midnight|night)\b|오전|새벽|자정|밤", re.IGNORECASE)
# Numbers below zero in words.
NEGATIVE = re.compile(r"\b(?:minus|below|negative|sub-?zero|under)\b|영하|마이너스|음수|아래|미만", re.IGNORECASE)

# A large number that is all in words, and surely one: `thirty-five million`, not `millions`, `a thousand` or 수백만.
_CARDINAL = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    "|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
)
_BIG_ENGLISH = "hundred|thousand|million|billion|trillion"
_LARGE_ENGLISH = re.compile(
    rf"(?<![\w-])(?:{_CARDINAL}|(?:one|a) hundred)(?:[ -](?:and )?(?:{_CARDINAL}|one|hundred)){{0,6}}[ -]"
    rf"(?:thousand|million|billion|trillion)(?:[ -](?:and )?(?:{_CARDINAL}|one|{_BIG_ENGLISH})){{0,12}}(?![\w-])",
    re.IGNORECASE,
)
# Other numbers next to it: `two or three million`, `one million, two hundred thousand`, `five point two million`.
_NUMBER_BEFORE = re.compile(rf"(?:\d|\b(?:{_CARDINAL}|one|point|{_BIG_ENGLISH})),?[ -](?:(?:and|or|to) )?$", re.I)
_NUMBER_BEHIND = re.compile(
    rf",?[ -](?:(?:and|or|to) )?(?:{_CARDINAL}|one|point|{_BIG_ENGLISH})\b|,?[ -](?:or |to )?\d", re.I
)
LONGEST_BEFORE = 20  # characters of a number in words and what connects it
# What may be a year, a title or a saying.
_NO_NUMBER = re.compile(r"(?:two thousand|ten thousand)(?:[ -](?:and )?(?!hundred)[a-z-]+)*", re.IGNORECASE)
_MONEY = "원|달러|유로|엔|위안"
_BEHIND_COUNTER = (
    r"(?=[^가-힣]|$|(?:은|는|이|가|을|를|의|에|도|만|과|와|로|으로|짜리|씩|정도|이상|이하|미만|어치|보다|부터|까지|이나|이라|이었|이에|이고|입|인|쯤|밖|가량|선"
    r"|규모|대(?!로)|권(?![가-힣]{2})))"
)
_COUNTER = rf" ?(?:{_MONEY}|명|개(?!월)|대|마리|권|장|건|가구|톤|표){_BEHIND_COUNTER}"
# Behind 만 or 조 these make it a power for sure: 5만 명 is no "5 only", and 제2조 개인정보 has no trillion.
COUNTED = {"만": re.compile(_COUNTER), "조": re.compile(rf" ?(?:{_MONEY}){_BEHIND_COUNTER}")}
_LARGE_KOREAN = re.compile(
    r"(?<![가-힣\d])(?<![수몇천백십만억조] )(?=.{1,20}[천만억조] ?[가-힣])"
    r"(?P<number>(?:만 ?)?[일이삼사오육칠팔구십백천]{1,8}"
    rf"(?:[만억]|조(?= ?(?:{_MONEY})))?(?: ?[일이삼사오육칠팔구십백천]{{1,8}}[만억]?){{0,3}})(?={_COUNTER}| ?여 ?명)"
)
# Two units next to each other are an estimate: 이삼천 is two or three thousand.
_ABOUT = re.compile("[일이삼사오육칠팔구]{2}")
# A number in syllables with spaces, and perhaps with the 이 of 이다.
_DIVIDED = re.compile(r"(?<![가-힣])[일이삼사오육칠팔구십백천]*[만억조](?: ?[일이삼사오육칠팔구십백천]+[만억]?){1,4}")
LARGE = (_LARGE_ENGLISH, _LARGE_KOREAN)
LEAST_LARGE = 1000
# Powers of ten with which large numbers are written, and how many decimals: 1.25 million, 1.255 billion, 1,255,000.
_ENGLISH_POWERS = ((10**12, "trillion", 4), (10**9, "billion", 4), (10**6, "million", 2))
_KOREAN_POWERS = ((10**12, "조"), (10**8, "억"), (10**4, "만"))


class Power(NamedTuple):
    """A word for a power of ten: where it ends, the word, its value, and whether it multiplies what is before alone."""

    end: int
    word: str
    value: int
    is_small: bool


# A number in syllables right before one in digits with a smaller power: 만 2천 is 12,000; 만 5세 is an age.
_LEAD = re.compile(r"(?<![가-힣\d])[일이삼사오육륙칠팔구십백천만억조]*[백천만억조](?=\s?$)")


def lead_at(text: str, begin: int) -> tuple[int, int, int] | None:
    """The number in syllables before `begin`: where it begins, its value, and its last power."""
    match = _LEAD.search(text, max(begin - 12, 0), begin)
    if not match:
        return None
    syllables: list[int | str] = [_SINO.get(syllable, syllable) for syllable in match[0]]
    return match.start(), _values(syllables)[0], _SMALL.get(match[0][-1]) or _BIG[match[0][-1]]


def power_at(text: str, at: int) -> Power | None:
    """The power of ten that follows a number which ends before `at`."""
    match = _POWER.match(text, at)
    if not match:
        return None
    if match["short"] in _LETTERS_OF_PRICES and not _PRICE.search(text, max(at - LONGEST_BEFORE, 0), at):
        return None
    word = (match["latin"] or match["short"] or match["hangul"]).lower()
    return Power(match.end(), word, _SMALL.get(word) or _BIG[word], word in _SMALL)


def large_numbers(text: str) -> list[tuple[int, int, int]]:
    """The numbers from LEAST_LARGE on that are all in words, surely: where they begin and end, and their values."""
    numbers = []
    for match in _LARGE_ENGLISH.finditer(text):
        begin, end = match.span()
        if _NUMBER_BEFORE.search(text, max(begin - LONGEST_BEFORE, 0), begin) or _NUMBER_BEHIND.match(text, end):
            continue
        words = [word for word in re.split("[ -]", match[0].lower()) if word not in ("a", "and")]
        [value] = _values([_UNITS.get(word, word) for word in words])
        if value in spoken(match[0]) and not _NO_NUMBER.fullmatch(match[0]):  # no `two million and three million`
            numbers.append((begin, end, value))
    for match in _LARGE_KOREAN.finditer(text):
        [value] = _values([_SINO.get(syllable, syllable) for syllable in match["number"].replace(" ", "")])
        if value >= LEAST_LARGE and len(match[0]) > 1 and not _ABOUT.search(match[0]):
            numbers.append((*match.span(), value))
    return sorted(numbers)


@lru_cache(maxsize=64)
def spoken(text: str) -> frozenset[int]:
    """The numbers that a text says in words, or may say."""
    return frozenset((*_latin(text), *_hangul(text), *_divided(text)))


def months(text: str) -> list[int]:
    """The months that a text names in dates with a day in digits."""
    return [_MONTHS[match["after"] or match["before"]] for match in _DATE.finditer(text)] if " " in text else []


def _latin(text: str) -> Iterable[int]:
    """The numbers in English words, those of runs such as `two hundred and five` as one."""
    if "hal" in text or "Hal" in text or "uarter" in text:
        yield from map(_part_of_power, _HALVES.finditer(text))
        text = _HALVES.sub(lambda match: "." * len(match[0]) if _part_of_power(match) else match[0], text)
    yield from [15] * bool(_QUARTER_OF_HOUR.search(text)) + [1] * bool(_ROMAN_ONE.search(text))
    run: list[int | str] = []
    end, is_like = -2, False
    for match in _LATIN.finditer(text):
        word = match[0].lower()
        if word == "and" and run:
            continue
        is_near = not run or text[end : match.start()].strip(" -and") == ""
        value = _UNITS.get(word)
        if word in _PERIODS and run and is_near and _ORDINAL.search(text, end - 2, end):  # the twenty-first century
            continue
        if value is not None or word in _SMALL or (word in _BIG and len(word) > SHORT):
            if not is_near or (value is not None and is_like):
                yield from _values(run)
                run = []
            is_like = False
            if value is not None and run and text[end] == " " and text[match.end() : match.end() + 1] == "-":
                yield from _values(run)  # twenty one-way tickets
                yield value
            if run and value is not None and _may_be_apart(word, text[end : match.start()]):
                yield from (*_values(run), value)
            for before in _ended(run, word if value is None else value):
                yield from _values(before)
                run = run[len(before) :]
            run.append(word if value is None else value)
            end = match.end()
            continue
        yield from _values(run)
        run = []
        for table in (_MONTH_NAMES, _LIKE, _ROMAN):
            if word in table:
                yield table[word]
                if table is _LIKE:
                    run, end, is_like = [1], match.end(), True
    yield from _values(run)


def _may_be_apart(word: str, gap: str) -> bool:
    """Whether a word behind a number may belong to what follows: a thirty-second film, twenty fourth graders."""
    return word == "second" or (gap == " " and word.endswith(("rd", "th")))


def _part_of_power(match: re.Match[str]) -> int:
    """The value of `half a million` or `two and a half million`; 0 for other words before `and a half`."""
    word = (match["power"] or match["behind"] or match["before"]).lower()
    value = 100 if word == "century" else _SMALL.get(word) or _BIG[word]
    if match["half"]:
        return value // 2
    if match["quarter"]:
        return value // 4 * (3 if match["quarter"][0] in "tT" else 1)
    unit = match["unit"].lower()
    count = 1 if unit in ("a", "an") else _UNITS.get(unit, 0)
    return count and count * value + value // 2


def _ended(run: list[int | str], following: int | str) -> Iterable[list[int | str]]:
    """The beginning of a run that is a number by itself, because of what follows: `two million and three million`."""
    if isinstance(following, int):
        before = run[-1] if run else 100
        is_one = not isinstance(before, int) or (before % 10 == 0 and 20 <= before <= 90 and following < 10)
        if not is_one:
            yield run
    elif following in _BIG and run and run[-1] not in _BIG:
        ends = [at for at, word in enumerate(run, 1) if isinstance(word, str) and word in _BIG]
        if ends and _BIG[str(run[ends[-1] - 1])] <= _BIG[following]:
            yield run[: ends[-1]]


def _hangul(text: str) -> Iterable[int]:
    """The numbers in Korean words."""
    for match in re.finditer(_HANGUL, text):
        yield from _of_hangul(match)
        sino = match["sino"] or ""
        # 십일: eleven, or ten days; 십일 명: eleven.
        if sino[1:] and sino[-1] == "일" and not re.compile(_SURELY_COUNTED).match(text, match.end()):
            yield from _values([_SINO.get(syllable, syllable) for syllable in sino[:-1]])


def _divided(text: str) -> Iterable[int]:
    """The numbers of 만 and 억 with spaces: 삼만 오백이다."""
    for match in _DIVIDED.finditer(text):
        syllables = [_SINO.get(syllable, syllable) for syllable in match[0].replace(" ", "")]
        yield from _values(syllables)
        if match[0][-1] == "이":
            yield from _values(syllables[:-1])


def _of_hangul(match: re.Match[str]) -> list[int]:
    """The number of a match of `_HANGUL`; of 이삼 일 also two, and three."""
    if match["estimate"]:
        return [*_ESTIMATES[match["estimate"]]]
    if match["native"]:
        return [(_NATIVE_TENS[match["tens"]] if match["tens"] else 0) + _NATIVE[match["native"]]]
    if match["only_tens"]:
        return [_NATIVE_TENS[match["only_tens"]]]
    if day := match["day"] or match["half"]:
        return [_DAYS[day]]
    syllables: list[int | str] = [_SINO.get(syllable, syllable) for syllable in match["sino"]]
    only_units = all(isinstance(syllable, int) for syllable in syllables)
    return _values(syllables) + (_values(syllables[:1]) + _values(syllables[1:2]) if only_units else [])


def _values(run: list[int | str]) -> list[int]:
    """The number of a run of units and powers: 이 백 만 is 2,000,000."""
    if not run:
        return []
    total = group = 0
    unit: int | None = None
    for item in run:
        if isinstance(item, int):
            unit = (unit or 0) + item
        elif item in _SMALL:
            group += (1 if unit is None else unit) * _SMALL[item]
            unit = None
        else:
            total += max(group + (unit or 0), 1) * _BIG[item]
            group, unit = 0, None
    return [total + group + (unit or 0)]


def written(value: int | Decimal, language: str) -> str:
    """`value` as newspapers write it in English (`en`) or Korean (`ko`): 35,000,000 is `35 million` and `3,500만`."""
    size = -value if value < 0 else value
    return ("-" if value < 0 else "") + (_in_korean(size) if language == "ko" else _in_english(size))


def _in_english(value: int | Decimal) -> str:
    for power, word, decimals in _ENGLISH_POWERS:
        if value >= power:
            whole, rest = divmod(int(value), power)
            if value == int(value) and rest * 10**decimals % power == 0:
                fraction = str(rest * 10**decimals // power).zfill(decimals).rstrip("0")
                return f"{whole:,}{'.' if fraction else ''}{fraction} {word}"
            break
    return f"{value:,f}" if isinstance(value, Decimal) else f"{value:,}"


def _in_korean(value: int | Decimal) -> str:
    """In groups of four digits if it is a whole number of 만 or long."""
    rest, groups = int(value), []
    if value != rest or rest < 10**4 or (rest % 10**4 and rest < 10**8):
        return f"{value:,f}" if isinstance(value, Decimal) else f"{value:,}"
    for power, word in _KOREAN_POWERS:
        count, rest = divmod(rest, power)
        groups += [f"{count:,}{word}"] if count else []
    return " ".join([*groups, f"{rest:,}"] if rest else groups)
