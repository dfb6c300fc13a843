"""Both engines on one toy network."""

import pytest

from dragoman.text.tokens.tokenizer import Tokenizer
from parity import Engines, both_engines, toy_network


@pytest.fixture(scope="session")
def toy_engines(toy_tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    """The reference and its export, which has a shortlist."""
    return both_engines(toy_network(toy_tokenizer), toy_tokenizer, tmp_path_factory.mktemp("parity"))
