"""`demo` and folders that are there already; tests/journey runs it whole."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from dragoman.workflows import demo as demo_module
from suites import covering


@pytest.fixture
def trained_on(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """The minutes of each run that a demo began; none is trained."""
    minutes: list[float | None] = []

    def stop(config: Any, **_: Any) -> None:
        minutes.append(config.train.max_minutes)
        raise KeyboardInterrupt

    monkeypatch.setattr(demo_module, "train", stop)
    return minutes


@pytest.mark.parametrize(
    ("name", "content"),
    covering(
        ["run.toml", "data/train.tsv", "data/valid.tsv", "data/test.tsv"],
        {"text": b"my work\n", "empty": b"", "bytes": b"\xff"},
    ),
)
def test_files_that_no_demo_wrote_are_kept_and_the_folder_is_refused(
    dragoman: Any, tmp_path: Path, trained_on: list[float | None], contents: Any, name: str, content: bytes
) -> None:
    (tmp_path / "mine/data").mkdir(parents=True)
    (tmp_path / "mine" / name).write_bytes(content)
    complaint = dragoman("demo", "-o", tmp_path / "mine").refused(2)
    assert complaint == (
        f"{tmp_path}/mine/{name}: was not written by the demo and is not replaced; choose another folder with --output"
    )
    assert contents(tmp_path / "mine") == {name: content}
    assert trained_on == []


@pytest.mark.slow
def test_what_a_demo_wrote_and_someone_changed_is_kept(
    dragoman: Any, tmp_path: Path, trained_on: list[float | None]
) -> None:
    dragoman("demo", "-o", tmp_path)
    changed = (tmp_path / "run.toml").read_text().replace("layers = 3", "layers = 4")
    (tmp_path / "run.toml").write_text(changed)
    assert dragoman("demo", "-o", tmp_path).refused(2).startswith(f"{tmp_path}/run.toml: was not written by the demo")
    assert (tmp_path / "run.toml").read_text() == changed


@pytest.mark.slow
def test_the_folder_of_an_earlier_demo_is_taken_up_again_with_other_minutes(
    dragoman: Any, tmp_path: Path, trained_on: list[float | None], contents: Any
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert dragoman("demo", "-o", tmp_path, "--minutes", "4").code == 130
    first = contents(tmp_path)
    (tmp_path / "data/test.tsv").unlink()  # stopped before it was written
    assert dragoman("demo", "-o", tmp_path, "--minutes", "0.5").code == 130
    assert trained_on == [4.0, 0.5]
    again = contents(tmp_path)
    assert again.pop("run.toml") != first.pop("run.toml")
    assert again == first


@pytest.mark.parametrize("minutes", ["inf", "nan", "1e300"])
def test_minutes_without_an_end_are_refused(
    dragoman: Any, tmp_path: Path, trained_on: list[float | None], minutes: str
) -> None:
    complaint = dragoman("demo", "-o", tmp_path / "mine", "--minutes", minutes).refused(2)
    assert complaint.startswith("Invalid value for '--minutes': should be ")
    assert not (tmp_path / "mine").exists()


def test_the_commands_that_follow_can_be_copied(dragoman: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module, "run_demo", lambda *_: [])
    monkeypatch.setattr(demo_module, "write_page", lambda folder: folder / "look.html")
    result = dragoman("demo", "-o", tmp_path / "my demo")
    assert result.code == 0, result.err
    words = [shlex.split(line) for line in result.err.splitlines() if " -m " in line]
    assert [line[line.index("-m") + 1] for line in words] == [f"{tmp_path}/my demo/runs/demo/model"] * 2
