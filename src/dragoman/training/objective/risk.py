"""Minimum risk training: the expected cost of translations, over samples that come with the batch.

    expected    R~ = Σ_y Q(y) Δ(y),  Q(y) = P(y | x)^α / Σ_y' P(y' | x)^α over the different samples; its gradient is
                α Σ_y Q(y) (Δ(y) − E_Q Δ) ∇ log P(y | x)                     Shen et al. 2016
    reinforce   ∇ E Δ ≈ 1/K Σ_k (Δ_k − b_k) ∇ log P(y_k | x), b_k the mean cost of the other samples    Williams 1992

P is that of the network without dropout and of its search: no special tokens. A sample that was cut at its maximum
length counts the tokens that were drawn; EOS, which was not drawn, is padding. Losses are summed over sources.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.config import RiskConfig
from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.tokenizer import BOS, PAD, UNK
from dragoman.training.objective.log_probs import sentence_log_probs, start_of

# Special tokens that no search produces.
NEVER = (PAD, UNK, BOS)


def expected_risk(log_probs: Float[Tensor, "B K"], costs: Float[Tensor, "B K"], sharpness: float) -> Float[Tensor, ""]:
    """Σ over sources of R~. A sample whose log P is −∞ is none."""
    q = (sharpness * log_probs).softmax(1)
    return (q * costs).sum()


def reinforce_risk(log_probs: Float[Tensor, "B K"], costs: Float[Tensor, "B K"]) -> Float[Tensor, ""]:
    """Σ over sources of the mean cost of the samples, with the gradient of REINFORCE."""
    count = costs.size(1)
    baselines = (costs.sum(1, keepdim=True) - costs) / (count - 1)
    surrogate = ((costs - baselines) * log_probs).sum() / count
    return costs.mean(1).sum() + surrogate - surrogate.detach()


class RiskLoss(nn.Module):
    """A model's summed risk as a module, as `SummedLoss` is for likelihood."""

    def __init__(self, model: EncoderDecoder, risk: RiskConfig) -> None:
        super().__init__()
        self.model, self.risk = model, risk

    def forward(
        self,
        src: Int[Tensor, "B S"],
        tgt_in: Int[Tensor, "B T"],
        tgt_out: Int[Tensor, "B T"],
        samples_in: Int[Tensor, "B K T2"],
        samples_out: Int[Tensor, "B K T2"],
        costs: Float[Tensor, "B K"],
    ) -> Float[Tensor, ""]:
        """The risk of a batch, and if it is mixed the weighted likelihood per token of each reference."""
        state = start_of(self.model, src)
        rows = (samples_out != PAD).any(2).flatten().nonzero().squeeze(1)  # of the samples that there are
        sentences = rows // costs.size(1)
        tgt, gold = (samples.flatten(0, 1)[rows] for samples in (samples_in, samples_out))
        of_rows = sentence_log_probs(self.model, state.select(sentences, sentences), tgt, gold, NEVER)
        log_probs = of_rows.new_full((costs.numel(),), -torch.inf).index_put((rows,), of_rows).view(costs.shape)
        if self.risk.form == "reinforce":
            loss = reinforce_risk(log_probs, costs)
        else:
            loss = expected_risk(log_probs, costs, self.risk.sharpness)
        if self.risk.likelihood:
            lengths = (tgt_out != PAD).sum(1).clamp(min=1)
            loss = (
                loss - self.risk.likelihood * (sentence_log_probs(self.model, state, tgt_in, tgt_out) / lengths).sum()
            )
        return loss
