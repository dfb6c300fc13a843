"""`check_data`: each doubt is counted and its first place told; what cannot be trained on stops it."""

import gzip
import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from dragoman.config import CorpusConfig, DataConfig
from dragoman.data.check import CorpusReport, Finding, check_data, looks_tokenised, problems, summary
from dragoman.errors import DataError


def data_of(folder: Path, train: list[tuple[str, str]], **others: list[tuple[str, str]]) -> DataConfig:
    """A data section whose corpora hold these pairs; `valid` holds one that is nowhere else unless given."""
    corpora = {"train": train, "valid": [("kept apart", "bewahrt")], **others}
    for name, pairs in corpora.items():
        (folder / f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    held = {name: CorpusConfig(source=folder / f"{name}.tsv") for name in corpora if name != "train"}
    return DataConfig(train=(CorpusConfig(source=folder / "train.tsv"),), **held)  # type: ignore[arg-type]


def plain(count: int) -> list[tuple[str, str]]:
    letters = [f"{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}{chr(97 + n // 676)}" for n in range(count)]
    return [(f"these are some words {word}", f"das sind einige worte {word}") for word in letters]


def findings(data: DataConfig) -> dict[str, Finding]:
    """What was found in the training text."""
    return check_data(data)[-1].findings


def test_clean_text_has_no_findings(tmp_path: Path) -> None:
    reports = check_data(data_of(tmp_path, plain(150), test=[("other", "andere")]))
    assert list(problems(reports)) == []
    assert [report.name for report in reports] == ["valid", "test", "train[0]"]


@pytest.mark.parametrize(
    ("pair", "kind"),
    [
        pytest.param(("the very same four words", "the very same four words"), "target copies the source", id="copy"),
        pytest.param(("page 12 of 30", "seite 12 von 31"), "numbers differ", id="numbers"),
        pytest.param(("salt &amp; pepper", "salz und pfeffer"), "HTML entities", id="named entity"),
        pytest.param(("salt and pepper", "salz &#38; pfeffer"), "HTML entities", id="numbered entity"),
        pytest.param(("coffee", "cafÃ© au lait"), "damaged characters", id="UTF-8 read as Latin-1"),
        pytest.param(("it\u00e2\u20ac\u2122s", "das ist"), "damaged characters", id="quotes read as Windows-1252"),
        pytest.param(("coffee \ufffd", "kaffee"), "damaged characters", id="replacement character"),
        pytest.param(("words and words and words", "x" * 400), "lengths far apart", id="far too long"),
        pytest.param(("w" * 400, "kurz"), "lengths far apart", id="far too short"),
    ],
)
def test_a_doubtful_pair_is_counted_with_its_place(tmp_path: Path, pair: tuple[str, str], kind: str) -> None:
    found = findings(data_of(tmp_path, [*plain(120), pair, *plain(300)[200:], pair]))
    assert found.pop(kind) == Finding(2, f"{tmp_path}/train.tsv:121")
    assert found.keys() <= {"repeated pairs", "numbers differ"}  # the second of the pair repeats the first


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(("OK", "OK"), id="a short word that is the same in both languages"),
        pytest.param(("R&D and A&B;", "F&E und A&B;"), id="an ampersand that is no entity"),
        pytest.param(("a stray blank .", "ein loses Leerzeichen."), id="one full stop apart"),
        pytest.param(("3 of 7", "7 / 3"), id="numbers in another order"),
        pytest.param(("Ärger in Île-de-France", "ennui à l’Île, 앨범"), id="accents that are meant"),
    ],
)
def test_what_only_looks_doubtful_is_let_pass(tmp_path: Path, pair: tuple[str, str]) -> None:
    assert findings(data_of(tmp_path, [*plain(120), pair])) == {}


@pytest.mark.parametrize("stop", [(" .", "."), (".", " ."), (" .", " .")])
def test_text_that_a_tokeniser_has_cut_is_told(tmp_path: Path, stop: tuple[str, str]) -> None:
    cut = [(source + stop[0], target + stop[1]) for source, target in plain(120)[:60]]
    found = findings(data_of(tmp_path, [*plain(120)[60:], *cut]))
    assert found == {"lines look tokenised": Finding(60, f"{tmp_path}/train.tsv:61")}


def test_text_cut_into_words_is_told_from_raw_text() -> None:
    assert looks_tokenised(["a dog .", "a cat", "birds , two ."])
    assert not looks_tokenised(["a dog .", "a cat.", "birds, two."])
    assert not looks_tokenised([])


def test_repeated_pairs_are_counted_from_the_second_on(tmp_path: Path) -> None:
    found = findings(data_of(tmp_path, [("one", "eins"), ("two", "zwei"), ("one", "eins"), ("one", "eins")]))
    assert found == {"repeated pairs": Finding(2, f"{tmp_path}/train.tsv:3")}


ALIKE = [
    pytest.param("Straße in  Köln ", id="spaces"),
    pytest.param("STRASSE IN KÖLN", id="case"),
    pytest.param("Straße in Ko\u0308ln", id="composition"),
    pytest.param("Straße in\u00a0Köln\u200b", id="spaces that are no spaces"),
]


@pytest.mark.parametrize("alike", ALIKE)
def test_what_differs_in_case_and_spaces_alone_is_a_repeat_and_a_leak(tmp_path: Path, alike: str) -> None:
    pairs = [("Straße in Köln", "a street"), (alike, "A  street")]
    found = findings(data_of(tmp_path, pairs, valid=[("straße in köln", "street")]))
    assert found == {
        "repeated pairs": Finding(1, f"{tmp_path}/train.tsv:2"),
        "source also in valid": Finding(2, f"{tmp_path}/train.tsv:1"),
    }


def test_the_same_source_with_another_translation_is_no_repeat(tmp_path: Path) -> None:
    assert findings(data_of(tmp_path, [("one", "eins"), ("one", "ein")])) == {}


def test_held_out_sources_in_training_text_are_counted_in_any_case(tmp_path: Path) -> None:
    found = findings(
        data_of(
            tmp_path,
            [("a", "x"), ("HELD out", "y"), ("Tested", "z")],
            valid=[("Held Out", "v")],
            test=[("tested", "t")],
        )
    )
    assert found == {
        "source also in valid": Finding(1, f"{tmp_path}/train.tsv:2"),
        "source also in test": Finding(1, f"{tmp_path}/train.tsv:3"),
    }


def test_repeats_between_two_training_corpora_are_found(tmp_path: Path) -> None:
    data = data_of(tmp_path, [("one", "eins")])
    (tmp_path / "more.tsv").write_text("two\tzwei\none\teins\n")
    both = data.model_copy(update={"train": (*data.train, CorpusConfig(source=tmp_path / "more.tsv"))})
    assert check_data(both)[-1].findings == {"repeated pairs": Finding(1, f"{tmp_path}/more.tsv:2")}


def test_sizes_hashes_and_the_longest_side_are_told(tmp_path: Path) -> None:
    report = check_data(data_of(tmp_path, [("one", "eins"), ("seventeen", "siebzehn")]))[-1]
    assert (report.pairs, report.source_characters, report.target_characters, report.longest) == (2, 12, 12, 9)
    assert report.sha256 == (hashlib.sha256((tmp_path / "train.tsv").read_bytes()).hexdigest(),)
    assert report.files == (str(tmp_path / "train.tsv"),)


def test_the_most_frequent_doubt_comes_first() -> None:
    report = CorpusReport("train[0]", (), (), findings={"rare": Finding(1, "a:1"), "common": Finding(9, "a:2")})
    assert [kind for _, kind, _ in problems([report])] == ["common", "rare"]


def test_summary_has_file_names_and_hashes_without_folders_and_text(tmp_path: Path) -> None:
    text = json.dumps(summary(check_data(data_of(tmp_path, [("secret words", "geheime worte")]))))
    assert str(tmp_path) not in text
    assert "secret" not in text
    assert "train.tsv" in text


def test_a_report_is_plain_data(tmp_path: Path) -> None:
    reports = check_data(data_of(tmp_path, [("one 1", "eins")]))
    assert (
        json.loads(json.dumps([asdict(report) for report in reports]))[-1]["findings"]["numbers differ"]["count"] == 1
    )


def test_progress_is_called_with_the_number_of_pairs(tmp_path: Path) -> None:
    heard: list[int] = []
    check_data(data_of(tmp_path, [("a", "b")] * 20_500), heard.append)
    assert heard == [10_000, 20_000]


# --- what stops the check ----------------------------------------------------------------------------------------


def test_a_corpus_without_lines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"^{tmp_path}/train.tsv: no lines; train\[0\] needs text$"):
        check_data(data_of(tmp_path, []))


def test_a_packed_corpus_without_lines_is_refused(tmp_path: Path) -> None:
    data = data_of(tmp_path, [("one", "eins")])
    (tmp_path / "v.tsv.gz").write_bytes(gzip.compress(b""))
    empty = data.model_copy(update={"valid": CorpusConfig(source=tmp_path / "v.tsv.gz")})
    with pytest.raises(DataError, match=r"v\.tsv\.gz: no lines; valid needs text$"):
        check_data(empty)


def test_a_missing_corpus_is_named(tmp_path: Path) -> None:
    data = data_of(tmp_path, [("one", "eins")])
    (tmp_path / "train.tsv").unlink()
    with pytest.raises(DataError, match=rf"^{tmp_path}/train.tsv: no such file; check the path$"):
        check_data(data)


def test_a_folder_in_place_of_a_corpus_is_named(tmp_path: Path) -> None:
    data = data_of(tmp_path, [("one", "eins")])
    (tmp_path / "train.tsv").unlink()
    (tmp_path / "train.tsv").mkdir()
    with pytest.raises(DataError, match=rf"^{tmp_path}/train.tsv: cannot be read: Is a directory$"):
        check_data(data)


def test_an_empty_side_stops_the_check(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"train\.tsv:2: empty line"):
        check_data(data_of(tmp_path, [("one", "eins"), ("two", "")]))
