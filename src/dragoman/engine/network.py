"""A network that `dragoman.exporting` converted, in CTranslate2: its calls on ids instead of pieces."""

import ctypes
import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np

from dragoman.config import DecodeConfig
from dragoman.engine import Attention, Ids, Query
from dragoman.engine.resources import hypotheses
from dragoman.engine.stepwise import Continuation, ForcedDecoding
from dragoman.errors import ConfigError, DataError, ModelError, ResourceError
from dragoman.text.tokens.tokenizer import Side, Tokenizer

# With a length penalty CTranslate2 stops a sentence at `beam` hypotheses, as our search does; this one changes nothing.
STOP_AT_BEAM = 1e-9
# Bytes of logits that one call of forced decoding returns.
LOGITS_BYTES = 64 << 20
# Sentences that a thread aligns together.
ATTENTION_SENTENCES = 48
# How model.bin begins the number of heads of which it returns the mean: a name, no dimensions, int16, two bytes.
_HEADS = b"decoder/alignment_heads\0" + bytes([0, 2, 2, 0, 0, 0])

# CTranslate2 has one seed for all its workers, and a new one reads it when it first draws.
_SEED = threading.Lock()

Result = tuple[tuple[int, ...], float]
"""Tokens, with EOS at their end unless the limit cut them off, and the log P that CTranslate2 reports."""


def forced_tokens(query: Query) -> tuple[int, ...]:
    """The target tokens that CTranslate2 is given: language tokens, then the prefix."""
    return (*query.marks.target, *query.prefix)


class Network:
    """The network in `folder`, working on `threads` batches at a time, on a GPU on one.

    Only this class passes language tokens to CTranslate2, and takes them out of what it returns.

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
        self, groups: Sequence[Sequence[Query]], lengths: Sequence[int], options: DecodeConfig
    ) -> list[list[list[Result]]]:
        """The results of each query of each group; the queries of a group are searched together.

        Each group is searched up to its number of tokens. Its queries have equally many language tokens.
        """
        draws = options.method == "sample"
        with _SEED if draws else nullcontext(), _within_positions():
            network = self._seeded(options.seed) if draws else self._loaded[0]
            submitted = [
                self._submit(network, group, length, options) for group, length in zip(groups, lengths, strict=True)
            ]
            results = [
                [self._parse_result(future.result(), len(group[0].marks.target)) for future in futures]
                for group, futures in zip(groups, submitted, strict=True)
            ]
        times = options.n_best if _draws_one(options) else 1
        return [[drawn * times for drawn in group] for group in results] if times > 1 else results

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], batches: Mapping[str, Any]) -> list[list[float]]:
        """log P in nats of each token of each target, and of EOS; `batches` are CTranslate2's options for them."""
        with _within_positions():
            scored = self._loaded[0].score_batch(
                [self._to_pieces((*query.marks.source, *query.source), "source") for query in queries],
                [
                    self._to_pieces((*query.marks.target, *target), "target")
                    for query, target in zip(queries, targets, strict=True)
                ],
                max_input_length=0,
                **batches,
            )
        return [
            list(result.log_probs)[len(query.marks.target) :] for query, result in zip(queries, scored, strict=True)
        ]

    @cached_property
    def averages_heads(self) -> bool:
        """Whether the attention that it returns is the mean of all heads, as our exports ask for."""
        with (self.folder / "model.bin").open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            at = content.rfind(_HEADS)
            return at >= 0 and content[at + len(_HEADS) :][:2] == b"\0\0"

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention]:
        """(target tokens, source tokens) of each pair, by forced decoding of targets of similar length together."""
        attentions: dict[int, Attention] = {}
        ranked = sorted(range(len(targets)), key=lambda n: len(queries[n].marks.target) + len(targets[n]))
        size = ATTENTION_SENTENCES * self.threads
        for group in (ranked[start : start + size] for start in range(0, len(ranked), size)):
            forced = [(*queries[n].marks.target, *targets[n]) for n in group]
            results = self._translate_batch(
                self._loaded[0],
                [queries[n] for n in group],
                forced,
                max_batch_size=ATTENTION_SENTENCES,
                beam_size=1,
                max_decoding_length=max(map(len, forced)),
                return_attention=True,
            )
            for n, result in zip(group, results, strict=True):
                rows, columns = len(queries[n].marks.target), len(queries[n].marks.source)
                whole = np.array(result.attention[0], np.float32)
                attentions[n] = whole[rows : rows + len(targets[n]), columns : columns + len(queries[n].source)]
        return [attentions[n] for n in range(len(targets))]

    def decode(self, wanted: Sequence[Continuation], alone: bool) -> list[ForcedDecoding]:
        """Forced decoding of each prefix, continued greedily; `alone` if all are of one sentence."""
        decoded: dict[int, ForcedDecoding] = {}
        lengths = [len(continuation.query.marks.target) + continuation.length for continuation in wanted]
        for length in {*lengths}:
            same = [n for n, other in enumerate(lengths) if other == length]
            size = max(1, LOGITS_BYTES // (4 * length * self.vocabulary))
            for start in range(0, len(same), size):
                group = same[start : start + size]
                decoded.update(zip(group, self._forced([wanted[n].query for n in group], length, alone), strict=True))
        return [decoded[n] for n in range(len(wanted))]

    def _forced(self, queries: Sequence[Query], length: int, alone: bool) -> list[ForcedDecoding]:
        results = self._translate_batch(
            self._loaded[0],
            queries,
            [forced_tokens(query) for query in queries],
            max_batch_size=0 if alone else -(-len(queries) // self.threads),
            beam_size=1,
            min_decoding_length=0,
            max_decoding_length=length,
            return_logits_vocab=True,
        )
        float32 = ctranslate2.DataType.float32
        return [
            ForcedDecoding(
                self._tokens(result.hypotheses[0][len(query.marks.target) :]),
                [np.array(row.to(float32)) for row in result.logits[0][len(query.marks.target) :]],
            )
            for query, result in zip(queries, results, strict=True)
        ]

    def _submit(self, network: Any, queries: Sequence[Query], length: int, options: DecodeConfig) -> Any:
        """Futures of CTranslate2's results, one for each query."""
        sampling, marks = options.method == "sample", len(queries[0].marks.target)
        sampled = {
            "sampling_topk": min(options.top_k, self.vocabulary),
            "sampling_topp": options.top_p,
            "sampling_temperature": options.temperature,
        }
        return self._translate_batch(
            network,
            queries,
            [forced_tokens(query) for query in queries],
            beam_size=1 if sampling else options.beam,
            num_hypotheses=1 if _draws_one(options) else hypotheses(options),
            length_penalty=STOP_AT_BEAM,
            no_repeat_ngram_size=options.no_repeat_ngram,
            min_decoding_length=options.min_length + marks if options.min_length else 0,
            max_decoding_length=length + marks,
            use_vmap=options.shortlist,
            return_scores=True,
            asynchronous=True,
            **(sampled if sampling else {}),
        )

    def _translate_batch(self, network: Any, queries: Sequence[Query], forced: Sequence[Ids], **options: Any) -> Any:
        with _within_positions():
            return network.translate_batch(
                [self._to_pieces((*query.marks.source, *query.source), "source") for query in queries],
                [self._to_pieces(tokens, "target") for tokens in forced] if any(forced) else None,
                max_input_length=0,
                return_end_token=True,
                **options,
            )

    def _to_pieces(self, tokens: Ids, side: Side) -> list[str]:
        pieces = self._pieces[side]
        return [pieces[token] for token in tokens]

    def _tokens(self, pieces: Sequence[str]) -> tuple[int, ...]:
        return tuple(map(self._ids.__getitem__, pieces))

    def _parse_result(self, result: Any, marks: int) -> list[Result]:
        """The hypotheses of a sentence without its language tokens, which are the first `marks` of each."""
        return [
            (self._tokens(pieces[marks:]), log_prob)
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
            if "allocate" in str(error):
                raise ResourceError(f"{self.folder}: does not fit into memory: {error}; give it more memory") from None
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
    else:  # destroying them would wait for their threads, which do not exist here: not even at the end of the process
        for network in networks:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(network))
