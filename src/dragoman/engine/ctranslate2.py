"""The fast engine: CTranslate2 on a network that `dragoman.exporting` converted.

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
from dragoman.config.sections.base import INT32_MAX
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.engine import Attention, Ids, Query
from dragoman.engine.network import Network, Result, forced_tokens
from dragoman.engine.resources import SearchSize, hypotheses, refuse_beyond_memory, refuse_fork
from dragoman.engine.stepwise import SentenceSearch, search_stepwise
from dragoman.errors import ConfigError
from dragoman.system.machine import available_memory, usable_processors
from dragoman.text.tokens.tokenizer import EOS, Tokenizer

T = TypeVar("T")

# Tokens of a batch that is scored: what fits in a small machine's memory with the largest vocabulary.
SCORED_TOKENS = 2048
# Each pair by itself: its last bits do not depend on what else is scored.
ALONE = {"max_batch_size": 1, "batch_type": "examples"}
# A stepwise search: the sentences that each thread searches together, and the tokens decoded ahead of a hypothesis.
STEPWISE_SENTENCES, LOOKAHEAD = 16, 6
# Tokens that a thread searches at a time: enough that its products are large and that weights too big for any cache
# are read for several sentences, but few otherwise. A batch is never divided among threads: they would wait for each
# other at every small product (`docs/log.md`, 2026-11-21).
THREAD_TOKENS = {"int8": 192, "float32": 320}
THREAD_TOKENS_OF_LARGE, LARGE = 1024, 64 << 20
# A translation longer than its source by as many tokens runs away: it is a fault, and retried.
RUNAWAY = 50
# Sums of float32 in another order differ by less than this, in nats.
MARGIN = 1e-3


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
        """An engine of this network for a service: a call takes one thread, and as many run at a time as it has."""
        other = copy(self)
        other.threads = 1
        return other

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        """Hypotheses as `Engine.translate` returns them. Samples depend on the seed and on all queries of the call."""
        _refuse_missing(options, any(map(forced_tokens, queries)))
        refuse_fork(self._process)
        refuse_beyond_memory(
            self._largest(queries, options), self._available(), f"a sentence with {hypotheses(options):,} hypotheses"
        )
        stepwise = self._differing(queries, options)
        direct = [n for n in range(len(queries)) if n not in stepwise]
        results = dict(zip(direct, self._search([queries[n] for n in direct], options), strict=True))
        at_limit = {n: queries[n] for n in direct if _is_at_limit(queries[n], results[n], options)}
        settled = self._search_to_limit(at_limit, options) if at_limit else {}
        stepwise |= at_limit.keys() - settled.keys()
        direct = [n for n in direct if n not in at_limit]
        cut = [[_cut(result, _limit(queries[n], options)) for result in results[n]] for n in direct]
        ranked = dict(zip(direct, self._rescore([queries[n] for n in direct], cut, options), strict=True)) | settled
        if ours := sorted(stepwise):
            ranked.update(zip(ours, self._search_stepwise([queries[n] for n in ours], options), strict=True))
        return [ranked[n] for n in range(len(queries))]

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        """log P of each token of each target, and of EOS: `Engine.score`."""
        refuse_fork(self._process)
        batches = ALONE if alone else {"max_batch_size": SCORED_TOKENS, "batch_type": "tokens"}
        return self._network.score(queries, targets, batches) if queries else []

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        """`Engine.attention`; None for an export of an earlier version, which has another layer's."""
        if not self._network.averages_heads:
            return None
        refuse_fork(self._process)
        return self._network.attention(queries, targets)

    def _search(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Result]]:
        """CTranslate2's results for each query.

        Where one of a batch has a prefix, CTranslate2 ignores an early end of the others: they are searched apart.
        """
        kinds = [(len(query.marks.target), bool(query.prefix)) for query in queries]
        parts = [[n for n, other in enumerate(kinds) if other == kind] for kind in dict.fromkeys(sorted(kinds))]
        groups = [
            [part[n] for n in group] for part in parts for group in self._groups([queries[n] for n in part], options)
        ]
        # A search that reaches the limit of its sentence, and has one token more, shows in its results.
        lengths = [max(_limit(queries[n], options) for n in group) + 1 for group in groups]
        return self._in_order(groups, queries, lengths, options)

    def _in_order(
        self, groups: Sequence[Sequence[int]], queries: Sequence[Query], lengths: Sequence[int], options: DecodeConfig
    ) -> list[list[Result]]:
        """The results of each query, by searches of groups of their indices."""
        searched = self._network.search([[queries[n] for n in group] for group in groups], lengths, options)
        results: dict[int, list[Result]] = {}
        for group, of_group in zip(groups, searched, strict=True):
            results.update(zip(group, of_group, strict=True))
        return [results[n] for n in range(len(queries))]

    def _search_to_limit(self, at_limit: Mapping[int, Query], options: DecodeConfig) -> dict[int, list[Hypothesis]]:
        """The hypotheses of those of these queries whose best no search would find others than, see `are_settled`."""
        settled: dict[int, list[Hypothesis]] = {}
        for limit in {_limit(query, options) for query in at_limit.values()}:
            same = [n for n, query in at_limit.items() if _limit(query, options) == limit and not forced_tokens(query)]
            queries = [at_limit[n] for n in same]
            groups = self._groups(queries, options)
            results = self._in_order(groups, queries, [limit] * len(groups), options)
            settled |= {
                n: best
                for n, best, of_query in zip(same, self._rescore(queries, results, options), results, strict=True)
                if are_settled(best, of_query, len(at_limit[n].source), limit, options)
            }
        return settled

    def _largest(self, queries: Sequence[Query], options: DecodeConfig) -> int:
        """Bytes that the largest query needs."""
        longest = max((len(query.source) for query in queries), default=None)
        return 0 if longest is None else self._size.bytes_per_sentence(longest, options)

    def _available(self) -> int | None:
        return available_memory() if self._network.on_cpu else None

    def _groups(self, queries: Sequence[Query], options: DecodeConfig) -> list[Sequence[int]]:
        """The indices of queries that are searched together.

        With a shortlist each is alone: CTranslate2 joins the lists of a batch, so the others would make a difference.
        """
        if len(queries) < 2 or options.exact or options.shortlist:
            return [[n] for n in range(len(queries))]
        lengths = [len(query.marks.source) + len(query.source) + 1 for query in queries]
        groups = balanced_groups(lengths, self.threads, min(self._thread_tokens, options.batch_tokens))
        if (available := self._available()) is None:
            return [*groups]
        most = max(1, available // (self._largest(queries, options) * min(self.threads, len(groups))))
        return [part for group in groups for part in _parts(group, most)]

    def _differing(self, queries: Sequence[Query], options: DecodeConfig) -> set[int]:
        """The indices of queries that CTranslate2 would search differently from the reference.

        With a shortlist it reads the ids of a prefix as others. Where a rule masks tokens it divides the probabilities
        again, which matters to a beam only; and it ignores a hypothesis that ends right behind a prefix, unless that
        is the likeliest.
        """
        differing = {n for n, query in enumerate(queries) if options.shortlist and forced_tokens(query)}
        if _is_greedy(options):
            return differing
        if options.min_length or options.no_repeat_ngram:
            differing |= {n for n, query in enumerate(queries) if not query.best_effort}
        others = [
            n
            for n, query in enumerate(queries)
            if n not in differing and forced_tokens(query) and len(query.prefix) < _limit(query, options)
        ]
        for group in _parts(others, self._together(options)):
            searches = [self._stepwise(queries[n], options) for n in group]
            decoded = self._network.decode([search.continuations(0)[0] for search in searches], options.exact)
            for n, search, decoding in zip(group, searches, decoded, strict=True):
                search.learn(decoding)
                if search.ends_behind_prefix():
                    differing.add(n)
        return differing

    def _search_stepwise(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        """The hypotheses of each query by our own search."""
        searches = [self._stepwise(query, options) for query in queries]
        self._advance(searches, options, LOOKAHEAD)
        return [search.hypotheses() for search in searches]

    def _advance(self, searches: Sequence[SentenceSearch], options: DecodeConfig, lookahead: int) -> None:
        for group in _parts(searches, self._together(options)):
            search_stepwise(group, partial(self._network.decode, alone=options.exact), lookahead)

    def _together(self, options: DecodeConfig) -> int:
        return 1 if options.exact else STEPWISE_SENTENCES * self.threads

    def _stepwise(self, query: Query, options: DecodeConfig) -> SentenceSearch:
        candidates = None
        if options.shortlist and self.shortlist:
            candidates = np.array(sorted({*self.shortlist(query.source), *query.prefix, EOS}))
        return SentenceSearch(query, _limit(query, options), options, candidates)

    def _rescore(
        self, queries: Sequence[Query], results: Sequence[Sequence[Result]], options: DecodeConfig
    ) -> list[list[Hypothesis]]:
        """Results as hypotheses with our scores: the best first, or in the order drawn.

        CTranslate2 reports log P of what it added to the prefix, after forbidden tokens were masked. Where that makes
        a difference, the model's own log P is computed.
        """
        differs = bool(options.method == "sample" or options.no_repeat_ngram or options.min_length)
        rescored = [
            n
            for n, query in enumerate(queries)
            if differs or query.prefix or not all(tokens[-1:] == (EOS,) for tokens, _ in results[n])
        ]
        targets = [(queries[n], _target(tokens)) for n in rescored for tokens, _ in results[n]]
        totals = iter(self._log_probs(targets, options) if targets else ())
        model_log_probs = {n: [next(totals) for _ in results[n]] for n in rescored}
        return [_hypotheses(of_query, model_log_probs.get(n), options) for n, of_query in enumerate(results)]

    def _log_probs(self, targets: Sequence[tuple[Query, tuple[int, ...]]], options: DecodeConfig) -> list[float]:
        """log P of each target, over the shortlist of its source if the options ask for it."""
        if options.shortlist and self.shortlist:  # a search in which every token is forced
            forced = [
                replace(self._stepwise(query, options), query=replace(query, prefix=tokens), limit=len(tokens))
                for query, tokens in targets
            ]
            self._advance(forced, options, 0)
            return [search.finished[0][1] for search in forced]
        rows = self.score([query for query, _ in targets], [tokens for _, tokens in targets], options.exact)
        return [sum(row) for row in rows]


def _limit(query: Query, options: DecodeConfig) -> int:
    """The most tokens of a translation; a prefix is never cut."""
    return max(options.limit(len(query.source)), len(query.prefix))


def _target(tokens: tuple[int, ...]) -> tuple[int, ...]:
    """The tokens of a result without EOS."""
    return tokens[:-1] if tokens[-1:] == (EOS,) else tokens


def _cut(result: Result, limit: int) -> Result:
    """The result up to the limit of its own sentence, where a longer one of the batch had more."""
    tokens, log_prob = result
    return result if len(_target(tokens)) <= limit else (tokens[:limit], log_prob)


def _is_at_limit(query: Query, results: Sequence[Result], options: DecodeConfig) -> bool:
    """Whether a result reaches the limit of a beam search: ours ends all hypotheses there, not only these."""
    if query.best_effort or _is_greedy(options):
        return False
    limit = _limit(query, options)
    return any(len(_target(tokens)) >= limit for tokens, _ in results)


def are_settled(
    best: Sequence[Hypothesis], results: Sequence[Result], source_length: int, limit: int, options: DecodeConfig
) -> bool:
    """Whether no missing hypothesis can be one of the `best`, or take a place among the `beam` likeliest from one.

    At the limit the reference ends every unfinished hypothesis with EOS. CTranslate2 returns the `beam` likeliest of
    the finished and the unfinished ones, so some may be missing, but none is likelier than any that it returns.

    `results` are those of a search up to `limit` tokens, and `best` the hypotheses with the highest scores among them,
    each ended with EOS. If all of them run away, they are taken as they are: only another that runs away is better.
    """
    if limit >= source_length + RUNAWAY and not any(tokens[-1:] == (EOS,) for tokens, _ in results):
        return True
    least = min(log_prob for _, log_prob in results) + MARGIN  # of the likeliest that may be missing
    score = least / length_penalty(limit + 1, options.length_penalty) + MARGIN
    return all(hypothesis.log_prob > least and hypothesis.score > score for hypothesis in best)


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


def thread_tokens(folder: Path, device: str, compute_type: str) -> int:
    """Tokens that a thread searches at a time with the network in `folder`."""
    if device.startswith("cuda"):
        return INT32_MAX
    if (folder / "model.bin").stat().st_size > LARGE:
        return THREAD_TOKENS_OF_LARGE
    return THREAD_TOKENS["int8" if compute_type.startswith("int8") else "float32"]


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
    results: Sequence[Result], model_log_probs: Sequence[float] | None, options: DecodeConfig
) -> list[Hypothesis]:
    """The hypotheses of one query; `model_log_probs` replace what CTranslate2 reported."""
    log_probs = model_log_probs or [log_prob for _, log_prob in results]
    scored = []
    for (tokens, _), log_prob in zip(results, log_probs, strict=True):
        target = _target(tokens)
        score = log_prob / length_penalty(len(target) + 1, options.length_penalty)
        scored.append(Hypothesis(target, log_prob, score))
    if options.method == "beam":
        scored.sort(key=lambda hypothesis: -hypothesis.score)
    return scored[: options.n_best]


def _is_greedy(options: DecodeConfig) -> bool:
    """Whether a search follows one hypothesis at a time."""
    return options.method == "sample" or options.beam == 1


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
