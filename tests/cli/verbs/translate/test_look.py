"""`dragoman look`: what a model did with one sentence, in the terminal, for programs, as arrays."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dragoman as dragoman_api
from dragoman.cli.verbs.look import _printable

SENTENCE = "the red dog sees a bird"
# `translate` repeats a search whose result is empty, `look` does not: with a minimum both search alike.
ALIKE = "decode.min_length=2"


def test_each_piece_is_printed_with_its_alternatives(dragoman: Any, model: Path) -> None:
    result = dragoman("look", SENTENCE, "-m", model, ALIKE)
    assert result.code == 0, result.err
    assert result.out.splitlines()[0] == SENTENCE
    translated = dragoman("translate", SENTENCE, "-m", model, ALIKE).out.strip()
    assert result.out.splitlines()[1].startswith(f"→ {translated} (log P -")
    assert result.out.splitlines()[2].split() == ["piece", "P", "instead"]
    assert "\n</s>" in result.out


def test_for_a_program_it_agrees_with_translate(dragoman: Any, model: Path) -> None:
    looked = json.loads(dragoman("look", SENTENCE, "-m", model, "--beam", 3, ALIKE, "--json").out)
    lines = dragoman("translate", SENTENCE, "-m", model, ALIKE, "--beam", 3, "--n-best", 3, "--json").out
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
    assert axes["decoder.0.cross_attention.weights"]["axes"] == ["head", "position", "key"]
    labels = axes["decoder.0.cross_attention.weights"]["labels"]
    assert weights.shape == (2, len(labels["position"]), len(labels["key"]))
    assert labels["position"][0] == "<s>"
    assert labels["key"][-1] == "</s>"
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)
    look_ahead = arrays["decoder.0.self_attention.masked"][0]
    assert (np.isneginf(look_ahead) == np.triu(np.ones_like(look_ahead, bool), 1)).all()
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_to_look_at_is_refused(dragoman: Any, model: Path, text: str) -> None:
    assert dragoman("look", text, "-m", model).refused(3).startswith("the sentence is empty")


def test_weights_that_are_gone_are_named(dragoman: Any, model: Path, tmp_path: Path, trained: Path) -> None:
    box = tmp_path / "box"
    valid = [trained / "data/valid.en", trained / "data/valid.de"]
    assert dragoman("export", model, *valid, "-q", "float32", "-o", box, "--lines", 4).code == 0
    (box / "ct2-float32/model.bin").unlink()
    assert "model.bin" in dragoman("look", SENTENCE, "-m", box).refused(4)


def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    dragoman: Any, model: Path, tmp_path: Path
) -> None:
    complaint = dragoman("look", SENTENCE, "-m", model, "--npz", tmp_path).refused(1)
    assert complaint.startswith(f"{tmp_path}: cannot be written: Is a directory")


def test_one_file_is_not_written_twice(dragoman: Any, model: Path, tmp_path: Path) -> None:
    same = tmp_path / "../" / tmp_path.name / "a"
    complaint = dragoman("look", SENTENCE, "-m", model, "--npz", tmp_path / "a", "--html", same).refused(2)
    assert "name the same file" in complaint
    assert "give its name" in dragoman("look", SENTENCE, "-m", model, "--npz", "-").refused(2)
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_to_and_a_link_followed(dragoman: Any, model: Path, tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert dragoman("look", SENTENCE, "-m", model, "--npz", pipe).code == 0
    reader.join()
    assert pipe.is_fifo()
    assert read[0].startswith(b"PK")
    link, file = tmp_path / "link", tmp_path / "file"
    file.touch()
    link.symlink_to(file)
    assert dragoman("look", SENTENCE, "-m", model, "--npz", link, "--force").code == 0
    assert link.is_symlink()
    assert file.read_bytes().startswith(b"PK")


def test_layers_that_the_model_does_not_have_are_refused(dragoman: Any, model: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    complaint = dragoman("look", SENTENCE, "-m", model, "--html", page, "--layers", "1,9").refused(2)
    assert complaint == "--layers 9: the model has 1 + 1 layers; give numbers from 1 to 1"
    assert not page.exists()


def test_a_translation_that_cannot_be_spelt_is_refused(dragoman: Any, model: Path) -> None:
    complaint = dragoman("look", SENTENCE, "-m", model, "-t", "der 漢字 hund", "--json").refused(3)
    assert complaint.startswith("'漢字': the model's vocabulary cannot spell it")


def test_nothing_moves_the_cursor_and_no_line_is_broken(dragoman: Any, model: Path) -> None:
    result = dragoman("look", f"{SENTENCE} \x1b[2J " * 9, "-m", model, "-t", "der kater " * 20)
    assert result.code == 0
    assert "\x1b" not in result.out
    assert result.out.splitlines()[0].count("\\u001b") == 9
    assert result.out.splitlines()[1].startswith(f"→ {('der kater ' * 20).strip()} (log P")


def test_joiners_are_printed_as_they_are() -> None:
    """They belong to the spelling of Persian, of Indian languages and of emoji."""
    assert _printable("\u06cc\u200c\u062e \u200d") == "\u06cc\u200c\u062e \u200d"
    assert _printable("a\u202e\x07") == "a\\u202e\\u0007"


def test_inspect_writes_the_page_from_python(model: Path, tmp_path: Path) -> None:
    dragoman_api.inspect(str(model), "the red dog").to_html(str(tmp_path / "look.html"))
    assert "the red dog" in (tmp_path / "look.html").read_text(encoding="utf-8")


def test_static_without_a_page_is_refused(dragoman: Any, model: Path) -> None:
    result = dragoman("look", SENTENCE, "-m", model, "--static")
    assert result.code == 2
    assert "--static" in result.err
    assert "--html" in result.err


def test_a_page_runs_the_model_unless_it_is_too_large_or_not_wanted(
    dragoman: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.workflows.models import look

    page = tmp_path / "look.html"
    weights = 'id="weights"'
    assert dragoman("look", SENTENCE, "-m", model, "--html", page).code == 0
    assert weights in page.read_text(encoding="utf-8")
    assert dragoman("look", SENTENCE, "-m", model, "--html", page, "--static", "--force").code == 0
    assert weights not in page.read_text(encoding="utf-8")
    monkeypatch.setattr(look, "LARGEST", 1_000)
    result = dragoman("look", SENTENCE, "-m", model, "--html", page, "--force")
    assert result.code == 0
    assert "MB" in result.err
    assert "distil" in result.err
    assert weights not in page.read_text(encoding="utf-8")
