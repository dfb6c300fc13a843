"""The fast engine: CTranslate2 on a network that `dragoman.exporting` converted. No torch.

It is called so that it finds what our own search finds: hypotheses have plain log P and our scores, nothing is cut,
and a sentence's length limit is its own, whatever else is in the batch.
"""

import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2

from dragoman.config import DecodeConfig
from dragoman.config.base import INT32_MAX
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.engine import Ids
from dragoman.engine.memory import SearchSize, hypotheses, refuse_beyond_memory
from dragoman.engine.process import refuse_fork
from dragoman.errors import ConfigError, DataError, ModelError, ResourceError
from dragoman.machine import available_memory, usable_processors
from dragoman.text.tokenizer import EOS, Side, Tokenizer

# Tokens that a thread searches at a time: enough that its products are large and that weights too big for any cache
# are read for several sentences, but few otherwise. A batch is never divided among threads: they would wait for each
# other at every small product (`docs/log.md`, 2026-11-21).
THREAD_TOKENS = {"int8": 192, "float32": 320}
THREAD_TOKENS_OF_LARGE, LARGE = 1024, 64 << 20
# Tokens of a batch that is scored: what fits in a small machine's memory with the largest vocabulary.
SCORED_TOKENS = 2048
# Each pair by itself: its last bits do not depend on what else is scored.
ALONE = {"max_batch_size": 1, "batch_type": "examples"}
# With a length penalty CTranslate2 stops a sentence at `beam` hypotheses, as our search does; this one changes nothing.
STOP_AT_BEAM = 1e-9
# Networks inherited by a forked child: destroying them there would deadlock, because their threads do not exist in it.
_LEAKED_AFTER_FORK: list[list[Any]] = []


@dataclass(frozen=True, slots=True)
class _Job:
    """A sentence to translate: its ids, the ids that its translation begins with, its maximum length in tokens."""

    source_ids: Ids
    target_prefix: Ids
    limit: int


@dataclass(frozen=True, slots=True)
class _Result:
    """CTranslate2's answer: pieces without EOS, the log P that it reports, and whether EOS ended it or the limit."""

    pieces: Sequence[str]
    reported_log_prob: float
    finished: bool


class CTranslate2Engine:
    """A converted network in `folder`, searching `threads` batches at a time.

    `cached_numbers` is that of `SearchSize`. Raises ModelError or ResourceError if the network cannot be loaded.
    """

    def __init__(
        self,
        folder: Path,
        tokenizer: Tokenizer,
        device: str = "auto",
        threads: int | None = None,
        cached_numbers: int = 0,
    ) -> None:
        self.folder, self.device = folder, device
        self.threads = 1 if device.startswith("cuda") else threads or usable_processors()
        self._pieces: dict[Side, list[str]] = {
            "source": tokenizer.pieces(range(len(tokenizer.source)), "source"),
            "target": tokenizer.pieces(range(len(tokenizer.target)), "target"),
        }
        self._ids = {piece: token for token, piece in enumerate(self._pieces["target"])}
        self._size = SearchSize(len(self._ids), cached_numbers)
        self._process = os.getpid()
        self._networks = [self._load(self.threads)]
        self._thread_tokens = _thread_tokens(folder, device, self._networks[0].compute_type)
        # CTranslate2's threads must end before the interpreter does, or it may abort.
        weakref.finalize(self, _end, self._networks, self._process)

    def translate(
        self, sources: Sequence[Ids], options: DecodeConfig, target_prefixes: Sequence[Ids] | None = None
    ) -> list[list[Hypothesis]]:
        """See `Engine.translate`. Samples depend on the seed and on all the sentences of the call."""
        if options.coverage_penalty:  # CTranslate2's own counts the padding of a batch
            raise ConfigError("decode.coverage_penalty: only the torch engine has it; use --engine torch, or omit it")
        refuse_fork(self._process)
        prefixes = target_prefixes or [()] * len(sources)
        jobs = [
            _Job(source, prefix, max(options.limit(len(source)), len(prefix)))
            for source, prefix in zip(sources, prefixes, strict=True)
        ]
        if options.method == "sample":
            return self._rescore(jobs, self._search(self._seeded(options.seed), jobs, options), options)
        network = self._networks[0]
        results = self._search(network, jobs, options)
        # Sentences searched together share the longest one's limit: those that exceed their own are searched alone.
        for number, job in enumerate(jobs):
            if any(len(result.pieces) > job.limit for result in results[number]):
                [results[number]] = self._search(network, [job], options)
        return self._rescore(jobs, results, options)

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        """See `Engine.score`."""
        return self._score(sources, targets, {"max_batch_size": SCORED_TOKENS, "batch_type": "tokens"})

    def _score(self, sources: Sequence[Ids], targets: Sequence[Ids], batches: Mapping[str, Any]) -> list[list[float]]:
        refuse_fork(self._process)
        if not sources:
            return []
        with _within_positions():
            scored = self._networks[0].score_batch(
                [self._to_pieces(source, "source") for source in sources],
                [self._to_pieces(target, "target") for target in targets],
                max_input_length=0,
                **batches,
            )
        return [list(result.log_probs) for result in scored]

    def _search(self, network: Any, jobs: Sequence[_Job], options: DecodeConfig) -> list[list[_Result]]:
        """CTranslate2's results for each job."""
        futures: dict[int, Any] = {}
        for group in self._groups(jobs, options):
            submitted = self._submit(network, [jobs[n] for n in group], options)
            futures.update(zip(group, submitted, strict=True))
        with _within_positions():
            return [self._parse_result(futures[n].result()) for n in range(len(jobs))]

    def _groups(self, jobs: Sequence[_Job], options: DecodeConfig) -> list[list[int]]:
        """The indices of jobs that are searched together. Raises ResourceError for a job that exceeds memory."""
        if not jobs:
            return []
        needed = max(self._size.bytes_per_sentence(len(job.source_ids), options) for job in jobs)
        available = available_memory() if self._networks[0].device == "cpu" else None
        refuse_beyond_memory(needed, available, f"a sentence with {hypotheses(options):,} hypotheses")
        if options.exact:
            return [[n] for n in range(len(jobs))]
        lengths = [len(job.source_ids) + 1 for job in jobs]
        groups = balanced_groups(lengths, self.threads, min(self._thread_tokens, options.batch_tokens))
        if available is None:
            return groups
        most = max(1, available // (needed * min(self.threads, len(groups))))
        return [group[start : start + most] for group in groups for start in range(0, len(group), most)]

    def _rescore(
        self, jobs: Sequence[_Job], results: Sequence[Sequence[_Result]], options: DecodeConfig
    ) -> list[list[Hypothesis]]:
        """Results as hypotheses with our scores: the best first, or in the order drawn.

        CTranslate2 reports log P of what it added to the prefix, after forbidden tokens were masked. Where that makes
        a difference, the model's own log P is computed by a scoring.
        """
        differs = bool(options.method == "sample" or options.no_repeat_ngram or options.min_length)
        rescored = [
            n
            for n, job in enumerate(jobs)
            if differs or job.target_prefix or not all(result.finished for result in results[n])
        ]
        pairs = [(jobs[n].source_ids, self._tokens(result)) for n in rescored for result in results[n]]
        sources, targets = [source for source, _ in pairs], [tokens for _, tokens in pairs]
        rows = iter(self._score(sources, targets, ALONE) if options.exact else self.score(sources, targets))
        own_log_probs = {n: [sum(next(rows)) for _ in results[n]] for n in rescored}
        return [self._hypotheses(own, own_log_probs.get(n), options) for n, own in enumerate(results)]

    def _hypotheses(
        self, results: Sequence[_Result], own_log_probs: Sequence[float] | None, options: DecodeConfig
    ) -> list[Hypothesis]:
        """The hypotheses of one job; `own_log_probs` replace what CTranslate2 reported."""
        log_probs = own_log_probs or [result.reported_log_prob for result in results]
        found = [
            Hypothesis(
                self._tokens(result),
                log_prob,
                log_prob / length_penalty(len(result.pieces) + 1, options.length_penalty),
            )
            for result, log_prob in zip(results, log_probs, strict=True)
        ]
        if options.method == "beam":
            found.sort(key=lambda hypothesis: -hypothesis.score)
            if own_log_probs:  # hypotheses that the limit has cut may be equal
                found = [h for n, h in enumerate(found) if h.tokens not in [other.tokens for other in found[:n]]]
        return found[: options.n_best]

    def _submit(self, network: Any, jobs: Sequence[_Job], options: DecodeConfig) -> list[Any]:
        """Futures of CTranslate2's results, one for each job."""
        prefixes = [self._to_pieces(job.target_prefix, "target") for job in jobs]
        sampling = options.method == "sample"
        sampled = {
            "sampling_topk": min(options.top_k, len(self._ids)),
            "sampling_topp": options.top_p,
            "sampling_temperature": options.temperature,
        }
        futures: list[Any] = network.translate_batch(
            [self._to_pieces(job.source_ids, "source") for job in jobs],
            prefixes if any(prefixes) else None,
            beam_size=1 if sampling else options.beam,
            num_hypotheses=hypotheses(options),
            length_penalty=STOP_AT_BEAM,
            no_repeat_ngram_size=options.no_repeat_ngram,
            min_decoding_length=options.min_length,
            max_decoding_length=max(job.limit for job in jobs),
            max_input_length=0,
            use_vmap=options.shortlist,
            return_scores=True,
            return_end_token=True,
            asynchronous=True,
            **(sampled if sampling else {}),
        )
        return futures

    def _to_pieces(self, tokens: Ids, side: Side) -> list[str]:
        pieces = self._pieces[side]
        return [pieces[token] for token in tokens]

    def _tokens(self, result: _Result) -> tuple[int, ...]:
        return tuple(self._ids[piece] for piece in result.pieces)

    def _parse_result(self, result: Any) -> list[_Result]:
        end = self._pieces["target"][EOS]  # absent where the length limit has cut
        return [
            _Result(pieces[:-1], log_prob, True) if pieces and pieces[-1] == end else _Result(pieces, log_prob, False)
            for pieces, log_prob in zip(result.hypotheses, result.scores, strict=True)
        ]

    def _seeded(self, seed: int) -> Any:
        """A network whose worker has drawn nothing yet: its random numbers begin with the seed."""
        ctranslate2.set_random_seed(seed)
        return self._load(1)

    def _load(self, threads: int) -> Any:
        """The network, able to search as many batches at a time as there are threads."""
        kind, _, number = self.device.partition(":")
        if number and not number.isdecimal():
            raise ConfigError(f'device "{self.device}": choose one of auto, cpu, cuda, cuda:1')
        try:
            return ctranslate2.Translator(
                str(self.folder), device=kind, device_index=int(number or 0), inter_threads=threads, intra_threads=1
            )
        except ValueError as error:
            raise ResourceError(f"{self.folder}: {error}; use --device cpu, or the torch engine") from None
        except RuntimeError as error:
            if kind == "cuda" and "CUDA" in str(error):
                raise ResourceError(f'device "{self.device}": {error}; use --device cpu, or auto') from None
            raise ModelError(f"{self.folder}: CTranslate2 cannot load it: {error}; export the model again") from None


@contextmanager
def _within_positions() -> Iterator[None]:
    """Raises DataError for a text longer than the position table of an export."""
    try:
        yield
    except RuntimeError as error:
        if "position encodings" not in str(error):
            raise
        text = "a text, or a translation with its prefix, has more tokens than the export has positions"
        raise DataError(f"{text} for; shorten it, or lower decode.extra_length, or use --engine torch") from None


def balanced_groups(lengths: Sequence[int], threads: int, most: int) -> list[list[int]]:
    """Indices of sentences grouped by similar length, the longest first, so that threads finish together.

    Each thread gets the same number of groups of about `most` tokens, all of about the same size. A group is divided
    where its padding would make it more than twice `most`.
    """
    total = sum(lengths)
    count = threads * -(-total // (threads * most))
    groups: list[list[int]] = []
    before, number = 0, -1
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        share = before * count // total
        if share > number or (len(groups[-1]) + 1) * lengths[index] > 2 * most:
            groups.append([])
        groups[-1].append(index)
        before, number = before + lengths[index], share
    return groups[::-1]


def _thread_tokens(folder: Path, device: str, compute_type: str) -> int:
    if device.startswith("cuda"):
        return INT32_MAX
    if (folder / "model.bin").stat().st_size > LARGE:
        return THREAD_TOKENS_OF_LARGE
    return THREAD_TOKENS["int8" if compute_type.startswith("int8") else "float32"]


def _end(networks: list[Any], process: int) -> None:
    """Destroy the networks; in a forked child leave them as they are."""
    if os.getpid() == process:
        networks.clear()
    else:
        _LEAKED_AFTER_FORK.append(list(networks))
