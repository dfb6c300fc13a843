"""`translate`, `evaluate`, `model show`: what goes in, what comes out, on which stream."""

import json
import os
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
import torch

from dragoman.cli.shared.output import destination
from dragoman.data.corpus.corpus import read_lines
from dragoman.model.parts import device
from dragoman.translator import Translator

LINES = ["the red dog", "", "two birds see a tree", "   ", "one cat"]


def texts(result: Any) -> list[str]:
    assert result.code == 0, result.err
    lines: list[str] = result.out.split("\n")
    assert lines.pop() == ""
    return lines


# --- translate ---------------------------------------------------------------------------------------------------


def test_arguments_are_translated_line_by_line(dragoman: Any, model: Path) -> None:
    result = dragoman("translate", "-m", model, *LINES)
    assert len(texts(result)) == len(LINES)
    assert (texts(result)[1], texts(result)[3]) == ("", "")
    assert result.err == ""


@pytest.mark.parametrize("slower", [1, 90])
def test_bfloat16_that_the_processor_emulates_is_named(
    dragoman: Any, model: Path, monkeypatch: pytest.MonkeyPatch, slower: int
) -> None:
    seconds = {torch.float32: 1e-4, torch.bfloat16: slower * 1e-4}
    monkeypatch.setattr(device, "product_seconds", lambda dtype, _device: seconds[dtype])
    found = dragoman("translate", "-m", model, "--engine", "torch", "decode.precision=bfloat16", "-i", "/dev/null")
    assert found.code == 0
    assert (f"{slower} times as long; choose float32" in found.err) is (slower == 90)


def test_every_way_in_and_out_gives_the_same(dragoman: Any, model: Path, tmp_path: Path) -> None:
    expected = texts(dragoman("translate", "-m", model, *LINES))
    content = "".join(line + "\n" for line in LINES)
    (tmp_path / "in").write_text(content)
    assert texts(dragoman("translate", "-m", model, stdin=content)) == expected
    assert texts(dragoman("translate", "-m", model, "-", stdin=content)) == expected
    assert texts(dragoman("translate", "-m", model, "-i", "-", stdin=content)) == expected
    assert texts(dragoman("translate", "-m", model, "-i", tmp_path / "in")) == expected
    assert texts(dragoman("translate", "-m", model, content.removesuffix("\n"))) == expected
    result = dragoman("translate", "-m", model, "-i", tmp_path / "in", "-o", tmp_path / "out")
    assert (result.code, result.out) == (0, "")
    assert re.fullmatch(r"5 lines in [\d.]+ s, [\d,]+ lines/s\n", result.err)
    assert (tmp_path / "out").read_text() == "".join(line + "\n" for line in expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_strict_fails_after_every_line_is_written(dragoman: Any, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("Good morning.\nПривет, как дела?\nPress {key}.\n", encoding="utf-8")
    request = ("translate", "-m", "en-ko", "-i", tmp_path / "in")
    result = dragoman(*request, "-o", tmp_path / "out", "--strict")
    assert result.code == 6
    assert result.err.splitlines()[-1] == "dragoman: 1 line with a warning, see above; all are written (--strict)"
    assert (tmp_path / "out").read_text() == dragoman(*request).out
    assert len((tmp_path / "out").read_text().splitlines()) == 3
    assert dragoman("translate", "-m", "en-ko", "Good morning.", "--strict").code == 0


def test_no_lines_in_no_lines_out(dragoman: Any, model: Path) -> None:
    assert dragoman("translate", "-m", model, stdin="").out == ""


def test_an_output_that_is_the_input_is_refused_and_the_file_stays(dragoman: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("the dog\n\none cat\n")
    refused = dragoman("translate", "-m", model, "-i", tmp_path / "x", "-o", tmp_path / "x")
    assert refused.code == 2
    assert "write to another file" in refused.err
    assert (tmp_path / "x").read_text() == "the dog\n\none cat\n"


def test_json_is_one_object_a_line(dragoman: Any, model: Path) -> None:
    records = [json.loads(line) for line in texts(dragoman("translate", "-m", model, "--json", *LINES))]
    assert [record["line"] for record in records] == [1, 2, 3, 4, 5]
    assert [record["source"] for record in records] == LINES
    plain = texts(dragoman("translate", "-m", model, *LINES))
    assert [record["translations"][0]["text"] for record in records] == plain
    assert records[1]["translations"] == [{"text": "", "score": 0.0, "log_prob": 0.0}]


def test_n_best_lists_line_score_and_text_best_first(dragoman: Any, model: Path) -> None:
    rows = [
        line.split("\t") for line in texts(dragoman("translate", "-m", model, "--n-best", 3, "the dog", "", "a cat"))
    ]
    assert {len(row) for row in rows} == {3}
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    first = [float(row[1]) for row in rows if row[0] == "1"]
    assert len(first) == 3
    assert first == sorted(first, reverse=True)
    assert [row for row in rows if row[0] == "2"] == [["2", "0.0000", ""]]


def test_alignment_is_a_column_and_a_field(dragoman: Any, model: Path) -> None:
    lines = ["the red dog", "", "a cat"]
    plain = texts(dragoman("translate", "-m", model, *lines))
    rows = [line.split("\t") for line in texts(dragoman("translate", "-m", model, "--alignment", *lines))]
    assert [row[0] for row in rows] == plain
    assert rows[1] == ["", ""]
    for source, (target, links) in zip(lines, rows, strict=True):
        pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
        assert all(pair[0] < len(source.split()) and pair[1] < len(target.split()) for pair in pairs)
    assert rows[0][1]
    records = [json.loads(line) for line in texts(dragoman("translate", "-m", model, "--alignment", "--json", *lines))]
    assert [record.get("alignment", "") for record in records] == [row[1] for row in rows]


def test_a_line_that_is_left_as_it_is_adds_no_column(dragoman: Any) -> None:
    rows = dragoman("translate", "--alignment", "Save the file.", "Ж\tЖ").out.splitlines()
    assert rows[1] == "Ж Ж\t"


def test_a_wider_beam_than_trained_with_is_taken_for_more_translations(dragoman: Any, model: Path) -> None:
    [record] = [json.loads(line) for line in texts(dragoman("translate", "-m", model, "--n-best", 5, "--json", "dog"))]
    assert len(record["translations"]) == 5


def test_more_translations_than_the_beam_asked_for_are_refused(dragoman: Any, model: Path) -> None:
    complaint = dragoman("translate", "-m", model, "dog", "--beam", 2, "--n-best", 5).refused(2)
    assert complaint == "decode.n_best: 5 is more than beam = 2; widen the beam"


def test_text_and_input_together_are_refused(dragoman: Any, model: Path) -> None:
    assert dragoman("translate", "-m", model, "dog", "-i", "x").refused(2) == "give sentences or --input, not both"


def test_a_missing_input_leaves_the_output_as_it_was(dragoman: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    complaint = dragoman("translate", "-m", model, "-i", tmp_path / "none", "-o", tmp_path / "out", "--force").refused(
        3
    )
    assert complaint == f"{tmp_path}/none: no such file; check the path"
    assert (tmp_path / "out").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_bytes_that_are_not_utf8_are_named(dragoman: Any, model: Path) -> None:
    result = dragoman("translate", "-m", model, stdin=b"caf\xe9\n")
    assert result.refused(3).startswith("stdin:1: not UTF-8 at byte 3 of the text (0xe9); ")


def test_an_argument_that_is_not_utf8_is_reported(dragoman: Any, model: Path) -> None:
    assert "UTF-8" in dragoman("translate", "-m", model, "caf\udce9").refused(3)


@pytest.mark.parametrize(
    ("place", "cause"),
    [("file/out", "Not a directory"), ("none/out", "No such file or directory"), ("folder", "Is a directory")],
)
def test_an_output_that_cannot_be_written_is_refused(
    dragoman: Any, model: Path, tmp_path: Path, place: str, cause: str
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    complaint = dragoman("translate", "-m", model, "dog", "-o", tmp_path / place).refused(1)
    assert complaint.startswith(f"{tmp_path}/{place}: cannot be written: {cause}; check the path")
    assert "--resume" not in complaint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.parametrize("place", ["file/out", "none/out", "folder", "..", "n" * 300])
@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_translated(
    dragoman: Any, model: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, place: str
) -> None:
    def translated(*_: object) -> None:
        raise AssertionError("an hour was spent")

    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    monkeypatch.setattr(Translator, "translate", translated)
    monkeypatch.chdir(tmp_path)
    text = ["dog"] if verb == "translate" else [trained / "data/test.en", trained / "data/test.de"]
    complaint = dragoman(verb, "-m", model, *text, "-o", place).refused(1)
    assert complaint.startswith(f"{place}: cannot be written: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_what_is_next_to_an_output_is_let_be(
    dragoman: Any, model: Path, tmp_path: Path, contents: Callable[[Path], dict[str, bytes]]
) -> None:
    names = ("out.partial.gz", ".out.partial", "x.partial")
    for name in names:
        (tmp_path / name).write_text("mine")
    assert dragoman("translate", "-m", model, "dog", "-o", tmp_path / "none/out").code == 1
    assert dragoman("translate", "-m", model, "dog", "-o", tmp_path / "out").code == 0
    refused = dragoman("translate", "-m", model, "dog", "-o", tmp_path / "x").refused(2)
    assert refused == f"{tmp_path}/x.partial: is not of an interrupted translation; move it elsewhere"
    found = contents(tmp_path)
    assert sorted(found) == sorted([*names, "out"])
    assert [found[name] for name in names] == [b"mine"] * 3


@pytest.mark.parametrize("name", ["out", "out.gz", "out.zst"])
def test_an_output_is_compressed_as_its_name_says(tmp_path: Path, name: str) -> None:
    with destination(tmp_path / name) as file:
        file.write("하나\n둘\n")
    assert list(read_lines(tmp_path / name)) == ["하나", "둘"]
    assert (tmp_path / name).read_bytes().startswith("하나".encode()) == (name == "out")


def test_two_processes_on_their_way_to_one_output_do_not_mix(tmp_path: Path) -> None:
    """Each writes a file of its own; the last to end has the name."""
    with destination(tmp_path / "out") as first:
        first.write("first\n")
        with destination(tmp_path / "out") as second:
            second.write("second\n")
        assert (tmp_path / "out").read_text() == "second\n"
    assert (tmp_path / "out").read_text() == "first\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_an_output_called_dash_is_stdout(
    dragoman: Any, model: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.chdir(tmp_path)
    source, reference = trained / "data/test.en", trained / "data/test.de"
    expected = texts(dragoman("translate", "-m", model, "-i", source))
    if verb == "translate":
        assert texts(dragoman("translate", "-m", model, "-i", source, "-o", "-")) == expected
    else:
        scores = texts(dragoman("evaluate", "-m", model, source, reference))
        assert texts(dragoman("evaluate", "-m", model, source, reference, "-o", "-")) == expected + scores
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_does_not_speak_of_resuming_a_translation(
    dragoman: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "out").write_text("mine")
    monkeypatch.setattr(os, "fsync", full)
    complaint = dragoman("translate", "-m", model, "dog", "-o", tmp_path / "out", "--force").refused(1)
    assert complaint.startswith(f"{tmp_path}/out: cannot be written: No space left on device; free some space")
    assert "--resume" not in complaint  # nothing was saved
    assert (tmp_path / "out").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_output_that_is_no_ordinary_file_is_written_to_and_not_replaced(
    dragoman: Any, model: Path, tmp_path: Path
) -> None:
    """`-o /dev/null` must not put a file in the place of /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    result = dragoman("translate", "-m", model, "dog", "-o", pipe)
    os.close(reader)
    assert result.code == 0
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_model_may_be_used_from_within_its_folder(
    dragoman: Any, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = texts(dragoman("translate", "-m", model, "the dog")), texts(dragoman("model", "show", model))
    monkeypatch.chdir(model)
    assert (texts(dragoman("translate", "-m", ".", "the dog")), texts(dragoman("model", "show", "."))) == there


@pytest.mark.parametrize("device", ["cuda:77", "nonsense", "meta", "hpu"])
def test_a_missing_device_is_reported(dragoman: Any, model: Path, device: str) -> None:
    complaint = dragoman("translate", "-m", model, "dog", "--device", device).refused(5)
    assert complaint == f'device "{device}" is not on this machine; use "cpu" or "auto"'


@pytest.mark.parametrize(
    "verb", [["translate", "dog", "-m"], ["model", "show"], ["evaluate", "a.tsv", "-m"]], ids=lambda v: v[0]
)
def test_every_verb_refuses_a_damaged_model(
    dragoman: Any, model: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: list[str]
) -> None:
    bad = Path(shutil.copytree(model, tmp_path / "bad"))
    (bad / "model.safetensors").write_bytes(b"")
    monkeypatch.chdir(project)
    (project / "a.tsv").write_text("dog\thund\n")
    complaint = dragoman(*verb, bad).refused(4)
    assert complaint == f"{bad}/model.safetensors: its size, 0 bytes, differs from bundle.json; copy the bundle again"


# --- evaluate ----------------------------------------------------------------------------------------------------


def test_scores_are_data_with_interval_copying_and_signature(dragoman: Any, model: Path, trained: Path) -> None:
    result = dragoman("evaluate", "-m", model, trained / "data/test.en", trained / "data/test.de")
    rows = texts(result)
    assert [row.split()[0] for row in rows] == ["BLEU", "chrF2", "TER"]
    assert all("copying the source" in row and len(row) < 80 for row in rows)
    assert "nrefs:" not in result.out
    verbose = texts(dragoman("evaluate", "-m", model, trained / "data/test.en", trained / "data/test.de", "-v"))
    assert verbose[::2] == rows
    assert all(row.startswith("      nrefs:1|") for row in verbose[1::2])
    assert result.err == "BLEU and chrF: higher is better; TER: lower is better\n"


def test_scores_in_json_are_one_object(dragoman: Any, model: Path, trained: Path) -> None:
    result = dragoman("evaluate", "-m", model, trained / "data/test.en", trained / "data/test.de", "--json")
    report = json.loads(result.out)
    assert (report["schema"], report["lines"]) == ("dragoman.evaluate/1", 10)
    assert [score["metric"] for score in report["scores"]] == ["BLEU", "chrF2", "TER"]
    assert len(report["scores"][1]["interval"]) == 2
    assert report["scores"][2]["interval"] is None
    assert result.err == ""


def test_one_file_of_both_sides_is_evaluated_alike(dragoman: Any, model: Path, trained: Path, tmp_path: Path) -> None:
    sides = [(trained / f"data/test.{language}").read_text().splitlines() for language in ("en", "de")]
    (tmp_path / "t.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(*sides, strict=True)))
    two = dragoman("evaluate", "-m", model, trained / "data/test.en", trained / "data/test.de", "--json")
    one = dragoman("evaluate", "-m", model, tmp_path / "t.tsv", "--json")
    assert one.out == two.out


def test_the_translations_that_were_scored_can_be_kept(
    dragoman: Any, model: Path, trained: Path, tmp_path: Path
) -> None:
    source = trained / "data/test.en"
    dragoman("evaluate", "-m", model, source, trained / "data/test.de", "-o", tmp_path / "out")
    assert (tmp_path / "out").read_text().splitlines() == texts(dragoman("translate", "-m", model, "-i", source))


@pytest.mark.parametrize(
    ("useless", "name"),
    [
        (["decode.beams=3"], "decode.beams=3"),
        (["decode.beam=x"], "decode.beam=x"),
        (["-O", "foo=1"], "foo=1"),
        (["--beam", "3"], "--beam"),
        (["--length-penalty", "0"], "--length-penalty"),
        (["--to", "en"], "--to"),
        (["--from", "en"], "--from"),
        (["--engine", "nosuch", "--device", "tpu"], "--engine"),
        (["--device", "tpu"], "--device"),
        (["--precision", "float32"], "--precision"),
        (["--threads", "1"], "--threads"),
        (["--base", "nowhere"], "--base"),
        (["--reverse", "ko-en"], "--reverse"),
    ],
)
def test_what_chooses_a_translation_is_refused_where_all_are_finished(
    dragoman: Any, tmp_path: Path, useless: list[str], name: str
) -> None:
    (tmp_path / "t.tsv").write_text("a dog\tein hund\n", encoding="utf-8")
    (tmp_path / "out").write_text("ein hund\n", encoding="utf-8")
    finished = ["evaluate", tmp_path / "t.tsv", "--translations", tmp_path / "out"]
    assert dragoman(*finished).code == 0
    assert dragoman(*finished, *useless).refused(2) == f"{name}: has no effect on finished translations; leave it out"


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["plain", "json"])
def test_scores_are_printed_though_the_translations_cannot_be_kept(
    dragoman: Any, model: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_json: list[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    files = trained / "data/test.en", trained / "data/test.de"
    expected = dragoman("evaluate", "-m", model, *files, *as_json).out
    monkeypatch.setattr(Path, "replace", full)
    result = dragoman("evaluate", "-m", model, *files, *as_json, "-o", tmp_path / "out")
    assert (result.code, result.out) == (1, expected)
    assert result.err.splitlines()[-1].startswith(
        f"dragoman: {tmp_path}/out: cannot be written: No space left on device"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_source_without_its_reference_is_refused(dragoman: Any, model: Path, trained: Path) -> None:
    source = trained / "data/test.en"
    complaint = dragoman("evaluate", "-m", model, source).refused(2)
    assert complaint.startswith(f"{source}: give ")
    assert complaint.endswith(("or one .tsv or .jsonl of both", "or one .tsv or .jsonl file of both sides"))


def test_a_reference_next_to_a_file_of_both_sides_is_refused_for_what_it_is(
    dragoman: Any, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "t.tsv").write_text("dog\thund\n")
    complaint = dragoman("evaluate", "-m", model, tmp_path / "t.tsv", tmp_path / "t.de").refused(2)
    assert "t.tsv" in complaint
    assert "holds both sides" in complaint


def test_an_empty_test_set_is_refused(dragoman: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("")
    assert dragoman("evaluate", "-m", model, tmp_path / "t.tsv").refused(3).startswith(f"{tmp_path}/t.tsv: no lines")


def test_a_test_set_of_unequal_sides_is_refused(dragoman: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("dog\ncat\n")
    (tmp_path / "b").write_text("hund\n")
    complaint = dragoman("evaluate", "-m", model, tmp_path / "a", tmp_path / "b").refused(3)
    assert complaint.startswith(f"{tmp_path}/a: 2 lines, but {tmp_path}/b: 1; ")


def test_a_tokeniser_sacrebleu_does_not_know_is_refused_with_those_it_does(
    dragoman: Any, model: Path, trained: Path
) -> None:
    files = trained / "data/test.en", trained / "data/test.de"
    for name in ("nope", "None", ""):
        complaint = dragoman("evaluate", "-m", model, *files, "--tokenize", name).refused(2)
        assert complaint.startswith(f"--tokenize {name}: choose one of 13a, ")


def test_a_reference_cut_into_words_is_reported_before_it_is_scored(dragoman: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("dog .\thund .\n")
    advice = f"{tmp_path}/t.tsv: looks pre-tokenised; sacreBLEU tokenises internally; score raw text, or give"
    assert advice in dragoman("evaluate", "-m", model, tmp_path / "t.tsv").err.replace("\n", " ")
    stderr = dragoman("evaluate", "-m", model, tmp_path / "t.tsv", "--tokenize", "none").err
    assert "tokenised" not in stderr


def test_a_tokeniser_that_cannot_be_downloaded_is_reported_before_anything_is_translated(
    dragoman: Any, model: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_: object, **__: object) -> None:
        raise URLError(OSError(-3, "no name"))

    monkeypatch.setattr("dragoman.workflows.evaluate.evaluate.bleu", offline)
    files = trained / "data/test.en", trained / "data/test.de"
    complaint = dragoman("evaluate", "-m", model, *files, "--tokenize", "flores200").refused(2)
    assert complaint.startswith("--tokenize flores200: sacreBLEU cannot download what it needs; go online, or choose")


def test_a_test_set_of_one_line_is_scored(dragoman: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("the dog\tder hund\n")
    assert json.loads(dragoman("evaluate", "-m", model, tmp_path / "t.tsv", "--json").out)["lines"] == 1


# --- model show --------------------------------------------------------------------------------------------------


def test_a_model_says_what_it_is(dragoman: Any, model: Path) -> None:
    result = dragoman("model", "show", model)
    rows = dict(line.split(maxsplit=1) for line in texts(result))
    assert rows["languages"] == "en → de"
    assert rows["pieces"] == "56 (unigram)"
    assert rows["widths"] == "d_model 32, d_ff 64, 2 heads of 16"
    assert "BLEU" in rows
    assert result.err == ""


def test_a_model_in_json_is_its_manifest(dragoman: Any, model: Path) -> None:
    shown = json.loads(dragoman("model", "show", model, "--json").out)
    assert shown.pop("schema") == "dragoman.model.show/1"
    assert shown == json.loads((model / "bundle.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"languages": "en-de"}, id="languages in a string"),
        pytest.param({"languages": {"source": "en"}}, id="half the languages"),
        pytest.param({"scores": [{"metric": "BLEU", "on": "test", "signature": ""}]}, id="a score without its value"),
        pytest.param({"scores": 7}, id="a number for the scores"),
        pytest.param({"scores": [{"metric": "B", "on": "t", "signature": "", "value": "9"}]}, id="a score in a string"),
        pytest.param({"data": {"pairs": 3}}, id="data that is no list"),
        pytest.param({"data": None}, id="no data"),
        pytest.param({"parameters": "many"}, id="parameters in words"),
    ],
)
@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["plain", "json"])
def test_a_manifest_that_was_written_by_hand_is_refused(
    dragoman: Any, model: Path, tmp_path: Path, change: dict[str, Any], as_json: list[str]
) -> None:
    bad = Path(shutil.copytree(model, tmp_path / "bad"))
    manifest = json.loads((bad / "bundle.json").read_text(encoding="utf-8"))
    (bad / "bundle.json").write_text(json.dumps(manifest | change), encoding="utf-8")
    complaint = dragoman("model", "show", bad, *as_json).refused(4)
    assert complaint == f"{bad}/bundle.json: malformed; copy the bundle again"
