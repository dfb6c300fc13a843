"""log P(target | source) of given pairs."""

import torch
from torch import Tensor

from dragoman.decode.hypothesis import NEVER
from dragoman.model.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.text.tokenizer import PAD


def speakable(logits: Tensor) -> Tensor:
    """The logits (…, V) of what a translation may contain, the others at −∞: probabilities are of these alone."""
    return logits.index_fill(-1, torch.tensor(NEVER, device=logits.device), -torch.inf)


@torch.inference_mode()
def log_probabilities(model: Transformer, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
    """log P of each token of `tgt_out` (B, T) given the source and the tokens before it; 0 at padding."""
    log_probs = speakable(model(src, padding_mask(src, PAD), tgt_in).float()).log_softmax(-1)
    return log_probs.gather(-1, tgt_out[..., None]).squeeze(-1).masked_fill(tgt_out == PAD, 0.0)
