"""The fast engine: CTranslate2 on a network that `dragoman.exporting` converted.

It is called so that hypotheses have the model's own log P and our scores, nothing is cut, and a sentence's length limit
is its own, whatever else is in the batch. Without rules it finds what our own search finds; under rules CTranslate2's
search differs from the reference's (`docs/decisions/0019-parity.md`). With `exact`, `engine.stepwise` searches there
and CTranslate2 only computes.
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
from dragoman.engine.resources import SearchSize, batch_tokens, hypotheses, refuse_beyond_memory, refuse_fork
from dragoman.engine.stepwise import SentenceSearch, search_stepwise
from dragoman.errors import ConfigError
from dragoman.system.machine import available_memory, usable_processors
from dragoman.text.tokens.tokenizer import EOS, Tokenizer

T = TypeVar("T")

# Tokens of a batch that is scored: what fits in a small machine's memory with the largest vocabulary.
SCORED_TOKENS = 2048
# Each pair by itself: its last bits do not depend on what else is scored.
ALONE = {"max_batch_size": 1, "batch_type": "examples"}
# Translations that each thread scores together over their shortlists.
FORCED_SENTENCES = 16
# Tokens that a stepwise search decodes ahead of a hypothesis.
LOOKAHEAD = 6
# Tokens that a thread searches at a time: enough that its products are large and that weights too big for any cache
# are read for several sentences, but few otherwise. A batch is never divided among threads: they would wait for each
# other at every small product (`docs/log.md`, 2026-11-21).
THREAD_TOKENS = {"int8": 192, "float32": 320}
THREAD_TOKENS_OF_LARGE, LARGE = 1024, 64 << 20
# A sentence whose limit is no farther beyond its likely length is searched up to exactly there.
MARGIN = 10
# log P below which CTranslate2 says that a hypothesis is none.
IMPOSSIBLE = -1e9

# Bytes that are there wherever a model was loaded. To ask how many are free takes a tenth of a millisecond.
NEEDS_NO_QUESTION = 1 << 24


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
        needed = self._largest(queries, options)
        refuse_beyond_memory(needed, self._available(needed), f"a sentence with {hypotheses(options):,} hypotheses")
        numbered = dict(enumerate(queries))
        if options.exact:
            ranked = self._search_exactly(numbered, options)
        else:
            misread = {n: query for n, query in numbered.items() if options.shortlist and forced_tokens(query)}
            ranked = self._search({n: query for n, query in numbered.items() if n not in misread}, options)
            if misread:
                ranked |= self._search(misread, options.model_copy(update={"shortlist": False}))
        return [ranked[n] for n in numbered]

    def price(self, options: DecodeConfig) -> str | None:
        """What the reference's search costs where most sentences take it, in a line for a person; otherwise None."""
        rules = [key for key in ("min_length", "no_repeat_ngram", "max_length") if getattr(options, key)]
        rules += ["extra_length"] if options.extra_length < MARGIN else []
        if not (options.exact and rules) or options.method != "beam" or options.beam == 1:
            return None
        cost = "CTranslate2 with the reference's search takes 10 to 20 times as long as with its own"
        return f"decode.exact with decode.{rules[0]}: {cost}; leave decode.exact out if both need not find the same"

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        """log P of each token of each target, and of EOS: `Engine.score`."""
        refuse_fork(self._process)
        tokens = min(SCORED_TOKENS, self._thread_tokens)
        batches = ALONE if alone else {"max_batch_size": tokens, "batch_type": "tokens"}
        return self._network.score(queries, targets, batches) if queries else []

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        """`Engine.attention`; None for an export of an earlier version, which has another layer's."""
        if not self._network.averages_heads:
            return None
        refuse_fork(self._process)
        return self._network.attention(queries, targets)

    def _search(self, queries: Mapping[int, Query], options: DecodeConfig) -> dict[int, list[Hypothesis]]:
        """The hypotheses of each query by CTranslate2's search under its own rules.

        Those likely to be long enough by themselves are searched without `min_length` first: then log P is the model's.
        """
        ranked: dict[int, list[Hypothesis]] = {}
        if options.min_length and not options.no_repeat_ngram and options.method == "beam":
            long = {n: query for n, query in queries.items() if len(query.source) >= 2 * options.min_length}
            free = self._search(long, options.model_copy(update={"min_length": 0}))
            ranked = {n: best for n, best in free.items() if min(len(h.tokens) for h in best) >= options.min_length}
            queries = {n: query for n, query in queries.items() if n not in ranked}
        near = {n: query for n, query in queries.items() if is_near_limit(query, options)}
        far = {n: query for n, query in queries.items() if n not in near}
        results = self._results(far, options)
        near |= {n: query for n, query in far.items() if _is_at_limit(query, results[n], options)}
        results |= self._results(near, options, to_limit=True)
        return ranked | self._rank(queries, results, options)

    def _search_exactly(self, queries: Mapping[int, Query], options: DecodeConfig) -> dict[int, list[Hypothesis]]:
        """The hypotheses that the reference finds: by our own search where CTranslate2's is another."""
        stepwise = self._differing(queries, options)
        results = self._results({n: query for n, query in queries.items() if n not in stepwise}, options)
        direct = {n: queries[n] for n in results if not _is_at_limit(queries[n], results[n], options)}
        ranked = self._rank(direct, results, options)
        return {n: ranked.get(n) or self._search_stepwise(query, options) for n, query in queries.items()}

    def _results(
        self, queries: Mapping[int, Query], options: DecodeConfig, to_limit: bool = False
    ) -> dict[int, list[Result]]:
        """CTranslate2's results for each query; `to_limit`: of searches that end exactly at their limits.

        Those that would make a difference to each other are searched apart: where one of a batch has a prefix,
        CTranslate2 ignores an early end of the others, and it has one limit for all.
        """
        if not queries:
            return {}
        kinds: dict[tuple[int, bool, int], list[int]] = {}
        for n, query in queries.items():
            limit = _limit(query, options) if to_limit else 0
            kinds.setdefault((len(query.marks.target), bool(query.prefix), limit), []).append(n)
        groups = [
            [part[n] for n in group]
            for _, part in sorted(kinds.items())
            for group in self._groups([queries[n] for n in part], options)
        ]
        # A search that reaches the limit of its sentence, and has one token more, shows in its results.
        lengths = [max(_limit(queries[n], options) for n in group) + (not to_limit) for group in groups]
        searched = self._network.search([[queries[n] for n in group] for group in groups], lengths, options)
        return {
            n: _possible(results, _limit(queries[n], options))
            for group, of_group in zip(groups, searched, strict=True)
            for n, results in zip(group, of_group, strict=True)
        }

    def _largest(self, queries: Sequence[Query], options: DecodeConfig) -> int:
        """Bytes that the largest query needs."""
        longest = max((len(query.source) for query in queries), default=None)
        return 0 if longest is None else self._size.bytes_per_sentence(longest, options)

    def _available(self, needed: int) -> int | None:
        """Bytes that are free; None where they are unknown, or so few are `needed` that it need not be asked."""
        return available_memory() if self._network.on_cpu and needed >= NEEDS_NO_QUESTION else None

    def _groups(self, queries: Sequence[Query], options: DecodeConfig) -> list[Sequence[int]]:
        """The indices of queries that are searched together.

        With a shortlist each is alone: CTranslate2 joins the lists of a batch, so the others would make a difference.
        """
        if len(queries) < 2 or options.exact or options.shortlist:
            return [[n] for n in range(len(queries))]
        lengths = [len(query.marks.source) + len(query.source) + 1 for query in queries]
        groups = balanced_groups(lengths, self.threads, min(self._thread_tokens, batch_tokens(options)))
        largest = self._largest(queries, options)
        if (available := self._available(largest * len(queries))) is None:
            return [*groups]
        most = max(1, available // (largest * min(self.threads, len(groups))))
        return [part for group in groups for part in _parts(group, most)]

    def _differing(self, queries: Mapping[int, Query], options: DecodeConfig) -> set[int]:
        """The queries that CTranslate2 searches differently from the reference.

        With a shortlist it reads the ids of a prefix as others. Where a rule masks tokens it divides the probabilities
        again, which matters to a beam only; and it ignores a hypothesis that ends right behind a prefix, unless that
        is the likeliest.
        """
        if (options.min_length or options.no_repeat_ngram) and not _is_greedy(options):
            return {*queries}
        forced = {n for n, query in queries.items() if forced_tokens(query)}
        if options.shortlist or _is_greedy(options):
            return forced if options.shortlist else set()
        return {n for n in forced if self._ends_behind_prefix(self._stepwise(queries[n], options))}

    def _ends_behind_prefix(self, search: SentenceSearch) -> bool:
        [decoded] = self._network.decode(search.continuations(0), alone=True)
        search.learn(decoded)
        return search.ends_behind_prefix()

    def _search_stepwise(self, query: Query, options: DecodeConfig) -> list[Hypothesis]:
        """The hypotheses of a query by our own search."""
        search = self._stepwise(query, options)
        search_stepwise(search, partial(self._network.decode, alone=True), LOOKAHEAD)
        return search.hypotheses()

    def _stepwise(self, query: Query, options: DecodeConfig) -> SentenceSearch:
        candidates = None
        if options.shortlist and self.shortlist:
            candidates = np.array(sorted({*self.shortlist(query.source), *query.prefix, EOS}))
        return SentenceSearch(query, _limit(query, options), options, candidates)

    def _rank(
        self, queries: Mapping[int, Query], results: Mapping[int, Sequence[Result]], options: DecodeConfig
    ) -> dict[int, list[Hypothesis]]:
        """The `n_best` hypotheses of each query with the model's own log P: the best first, or in the order drawn.

        What CTranslate2 reports is another where forbidden tokens were masked, or the limit cut off the EOS. Those are
        scored: of a beam all if `exact`, otherwise the best by what is reported.
        """
        whole = self._with_prefixes(queries, results, options)
        chosen = {n: whole[n] if options.exact else _best(whole[n], options) for n in queries}
        places = [(n, k) for n in queries for k, result in enumerate(chosen[n]) if not _is_own(result, options)]
        targets = [(queries[n], _target(chosen[n][k][0])) for n, k in places]
        for (n, k), log_prob in zip(places, self._log_probs(targets, options), strict=True):
            chosen[n][k] = chosen[n][k][0], log_prob
        return {n: [_hypothesis(result, options) for result in _best(chosen[n], options)] for n in queries}

    def _with_prefixes(
        self, queries: Mapping[int, Query], results: Mapping[int, Sequence[Result]], options: DecodeConfig
    ) -> dict[int, list[Result]]:
        """The results with log P of their prefixes, which CTranslate2 leaves out."""
        prefixed = [query for query in queries.values() if query.prefix]
        rows = self.score(prefixed, [query.prefix for query in prefixed], options.exact)
        log_probs = iter(sum(row[:-1]) for row in rows)
        whole = {}
        for n, query in queries.items():
            of_prefix = next(log_probs) if query.prefix else 0.0
            whole[n] = [(tokens, of_prefix + log_prob) for tokens, log_prob in results[n]]
        return whole

    def _log_probs(self, targets: Sequence[tuple[Query, tuple[int, ...]]], options: DecodeConfig) -> list[float]:
        """log P of each target, over the shortlist of its source if the options ask for it."""
        if not targets:
            return []
        if not (options.shortlist and self.shortlist):
            rows = self.score([query for query, _ in targets], [tokens for _, tokens in targets], options.exact)
            return [sum(row) for row in rows]
        log_probs = []
        for part in _parts(targets, 1 if options.exact else FORCED_SENTENCES * self.threads):
            forced = [self._stepwise(replace(query, prefix=tokens), options) for query, tokens in part]
            wanted = [continuation for search in forced for continuation in search.continuations(0)]
            decoded = self._network.decode(wanted, alone=options.exact)
            log_probs += [search.log_prob(decoding) for search, decoding in zip(forced, decoded, strict=True)]
        return log_probs


def _limit(query: Query, options: DecodeConfig) -> int:
    """The most tokens of a translation; a prefix is never cut."""
    return max(options.limit(len(query.source)), len(query.prefix))


def is_near_limit(query: Query, options: DecodeConfig) -> bool:
    """Whether a beam search will often reach the limit of its sentence: it is searched to there at once."""
    usual = max(len(query.source), options.min_length, len(query.prefix))
    return not _is_greedy(options) and _limit(query, options) < usual + MARGIN


def _is_at_limit(query: Query, results: Sequence[Result], options: DecodeConfig) -> bool:
    """Whether a result of a beam search has reached its limit, so that others may have been lost to longer ones."""
    limit = _limit(query, options)
    return not _is_greedy(options) and any(len(_target(tokens)) >= limit for tokens, _ in results)


def _target(tokens: tuple[int, ...]) -> tuple[int, ...]:
    """The tokens of a result without EOS."""
    return tokens[:-1] if tokens[-1:] == (EOS,) else tokens


def _possible(results: Sequence[Result], limit: int) -> list[Result]:
    """Results up to the limit of their own sentence, without those that CTranslate2 only fills a beam with."""
    cut = [(tokens if len(_target(tokens)) <= limit else tokens[:limit], log_prob) for tokens, log_prob in results]
    return [result for result in cut if result[1] > IMPOSSIBLE] or cut[:1]


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


def _is_own(result: Result, options: DecodeConfig) -> bool:
    """Whether log P of a result, as CTranslate2 reports it, is the model's own: no token of it had a rival masked."""
    tokens, _ = result
    if options.method == "sample" or options.min_length or tokens[-1:] != (EOS,):
        return False
    if not options.no_repeat_ngram:
        return True
    size = options.no_repeat_ngram - 1  # the last `size` tokens, seen before, are what forbids the next
    seen = [tokens[start : start + size] for start in range(len(tokens) - size)]
    return len({*seen}) == len(seen)


def _best(results: Sequence[Result], options: DecodeConfig) -> list[Result]:
    """The `n_best` results, the best by score first; samples are in the order drawn."""
    if options.method == "beam":
        results = sorted(results, key=lambda result: -_hypothesis(result, options).score)
    return [*results[: options.n_best]]


def _hypothesis(result: Result, options: DecodeConfig) -> Hypothesis:
    tokens, log_prob = result
    target = _target(tokens)
    return Hypothesis(target, log_prob, log_prob / length_penalty(len(target) + 1, options.length_penalty))


def _is_greedy(options: DecodeConfig) -> bool:
    """Whether a search follows one hypothesis at a time."""
    return options.method == "sample" or options.beam == 1


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
