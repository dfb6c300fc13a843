"""Where a run may begin: a new folder, an empty one, or one in which a run has started before."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.config import RunConfig
from dragoman.errors import ConfigError
from dragoman.workflows.train.run_folder import begin, check_resumable, lock_run, output_of


@pytest.mark.parametrize("name", ["config.toml", "data.json", "bundle.json", "tokenizer/joint.model", "letter.txt"])
def test_a_folder_with_a_persons_files_is_no_place_for_a_run(
    tmp_path: Path, toy_run: Callable[..., RunConfig], name: str
) -> None:
    folder = tmp_path / "mine"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine: holds files that are not of a run; choose another train\.output"):
        check_resumable(folder, toy_run(), resume=False)
    assert (folder / name).read_text(encoding="utf-8") == "mine"


def test_a_run_begins_in_a_new_folder_in_an_empty_one_and_where_one_has_started(
    tmp_path: Path, toy_run: Callable[..., RunConfig]
) -> None:
    folder = tmp_path / "run"
    check_resumable(folder, toy_run(), resume=False)
    folder.mkdir()
    check_resumable(folder, toy_run(), resume=False)
    with lock_run(folder):
        begin(folder, [])
        (folder / "config.toml").write_text("", encoding="utf-8")
    check_resumable(folder, toy_run(), resume=False)


def test_a_configuration_made_without_a_file_has_a_folder_too(
    toy_run: Callable[..., RunConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = toy_run()
    made = run.model_copy(update={"train": run.train.model_copy(update={"output": None})})
    assert output_of(made) == tmp_path / "runs" / "toy"
