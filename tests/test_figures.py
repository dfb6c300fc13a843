"""The figures of the course: the files are what the code draws, in both languages, and every label is in the table."""

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from test_learn import NUMBER, figures

DOCS = Path(__file__).parents[1] / "docs"
HANGUL = re.compile("[가-힣]")
USED = re.compile(r"images/learn/([\w.-]+\.svg)\)")


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    """The file of each figure, drawn now."""
    sys.path.insert(0, str(DOCS))
    try:
        with torch.random.fork_rng():
            drawings: dict[str, str] = collection().drawings()
    finally:
        sys.path.remove(str(DOCS))
    return drawings


def collection() -> ModuleType:
    return importlib.import_module("figures.all")


def pages(folder: str) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in (DOCS / folder).glob("*.md")}


def test_the_files_are_what_the_code_draws(drawn: dict[str, str]) -> None:
    remedy = "stale; run `python -m figures` in docs/"
    folder = DOCS / "images/learn"
    assert {path.name for path in folder.iterdir()} == set(drawn), remedy
    for name, drawing in drawn.items():
        shown = (folder / name).read_text(encoding="utf-8")
        assert NUMBER.sub("#", shown) == NUMBER.sub("#", drawing), f"{name}: {remedy}"
        # Processors round differently: one unit of the last digit of a coordinate or of a number that is shown.
        assert figures(shown) == pytest.approx(figures(drawing), rel=1e-9, abs=0.101), f"{name}: {remedy}"


def test_a_korean_figure_has_korean_labels_and_an_english_one_no_more_hangul_than_its_example(
    drawn: dict[str, str],
) -> None:
    example = re.compile("나는 학생입니다|나는|저는|학생입니다|학생이다|학생|입니다")
    assert len(drawn) >= 40
    for name, drawing in drawn.items():
        letters = HANGUL.search(example.sub("", drawing))
        assert (letters is not None) == name.endswith(".ko.svg"), name


def test_the_growth_of_the_bundled_models_is_drawn_from_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    growth = importlib.import_module("figures.growth")
    assert growth.FILE.read_text(encoding="utf-8") == growth.growth().svg(growth.TITLE)
    assert "images/growth.svg" in (DOCS / "benchmarks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ["learn", "ko/learn"])
def test_every_figure_is_on_a_page_in_its_language(folder: str) -> None:
    used = {name for text in pages(folder).values() for name in USED.findall(text)}
    ending = ".ko.svg" if folder.startswith("ko") else ".svg"
    there = {path.name for path in (DOCS / "images/learn").iterdir()}
    assert used == {name for name in there if name.endswith(".ko.svg") == (ending == ".ko.svg")}


def test_what_does_not_fit_on_a_sheet_is_an_error() -> None:
    sys.path.insert(0, str(DOCS))
    try:
        sheet = importlib.import_module("figures.draw").Sheet(100, 40)
    finally:
        sys.path.remove(str(DOCS))
    sheet.text(5, 20, "short")
    with pytest.raises(AssertionError, match="ends at"):
        sheet.text(5, 20, "much too long for so small a sheet")
