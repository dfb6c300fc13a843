"""Dual learning: a batch of pairs → the same in the other direction too, and log P of both sides by language models.

Input: batches of the first pair of languages. The language models are fixed, so their numbers depend on the pair alone.
"""

from dataclasses import replace

import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.config import LanguageModelConfig, RunConfig
from dragoman.data.batches.batch import Batch, Example, collate
from dragoman.decode.scoring import log_probabilities
from dragoman.engine.kinds import language_model_of, require_kind
from dragoman.errors import ConfigError
from dragoman.installed.opening import open_model
from dragoman.model.others.language_model import LanguageModel
from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import PAD, Tokenizer


class BothDirections:
    """Completes the batches of a run with `train.objective = "dual"`."""

    def __init__(self, config: RunConfig, tokenizer: Tokenizer, device: torch.device) -> None:
        there, back = config.project.pairs
        self.there, self.back = Marks.of(there, tokenizer), Marks.of(back, tokenizer)
        models = [open_model(folder) for folder in config.train.dual.language_models]
        self.device = device
        self.of_source, self.of_target = (
            _language_model(models, language, tokenizer, device) for language in (there.source, there.target)
        )

    def __call__(self, model: EncoderDecoder, batch: Batch, step: int) -> Batch:
        """`batch` with `more`: the pairs from target to source, and log P(x) − log P(y) of each."""
        sources = _ids(batch.src, skip=len(self.there.source), drop=1)
        targets = _ids(batch.tgt_in, skip=len(self.there.target) + 1)
        reverse = collate(
            [Example(target, source, "", self.back) for source, target in zip(sources, targets, strict=True)]
        )
        priors = self._log_probs(self.of_source, sources) - self._log_probs(self.of_target, targets)
        return replace(batch, more=(reverse.src, reverse.tgt_in, reverse.tgt_out, priors))

    def _log_probs(self, model: LanguageModel, sentences: list[list[int]]) -> Tensor:
        text = collate([Example([], ids, "", NO_MARKS) for ids in sentences]).to(self.device)
        return log_probabilities(model, text.src, text.tgt_in, text.tgt_out).sum(1).clone().cpu()


def _ids(rows: Tensor, skip: int, drop: int = 0) -> list[list[int]]:
    """The tokens of each row without padding, its first `skip` and its last `drop`."""
    whole = [[token for token in row if token != PAD] for row in rows.tolist()]
    return [row[skip : len(row) - drop] for row in whole]


def _language_model(models: list[Bundle], language: str, tokenizer: Tokenizer, device: torch.device) -> LanguageModel:
    for bundle in models:
        require_kind(bundle, language_model=True)
        if isinstance(shape := bundle.config.model, LanguageModelConfig) and shape.language == language:
            model = language_model_of(bundle, tokenizer, "this run").to(device).eval()
            return model.requires_grad_(False)
    names = " and ".join(str(bundle.folder) for bundle in models)
    raise ConfigError(f"train.dual.language_models: neither of {names} is of {language}; give one for each language")
