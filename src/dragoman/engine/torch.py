"""The reference engine: our own search on our own models."""

import os
import random
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

import torch

from dragoman.config import DecodeConfig
from dragoman.data.batch import pad
from dragoman.data.batching import pack
from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble, average
from dragoman.decode.hypothesis import Hypothesis
from dragoman.decode.precision import Precision, choose, to_bfloat16
from dragoman.decode.sampling import SamplingParams, sample
from dragoman.decode.scoring import log_probabilities
from dragoman.decode.search import beam_search
from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.engine import Ids
from dragoman.engine.process import refuse_fork
from dragoman.errors import ResourceError
from dragoman.model.device import autocast, keep_freed_memory, one_thread, within_memory
from dragoman.model.transformer import Transformer
from dragoman.text.tokenizer import BOS, EOS

T = TypeVar("T")

# Samples of a sentence that take as much memory as `batch_tokens` is meant for: those of the usual beam.
USUAL = 4


class TorchEngine:
    """One model on a device, in eval mode, or several of the same vocabularies whose probabilities are averaged.

    `shortlist` names, for a source, the target ids worth considering; see `DecodeConfig.shortlist`. Threads may share
    an engine: it does one thing at a time, since attention is watched on the models' own modules, and one search has
    work for all processors.
    """

    def __init__(
        self,
        model: Transformer | Sequence[Transformer],
        device: torch.device,
        *,
        precision: Precision = "auto",
        shortlist: Callable[[Ids], Ids] | None = None,
    ) -> None:
        models = [model] if isinstance(model, Transformer) else model
        models = [one.to(device).eval() for one in models]
        self._process, self._turn = os.getpid(), Lock()
        self.device, self.precision, self.shortlist = device, choose(precision, device), shortlist
        self.models = Ensemble(map(to_bfloat16, models) if self.precision == "bfloat16" else models)
        if device.type == "cpu":  # logits are megabytes, taken and given back at every step
            keep_freed_memory()

    def translate(
        self, sources: Sequence[Ids], options: DecodeConfig, target_prefixes: Sequence[Ids] | None = None
    ) -> list[list[Hypothesis]]:
        """See `Engine.translate`. Sentences of similar length are searched together, unless `options.exact`.

        Raises ResourceError if a single sentence needs more memory than there is.
        """
        refuse_fork(self._process)
        forced = target_prefixes or [()] * len(sources)

        def search(group: list[int]) -> list[list[Hypothesis]]:
            return self._search([sources[i] for i in group], [forced[i] for i in group], options)

        if options.exact:
            with self._turn, one_thread():
                return [search([index])[0] for index in range(len(sources))]
        crowd = max(1, options.n_best / USUAL) if options.method == "sample" else 1
        groups = _groups([(len(source) + 1,) * 2 for source in sources], int(options.batch_tokens / crowd))
        with self._turn:
            return _in_order(groups, search)

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        """See `Engine.score`. Raises ResourceError if a single pair needs more memory than there is."""

        refuse_fork(self._process)

        def score(group: list[int]) -> list[list[float]]:
            return self._score([sources[i] for i in group], [targets[i] for i in group])

        lengths = [(len(source) + 1, len(target) + 1) for source, target in zip(sources, targets, strict=True)]
        with self._turn:
            return _in_order(_groups(lengths, DecodeConfig().batch_tokens), score)

    def _search(self, sources: Sequence[Ids], prefixes: Sequence[Ids], options: DecodeConfig) -> list[list[Hypothesis]]:
        src = self._padded([[*source, EOS] for source in sources])
        constraints = Constraints(
            [options.limit(len(source)) for source in sources], prefixes, options.min_length, options.no_repeat_ngram
        )
        words, alpha = self._words(sources, prefixes, options), options.length_penalty
        what = f"{len(sources)} sentences of {src.size(1)} tokens"
        with autocast(self.precision, self.device), within_memory(what, "lower decode.batch_tokens or the beam"):
            if options.method == "sample":
                sharp = SamplingParams(options.temperature, options.top_k, options.top_p)
                many, seed = options.n_best, options.seed
                return sample(
                    self.models, src, constraints, samples=many, params=sharp, seed=seed, alpha=alpha, vocabulary=words
                )
            beam, beta = options.beam, options.coverage_penalty
            found = beam_search(self.models, src, constraints, beam=beam, alpha=alpha, beta=beta, vocabulary=words)
            return [hypotheses[: options.n_best] for hypotheses in found]

    def _words(self, sources: Sequence[Ids], prefixes: Sequence[Ids], options: DecodeConfig) -> CandidateVocabulary:
        """What may be said: a sentence's shortlist and its prefix, where there are shortlists."""
        if self.shortlist is None or not options.shortlist:
            return CandidateVocabulary()
        named = zip(map(self.shortlist, sources), prefixes, strict=True)
        return CandidateVocabulary.of([[*some, *prefix] for some, prefix in named], self.device)

    def _score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        src = self._padded([[*source, EOS] for source in sources])
        read, said = self._padded([[BOS, *target] for target in targets]), [[*target, EOS] for target in targets]
        what = f"{len(sources)} pairs of {max(src.size(1), read.size(1))} tokens"
        with autocast(self.precision, self.device), within_memory(what, "score shorter texts"):
            each = [log_probabilities(model, src, read, self._padded(said)) for model in self.models.models]
        return [row[: len(target)] for row, target in zip(average(each).tolist(), said, strict=True)]

    def _padded(self, rows: list[list[int]]) -> torch.Tensor:
        return pad(rows).to(self.device)


def _groups(lengths: Sequence[tuple[int, int]], budget: int) -> list[list[int]]:
    return pack(lengths, budget, random.Random(0))


def _in_order(groups: Sequence[list[int]], work: Callable[[list[int]], list[T]]) -> list[T]:
    """What `work` makes of each index, in the order of the indices."""
    found = {index: one for group in groups for index, one in zip(group, _halving(group, work), strict=True)}
    return [found[index] for index in range(len(found))]


def _halving(group: list[int], work: Callable[[list[int]], list[T]]) -> list[T]:
    """`work` on the group, or on its halves if it does not fit in memory."""
    try:
        return work(group)
    except ResourceError:
        if len(group) == 1:
            raise
    # Outside of the handler: the error held the tensors that were in memory.
    middle = len(group) // 2
    return [*_halving(group[:middle], work), *_halving(group[middle:], work)]
