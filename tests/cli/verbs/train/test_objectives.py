"""Risk and dual learning of a trained model by the command line: they run, resume bit for bit, and refuse."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.bundle import open_bundle
from suites import cases

Dragoman = Callable[..., object]


def weights(run: Path) -> bytes:
    return (run / "model/model.safetensors").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("form", cases(["expected", "reinforce"], quick=["expected"]))
def test_risk_continues_from_a_trained_model_and_resumes_bit_for_bit(
    trained: Path, tmp_path: Path, dragoman: Dragoman, form: str
) -> None:
    keys = (
        *("train.objective=risk", f"train.risk.form={form}", "train.risk.samples=3", "train.risk.reward=gleu"),
        *("train.learning_rate=1e-3", "train.warmup=1", "train.validate_every=2", "train.log_every=1"),
        f"train.start_from={trained / 'runs/toy/model'}",
    )

    def run(name: str, steps: int, *more: str) -> Path:
        given = (*keys, f"train.max_steps={steps}", f"train.output={tmp_path / name}", *more)
        assert dragoman("train", trained / "run.toml", *given).code == 0
        return tmp_path / name

    whole = run("whole", 4)
    run("parts", 2)
    assert weights(run("parts", 4, "--resume")) == weights(whole)
    assert weights(whole) != weights(trained / "runs/toy")
    rows = [json.loads(line) for line in (whole / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    losses = [row["loss"] for row in rows if "learning_rate" in row]
    assert len(losses) == 4
    assert all(-1 <= loss <= 0 for loss in losses), "a cost for each source"


@pytest.mark.slow
def test_dual_ties_both_directions_of_one_model(trained: Path, tmp_path: Path, dragoman: Dragoman) -> None:
    folder = shutil.copytree(trained, tmp_path / "toy", ignore=shutil.ignore_patterns("runs"))
    config = folder / "run.toml"
    text = config.read_text(encoding="utf-8")
    text = text.replace('target = "de"\n', 'target = "de"\npairs = ["en-de", "de-en"]\n', 1)
    text = text.replace('target = "data/train.de"', 'target = "data/train.de"\nboth_directions = true')
    config.write_text(text.replace("vocab_size = 56", "vocab_size = 58"), encoding="utf-8")
    assert dragoman("train", config).code == 0
    shape = ("model.d_model=16", "model.heads=2", "model.layers=1", "train.max_steps=4")
    models = []
    for language in ("en", "de"):
        assert dragoman("train", "--language-model", config, *shape, f"model.language={language}").code == 0
        models.append(str(folder / f"runs/toy-lm-{language}/model"))
    listed = f"train.dual.language_models={json.dumps(models)}"
    keys = ("train.objective=dual", listed, f"train.start_from={folder / 'runs/toy/model'}", "train.validate_every=2")

    def run(name: str, steps: int, *more: str) -> Path:
        given = (*keys, f"train.max_steps={steps}", f"train.output={tmp_path / name}", *more)
        result = dragoman("train", config, *given)
        assert result.code == 0, result.err
        return tmp_path / name

    whole = run("whole", 4)
    run("parts", 2)
    assert weights(run("parts", 4, "--resume")) == weights(whole)
    assert len(open_bundle(whole / "model").config.project.pairs) == 2

    twice = f"train.dual.language_models={json.dumps(models[:1] * 2)}"
    result = dragoman("train", config, *keys, twice, f"train.output={tmp_path / 'a'}")
    assert "of de; give one for each language" in result.refused(2)
    wrong = f"train.dual.language_models={json.dumps([models[0], str(folder / 'runs/toy/model')])}"
    result = dragoman("train", config, *keys, wrong, f"train.output={tmp_path / 'b'}")
    assert "a translation model; a language model is expected" in result.refused(4)
    result = dragoman("train", trained / "run.toml", "train.objective=dual", listed, f"train.output={tmp_path / 'c'}")
    assert '"dual" needs a model of two directions; set project.pairs = ["en-de", "de-en"]' in result.refused(2)
