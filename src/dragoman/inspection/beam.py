"""The tree of a beam search (section 6.1): which hypotheses there were, which were dropped when, what else was near.

The search is watched from outside: it asks a model for probabilities and tells a state which hypotheses go on, and
both are ours to listen at.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from torch import Tensor

from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble, EnsembleState
from dragoman.decode.hypothesis import Hypothesis
from dragoman.decode.search import beam_search
from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.model.transformer import Transformer
from dragoman.text.tokenizer import BOS, EOS

# Of each hypothesis so many of the likeliest extensions are told at the most: what is drawn of a wide beam is far less.
LIKELIEST = 32

Fate = Literal["kept", "finished", "chosen", "pruned"]


@dataclass(frozen=True, slots=True)
class Node:
    """A beginning of a translation that the search looked at: its parent's, and one token more."""

    parent: int
    """Its place in the tree; −1 for the begin mark."""
    step: int
    """How many tokens it has, the begin mark not counted."""
    token: int
    probability: float
    """Of the token, after its parent's."""
    log_prob: float
    """log P of the whole beginning, in nats."""
    fate: Fate
    """`chosen`: on the way to the best translation. `finished`: ends another. `kept`: went on, and was dropped later
    if it has no child that did. `pruned`: better ones took its place at once."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A search for the translation of one sentence."""

    nodes: tuple[Node, ...]
    hypotheses: tuple[Hypothesis, ...]
    """What it found, best first."""


@dataclass
class _Step:
    """What was answered at one step to each living hypothesis (a row), and how the search went on."""

    log_probs: Tensor | None
    """(R, V), until the next step."""
    likeliest: list[dict[int, float]]
    """log P of each row's likeliest tokens, and of the end mark."""
    parents: list[int] = field(default_factory=list)
    """The row that each of the next step's rows prolongs, by the token of the same number; none after the last."""
    tokens: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _State(EnsembleState):
    """A state that tells which hypotheses it is asked to go on with."""

    step: _Step

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> EnsembleState:
        """As `EnsembleState.select`."""
        self.step.parents = rows.tolist()
        return EnsembleState.select(self, rows, sentences)


class _Watched(Ensemble):
    """A model that remembers the `count` likeliest answers at each step."""

    def __init__(self, model: Transformer, count: int) -> None:
        super().__init__([model])
        self.count = count
        self.steps: list[_Step] = []

    def decode(
        self, tokens: Tensor, state: EnsembleState, projections: Sequence[Tensor], disallowed: Tensor | None = None
    ) -> tuple[Tensor, EnsembleState]:
        """As `Ensemble.decode`."""
        if self.steps:
            self._told(self.steps[-1], tokens[:, -1].tolist())
        log_probs, after = super().decode(tokens, state, projections, disallowed)
        values, columns = log_probs.topk(min(self.count, log_probs.size(1)), dim=1)
        likeliest = [
            {EOS: end} | dict(zip(*row, strict=True))
            for end, *row in zip(log_probs[:, EOS].tolist(), columns.tolist(), values.tolist(), strict=True)
        ]
        step = _Step(log_probs.clone(), likeliest)  # rules strike words out of what is returned
        self.steps.append(step)
        return log_probs, _State(after.states, step)

    def _told(self, step: _Step, tokens: list[int]) -> None:
        """The search went on from `step` with these tokens."""
        assert step.log_probs is not None
        for parent, token in zip(step.parents, tokens, strict=True):
            step.likeliest[parent][token] = float(step.log_probs[parent, token])
        step.tokens, step.log_probs = tokens, None


def grow_tree(
    model: Transformer, src: Tensor, constraints: Constraints, *, beam: int, alpha: float, beta: float = 0.0
) -> Tree:
    """Search for the translation of the one sentence of `src` (1, S), and tell how the search went.

    Beside what the search kept, the tree has the likeliest extensions of each hypothesis, 2 · `beam` or `LIKELIEST`.
    """
    watched = _Watched(model, min(2 * beam, LIKELIEST))
    found = beam_search(watched, src, constraints, beam=beam, alpha=alpha, beta=beta, vocabulary=CandidateVocabulary())[
        0
    ]
    return Tree(_nodes(watched.steps, found), tuple(found))


def _nodes(steps: Sequence[_Step], found: Sequence[Hypothesis]) -> tuple[Node, ...]:
    """The tree of these steps, in the order of the search; what fills a row and is no hypothesis is not in it."""
    finished, best = {(*hypothesis.tokens, EOS) for hypothesis in found}, (*found[0].tokens, EOS)
    nodes = [Node(-1, 0, BOS, 1.0, 0.0, "chosen")]
    said: list[tuple[int, ...]] = [()]
    rows = [0]  # the node of each living hypothesis; −1 where none is
    for number, step in enumerate(steps, 1):
        following = list(zip(step.parents, step.tokens, strict=True)) if step.tokens else []
        places: dict[tuple[int, int], int] = {}
        for row, parent in enumerate(rows):
            for token, log_prob in step.likeliest[row].items() if parent >= 0 else ():
                if log_prob == -math.inf:
                    continue
                tokens = (*said[parent], token)
                fate: Fate = "pruned"
                if tokens == best[:number]:
                    fate = "chosen"
                elif tokens in finished:
                    fate = "finished"
                elif (row, token) in following and token != EOS:  # the end mark fills a row that holds no hypothesis
                    fate = "kept"
                places[row, token] = len(nodes)
                nodes.append(Node(parent, number, token, math.exp(log_prob), nodes[parent].log_prob + log_prob, fate))
                said.append(tokens)
        rows = [-1 if way[1] == EOS else places.get(way, -1) for way in following]
    return tuple(nodes)


def thinned(nodes: Sequence[Node], most: int) -> Sequence[Node]:
    """Of a tree of more than about `most` nodes the way to every hypothesis, and of each step the best.

    What went on comes before what was pruned.
    """
    if len(nodes) <= most:
        return nodes
    chosen: set[int] = set()
    for place, node in enumerate(nodes):
        if node.fate in ("chosen", "finished"):
            while place >= 0 and place not in chosen:
                chosen.add(place)
                place = nodes[place].parent
    for _, step in groupby(range(len(nodes)), key=lambda place: nodes[place].step):
        ranked = sorted(step, key=lambda place: (nodes[place].fate == "pruned", -nodes[place].log_prob))
        chosen |= {place for place in ranked[: most // nodes[-1].step] if nodes[place].parent in chosen}
    places = {old: new for new, old in enumerate(sorted(chosen))} | {-1: -1}
    return [replace(nodes[old], parent=places[nodes[old].parent]) for old in sorted(chosen)]
