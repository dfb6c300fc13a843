"""Scripts of `reproduce/` about the comparison: curves from what was printed, budgets, and causes of the slow start."""

import gzip
import importlib
import json
import random
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

ROOT = Path(__file__).parents[1]
REPRODUCE = ROOT / "reproduce"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A script as a module."""
    monkeypatch.syspath_prepend(str(REPRODUCE))

    def module(name: str) -> ModuleType:
        return importlib.import_module(name)

    return module


def report(budget: float, **bleu: float) -> dict[str, Any]:
    """What `comparison.py` prints of one budget."""
    systems = {
        name: {"flops": budget, "updates": 10, "losses": {"0.004": 100 / score}, "curve": [[5, 5.0], [10, 4.0]]}
        for name, score in bleu.items()
    }
    scores = {name: {"BLEU": [score, score - 1, score + 1, None, None]} for name, score in bleu.items()}
    return {"corpus": "multi30k", "systems": systems, "tests": {"first": scores}}


def test_curves_cross_between_two_budgets_and_are_drawn(script: Any, tmp_path: Path) -> None:
    curves = script("comparison_curves")
    budgets = [report(4e12, Transformer=30, RNN=20), report(1e12, Transformer=10, RNN=20)]
    (tmp_path / "log").write_text("words\n" + json.dumps({"corpus": "multi30k", "budgets": budgets}) + "\n")
    found = curves.curves_of(curves.reports_of((tmp_path / "log").read_text().splitlines(), "multi30k"))
    assert [point.bleu for point in found["Transformer"]] == [10, 30]
    assert found["RNN"][0].curve == ((5e11, 5.0), (1e12, 4.0))
    [crossing] = curves.crossings(found).values()
    assert crossing == pytest.approx(2e12)
    further = curves.curves_of([*budgets, report(16e12, Transformer=35)])  # where only one was trained
    assert curves.crossings(further) == curves.crossings(found)
    drawing = curves.draw(found, "multi30k")
    assert drawing.count("<circle") == 8
    assert drawing.count('class="curve') == 4
    assert all(f">{name}</text>" in drawing for name in found)


@pytest.mark.parametrize("corpus", ["multi30k", "koen_open"])
def test_the_curves_of_the_recorded_results_are_drawn(
    corpus: str, script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawing = tmp_path / "curves.svg"
    script("comparison_curves").main([str(REPRODUCE / "results.md"), "-o", str(drawing), "--corpus", corpus])
    table = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(table["systems"]) == {"Transformer", "ConvS2S", "RNN-attention", "RNN"}
    assert drawing.read_text(encoding="utf-8").count("<circle") == 2 * sum(map(len, table["systems"].values()))
    if corpus == "multi30k":
        assert drawing.read_bytes() == (REPRODUCE.parent / "docs/images/curves.svg").read_bytes(), "draw it again"


def test_the_usual_warm_up_leaves_the_folders_of_runs_as_they_were(script: Any, tmp_path: Path) -> None:
    comparison = script("comparison")
    assert comparison.folder_of(tmp_path, "RNN", 0.004) == tmp_path / "rate-0.004/RNN"
    assert comparison.folder_of(tmp_path, "RNN", 0.004, 2, 0.3) == tmp_path / "rate-0.004-warmup-0.3/RNN-2"


def test_each_cause_of_the_slow_start_changes_what_it_names(script: Any, tmp_path: Path) -> None:
    slow_start = script("slow_start")
    task, configs = slow_start.TASKS["multi30k"], {}
    for name, change in slow_start.CHANGES.items():
        if change.system == "Transformer":
            config = slow_start.changed(task, tmp_path, tmp_path / name, change, 400, 1)
            configs[name] = config.model_dump(exclude={"project": True, "train": {"output"}})
    assert configs["batch-2048"]["train"]["batch_tokens"] == 2048
    assert configs["batch-2048"]["train"]["max_steps"] == 100
    assert [configs[f"warmup-{share}"]["train"]["warmup"] for share in ("1%", "30%")] == [4, 120]
    alike = {name for name, config in configs.items() if config == configs["base"]}
    assert alike == {name for name, change in slow_start.CHANGES.items() if change.initial} | {"base"}


def test_initial_weights_are_multiplied_where_a_cause_says(script: Any) -> None:
    from dragoman.config import ModelConfig

    slow_start = script("slow_start")
    shape = ModelConfig(layers=1, d_model=8, d_ff=16, heads=2, tie="all")

    def weights() -> dict[str, float]:
        with torch.random.fork_rng():
            torch.manual_seed(1)
            return {
                name: float(x.detach().norm()) for name, x in slow_start.Transformer(shape, 20, 20).named_parameters()
            }

    before = weights()
    for name, change in slow_start.CHANGES.items():
        if change.initial:
            with slow_start.scaled(change):
                within = weights()
            factors = {key: within[key] / norm for key, norm in before.items() if norm}
            scaled = {key for key, factor in factors.items() if factor != pytest.approx(1)}
            assert len(scaled) == {"embedding": 1, "attention": 9, "branches": 5}[name.partition("-")[0]], name
            assert [factors[key] for key in scaled] == pytest.approx([change.initial[1]] * len(scaled))
    assert weights() == before


@pytest.mark.slow
def test_the_study_of_the_slow_start_runs_in_miniature(tmp_path: Path) -> None:
    draw, data, words = random.Random(1), tmp_path / "multi30k", "red dog cat sees big two bird man woman runs".split()
    data.mkdir()
    for split, count in (("train", 300), ("val", 6), ("test_2016_flickr", 3), ("test_2017_flickr", 3)):
        lines = [" ".join(draw.choices(words, k=6)) for _ in range(count)]
        for language, text in (("en", lines), ("de", [line.upper() for line in lines])):
            with gzip.open(data / f"{split}.{language}.gz", "wt", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in text)
    options = ["--steps", "8", "--vocabulary", "310", "--names", "batch-2048", "attention-2"]
    command = [sys.executable, str(REPRODUCE / "slow_start.py"), str(tmp_path), str(tmp_path / "out"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    runs = json.loads(done.stdout.splitlines()[-1])["runs"]
    assert list(runs) == ["base", "batch-2048", "attention-2"]
    assert all(len(run["losses"]) == 4 for run in runs.values())
    assert runs["attention-2"]["losses"] != runs["base"]["losses"]
