"""No verb replaces a file that it did not write, unless --force is given."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MINE = "my own notes, which exist nowhere else\n"
# The arguments of each verb that writes a file, from its output, a model, a folder of text and a run.toml.
Command = Callable[[Path, Path, Path, Path], list[object]]
WRITERS: dict[str, Command] = {
    "translate": lambda out, model, text, run: ["translate", "-m", model, "-i", text / "test.en", "-o", out],
    "evaluate": lambda out, model, text, run: [
        *("evaluate", "-m", model, text / "test.en", text / "test.de", "-o", out)
    ],
    "look --html": lambda out, model, text, run: ["look", "-m", model, "the red dog", "--html", out],
    "look --npz": lambda out, model, text, run: ["look", "-m", model, "the red dog", "--npz", out],
    "compare": lambda out, model, text, run: ["compare", run.parent / "runs/toy", run.parent / "runs/toy", "-o", out],
    "improve --page": lambda out, model, text, run: ["improve", model, "--from", text / "c.tsv", "--page", out],
    "improve -o": lambda out, model, text, run: ["improve", model, "--from", text / "c.tsv", "-o", out],
    "data check": lambda out, model, text, run: ["data", "check", run, "--html", out],
    "data convert": lambda out, model, text, run: [
        *("data", "convert", text / "a.tmx", "-o", out.rename(out.with_suffix(".tsv"))),
        *("--from", "en", "--to", "de"),
    ],
    "model pack": lambda out, model, text, run: ["model", "pack", "-m", model, "-o", out],
    "model merge": lambda out, model, text, run: ["model", "merge", "-m", model, "-o", out],
    "export": lambda out, model, text, run: ["export", "-m", model, "-o", out],
    "train": lambda out, model, text, run: ["train", run, f"train.output={out}"],
    "init": lambda out, model, text, run: ["init", out],
}


@pytest.mark.parametrize("verb", WRITERS)
def test_a_file_of_a_person_is_refused_as_an_output(dragoman: Any, trained: Path, tmp_path: Path, verb: str) -> None:
    text = Path(shutil.copytree(trained / "data", tmp_path / "text"))
    (text / "c.tsv").write_text("the cat\tdie katze\n", encoding="utf-8")
    (text / "a.tmx").write_text("<tmx/>", encoding="utf-8")
    out = tmp_path / "out"
    out.write_text(MINE, encoding="utf-8")
    arguments = WRITERS[verb](out, trained / "runs/toy/model", text, trained / "run.toml")
    assert dragoman(*arguments).code in (1, 2, 4)
    assert [path.read_text(encoding="utf-8") for path in tmp_path.glob("out*")] == [MINE]


@pytest.mark.parametrize("verb", ["look --html", "evaluate"])
def test_force_replaces_it(dragoman: Any, trained: Path, tmp_path: Path, verb: str) -> None:
    out = tmp_path / "out"
    out.write_text(MINE, encoding="utf-8")
    arguments = WRITERS[verb](out, trained / "runs/toy/model", trained / "data", trained / "run.toml")
    assert "--force replaces it" in dragoman(*arguments).refused(2)
    assert dragoman(*arguments, "--force").code == 0
    assert MINE not in out.read_text(encoding="utf-8")


def test_a_page_replaces_the_page_of_before_and_no_other(dragoman: Any, trained: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html>\n<title>mine</title>\n", encoding="utf-8")
    assert "no page that Dragoman wrote" in dragoman("data", "check", trained / "run.toml", "--html", page).refused(2)
    page.unlink()
    for _ in range(2):
        assert dragoman("data", "check", trained / "run.toml", "--html", page).code == 0


def test_a_glossary_of_ones_own_in_the_folder_of_a_model_is_not_replaced(
    dragoman: Any, model: Path, tmp_path: Path
) -> None:
    copy, terms = Path(shutil.copytree(model, tmp_path / "copy")), tmp_path / "terms.tsv"
    terms.write_text("dog\thund\n", encoding="utf-8")
    (copy / "glossary.tsv").write_text(MINE, encoding="utf-8")
    assert "it is not of the model" in dragoman("model", "glossary", "-m", copy, terms).refused(2)
    assert (copy / "glossary.tsv").read_text(encoding="utf-8") == MINE
    (copy / "glossary.tsv").unlink()
    for _ in range(2):
        assert dragoman("model", "glossary", "-m", copy, terms).code == 0
