"""What a user keeps: texts and expressions are found; a bad one is refused, a slow one stopped."""

import unicodedata
from pathlib import Path

import pytest

from dragoman.errors import ConfigError
from dragoman.system.processes import checked_by
from dragoman.text.terms.keep import check_keep, find_kept, read_keep


def kept(text: str, *entries: str) -> list[str]:
    return [hit.text for hit in find_kept(text, entries)]


def test_a_text_is_found_where_it_is_no_part_of_a_word_and_an_expression_wherever_it_matches() -> None:
    assert kept("Contoso and Contosos, ContosoX, Contoso를", "Contoso") == ["Contoso", "Contoso"]
    assert kept("New York Times in New York", "New York", "New York Times") == ["New York Times", "New York"]
    assert kept("order AB-12 and CD-345", r"/[A-Z]{2}-\d+/") == ["AB-12", "CD-345"]
    assert kept("nothing here", "Contoso", "/x*/") == []


@pytest.mark.parametrize("entry", ["/(a+/", "/[z-a]/", " ", "/" + "a" * 201 + "/"])
def test_an_entry_that_cannot_be_used_is_refused_with_the_remedy(entry: str) -> None:
    with pytest.raises(ConfigError, match=r"keep: .*; (correct|leave out|write)|write"):
        check_keep([entry])


@pytest.mark.parametrize(
    "entry",
    [
        "/(?:a{2000}){2000}/",
        "/(?:a{,101}){100,}/",
        "/(?x)(?:a{20 00}){ 2000 }/",
        "/(?x)(?:a{2#}\n000}){2000}/",
        "/a{0010001}/",
        "/(?:abcdefghij){9999}/",
    ],
)
def test_what_would_take_gigabytes_to_compile_is_refused(entry: str) -> None:
    with pytest.raises(ConfigError, match=r"repeats too much.*; write") as refused:
        check_keep([entry])
    assert len(str(refused.value)) < 200


def test_counts_of_usual_expressions_are_accepted() -> None:
    assert kept("AB-12-345", r"/[A-Z]{1,20}-\d{1,20}-\d{1,20}/") == ["AB-12-345"]
    check_keep([r"/\w{1,1000}/", r"/a{1000}/", r"/\{\d+\}/", "/{name}/", r"/\{#\w+\}/"])


def test_an_expression_that_never_ends_is_stopped() -> None:
    with pytest.raises(ConfigError, match=r"keep: /\(a\|aa\)\+\$/: takes too long .*leave out"):
        find_kept("a" * 60 + "b", ["/(a|aa)+$/"])


def test_the_work_that_nobody_waits_for_ends_before_the_next_expression() -> None:
    def check() -> None:
        raise LookupError

    with checked_by(check), pytest.raises(LookupError):
        find_kept("a", ["/a/"])


def test_a_file_has_one_entry_a_line_and_an_error_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "keep.txt"
    path.write_text("# names\nContoso\n\n/T\\d+/\n", "utf-8")
    assert read_keep([str(path), "Fabrikam", "Contoso"]) == ("Contoso", r"/T\d+/", "Fabrikam")
    path.write_text("Contoso\n/(/\n", "utf-8")
    with pytest.raises(ConfigError, match=r"keep\.txt:2: /\(/: .*correct"):
        read_keep([str(path)])


def test_letters_are_compared_composed_and_found_as_they_are_written() -> None:
    decomposed = unicodedata.normalize("NFD", "Über 홍길동님과 Café")
    assert kept(decomposed, "홍길동님과", "Café") == [
        unicodedata.normalize("NFD", name) for name in ("홍길동님과", "Café")
    ]
    assert kept(decomposed, "/[가-힣]+/") == [unicodedata.normalize("NFD", "홍길동님과")]
    assert kept("Über Café", unicodedata.normalize("NFD", "Café")) == ["Café"]
