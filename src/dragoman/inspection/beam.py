"""The tree of a beam search (section 6.1): its hypotheses, when each was pruned, and the likeliest alternatives.

The search is recorded from outside: it calls a model for log-probabilities and a state's `select` for the hypotheses
that continue, and both are wrapped here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from torch import Tensor

from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble, EnsembleState, Projection
from dragoman.decode.hypothesis import Hypothesis
from dragoman.decode.search import beam_search
from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import BOS, EOS

# The most extensions recorded for each hypothesis: the page draws far fewer of a wide beam.
MAX_EXTENSIONS = 32

Fate = Literal["kept", "finished", "chosen", "pruned"]


@dataclass(frozen=True, slots=True)
class SearchNode:
    """A prefix of a translation that the search considered: its parent's prefix and one more token."""

    parent: int
    """The index of the parent in the tree; −1 for BOS."""
    step: int
    """The number of tokens of the prefix, BOS not counted."""
    token: int
    probability: float
    """P(token | the parent's prefix)."""
    log_prob: float
    """log P of the whole prefix, in nats."""
    fate: Fate
    """`chosen`: a prefix of the best translation. `finished`: the end of another hypothesis. `kept`: continued at the
    next step, and pruned later if no child continued. `pruned`: not among the best at this step."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A search for the translation of one sentence."""

    nodes: tuple[SearchNode, ...]
    hypotheses: tuple[Hypothesis, ...]
    """Best first."""


@dataclass
class _SearchStep:
    """The log-probabilities at one step for each active hypothesis (a row), and how the search continued."""

    log_probs: Tensor | None
    """(R, V); dropped at the next step."""
    likeliest: list[dict[int, float]]
    """log P of each row's likeliest tokens, and of EOS."""
    parents: list[int] = field(default_factory=list)
    """For each row of the next step, the row it extends; the token at the same index extends it. Empty at the end."""
    tokens: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _RecordedState(EnsembleState):
    """A state that records which hypotheses `select` continues."""

    step: _SearchStep

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> EnsembleState:
        self.step.parents = rows.tolist()
        return EnsembleState.select(self, rows, sentences)


class _RecordedEnsemble(Ensemble):
    """A model that records the `count` likeliest tokens at each step."""

    def __init__(self, model: Transformer, count: int) -> None:
        super().__init__([model])
        self.count = count
        self.steps: list[_SearchStep] = []

    def decode(
        self, tokens: Tensor, state: EnsembleState, projections: Sequence[Projection], disallowed: Tensor | None = None
    ) -> tuple[Tensor, EnsembleState]:
        if self.steps:  # the search continued from the last one with these tokens
            last = self.steps[-1]
            last.tokens = tokens[:, -1].tolist()
            assert last.log_probs is not None
            for parent, token in zip(last.parents, last.tokens, strict=True):
                last.likeliest[parent][token] = float(last.log_probs[parent, token])
            last.log_probs = None
        log_probs, after = super().decode(tokens, state, projections, disallowed)
        values, columns = log_probs.topk(min(self.count, log_probs.size(1)), dim=1)
        likeliest = [
            {EOS: end} | dict(zip(*row, strict=True))
            for end, *row in zip(log_probs[:, EOS].tolist(), columns.tolist(), values.tolist(), strict=True)
        ]
        step = _SearchStep(log_probs.clone(), likeliest)  # constraints mask what is returned in place
        self.steps.append(step)
        return log_probs, _RecordedState(after.states, step)


def grow_tree(
    model: Transformer,
    src: Tensor,
    constraints: Constraints,
    *,
    beam: int,
    alpha: float,
    beta: float = 0.0,
    start: Tensor | None = None,
) -> Tree:
    """Search for the translation of the one sentence of `src` (1, S), and record the tree of the search.

    Besides what the search kept, the tree has the likeliest extensions of each hypothesis: 2 · `beam` of them, at most
    `MAX_EXTENSIONS`. `start` is that of `beam_search`.
    """
    ensemble, vocabulary = _RecordedEnsemble(model, min(2 * beam, MAX_EXTENSIONS)), CandidateVocabulary()
    [hypotheses] = beam_search(
        ensemble, src, constraints, beam=beam, alpha=alpha, beta=beta, vocabulary=vocabulary, start=start
    )
    return Tree(_nodes(ensemble.steps, hypotheses), tuple(hypotheses))


def _nodes(steps: Sequence[_SearchStep], hypotheses: Sequence[Hypothesis]) -> tuple[SearchNode, ...]:
    """The tree of these steps, in the order of the search; rows without a hypothesis are left out."""
    finished, best = {(*hypothesis.tokens, EOS) for hypothesis in hypotheses}, (*hypotheses[0].tokens, EOS)
    nodes = [SearchNode(-1, 0, BOS, 1.0, 0.0, "chosen")]
    prefixes: list[tuple[int, ...]] = [()]
    rows = [0]  # the node of each active hypothesis; −1 for a row without one
    for number, step in enumerate(steps, 1):
        continued = list(zip(step.parents, step.tokens, strict=True)) if step.tokens else []
        indices: dict[tuple[int, int], int] = {}
        for row, parent in enumerate(rows):
            for token, log_prob in step.likeliest[row].items() if parent >= 0 else ():
                if log_prob == -math.inf:
                    continue
                tokens = (*prefixes[parent], token)
                fate: Fate = "pruned"
                if tokens == best[:number]:
                    fate = "chosen"
                elif tokens in finished:
                    fate = "finished"
                elif (row, token) in continued and token != EOS:  # EOS fills a row without a hypothesis
                    fate = "kept"
                indices[row, token] = len(nodes)
                nodes.append(
                    SearchNode(parent, number, token, math.exp(log_prob), nodes[parent].log_prob + log_prob, fate)
                )
                prefixes.append(tokens)
        rows = [-1 if extension[1] == EOS else indices.get(extension, -1) for extension in continued]
    return tuple(nodes)


def thinned(nodes: Sequence[SearchNode], limit: int) -> Sequence[SearchNode]:
    """About `limit` nodes of a larger tree: the path to every hypothesis, and the best nodes of each step.

    At each step, continued nodes come before pruned ones.
    """
    if len(nodes) <= limit:
        return nodes
    chosen: set[int] = set()
    for index, node in enumerate(nodes):
        if node.fate in ("chosen", "finished"):
            while index >= 0 and index not in chosen:
                chosen.add(index)
                index = nodes[index].parent
    for _, step in groupby(range(len(nodes)), key=lambda index: nodes[index].step):
        ranked = sorted(step, key=lambda index: (nodes[index].fate == "pruned", -nodes[index].log_prob))
        chosen |= {index for index in ranked[: limit // nodes[-1].step] if nodes[index].parent in chosen}
    new_index = {old: new for new, old in enumerate(sorted(chosen))} | {-1: -1}
    return [replace(nodes[old], parent=new_index[nodes[old].parent]) for old in sorted(chosen)]
