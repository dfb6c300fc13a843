"""The scripts of `examples/`, as a user runs them; those of text import nothing but `dragoman`."""

import ast
import io
import runpy
import sys
from itertools import islice
from pathlib import Path

import pytest

import dragoman
from dragoman.config import CorpusConfig
from dragoman.data.corpus.corpus import read_pairs

EXAMPLES = Path(__file__).parents[4] / "examples"
EMBEDDED = CorpusConfig(source=EXAMPLES.parent / "src/dragoman/data/embedded/train.tsv.gz")
# Sequences that are no language: they search for themselves.
OTHER_SEQUENCES = {"dates.py", "series.py"}
SCRIPTS = sorted({path.name for path in EXAMPLES.glob("*.py")} - OTHER_SEQUENCES)


def run(name: str, *arguments: object, monkeypatch: pytest.MonkeyPatch, stdin: str = "") -> None:
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_imports_only_dragoman_and_the_standard_library(name: str) -> None:
    tree = ast.parse((EXAMPLES / name).read_text(encoding="utf-8"))
    imports = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert "dragoman" in imports
    assert imports - {"dragoman"} <= set(sys.stdlib_module_names)


def test_train_and_translate_has_fifteen_lines() -> None:
    assert len((EXAMPLES / "train_and_translate.py").read_text(encoding="utf-8").splitlines()) <= 15


@pytest.mark.slow
def test_train_and_translate(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("train_and_translate.py", project / "run.toml", monkeypatch=monkeypatch, stdin="the red dog\n\n")
    scores, *translations = capsys.readouterr().out.split("\n")
    assert scores.startswith(f"{project}/runs/toy/model BLEU ")
    assert len(translations) == 3
    assert translations[1:] == ["", ""]


@pytest.mark.slow
def test_compare_two_models(
    model: Path, trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    test_set = (trained / "data/test.en", trained / "data/test.de")
    run("compare_two_models.py", model, model, *test_set, monkeypatch=monkeypatch)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[:3]] == ["BLEU", "chrF2", "TER"]
    assert len(lines) == 6
    assert all("(bootstrap)" in line and "(randomisation)" in line for line in lines[3:])


@pytest.mark.slow
def test_finetune_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = EXAMPLES.parent / "tests/importing/fixtures/marian-shared"
    pairs = islice((one for one in read_pairs(EMBEDDED) if len(one.source) < 40), 120)
    text = "".join(f"{one.source}\t{one.target}\n" for one in pairs)
    (tmp_path / "pairs.tsv").write_text(text, encoding="utf-8")
    keys = ["train.max_steps=100", "train.warmup=10", "train.validate_every=50", "train.translate_lines=4"]
    keys += ["train.device=cpu", "train.card_lines=0", "decode.extra_length=5"]
    run("finetune_imported.py", theirs, tmp_path / "pairs.tsv", tmp_path / "out", *keys, monkeypatch=monkeypatch)
    imported, tuned, exported, translated = capsys.readouterr().out.splitlines()
    assert imported == "imported marian-shared, licence unknown"
    assert tuned.startswith("fine-tuned 100 steps: BLEU ")
    assert exported.startswith("exported ct2-float32, log P within ")
    assert translated.startswith(text.split("\t")[0])
    assert "<html" in (tmp_path / "out/look.html").read_text(encoding="utf-8")
    origin = dragoman.open_bundle(tmp_path / "out/mine/runs/mine/model").manifest["origin"]
    assert origin["changes"][-1] == "It was fine-tuned from the model `base` with Dragoman."
