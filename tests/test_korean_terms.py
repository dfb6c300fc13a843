"""Korean texts keep to `docs/ko/vocabulary.md`: one term for one concept, none of the forms it replaces, 합니다체."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VOCABULARY = ROOT / "docs/ko/vocabulary.md"
PAGE_TEXTS = [ROOT / f"src/dragoman/{package}/web/texts.ko.json" for package in ("inspection", "serve")]
PAGES = sorted([*(ROOT / "docs/ko").rglob("*.md"), ROOT / "README.ko.md"])
FILES = [*PAGE_TEXTS, *PAGES]

FENCE = re.compile(r"^(`{3,}|:{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\|(?P<english>[^|]*)\|(?P<korean>[^|]*)\|$", re.MULTILINE)
HANGUL = re.compile("[가-힣]")
END_OF_SENTENCE = re.compile(r"(?<=[.?!:])(?=[\s)\"'”’*]|$)")
LIST_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", re.MULTILINE)


# A term of the vocabulary: what is not used instead of it. Of words that are inflected, the beginning is enough.
NOT_USED = """
어텐션: 주의 메커니즘, 주목 기법
셀프 어텐션: 자기 주의, 자기 어텐션, 셀프어텐션
마스크드 셀프 어텐션: 가려진 셀프 어텐션
인코더-디코더 어텐션: 교차 어텐션, 교차 주의
멀티 헤드 어텐션: 다중 헤드, 멀티헤드
스케일드 닷 프로덕트 어텐션: 닷-프로덕트, 스케일드 닷-프로덕트
쿼리: 질의
밸류: 키와 값, 키이고 값, 벨류
어텐션 스코어: 어텐션 점수
어텐션 가중치: 몫
가중치: 무게
가중합: 섞은 값
컨텍스트 벡터: 문맥 벡터
은닉 상태: 숨은 상태, 히든 스테이트
순환 신경망: 재귀 신경망
잔차 연결: 잔여 연결, 스킵 연결
잔차 스트림: 잔차 흐름
층 정규화: 레이어 정규화, 계층 정규화
서브층: 부분층, 하위 층
위치 인코딩: 포지셔널 인코딩, 위치 부호화
회전 위치 인코딩: 로터리
포지션 와이즈 피드 포워드 신경망: 포지션-와이즈, 피드포워드, 순방향 신경망
패딩 마스크: 채움 마스크
룩어헤드 마스크: 룩-어헤드, 선행 마스크
차원: 폭, 너비
매개변수: 파라미터
선형층: 완전 연결층
소프트맥스: 소프트 맥스
캐시: 캐쉬
말뭉치: 코퍼스
서브워드: 부분 단어, 하위 단어
단어: 낱말
어휘: 단어장, 단어 집합
소스 토큰: 원문 토큰
타깃 토큰: 목표 토큰, 번역문 토큰, 타겟
문장 시작 토큰: 시작 표시, 시작 기호
문장 끝 토큰: 끝 표시, 끝 기호, 종료 토큰
미등록 토큰: 모르는 조각, 미등록 기호
배치: 묶음
마이크로배치: 마이크로 배치
학습: 훈련
스텝: 걸음, 학습 단계
업데이트: 갱신
손실: 로스
기울기: 그래디언트, 그레이디언트
클리핑: 누적과 자르기, 기울기 자르기
역전파: 역방향 전파
학습률: 러닝 레이트
워밍업: 웜업, 예열
라벨 스무딩: 레이블 스무딩
드롭아웃: 드랍아웃
교사 강요: 티처 포싱
체크포인트: 체크 포인트, 검사점
검증 집합: 검증 텍스트, 검증 세트
시험 집합: 테스트셋, 테스트 세트
조기 종료: 조기 중단
앙상블: 두 모델을 함께, 여러 모델의 평균
지식 증류: 문장 단위 증류
교사 모델: 선생 모델
어댑터: 아답터
미세 조정: 파인튜닝, 파인 튜닝
레시피: 비법
재개: 이어 하기
장애: 고장
퍼플렉시티: 혼란도
가능도: 우도
이중 학습: 쌍대, 듀얼 러닝
생성: 말하, 말한, 말할, 말합, 말해, 말했
예측: 맞힙, 맞히
탐욕 탐색: 그리디
빔 서치: 빔 탐색
트리: 탐색의 나무
앞부분: 정해진 시작
길이 페널티: 길이 벌점, 패널티
커버리지 페널티: 커버리지 벌점
샘플링: 표본, 무작위 추출
반복: 되풀이 금지
후보 어휘: 짧은 후보 목록
번들: 꾸러미
영향: 느껴, 느끼, 느낄, 느낍
비교: 견주, 견줄, 견줍, 맞대, 잣대
성질: 법칙
포화: 구석에 몰
알려: 이름을 대, 이름을 댑, 이름이 불
측정: 잰 값
텍스트: 손대지 않은 글
"""
REPLACED = {
    form.strip(): term
    for term, _, forms in (line.partition(": ") for line in NOT_USED.strip().splitlines())
    for form in forms.split(",")
}
TERMS = [
    match["korean"].strip()
    for match in ROW.finditer(VOCABULARY.read_text(encoding="utf-8"))
    if HANGUL.search(match["korean"]) and match["english"].strip() != "English"
]


def text_of(path: Path) -> str:
    """What a reader sees of a file."""
    text = path.read_text(encoding="utf-8")
    return "\n\n".join(json.loads(text).values()) if path in PAGE_TEXTS else text


def replaced_forms(text: str) -> list[str]:
    """The replaced forms with which a word of `text` begins, each with the term to use. Wrapped lines count as one."""
    flat = re.sub(r"\s+", " ", text)
    return [f"{form} → {term}" for form, term in REPLACED.items() if re.search(rf"(?<![가-힣]){re.escape(form)}", flat)]


def sentences(text: str) -> list[str]:
    """Sentences of prose: no code, tables or headings."""
    text = re.sub(r"`[^`\n]*`", "`", FENCE.sub("\n\n", text))
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"^(?:#|\s*\||\[[^\]]*\]$).*$", "\n", text, flags=re.MULTILINE)
    paragraphs = re.split(r"\n\s*\n", LIST_ITEM.sub("\n\n", text))
    parts = (part for paragraph in paragraphs for part in END_OF_SENTENCE.split(re.sub(r"\s+", " ", paragraph)))
    return [part.strip() for part in parts if HANGUL.search(part)]


def not_in_formal_style(text: str) -> list[str]:
    """Sentences of prose in plain style (`-다`) or in 해요체 instead of 합니다체."""
    ends = ((sentence, re.sub(r"[^가-힣]+$", "", sentence)) for sentence in sentences(text))
    return [sentence for sentence, end in ends if re.search(r"(?:(?<!니)다|요)$", end)]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_replaced_form_is_used() -> None:
    assert FILES
    forms = {name_of(path): replaced_forms(text_of(path)) for path in FILES}
    assert {name: lines for name, lines in forms.items() if lines} == {}


def test_prose_is_in_formal_style() -> None:
    informal = {name_of(path): not_in_formal_style(text_of(path)) for path in FILES}
    assert {name: lines for name, lines in informal.items() if lines} == {}


def test_every_term_is_used() -> None:
    everything = re.sub(r"\s+", " ", " ".join(text_of(path) for path in FILES if path != VOCABULARY))
    assert [term for term in TERMS if term not in everything] == []


def test_a_term_is_chosen_once_and_replaces_none_that_is_chosen() -> None:
    assert len(TERMS) > 80
    assert len(set(TERMS)) == len(TERMS)
    assert [form for form in REPLACED if any(form in term for term in TERMS)] == []
    assert set(REPLACED.values()) <= set(TERMS)


def test_a_planted_form_is_found() -> None:
    def finds(form: str) -> bool:
        return any(line.startswith(f"{form} → ") for line in replaced_forms(f"이 문장에는 {form}이(가) 있습니다."))

    assert [form for form in REPLACED if not finds(form)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("모델은 문장을 번역한다.", True),
        ("한 줄에서 시작해\n다음 줄에서 끝난다. 이어집니다.", True),
        ("- 앞의 항목입니다.\n- 뒤의 항목이다.", True),
        ("(괄호 안에서도 마찬가지다.)", True),
        ("다음과 같다:\n\n```\n코드\n```", True),
        ("**강조한다.** 그리고 이어집니다.", True),
        ("이렇게 하면 돼요.", True),
        ("모델은 문장을 번역합니다.", False),
        ("값은 얼마입니까? 직접 구해 보십시오.", False),
        ('`dragoman translate "계약은 해지된다."`를 실행합니다.', False),
        ("```\n계약은 해지된다.\n```", False),
        ("# 이동은 회전이다", False),
        ("| 표의 칸 | 마찬가지다 |", False),
        ("- 명사로 끝나는 항목", False),
    ],
)
def test_plain_style_is_found(text: str, found: bool) -> None:
    assert bool(not_in_formal_style(text)) == found
