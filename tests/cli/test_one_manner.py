"""Every verb: `-m` is a model, `-o` an output, KEY=VALUE sets a key, `--json` prints one object."""

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dragoman.cli.main import main


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "model"))


@pytest.fixture
def test_set(trained: Path) -> list[Path]:
    return [trained / "data/test.en", trained / "data/test.de"]


def test_show_takes_the_model_with_or_without_m(dragoman: Any, model: Path) -> None:
    assert dragoman("model", "show", "-m", model).out == dragoman("model", "show", model).out != ""
    assert "no model; give one with -m MODEL" in dragoman("model", "show").refused(2)


def test_glossary_and_shortlist_take_the_model_with_m(
    dragoman: Any, copy: Path, test_set: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "terms.tsv").write_text("dog\thund\n", encoding="utf-8")
    assert "attached a glossary of 1 term\n" in dragoman("model", "glossary", "-m", copy, tmp_path / "terms.tsv").err
    assert (copy / "glossary.tsv").exists()
    assert dragoman("model", "shortlist", "-m", copy, *test_set, "--json").code == 0
    assert (copy / "shortlist.txt").exists()


@pytest.mark.parametrize("key", ["decode.beam=0", "decode.beem=1"])
def test_a_key_of_decode_is_checked_by_every_verb(dragoman: Any, model: Path, test_set: list[Path], key: str) -> None:
    for command in (
        ["translate", "-m", model, "dog"],
        ["evaluate", "-m", model, *test_set],
        ["look", "-m", model, "dog"],
    ):
        assert dragoman(*command, key).refused(2).startswith("decode.bee" if "beem" in key else "decode.beam: ")


def test_a_key_after_the_arguments_is_the_option(dragoman: Any, model: Path, test_set: list[Path]) -> None:
    search = ["decode.method=sample", "decode.seed=7"]
    flags = [part for key in search for part in ("-O", key.removeprefix("decode."))]
    for command in (
        ["translate", "-m", model, "the red dog", "--json"],
        ["evaluate", "-m", model, *test_set, "--json"],
    ):
        assert dragoman(*command, *search).out == dragoman(*command, *flags).out != dragoman(*command).out


def test_a_key_of_another_section_has_no_effect_on_a_finished_model(
    dragoman: Any, model: Path, test_set: list[Path]
) -> None:
    for command in (["evaluate", "-m", model, *test_set], ["look", "-m", model, "dog"]):
        assert "train.seed=3: has no effect here" in dragoman(*command, "train.seed=3").refused(2)


@pytest.mark.parametrize(
    ("argument", "hint"), [("deocde.beam=2", "did you mean decode.beam?"), ("train.seed=1", "no key of [decode]")]
)
def test_a_mistyped_key_is_no_sentence(dragoman: Any, model: Path, argument: str, hint: str) -> None:
    complaint = dragoman("translate", "-m", model, argument, "the red dog").refused(2)
    assert hint in complaint
    assert "--text" in complaint
    assert len(dragoman("translate", "-m", model, "--text", argument, "the red dog").out.splitlines()) == 2


def test_a_key_that_is_given_twice_with_other_values_is_refused(dragoman: Any, model: Path) -> None:
    command = ["translate", "-m", model, "the red dog", "decode.beam=2"]
    assert "finite number" in dragoman(*command, "-O", "length_penalty=nan").refused(2)
    assert "decode.beam: is given twice, as 3 and as 2" in dragoman(*command, "--beam", "3").refused(2)
    assert dragoman(*command, "--beam", "2").code == 0


def test_lines_without_the_suite_that_they_are_for_are_refused(
    dragoman: Any, model: Path, test_set: list[Path]
) -> None:
    assert "--lines: has no effect without --suite" in dragoman(
        "evaluate", "-m", model, *test_set, "--lines", "5"
    ).refused(2)


def test_an_output_never_replaces_an_input(dragoman: Any, model: Path, test_set: list[Path], tmp_path: Path) -> None:
    source, reference, finished = [
        Path(shutil.copy(path, tmp_path)) for path in (*test_set, test_set[1].parent / "valid.de")
    ]
    finished.write_bytes(reference.read_bytes())
    before = [path.read_bytes() for path in (source, reference, finished)]
    (tmp_path / "link").symlink_to(source)
    evaluate = ["evaluate", "-m", model, source, reference, "--translations", finished]
    for command in (
        ["translate", "-m", model, "-i", source, "-o", source],
        ["translate", "-m", model, "-i", tmp_path / "link", "-o", source],
        *([*evaluate, "-o", path] for path in (source, reference, finished)),
    ):
        assert "write to another file" in dragoman(*command).refused(2)
    assert [path.read_bytes() for path in (source, reference, finished)] == before


def test_translations_and_json_do_not_share_stdout(dragoman: Any, model: Path, test_set: list[Path]) -> None:
    assert "--json" in dragoman("evaluate", "-m", model, *test_set, "-o", "-", "--json").refused(2)


def test_train_prints_its_result_in_json(dragoman: Any, project: Path) -> None:
    result = dragoman("train", project / "run.toml", "train.max_steps=1", "--json")
    report = json.loads(result.out)
    assert report["schema"] == "dragoman.train/1"
    assert report["model"] == f"{project}/runs/toy/model"
    assert report["outcome"]["step"] == 1
    assert [score["metric"] for score in report["scores"]] == ["BLEU", "chrF2", "TER"]


def test_distill_prints_its_result_in_json(dragoman: Any, project: Path, model: Path) -> None:
    result = dragoman("distill", "-m", model, project / "run.toml", "train.max_steps=1", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["schema"] == "dragoman.distill/1"


def test_export_prints_its_verdict_in_json(dragoman: Any, copy: Path, test_set: list[Path]) -> None:
    result = dragoman("export", "-m", copy, *test_set, "decode.beam=1", "-q", "float32", "--json")
    assert result.code == 0, result.err
    report = json.loads(result.out)
    assert (report["schema"], report["export"]) == ("dragoman.export/1", "ct2-float32")
    assert report["verdict"]["sentences"] == 10


def test_data_split_prints_its_parts_in_json(dragoman: Any, project: Path, tmp_path: Path) -> None:
    whole = [tmp_path / "all.en", tmp_path / "all.de"]
    for path, language in zip(whole, ("en", "de"), strict=True):
        path.write_bytes((project / f"data/train.{language}").read_bytes())
    shutil.rmtree(project / "data")
    result = dragoman("data", "split", project / "run.toml", *whole, "--held-out", "20", "--json")
    parts = json.loads(result.out)["parts"]
    assert set(parts) == {"train", "valid", "test"}
    assert sum(part["pairs"] for part in parts.values()) == 300


def test_config_explains_a_key_a_section_and_refuses_others(dragoman: Any) -> None:
    assert dragoman("config", "train.warmup").out.startswith("train.warmup  (whole number from 1")
    assert dragoman("config", "model.d_model").out.startswith(
        "model.d_model  (whole number from 1; default: by preset)\n"
    )
    assert {
        line.split()[0].split(".")[0] for line in dragoman("config", "decode").out.splitlines() if line[0] != " "
    } == {"decode"}
    assert "did you mean train.warmup?" in dragoman("config", "train.warm_up").refused(2)
    assert json.loads(dragoman("config", "--json").out)["keys"][0]["name"] == "version"


def test_a_hint_names_the_program_as_it_was_called(
    dragoman: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = tmp_path / "bin/dragoman"
    called.parent.mkdir()
    called.touch()
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["bin/dragoman"])
    assert f"`{called} export" in dragoman("translate", "-m", model, "--engine", "ct2-int8", "a").refused(4)
    assert f"`{called} train`" in dragoman("translate", "hello").err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal_leaves_stdout_alone(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """stderr is a terminal, stdout a pipe: lines are data, the bar is not."""
    (tmp_path / "in").write_text("the red dog\n" * 70, encoding="utf-8")
    terminal = Console(file=Terminal(), force_terminal=True)
    monkeypatch.setattr("dragoman.cli.shared.progress.console", lambda: terminal)
    assert main(["translate", "-m", str(model), "-i", str(tmp_path / "in")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 70
    assert "translating: 0 of 70 lines" in terminal.file.getvalue()  # type: ignore[attr-defined]


def test_without_a_terminal_progress_is_a_line_now_and_then(
    dragoman: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.cli.shared.progress.LINE_EVERY", 0.0)
    (tmp_path / "in").write_text("the red dog\n" * 70, encoding="utf-8")
    result = dragoman("translate", "-m", model, "-i", tmp_path / "in", "-o", tmp_path / "out")
    assert re.search(r"^translating: 48 of 70 lines  [\d,]+ lines/s  0 s left$", result.err, re.MULTILINE)
    assert len((tmp_path / "out").read_text(encoding="utf-8").splitlines()) == 70


@pytest.mark.parametrize("flags", [["--threads", "1"], ["--precision", "bfloat16"], ["--precision", "float32"]])
def test_threads_and_precision_are_chosen_for_a_translation(dragoman: Any, model: Path, flags: list[str]) -> None:
    assert dragoman("translate", "-m", model, "the red dog", *flags).code == 0


def test_a_precision_that_does_not_exist_is_refused(dragoman: Any, model: Path) -> None:
    assert "precision 'float8': choose one of" in dragoman(
        "translate", "-m", model, "a", "--precision", "float8"
    ).refused(2)
