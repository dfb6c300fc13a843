"""Negation: a translation that lost the "not" of its source, or made one up. Data, by language.

Languages negate the same thing in other ways: `only` is `밖에 없다`, `must` is `지 않으면 안 된다`. Each has therefore
words that surely negate, a longer list of all that may, and idioms where it is not certain. A negation is lost if the
source surely has one and its translation has none of the long list, and added the other way round. Of a language
without lists nothing is known. On 66,478 pairs of everyday sentences 0.7 % differ so without a fault, on 40,000 pairs
of manuals and news 0.4 % (`docs/decisions/0062-values-and-signs.md`).
"""

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Negation:
    """What surely negates in a language, what may, and idioms that only look like it.

    A pattern is compiled when it is first searched for: most sentences negate nothing, and need one of three.
    """

    patterns: tuple[str, str, str]
    flags: re.RegexFlag

    @cached_property
    def sure(self) -> re.Pattern[str]:
        return re.compile(self.patterns[0], self.flags)

    @cached_property
    def possible(self) -> re.Pattern[str]:
        return re.compile(self.patterns[1], self.flags)

    @cached_property
    def idiom(self) -> re.Pattern[str]:
        return re.compile(self.patterns[2], self.flags)

    def is_sure(self, text: str) -> bool:
        return bool(self.sure.search(text)) and not self.idiom.search(text)


# A question that begins or ends with `isn't it`, `why don't you` negates nothing.
_ENGLISH_SURE = r"""
    \b(?:do|does|did|is|are|was|were|ca|could|wo|would|should|has|have|had|must)n['’]t\b(?!\s(?:I|you|he|she|
    it|we|they|there|that|this|anyone|the|my|your)\b)|\bcannot\b|\bnever\b|\b(?:do|does|did|is|are|was|were|
    can|could|will|would|should|has|have|had|must|may|might|am|['’](?:m|re|s))\snot\b|(?<!\bto\s)\b(?:nothing|
    nobody|neither|nowhere)\b|\bno\sone\b|\b(?:is|are|was|were|has|have|had|['’]s)\sno\b|\bwithout\b
"""
_ENGLISH_POSSIBLE = r"""
    n['’´`]t\b|\b(?:do|does|did|is|are|was|were|ca|could|wo|would|should|has|have|had|must|ai)nt\b|\bcannot\b|\b(?:not|
    no|nor|non|nope|nah|never|none|nothing|nobody|neither|nowhere|without|hardly|barely|scarcely|rarely|
    seldom|little|few|fewer|lacks?|lacking|lacked|fail\w*|refus\w+|den(?:y|ied|ies|ying)|avoid\w*|prevent\w*|
    stop\w*|unable|unless|until|till|except|only|just|instead|rather|too|neglect\w*|miss\w*|forget\w*|
    forgot\w*|lost|lose[sr]?|losing|hate[sd]?|reject\w*|prohibit\w*|forbid\w*|forbad\w*|ban(?:s|ned)?|false|
    wrong\w*|poor\w*|absent|absence|empty|gone|contrary|opposite|ignor\w+|quit|halt\w*|cease\w*|invalid\w*|
    impossib\w+|difficult\w*|doubt\w*|wonder\w*|why|must|have\sto|has\sto|had\sto|need\w*|should|any\w*|yet|
    besid(?:e|es)|apart|declin\w*|before|away|different\w*|both|either|les[t]|sorry|afraid|dislike\w*|zero|nil|
    null|skip\w*|omit\w*|exclud\w+|disab\w+|undo\w*|remov\w+|clear\w*|insufficien\w*|inadequa\w+|ineffic\w+|
    in(?:ability|complete\w*|correct\w*|active|visible|valid|finite\w*|consisten\w+|accura\w+|dependent\w*|
    direct\w*|accessib\w+|compatib\w+|secur\w+|expensive|capable|significant\w*|efficient\w*|convenien\w+|
    evitabl\w+|appropriate\w*|justice|tact|numerable|credibl\w+|nocent)|im(?:mobile|patien\w+|perfect\w*|
    polite\w*|proper\w*|mature|mortal|mediate\w*|balance\w*)|il(?:legal\w*|legible|literate|logical|
    legitimate)|ir(?:regular\w*|relevan\w+|responsib\w+|rational)|dis(?:agree\w*|appear\w*|connect\w*|
    comfort\w*|honest\w*|obey\w*|qualif\w+|allow\w*|appoint\w*|continu\w+|satisf\w+|trust\w*|regard\w*|
    approv\w+|able\w*|count\w*|miss\w*)|un[a-z]{4,}|\w+less(?:ly|ness)?|non-?[a-z]+|mis[a-z]{4,}|anti-?[a-z]+|
    short(?:age)?|deni\w+|spare|resist\w*|strange\w*|silen\w+|secret\w*|always|alone|end(?:s|ed|less)?|
    of\scourse|surely|beat\w*|terrible|awful\w*|useless|vain|no\slonger|cheap\w*|stupid\w*|silly|clumsy|
    careless\w*|rude\w*|naive|restless\w*|lazy|weak\w*|ill|broke\w*|vacan\w+|idle|illness|blind|deaf|mute|
    dumb|numb|bland|rare|scarce|abnormal\w*|unknown|ignoran\w+|shame\w*|bitter|messy|as\s(?:soon|long|far)|
    bad(?:ly)?|worse|worst|crap\w*|fear\w*|obsolete\w*|deprecat\w*|private\w*|block\w*|exempt\w*|awake|
    n/a|otherwise|less|informal\w*|raw|refrain\w*|hid(?:e|es|ing|den)|discourag\w+|ambigu\w+|odd\w*|weird\w*|
    intoleran\w+|stuck|stay\w*\s(?:up|late)|all\sright|i[nmr][a-z]{3,}(?:ible|ibly|able|ably|itive|itively|ulous)|
    (?:errors?|problems?)\s(?:while\s|when\s)?\w+ing|beyond|reserved|indeterminate|hinder\w*|loss|locked|
    exclusiv\w*|outside|wis[h]\w*|out\sof\s(?!the\b|\d)|\w{3,}-?free|regardless|whether|whatever|who(?:ever)|
    however|despite|spite|though|although)\b|\bkeep\w*\s.{0,200}\bfrom\b|\bfar\sfrom\b
"""
_ENGLISH_IDIOM = r"""
    \b(?:ca|could)(?:n['’]t|nnot|n\snot|\snot)\swait\b|(?:^|[.!?]\s)(?:is|are|was|were|does|did|wo|would|could|ca)n['’]t\b|
    \b(?:until|till|unless|before|but|except|wonder|blink|worry|bother|miss|forget|sooner|matter|hesitate|
    mind|help\sbut|idea|doubt|longer\sthan|more\sthan|without\s(?:fail|number|delay|notice|warning|effort|
    question|skipping|hesitat\w+|(?:a|any)\s(?:hitch|doubt|question))|no\s(?:surprise|problem|wonder|doubt|secret)|
    other|else)\b|\bnever\s(?:seen|h(?:eard)|been|felt|met|had|ceases?|too|mind|again)\b|
    \bnever\b.{0,200}\bwithout\b|\bdon['’]t\sknow\b|\bno\.\s?\d|n['’]t\b.{0,200}\benough\b|\bnot\sonly\b|
    \bkeep\w*\s.{0,200}\bfrom\b|\bstand\b|\bwith\sor\swithout\b
"""
_KOREAN_IDIOM = r"""
    (?:재미|별\s?[일탈말]|맛|어이|어처구니|정신|뜬금|꼼짝)\s?없|시간[이은도]?\s?없|
    지\s?않(?:게|으려|도록|으면|아도)|지\s?(?:못하게|말고|말아)|뿐(?:만)?\s?아니라|(?:빠짐|틀림|끊임|다름|
    어김|거침|변함|상관|관계|쉴\s?새|터무니|더할\s?나위|끝|지체|아낌|쓸모|두말할\s?것)\s?없|
    [수말]\s?없이(?![가-힣])|밖에|도\s안|지나지\s?않|불구|잊지|놓치지|(?:문제|이상|관계|상관|걱정|틀림)[가이은는도]?\s?없|없어[졌지진]|
    만이\s?아니|아닌가|아니[라면냐]|아니었[나으]|않[나을]까|않나요|않[아았]요\?|얼마\s?안|지\s?(?:마|
    말)[세십아라]\S*\s(?:지|제)|(?:익숙|크|멀|적|작|어렵|나쁘|심하|서두르|늦)지\s?않|버릇|말이\s없
"""
_KOREAN_SURE = r"""
    지\s?(?:않|못|마세요|마십시오|마라|말(?:고|아|라|자|게|길))|(?<![가-힣])못\s?(?:했|하|해|합|한|할|가|갔|
    먹|봤|보|볼|들|들었|찾|잤|자|쓰|써|왔|와|오|참|믿|알|읽|끝|사|샀|받|잡|이)|(?<![가-힣])안\s(?:했|하|해|합|
    한|할|가|갔|먹|봤|보|볼|들|왔|와|오|돼|되|됩|된|됐|쓰|써|믿|읽|끝|사|샀|받)|없(?:다|습|어|었|는|을|이|고|
    네|지|으|음|던|나|니)|아니(?:다|에|라|야|었|고|며|지|요|ㅂ)|아닙|아닌
"""
_KOREAN_POSSIBLE = r"""
    않|못|없|아니|아닙|아닌|아닐|아님|말[고아라자게지면았길]|지[는도만]?\s?(?:마|맙|말)|멀리[하]|마[옵소]|
    걸[렀러]|지나[쳤치]|\s마(?![가-힣])|마(?:세요|십시오|라|시오|시고|요|셔|시길|시기)|모르|모른|모를|몰[라랐]|싫|
    (?<![가-힣])안(?![내녕전정과경방대])|안[하되돼해했됩된한할함됨가갔먹]|금지|거부|거절|실패|불[가-힣]|비(?:활|
    공|동|어|표|정|대|현|워|운|울|밀|난|관|겁)|무(?:[시효단료해죄지자관의한능심례인사]|직|면)|
    부(?:[정재족주당적실인]|도)|미(?:[숙완달확성해지흡개만]|룰|뤘|루)|반[대하]|외에|제외|빼|대신|전에|밖|뿐|
    그만|멈|막|방지|피[하해했]|삼가|취소|중단|커녕|도무지|전혀|절대|결코|아무|별로|좀처럼|거의|덜|부족|모자|
    어렵|어려|힘들|드물|잃|잊|놓[치쳤]|끊|떨어|사라|빠[지졌진]|틀[리렸린]|잘못|다[르른를름릅]|자제|달[라랐]|달리|텅|빈|
    비어|헛|공짜|남[은았]|노\s|노우|노$|아뇨|아니요|도대체|어찌|설마|오히려|차라리|여전|아직|더\s?이상|
    노답|노잼|참[기을다았]|더는|견디|면역|탈|해제|삭제|제거|지우|지워|숨[기겨]
"""
NEGATIONS = {
    "en": Negation((_ENGLISH_SURE, _ENGLISH_POSSIBLE, _ENGLISH_IDIOM), re.VERBOSE | re.IGNORECASE),
    "ko": Negation((_KOREAN_SURE, _KOREAN_POSSIBLE, _KOREAN_IDIOM), re.VERBOSE),
}


# Words that negate by themselves, in English and Korean: where both texts have one, it is no "not".
_ALIKE = (
    ("delet|remov|eras", "삭제|제거|지우|지워"),
    ("block", "차단|막[히힌혀]|블록"),
    ("private", "비공개|사적|사설|개인|사복"),
    ("bad|worse|worst", "나쁘|나쁜|나빠|나빴|최악"),
    ("fear|afraid", "두려|무서|무섭"),
    ("hid", "숨[기겨긴김]"),
    ("weird|odd|strange", "이상[하한해]"),
    ("awake", "깨어"),
    ("stuck", "막[혔히힌]|끼"),
    ("ambigu", "애매|모호"),
    ("exempt", "면제"),
    ("discourag", "낙담"),
    ("raw", "날것|원시"),
    ("differen", "다[르른를름릅]|달[라랐]"),
    ("asynchron", "비동기"),
    ("(?:re|con)strain", "자제"),
    ("prohibit|forbid|ban", "금지"),
    ("cancel", "취소"),
    ("stop", "멈|중단|그만"),
    ("empty", "비어|빈|비[우운]"),
    ("disabl", "비활"),
)


# Two negations that affirm: a translation has two as well, or none.
_KOREAN_DOUBLE = re.compile(
    r"지\s?않을\s?수\s?[가는도]?\s?없|지\s?않으면\s?(?:안|못)|지\s?않을\s?(?:리|까닭)[가이]?\s?없|(?<![가-힣])안\s?\S{1,6}\s?수\s?[가는도]?\s?없"
    r"|지\s?(?:않은|않는|못한|못하는|못할)\s?(?:것|건|게)[은는이도]?\s?아니|없(?:는|을)\s?(?:것|건|게)[은는이도]?\s?아니|없지\s?않"
)
_AFFIRMS = re.compile(
    r"\b(?:but|help|must|have|has|had|having|need\w*|should|inevitabl\w*|forced?|cannot\s(?:not|never)|unavoidabl\w*|resist|"
    r"only|too|some|sure\w*|certain\w*|definitely|always|all|every\w*)\b",
    re.IGNORECASE,
)
_SINGLE = re.compile(
    r"n['’]t\b|\b(?:not|cannot|never|nobody|nothing|nowhere|neither|nor|none|without|no|un\w{4,}|in(?:evit|cap)\w+|hardly)\b",
    re.IGNORECASE,
)


def _lost_half(korean: str, english: str) -> bool:
    """Whether English has one of two negations that affirm, which is the opposite."""
    is_double = bool(_KOREAN_DOUBLE.search(korean)) and not _AFFIRMS.search(english)
    return is_double and len(_SINGLE.findall(english)) == 1


def negation_differs(source: str, text: str, languages: tuple[str, str]) -> str:
    """`lacks` if a translation lost the negation of its source, `adds` if it made one up; "" otherwise."""
    ours, theirs = NEGATIONS.get(languages[0]), NEGATIONS.get(languages[1])
    if ours is None or theirs is None or not (ours.is_sure(source) or theirs.is_sure(text)):
        return ""
    if languages in (("en", "ko"), ("ko", "en")):
        if languages == ("ko", "en") and _lost_half(source, text):
            return "lacks"
        source, text = _without_alike(source, text, languages[0] == "en")
    if ours.is_sure(source) and not theirs.possible.search(text):
        return "lacks"
    return "adds" if theirs.is_sure(text) and not ours.possible.search(source) else ""


def _without_alike(source: str, text: str, from_english: bool) -> tuple[str, str]:
    """Both without the words that negate by themselves and that both have: `Do not delete` is not `삭제하세요`."""
    for english, korean in _ALIKE:
        of_english, of_korean = re.compile(rf"\b(?:{english})\w*", re.IGNORECASE), re.compile(korean)
        of_source, of_text = (of_english, of_korean) if from_english else (of_korean, of_english)
        if of_source.search(source) and of_text.search(text):
            source, text = of_source.sub("", source), of_text.sub("", text)
    return source, text
