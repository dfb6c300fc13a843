"""`init` and `data check`: the first two things a newcomer types."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import CONFIG

from dragoman.config.file import load_config
from dragoman.config.sections.project import NAME_RULE


@pytest.mark.parametrize(
    ("pair", "source", "target"),
    [("ko-en", "ko", "en"), ("pt-BR:en", "pt-BR", "en"), ("zh-Hans:ko", "zh-Hans", "ko"), ("gsw-de", "gsw", "de")],
)
def test_init_writes_a_configuration_that_loads(
    dragoman: Any, tmp_path: Path, pair: str, source: str, target: str
) -> None:
    result = dragoman("init", tmp_path / "mine", "--pair", pair)
    assert (result.code, result.out) == (0, "")
    config = load_config(tmp_path / "mine/run.toml")
    assert (config.project.name, config.project.source, config.project.target) == ("mine", source, target)
    assert config.data.train[0].source == tmp_path / f"mine/data/train.{source}"
    assert (tmp_path / "mine/data").is_dir()
    assert f"dragoman train {tmp_path}/mine/run.toml" in result.err


def test_init_never_overwrites(dragoman: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/run.toml").write_text("my work")
    complaint = dragoman("init", tmp_path / "mine").refused(2)
    assert complaint == f"{tmp_path}/mine/run.toml: already exists; edit it, or choose another name"
    assert (tmp_path / "mine/run.toml").read_text() == "my work"


@pytest.mark.parametrize("pair", ["nonsense", "ko", "ko_en", "ko-en-de", "-", "", "ko:", "k-e"])
def test_a_pair_that_is_none_is_refused_with_an_example(dragoman: Any, tmp_path: Path, pair: str) -> None:
    complaint = dragoman("init", tmp_path / "mine", "--pair", pair).refused(2)
    assert complaint == f'--pair {pair}: not two languages; give, for example, "ko-en", or "pt-BR:en" for longer tags'
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("pair", ["ko-ko", "pt-BR:pt-BR", "ko-KO", "pt-BR:pt-br"])
def test_one_language_twice_is_refused_and_nothing_is_written(dragoman: Any, tmp_path: Path, pair: str) -> None:
    complaint = dragoman("init", tmp_path / "mine", "--pair", pair).refused(2)
    assert complaint == f"--pair {pair}: the same language twice, so both sides would be the same file; give two"
    assert list(tmp_path.iterdir()) == []


def test_an_init_whose_writing_failed_can_be_done_again(
    dragoman: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> None:
        assert path.read_bytes(), "a partial file with the text"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("dragoman.system.files._flush", full)
    complaint = dragoman("init", tmp_path / "mine").refused(1)
    assert complaint.startswith(f"{tmp_path}/mine/run.toml: cannot be written: No space left on device; ")
    assert [path for path in (tmp_path / "mine").rglob("*") if path.is_file()] == []
    monkeypatch.undo()
    assert dragoman("init", tmp_path / "mine").code == 0


@pytest.mark.parametrize("name", ["my project", "-x-", "\u0e31ก", "..", "a\nb", "가" * 67])
def test_a_name_that_is_none_is_refused(dragoman: Any, tmp_path: Path, name: str) -> None:
    complaint = dragoman("init", tmp_path / name).refused(2)
    assert complaint == f"{name!r}: not a name: {NAME_RULE}"
    text = CONFIG.replace('"toy"', json.dumps(name))
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    complaint = dragoman("data", "check", tmp_path / "run.toml").refused(2)
    assert complaint == f"{tmp_path}/run.toml: project.name: not a name: {NAME_RULE}, not {name!r}"
    (tmp_path / "run.toml").unlink()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["법률", "Übersetzung", "ภาษา", "हिन्दी", "v1.2_x-3", "中文2"])
def test_a_name_may_have_letters_of_any_script(dragoman: Any, tmp_path: Path, name: str) -> None:
    assert dragoman("init", tmp_path / name).code == 0
    assert load_config(tmp_path / name / "run.toml").project.name == name


def test_an_empty_name_is_not_the_folder_we_are_in(
    dragoman: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dragoman("init", "").refused(2).startswith("folder: give a path that is not empty")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_we_are_in_may_be_the_project(
    dragoman: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "법률").mkdir()
    monkeypatch.chdir(tmp_path / "법률")
    assert dragoman("init", ".").code == 0
    assert load_config("run.toml").project.name == "법률"


def test_one_language_twice_is_refused(dragoman: Any, project: Path) -> None:
    path = project / "run.toml"
    path.write_text(path.read_text().replace('target = "de"\n\n', 'target = "EN"\n\n', 1))
    complaint = dragoman("train", path).refused(2)
    assert complaint == f"{path}: project.target: the same language as the source, 'en'; give two languages"


def test_init_below_a_file_is_refused(dragoman: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    complaint = dragoman("init", tmp_path / "file/new").refused(1)
    assert complaint.startswith(f"{tmp_path}/file/new/run.toml: cannot be written: Not a directory; ")
    assert (tmp_path / "file").read_text() == "mine"


def test_init_next_to_a_file_called_data_names_that_file(dragoman: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/data").write_text("mine")
    result = dragoman("init", tmp_path / "mine")
    assert result.code in (1, 2)
    assert f"{tmp_path}/mine/data" in result.err
    assert (tmp_path / "mine/data").read_text() == "mine"


def test_what_init_wrote_asks_for_the_text_it_lacks(dragoman: Any, tmp_path: Path) -> None:
    dragoman("init", tmp_path / "mine")
    complaint = dragoman("data", "check", tmp_path / "mine/run.toml").refused(3)
    assert complaint == f"{tmp_path}/mine/data/train.ko: no such file; check the path"


def test_what_a_split_advises_init_can_do(dragoman: Any, tmp_path: Path) -> None:
    text = tmp_path / "all.tsv"
    text.write_text("".join(f"page {number} of the book\tSeite {number}\n" for number in range(100)), encoding="utf-8")
    complaint = dragoman("init", tmp_path / "mine", text, "--pair", "en-de").refused(3)
    assert complaint.endswith("or keep only repeats together with --no-near")
    result = dragoman("init", tmp_path / "mine", text, "--pair", "en-de", "--no-near", "--held-out", "7")
    assert result.code == 0, result.err
    assert "(7 valid, 7 test, 86 train pairs)" in result.err


@pytest.mark.parametrize("option", [["--held-out", "7"], ["--no-near"]])
def test_without_text_nothing_is_split(dragoman: Any, tmp_path: Path, option: list[str]) -> None:
    complaint = dragoman("init", tmp_path / "mine", *option).refused(2)
    assert complaint == f"{option[0]}: has no effect on a project without text; leave it out"
    assert not (tmp_path / "mine").exists()


# --- data check --------------------------------------------------------------------------------------------------


def test_a_check_reports_sizes_doubts_and_the_next_step_and_writes_nothing(
    dragoman: Any, project: Path, contents: Any
) -> None:
    train = project / "data/train.en"
    lines = train.read_text().splitlines()
    train.write_text("\n".join(["page 70", *lines[1:]]) + "\n")
    before = contents(project)
    result = dragoman("data", "check", project / "run.toml")
    assert (result.code, result.out) == (0, "")
    assert "300 pairs" in result.err
    row = next(line for line in result.err.splitlines() if "numbers that differ" in line)
    assert row.split()[:2] == ["train[0]", "1"]
    assert row.endswith("train.en:1")
    assert [line for line in result.err.splitlines() if len(line) > 80 and not line.startswith("Next:")] == []
    assert result.err.endswith(f"Next: dragoman train {project}/run.toml\n")
    assert contents(project) == before


def test_a_check_in_json_is_one_object_on_stdout(dragoman: Any, project: Path) -> None:
    result = dragoman("data", "check", project / "run.toml", "--json")
    report = json.loads(result.out)
    assert report["schema"] == "dragoman.data.check/2"
    assert [corpus["name"] for corpus in report["corpora"]] == ["valid", "test", "train[0]"]
    assert report["corpora"][2]["pairs"] == 300
    assert result.err == ""


def test_a_check_takes_overrides(dragoman: Any, project: Path) -> None:
    result = dragoman("data", "check", project / "run.toml", "data.test=data/none.tsv")
    assert result.refused(3) == f"{project}/data/none.tsv: no such file; check the path"
