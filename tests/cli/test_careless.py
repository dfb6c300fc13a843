"""What a careless person types: each is one line that names what is wrong, and nothing is an internal error."""

import shutil
from pathlib import Path
from typing import Any

import pytest


def test_an_empty_name_is_no_folder(dragoman: Any, model: Path) -> None:
    assert "-m: the name is empty" in dragoman("translate", "-m", "", "dog").refused(2)
    assert "-i: the name is empty" in dragoman("translate", "-m", model, "-i", "").refused(2)
    assert dragoman("translate", "-m", model, "--text", "--", "-m", "").code == 0


def test_more_processes_than_a_machine_can_have_are_refused(dragoman: Any, project: Path, tmp_path: Path) -> None:
    text = [project / "data/train.en", project / "data/train.de"]
    for number in ("5000", "99999999999999999999"):
        command = ["data", "clean", project / "run.toml", *text, "-o", tmp_path / "out", "--workers", number]
        assert "--workers" in dragoman(*command).refused(2)


def test_a_document_that_is_not_there_cannot_be_read(dragoman: Any, project: Path, tmp_path: Path) -> None:
    rest = ["-o", tmp_path / "x.tsv", "--from", "en", "--to", "de"]
    command = ["data", "convert", "nofile.po", *rest]
    assert "nofile.po: cannot be read" in dragoman(*command).refused(3)
    (tmp_path / "x.de").write_text("ein Satz\n", encoding="utf-8")
    assert "give .tmx, .po, .xliff" in dragoman("data", "convert", tmp_path / "x.de", *rest).refused(2)


def test_a_distillation_without_a_teacher_asks_for_one(dragoman: Any, project: Path) -> None:
    assert "no teacher; give one with -m" in dragoman("distill", project / "run.toml", "train.max_steps=1").refused(2)


def test_a_name_that_the_locale_cannot_write_is_named(dragoman: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise UnicodeEncodeError("ascii", "법/r", 0, 1, "ordinal not in range(128)")

    monkeypatch.setattr("dragoman.cli.main._check_working_folder", fail)
    assert "LC_ALL=C.UTF-8" in dragoman("doctor").refused(2)


def test_a_choice_is_refused_in_plain_words(dragoman: Any) -> None:
    complaint = dragoman("compare", "a", "b", "--equal", "time").refused(2)
    assert "time" in complaint
    assert "Value error" not in complaint


def test_an_empty_glossary_removes_the_one_before_and_says_so(dragoman: Any, model: Path, tmp_path: Path) -> None:
    copy, empty = Path(shutil.copytree(model, tmp_path / "copy")), tmp_path / "empty.tsv"
    empty.touch()
    assert "has no glossary now" in dragoman("model", "glossary", "-m", copy, empty).err


@pytest.mark.parametrize("output", [".", "/", "folder"])
def test_a_model_is_not_packed_into_a_folder(
    dragoman: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    complaint = dragoman("model", "pack", "-m", model, "-o", output).refused(1)
    assert complaint == f"{output}: cannot be written: Is a directory; check the path"


def test_a_model_is_not_packed_into_itself(dragoman: Any, model: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(model, tmp_path / "copy"))
    assert "is inside the model" in dragoman("model", "pack", "-m", copy, "-o", copy / "x.dragoman").refused(2)
    assert not (copy / "x.dragoman").exists()


def test_an_ensemble_of_bundled_models_says_what_is_wrong(dragoman: Any) -> None:
    assert "translate the same languages" in dragoman("translate", "-m", "en-ko", "-m", "ko-en", "dog").refused(4)
    assert "needs the weights of each model" in dragoman("translate", "-m", "en-ko", "-m", "en-ko", "dog").refused(4)


def test_a_base_of_other_languages_is_warned_of(dragoman: Any, model: Path, tmp_path: Path) -> None:
    result = dragoman("init", tmp_path / "q", "--from", model, "--pair", "ko-en")
    assert result.code == 0, result.err
    assert "it begins with a model of other languages" in " ".join(result.err.split())
    assert "other languages" not in dragoman("init", tmp_path / "r", "--from", model).err


def test_look_warns_of_a_sentence_in_another_script(dragoman: Any, model: Path) -> None:
    assert "Hangul letters, not in those of en" in " ".join(dragoman("look", "-m", model, "문을 엽니다").err.split())


def test_a_key_that_resembles_no_other_gets_no_far_fetched_guess(dragoman: Any, project: Path) -> None:
    assert "did you mean" not in dragoman("train", project / "run.toml", "train.nothing=1").refused(2)


def test_a_message_names_the_file_and_not_what_it_is_written_as(tmp_path: Path) -> None:
    import errno

    from dragoman.system.files import storage_error

    message = str(storage_error(tmp_path / ".valid.de.0123abcd.partial", OSError(errno.EFBIG, "File too large")))
    assert message.startswith(f"{tmp_path}/valid.de: ")
    assert "ulimit -f" in message
