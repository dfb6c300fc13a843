"""`train --language-model`: a bundle that says what it is, fused, measured and refused where it does not belong."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.bundle import open_bundle
from dragoman.cli.main import main
from dragoman.workflows.train.language_model import LineScorer

Dragoman = Callable[..., object]
KEYS = ("model.d_model=32", "model.heads=2", "model.layers=1")


@pytest.fixture(scope="session")
def language_model(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of German with the pieces of the trained run."""
    output = tmp_path_factory.mktemp("language_model")
    keys = (*KEYS, "train.max_steps=40", f"train.output={output}")
    assert main(["train", "--language-model", str(trained / "run.toml"), *keys]) == 0
    return output / "model"


def test_it_explains_itself(language_model: Path, trained: Path) -> None:
    bundle = open_bundle(language_model)
    assert bundle.manifest["architecture"] == "language-model"
    assert bundle.manifest["languages"] == {"source": "de", "target": "de"}
    [score] = bundle.manifest["scores"]
    assert score["metric"] == "perplexity per piece"
    own = open_bundle(trained / "runs/toy/model").tokenizer
    assert bundle.tokenizer.target.serialized == own.target.serialized
    assert "a language model of de" in (language_model / "README.md").read_text(encoding="utf-8")


def test_its_perplexity_is_that_of_its_card_and_likely_lines_have_less(
    language_model: Path, trained: Path, dragoman: Dragoman
) -> None:
    bundle, text = open_bundle(language_model), trained / "data/test.de"
    result = dragoman("model", "perplexity", "-m", language_model, text)
    lines = text.read_text(encoding="utf-8").splitlines()
    printed = [float(value) for value in result.out.split()]
    pieces = [len(ids) + 1 for ids in bundle.tokenizer.encode(lines, "target")]
    logs = sum(n * math.log(value) for n, value in zip(pieces, printed, strict=True))
    # A little less than the card says: here special tokens have no probability.
    assert math.exp(logs / sum(pieces)) == pytest.approx(bundle.manifest["scores"][0]["value"], rel=0.03)
    good, bad = LineScorer(bundle, "cpu").perplexities(["der rote hund sieht", "xqxqxq zzz qqq"])
    assert good < bad
    result = dragoman("model", "perplexity", "-m", language_model, "--json", stdin="der hund\n\n")
    assert [json.loads(line)["line"] for line in result.out.splitlines()] == [1, 2]


def test_it_is_fused_and_changes_what_is_found(language_model: Path, model: Path, dragoman: Dragoman) -> None:
    alone = dragoman("translate", "-m", model, "the red dog sees a bird", "-O", "beam=4").out
    fused = ("-O", f"language_model={language_model}", "-O", "language_model_weight=5")
    found = dragoman("translate", "-m", model, "the red dog sees a bird", "-O", "beam=4", *fused).out
    assert found != alone


@pytest.mark.slow
def test_a_language_model_with_other_words_or_of_another_kind_is_refused(
    language_model: Path, model: Path, trained: Path, tmp_path: Path, dragoman: Dragoman
) -> None:
    result = dragoman("translate", "-m", model, "dog", "-O", f"language_model={model}")
    assert "a translation model; a language model is expected" in result.refused(4)
    for verb in (("translate", "-m", language_model, "dog"), ("train", trained / "run.toml")):
        keys = (f"train.start_from={language_model}", f"train.output={tmp_path / 'o'}") if verb[0] == "train" else ()
        result = dragoman(*verb, *keys)
        assert "a language model, which translates nothing" in result.refused(4)
    folder = shutil.copytree(trained, tmp_path / "other", ignore=shutil.ignore_patterns("runs"))
    keys = (*KEYS, "tokenizer.vocab_size=40", "train.max_steps=2")
    text = (folder / "run.toml").read_text(encoding="utf-8").replace("vocab_size = 56", "vocab_size = 40")
    (folder / "run.toml").write_text(text, encoding="utf-8")
    assert dragoman("train", "--language-model", folder / "run.toml", *keys).code == 0
    other = folder / "runs/toy-lm-de/model"
    result = dragoman("translate", "-m", model, "dog", "-O", f"language_model={other}")
    assert f"{other}: its vocabulary is not that of {model}" in result.refused(4)
    of_source = tmp_path / "of source"
    keys = (*KEYS, "model.language=en", "train.max_steps=2", f"train.output={of_source}")
    assert dragoman("train", "--language-model", trained / "run.toml", *keys).code == 0
    result = dragoman("translate", "-m", model, "dog", "-O", f"language_model={of_source / 'model'}")
    assert f"a language model of en, but {model} translates into de; train one with" in result.refused(4)
    result = dragoman("compare", trained / "runs/toy", of_source)
    assert result.refused(4) == f"{of_source}: a language model, which translates nothing; give translation models"
    assert "no finished run in this folder" in dragoman("compare", folder / "runs").refused(2)


@pytest.mark.slow
def test_the_source_language_is_read_too_and_a_run_resumes(trained: Path, tmp_path: Path, dragoman: Dragoman) -> None:
    keys = (*KEYS, "model.language=en", "model.layer=lstm", f"train.output={tmp_path / 'en'}")
    arguments = ("train", "--language-model", trained / "run.toml", *keys)
    assert dragoman(*arguments, "train.max_steps=4").code == 0
    assert dragoman(*arguments, "train.max_steps=8", "--resume").code == 0
    assert dragoman("train", "--language-model", trained / "run.toml", *KEYS[:0], *keys[:-1],
                    "train.max_steps=8", f"train.output={tmp_path / 'whole'}").code == 0  # fmt: skip
    both = [(tmp_path / name / "model/model.safetensors").read_bytes() for name in ("en", "whole")]
    assert both[0] == both[1]
    assert open_bundle(tmp_path / "en/model").config.model.language == "en"  # type: ignore[union-attr]
    result = dragoman("train", "--language-model", trained / "run.toml", "model.language=fr")
    assert "model.language: fr is no language of this project; choose one of: en, de" in result.refused(2)


def test_ctranslate2_has_none(
    language_model: Path, model: Path, trained: Path, tmp_path: Path, dragoman: Dragoman
) -> None:
    copy = shutil.copytree(model, tmp_path / "model")
    text = (trained / "data/test.en", trained / "data/test.de")
    assert dragoman("export", "-m", copy, *text, "-q", "float32").code == 0
    result = dragoman("translate", "-m", copy, "dog", "-O", f"language_model={language_model}")
    assert result.refused(2) == "decode.language_model: only the torch engine has it; use --engine torch, or omit it"
