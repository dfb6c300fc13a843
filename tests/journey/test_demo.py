"""The first thing a newcomer types."""

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main


@pytest.mark.slow
def test_the_demo_trains_scores_translates_and_says_what_to_type_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "demo"
    assert main(["demo", "--output", str(folder), "--minutes", "0.05"]) == 0
    talk = capsys.readouterr().err
    assert "BLEU" in talk
    assert "copying the source" in talk
    assert talk.count("→") > 6
    model = folder / "runs" / "demo" / "model"
    assert f"dragoman translate -m {model}" in talk
    page = (folder / "look.html").read_text(encoding="utf-8")
    assert f"{folder / 'look.html'}, to open in a browser" in talk
    assert '"film": {"frames": [{"step": 0,' in page or '"film":{"frames":[{"step":0,' in page
    assert len(page) < 8_000_000  # 5.1 MB of weights, and matrices of whatever a model of few updates writes
    assert "nrefs:1" in (model / "README.md").read_text(encoding="utf-8"), "the card has the signatures"

    assert main(["translate", "-m", str(model), "Click OK.", "Save the file."]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["model", "show", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["languages"] == {"source": "en", "target": "ko"}
    assert main(["demo", "--output", str(folder), "--minutes", "0.05"]) == 0, "a second demo goes on from the first"
