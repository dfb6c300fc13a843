"""The suite's cases: each kind changes what it names, and its reference is what a right translation would be."""

import re

import pytest

from dragoman.data.make.robustness import NAMES, RobustnessCases, variants, without_final_mark

SOURCES = [
    "Save the file.",
    "The report of 2019 has 12 pages!",
    "",
    "Open the folder {name} now",
    "Is the printer ready?",
    "Close all windows of the program.",
    "Restart",
    "You have 3 new messages in 2 folders.",
]
REFERENCES = [
    "Speichern Sie die Datei.",
    "Der Bericht von 2019 hat 12 Seiten!",
    "",
    "Öffnen Sie jetzt den Ordner {name}",
    "Ist der Drucker bereit?",
    "Schließen Sie alle Fenster des Programms.",
    "Neu starten",
    "Sie haben 3 neue Nachrichten in 2 Ordnern.",
]
USED = [0, 1, 3, 4, 5, 6, 7]


def suite(lines: int = 100, seed: int = 1) -> dict[str, RobustnessCases]:
    found, skipped = variants(SOURCES, REFERENCES, lines, seed)
    assert not skipped
    return {variant.kind: variant for variant in found}


def test_every_kind_has_cases_that_differ_from_the_plain_text() -> None:
    for kind, variant in suite().items():
        joined = [" ".join(SOURCES[index] for index in origin) for origin in variant.origins]
        plain = [" ".join(REFERENCES[index] for index in origin) for origin in variant.origins]
        assert list(variant.plain_references) == plain
        assert len(variant.sources) == len(variant.references) == len(variant.origins) > 0
        if kind not in ("sentences", "whole"):
            assert all(source != line for source, line in zip(variant.sources, joined, strict=True)), kind


def test_the_same_seed_gives_the_same_cases_and_another_seed_others() -> None:
    assert variants(SOURCES, REFERENCES, 100, 3) == variants(SOURCES, REFERENCES, 100, 3)
    assert suite(seed=3)["typos"].sources != suite(seed=4)["typos"].sources


def test_case_is_changed_in_the_source_and_compared_without() -> None:
    found = suite()
    assert found["upper"].sources[2] == "OPEN THE FOLDER {name} NOW"
    assert found["title"].sources[0] == "Save The File."
    assert found["upper"].references[0] == REFERENCES[0]
    assert found["upper"].comparable("ÖFFNEN") == found["title"].comparable("öffnen")


def test_the_final_mark_is_absent_on_every_side() -> None:
    variant = suite()["unpunctuated"]
    assert variant.sources[:2] == ("Save the file", "The report of 2019 has 12 pages")
    assert variant.comparable(REFERENCES[1]) == variant.comparable(REFERENCES[1][:-1]) == REFERENCES[1][:-1]


@pytest.mark.parametrize(
    ("text", "bare"),
    [("좋아요。", "좋아요"), ("“Go!”", "“Go”"), ("no mark", "no mark"), ("...", "..."), ("Ja ?", "Ja")],
)
def test_the_final_mark_of_any_language(text: str, bare: str) -> None:
    assert without_final_mark(text) == bare


def test_a_word_is_one_of_its_line_and_only_precision_counts() -> None:
    variant = suite()["word"]
    assert variant.precision_only
    for word, (index,) in zip(variant.sources, variant.origins, strict=True):
        assert word in re.findall(r"\w+", SOURCES[index])
        assert word.isalpha()


def test_numbers_change_alike_on_both_sides_or_stand_in_front() -> None:
    variant = suite()["number"]
    for source, reference, (index,) in zip(variant.sources, variant.references, variant.origins, strict=True):
        numbers = re.findall(r"\d+", source)
        assert sorted(re.findall(r"\d+", reference)) == sorted(numbers)
        before = re.findall(r"\d+", SOURCES[index])
        if before:
            assert [len(number) for number in numbers] == [len(number) for number in before]
            assert all(one != other for one, other in zip(numbers, before, strict=True))
        else:
            assert source == f"({numbers[0]}) {SOURCES[index]}"


def test_the_name_is_in_a_script_that_the_text_lacks() -> None:
    variant = suite()["script"]
    for source, reference in zip(variant.sources, variant.references, strict=True):
        [name] = re.findall(r"\(([^{}]+)\)", source)
        assert name in NAMES.values()
        assert name != NAMES["LATIN"]
        assert f"({name})" in reference
    assert variant.sources[0].endswith(").")


def test_joined_lines_are_consecutive_and_none_is_lost_from_the_whole() -> None:
    found = suite()
    assert found["whole"].origins == (tuple(USED),)
    assert found["whole"].sources == (" ".join(SOURCES[index] for index in USED),)
    for group in found["sentences"].origins:
        assert 3 <= len(group) <= 5
        assert USED[USED.index(group[0]) :][: len(group)] == list(group)


def test_at_most_as_many_lines_as_asked_for_spread_over_the_text() -> None:
    found = suite(lines=3)
    assert found["typos"].origins == ((0,), (3,), (5,))
    assert all(len(variant.sources) <= 3 for variant in found.values())


def test_a_language_without_case_says_so() -> None:
    found, skipped = variants(["파일을 저장합니다", "문서를 엽니다", "창을 닫습니다"], ["a", "b", "c"], 10, 1)
    assert set(skipped) == {"upper", "title", "unpunctuated"}
    assert "case" in skipped["upper"]
    assert {variant.kind for variant in found} == {"typos", "word", "number", "script", "sentences", "whole"}


def test_without_text_there_is_nothing() -> None:
    found, skipped = variants([""], ["a"], 10, 1)
    assert not found
    assert len(skipped) == 9
