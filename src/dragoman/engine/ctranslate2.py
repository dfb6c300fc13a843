"""The fast engine: CTranslate2 on a network that `dragoman.exporting` converted. No torch.

It is asked so that it finds what our own search finds: hypotheses come with plain log P, and their scores are ours;
nothing is cut; a sentence's limit of length is its own, whatever its neighbours'.
"""

import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import ctranslate2

from dragoman.config import DecodeConfig
from dragoman.config.base import INT32_MAX
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.engine import Ids
from dragoman.engine.process import refuse_fork
from dragoman.errors import ConfigError, DataError, ModelError, ResourceError
from dragoman.text.tokenizer import EOS, Side, Tokenizer

# Tokens that a processor's thread searches at once: many enough that its products are large and that weights which no
# cache holds are read for several sentences, and else few. A batch is never divided among threads: they would wait for
# each other at every small product (`docs/log.md`, 2026-11-21).
THREAD_TOKENS = {"int8": 192, "float32": 320}
THREAD_TOKENS_OF_LARGE, LARGE = 1024, 64 << 20
# Pieces of a batch that is scored: what fits the memory of a small machine with the largest vocabulary.
SCORED_PIECES = 2048
# A pair by itself: its last bits do not depend on who else is scored.
ALONE = {"max_batch_size": 1, "batch_type": "examples"}
# CTranslate2 ends a sentence at `beam` hypotheses, as our search does, if it has a length penalty; this one is none.
STOP_AT_BEAM = 1e-9
# Networks of a process that this one was forked from: to end them would be to wait for threads that are not here.
_LEAKED_AFTER_FORK: list[list[Any]] = []


@dataclass(frozen=True, slots=True)
class Answer:
    """What CTranslate2 found: pieces without the end mark, what it tells of log P, and whether it ended by itself."""

    pieces: Sequence[str]
    told: float
    whole: bool


@dataclass(frozen=True, slots=True)
class Job:
    """A sentence to translate: its ids, how the translation begins, how many tokens it may have."""

    source: Ids
    prefix: Ids
    limit: int


class CTranslate2Engine:
    """A converted network in `folder`. Raises ModelError or ResourceError when it cannot be loaded."""

    def __init__(self, folder: Path, tokenizer: Tokenizer, device: str = "auto", threads: int | None = None) -> None:
        self.folder, self.device = folder, device
        self.threads = 1 if device.startswith("cuda") else threads or _processors()
        self._pieces: dict[Side, list[str]] = {
            "source": tokenizer.pieces(range(len(tokenizer.source)), "source"),
            "target": tokenizer.pieces(range(len(tokenizer.target)), "target"),
        }
        self._ids = {piece: token for token, piece in enumerate(self._pieces["target"])}
        self._process = os.getpid()
        self._networks = [self._load(self.threads)]
        self._thread_tokens = _thread_tokens(folder, device, self._networks[0].compute_type)
        # CTranslate2's threads must end before the interpreter does, or it may abort.
        weakref.finalize(self, _end, self._networks, self._process)

    def translate(
        self, sources: Sequence[Ids], options: DecodeConfig, target_prefixes: Sequence[Ids] | None = None
    ) -> list[list[Hypothesis]]:
        """See `Engine.translate`. Sampling draws the same for the same sentences together, not for each alone."""
        if options.coverage_penalty:  # CTranslate2's own counts the padding of a batch
            raise ConfigError("decode.coverage_penalty: the torch engine has it; use --engine torch, or leave it out")
        forced = target_prefixes or [()] * len(sources)
        jobs = [
            Job(source, prefix, max(options.limit(len(source)), len(prefix)))
            for source, prefix in zip(sources, forced, strict=True)
        ]
        drawn = options.method == "sample"
        network = self._seeded(options.seed) if drawn else self._networks[0]
        answers = self._search(network, jobs, options)
        if not drawn:
            # Sentences searched together have one limit, the longest: who went beyond his own searches again, alone.
            for number, job in enumerate(jobs):
                if any(len(answer.pieces) > job.limit for answer in answers[number]):
                    [answers[number]] = self._search(network, [job], options)
        return self._judged(jobs, answers, options)

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        """See `Engine.score`."""
        return self._score(sources, targets, {"max_batch_size": SCORED_PIECES, "batch_type": "tokens"})

    def _score(self, sources: Sequence[Ids], targets: Sequence[Ids], batches: Mapping[str, Any]) -> list[list[float]]:
        refuse_fork(self._process)
        if not sources:
            return []
        with _within_positions():
            found = self._networks[0].score_batch(
                [self._spell(source, "source") for source in sources],
                [self._spell(target, "target") for target in targets],
                max_input_length=0,
                **batches,
            )
        return [list(result.log_probs) for result in found]

    def _search(self, network: Any, jobs: Sequence[Job], options: DecodeConfig) -> list[list[Answer]]:
        """What CTranslate2 finds for each job."""
        refuse_fork(self._process)
        lengths = [len(job.source) + 1 for job in jobs]
        most = min(self._thread_tokens, options.batch_tokens)
        groups = [[n] for n in range(len(jobs))] if options.exact else shares(lengths, self.threads, most)
        promised = [(group, self._ask(network, [jobs[n] for n in group], options)) for group in groups]
        promises = dict(chain.from_iterable(zip(*pair, strict=True) for pair in promised))
        with _within_positions():
            return [self._understand(promises[n].result()) for n in range(len(jobs))]

    def _judged(
        self, jobs: Sequence[Job], answers: Sequence[Sequence[Answer]], options: DecodeConfig
    ) -> list[list[Hypothesis]]:
        """Answers as hypotheses with our scores: the best first, or in the order drawn.

        CTranslate2 tells log P of what it added to the prefix, after what it was forbidden had been taken out: where
        that makes a difference, log P is asked for anew.
        """
        differs = _changes_log_p(options)
        doubtful = [
            n for n, job in enumerate(jobs) if differs or job.prefix or not all(answer.whole for answer in answers[n])
        ]
        pairs = [(jobs[n].source, self._tokens(answer)) for n in doubtful for answer in answers[n]]
        sources, targets = [source for source, _ in pairs], [tokens for _, tokens in pairs]
        rows = iter(self._score(sources, targets, ALONE) if options.exact else self.score(sources, targets))
        asked = {n: [next(rows) for _ in answers[n]] for n in doubtful}
        return [
            self._hypotheses(job, own, asked.get(n), options)
            for n, (job, own) in enumerate(zip(jobs, answers, strict=True))
        ]

    def _hypotheses(
        self, job: Job, answers: Sequence[Answer], rows: Sequence[Sequence[float]] | None, options: DecodeConfig
    ) -> list[Hypothesis]:
        """Those of one job; `rows` are log P of the tokens of its answers where they were asked for."""
        log_probs = [sum(row) for row in rows] if rows else [answer.told for answer in answers]
        scores = [
            log_prob / length_penalty(len(answer.pieces) + 1, options.length_penalty)
            for answer, log_prob in zip(answers, log_probs, strict=True)
        ]
        ranks = list(range(len(answers)))
        if options.method == "beam":
            ranks.sort(key=lambda n: -scores[n])
        if options.method == "beam" and rows:  # what the limit has cut may be the same twice
            first = {tuple(answers[n].pieces): n for n in reversed(ranks)}
            ranks = [n for n in ranks if first[tuple(answers[n].pieces)] == n]
        return [Hypothesis(self._tokens(answers[n]), log_probs[n], scores[n]) for n in ranks[: options.n_best]]

    def _ask(self, network: Any, jobs: Sequence[Job], options: DecodeConfig) -> list[Any]:
        """Promises of CTranslate2's answers, one of each job."""
        prefixes = [self._spell(job.prefix, "target") for job in jobs]
        drawn = options.method == "sample"
        beam = 1 if drawn else options.beam
        chance = {"sampling_topk": min(options.top_k, len(self._ids)), "sampling_topp": options.top_p}
        promises: list[Any] = network.translate_batch(
            [self._spell(job.source, "source") for job in jobs],
            prefixes if any(prefixes) else None,
            beam_size=beam,
            num_hypotheses=options.n_best if drawn else beam,
            length_penalty=STOP_AT_BEAM,
            no_repeat_ngram_size=options.no_repeat_ngram,
            min_decoding_length=options.min_length,
            max_decoding_length=max(job.limit for job in jobs),
            max_input_length=0,
            use_vmap=options.shortlist,
            return_scores=True,
            return_end_token=True,
            asynchronous=True,
            **(chance | {"sampling_temperature": options.temperature} if drawn else {}),
        )
        return promises

    def _spell(self, tokens: Ids, side: Side) -> list[str]:
        pieces = self._pieces[side]
        return [pieces[token] for token in tokens]

    def _tokens(self, answer: Answer) -> tuple[int, ...]:
        return tuple(self._ids[piece] for piece in answer.pieces)

    def _understand(self, result: Any) -> list[Answer]:
        end = self._pieces["target"][EOS]  # where it is missing, the limit of length has cut
        return [
            Answer(pieces[:-1], told, True) if pieces and pieces[-1] == end else Answer(pieces, told, False)
            for pieces, told in zip(result.hypotheses, result.scores, strict=True)
        ]

    def _seeded(self, seed: int) -> Any:
        """A network whose worker has drawn nothing yet: its random numbers begin with the seed."""
        ctranslate2.set_random_seed(seed)
        return self._load(1)

    def _load(self, threads: int) -> Any:
        """The network, to search as many batches at once as there are threads."""
        kind, _, number = self.device.partition(":")
        if number and not number.isdecimal():
            raise ConfigError(f'device "{self.device}": there is auto, cpu, cuda, cuda:1')
        try:
            return ctranslate2.Translator(
                str(self.folder), device=kind, device_index=int(number or 0), inter_threads=threads, intra_threads=1
            )
        except ValueError as error:
            raise ResourceError(f"{self.folder}: {error}; use --device cpu, or the torch engine") from None
        except RuntimeError as error:
            raise ModelError(f"{self.folder}: CTranslate2 cannot load it: {error}; export the model again") from None


@contextmanager
def _within_positions() -> Iterator[None]:
    """Raises DataError for a text that goes beyond the positions that an export has a table of."""
    try:
        yield
    except RuntimeError as error:
        if "position encodings" not in str(error):
            raise
        text = "a text, or a translation with its beginning, has more tokens than the export has positions"
        raise DataError(f"{text} for; shorten it, or lower decode.extra_length, or use --engine torch") from None


def shares(lengths: Sequence[int], threads: int, most: int) -> list[list[int]]:
    """Indices of sentences of like length, the longest first, for threads that are to end together.

    There are as many groups as every thread needs of about `most` tokens, and all have about the same number; more
    where a group's padding would make it more than twice `most` of one sentence and those that are far shorter.
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


def _thread_tokens(folder: Path, device: str, arithmetic: str) -> int:
    if device.startswith("cuda"):
        return INT32_MAX
    if (folder / "model.bin").stat().st_size > LARGE:
        return THREAD_TOKENS_OF_LARGE
    return THREAD_TOKENS["int8" if arithmetic.startswith("int8") else "float32"]


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _end(networks: list[Any], process: int) -> None:
    """Let go of the networks; in a child of a fork, where their threads are not, leave them as they are."""
    if os.getpid() == process:
        networks.clear()
    else:
        _LEAKED_AFTER_FORK.append(list(networks))


def _changes_log_p(options: DecodeConfig) -> bool:
    """Whether CTranslate2 tells of another log P than the model's own."""
    return bool(options.method == "sample" or options.no_repeat_ngram or options.min_length)
