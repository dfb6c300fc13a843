"""`init --from`: a configuration for fine-tuning, and the text split into it."""

import math
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import sentences

import dragoman as package
from dragoman.config.file import load_config
from dragoman.config.sizes import chosen_train, epochs_for


@pytest.fixture
def text(tmp_path: Path) -> tuple[Path, Path]:
    """A corpus of two files."""
    files = tmp_path / "all.en", tmp_path / "all.de"
    for side, path in enumerate(files):
        path.write_text("".join(pair[side] + "\n" for pair in sentences(200, seed=3)), encoding="utf-8")
    return files


@pytest.mark.slow
def test_two_commands_from_two_files_to_a_fine_tuned_model(
    dragoman: Any, tmp_path: Path, model: Path, text: tuple[Path, Path]
) -> None:
    result = dragoman("init", tmp_path / "mine", *text, "--from", model)
    assert result.code == 0, result.err
    assert "the text is split into" in result.err
    assert "10 valid, 10 test, 180 train pairs" in result.err
    path = tmp_path / "mine/run.toml"
    config = load_config(path)
    assert config.train.start_from == model.resolve()
    assert (config.project.source, config.project.target) == ("en", "de")
    assert (config.train.watch, config.train.schedule) == ("chrf", "linear")
    assert config.train.learning_rate == pytest.approx(0.2 / math.sqrt(32 * 4000), rel=0.05)
    result = dragoman("train", path, "train.card_lines=0", "train.device=cpu", "train.precision=float32")
    assert result.code == 0, result.err
    assert "for 180 pairs: max_steps 100, warmup 10, validate_every 10" in result.err
    assert (tmp_path / "mine/runs/mine/model/model.safetensors").exists()


def test_the_same_from_python(tmp_path: Path, model: Path, text: tuple[Path, Path]) -> None:
    project = package.init_project(tmp_path / "mine", *text, start_from=model, held_out=8)
    assert project.parts == {"valid": 8, "test": 8, "train": 184}
    assert load_config(project.config).train.start_from == model.resolve()
    assert load_config(package.init_project(tmp_path / "other", pair="de:en").config).train.start_from is None


@pytest.mark.parametrize(
    ("lines", "code", "cause"),
    [("", 3, "are too few to hold out"), ("a\n\nb\n", 3, "empty line"), (None, 3, "no such file")],
)
def test_text_that_cannot_be_split_leaves_nothing_behind(
    dragoman: Any, tmp_path: Path, model: Path, lines: str | None, code: int, cause: str
) -> None:
    files = tmp_path / "a.en", tmp_path / "a.de"
    if lines is not None:
        for path in files:
            path.write_text(lines)
    assert cause in dragoman("init", tmp_path / "mine", *files, "--from", model).refused(code)
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("argument", ["pair", "near", "both_directions"])
def test_arguments_of_another_type_are_named(tmp_path: Path, argument: str) -> None:
    with pytest.raises(package.ConfigError, match=rf"^{argument}: give "):
        package.init_project(tmp_path / "mine", **{argument: 3})  # type: ignore[arg-type]
    assert not (tmp_path / "mine").exists()


def test_a_base_that_does_not_exist_is_refused(dragoman: Any, tmp_path: Path) -> None:
    complaint = dragoman("init", tmp_path / "mine", "--from", tmp_path / "nowhere").refused(4)
    assert complaint.startswith(f"{tmp_path}/nowhere: no such model folder; `dragoman train` writes one")
    assert not (tmp_path / "mine").exists()


@pytest.mark.slow
def test_a_bundled_model_is_copied_with_weights_that_its_int8_follows(dragoman: Any, tmp_path: Path) -> None:
    assert dragoman("init", tmp_path / "mine", "--from", "en-ko").code == 0
    checked = {check.engine: check for check in package.verify_model(tmp_path / "mine/base").engines}
    assert checked["torch"].largest < 1e-4  # its golden sentences are those of its weights
    assert checked["ct2-int8"].identical >= 16  # of 32: activations in int8 move near-ties


def test_a_third_file_is_too_many(dragoman: Any, tmp_path: Path) -> None:
    complaint = dragoman("init", tmp_path / "mine", "a.en", "a.de", "a.ko").refused(2)
    assert complaint == "a.ko: too many arguments; give the two files of a corpus, or one .tsv or .jsonl file"


@pytest.mark.parametrize(("pairs", "epochs"), [(100, 20), (1000, 20), (10_000, 10), (100_000, 5)])
def test_the_epochs_of_fine_tuning_by_the_amount_of_text(
    tmp_path: Path, model: Path, pairs: int, epochs: float
) -> None:
    assert epochs_for(pairs, tuning=True) == pytest.approx(epochs, rel=0.01)
    train = load_config(package.init_project(tmp_path / "mine", start_from=model).config).train
    chosen = chosen_train(train, pairs, steps_per_epoch=pairs / 50)
    assert chosen.max_steps == pytest.approx(max(100, epochs * pairs / 50), rel=0.03)
    assert chosen.warmup_steps == min(400, chosen.total_steps // 10)
    assert chosen.validation_interval == min(1000, chosen.total_steps // 10)
