"""The fixtures are what `make_fixtures.py` writes in its pinned environment: a slow test, which installs that."""

import json
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

HERE = Path(__file__).parent
NAMES = sorted(path.name for path in (HERE / "fixtures").iterdir())


@pytest.mark.slow
def test_made_again_the_fixtures_are_the_same(tmp_path: Path) -> None:
    """With the weights that are there, because training differs a little on every processor."""
    venv.create(tmp_path / "env", with_pip=True)
    python = str(tmp_path / "env/bin/python")
    # What these tests run with is not installed again where it has the pinned version.
    [site] = (tmp_path / "env").glob("lib/python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    requirements = str(HERE / "fixtures-requirements.txt")
    for packages in (["torch==2.13.0"], ["-r", requirements]):
        pip = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", *packages]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"its environment cannot be made: {done.stderr.splitlines()[-1][:200]}")
    command = [python, str(HERE / "make_fixtures.py"), str(tmp_path / "made"), str(HERE / "fixtures")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in NAMES:
        ours, again = HERE / "fixtures" / name, tmp_path / "made" / name
        assert {path.name for path in ours.iterdir()} == {path.name for path in again.iterdir()}
        for path in ours.iterdir():
            if path.name == "expected.safetensors":
                stored, made = load_file(path), load_file(again / path.name)
                assert torch.equal(stored["decoder_ids"], made["decoder_ids"])
                # Logits of up to 22 in float32, summed in another order.
                torch.testing.assert_close(stored["logits"], made["logits"], atol=1e-4, rtol=1e-5)
            elif path.suffix == ".json":
                assert json.loads(path.read_bytes()) == json.loads((again / path.name).read_bytes()), path.name
            else:
                assert path.read_bytes() == (again / path.name).read_bytes(), path.name
