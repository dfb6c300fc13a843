"""`inspect` takes a path, a bundle or a translator, and its result writes the page and the arrays."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dragoman
from dragoman.bundle import open_bundle, write_bundle
from dragoman.config import DecodeConfig, RunConfig
from dragoman.errors import DataError, ModelError
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.translator import Translator


@pytest.fixture
def folder(
    toy_run: Callable[..., RunConfig], build: Callable[..., Transformer], toy_tokenizer: Tokenizer, tmp_path: Path
) -> Path:
    """A bundle of random weights."""
    config, model = toy_run(), build(len(toy_tokenizer.source), layers=1, heads=2)
    config = config.model_copy(update={"model": model.config, "decode": DecodeConfig(beam=2, max_length=6)})
    write_bundle(tmp_path / "model", config=config, tokenizer=toy_tokenizer, model=model, card="", facts={})
    return tmp_path / "model"


@pytest.mark.slow
def test_a_path_a_bundle_and_a_translator_give_the_same(folder: Path) -> None:
    by_name = dragoman.inspect(str(folder), "red dog")
    assert (by_name.name, by_name.languages) == ("toy", ("en", "de"))
    translator = Translator.load(folder, engine="torch")
    for model in (folder, open_bundle(folder), translator):
        found = dragoman.inspect(model, "red dog")
        assert found.target_ids == by_name.target_ids
        np.testing.assert_array_equal(found["logits"].values, by_name["logits"].values)
    wider = Translator.load(folder, engine="torch", options=DecodeConfig(beam=3, max_length=6))
    assert dragoman.inspect(wider, "red dog").options.beam == 3
    assert dragoman.inspect(wider, "red dog", options=DecodeConfig(beam=1)).options.beam == 1


def test_the_result_writes_a_page_and_its_arrays(folder: Path, tmp_path: Path) -> None:
    found = dragoman.inspect(folder, "red dog", target="hund")
    found.to_html(str(tmp_path / "page.html"))
    assert "<title>red dog · toy</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    found.to_npz(str(tmp_path / "arrays.npz"))
    with np.load(tmp_path / "arrays.npz") as arrays:
        assert set(arrays) == {*found, "axes"}


def test_what_cannot_be_inspected_is_refused(folder: Path) -> None:
    made = Translator.load(folder, engine="torch")
    with pytest.raises(ModelError, match="give the folder of its model"):
        dragoman.inspect(Translator(made.tokenizer, made.engine, made.options), "red dog")
    with pytest.raises(DataError, match="sentence is empty"):
        dragoman.inspect(folder, " ")


def test_an_inspection_is_one_line_where_it_is_shown(folder: Path) -> None:
    shown = repr(dragoman.inspect(str(folder), "red dog"))
    assert shown.startswith("<BundleInspection of 'red dog' → ")
    assert len(shown) < 200
