"""log P(target | source) of given pairs."""

import torch
from torch import Tensor

from dragoman.decode.hypothesis import FORBIDDEN_IDS
from dragoman.model.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.text.tokenizer import PAD

# Positions projected onto the vocabulary at once: enough to keep a processor busy, few enough for any memory.
POSITIONS = 512


@torch.inference_mode()
def log_probabilities(model: Transformer, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
    """log P of each token of `tgt_out` (B, T) given the source and the tokens before it; 0 at padding.

    Probabilities are of what may be said: no mark but the end has any.
    """
    features, _ = model.decode_features(tgt_in, model.encode(src, padding_mask(src, PAD)))
    real = tgt_out != PAD
    found = []
    for x, tokens in zip(features[real].split(POSITIONS), tgt_out[real].split(POSITIONS), strict=True):
        logits = model.project(x).float()
        logits[:, FORBIDDEN_IDS] = -torch.inf
        found.append(logits.gather(1, tokens[:, None]).squeeze(1) - logits.logsumexp(1))
    return torch.zeros(tgt_out.shape, device=src.device).masked_scatter(real, torch.cat(found))
