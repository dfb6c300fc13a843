"""`dragoman model list | verify | pack | install | remove` at the command line."""

import json
from pathlib import Path

import pytest

from cli.conftest import Dragoman
from dragoman.bundle import open_bundle


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "models"


def test_packed_here_installed_and_used_there(
    dragoman: Dragoman, model: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = dragoman("translate", "-m", model, "the red dog").out
    packed = dragoman("model", "pack", "-m", model, "-o", "toy.dragoman")
    assert (packed.code, packed.out) == (0, "")
    assert "toy.dragoman: toy, 0.1 MB, sha256 " in packed.err
    assert packed.err.endswith("dragoman model install toy.dragoman\n")
    assert dragoman("model", "pack", model, "-o", "toy.dragoman").refused(2) == (
        "toy.dragoman: already exists; --force replaces it"
    )
    assert dragoman("translate", "-m", "toy.dragoman", "x").refused(4) == (
        "toy.dragoman: a packed model; `dragoman model install toy.dragoman` installs it under its name"
    )
    installed = dragoman("model", "install", "toy.dragoman")
    assert (installed.code, installed.out) == (0, "")
    assert installed.err.startswith(f"Installed toy (en-de), verified, in {home / 'toy'}\n")
    assert installed.err.endswith('dragoman translate -m toy "…"\n')
    assert dragoman("translate", "-m", "toy", "the red dog").out == expected
    assert json.loads(dragoman("model", "show", "toy", "--json").out)["name"] == "toy"
    assert dragoman("model", "install", "toy.dragoman").refused(2) == (
        "toy: already installed; --force replaces it, --name chooses another name"
    )
    assert dragoman("model", "install", "toy.dragoman", "--name", "../up").refused(2).startswith("'../up': not a name")


def test_the_list(dragoman: Dragoman, model: Path, home: Path) -> None:
    assert dragoman("model", "install", model, "--name", "번역").code == 0
    (home / "broken").mkdir()
    (home / "broken/bundle.json").write_text("{")
    result = dragoman("model", "list")
    assert result.code == 0
    rows = [line.split() for line in result.out.splitlines()]
    assert rows[0] == ["name", "pairs", "size", "licence", "score", "where"]
    assert rows[1] == ["broken", "installed,", "damaged"]
    assert rows[2][:2] + rows[2][3:5] + rows[2][-1:] == ["번역", "en-de", "MB", "private", "installed"]
    assert [row[0] for row in rows[3:]] == ["en-ko", "ko-en"]
    assert f"broken: {home / 'broken/bundle.json'}: cannot be read" in result.err
    assert f"Installed models are in {home}; `dragoman model install` adds one." in result.err
    found = json.loads(dragoman("model", "list", "--json").out)
    assert (found["schema"], found["folder"]) == ("dragoman.model.list/1", str(home))
    [_, named, bundled, _] = found["models"]
    assert (named["name"], named["pairs"], named["bundled"], named["engines"]) == ("번역", ["en-de"], False, ["torch"])
    assert named["scores"][0].keys() == {"metric", "value", "on"}
    assert (bundled["bundled"], bundled["fault"], bundled["model_path"][-5:]) == (True, None, "en-ko")


@pytest.mark.slow
def test_verify_says_what_it_verified(dragoman: Dragoman, model: Path) -> None:
    result = dragoman("model", "verify", "-m", model)
    assert (result.code, result.err) == (0, "")
    files, tokenizer, torch = result.out.splitlines()
    count = len(open_bundle(model).manifest["files"])
    assert files.startswith(f"files         {count} files, 0.1 MB: sizes and hashes as in bundle.json")
    assert tokenizer == "tokenizer     divides 12 golden sentences as when the model was made"
    assert torch.startswith("torch         log P within ")
    assert torch.endswith(" 12 of 12 translated to the same tokens")
    found = json.loads(dragoman("model", "verify", "en-ko", "--json").out)
    assert (found["sentences"], [check["engine"] for check in found["engines"]]) == (32, ["ct2-int8"])


def test_what_does_not_verify_ends_with_4_and_names_the_file(dragoman: Dragoman, model: Path, home: Path) -> None:
    dragoman("model", "install", model)
    path = home / "toy/config.toml"
    path.write_bytes(path.read_bytes()[:-1] + b" ")
    assert dragoman("model", "verify", "toy").refused(4).startswith(f"{path}: its sha256 differs")
    assert dragoman("model", "verify", "toyy").refused(4) == "toyy: no such model folder; did you mean toy?"
    assert dragoman("model", "verify").refused(2).startswith("no model; give one with -m MODEL")
    assert dragoman("model", "verify", "toy", "en-ko").refused(2) == "en-ko: too many arguments; give one model"


def test_remove_asks_a_person_and_never_a_program(
    dragoman: Dragoman, model: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dragoman("model", "install", model)
    assert dragoman("model", "remove", "toy", stdin="y\n").refused(2) == (
        "toy: --yes removes it without a question, and here nobody can be asked"
    )
    for answer, code in (("n\n", 130), ("", 130), ("yes\n", 0)):
        assert (home / "toy").exists()
        with monkeypatch.context() as patch:
            patch.setattr("dragoman.cli.verbs.model.installed.is_terminal", lambda: True)
            result = dragoman("model", "remove", "toy", stdin=answer)
        assert result.code == code
        assert result.err.startswith(f"Remove {home / 'toy'}? [y/N] ")
    assert not (home / "toy").exists()
    dragoman("model", "install", model)
    assert dragoman("model", "remove", "-m", "toy", "--yes").err == f"{home / 'toy'}: removed\n"
    assert dragoman("model", "remove", "toy", "-y").refused(4) == "toy: not an installed model; there are: none"
    assert dragoman("model", "remove", "en-ko", "-y").refused(4) == (
        "en-ko: a bundled model, which belongs to the package and stays"
    )
