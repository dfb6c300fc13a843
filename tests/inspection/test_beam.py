"""The reported tree is the search: its scores are those of the hypotheses, and no continued prefix is missing."""

import math

import pytest
import torch

from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble
from dragoman.decode.search import beam_search
from dragoman.inspection.beam import Tree, grow_tree, thinned
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import BOS, EOS

SRC = torch.tensor([[5, 6, 7, 8, EOS]])


def prefix_at(tree: Tree, place: int) -> tuple[int, ...]:
    node = tree.nodes[place]
    return () if node.parent < 0 else (*prefix_at(tree, node.parent), node.token)


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize(
    "constraints", [Constraints([8]), Constraints([8], min_length=3, no_repeat_ngram=1), Constraints([1])], ids=str
)
def test_the_tree_holds_every_hypothesis(model: Transformer, beam: int, constraints: Constraints) -> None:
    tree = grow_tree(model, SRC, constraints, beam=beam, alpha=0.6)
    alone = beam_search(Ensemble([model]), SRC, constraints, beam=beam, alpha=0.6)[0]
    assert list(tree.hypotheses) == alone
    ends = {
        prefix_at(tree, place): node
        for place, node in enumerate(tree.nodes)
        if node.token == EOS and node.fate in ("finished", "chosen")
    }
    assert set(ends) == {(*hypothesis.tokens, EOS) for hypothesis in alone}
    for hypothesis in alone:
        assert ends[(*hypothesis.tokens, EOS)].log_prob == pytest.approx(hypothesis.log_prob, abs=1e-4)
    assert ends[(*alone[0].tokens, EOS)].fate == "chosen"


def test_every_node_follows_its_parent(model: Transformer) -> None:
    tree = grow_tree(model, SRC, Constraints([8]), beam=3, alpha=0.6)
    assert tree.nodes[0].token == BOS
    for node in tree.nodes[1:]:
        parent = tree.nodes[node.parent]
        assert node.step == parent.step + 1
        assert parent.fate in ("kept", "chosen")
        assert node.log_prob == pytest.approx(parent.log_prob + math.log(node.probability), abs=1e-5)
    kept = [node for node in tree.nodes if node.fate in ("kept", "chosen") and node.token != EOS]
    assert max(sum(node.step == step for node in kept) for step in range(1, 9)) == 3


def test_probabilities_of_a_parents_children_are_the_models(model: Transformer) -> None:
    tree = grow_tree(model, SRC, Constraints([8]), beam=13, alpha=0.6)  # all 13 words of the vocabulary are shown
    for place, node in enumerate(tree.nodes):
        children = [child.probability for child in tree.nodes if child.parent == place]
        if node.fate == "kept" and children:
            assert sum(children) == pytest.approx(1.0, abs=1e-5)


def test_of_a_wide_beam_the_page_has_the_best_and_every_way_to_a_hypothesis(model: Transformer) -> None:
    tree = grow_tree(model, SRC, Constraints([8]), beam=12, alpha=0.6)
    assert thinned(tree.nodes, 10_000) is tree.nodes
    fewer = Tree(tuple(thinned(tree.nodes, 60)), tree.hypotheses)
    assert len(fewer.nodes) < len(tree.nodes)
    texts = {prefix_at(tree, place): node.log_prob for place, node in enumerate(tree.nodes)}
    for place, node in enumerate(fewer.nodes):
        assert node.parent < place
        assert texts[prefix_at(fewer, place)] == node.log_prob
    ends = {prefix_at(fewer, place) for place, node in enumerate(fewer.nodes) if node.fate in ("finished", "chosen")}
    assert {(*hypothesis.tokens, EOS) for hypothesis in tree.hypotheses} <= ends
