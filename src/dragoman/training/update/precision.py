"""Which arithmetic trains faster on this machine: by its processor, so that a command gives one model whenever it runs.

bfloat16 products are several times faster where the processor has units for them (AMX, a GPU's tensor cores), and take
longer, or tens of times as long, everywhere else. One small product distinguishes the two.
"""

from typing import Literal

import torch

from dragoman.model.parts.device import product_seconds
from dragoman.model.parts.network import EncoderDecoder

Precision = Literal["float32", "bfloat16"]
# The least of these timings counts: a busy machine makes single ones longer, never shorter.
TIMINGS = 3
# The compute capability from which a GPU has units for products in bfloat16: Ampere, 2020.
WITH_UNITS = (8, 0)
# Below this width a step is hardly products: both precisions take about as long, and float32 is the more accurate.
WIDE = 128


def choose_precision(model: EncoderDecoder, device: torch.device) -> tuple[Precision, str]:
    """The faster of the two for training `model` on `device`, and why in one line.

    With units a product in bfloat16 takes a half to a sixth of one in float32, without them two to a hundred times as
    long: no load of the machine changes which of the two it is. A GPU that has units is known by its generation.
    """
    if device.type == "cuda" and torch.cuda.get_device_capability(device) >= WITH_UNITS:
        return "bfloat16", "precision bfloat16: this GPU has units for its products"
    if model.config.d_model < WIDE:
        return "float32", f"precision float32: bfloat16 gains nothing at a width below {WIDE}"
    exact, rounded = (
        min(product_seconds(dtype, device) for _ in range(TIMINGS)) for dtype in (torch.float32, torch.bfloat16)
    )
    if rounded < exact:
        return "bfloat16", f"precision bfloat16: a product in it takes {rounded / exact:.0%} of the time here"
    return "float32", f"precision float32: a product in bfloat16 takes {rounded / exact:.1f} times as long here"
