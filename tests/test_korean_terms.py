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
ROW = re.compile(r"^\|(?P<english>[^|]*)\|(?P<korean>[^|]*)\|(?P<replaced>[^|]*)\|$", re.MULTILINE)
HANGUL = re.compile("[가-힣]")
END_OF_SENTENCE = re.compile(r"(?<=[.?!:])(?=[\s)\"'”’*]|$)")
LIST_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", re.MULTILINE)


def rows() -> list[tuple[str, list[str]]]:
    """(the Korean term, the forms it replaces) of each concept."""
    found = [match for match in ROW.finditer(VOCABULARY.read_text(encoding="utf-8")) if HANGUL.search(match["korean"])]
    terms = [match for match in found if match["english"].strip() != "English"]
    return [
        (match["korean"].strip(), [form for form in map(str.strip, match["replaced"].split(",")) if form])
        for match in terms
    ]


TERMS = [term for term, _ in rows()]
REPLACED = {form: term for term, forms in rows() for form in forms}


def text_of(path: Path) -> str:
    """What a reader sees of a file; of the vocabulary, not its column of replaced forms."""
    text = path.read_text(encoding="utf-8")
    if path in PAGE_TEXTS:
        return "\n\n".join(json.loads(text).values())
    return ROW.sub(r"|\1|\2|", text) if path == VOCABULARY else text


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


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_replaced_form_is_used(path: Path) -> None:
    assert replaced_forms(text_of(path)) == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_prose_is_in_formal_style(path: Path) -> None:
    assert not_in_formal_style(text_of(path)) == []


def test_every_term_is_used() -> None:
    everything = re.sub(r"\s+", " ", " ".join(text_of(path) for path in FILES if path != VOCABULARY))
    assert [term for term in TERMS if term not in everything] == []


def test_a_term_is_chosen_once_and_replaces_none_that_is_chosen() -> None:
    assert len(TERMS) > 80
    assert len(set(TERMS)) == len(TERMS)
    assert [form for form in REPLACED if any(form in term for term in TERMS)] == []


@pytest.mark.parametrize("form", REPLACED)
def test_a_planted_form_is_found(form: str) -> None:
    assert any(found.startswith(f"{form} → ") for found in replaced_forms(f"이 문장에는 {form}이(가) 있습니다."))


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
