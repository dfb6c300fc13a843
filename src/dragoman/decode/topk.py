"""The k highest of many scores, faster than sorting."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

BLOCK = 64
# Narrower rows gain nothing from blocks.
MIN_WIDTH = 4096


def topk_by_blocks(scores: Float[Tensor, "R U"], k: int) -> tuple[Float[Tensor, "R E"], Int[Tensor, "R E"]]:
    """The E = `k` highest scores of each row, highest first, and their columns.

    On a CPU `topk` scans a row one element at a time. The k highest scores lie in the k blocks with the highest
    maxima, and the maxima of blocks are computed many at a time.
    """
    blocks = scores.size(1) // BLOCK
    if scores.device.type != "cpu" or scores.size(1) < MIN_WIDTH or k > blocks:
        return scores.topk(k, dim=1)
    head = scores[:, : blocks * BLOCK].unflatten(1, (blocks, BLOCK))
    chosen = head.amax(-1).topk(k, dim=1).indices
    rows = torch.arange(scores.size(0))[:, None]
    tail = torch.arange(blocks * BLOCK, scores.size(1)).expand(scores.size(0), -1)
    columns = (chosen[..., None] * BLOCK + torch.arange(BLOCK)).flatten(1)
    values = torch.cat((head[rows, chosen].flatten(1), scores[:, blocks * BLOCK :]), dim=1)
    values, indices = values.topk(k, dim=1)
    return values, torch.cat((columns, tail), dim=1).gather(1, indices)
