"""Both engines on one toy network, sentences and prefixes for them, and when their hypotheses count as the same."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.config import ModelConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine.ctranslate2 import MARGIN, CTranslate2Engine
from dragoman.engine.torch import TorchEngine
from dragoman.exporting.ctranslate2 import convert
from dragoman.model.transformer import Transformer
from dragoman.shortlist.file import MAPPING, Shortlist
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK, Tokenizer

Engines = tuple[TorchEngine, CTranslate2Engine]
# Of two translations as good as each other either may be found: the scores of a near-tie.
NEAR = 1e-4
# Random weights seldom end a translation. Up to the usual limit, fifty tokens beyond the source, each would be as long
# as four of these; up to a limit that is near from the start, the search would be another one.
SHORT: dict[str, Any] = {"extra_length": MARGIN + 3}


def draw_sentences(tokenizer: Tokenizer, count: int, longest: int = 12) -> list[list[int]]:
    """Sentences of random tokens."""
    rng = random.Random(2)
    return [rng.choices(range(EOS + 1, len(tokenizer.source)), k=rng.randint(1, longest)) for _ in range(count)]


def draw_prefixes(tokenizer: Tokenizer, count: int) -> list[list[int]]:
    """Prefixes of up to three random tokens."""
    rng = random.Random(3)
    return [rng.choices(range(EOS + 1, len(tokenizer.target)), k=rng.randint(0, 3)) for _ in range(count)]


def both_engines(model: Transformer, tokenizer: Tokenizer, folder: Path) -> Engines:
    """The reference and its export, with a shortlist."""
    rng = random.Random(4)
    ids = range(EOS + 1, len(tokenizer.target))
    always = (PAD, UNK, BOS, EOS, *rng.sample(ids, 20))
    shortlist = Shortlist(always, {source: tuple(rng.sample(ids, 9)) for source in ids})
    convert(model, tokenizer, folder / "ct2-float32", "float32")
    (folder / "ct2-float32" / MAPPING).write_text(shortlist.text(tokenizer), encoding="utf-8")
    exported = CTranslate2Engine(folder / "ct2-float32", tokenizer, "cpu", 2, shortlist=shortlist.candidates)
    return TorchEngine(model, torch.device("cpu"), shortlist=shortlist.candidates), exported


def toy_network(tokenizer: Tokenizer) -> Transformer:
    """Random weights, larger than at birth, so that predictions differ clearly, and a translation ends."""
    torch.manual_seed(5)
    shape = {"layers": 2, "d_model": 16, "d_ff": 24, "heads": 4}
    model = Transformer(ModelConfig.model_validate(shape), len(tokenizer.source), len(tokenizer.target)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0) if parameter.dim() > 1 else parameter.add_(0.1 * torch.randn_like(parameter))
        model.projection[EOS] *= 3
    return model


def assert_same(ours: Sequence[Sequence[Hypothesis]], theirs: Sequence[Sequence[Hypothesis]]) -> None:
    """The same tokens in the same order, but for near-ties."""
    for mine, other in zip(ours, theirs, strict=True):
        assert [h.score for h in other] == pytest.approx([h.score for h in mine], abs=NEAR)
        assert [h.log_prob for h in other] == pytest.approx([h.log_prob for h in mine], abs=10 * NEAR)
        if [h.tokens for h in mine] != [h.tokens for h in other]:
            gaps = np.diff([h.score for h in mine])
            assert np.abs(gaps).min(initial=1.0) < NEAR
