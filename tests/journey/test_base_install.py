"""An empty environment, `pip install`, a first translation: what a person who has only Python does."""

import email
import json
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import dragoman
from dragoman.bundled import HOME, scripts

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_wheel_of_the_source_archive_holds_every_file_and_translates_in_an_empty_environment(tmp_path: Path) -> None:
    """A wheel, and not this folder: what was not packed is not found. pip finds what it is built with, and needs."""
    pytest.importorskip("hatchling", reason="the build backend is of the `dev` extra")
    build = (sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path), "-t", "sdist")
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [archive] = tmp_path.glob("dragoman-*.tar.gz")
    venv.create(tmp_path / "env", with_pip=True)
    bin_ = tmp_path / "env" / "bin"
    plain = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=tmp_path, env=plain, capture_output=True, text=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    pip = (str(bin_ / "python"), "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path / "wheel"), str(archive))
    [wheel] = (tmp_path / "wheel").glob("dragoman-*.whl")
    holds_every_file_and_says_its_licences(wheel)

    # What is imported is compiled when it is; all of it would take longer than the rest of this test.
    constraints = str(ROOT / "constraints.txt")
    run(*pip, "install", "--quiet", "--no-compile", "--constraint", constraints, str(wheel))
    assert "torch" not in run(*pip, "list").stdout
    assert run(str(bin_ / "dragoman"), "--version").stdout.strip().endswith(dragoman.__version__)

    result = run(str(bin_ / "dragoman"), "translate", "Save the document.")
    assert "HANGUL" in scripts(result.stdout)
    assert result.stderr.startswith("Using the bundled model en-ko")
    assert "LATIN" in scripts(run(str(bin_ / "dragoman"), "translate", "문서를 저장합니다.").stdout)
    assert str(tmp_path) in run(str(bin_ / "python"), "-c", "import dragoman; print(dragoman.__file__)").stdout

    argos = tmp_path / "translate-en_ko.argosmodel"
    with zipfile.ZipFile(argos, "w") as package:
        for file in sorted((HOME / "en-ko" / "ct2-int8").iterdir()):
            package.write(file, f"en_ko/model/{file.name}")
        package.write(HOME / "en-ko" / "tokenizer" / "joint.model", "en_ko/sentencepiece.model")
        package.writestr("en_ko/metadata.json", json.dumps({"from_code": "en", "to_code": "ko"}))
    run(str(bin_ / "dragoman"), "import", str(argos), "-o", "imported")
    assert "HANGUL" in scripts(run(str(bin_ / "dragoman"), "translate", "-m", "imported", "Save it.").stdout)


def holds_every_file_and_says_its_licences(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        [facts] = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(packed.read(facts))
    package = ROOT / "src/dragoman"
    files = [path.relative_to(package.parent) for path in package.rglob("*") if path.is_file()]
    assert {path.as_posix() for path in files if "__pycache__" not in path.parts} <= names

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert metadata["Version"] == dragoman.__version__
    assert f"version: {dragoman.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert metadata["License-Expression"] == "Apache-2.0 AND CC-BY-SA-4.0 AND MPL-2.0"
    assert set(metadata.get_all("License-File", [])) == set(project["license-files"])
    assert {facts.replace("METADATA", f"licenses/{name}") for name in project["license-files"]} <= names
    assert set(metadata.get_all("Provides-Extra", [])) == set(project["optional-dependencies"])
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload(decode=True) == (ROOT / "README.md").read_bytes()
