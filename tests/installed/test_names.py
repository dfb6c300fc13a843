"""Where models are found by name: a path, then the installed models, then the bundled ones."""

import os
import sys
from pathlib import Path

import pytest

from dragoman import bundled, installed
from dragoman.errors import ConfigError, ModelError
from dragoman.installed import changeable_model, installed_names, models_folder, name_of_model, resolve_model


def put(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "bundle.json").write_text("{}")
    return folder


def test_a_path_comes_before_an_installed_model_and_that_before_a_bundled_one(home: Path) -> None:
    assert resolve_model("en-ko") == bundled.HOME / "en-ko"
    put(home / "en-ko")
    assert resolve_model("en-ko") == home / "en-ko"
    put(Path("en-ko"))
    assert resolve_model("en-ko") == Path("en-ko")
    assert resolve_model("./en-ko") == Path("en-ko")


def test_a_name_of_any_script_however_it_is_composed(home: Path) -> None:
    put(home / "번역기")
    assert (
        resolve_model("번역기") == resolve_model("\u1107\u1165\u11ab\u110b\u1167\u11a8\u1100\u1175") == home / "번역기"
    )


@pytest.mark.parametrize("name", [".", "..", "/", ".hidden", "../models", "no-such", "ko/en"])
def test_what_is_no_name_is_no_installed_model(home: Path, name: str) -> None:
    put(home / ".hidden")
    assert resolve_model(name) == Path(name)


def test_did_you_mean_knows_installed_and_bundled_models(home: Path) -> None:
    put(home / "medical")
    with pytest.raises(ModelError, match=r"^medcal: no such model folder; did you mean medical\?$"):
        resolve_model("medcal")
    with pytest.raises(ModelError, match=r"^en-kp: no such model folder; did you mean en-ko\?$"):
        resolve_model("en-kp")


def test_the_folder_of_a_project_does_not_hide_the_installed_model_of_its_name(home: Path) -> None:
    put(home / "news")
    Path("news").mkdir()
    assert resolve_model("news") == home / "news"
    assert resolve_model("./news") == home / "news"
    put(Path("news/runs/news/model"))
    assert resolve_model("news/runs/news/model") == Path("news/runs/news/model")


def test_an_installed_model_may_be_changed_and_a_bundled_one_not(home: Path) -> None:
    put(home / "mine")
    assert changeable_model("mine") == home / "mine"
    with pytest.raises(ModelError, match=r"^ko-en: a bundled model, which stays as it is"):
        changeable_model("ko-en")


def test_hidden_folders_and_files_are_no_models(home: Path) -> None:
    for name in ("b", "a", ".a.partial"):
        put(home / name)
    (home / "file").write_text("")
    (home / "empty").mkdir()
    assert installed_names() == ["a", "b"]


def test_a_model_whose_replacement_was_killed_is_there(home: Path) -> None:
    put(home / ".mine.old")
    assert resolve_model("mine") == home / "mine"


@pytest.mark.parametrize("name", ["", ".", "..", "../a", "a/b", "a\\b", "/a", ".a", "-a", "a b", "a\0", "a" * 201])
def test_a_name_has_letters_digits_dots_dashes_and_underscores(name: str) -> None:
    with pytest.raises(ConfigError, match="not a name of a model"):
        name_of_model(name)


# --- the folder ----------------------------------------------------------------------------------------------------


def test_the_folder_is_that_of_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("DRAGOMAN_HOME", "~/mine")
    assert models_folder() == tmp_path / "mine" / "models"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"DRAGOMAN_HOME": ""}, ".local/share/dragoman/models"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/dragoman/models"),
        ("linux", {"XDG_DATA_HOME": "relative"}, ".local/share/dragoman/models"),  # which XDG says to ignore
        ("darwin", {"XDG_DATA_HOME": "/data"}, "Library/Application Support/dragoman/models"),
        ("win32", {}, "AppData/Local/dragoman/models"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/dragoman/models"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
def test_without_the_variable_it_is_where_programs_keep_their_data(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("DRAGOMAN_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert models_folder() == tmp_path / expected


def test_a_user_without_a_home_folder_still_finds_bundled_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError

    monkeypatch.delenv("DRAGOMAN_HOME")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(installed.Path, "home", nowhere)
    assert resolve_model("en-ko") == bundled.HOME / "en-ko"
    assert installed_names() == []
    with pytest.raises(ConfigError, match=r"^DRAGOMAN_HOME: this user has no home folder; set the variable"):
        models_folder()
