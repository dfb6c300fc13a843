"""log P(target | source) of given pairs."""

import torch
from torch import Tensor

from dragoman.model.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.text.tokenizer import PAD


@torch.inference_mode()
def log_probabilities(model: Transformer, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
    """log P of each token of `tgt_out` (B, T) given the source and the tokens before it; 0 at padding."""
    log_probs = model(src, padding_mask(src, PAD), tgt_in).float().log_softmax(-1)
    return log_probs.gather(-1, tgt_out[..., None]).squeeze(-1).masked_fill(tgt_out == PAD, 0.0)
