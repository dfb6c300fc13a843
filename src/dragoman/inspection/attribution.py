"""How much each source token contributes to each target token, by three methods that can disagree.

    attention            where a head looks (section 3.2.3)
    erasure              how much log P of the target token falls without the source token (Li et al. 2016)
    gradient × input     Σ_d |x_d · ∂ log P / ∂x_d| over the source token's embedding x (Denil et al. 2014)

Input: an `Inspection`. Output: an `Attribution` with one (T, S) matrix per method, target tokens by source tokens, EOS
last on both sides. Attention need not be what decides (Jain and Wallace 2019), so the agreement of the methods is
measured too.
"""

from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor, nn

from dragoman.decode.hypothesis import FORBIDDEN_IDS
from dragoman.decode.scoring import log_probabilities
from dragoman.inspection.heads import HeadRole, roles, strongest
from dragoman.inspection.inspection import Inspection
from dragoman.model.parts.attention import padding_mask
from dragoman.text.tokens.tokenizer import BOS, PAD

# Source and target positions of all rows in one pass: at most half a gigabyte for paper-base, gradients included.
POSITIONS_PER_PASS = 512
# Positions that erasure, or the gradients, may pass through the model in total: reached at 63 tokens per side. A pair
# of 20 and 20 tokens needs 800, which take a base model 1.3 seconds on one core.
MAX_POSITIONS = 8000


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two methods agree on a sentence, EOS of both sides left out."""

    top: float
    """The share of target tokens for which both methods name the same strongest source token."""
    spearman: float | None
    """Spearman's rank correlation over the source tokens, averaged over the target tokens; None with one source
    token."""


@dataclass(frozen=True)
class Attribution:
    """The contribution of each source token to each target token."""

    where: str
    """The attention with the head that aligns best, as `decoder.5.cross_attention`: see `attribute`."""
    head: int
    attention: Tensor
    """(T, S): the weights of that head."""
    links: tuple[tuple[int, int], ...]
    """(output, source) positions: for each target token except EOS, the source token with the most weight."""
    erasure: Tensor | None
    """(T, S), in nats; None if the sentence is too long for it."""
    gradient: Tensor | None
    """(T, S), in nats, never negative; None if the sentence is too long for it."""
    agreement: dict[str, Agreement]
    """By a pair of methods: `attention-erasure`, `attention-gradient`, `erasure-gradient`."""


def attribute(inspection: Inspection) -> Attribution:
    """All three methods.

    The head shown is the one whose strongest source tokens most often equal those of erasure
    (`HeadRole.alignment`). Ties, and sentences too long for erasure, are decided by the mean of the largest weight.
    """
    erased, gradient = None, None
    if is_affordable(inspection):
        erased, gradient = erasure(inspection), gradient_by_input(inspection)
    where, head = _aligning_head(inspection, erased)
    attention = inspection.recording[where].weights[0, head]
    methods = {"attention": attention, "erasure": erased, "gradient": gradient}
    known = [(name, values) for name, values in methods.items() if values is not None and len(values) > 1]
    agreement = {f"{first}-{second}": agree(a, b) for (first, a), (second, b) in combinations(known, 2)}
    links = tuple(enumerate(strongest(attention).tolist()))
    return Attribution(where, head, attention, links, erased, gradient, agreement)


def is_affordable(inspection: Inspection) -> bool:
    """Whether erasure and gradients take seconds: their cost grows with the square of the sentence's length."""
    source, target = len(inspection.source_ids), len(inspection.target_ids)
    return max(source, target) * (source + target) <= MAX_POSITIONS


def erasure(inspection: Inspection) -> Tensor:
    """log P(token | source) − log P(token | source without token s): (T, S), in nats.

    The source token is removed and the tokens after it move up, as in `control.glossary.erasure`. UNK in its place
    would be a vector that training never touched, because unknown characters are spelled in bytes. EOS is removed like
    any other token. One pass through the model computes as many erasures as `POSITIONS_PER_PASS` allows.
    """
    source, target = torch.tensor(inspection.source_ids), torch.tensor(inspection.target_ids)
    others = ~torch.eye(len(source), dtype=torch.bool)
    without = source.expand(len(source), -1)[others].view(len(source), -1)
    read = torch.cat((torch.tensor([BOS]), target[:-1]))
    after = [
        log_probabilities(inspection.model, rows, read.repeat(len(rows), 1), target.repeat(len(rows), 1))
        for rows in without.split(_rows_per_pass(inspection))
    ]
    return inspection.log_probs[:, None] - torch.cat(after).T


def gradient_by_input(inspection: Inspection) -> Tensor:
    """Σ_d |x_d · ∂ log P(token) / ∂x_d|: (T, S), in nats; x is the output of the source embedding, positions included.

    The absolute values measure how much log P depends on each number of the vector. With their signs the terms almost
    cancel, because the norm that follows removes the vector's length: signed sums named the source token that erasure
    names hardly more often than chance (`docs/log.md`, 2026-11-21). Each row of a pass asks for one target token and
    reads the target up to the last token that its pass asks for.
    """
    model, gradients = inspection.model, []
    source, target = torch.tensor([inspection.source_ids]), torch.tensor(inspection.target_ids)
    read = torch.cat((torch.tensor([BOS]), target[:-1]))
    leaves: list[Tensor] = []

    def cut(_module: nn.Module, _args: object, output: Tensor) -> Tensor:
        """The output of the embedding as a leaf of the autograd graph."""
        leaves.append(output.detach().requires_grad_())
        return leaves[-1]

    with torch.inference_mode(False), torch.enable_grad():
        for positions in torch.arange(len(target)).split(_rows_per_pass(inspection)):
            rows = source.repeat(len(positions), 1)
            prefix = read[: int(positions[-1]) + 1].repeat(len(rows), 1)
            with model.source_embedding.register_forward_hook(cut):
                state = model.encode(rows, padding_mask(rows, PAD))
            features, _ = model.decode_features(prefix, state)
            logits = model.project(features[torch.arange(len(rows)), positions]).float()
            logits[:, FORBIDDEN_IDS] = -torch.inf
            log_p = logits.log_softmax(-1).gather(1, target[positions, None])
            leaf = leaves.pop()
            (gradient,) = torch.autograd.grad(log_p.sum(), leaf)
            gradients.append((leaf.detach() * gradient).abs().sum(-1))
    return torch.cat(gradients)


def agree(values: Tensor, others: Tensor) -> Agreement:
    """How far two (T, S) matrices agree, EOS of both sides left out."""
    top = (strongest(values) == strongest(others)).float().mean()
    ranks = [_ranks(matrix[:-1, :-1].double()) for matrix in (values, others)]
    centred = [rank - rank.mean(-1, keepdim=True) for rank in ranks]
    norms = centred[0].norm(dim=-1) * centred[1].norm(dim=-1)
    defined = norms > 0
    rho = ((centred[0] * centred[1]).sum(-1) / norms)[defined]
    return Agreement(float(top), float(rho.mean()) if defined.any() else None)


def _ranks(values: Tensor) -> Tensor:
    """The rank of each value in its row; equal values share their mean rank."""
    below = (values[..., None] > values[..., None, :]).sum(-1)
    equal = (values[..., None] == values[..., None, :]).sum(-1)
    return below + (equal + 1) / 2


def _rows_per_pass(inspection: Inspection) -> int:
    return max(1, POSITIONS_PER_PASS // (len(inspection.source_ids) + len(inspection.target_ids)))


def _aligning_head(inspection: Inspection, erased: Tensor | None) -> tuple[str, int]:
    def merit(role: HeadRole) -> tuple[float, float]:
        weights = inspection.recording[role.where].weights[0, role.head, :-1, :-1]
        return role.alignment or 0.0, float(weights.amax(-1).mean()) if weights.numel() else 0.0

    cross = [role for role in roles(inspection, erased) if role.where.endswith("cross_attention")]
    best = max(cross, key=merit)
    return best.where, best.head
