"""A bundle of every architecture: written, read, translated with; what needs a Transformer is refused in a line."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import dragoman
from architectures import OTHERS
from dragoman.bundle import Bundle, open_bundle, write_bundle
from dragoman.cli.verbs.model.bundle import description
from dragoman.config import DecodeConfig, RunConfig
from dragoman.errors import DragomanError
from dragoman.model.build import build_network
from dragoman.text.tokens.tokenizer import Tokenizer


@pytest.fixture(params=OTHERS)
def bundle(
    request: pytest.FixtureRequest, toy_run: Callable[..., RunConfig], toy_tokenizer: Tokenizer, tmp_path: Path
) -> Bundle:
    config = toy_run(model={"layers": 2, "d_model": 16, "dropout": 0.0, **OTHERS[request.param]})
    config = config.model_copy(update={"decode": DecodeConfig(extra_length=5)})  # random weights seldom end
    torch.manual_seed(0)
    model = build_network(config.model, len(toy_tokenizer.source), len(toy_tokenizer.target))
    write_bundle(tmp_path / "model", config=config, tokenizer=toy_tokenizer, model=model, card="# toy\n", facts={})
    again = open_bundle(tmp_path / "model").load_model()
    for name, parameter in again.named_parameters():
        assert torch.equal(parameter, model.get_parameter(name))
    return open_bundle(tmp_path / "model")


def test_it_names_its_architecture_and_translates(bundle: Bundle) -> None:
    assert bundle.manifest["architecture"] == bundle.config.model.architecture
    assert any(line.startswith("layers") for line in description(bundle))
    [one] = dragoman.Translator.load(bundle.folder).translate(["red dog"])
    assert isinstance(one.text, str)


@pytest.mark.parametrize("work", [dragoman.export, lambda folder: dragoman.inspect(folder, "red dog")])
def test_what_needs_a_transformer_says_so_in_one_line(bundle: Bundle, work: Callable[[Path], object]) -> None:
    with pytest.raises(DragomanError, match="Transformer") as refused:
        work(bundle.folder)
    assert bundle.config.model.architecture in str(refused.value)
    assert "\n" not in str(refused.value)
