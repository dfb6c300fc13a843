"""The bundled models: found by how a text is written, whole, small, offline, without torch."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dragoman
from dragoman import Translator, bundled
from dragoman.bundle import open_bundle
from dragoman.bundled import HOME, BundledModel, bundled_model_for, bundled_models, scripts
from dragoman.errors import ConfigError, ModelError
from dragoman.installed import resolve_model

PAIRS = ["en-ko", "ko-en"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder of bundled models."""
    monkeypatch.setattr(bundled, "HOME", tmp_path)
    bundled_models.cache_clear()
    yield tmp_path
    bundled_models.cache_clear()


def put(home: Path, name: str, **shares: float) -> None:
    (home / name).mkdir()
    facts = {"scripts": shares, "limits": "none.", "languages": {"source": name, "target": "en"}}
    (home / name / "bundle.json").write_text(json.dumps(facts))


# --- which ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Save the document.", "en-ko"),
        ("SAVE", "en-ko"),
        ("Ｓａｖｅ", "en-ko"),
        ("Seoul (서울) is the capital of Korea.", "en-ko"),
        ("문서를 저장합니다.", "ko-en"),
        ("저장", "ko-en"),
        ("\u1106\u116e\u11ab\u1109\u1165", "ko-en"),  # conjoining jamo
        ("JavaScript 배열", "ko-en"),
        ('`detectAI("The extraordinary students were studying.")`는 `"AI"`를 반환해야 합니다.', "ko-en"),
        ("print()로 화면에 출력합니다.", "ko-en"),
    ],
)
def test_a_text_finds_the_model_that_reads_its_script(text: str, name: str) -> None:
    assert bundled_model_for(text).name == name


@pytest.mark.parametrize("text", ["", "12:30", "…?!", "🙂"])
def test_of_equals_the_first_by_name(text: str) -> None:
    assert bundled_model_for(text).name == PAIRS[0]


@pytest.mark.parametrize(
    ("text", "script"), [("Сохраните документ.", "Cyrillic"), ("これはペンです。", "Hiragana"), ("حفظ", "Arabic")]
)
def test_a_script_that_none_learned_is_refused(text: str, script: str) -> None:
    with pytest.raises(ConfigError) as caught:
        bundled_model_for(text)
    assert str(caught.value) == f"no bundled model (en-ko, ko-en) reads {script} letters; give one with -m MODEL"


def test_any_scripts_will_do(home: Path) -> None:
    put(home, "xx-yy", CYRILLIC=0.9, LATIN=0.1)
    put(home, "yy-xx", GREEK=1.0)
    assert [bundled_model_for(text).name for text in ("Да", "Ναι", "yes", "7")] == ["xx-yy", "yy-xx", "xx-yy", "xx-yy"]


def test_the_likeliest_and_not_merely_one_that_knows_the_letters() -> None:
    letters = scripts("Latin letters, 한글")
    some, more = (BundledModel(HOME, {"LATIN": share, "HANGUL": 1 - share}, "", ("ko", "en")) for share in (0.2, 0.6))
    assert some.log_likelihood(letters) < more.log_likelihood(letters)
    assert letters == {"LATIN": 12, "HANGUL": 2}


def test_no_bundled_models_says_what_to_do(home: Path) -> None:
    with pytest.raises(ModelError, match="give one with -m MODEL"):
        bundled_model_for("text")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"scripts": {}}'])
def test_damaged_bundled_model_says_what_to_do(home: Path, content: str) -> None:
    (home / "a-b").mkdir()
    (home / "a-b" / "bundle.json").write_text(content)
    with pytest.raises(ModelError, match=r"a-b: the bundled model cannot be read; reinstall dragoman"):
        bundled_model_for("text")


# --- where ---------------------------------------------------------------------------------------------------------


def test_a_name_is_a_bundled_folder_unless_there_is_one_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_model("en-ko") == HOME / "en-ko"
    for other in ("no-such", "runs/en-ko", "../en-ko", "/", ".", "__pycache__"):
        assert resolve_model(other) == Path(other)
    (tmp_path / "en-ko").mkdir()
    assert resolve_model("en-ko") == Path("en-ko")


# --- what ----------------------------------------------------------------------------------------------------------


def test_they_are_there_and_together_at_most_25_megabytes() -> None:
    assert [model.name for model in bundled_models()] == PAIRS
    assert sum(path.stat().st_size for path in HOME.rglob("*") if path.is_file()) <= 25e6


@pytest.mark.parametrize("name", PAIRS)
def test_each_is_whole_and_says_what_it_is(name: str) -> None:
    bundle = open_bundle(HOME / name)
    listed = {HOME / name / file for file in bundle.manifest["files"]} | {HOME / name / "bundle.json"}
    assert {path for path in (HOME / name).rglob("*") if path.is_file()} == listed
    assert [folder.name for folder in bundle.exports] == ["ct2-int8"]
    assert "-".join(bundle.manifest["languages"].values()) == name
    assert {"all domains", "libreoffice_help", "tatoeba", "bible", "korean_news"} <= bundle.manifest["domains"].keys()
    assert sum(bundle.manifest["scripts"].values()) == pytest.approx(1, abs=1e-3)
    card = (HOME / name / "README.md").read_text(encoding="utf-8")
    for part in (
        "korean_news",
        "everyday_sentences",
        "MPL-2.0",
        "CC BY-SA 4.0",
        "CC BY 2.0 FR",
        "public domain",
        "Limits",
    ):
        assert part in card


@pytest.mark.parametrize(("name", "text"), [("en-ko", "Save the document."), ("ko-en", "문서를 저장합니다.")])
def test_each_answers_in_the_other_language_offline(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    translation = Translator.load(name).translate(text)
    assert scripts(translation.text).keys() == ({"HANGUL"} if name == "en-ko" else {"LATIN"})


def test_the_first_translation_needs_no_torch() -> None:
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('torch', 'safetensors', 'jaxtyping', 'tomli_w')))\n"
        "from dragoman import Translator\n"
        "print(Translator.load('en-ko').translate('Save the document.').text)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()


def test_they_are_where_the_package_is() -> None:
    assert Path(dragoman.__file__).parent / "bundled" == HOME
    assert (HOME / "NOTICE.md").is_file()
