"""What people judged may be what two models chose."""

import shutil
from pathlib import Path

import pytest

import dragoman
from dragoman import bundled
from dragoman.errors import DataError


@pytest.mark.slow
def test_a_confidence_is_learned_from_what_two_models_chose(tmp_path: Path) -> None:
    english, korean = (dragoman.Translator.load(name) for name in ("en-ko", "ko-en"))
    rows = Path(__file__).parents[2] / "reproduce" / "everyday_sentences.tsv"
    sources = [row.split("\t")[1] for row in rows.read_text(encoding="utf-8").splitlines()]
    alone, together = english.translate(sources), english.with_reverse(korean).translate(sources)
    judged, model = tmp_path / "judged.tsv", tmp_path / "model"
    shutil.copytree(bundled.HOME / "en-ko", model)
    only = [
        f"{source}\t{both.text}\t{'usable' if number % 3 else 'wrong'}\n"
        for number, (source, one, both) in enumerate(zip(sources, alone, together, strict=True))
        if one.text != both.text
    ]
    judged.write_text("".join(only * 6), encoding="utf-8")
    learned = dragoman.learn_judged_confidence(model, judged, reverse="ko-en")
    assert 100 <= learned.confidence.lines <= 6 * len(only)
    with pytest.raises(DataError, match="0 lines"):  # the model alone makes none of them
        dragoman.learn_judged_confidence(model, judged)
