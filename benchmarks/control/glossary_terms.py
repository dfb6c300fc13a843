"""What `control/glossary.py` measures with: terms, and by hand the words of the corpus in which each term stands.

`EN_KO` and `KO_EN` have for each term its usual and an odd translation. `WORDS` lists every run of letters of the test
and validation text of koen_open (without the Bible) that begins with a term and is that term, in some form; the other
runs that begin with it are other words. This judgement was made by reading the list of runs, not by any program.
"""

import re

EN_KO = {  # usual, odd
    "table": ("표", "도표"),
    "cell": ("셀", "칸"),
    "document": ("문서", "문건"),
    "file": ("파일", "서류철"),
    "user": ("사용자", "이용객"),
    "function": ("함수", "산식"),
    "string": ("문자열", "글줄"),
    "object": ("객체", "물체"),
    "list": ("목록", "명단"),
    "page": ("페이지", "쪽"),
}
KO_EN = {
    "표": ("table", "grid"),
    "셀": ("cell", "slot"),
    "문서": ("document", "paper"),
    "파일": ("file", "dossier"),
    "사용자": ("user", "patron"),
    "함수": ("function", "routine"),
    "문자열": ("string", "charline"),
    "객체": ("object", "entity"),
    "목록": ("list", "roster"),
    "페이지": ("page", "sheet"),
}
# Terms that were not looked at while the substitution was made.
EN_KO_OTHER = {
    "value": ("값", "수치량"),
    "menu": ("메뉴", "차림표"),
    "image": ("이미지", "그림"),
    "module": ("모듈", "부속"),
    "server": ("서버", "주전산기"),
    "password": ("비밀번호", "암구호"),
    "column": ("열", "세로단"),
    "text": ("텍스트", "글월"),
    "name": ("이름", "명칭"),
    "option": ("옵션", "선택지"),
}
KO_EN_OTHER = {
    "값": ("value", "figure"),
    "메뉴": ("menu", "chart"),
    "이미지": ("image", "picture"),
    "모듈": ("module", "component"),
    "서버": ("server", "host"),
    "비밀번호": ("password", "passphrase"),
    "열": ("column", "pillar"),
    "텍스트": ("text", "wording"),
    "이름": ("name", "title"),
    "옵션": ("option", "alternative"),
}

PLURALS = {"entity": "entities"}

# What follows a noun in Korean text, as far as the references need it; and pairs of shapes that agree.
CASES = "에서|에게|으로|로|에|와|과|의|만|도|까지|부터|마다|보다|처럼"
PARTICLES = f"(?:들?(?:{CASES})*(?:은|는|이|가|을|를|의|나|이나|도|만|인|이면|입니다)?)"
AGREEING = [("은", "는"), ("이", "가"), ("을", "를"), ("과", "와"), ("으로", "로"), ("이나", "나")]

WORDS = {
    "표": "표 표의 표를 표는 표에",
    "셀": "셀 셀이 셀을 셀에 셀과 셀입니다 셀의",
    "열": "열 열의 열로 열을 열과 열은 열들은",
    "행": "행 행을 행이나 행과 행에 행의 행에서",
    "문": "문 문을 문이 문일",
    "글": "글 글을",
    "창": "창 창을 창의 창이 창에 창은 창에서 창이나 창이라는 창으로 창과",
    "키": "키 키를 키로 키가 키의 키에 키는 키와 키보다",
    "값": "값 값을 값이 값은 값의 값으로 값에 값과 값입니다 값들을 값들은 값인 값에서 값보다 값만 값이어야",
    "줄": "줄 줄을 줄에 줄의 줄로 줄이 줄에서의 줄은 줄에서 줄들만",
    "로그": "로그 로그가 로그를",
    "색": "색 색을 색과 색으로",
    "길": "길 길에",
    "문서": "문서 문서를 문서의 문서에서 문서에 문서는 문서가 문서입니다 문서로 문서라고 문서에서만 문서와의 "
    "문서에서는 문서와 문서에를 문서에만",
    "파일": "파일 파일을 파일의 파일에 파일이 파일에서 파일로 파일은 파일이나 "
    "파일로의 파일만 파일입니다 파일과 파일이면 파일에만 파일에는",
    "서버": "서버 서버에 서버를 서버가 서버의 서버에서 서버는 서버로 서버로부터",
    "사용자": "사용자 사용자가 사용자에게 사용자는 사용자의 사용자를 사용자로 사용자에 사용자만",
    "함수": "함수 함수를 함수는 함수가 함수로 함수에 함수와 함수에서 "
    "함수도 함수의 함수라면 함수처럼 함수일 함수임에 함수입니다 함수들은 함수나",
    "복사": "복사 복사가 복사에",
    "저장": "저장",
    "table": "table Table tables TABLES TABLE",
    "cell": "cell cells Cell",
    "document": "document Document documents Documents",
    "file": "file files File Files FILE",
    "user": "user users User Users",
    "function": "function functions Function Functions",
    "string": "string strings String",
    "object": "object objects Object",
    "page": "page pages Page",
    "list": "list List lists Lists",
    "key": "key keys Keys Key",
    "log": "log logs Log Logs",
    "tab": "tab tabs Tab Tabs TAB TABS",
    "policy": "policy policies Policy Policies",
    "box": "box boxes Box Boxes",
    "class": "class classes Class Classes",
    "index": "index indexes Index Indexes",
    "process": "process processes Process Processes",
}


def korean_word(word: str) -> re.Pattern[str]:
    """The word with its particles, which are group 1."""
    return re.compile(rf"(?<![가-힣]){word}({PARTICLES})(?![가-힣])")


def english_word(word: str) -> re.Pattern[str]:
    """The word or its plural in any case; a plural is group 1."""
    return re.compile(rf"\b(?:{word}|({plural(word)}))\b", re.IGNORECASE)


def plural(word: str) -> str:
    """The plural of one of the words of this file."""
    return PLURALS.get(word, word + "s")


def agreeing(word: str, particles: str) -> str:
    """`word` and the particles of another word, the first of them in the shape that agrees."""
    final = (ord(word[-1]) - ord("가")) % 28
    for closed, opened in AGREEING:
        for shape in (closed, opened):
            if particles.startswith(shape) and not (shape == "이" and particles.startswith("입")):
                vowel = not final or (final == 8 and opened == "로")
                return word + (opened if vowel else closed) + particles[len(shape) :]
    return word + particles


def put_korean(text: str, usual: str, odd: str) -> str:
    """`text` with `odd` in place of the word `usual`."""
    return korean_word(usual).sub(lambda match: agreeing(odd, match[1]), text)


def put_english(text: str, usual: str, odd: str) -> str:
    """The same in English: the plural stays a plural, and a capital a capital."""

    def written(match: re.Match[str]) -> str:
        new = plural(odd) if match[1] else odd
        return new.upper() if match[0].isupper() else new.capitalize() if match[0][0].isupper() else new

    return english_word(usual).sub(written, text)
