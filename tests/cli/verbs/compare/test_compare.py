"""`evaluate --compare` and `--translations`: sacreBLEU's own numbers, as its own command line prints them."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dragoman as library

SOURCES = [f"line {number}" for number in range(40)]
REFERENCES = [f"the {'red' if number % 2 else 'blue'} dog number {number} sleeps here" for number in range(40)]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A test set and the translations of two systems, one of them worse."""
    texts = {
        "source": SOURCES,
        "reference": REFERENCES,
        "one": [line.replace("sleeps", "sleep") if index % 3 else line for index, line in enumerate(REFERENCES)],
        "other": [line.replace("the", "a") if index % 4 else line for index, line in enumerate(REFERENCES)],
    }
    paths = {name: tmp_path / name for name in texts}
    for name, lines in texts.items():
        paths[name].write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return paths


def sacrebleu(*arguments: object) -> Any:
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        *map(str, arguments),
        "-m",
        "bleu",
        "chrf",
        "ter",
        "-f",
        "json",
        "-w",
        "6",
    ]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_finished_translations_are_scored_as_by_sacrebleus_command_line(dragoman: Any, files: dict[str, Path]) -> None:
    result = dragoman("evaluate", files["source"], files["reference"], "--translations", files["one"], "--json")
    ours = json.loads(result.out)["scores"]
    theirs = sacrebleu(files["reference"], "-i", files["one"])
    assert [score["metric"] for score in ours] == [score["name"] for score in theirs]
    assert [score["value"] for score in ours] == pytest.approx([score["score"] for score in theirs], abs=1e-5)


def sacrebleu_table(test: str, *arguments: object) -> list[list[list[float]]]:
    """Of each system the numbers of each metric as the command line prints them; its JSON fails on numpy's floats."""
    command = [sys.executable, "-m", "sacrebleu", *map(str, arguments), "-m", "bleu", "chrf", "ter", test]
    done = subprocess.run([*command, "-f", "latex", "-w", "4"], capture_output=True, text=True, check=True)
    rows = [line.split("&")[1:] for line in done.stdout.splitlines() if re.search(r"&.*\d.*\\\\$", line)]
    table = [[[float(number) for number in re.findall(r"\d+\.\d+", cell)] for cell in row] for row in rows]
    return [row for row in table if all(row)]


@pytest.mark.slow
def test_paired_tests_are_those_of_sacrebleus_command_line(dragoman: Any, files: dict[str, Path]) -> None:
    given = ["--translations", files["one"], "--translations", files["other"]]
    result = dragoman("evaluate", files["source"], files["reference"], *given, "--compare", "--json")
    systems = json.loads(result.out)["comparison"]["systems"]
    assert list(systems) == [str(files["one"]), str(files["other"])]
    both = files["reference"], "-i", files["one"], files["other"]
    for test, keys in (
        ("--paired-bs", ["value", "mean", "half_width", "p_bootstrap"]),
        ("--paired-ar", ["value", "p_randomisation"]),
    ):
        table = sacrebleu_table(test, *both)
        assert len(table) == 2
        for theirs, ours in zip(table, systems.values(), strict=True):
            found = [[score[key] for key in keys if score[key] is not None] for score in ours]
            for numbers, expected in zip(found, theirs, strict=True):
                assert numbers == pytest.approx(expected, abs=6e-5)


def test_two_models_make_one_table_with_p_values(dragoman: Any, model: Path, trained: Path) -> None:
    test_set = trained / "data/test.en", trained / "data/test.de"
    result = dragoman("evaluate", "-m", model, "-m", model, "--compare", *test_set)
    assert result.code == 0, result.err
    rows = [line.split() for line in result.out.splitlines()]
    assert rows[0][:3] == ["system", "metric", "score"]
    assert [row[0] for row in rows[1:4]] == [str(model)] * 3
    assert [row[-1] for row in rows[1:4]] == ["baseline"] * 3
    assert [float(row[-1]) for row in rows[4:7]] == pytest.approx([1.0] * 3, abs=0.01)
    assert "|bs:1000|" in result.out
    assert "|ar:10000|" in result.out


def test_two_models_without_compare_are_an_ensemble(dragoman: Any, model: Path, trained: Path) -> None:
    test_set = trained / "data/test.en", trained / "data/test.de"
    one = json.loads(dragoman("evaluate", "-m", model, *test_set, "--json").out)
    two = json.loads(dragoman("evaluate", "-m", model, "-m", model, *test_set, "--json").out)
    assert two["model"] == f"{model} + {model}"
    assert two["scores"] == one["scores"]


@pytest.mark.slow
def test_a_model_and_a_file_of_another_system(model: Path, trained: Path) -> None:
    """From Python, with the names of files or with their lines."""
    source, reference = trained / "data/test.en", trained / "data/test.de"
    found = library.evaluate(str(model), str(source), str(reference), translations=[reference])
    assert found.comparison
    assert list(found.comparison.systems) == [str(model), str(reference)]
    assert found.others[0].bleu.value == pytest.approx(100)
    lines = [path.read_text(encoding="utf-8").splitlines() for path in (source, reference)]
    translator = library.Translator.load(model)
    assert library.evaluate(translator, *lines).bleu == found.bleu


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "nothing to evaluate"),
        (["--compare", "--translations", "one"], 2, "--compare: one system"),
        (["--score"], 2, "--score: needs a model"),
        (["--translations", "short"], 3, "short: 1 line for the 40 of the test set"),
        (["--translations", "none"], 3, "none: no such file"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    dragoman: Any,
    files: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(files["one"].parent)
    Path("short").write_text("one line\n", encoding="utf-8")
    assert dragoman("evaluate", "source", "reference", *arguments).refused(code).startswith(message)
