"""log P(target | source) of given pairs."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.decode.hypothesis import FORBIDDEN_IDS
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.tokenizer import PAD

# Positions projected onto the vocabulary at a time: enough to keep a processor busy, few enough for any memory.
POSITIONS_PER_PROJECTION = 512


@torch.inference_mode()
def log_probabilities(
    model: EncoderDecoder, src: Int[Tensor, "B S"], tgt_in: Int[Tensor, "B T"], tgt_out: Int[Tensor, "B T"]
) -> Float[Tensor, "B T"]:
    """log P of each token of `tgt_out` given the source and the tokens before it; 0 at padding.

    FORBIDDEN_IDS have probability 0, as in a search.
    """
    features, _ = model.decode_features(tgt_in, model.encode(src, padding_mask(src, PAD)))
    is_token = tgt_out != PAD
    chunks = features[is_token].split(POSITIONS_PER_PROJECTION), tgt_out[is_token].split(POSITIONS_PER_PROJECTION)
    log_probs = []
    for x, tokens in zip(*chunks, strict=True):
        logits = model.project(x).float()
        logits[:, FORBIDDEN_IDS] = -torch.inf
        log_probs.append(logits.gather(1, tokens[:, None]).squeeze(1) - logits.logsumexp(1))
    return torch.zeros(tgt_out.shape, device=src.device).masked_scatter(is_token, torch.cat(log_probs))
