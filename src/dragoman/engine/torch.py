"""The reference engine: our own search on our own models."""

import os
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from threading import Lock
from typing import Literal, TypeVar

import torch
from torch import nn

from dragoman.config import DecodeConfig
from dragoman.config.sections.decode import Precision
from dragoman.data.batches.batch import pad
from dragoman.data.batches.batching import pack
from dragoman.decode.attention import forced_attention
from dragoman.decode.constraints import Constraints
from dragoman.decode.device_search import LEAST_WIDTH, DeviceSearch, step_size, suits_recording
from dragoman.decode.ensemble import Ensemble, log_mean
from dragoman.decode.fusion import Fusion
from dragoman.decode.hypothesis import Hypothesis
from dragoman.decode.sampling import SamplingParams, sample
from dragoman.decode.scoring import log_probabilities
from dragoman.decode.search import beam_search
from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.engine import Attention, Ids, Query
from dragoman.engine.resources import (
    CPU_TOKENS,
    USUAL_BEAM,
    SearchSize,
    batch_tokens,
    cached_numbers,
    refuse_beyond_memory,
    refuse_fork,
)
from dragoman.errors import ConfigError, ResourceError, counted
from dragoman.model.build import build_network
from dragoman.model.others.language_model import LanguageModel
from dragoman.model.parts.device import autocast, torch_threads, within_memory, without_values
from dragoman.model.parts.network import EncoderDecoder
from dragoman.system.machine import available_memory
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD

T = TypeVar("T")


class TorchEngine:
    """A model on a device in eval mode, or an ensemble of models with the same vocabularies.

    `threads` is torch's number of threads while the engine works; None does not change it. `shortlist` returns the
    candidate target ids of a source; see `DecodeConfig.shortlist`. The `language_model` takes part in beam
    searches whose options name one. `on_device` searches by recorded steps (`decode.device_search`) where model and
    options can; the default becomes true on a GPU once one has run them (decision 67). Python threads may share an
    engine: it runs one search at a time, because attention is watched on the models' own modules and one search uses
    all processors.
    """

    def __init__(
        self,
        model: EncoderDecoder | Sequence[EncoderDecoder],
        device: torch.device,
        *,
        precision: Precision = "auto",
        threads: int | None = None,
        shortlist: Callable[[Ids], Ids] | None = None,
        language_model: LanguageModel | None = None,
        on_device: bool = False,
    ) -> None:
        models = [model] if isinstance(model, EncoderDecoder) else model
        models = [network.to(device).eval() for network in models]
        self._process, self._turn = os.getpid(), Lock()
        self.device, self.precision = device, resolve_precision(precision, device)
        self.threads, self.shortlist = threads, shortlist
        self.models = Ensemble(map(to_bfloat16, models) if self.precision == "bfloat16" else models)
        self.language_model = language_model and language_model.to(device).eval()
        self._device_search = self._recorded_search() if on_device and suits_recording(self.models.models) else None
        self._size = SearchSize(models[0].projection.size(0), sum(cached_numbers(network.config) for network in models))

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        """Hypotheses as `Engine.translate` returns them.

        Sentences of similar length are searched together, unless `options.exact`. Raises ResourceError if a single
        sentence needs more memory than there is.
        """
        refuse_fork(self._process)

        def search(group: list[int]) -> list[list[Hypothesis]]:
            return self._search([queries[i] for i in group], options)

        if options.exact:
            groups = [[index] for index in range(len(queries))]
        else:
            crowd = max(1, options.n_best / USUAL_BEAM) if options.method == "sample" else 1
            widths = [len(query.marks.source) + len(query.source) + 1 for query in queries]
            if self._on_device(options):  # a batch has the width of a step, and as many rows
                widths = [step_size(width, LEAST_WIDTH) for width in widths]
            lengths = [(width, width) for width in widths]
            groups = _groups(lengths, int(batch_tokens(options, self.device.type) / crowd))
        with self._turn, torch_threads(1) if options.exact else self._limited_threads():
            return _in_order(groups, search)

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        """`Engine.score`. Raises ResourceError if a single pair needs more memory than there is."""
        refuse_fork(self._process)

        def score(group: list[int]) -> list[list[float]]:
            return self._score([queries[i] for i in group], [targets[i] for i in group])

        lengths = [(len(query.source) + 1, len(target) + 1) for query, target in zip(queries, targets, strict=True)]
        with self._turn, self._limited_threads():
            groups = [[n] for n in range(len(lengths))] if alone else _groups(lengths, CPU_TOKENS)
            return _in_order(groups, score)

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        """`Engine.attention`: of an ensemble the mean."""
        refuse_fork(self._process)

        def attend(group: list[int]) -> list[Attention]:
            return self._attend([queries[i] for i in group], [targets[i] for i in group])

        lengths = [(len(query.source) + 1, len(target) + 1) for query, target in zip(queries, targets, strict=True)]
        with self._turn, self._limited_threads():
            return _in_order(_groups(lengths, CPU_TOKENS), attend)

    def _search(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        sources, prefixes = [query.source for query in queries], [query.prefix for query in queries]
        what = f"{counted(len(sources), 'sentence')} of {max(map(len, sources)) + 1} tokens"
        size = replace(self._size, vocabulary=0) if options.shortlist else self._size  # shortlists are small
        needed = sum(size.bytes_per_sentence(len(source), options) for source in sources)
        refuse_beyond_memory(needed, self._available_memory(), what)
        src = self._sources(queries)
        start = self._padded([[BOS, *query.marks.target] for query in queries])
        limits = [options.limit(len(source)) for source in sources]
        constraints = Constraints(limits, prefixes, options.min_length, options.no_repeat_ngram)
        vocabulary, alpha = self._vocabulary(sources, prefixes, options), options.length_penalty
        with autocast(self.precision, self.device), within_memory(what, "lower decode.batch_tokens or the beam"):
            if options.method == "sample":
                params = SamplingParams(options.temperature, options.top_k, options.top_p)
                many, seed = options.n_best, options.seed
                return sample(
                    self.models,
                    src,
                    constraints,
                    samples=many,
                    params=params,
                    seed=seed,
                    alpha=alpha,
                    vocabulary=vocabulary,
                    start=start,
                )
            if search := self._on_device(options):
                ranked = search(src, constraints, beam=options.beam, alpha=alpha, start=start)
                return [hypotheses[: options.n_best] for hypotheses in ranked]
            searched = beam_search(
                self.models,
                src,
                constraints,
                beam=options.beam,
                alpha=alpha,
                beta=options.coverage_penalty,
                vocabulary=vocabulary,
                start=start,
                fusion=self._fusion(options),
            )
            return [hypotheses[: options.n_best] for hypotheses in searched]

    def _recorded_search(self) -> DeviceSearch:
        if self.device.type != "cuda":
            return DeviceSearch(self.models)
        return DeviceSearch(self.models, most_bytes=torch.cuda.mem_get_info(self.device)[1] // 4)

    def _on_device(self, options: DecodeConfig) -> DeviceSearch | None:
        """The search by recorded steps, unless the options need what only the other one has."""
        is_watched = bool(options.coverage_penalty or options.language_model)
        has_lists = options.shortlist and self.shortlist is not None  # of other sizes in every batch
        is_plain = options.method == "beam" and not (options.exact or is_watched or has_lists)
        return self._device_search if is_plain else None

    def _fusion(self, options: DecodeConfig) -> Fusion | None:
        if not options.language_model:
            return None
        if self.language_model is None:
            raise ConfigError("decode.language_model: this engine was made without one; load the translator with it")
        return Fusion(self.language_model, options.language_model_weight)

    def _vocabulary(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids], options: DecodeConfig
    ) -> CandidateVocabulary:
        """The candidates of each sentence, its shortlist and its prefix; the whole vocabulary without shortlists."""
        if self.shortlist is None or not options.shortlist:
            return CandidateVocabulary()
        lists = zip(map(self.shortlist, sources), prefixes, strict=True)
        return CandidateVocabulary.of([[*some, *prefix] for some, prefix in lists], self.device)

    def _score(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[list[float]]:
        src, counts = self._sources(queries), [len(query.marks.target) for query in queries]
        tgt_in = self._targets(queries, targets)
        tgt_out = self._padded([[*[PAD] * count, *target, EOS] for count, target in zip(counts, targets, strict=True)])
        what = f"{counted(len(queries), 'pair')} of {max(src.size(1), tgt_in.size(1))} tokens"
        with autocast(self.precision, self.device), within_memory(what, "score shorter texts"):
            log_probs = [log_probabilities(model, src, tgt_in, tgt_out) for model in self.models.models]
        rows = zip(log_mean(log_probs).tolist(), counts, targets, strict=True)
        return [row[count : count + len(target) + 1] for row, count, target in rows]

    def _attend(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention]:
        src, tgt_in = self._sources(queries), self._targets(queries, targets)
        with autocast(self.precision, self.device), within_memory("an alignment", "translate shorter texts"):
            by_model = [forced_attention(model, src, tgt_in).float() for model in self.models.models]
        attention = torch.stack(by_model).mean(0).cpu().numpy()
        return [
            attention[n, len(query.marks.target) :, len(query.marks.source) :][: len(target), : len(query.source)]
            for n, (query, target) in enumerate(zip(queries, targets, strict=True))
        ]

    def _sources(self, queries: Sequence[Query]) -> torch.Tensor:
        return self._padded([[*query.marks.source, *query.source, EOS] for query in queries])

    def _targets(self, queries: Sequence[Query], targets: Sequence[Ids]) -> torch.Tensor:
        """What the decoder reads of given translations."""
        rows = zip(queries, targets, strict=True)
        return self._padded([[BOS, *query.marks.target, *target] for query, target in rows])

    def _padded(self, rows: list[list[int]]) -> torch.Tensor:
        return pad(rows).to(self.device)

    def _limited_threads(self) -> AbstractContextManager[None]:
        return nullcontext() if self.threads is None else torch_threads(self.threads)

    def _available_memory(self) -> int | None:
        if self.device.type == "cuda":
            return torch.cuda.mem_get_info(self.device)[1]  # all there is: torch reuses what it holds
        return available_memory() if self.device.type == "cpu" else None


def _groups(lengths: Sequence[tuple[int, int]], budget: int) -> list[list[int]]:
    return pack(lengths, budget, random.Random(0))


def _in_order(groups: Sequence[list[int]], work: Callable[[list[int]], list[T]]) -> list[T]:
    """The result of `work` for each index, in the order of the indices."""
    results = {index: result for group in groups for index, result in zip(group, _halving(group, work), strict=True)}
    return [results[index] for index in range(len(results))]


def _halving(group: list[int], work: Callable[[list[int]], list[T]]) -> list[T]:
    """`work` on the group, or on its halves if it does not fit in memory."""
    try:
        return work(group)
    except ResourceError:
        if len(group) == 1:
            raise
    # Outside the handler, because the error keeps alive the tensors that filled the memory.
    middle = len(group) // 2
    return [*_halving(group[:middle], work), *_halving(group[middle:], work)]


def resolve_precision(precision: Precision, device: torch.device) -> Literal["float32", "bfloat16"]:
    """`auto` is float32 on a CPU, for exactness, and bfloat16 on a GPU that computes in it."""
    if precision != "auto":
        return precision
    return "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"


def to_bfloat16(model: EncoderDecoder) -> EncoderDecoder:
    """The model with its matrices already in bfloat16; autocast would convert them at every call.

    Embeddings and norms stay float32 and are shared with the given model, which is not changed.
    """
    matrices = {f"{name}.{kind}" for name, module in model.named_modules() for kind in _kinds(module)}
    matrices |= {"projection", "projection_bias"}
    weights = model.state_dict()
    converted = {name: w.to(torch.bfloat16) if name in matrices else w for name, w in weights.items()}
    with without_values():
        same = build_network(model.config, *model.vocabularies)
    same.load_state_dict(converted, assign=True)
    return same.eval()


def _kinds(module: nn.Module) -> tuple[str, ...]:
    return ("weight", "bias") if isinstance(module, nn.Linear) else ()
