"""Install, list and remove: a model is there whole, or not at all."""

import errno
import json
import os
import shutil
import threading
from pathlib import Path

import pytest

import dragoman
from dragoman import Translator
from dragoman.bundle import Bundle, add_files, open_bundle
from dragoman.errors import ConfigError, DragomanError, ModelError
from dragoman.workflows.models import models
from dragoman.workflows.models.models import install_model, list_models, pack_model, remove_model


def names() -> list[str]:
    return [model.name for model in list_models() if not model.bundled]


def test_an_installed_model_is_found_by_its_name_and_translates(written: Path, home: Path, tmp_path: Path) -> None:
    packed = pack_model(written, tmp_path / "toy.dragoman").path
    assert install_model(packed).model_path == home / "toy"
    expected = Translator.load(written).translate("red dog").text
    assert Translator.load("toy").translate("red dog").text == expected
    assert dragoman.open_bundle(home / "toy").manifest == open_bundle(written).manifest
    assert not (home / "toy/notes.txt").exists()  # not listed, so not the model's


def test_a_folder_is_installed_as_its_packed_model(written: Path, home: Path, tmp_path: Path) -> None:
    install_model(written, name="folder")
    install_model(pack_model(written, tmp_path / "x.dragoman").path, name="file")
    for path in (home / "folder").rglob("*.*"):
        other = home / "file" / path.relative_to(home / "folder")
        assert path.read_bytes() == other.read_bytes()
        assert not os.path.samefile(path, written / path.relative_to(home / "folder"))  # a copy, no link


@pytest.mark.slow
def test_a_bundled_model_is_installed_under_another_name_to_be_changed(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"^en-ko: is the name of a bundled model; choose another with --name$"):
        install_model("en-ko")
    installed = install_model("en-ko", name="mine")
    add_files(open_bundle(installed.model_path), {"glossary.tsv": "file\t파일\n"}, {})
    assert Translator.load("mine").glossary
    assert names() == ["mine"]


def test_the_list_says_what_each_model_is(written: Path, home: Path) -> None:
    install_model(written)
    toy, *others = list_models()
    assert (toy.name, toy.bundled, toy.pairs, toy.license) == ("toy", False, ("en-de",), "CC0-1.0")
    assert (toy.scores, toy.engines, toy.fault) == ((("chrF2", 41.5, "test"),), ("torch",), None)
    assert toy.bytes == sum(entry["bytes"] for entry in open_bundle(written).manifest["files"].values())
    assert [(model.name, model.bundled, model.hidden) for model in others] == [
        ("en-ko", True, False),
        ("ko-en", True, False),
    ]


def test_a_damaged_model_is_in_the_list_with_its_fault(written: Path, home: Path) -> None:
    for name in ("a", "b", "c"):
        install_model(written, name=name)
    (home / "a/bundle.json").write_text("{")
    (home / "b/config.toml").write_text("[project]\n")
    manifest = json.loads((home / "c/bundle.json").read_text())
    manifest["files"]["README.md"] = "no entry"
    (home / "c/bundle.json").write_text(json.dumps(manifest))
    faults = [model.fault for model in list_models()[:3]]
    assert "a/bundle.json: cannot be read" in str(faults[0])
    assert "b/config.toml: project.name: missing" in str(faults[1])
    assert str(faults[2]) == f"{home / 'c/bundle.json'}: malformed; install the model again"


def test_an_installed_model_hides_a_bundled_one_of_a_later_version(written: Path, home: Path) -> None:
    install_model(written)
    (home / "toy").rename(home / "en-ko")
    assert [(model.name, model.hidden) for model in list_models()] == [
        ("en-ko", False),
        ("en-ko", True),
        ("ko-en", False),
    ]


# --- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../toy", "a/b", "", ".", "..", ".hidden", "a b"])
def test_a_name_is_no_path(name: str, written: Path, home: Path) -> None:
    with pytest.raises(ConfigError, match=r"not a name of a model; use letters"):
        install_model(written, name=name)
    assert list(home.parent.rglob("*")) == [home]


@pytest.mark.parametrize("name", ["translate", "list", "model", "bundle.json", "models"])
def test_the_name_of_a_verb_is_a_name_like_others(name: str, written: Path, home: Path) -> None:
    assert install_model(written, name=name).name == name
    assert Translator.load(name).bundle
    remove_model(name)
    assert names() == []


def test_a_name_that_is_taken_is_replaced_only_by_force(toy: Bundle, home: Path) -> None:
    install_model(toy.folder)
    add_files(toy, {"note.txt": "new"}, {})
    with pytest.raises(
        ConfigError, match=r"^toy: already installed; --force replaces it, --name chooses another name$"
    ):
        install_model(toy.folder)
    assert not (home / "toy/note.txt").exists()
    install_model(toy.folder, force=True)
    assert (home / "toy/note.txt").read_text() == "new"


# --- what goes wrong -----------------------------------------------------------------------------------------------


def test_a_folder_that_does_not_verify_is_not_installed(toy: Bundle, home: Path) -> None:
    (toy.folder / "config.toml").write_text("changed")
    with pytest.raises(ModelError, match=r"toy/config\.toml: its size, 7 bytes, differs from bundle\.json"):
        install_model(toy.folder)
    (toy.folder / "bundle.json").unlink()
    with pytest.raises(ModelError, match=r"no bundle\.json, so not a model"):
        install_model(toy.folder)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("kind", ["folder", "file"])
@pytest.mark.parametrize("before", ["nothing", "a model"])
def test_a_disk_full_half_way_leaves_what_was_there(
    kind: str, before: str, written: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written if kind == "folder" else pack_model(written, tmp_path / "x.dragoman").path
    if before == "a model":
        install_model(path)
    there = sorted(str(one) for one in home.rglob("*"))
    written_files: list[Path] = []

    def full(*arguments: object) -> None:
        written_files.append(Path(str(arguments[-1])))
        if len(written_files) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written_files[-1].write_text("half")

    monkeypatch.setattr(shutil, "copyfile", full)
    monkeypatch.setattr("dragoman.system.archives.Archive.extract", full)
    with pytest.raises(
        DragomanError, match=r"No space left on device; free some space.*installed models are unchanged"
    ):
        install_model(path, force=True)
    assert len(written_files) == 3
    assert sorted(str(one) for one in home.rglob("*")) == there
    if before == "a model":
        assert Translator.load("toy").bundle


def test_a_disk_full_while_packing_leaves_no_file(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("dragoman.installed.packed._write_member", full)
    (tmp_path / "out").mkdir()
    with pytest.raises(
        DragomanError, match=r"x\.dragoman: cannot be written: No space left on device; free some space"
    ):
        pack_model(written, tmp_path / "out/x.dragoman")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_of_models_that_cannot_be_written(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "file"))
    with pytest.raises(DragomanError, match=r"file/models/toy: cannot be written: Not a directory; check the path"):
        install_model(written)
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "closed"))
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # root may write anywhere
    with pytest.raises(DragomanError, match=r"models/toy: cannot be written: Permission denied; make the folder writ"):
        install_model(written)
    assert not (tmp_path / "closed").exists()


def test_of_two_installations_at_once_the_second_finds_the_first(
    written: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked, results = threading.Event(), dict[str, str]()
    verify, refuse = models.verify_bundle, models.refuse_unwritable_folder

    def install(who: str) -> None:
        try:
            results[who] = install_model(written).name
        except DragomanError as error:
            results[who] = str(error)

    second = threading.Thread(target=install, args=("second",))

    def while_the_first_verifies(bundle: Bundle, fastest: bool) -> object:
        if not second.ident:
            second.start()
            assert checked.wait(60)  # the second one has seen that the name is free
        return verify(bundle, fastest)

    def noticed(folder: Path) -> None:
        refuse(folder)
        if second.ident:
            checked.set()

    monkeypatch.setattr(models, "verify_bundle", while_the_first_verifies)
    monkeypatch.setattr(models, "refuse_unwritable_folder", noticed)
    install("first")
    second.join()
    refused = "toy: already installed; --force replaces it, --name chooses another name"
    assert results == {"first": "toy", "second": refused}
    assert [path.name for path in home.iterdir()] == ["toy"]
    assert open_bundle(home / "toy")


# --- remove --------------------------------------------------------------------------------------------------------


def test_only_installed_models_are_removed(written: Path, home: Path, tmp_path: Path) -> None:
    install_model(written)
    for name, message in {
        "en-ko": "en-ko: a bundled model, which belongs to the package and stays",
        "to": "to: not an installed model; there are: toy",
        "..": "..: not an installed model but a path; delete it yourself if it is yours",
        str(written): f"{written}: not an installed model but a path; delete it yourself if it is yours",
    }.items():
        with pytest.raises(ModelError) as at:
            remove_model(name)
        assert str(at.value) == message
    assert remove_model("toy") == home / "toy"
    assert list(home.iterdir()) == []
    with pytest.raises(ModelError, match=r"^toy: not an installed model; there are: none$"):
        remove_model("toy")
    assert written.exists()


@pytest.mark.slow
def test_a_model_in_use_continues_to_translate_after_it_was_removed(written: Path, home: Path) -> None:
    install_model(written)
    install_model("en-ko", name="fast")
    translators = [Translator.load("toy"), Translator.load("fast")]
    expected = [one.translate("red dog").text for one in translators]
    for name in ("toy", "fast"):
        remove_model(name)
    assert [one.translate("red dog").text for one in translators] == expected


def test_a_model_that_cannot_be_removed_stays_whole(written: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    install_model(written)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", busy)
        with pytest.raises(DragomanError, match=r"cannot be written: Device or resource busy; .*nothing was removed"):
            remove_model("toy")
    assert open_bundle(home / "toy")


def test_what_a_killed_removal_left_does_not_come_back(written: Path, home: Path) -> None:
    install_model(written)
    shutil.copytree(home / "toy", home / ".toy.old")  # of an earlier replacement that was killed
    remove_model("toy")
    assert names() == []
    shutil.copytree(written, home / ".toy.partial")  # of a removal that was killed
    assert names() == []
    install_model(written)
    assert sorted(path.name for path in home.iterdir()) == ["toy"]


@pytest.mark.parametrize("value", [None, 3, b"toy"], ids=str)
def test_arguments_of_another_type_are_named(value: object, written: Path, home: Path) -> None:
    with pytest.raises(ConfigError, match=r"^model: give a path"):
        install_model(value)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^name: give the name of an installed model"):
        remove_model(value)  # type: ignore[arg-type]
    if value is not None:
        with pytest.raises(ConfigError, match=r"^name: give a str"):
            install_model(written, name=value)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^force: give True or False"):
        install_model(written, force=value)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^weights: give True or False"):
        pack_model(written, home / "toy.dragoman", weights=value)  # type: ignore[arg-type]
