"""Why this word: how much each source token has to do with each token said, by three ways that can disagree.

    attention            where a head looks (section 3.2.3)
    erasure              how much less probable the token is when the source token is taken out (Li et al. 2016)
    gradient × input     Σ_d |x_d · ∂ log P / ∂x_d| of the source token's vector x (Denil et al. 2014), by captum

All are (T, S): tokens said, the end mark last, by source tokens, the end mark last. Where a head looks need not be what
decides (Jain and Wallace 2019), so how far the ways agree is told beside them.
"""

from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from dragoman.decode.hypothesis import FORBIDDEN_IDS
from dragoman.decode.scoring import log_probabilities
from dragoman.inspection.heads import roles, strongest
from dragoman.inspection.look import Inspection
from dragoman.model.attention import padding_mask
from dragoman.text.tokenizer import BOS, PAD

# Positions of all rows of a pass through the model: of paper-base half a gigabyte at the most, gradients included.
POSITIONS = 512
# Positions that erasure, or the gradients, may pass through the model in all: spent at 63 tokens a side. Of 20 and 20
# tokens they are 800, which take a base model 1.3 seconds of one core.
MOST = 8000


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two ways agree on a sentence; end marks of both sides are left out."""

    top: float
    """The share of the tokens said to which both give the same strongest source token."""
    spearman: float | None
    """Spearman's rank correlation over the source tokens, the mean over the tokens said; None if there is only one."""


@dataclass(frozen=True)
class Why:
    """What the source has to do with the translation."""

    where: str
    head: int
    """The head that aligns best: see `explain`."""
    attention: Tensor
    """(T, S): its weights."""
    links: tuple[tuple[int, int], ...]
    """(output, source) position: for each token said but the end mark, the source token it looks at most."""
    erasure: Tensor | None
    """(T, S), in nats; None if the sentence is too long for it."""
    gradient: Tensor | None
    """(T, S), in nats, 0 or more; None if the sentence is too long for it."""
    agreement: dict[str, Agreement]
    """By the names of two ways, as `attention-erasure`, `attention-gradient`, `erasure-gradient`."""


def explain(inspection: Inspection) -> Why:
    """All three ways.

    The head is that whose strongest source tokens erasure names most often, `HeadRole.alignment`; among equal ones, and
    of a sentence too long for erasure, that which puts most weight on its strongest source tokens. Raises
    ModuleNotFoundError without captum.
    """
    erased, gradient = None, None
    if is_affordable(inspection):
        erased, gradient = erasure(inspection), gradient_by_input(inspection)
    where, head = _aligning_head(inspection, erased)
    attention = inspection.seen[where].weights[0, head]
    ways = {"attention": attention, "erasure": erased, "gradient": gradient}
    known = [(name, way) for name, way in ways.items() if way is not None and len(way) > 1]
    agreement = {f"{one}-{other}": agree(a, b) for (one, a), (other, b) in combinations(known, 2)}
    links = tuple(enumerate(strongest(attention).tolist()))
    return Why(where, head, attention, links, erased, gradient, agreement)


def is_affordable(inspection: Inspection) -> bool:
    """Whether erasure and gradients take seconds: their work grows with the square of the sentence's length."""
    source, said = len(inspection.source_tokens), len(inspection.target_tokens)
    return max(source, said) * (source + said) <= MOST


def erasure(inspection: Inspection) -> Tensor:
    """log P(token | source) − log P(token | source without token s): (T, S), in nats.

    The source token is taken out, as `decode.erasure` takes out words, and the others move together: "unknown" in its
    place would be a vector that training never touched, for bytes spell what no piece does. Its end mark is taken out
    like any other. One pass through the model for as many erasures as `POSITIONS` allow.
    """
    source, said = torch.tensor(inspection.source_tokens), torch.tensor(inspection.target_tokens)
    others = ~torch.eye(len(source), dtype=torch.bool)
    without = source.expand(len(source), -1)[others].view(len(source), -1)
    read = torch.cat((torch.tensor([BOS]), said[:-1]))
    after = [
        log_probabilities(inspection.model, rows, read.repeat(len(rows), 1), said.repeat(len(rows), 1))
        for rows in without.split(_rows(inspection))
    ]
    return inspection.log_probs[:, None] - torch.cat(after).T


def gradient_by_input(inspection: Inspection) -> Tensor:
    """Σ_d |x_d · ∂ log P(token) / ∂x_d|: (T, S), in nats; x is what the source embedding gives, position and all.

    How much log P turns on each number of the vector. With their signs the terms all but cancel, because a norm that
    follows makes a vector as long as any other: signed sums named what erasure names hardly more often than chance
    (`docs/log.md`, 2026-11-21). One row for each token said, as many rows at once as `POSITIONS` allow, each read up to
    the last token that its pass asks for.
    """
    from captum.attr import LayerGradientXActivation

    model = inspection.model
    source, said = torch.tensor([inspection.source_tokens]), torch.tensor(inspection.target_tokens)
    read = torch.cat((torch.tensor([BOS]), said[:-1]))

    def log_p(rows: Tensor, asked: Tensor) -> Tensor:
        state = model.encode(rows, padding_mask(rows, PAD))
        x, _ = model.decode_features(read[: int(asked[-1]) + 1].repeat(len(rows), 1), state)
        logits = model.project(x[torch.arange(len(rows)), asked]).float()
        logits[:, FORBIDDEN_IDS] = -torch.inf
        return logits.log_softmax(-1).gather(1, said[asked, None])[:, 0]

    found = []
    with torch.inference_mode(False), torch.enable_grad():
        saliency = LayerGradientXActivation(log_p, model.source_embedding)
        for asked in torch.arange(len(said)).split(_rows(inspection)):
            each = saliency.attribute(source.repeat(len(asked), 1), additional_forward_args=(asked,))
            found.append(each.detach().abs().sum(-1))
    return torch.cat(found)


def agree(one: Tensor, other: Tensor) -> Agreement:
    """How far two ways (T, S) agree, end marks left out."""
    top = (strongest(one) == strongest(other)).float().mean()
    ranks = [_ranks(way[:-1, :-1].double()) for way in (one, other)]
    centred = [rank - rank.mean(-1, keepdim=True) for rank in ranks]
    spread = centred[0].norm(dim=-1) * centred[1].norm(dim=-1)
    told = spread > 0
    rho = ((centred[0] * centred[1]).sum(-1) / spread)[told]
    return Agreement(float(top), float(rho.mean()) if told.any() else None)


def _ranks(values: Tensor) -> Tensor:
    """The rank of each value in its row; equal values share the mean of theirs."""
    below = (values[..., None] > values[..., None, :]).sum(-1)
    equal = (values[..., None] == values[..., None, :]).sum(-1)
    return below + (equal + 1) / 2


def _rows(inspection: Inspection) -> int:
    return max(1, POSITIONS // (len(inspection.source_tokens) + len(inspection.target_tokens)))


def _aligning_head(inspection: Inspection, erased: Tensor | None) -> tuple[str, int]:
    def merit(role: tuple[str, int, float | None]) -> tuple[float, float]:
        where, head, alignment = role
        said = inspection.seen[where].weights[0, head, :-1, :-1]
        return alignment or 0.0, float(said.amax(-1).mean()) if said.numel() else 0.0

    crossing = [role for role in roles(inspection, erased) if role.where.endswith("cross_attention")]
    where, head, _ = max(((role.where, role.head, role.alignment) for role in crossing), key=merit)
    return where, head
