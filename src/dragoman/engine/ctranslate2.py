"""The fast engine: CTranslate2 on a network that `dragoman.exporting` converted. No torch.

It is called so that it finds what our own search finds: hypotheses have plain log P and our scores, nothing is cut,
and a sentence's length limit is its own, whatever else is in the batch. Where CTranslate2's search is another than the
reference's (`docs/decisions/0019-parity.md`), `engine.stepwise` searches and CTranslate2 only computes.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from dragoman.config import DecodeConfig
from dragoman.config.sections.decode import RetryOptions
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.engine import Attention, Ids
from dragoman.engine.groups import balanced_groups, thread_tokens
from dragoman.engine.limit import are_settled
from dragoman.engine.memory import SearchSize, hypotheses, refuse_beyond_memory
from dragoman.engine.network import Job, Network, Result
from dragoman.engine.process import refuse_fork
from dragoman.engine.stepwise import SentenceSearch, search_stepwise
from dragoman.errors import ConfigError
from dragoman.system.machine import available_memory, usable_processors
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import EOS, Tokenizer

T = TypeVar("T")

# Tokens of a batch that is scored: what fits in a small machine's memory with the largest vocabulary.
SCORED_TOKENS = 2048
# Each pair by itself: its last bits do not depend on what else is scored.
ALONE = {"max_batch_size": 1, "batch_type": "examples"}
# A stepwise search: the sentences that each thread searches together, and the tokens decoded ahead of a hypothesis.
STEPWISE_SENTENCES, LOOKAHEAD = 16, 6


class CTranslate2Engine:
    """A converted network in `folder`, searching `threads` batches at a time.

    `cached_numbers` is that of `SearchSize`. `shortlist` returns the candidate target ids of a source; the export has a
    copy of it. Raises ModelError or ResourceError if the network cannot be loaded.
    """

    def __init__(
        self,
        folder: Path,
        tokenizer: Tokenizer,
        device: str = "auto",
        threads: int | None = None,
        cached_numbers: int = 0,
        shortlist: Callable[[Ids], Ids] | None = None,
    ) -> None:
        self.folder, self.shortlist = folder, shortlist
        self._process = os.getpid()
        self._network = Network(folder, tokenizer, device, threads or usable_processors())
        self.device, self.threads = self._network.device, self._network.threads
        self._size = SearchSize(self._network.vocabulary, cached_numbers)
        self._thread_tokens = thread_tokens(folder, self.device, self._network.compute_type)

    @property
    def batch_tokens(self) -> int:
        """Tokens, EOS and padding included, of the largest call that is searched in one step by each thread."""
        return self.threads * self._thread_tokens

    def one_thread_a_call(self) -> "CTranslate2Engine":
        """The same network, for a service: a call takes one thread, and as many are searched at a time as it has."""
        found = copy(self)
        found.threads = 1
        return found

    def translate(
        self,
        sources: Sequence[Ids],
        options: DecodeConfig,
        target_prefixes: Sequence[Ids] | None = None,
        marks: Sequence[Marks] | None = None,
    ) -> list[list[Hypothesis]]:
        """See `Engine.translate`. Samples depend on the seed and on all the sentences of the call."""
        nothing = [()] * len(sources)
        jobs = [
            Job(source, tuple(prefix), max(options.limit(len(source)), len(prefix)), own)
            for source, prefix, own in zip(
                sources, target_prefixes or nothing, marks or [NO_MARKS] * len(sources), strict=True
            )
        ]
        _refuse_missing(options, any(job.forced for job in jobs))
        refuse_fork(self._process)
        refuse_beyond_memory(
            self._largest(jobs, options), self._available(), f"a sentence with {hypotheses(options):,} hypotheses"
        )
        stepwise = self._differing(jobs, options)
        direct = [n for n in range(len(jobs)) if n not in stepwise]
        results = dict(zip(direct, self._search([jobs[n] for n in direct], options), strict=True))
        at_limit = {} if _is_greedy(options) or isinstance(options, RetryOptions) else self._at_limit(jobs, results)
        settled = self._search_to_limit(at_limit, options)
        direct = [n for n in direct if n not in at_limit]
        stepwise |= at_limit.keys() - settled.keys()
        cut = [[result.cut(jobs[n].limit) for result in results[n]] for n in direct]
        found = dict(zip(direct, self._rescore([jobs[n] for n in direct], cut, options), strict=True)) | settled
        ours = sorted(stepwise)
        found.update(zip(ours, self._search_stepwise([jobs[n] for n in ours], options), strict=True))
        return [found[n] for n in range(len(jobs))]

    def score(
        self,
        sources: Sequence[Ids],
        targets: Sequence[Ids],
        marks: Sequence[Marks] | None = None,
        alone: bool = False,
    ) -> list[list[float]]:
        """See `Engine.score`."""
        refuse_fork(self._process)
        batches = ALONE if alone else {"max_batch_size": SCORED_TOKENS, "batch_type": "tokens"}
        return self._network.score(sources, targets, marks or [NO_MARKS] * len(sources), batches) if sources else []

    def attention(
        self, sources: Sequence[Ids], targets: Sequence[Ids], marks: Sequence[Marks] | None = None
    ) -> list[Attention] | None:
        """See `Engine.attention`. None for an export of an earlier version, which has another layer's."""
        if not self._network.averages_heads:
            return None
        refuse_fork(self._process)
        return self._network.attention(sources, targets, marks or [NO_MARKS] * len(sources))

    def _search(self, jobs: Sequence[Job], options: DecodeConfig) -> list[list[Result]]:
        """CTranslate2's results for each job.

        Where one of a batch has a prefix, CTranslate2 ignores an early end of the others: they are searched apart.
        """
        kinds = [(len(job.marks.target), bool(job.target_prefix)) for job in jobs]
        parts = [[n for n, own in enumerate(kinds) if own == kind] for kind in dict.fromkeys(sorted(kinds))]
        groups = [
            [part[n] for n in group] for part in parts for group in self._groups([jobs[n] for n in part], options)
        ]
        found = self._network.search([[jobs[n] for n in group] for group in groups], options)
        of_job: dict[int, list[Result]] = {}
        for group, several in zip(groups, found, strict=True):
            of_job.update(zip(group, several, strict=True))
        return [of_job[n] for n in range(len(jobs))]

    def _at_limit(self, jobs: Sequence[Job], results: Mapping[int, Sequence[Result]]) -> dict[int, Job]:
        """The jobs with results that reach their limit: our search ends all hypotheses there, not only these."""
        return {n: jobs[n] for n, own in results.items() if any(len(it.tokens) >= jobs[n].limit for it in own)}

    def _search_to_limit(self, jobs: Mapping[int, Job], options: DecodeConfig) -> dict[int, list[Hypothesis]]:
        """The hypotheses of those of these jobs whose best no search would find others than, see `engine.limit`."""
        found: dict[int, list[Hypothesis]] = {}
        for limit in {job.limit for job in jobs.values()}:
            same = [n for n, job in jobs.items() if job.limit == limit and not job.forced]
            own = [jobs[n] for n in same]
            groups = self._groups(own, options)
            searched = self._network.search([[own[k] for k in group] for group in groups], options, beyond=0)
            results = {
                k: result
                for group, several in zip(groups, searched, strict=True)
                for k, result in zip(group, several, strict=True)
            }
            rescored = self._rescore(own, [results[k] for k in range(len(own))], options)
            found |= {
                n: best
                for k, (n, best) in enumerate(zip(same, rescored, strict=True))
                if are_settled(best, results[k], len(jobs[n].source_ids), limit, options)
            }
        return found

    def _largest(self, jobs: Sequence[Job], options: DecodeConfig) -> int:
        """Bytes that the largest job needs."""
        return max((self._size.bytes_per_sentence(len(job.source_ids), options) for job in jobs), default=0)

    def _available(self) -> int | None:
        return available_memory() if self._network.on_cpu else None

    def _groups(self, jobs: Sequence[Job], options: DecodeConfig) -> list[Sequence[int]]:
        """The indices of jobs that are searched together.

        With a shortlist each is alone: CTranslate2 joins the lists of a batch, so the others would make a difference.
        """
        if not jobs or options.exact or options.shortlist:
            return [[n] for n in range(len(jobs))]
        lengths = [len(job.marks.source) + len(job.source_ids) + 1 for job in jobs]
        groups = balanced_groups(lengths, self.threads, min(self._thread_tokens, options.batch_tokens))
        if (available := self._available()) is None:
            return [*groups]
        most = max(1, available // (self._largest(jobs, options) * min(self.threads, len(groups))))
        return [part for group in groups for part in _parts(group, most)]

    def _differing(self, jobs: Sequence[Job], options: DecodeConfig) -> set[int]:
        """The indices of jobs that CTranslate2 would search differently from the reference.

        With a shortlist it reads the ids of a prefix as others. Where a rule masks tokens it divides the probabilities
        again, which matters to a beam only; and it ignores a hypothesis that ends right behind a prefix, unless that
        is the likeliest.
        """
        found = {n for n, job in enumerate(jobs) if options.shortlist and job.forced}
        if _is_greedy(options):
            return found
        if (options.min_length or options.no_repeat_ngram) and not isinstance(options, RetryOptions):
            return set(range(len(jobs)))
        others = [n for n, job in enumerate(jobs) if n not in found and job.forced]
        others = [n for n in others if len(jobs[n].target_prefix) < jobs[n].limit]
        for group in _parts(others, self._together(options)):
            searches = [self._stepwise(jobs[n], options) for n in group]
            decoded = self._network.decode([search.requests(0)[0] for search in searches], options.exact)
            for n, search, one in zip(group, searches, decoded, strict=True):
                search.learn(one)
                if search.ends_behind_prefix():
                    found.add(n)
        return found

    def _search_stepwise(self, jobs: Sequence[Job], options: DecodeConfig) -> list[list[Hypothesis]]:
        """The hypotheses of each job by our own search."""
        searches = [self._stepwise(job, options) for job in jobs]
        self._advance(searches, options, LOOKAHEAD)
        return [search.hypotheses() for search in searches]

    def _advance(self, searches: Sequence[SentenceSearch], options: DecodeConfig, lookahead: int) -> None:
        for group in _parts(searches, self._together(options)):
            search_stepwise(group, partial(self._network.decode, alone=options.exact), lookahead)

    def _together(self, options: DecodeConfig) -> int:
        return 1 if options.exact else STEPWISE_SENTENCES * self.threads

    def _stepwise(self, job: Job, options: DecodeConfig) -> SentenceSearch:
        candidates = None
        if options.shortlist and self.shortlist:
            candidates = np.array(sorted({*self.shortlist(job.source_ids), *job.target_prefix, EOS}))
        return SentenceSearch(job.source_ids, job.target_prefix, job.limit, options, candidates, job.marks)

    def _rescore(
        self, jobs: Sequence[Job], results: Sequence[Sequence[Result]], options: DecodeConfig
    ) -> list[list[Hypothesis]]:
        """Results as hypotheses with our scores: the best first, or in the order drawn.

        CTranslate2 reports log P of what it added to the prefix, after forbidden tokens were masked. Where that makes
        a difference, the model's own log P is computed.
        """
        differs = bool(options.method == "sample" or options.no_repeat_ngram or options.min_length)
        rescored = [
            n
            for n, job in enumerate(jobs)
            if differs or job.target_prefix or not all(result.finished for result in results[n])
        ]
        totals = iter(self._log_probs([(jobs[n], result.tokens) for n in rescored for result in results[n]], options))
        own_log_probs = {n: [next(totals) for _ in results[n]] for n in rescored}
        return [_hypotheses(own, own_log_probs.get(n), options) for n, own in enumerate(results)]

    def _log_probs(self, targets: Sequence[tuple[Job, tuple[int, ...]]], options: DecodeConfig) -> list[float]:
        """log P of each target, over the shortlist of its source if the options ask for it."""
        if options.shortlist and self.shortlist:  # a search in which every token is forced
            forced = [
                replace(self._stepwise(job, options), target_prefix=tokens, limit=len(tokens))
                for job, tokens in targets
            ]
            self._advance(forced, options, 0)
            return [search.finished[0][1] for search in forced]
        sources, tokens = [job.source_ids for job, _ in targets], [tokens for _, tokens in targets]
        marks = [job.marks for job, _ in targets]
        return [sum(row) for row in self.score(sources, tokens, marks, options.exact)]


def _refuse_missing(options: DecodeConfig, prefixed: bool) -> None:
    """Raises ConfigError for what only the torch engine has."""
    remedy = "use --engine torch, or omit it"
    if options.coverage_penalty:  # CTranslate2's own counts the padding of a batch
        raise ConfigError(f"decode.coverage_penalty: only the torch engine has it; {remedy}")
    if options.language_model:
        raise ConfigError(f"decode.language_model: only the torch engine has it; {remedy}")
    if options.method == "sample" and options.shortlist and prefixed:
        raise ConfigError(f"decode.shortlist: only the torch engine samples with it after a target prefix; {remedy}")


def _hypotheses(
    results: Sequence[Result], own_log_probs: Sequence[float] | None, options: DecodeConfig
) -> list[Hypothesis]:
    """The hypotheses of one job; `own_log_probs` replace what CTranslate2 reported."""
    log_probs = own_log_probs or [result.reported_log_prob for result in results]
    found = [
        Hypothesis(result.tokens, log_prob, log_prob / length_penalty(len(result.tokens) + 1, options.length_penalty))
        for result, log_prob in zip(results, log_probs, strict=True)
    ]
    if options.method == "beam":
        found.sort(key=lambda hypothesis: -hypothesis.score)
    return found[: options.n_best]


def _is_greedy(options: DecodeConfig) -> bool:
    """Whether a search follows one hypothesis at a time."""
    return options.method == "sample" or options.beam == 1


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
