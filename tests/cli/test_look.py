"""`dragoman look`: what a model did with one sentence, in the terminal, for programs, as arrays."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SENTENCE = "the red dog sees a bird"


def test_each_piece_is_told_with_what_could_have_been_said_instead(dragoman: Any, model: Path) -> None:
    said = dragoman("look", SENTENCE, "-m", model)
    assert said.code == 0, said.err
    assert said.out.splitlines()[0] == SENTENCE
    translated = dragoman("translate", SENTENCE, "-m", model).out.strip()
    assert said.out.splitlines()[1].startswith(f"→ {translated} (log P -")
    assert said.out.splitlines()[2].split() == ["piece", "P", "instead"]
    assert "\n</s>" in said.out


def test_for_a_program_it_agrees_with_translate(dragoman: Any, model: Path) -> None:
    looked = json.loads(dragoman("look", SENTENCE, "-m", model, "--beam", 3, "--json").out)
    lines = dragoman("translate", SENTENCE, "-m", model, "--beam", 3, "--n-best", 3, "--json").out
    translated = json.loads(lines)["translations"]
    assert [hypothesis["text"] for hypothesis in looked["hypotheses"]] == [one["text"] for one in translated]
    assert [one["log_prob"] for one in looked["hypotheses"]] == pytest.approx([one["log_prob"] for one in translated])
    assert looked["log_prob"] == pytest.approx(translated[0]["log_prob"], abs=1e-4)
    steps = looked["steps"]
    assert [step["piece"] for step in steps] == looked["pieces"]["output"]
    assert looked["pieces"]["input"][1:] == looked["pieces"]["output"][:-1]
    for step in steps:
        probabilities = [probability for _, probability in step["instead"]]
        assert probabilities == sorted(probabilities, reverse=True)
        assert sum(probabilities) + step["probability"] <= 1 + 1e-6
        assert len(probabilities) == 10


def test_a_translation_of_ones_own_is_scored_as_evaluate_scores_it(dragoman: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text(SENTENCE + "\n")
    (tmp_path / "a.de").write_text("der kater mag\n")
    looked = json.loads(dragoman("look", SENTENCE, "-m", model, "-t", "der kater mag", "--json").out)
    scored = dragoman("evaluate", "--score", "-m", model, tmp_path / "a.en", tmp_path / "a.de").out
    assert looked["log_prob"] == pytest.approx(float(scored.split()[0]), abs=1e-3)
    assert looked["hypotheses"] == []
    assert looked["translation"] == "der kater mag"


def test_every_array_goes_into_a_file_with_its_axes(dragoman: Any, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "arrays.npz"
    assert dragoman("look", SENTENCE, "-m", model, "--npz", file).code == 0
    arrays = np.load(file)
    axes = json.loads(str(arrays["axes"]))
    weights = arrays["decoder.0.cross_attention.weights"]
    assert axes["decoder.0.cross_attention.weights"]["axes"] == ["head", "position", "seen"]
    labels = axes["decoder.0.cross_attention.weights"]["labels"]
    assert weights.shape == (2, len(labels["position"]), len(labels["seen"]))
    assert labels["position"][0] == "<s>"
    assert labels["seen"][-1] == "</s>"
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)
    look_ahead = arrays["decoder.0.self_attention.masked"][0]
    assert (np.isneginf(look_ahead) == np.triu(np.ones_like(look_ahead, bool), 1)).all()
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_to_look_at_is_refused(dragoman: Any, model: Path, text: str) -> None:
    assert dragoman("look", text, "-m", model).refused(3).startswith("the sentence is empty")


def test_a_model_that_was_exported_for_use_says_where_its_weights_are(
    dragoman: Any, model: Path, tmp_path: Path, trained: Path
) -> None:
    box = tmp_path / "box"
    valid = [trained / "data/valid.en", trained / "data/valid.de"]
    assert dragoman("export", model, *valid, "-q", "float32", "-o", box, "--lines", 4).code == 0
    (box / "model.safetensors").unlink(missing_ok=True)
    complaint = dragoman("look", SENTENCE, "-m", box).refused(4)
    assert "model.safetensors" in complaint


def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    dragoman: Any, model: Path, tmp_path: Path
) -> None:
    complaint = dragoman("look", SENTENCE, "-m", model, "--npz", tmp_path).refused(1)
    assert complaint.startswith(f"{tmp_path}: cannot be written: Is a directory")
