"""Korean particles (조사): what may follow a noun within the same run of Hangul. Data, and the grammar that reads it.

Input: a noun and the Hangul that follows it. Output: whether that is a chain of particles (`에서`, `들에게만`), and the
same chain after another noun. Endings of verbs (용언 어미) are no particles: `복사` is not in `복사합니다`.

A particle has up to two shapes, after a final consonant (받침) and after a vowel: `표를` but `칸을`. A shape that does
not agree with the syllable before it is part of a longer word: `표이` is no `표`. Forms of the copula (이다) count as
particles; those of one syllable only after two syllables or more, because `색인` and `문인` are words of their own.

What agrees may still be another word: `문의` is an inquiry more often than the door's. `OTHER_WORDS` lists such words;
a run that is one of them, with its own particles, contains no shorter noun. The list is short and can be extended.
"""

import re
from functools import lru_cache

# After a final consonant / after a vowel; one shape serves both where there is no slash.
_PLURAL = "들"
_CASE = """에 에서 에게 에게서 한테 한테서 께 께서 으로/로 으로서/로서 으로써/로써 으로부터/로부터 과/와 이랑/랑 보다
처럼 만큼 대로 마다 만 도 까지 부터 마저 조차 밖에 뿐 뿐만 에선 에겐 한텐"""
_FINAL = "은/는 이/가 을/를 의 이나/나 이라도/라도 이야/야 이든/든 이든지/든지 이란/란 이나마/나마"
_COPULA = """입니다 이다 이며 이고 이면 이면서 이므로 이지만 이거나 이어야/여야 이어야 이라면/라면 이라는/라는
이라고/라고 이나 이라도 이란 이든 이든지 이었다/였다 이었던/였던 이었습니다/였습니다 인데 인지 인지를 이기
이에요/예요 입니까 인가요 일까요 이라서 이니까 이죠 이네요 이라며"""
# Without 이 these are endings of verbs too: 차고, 차니까.
_SHORT_COPULA = """인 일 임 임을 이면/면 인가 이고/고 이며/며 이지만/지만 이므로/므로 이라서/라서 이니까/니까 이죠/죠
이네요/네요 이라며/라며"""

# Nouns that are also stems of verbs in 이: `줄이고` is shortening more often than a line.
_VERBS_IN_I = frozenset("줄속들보쌓붙높죽먹놓쓰꼬모섞녹")

# Words that look like a shorter noun with a particle, by that particle.
_LISTED = """
길이 높이 깊이 넓이 종이 먹이 놀이 변이 송이 동이 벌이 손잡이 전이 특이 편이 같이 굳이 일일이
각도 속도 정도 강도 온도 밀도 빈도 연도 경도 고도 한도 용도 의도 시도 지도 제도 태도 척도 포도 채도 명도 심도 감도
농도 습도 광도
휘도 점도 반도 압도 별도 극도 유도 보도 파도 법도 성도 기도 궤도 수도 재시도 색온도 투명도 불투명도 해상도 고해상도
정확도 정밀도
선호도 신뢰도 민감도 유사도 활용도 흐름도 순서도 난이도 중요도 선명도 내구도 인지도 우선도 상세도 전송속도 이동속도
경로 서로 바로 새로 가로 세로 따로 도로 회로 스스로 별로 그대로 제대로 마음대로 절대로 피로 주로 미로 포로 진로 통로
선로 행로 홀로
문의 정의 주의 동의 회의 논의 질의 합의 협의 강의 건의 편의 임의 고의 악의 호의 혐의 불의 공의 함의 의의 유의 결의
항의 토의 심의 재정의
추가 휴가 화가 대가 부가 허가 요가
결과 통과 성과 학과 투과 경과 검색결과 출력결과
하나 누나 바나나 만들 흔들 불만 대만 오만 미만 비만 천만 십만 백만 교만 낭만 가만
검은 적은 주는 가는 오는 하는 되는 보는 쓰는 사는 자는 치는 지는 나는 여는
조도 절도 세대 시대 시야 모든 함께 파란 교란 소란 계란 사랑 자랑 파랑 노랑 도랑 고랑
로그인 플러그인 체크인 애드인 믹스인 빌트인 대리인 관리인 변호인 한국인 미국인 중국인 일본인 영국인 독일인 외국인
일반인 장애인 직장인
정치인 민간인 예술인 수신인 발신인 의뢰인 상속인 여주인 지식인 기업인 이방인
스타일 시작일 종료일 만료일 마감일 기념일 공휴일 만기일 지급일 요청일 생산일 결산일 휴무일 발행일 작성일 수정일 등록일
게시일 출시일 무기고
가지고 가지며 가지지만 가지니까 자사고 특성화고 외국어고 영재고 아이고 다리고 다리며
"""
OTHER_WORDS = frozenset(_LISTED.split())

_DIGITS = "영일이삼사오육칠팔구"  # how digits are read

Shape = tuple[str, str]  # after a final consonant, after a vowel
Particle = tuple[str, Shape]  # as written, and its shapes


def _shapes(*lists: str) -> list[Shape]:
    pairs = [item.partition("/") for listed in lists for item in listed.split()]
    return [(closed, opened or closed) for closed, _, opened in pairs]


_CONTINUED, _LAST, _SHORT = _shapes(_PLURAL, _CASE), _shapes(_FINAL, _COPULA), _shapes(_SHORT_COPULA)
_HANGUL = re.compile("[가-힣]*")
_FIRST_SYLLABLE, _FINALS, _RIEUL = ord("가"), 28, 8


def hangul_run(text: str, start: int) -> int:
    """Where the syllables of Hangul that begin at `start` end."""
    match = _HANGUL.match(text, start)
    return match.end() if match else start


def is_particles(noun: str, rest: str, agree: bool = True) -> bool:
    """Whether `rest` is empty or a chain of particles of `noun`, and both together are no other word.

    Without `agree`, every particle may have either shape, as in `파일을(를)`.
    """
    if not rest:
        return True
    if not _is_chain(noun, rest, agree):
        return False
    word = noun + rest
    ends = range(len(noun) + 1, len(word) + 1)
    return not any(
        word[:end] in OTHER_WORDS and (end == len(word) or _is_chain(word[:end], word[end:], agree)) for end in ends
    )


def with_particles(noun: str, rest: str) -> str:
    """`noun` with the particles `rest` of another noun, in the shapes that agree; `rest` may be anything else."""
    readings = _readings(rest, True)
    if not readings or hangul_run(noun, len(noun) - 1) < len(noun):
        return noun + rest
    written, shape = readings[0][0]
    return noun + _agreeing(noun, shape) + rest[len(written) :]


def particles_start(word: str) -> int:
    """Where the particles at the end of a word begin: the longest chain that leaves a character or more."""
    run = next((at for at in range(len(word), 0, -1) if hangul_run(word, at - 1) < len(word)), 0)
    if run and _readings(word[run:], True):  # after another script nothing has to agree
        return run
    return next((at for at in range(run + 1, len(word)) if is_particles(word[run:at], word[at:])), len(word))


def _is_chain(noun: str, rest: str, agree: bool) -> bool:
    """Whether `rest` can be read as particles of `noun`, one agreeing with the syllable before the other."""
    if len(noun) == 1 and noun in _VERBS_IN_I and rest.startswith("이") and len(rest) > 1:
        return False
    for reading in _readings(rest, len(noun) > 1):
        before = noun
        for written, shape in reading:
            if agree and written != _agreeing(before, shape):
                break
            before = written
        else:
            return True
    return False


def _agreeing(before: str, shape: Shape) -> str:
    """The shape of a particle after `before`; 로 follows ㄹ as it follows a vowel."""
    final = (ord(before[-1]) - _FIRST_SYLLABLE) % _FINALS
    return shape[not final or (final == _RIEUL and shape[1].startswith("로"))]


@lru_cache(maxsize=1 << 14)
def _readings(rest: str, short: bool) -> tuple[tuple[Particle, ...], ...]:
    """Every chain of particles that is written `rest`, the longest first particle first."""
    last = _SHORT + _LAST if short else _LAST
    whole = [((rest, shape),) for shape in _CONTINUED + last if rest in shape]
    started = {(first, shape) for shape in _CONTINUED for first in shape if rest.startswith(first) and rest != first}
    chains = [
        ((first, shape), *following)
        for first, shape in sorted(started, key=lambda item: (-len(item[0]), item))
        for following in _readings(rest[len(first) :], True)
    ]
    return (*whole, *chains)


def both_shapes(rest: str) -> str:
    """Particles after a noun that nobody knows yet, the first in both of its shapes: `을(를)`, `(으)로`."""
    readings = _readings(rest, False) if rest else ()  # 고 and 니까 are more often something else
    if not readings:
        return rest
    written, (closed, opened) = readings[0][0]
    if closed == opened:
        return rest
    both = f"({closed.removesuffix(opened)}){opened}" if closed.endswith(opened) else f"{closed}({opened})"
    return both + rest[len(written) :]


def with_number_particles(number: str, rest: str) -> str:
    """The particles of another number in the shapes that agree with `number`, as it is read in Korean."""
    digits = [character for character in number if character.isdigit()]
    if not digits:
        return rest
    zeros = len(digits) - len("".join(digits).rstrip("0"))
    if zeros == 0 or zeros == len(digits) or not number[-zeros:].isdigit():
        read = _DIGITS[int(digits[-1])]
    else:
        read = "십백천만만만만억"[min(zeros, 8) - 1]
    return with_particles(read, rest)[1:]


# Letters whose English names end with a consonant, as Korean reads them: 엘, 엠, 엔, 알.
_CLOSED_LETTERS = {"l": "엘", "m": "엠", "n": "엔", "r": "알"}


def with_particles_of(name: str, rest: str) -> str:
    """The particles of another noun in the shapes that agree with `name`, a copied text; in both where that is unknown.

    A name that ends with a letter is read by this letter, one that ends with a digit as a number.
    """
    last = name.rstrip("\"'”’)]}>")[-1:]
    if last.isascii() and last.isdigit():
        return with_number_particles(name, rest)
    if last.isascii() and last.isalpha():
        is_word = name.islower() and last == "r"  # which a vowel ends, as it is read
        return with_particles("이" if is_word else _CLOSED_LETTERS.get(last.lower(), "이"), rest)[1:]
    if "가" <= last <= "힣":
        return with_particles(last, rest)[1:]
    return both_shapes(rest)
