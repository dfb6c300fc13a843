"""Arguments that are no use: one line that says what is meant, before the work."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.slow
def test_a_run_with_another_tokenizer_is_not_looked_into(
    dragoman: Any, trained: Path, project: Path, tmp_path: Path
) -> None:
    run, page = project / "runs/toy", tmp_path / "page.html"
    assert dragoman("train", project / "run.toml", "tokenizer.vocab_size=40", "train.max_steps=2").code == 0
    arguments = ["look", "-m", trained / "runs/toy/model", "the red dog", "--html", page, "--run"]
    complaint = dragoman(*arguments, run).refused(4)
    assert complaint == f"{run}: its tokenizer is not that of the model; give the run that the model is from"
    assert not page.exists()
    assert dragoman(*arguments, trained / "runs/toy").code == 0


def test_a_folder_that_is_no_run_is_named_before_the_work(dragoman: Any, tmp_path: Path) -> None:
    """The model `m` does not exist: it would be named if it were opened."""
    nowhere = tmp_path / "nowhere"
    complaint = dragoman("look", "-m", "m", "a", "--html", tmp_path / "l.html", "--run", nowhere).refused(4)
    assert complaint.startswith(f"{nowhere}: holds no checkpoint")


def test_look_takes_one_line(dragoman: Any, model: Path) -> None:
    complaint = dragoman("look", "-m", model, "the dog\nthe cat").refused(3)
    assert complaint == "look: takes one line, without line breaks; give one line"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("-o", "x.txt"),
        ("--compare", None),
        ("--translations", "x"),
        ("--tokenize", "char"),
        ("--force", None),
        ("--verbose", None),
        ("--beam", "2"),
        ("--length-penalty", "0"),
        ("decode.n_best", "2"),
    ],
)
def test_what_scoring_does_not_use_is_refused(
    dragoman: Any, model: Path, tmp_path: Path, option: str, value: str | None
) -> None:
    given = [f"{option}={value}"] if "." in option else [option, *([value] if value else [])]
    complaint = dragoman("evaluate", "-m", model, "--score", tmp_path / "a.tsv", *given).refused(2)
    assert complaint == f"{option}: has no effect with --score, which translates nothing; leave it out"


def test_a_threshold_without_similar_sources_is_refused(dragoman: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the dog\n", encoding="utf-8")
    given = ["translate", "-m", model, "--memory-threshold", "60"]
    assert dragoman(*given, "--text", "a dog").refused(2) == "--memory-threshold: has no effect on lines; leave it out"
    complaint = dragoman(*given, tmp_path / "a.txt").refused(2)
    assert complaint == "--memory-threshold: has no effect on documents without --memory; leave it out"


def test_a_shortlist_that_is_not_there_is_named(dragoman: Any, model: Path) -> None:
    result = dragoman("translate", "-m", model, "-O", "shortlist=true", "the dog")
    assert result.code == 0
    assert "decode.shortlist: has no effect, because the model has no shortlist; " in result.err


def test_an_option_without_a_value_says_how_one_is_written(dragoman: Any) -> None:
    complaint = dragoman("translate", "-m", "en-ko", "-O", "nonsense", "a").refused(2)
    assert complaint == "-O nonsense: not an option of the search; write KEY=VALUE, e.g. -O beam=8"


def test_the_folder_of_a_run_says_where_its_model_is(dragoman: Any, trained: Path) -> None:
    run = trained / "runs/toy"
    complaint = dragoman("translate", "-m", run, "a").refused(4)
    assert complaint == f"{run}: no bundle.json, so not a model; give {run}/model"


def test_a_mistyped_bundled_model_is_guessed(dragoman: Any) -> None:
    assert dragoman("translate", "-m", "en-kr", "a").refused(4) == "en-kr: no such model folder; did you mean en-ko?"


def test_a_target_prefix_longer_than_any_sentence_is_refused(dragoman: Any, model: Path) -> None:
    complaint = dragoman("translate", "-m", model, "the dog", "--target-prefix", "der hund " * 2500).refused(2)
    assert complaint == "target_prefix: 5,000 tokens; give at most 200"


def test_names_in_messages_neither_move_the_cursor_nor_fill_the_screen(dragoman: Any, tmp_path: Path) -> None:
    complaint = dragoman("translate", "-m", tmp_path / "a\x1b[2Jb", "a")
    assert "\x1b" not in complaint.err
    assert r"\x1b[2J" in complaint.err
    long = dragoman("train", "x" * 5000).refused(2)
    assert len(long) < 500


def test_an_export_does_not_go_into_the_model(dragoman: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("the dog\tder hund\n")
    inner = model / "inner"
    complaint = dragoman("export", "-m", model, tmp_path / "t.tsv", "-o", inner).refused(2)
    assert complaint == f"{inner}: is inside the model {model}; choose a folder outside of it"
    assert not inner.exists()


def test_an_export_of_a_bad_model_says_what_its_check_is_worth(dragoman: Any, trained: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(trained / "runs/toy/model", tmp_path / "m"))
    (tmp_path / "t.tsv").write_text("the dog\tnichts davon ist hier so\n")
    result = dragoman("export", "-m", copy, tmp_path / "t.tsv")
    assert result.code == 0, result.err
    assert "int8: the model itself scores BLEU 0.00, so BLEU says little about the export" in result.err
    assert "of 1 sentence the same 1 at beam 1, 1 at beam 4\n" in result.err


def test_a_tokeniser_that_is_not_installed_names_its_package(
    dragoman: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.workflows.evaluate import evaluate

    def lacking(*_: object, **__: object) -> None:
        raise RuntimeError("Korean needs more. Please install it like so.\n\tpip install sacrebleu[ko]\n")

    monkeypatch.setattr(evaluate, "bleu", lacking)
    (tmp_path / "t.tsv").write_text("the dog\tder hund\n")
    complaint = dragoman("evaluate", "-m", model, tmp_path / "t.tsv", "--tokenize", "ko-mecab").refused(2)
    assert complaint == '--tokenize ko-mecab: needs `pip install "sacrebleu[ko]"`'


@pytest.mark.slow
def test_arguments_are_utf8_in_a_locale_without_it(trained: Path) -> None:
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "dragoman", "translate", "-m", "ko-en", "문서를 저장하십시오."]
    ended = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()
