"""Glossaries with the bundled models on CTranslate2: real translations, odd words, in the place of the model's own."""

import pytest

from dragoman.translator import Translator

ENGLISH = ["Select the cell.", "Save the document in a new file.", "The cells of a table.", "Press the key.", "Cell"]
KOREAN = [
    "표를 삽입합니다.",
    "문서를 저장합니다.",
    "새 파일을 만듭니다.",
    "텍스트를 표시하거나 숨깁니다.",
    "목록에서 파일을 선택합니다.",
]
ODD = {"cell": "칸", "document": "글월", "file": "서류철", "table": "도표", "key": "열쇠"}
TERMS = {"표": "grid", "문서": "article", "파일": "dossier", "목록": "index"}


@pytest.fixture(scope="module")
def en_ko() -> Translator:
    return Translator.load("en-ko", threads=1)


@pytest.fixture(scope="module")
def ko_en() -> Translator:
    return Translator.load("ko-en", threads=1)


def test_the_models_own_word_is_replaced_and_the_rest_stays(en_ko: Translator, ko_en: Translator) -> None:
    plain, kept = en_ko.translate("Select the cell."), en_ko.translate("Select the cell.", glossary=ODD)
    assert "셀을" in plain.text
    assert kept.text == plain.text.replace("셀을", "칸을")
    plain, kept = ko_en.translate("표를 삽입합니다."), ko_en.translate("표를 삽입합니다.", glossary=TERMS)
    assert "table" in plain.text
    assert kept.text == plain.text.replace("table", "grid")


def test_a_word_that_only_begins_like_the_term_changes_nothing(ko_en: Translator) -> None:
    line = "텍스트를 표시하거나 숨깁니다."
    assert ko_en.translate(line, glossary={"표": "grid"}) == ko_en.translate(line)


@pytest.mark.slow
def test_every_term_is_kept_alone_as_together_and_first_of_several(en_ko: Translator, ko_en: Translator) -> None:
    for translator, lines, terms in ((en_ko, ENGLISH, ODD), (ko_en, KOREAN, TERMS)):
        together = translator.translate(lines, glossary=terms)
        assert all(term.satisfied for translation in together for term in translation.terms)
        assert [len(translation.terms) for translation in together if translation.terms]
        assert [translator.translate(line, glossary=terms).text for line in lines] == [each.text for each in together]
        assert [each.text for each in translator.translate(lines, glossary=terms, n_best=3)] == [
            each.text for each in together
        ]
