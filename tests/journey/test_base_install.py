"""An empty environment, `pip install`, a first translation: what a person who has only Python does."""

import json
import os
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

from dragoman.bundled import HOME, scripts

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_base_package_translates_in_an_empty_environment(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    bin_ = tmp_path / "env" / "bin"
    plain = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=tmp_path, env=plain, capture_output=True, text=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    # A wheel, and not this folder: what was not packed is not found.
    pip = (str(bin_ / "python"), "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path / "wheel"), str(ROOT))
    (wheel,) = (tmp_path / "wheel").glob("dragoman-*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    web = ROOT / "src/dragoman/serve/web"
    assert {f"dragoman/serve/web/{path.name}" for path in web.iterdir()} <= packed
    run(*pip, "install", "--quiet", "--constraint", str(ROOT / "constraints.txt"), str(wheel))
    assert "torch" not in run(*pip, "list").stdout

    said = run(str(bin_ / "dragoman"), "translate", "Save the document.")
    assert "HANGUL" in scripts(said.stdout)
    assert said.stderr.startswith("Using the bundled model en-ko")
    assert "LATIN" in scripts(run(str(bin_ / "dragoman"), "translate", "문서를 저장합니다.").stdout)
    assert str(tmp_path) in run(str(bin_ / "python"), "-c", "import dragoman; print(dragoman.__file__)").stdout

    argos = tmp_path / "translate-en_ko.argosmodel"
    with zipfile.ZipFile(argos, "w", zipfile.ZIP_DEFLATED) as package:
        for file in sorted((HOME / "en-ko" / "ct2-int8").iterdir()):
            package.write(file, f"en_ko/model/{file.name}")
        package.write(HOME / "en-ko" / "tokenizer" / "joint.model", "en_ko/sentencepiece.model")
        package.writestr("en_ko/metadata.json", json.dumps({"from_code": "en", "to_code": "ko"}))
    run(str(bin_ / "dragoman"), "import", str(argos), "-o", "imported")
    assert "HANGUL" in scripts(run(str(bin_ / "dragoman"), "translate", "-m", "imported", "Save it.").stdout)
