"""A network that `dragoman.exporting` converted, in CTranslate2: its calls on ids instead of pieces. No torch."""

import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np

from dragoman.config import DecodeConfig
from dragoman.engine import Attention, Ids
from dragoman.engine.memory import hypotheses
from dragoman.engine.stepwise import Decoded, Request
from dragoman.errors import ConfigError, DataError, ModelError, ResourceError
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import EOS, Side, Tokenizer

# With a length penalty CTranslate2 stops a sentence at `beam` hypotheses, as our search does; this one changes nothing.
STOP_AT_BEAM = 1e-9
# Bytes of logits that one call of forced decoding returns.
LOGITS_BYTES = 64 << 20
# Sentences that a thread aligns together.
ATTENTION_SENTENCES = 48
# How model.bin begins the number of heads of which it returns the mean: a name, no dimensions, int16, two bytes.
_HEADS = b"decoder/alignment_heads\0" + bytes([0, 2, 2, 0, 0, 0])
# Networks inherited by a forked child: destroying them there would deadlock, because their threads do not exist in it.
_LEAKED_AFTER_FORK: list[list[Any]] = []


@dataclass(frozen=True, slots=True)
class Job:
    """A sentence to translate: its ids, the ids that its translation begins with, its maximum length in tokens.

    The language tokens `marks` are in none of these. Only this module passes them to CTranslate2, and takes them out of
    what it returns.
    """

    source_ids: Ids
    target_prefix: tuple[int, ...]
    limit: int
    marks: Marks = NO_MARKS

    @property
    def forced(self) -> tuple[int, ...]:
        """The target tokens that CTranslate2 is given: language tokens, then the prefix."""
        return (*self.marks.target, *self.target_prefix)


@dataclass(frozen=True, slots=True)
class Result:
    """CTranslate2's answer: tokens without EOS, the log P that it reports, and whether EOS ended it or the limit."""

    tokens: tuple[int, ...]
    reported_log_prob: float
    finished: bool

    def cut(self, limit: int) -> "Result":
        """The first `limit` tokens: the limit of its own sentence, where a longer one of the batch had more."""
        return self if len(self.tokens) <= limit else Result(self.tokens[:limit], self.reported_log_prob, False)


class Network:
    """The network in `folder`, working on `threads` batches at a time, on a GPU on one.

    `device` `auto` is a GPU if there is one and CTranslate2 finds its libraries, otherwise the processor. Raises
    ModelError or ResourceError if the network cannot be loaded.
    """

    def __init__(self, folder: Path, tokenizer: Tokenizer, device: str, threads: int) -> None:
        self.folder = folder
        self._pieces: dict[Side, list[str]] = {
            "source": tokenizer.pieces(range(len(tokenizer.source)), "source"),
            "target": tokenizer.pieces(range(len(tokenizer.target)), "target"),
        }
        self._ids = {piece: token for token, piece in enumerate(self._pieces["target"])}
        self.device = device if device != "auto" else "cuda" if ctranslate2.get_cuda_device_count() else "cpu"
        self.threads = 1 if self.device.startswith("cuda") else threads
        self._loaded = [self._load(self.threads)]
        if fault := self._fault():
            if device != "auto":
                raise ResourceError(
                    f'device "{device}": {fault}; use --device cpu, or set LD_LIBRARY_PATH to the CUDA libraries'
                )
            self.device, self.threads = "cpu", threads
            self._loaded = [self._load(threads)]
        self.compute_type: str = self._loaded[0].compute_type
        self.on_cpu = self.device == "cpu"
        # CTranslate2's threads must end before the interpreter does, or it may abort.
        weakref.finalize(self, _end, self._loaded, os.getpid())

    @property
    def vocabulary(self) -> int:
        """The number of target pieces."""
        return len(self._ids)

    def search(
        self, groups: Sequence[Sequence[Job]], options: DecodeConfig, beyond: int = 1
    ) -> list[list[list[Result]]]:
        """The results of each job of each group; the jobs of a group are searched together.

        Each group is searched up to the largest limit of its jobs and `beyond`: with 1, a search that reaches the limit
        shows in its results. The jobs of a group have equally many language tokens.
        """
        network = self._seeded(options.seed) if options.method == "sample" else self._loaded[0]
        futures = [self._submit(network, group, options, beyond) for group in groups]
        with _within_positions():
            found = [
                [
                    self._parse_result(future.result(), len(job.marks.target))
                    for job, future in zip(group, own, strict=True)
                ]
                for group, own in zip(groups, futures, strict=True)
            ]
        times = options.n_best if _draws_one(options) else 1
        return [[own * times for own in group] for group in found]

    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], marks: Sequence[Marks], batches: Mapping[str, Any]
    ) -> list[list[float]]:
        """log P in nats of each token of each target, and of EOS; `batches` are CTranslate2's options for them."""
        with _within_positions():
            scored = self._loaded[0].score_batch(
                [self._to_pieces((*one.source, *source), "source") for one, source in zip(marks, sources, strict=True)],
                [self._to_pieces((*one.target, *target), "target") for one, target in zip(marks, targets, strict=True)],
                max_input_length=0,
                **batches,
            )
        return [list(result.log_probs)[len(one.target) :] for one, result in zip(marks, scored, strict=True)]

    @cached_property
    def averages_heads(self) -> bool:
        """Whether the attention that it returns is the mean of all heads, as our exports ask for."""
        with (self.folder / "model.bin").open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            at = content.rfind(_HEADS)
            return at >= 0 and content[at + len(_HEADS) :][:2] == b"\0\0"

    def attention(self, sources: Sequence[Ids], targets: Sequence[Ids], marks: Sequence[Marks]) -> list[Attention]:
        """(target tokens, source tokens) of each pair, by forced decoding of targets of similar length together."""
        found: dict[int, Attention] = {}
        ranked = sorted(range(len(targets)), key=lambda n: len(marks[n].target) + len(targets[n]))
        size = ATTENTION_SENTENCES * self.threads
        for group in (ranked[start : start + size] for start in range(0, len(ranked), size)):
            forced = [(*marks[n].target, *targets[n]) for n in group]
            results = self._translate_batch(
                self._loaded[0],
                [(*marks[n].source, *sources[n]) for n in group],
                forced,
                max_batch_size=ATTENTION_SENTENCES,
                beam_size=1,
                max_decoding_length=max(map(len, forced)),
                return_attention=True,
            )
            for n, result in zip(group, results, strict=True):
                rows, columns = len(marks[n].target), len(marks[n].source)
                whole = np.array(result.attention[0], np.float32)
                found[n] = whole[rows : rows + len(targets[n]), columns : columns + len(sources[n])]
        return [found[n] for n in range(len(targets))]

    def decode(self, requests: Sequence[Request], alone: bool) -> list[Decoded]:
        """Forced decoding of each prefix, continued greedily; `alone` if all requests are of one sentence."""
        found: dict[int, Decoded] = {}
        lengths = [len(request.marks.target) + request.length for request in requests]
        for length in {*lengths}:
            same = [n for n, own in enumerate(lengths) if own == length]
            size = max(1, LOGITS_BYTES // (4 * length * self.vocabulary))
            for start in range(0, len(same), size):
                group = same[start : start + size]
                found.update(zip(group, self._forced([requests[n] for n in group], length, alone), strict=True))
        return [found[n] for n in range(len(requests))]

    def _forced(self, requests: Sequence[Request], length: int, alone: bool) -> list[Decoded]:
        results = self._translate_batch(
            self._loaded[0],
            [(*request.marks.source, *request.source_ids) for request in requests],
            [(*request.marks.target, *request.prefix) for request in requests],
            max_batch_size=0 if alone else -(-len(requests) // self.threads),
            beam_size=1,
            min_decoding_length=0,
            max_decoding_length=length,
            return_logits_vocab=True,
        )
        float32 = ctranslate2.DataType.float32
        return [
            Decoded(
                self._tokens(result.hypotheses[0][len(request.marks.target) :]),
                [np.array(row.to(float32)) for row in result.logits[0][len(request.marks.target) :]],
            )
            for request, result in zip(requests, results, strict=True)
        ]

    def _submit(self, network: Any, jobs: Sequence[Job], options: DecodeConfig, beyond: int) -> Any:
        """Futures of CTranslate2's results, one for each job."""
        sampling, marks = options.method == "sample", len(jobs[0].marks.target)
        sampled = {
            "sampling_topk": min(options.top_k, self.vocabulary),
            "sampling_topp": options.top_p,
            "sampling_temperature": options.temperature,
        }
        return self._translate_batch(
            network,
            [(*job.marks.source, *job.source_ids) for job in jobs],
            [job.forced for job in jobs],
            beam_size=1 if sampling else options.beam,
            num_hypotheses=1 if _draws_one(options) else hypotheses(options),
            length_penalty=STOP_AT_BEAM,
            no_repeat_ngram_size=options.no_repeat_ngram,
            min_decoding_length=options.min_length + marks if options.min_length else 0,
            max_decoding_length=max(job.limit for job in jobs) + marks + beyond,
            use_vmap=options.shortlist,
            return_scores=True,
            asynchronous=True,
            **(sampled if sampling else {}),
        )

    def _translate_batch(self, network: Any, sources: Sequence[Ids], prefixes: Sequence[Ids], **options: Any) -> Any:
        forced = [self._to_pieces(prefix, "target") for prefix in prefixes]
        with _within_positions():
            return network.translate_batch(
                [self._to_pieces(source, "source") for source in sources],
                forced if any(forced) else None,
                max_input_length=0,
                return_end_token=True,
                **options,
            )

    def _to_pieces(self, tokens: Ids, side: Side) -> list[str]:
        pieces = self._pieces[side]
        return [pieces[token] for token in tokens]

    def _tokens(self, pieces: Sequence[str]) -> tuple[int, ...]:
        return tuple(self._ids[piece] for piece in pieces)

    def _parse_result(self, result: Any, marks: int) -> list[Result]:
        """The hypotheses of a sentence without its language tokens, which are the first `marks` of each."""
        end = self._pieces["target"][EOS]  # absent where the length limit has cut
        return [
            Result(self._tokens(pieces[marks:-1]), log_prob, True)
            if pieces and pieces[-1] == end
            else Result(self._tokens(pieces[marks:]), log_prob, False)
            for pieces, log_prob in zip(result.hypotheses, result.scores, strict=True)
        ]

    def _seeded(self, seed: int) -> Any:
        """A network whose worker has drawn nothing yet: its random numbers begin with the seed."""
        ctranslate2.set_random_seed(seed)
        return self._load(1)

    def _fault(self) -> str | None:
        """Why the network cannot compute on the GPU: CTranslate2 opens the libraries of CUDA at the first product."""
        if self.device == "cpu":
            return None
        try:
            self._loaded[0].translate_batch([self._pieces["source"][:1]], beam_size=1, max_decoding_length=1)
        except RuntimeError as error:
            return str(error)
        return None

    def _load(self, threads: int) -> Any:
        """The network, able to search as many batches at a time as there are threads."""
        kind, _, number = self.device.partition(":")
        if number and not number.isdecimal():
            raise ConfigError(f'device "{self.device}": choose one of auto, cpu, cuda, cuda:1')
        try:
            return ctranslate2.Translator(
                str(self.folder), device=kind, device_index=int(number or 0), inter_threads=threads, intra_threads=1
            )
        except UnicodeDecodeError:  # a name within model.bin; it is a ValueError
            raise ModelError(f"{self.folder}: CTranslate2 cannot load it: damaged; export the model again") from None
        except ValueError as error:
            raise ResourceError(f"{self.folder}: {error}; use --device cpu, or the torch engine") from None
        except RuntimeError as error:
            if kind == "cuda" and "CUDA" in str(error):
                raise ResourceError(f'device "{self.device}": {error}; use --device cpu, or auto') from None
            raise ModelError(f"{self.folder}: CTranslate2 cannot load it: {error}; export the model again") from None


def _draws_one(options: DecodeConfig) -> bool:
    """Whether all samples are the same: then CTranslate2 refuses to draw several."""
    return options.method == "sample" and options.top_k == 1


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


def _end(networks: list[Any], process: int) -> None:
    """Destroy the networks; in a forked child leave them as they are."""
    if os.getpid() == process:
        networks.clear()
    else:
        _LEAKED_AFTER_FORK.append(list(networks))
