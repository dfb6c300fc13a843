"""`check_data`: every fault is counted in one pass, with its first location; only an unreadable file stops it."""

import gzip
import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from dragoman.config import CleanConfig, CorpusConfig, DataConfig
from dragoman.data.check.check import check_data, looks_tokenised
from dragoman.data.corpus.block_reader import BlockReader
from dragoman.data.corpus.pair_block import BLOCK_LINES
from dragoman.data.corpus.report import CorpusFinding, CorpusReport, problems, require_usable, summary
from dragoman.errors import DataError

WORDS = "haus hund katze baum strasse wasser licht buch tisch fenster".split()
TRANSLATED = dict(zip(WORDS, "house dog cat tree road water light book table window".split(), strict=True))


def data_of(folder: Path, train: list[tuple[str, str]], **others: list[tuple[str, str]]) -> DataConfig:
    """A data section whose corpora hold these pairs; `valid` holds one that is nowhere else unless given."""
    corpora = {"train": train, "valid": [("kept apart", "bewahrt")], **others}
    for name, pairs in corpora.items():
        (folder / f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    held = {name: CorpusConfig(source=folder / f"{name}.tsv") for name in corpora if name != "train"}
    return DataConfig(train=(CorpusConfig(source=folder / "train.tsv"),), **held)  # type: ignore[arg-type]


def plain(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Pairs of different words and lengths, each with its translation."""
    rng = random.Random(seed)
    chosen = [[rng.choice(WORDS) for _ in range(rng.randint(2, 14))] for _ in range(count)]
    return [
        (" ".join([*words, _name(n)]), " ".join([*(TRANSLATED[word] for word in words), _name(n)]))
        for n, words in enumerate(chosen)
    ]


def _name(number: int) -> str:
    return "".join(chr(97 + number // 26**place % 26) for place in range(4))


def counts(data: DataConfig, source: str = "und", target: str = "und") -> dict[str, tuple[int, str]]:
    """Count and first location of what was found in the training text."""
    found = check_data(data, source, target)[-1].findings
    return {kind: (finding.count, finding.first) for kind, finding in found.items()}


def test_clean_text_has_no_findings(tmp_path: Path) -> None:
    reports = check_data(data_of(tmp_path, plain(150), test=[("other", "andere")]))
    assert list(problems(reports)) == []
    assert all(report.usable for report in reports)
    assert [report.name for report in reports] == ["valid", "test", "train[0]"]


@pytest.mark.parametrize(
    ("pair", "kind"),
    [
        pytest.param(("the very same words", "the very same words"), "copies", id="copy"),
        pytest.param(("OK", "OK"), "copies", id="a copy of one word"),
        pytest.param(("page 12 of 30", "seite 12 von 31"), "numbers", id="numbers"),
        pytest.param(("salt &amp; pepper", "salz und pfeffer"), "entities", id="entity"),
        pytest.param(("coffee", "cafÃ© au lait"), "mojibake", id="UTF-8 read as Latin-1"),
        pytest.param(("words and words and words", "x" * 400), "length_ratio", id="far too long"),
        pytest.param(("zero\u200bwidth", "nullbreit"), "zero_width", id="zero width"),
        pytest.param(("nul\x00", "null"), "control", id="NUL"),
        pytest.param(("a line\u2028separator", "trenner"), "control", id="line separator"),
        pytest.param(("a carriage\rreturn", "wagenrücklauf"), "control", id="CR inside a line"),
        pytest.param(("see www.a.org", "siehe"), "urls", id="address"),
        pytest.param(("the file {name}", "die Datei"), "placeholders", id="placeholder"),
    ],
)
def test_a_doubtful_pair_is_counted_with_its_location(tmp_path: Path, pair: tuple[str, str], kind: str) -> None:
    data = data_of(tmp_path, [*plain(120), pair, *plain(200, seed=2)[120:], pair])
    assert counts(data)[kind] == (2, f"{tmp_path}/train.tsv:121")
    off = data.model_copy(update={"clean": CleanConfig(**{kind: False})})
    assert kind not in counts(off)


@pytest.mark.parametrize("blank", ["", " ", "\u200b", "\ufeff \u00ad"])
@pytest.mark.parametrize("side", ["en", "ko"])
def test_an_empty_side_is_named_by_its_file(tmp_path: Path, side: str, blank: str) -> None:
    for name in ("en", "ko"):
        lines = [f"{name} {n}" for n in range(5)]
        (tmp_path / f"train.{name}").write_text("\n".join([blank if name == side else "text", *lines, ""]), "utf-8")
    data = data_of(tmp_path, plain(5))
    corpus = CorpusConfig(source=tmp_path / "train.en", target=tmp_path / "train.ko")
    assert counts(data.model_copy(update={"train": (corpus,)}))["empty"] == (1, f"{tmp_path}/train.{side}:1")


def test_all_faults_are_counted_in_one_run_and_training_is_refused_with_the_first(tmp_path: Path) -> None:
    data = data_of(tmp_path, plain(40))
    lines = (tmp_path / "train.tsv").read_bytes().split(b"\n")
    lines[4], lines[6], lines[8], lines[9] = b"\tempty", b"empty\t ", b"one column", b"Stra\xdfe\tstreet"
    (tmp_path / "train.tsv").write_bytes(b"\n".join(lines))
    reports = check_data(data)
    found = reports[-1].findings
    assert (found["empty"].count, found["empty"].first) == (2, f"{tmp_path}/train.tsv:5")
    assert (found["bad_bytes"].count, found["bad_bytes"].first) == (2, f"{tmp_path}/train.tsv:9")
    assert [example.detail for example in found["bad_bytes"].examples] == [
        "1 column; a line is source, one tab, target",
        "not UTF-8 (byte 0xdf); convert the file to UTF-8, with iconv for example",
    ]
    assert not reports[-1].usable
    with pytest.raises(
        DataError, match=rf"^{tmp_path}/train.tsv:9: 1 column; .*\(and 1 more: see `dragoman data check`"
    ):
        require_usable(reports)


def test_lines_that_are_no_objects_are_counted_with_the_reason(tmp_path: Path) -> None:
    lines = ['{"source": "one", "target": "eins"}', "[" * 100_000, "[]", "{", '{"source": "one"}', '{"source": 1}']
    (tmp_path / "train.jsonl").write_text("\n".join(lines) + "\n")
    data = data_of(tmp_path, [])
    data = data.model_copy(update={"train": (CorpusConfig(source=tmp_path / "train.jsonl"),)})
    finding = check_data(data)[-1].findings["bad_bytes"]
    assert (finding.count, finding.first) == (5, f"{tmp_path}/train.jsonl:2")
    both = 'each line has one under "source" and "target", the `fields` of a corpus'
    assert [example.detail for example in finding.examples][1:] == [
        f'no text under "source"; {both}',
        "not JSON: expecting property name enclosed in double quotes; write one object per line",
        f'no text under "target"; {both}',
        f'no text under "source"; {both}',
    ]


def test_files_of_unequal_numbers_of_lines_are_checked_as_far_as_they_go(tmp_path: Path) -> None:
    data = data_of(tmp_path, plain(5))
    pairs = plain(300)
    (tmp_path / "a.de").write_text("\n".join(source for source, _ in pairs) + "\n")
    (tmp_path / "a.en").write_text("\n".join(target for _, target in pairs[:-40]) + "\n")
    both = data.model_copy(update={"train": (CorpusConfig(source=tmp_path / "a.de", target=tmp_path / "a.en"),)})
    report = check_data(both)[-1]
    assert (report.pairs, report.lines, report.usable) == (260, (300, 260), False)
    assert "they correspond up to about line 260: the end of a.en is missing" in report.unequal
    with pytest.raises(DataError, match="300 lines, but"):
        require_usable([report])


def test_a_corpus_without_lines_cannot_be_trained_on(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"^{tmp_path}/train.tsv: no lines; train\[0\] needs text$"):
        require_usable(check_data(data_of(tmp_path, [])))


def test_a_file_that_does_not_exist_stops_the_check(tmp_path: Path) -> None:
    data = data_of(tmp_path, plain(3))
    (tmp_path / "valid.tsv").unlink()
    with pytest.raises(DataError, match=rf"^{tmp_path}/valid.tsv: no such file; check the path$"):
        check_data(data)


# --- what is wrong with a corpus as a whole ----------------------------------------------------------------------


@pytest.mark.slow
def test_one_line_of_two_million_characters_is_named_and_blames_no_other(tmp_path: Path) -> None:
    pairs = plain(200)
    pairs[5] = (pairs[5][0], "wort " * 400_000)
    found = counts(data_of(tmp_path, pairs))
    assert found == {"length_ratio": (1, f"{tmp_path}/train.tsv:6"), "too_long": (1, f"{tmp_path}/train.tsv:6")}


def test_sides_that_are_swapped_are_seen_by_their_scripts(tmp_path: Path) -> None:
    pairs = [(f"the cat number {_name(n)}", f"고양이가 나오는 문장 {_name(n)}") for n in range(50)]
    reports = check_data(data_of(tmp_path, pairs), "ko", "en")
    assert reports[-1].findings["swapped"].count == 50
    assert next(problems(reports[-1:]))[1] == "swapped"
    assert "swapped" not in check_data(data_of(tmp_path, pairs), "en", "ko")[-1].findings


def test_sides_of_one_script_that_are_swapped_are_seen_by_their_languages(tmp_path: Path) -> None:
    pairs = [
        (
            f"The weather was so fine that we went to the lake with {name}.",
            f"Das Wetter war schön, und wir gingen zu {name}.",
        )
        for name in ("Anna", "Peter", "the children", "my brother")
    ]
    assert counts(data_of(tmp_path, pairs), "de", "en")["swapped"][0] == 4
    assert counts(data_of(tmp_path, pairs), "en", "de").keys() & {"swapped", "language"} == set()


def shifted(pairs: list[tuple[str, str]], first: int, last: int, by: int) -> list[tuple[str, str]]:
    """The pairs whose targets from `first` to `last` are `by` lines later."""
    targets = [target for _, target in pairs]
    block = targets[first:last]
    targets[first:last] = block[-by:] + block[:-by]
    return [(source, target) for (source, _), target in zip(pairs, targets, strict=True)]


@pytest.mark.parametrize("by", [1, -2, 7])
def test_a_shifted_block_is_located(tmp_path: Path, by: int) -> None:
    reports = check_data(data_of(tmp_path, shifted(plain(1500), 600, 900, by)))
    finding = reports[-1].findings["shift"]
    (example,) = finding.examples
    first, last = map(int, example.location.rpartition(":")[2].split("–"))
    assert abs(first - 601) <= 10
    assert abs(last - 900) <= 10
    assert finding.count == last - first + 1
    direction = "later" if by > 0 else "earlier"
    assert f"the translations are {abs(by)} line{'s' * (abs(by) > 1)} {direction} in train.tsv" == example.detail


def test_a_missing_first_line_shifts_everything(tmp_path: Path) -> None:
    pairs = shifted(plain(1000), 0, 1000, -1)
    assert counts(data_of(tmp_path, pairs))["shift"][0] >= 990


@pytest.mark.parametrize("count", [300, 6000])
def test_shuffled_targets_are_noticed(tmp_path: Path, count: int) -> None:
    sources, targets = map(list, zip(*plain(count), strict=True))
    targets = [target.rsplit(" ", 1)[0] for target in targets]  # without the name that both sides share
    clean = list(zip(sources, targets, strict=True))
    assert "shuffled" not in counts(data_of(tmp_path, clean))
    random.Random(5).shuffle(targets)
    found = counts(data_of(tmp_path, list(zip(sources, targets, strict=True))))
    assert found["shuffled"] == (count, f"{tmp_path}/train.tsv:1–{count}")


# --- repeats and leakage -----------------------------------------------------------------------------------------

ALIKE = [
    pytest.param("Straße in  Köln ", id="spaces"),
    pytest.param("STRASSE IN KÖLN", id="case"),
    pytest.param("Straße in Ko\u0308ln", id="composition"),
    pytest.param("Straße in\u00a0Köln", id="spaces that are no spaces"),
]


@pytest.mark.parametrize("alike", ALIKE)
def test_what_differs_in_case_and_spaces_alone_is_a_repeat_and_a_leak(tmp_path: Path, alike: str) -> None:
    pairs = [("Straße in Köln", "a street"), (alike, "A  street")]
    data = data_of(tmp_path, pairs, valid=[("straße in köln", "street")])
    assert counts(data) == {
        "duplicate": (1, f"{tmp_path}/train.tsv:2"),
        "leakage": (2, f"{tmp_path}/train.tsv:1"),
    }
    held_out = check_data(data)[0].findings["leakage"]
    assert (held_out.count, held_out.share, held_out.first) == (1, 1.0, f"{tmp_path}/valid.tsv:1")


def test_pairs_with_the_same_letters_are_near_duplicates(tmp_path: Path) -> None:
    pairs = [("Seite eins, links!", "page one, left"), ("Seite eins: links", "Page one (left)"), ("Seite", "page")]
    assert counts(data_of(tmp_path, pairs)) == {"near_duplicate": (1, f"{tmp_path}/train.tsv:2")}


def test_a_source_that_is_nearly_held_out_is_counted_apart(tmp_path: Path) -> None:
    held_out = "die Katze schläft den ganzen Tag auf dem alten Stuhl in der Küche"
    pairs = [*plain(20), (held_out.replace("alten", "neuen"), "the cat sleeps on the new chair all day")]
    found = counts(data_of(tmp_path, pairs, valid=[(held_out, "cat")]))
    assert found == {"near_leakage": (1, f"{tmp_path}/train.tsv:21")}


def test_the_same_source_with_another_translation_is_no_repeat(tmp_path: Path) -> None:
    assert counts(data_of(tmp_path, [("one", "eins"), ("one", "ein")])) == {}


def test_repeats_between_two_training_corpora_are_found(tmp_path: Path) -> None:
    data = data_of(tmp_path, [("one", "eins")])
    (tmp_path / "more.tsv").write_text("two\tzwei\none\teins\n")
    both = data.model_copy(update={"train": (*data.train, CorpusConfig(source=tmp_path / "more.tsv"))})
    assert counts(both) == {"duplicate": (1, f"{tmp_path}/more.tsv:2")}


def test_what_training_text_lacks_of_held_out_text_is_a_share(tmp_path: Path) -> None:
    data = data_of(tmp_path, [("abc def", "x")], valid=[("ABC abd xbc", "y z"), ("a", "x")])
    assert check_data(data)[0].unseen == {
        "source_characters": pytest.approx(4 / 10),  # A, B, C and x
        "source_words": pytest.approx(3 / 4),
        "target_characters": pytest.approx(2 / 3, abs=1e-6),
        "target_words": pytest.approx(2 / 3, abs=1e-6),
    }


# --- the report --------------------------------------------------------------------------------------------------


def test_text_cut_into_words_is_distinguished_from_raw_text(tmp_path: Path) -> None:
    assert looks_tokenised(["a dog .", "a cat", "birds , two ."])
    assert not looks_tokenised(["a dog .", "a cat.", "birds, two."])
    assert not looks_tokenised([])
    cut = [(source + " .", target) for source, target in plain(120)[:60]]
    assert counts(data_of(tmp_path, [*plain(120)[60:], *cut])) == {"tokenised": (60, f"{tmp_path}/train.tsv:61")}
    assert counts(data_of(tmp_path, [*plain(120), ("ein Satz allein .", "one sentence alone")])) == {}


def test_sizes_hashes_and_the_longest_side_are_reported(tmp_path: Path) -> None:
    report = check_data(data_of(tmp_path, [("one", "eins"), ("seventeen", "siebzehn")]))[-1]
    assert (report.pairs, report.source_characters, report.target_characters, report.longest) == (2, 12, 12, 9)
    assert report.sha256 == (hashlib.sha256((tmp_path / "train.tsv").read_bytes()).hexdigest(),)
    assert report.files == (str(tmp_path / "train.tsv"),)
    assert [sum(report.histograms[kind]) for kind in ("source", "target", "ratio")] == [2, 2, 2]


def test_what_stops_training_comes_first_then_the_most_frequent() -> None:
    found = {"numbers": CorpusFinding(1, "a:1"), "urls": CorpusFinding(9, "a:2"), "empty": CorpusFinding(1, "a:3")}
    report = CorpusReport("train[0]", (), (), findings=found)
    assert [kind for _, kind, _ in problems([report])] == ["empty", "urls", "numbers"]


def test_summary_has_file_names_and_hashes_without_folders_and_text(tmp_path: Path) -> None:
    text = json.dumps(summary(check_data(data_of(tmp_path, [("secret words", "geheime worte")]))))
    assert str(tmp_path) not in text
    assert "secret" not in text
    assert "train.tsv" in text


def test_a_report_is_plain_data(tmp_path: Path) -> None:
    reports = check_data(data_of(tmp_path, [("one 100", "eins")]))
    assert json.loads(json.dumps([asdict(report) for report in reports]))[-1]["findings"]["numbers"]["count"] == 1


@pytest.mark.slow
def test_progress_is_called_with_the_pairs_so_far_and_their_expected_number(tmp_path: Path) -> None:
    received: list[tuple[int, int | None]] = []
    check_data(data_of(tmp_path, plain(9000)), progress=lambda *numbers: received.append(numbers))
    pairs = [number for number, _ in received]
    assert pairs == sorted(pairs)
    assert pairs[-1] == 9001
    assert all(expected is None or expected >= number for number, expected in received)


# --- reading -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("size", [0, 1, BLOCK_LINES, BLOCK_LINES + 1, 3 * BLOCK_LINES])
def test_blocks_hold_the_lines_of_the_files_in_order(tmp_path: Path, size: int, ending: str) -> None:
    write: Callable[[str], object] = gzip.open if ending else open  # type: ignore[assignment]
    paths = [tmp_path / f"text.{side}{ending}" for side in ("de", "en")]
    lines = [[f"{side} {'x' * (number % 50)}{number}" for number in range(size)] for side in ("ä", "한")]
    for path, side in zip(paths, lines, strict=True):
        with write(str(path), "wb") as file:  # type: ignore[call-arg, attr-defined]
            file.write("\r\n".join(side).encode("utf-8-sig") + b"\n" if size else b"")
    reader = BlockReader(CorpusConfig(source=paths[0], target=paths[1]))
    first, read = 1, ([], [])  # type: ignore[var-annotated]
    for block in reader:
        assert block.first == first
        assert 0 < len(block) <= BLOCK_LINES
        first += len(block)
        read[0].extend(block.source.lines)
        read[1].extend(block.target.lines)
    assert list(read) == lines
    assert reader.lines == [size, size]
    assert reader.sha256 == tuple(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths)


@pytest.mark.parametrize("count", [50, 200])
def test_text_sorted_by_length_is_not_taken_for_shuffled(tmp_path: Path, count: int) -> None:
    draw = random.Random(count)
    sources = [("haus " * 8)[: draw.randint(18, 30)].strip() + f" {_name(n)}" for n in range(count)]
    sorted_by_target = [(source, f"{_name(7 * n)} equally long text") for n, source in enumerate(sources)]
    assert "shuffled" not in counts(data_of(tmp_path, sorted_by_target))


def test_swapped_sides_are_seen_where_each_line_is_too_short_to_be_sure_of(tmp_path: Path) -> None:
    german = "Ich bin müde. Er ist jung. Wir gehen heim. Das ist gut. Sie kommt nicht. Wer bist du?".split(". ")
    english = "I am tired. He is young. We go home. That is good. She won't come. Who are you?".split(". ")
    pairs = list(zip(german, english, strict=True)) * 10
    assert counts(data_of(tmp_path, pairs), "en", "de")["swapped"][0] == len(pairs)
    assert "swapped" not in counts(data_of(tmp_path, pairs), "de", "en")
