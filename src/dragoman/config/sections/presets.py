"""Shapes of the Transformer for `model.preset`: those of the paper (2017), and those we recommend today."""

from typing import Any

# The paper: table 3, rows "base" and "big".
PAPER_BASE = {"layers": 6, "d_model": 512, "d_ff": 2048, "heads": 8, "dropout": 0.1, "norm_order": "post", "tie": "all"}
PAPER_BIG = PAPER_BASE | {"d_model": 1024, "d_ff": 4096, "heads": 16, "dropout": 0.3}
# Today: Pre-LN trains without a fragile warm-up (Xiong et al. 2020); a deep encoder and a shallow decoder
# translate as well and decode faster (Kasai et al. 2021); RMSNorm, rotary positions and SwiGLU, whose d_ff is two
# thirds of four times the width for the same number of weights, are common to the large models of today.
TODAY = {
    "dropout": 0.1,
    "norm_order": "pre",
    "norm": "rms",
    "positions": "rotary",
    "feed_forward": "swiglu",
    "bias": False,
    "tie": "all",
}


def _today(encoder: int, decoder: int, d_model: int, d_ff: int, heads: int) -> dict[str, Any]:
    depths = {"encoder_layers": encoder, "decoder_layers": decoder}
    return TODAY | depths | {"d_model": d_model, "d_ff": d_ff, "heads": heads}


MODEL_PRESETS: dict[str, dict[str, Any]] = {
    "paper-base": PAPER_BASE,
    "paper-big": PAPER_BIG,
    "tiny": _today(4, 2, 192, 512, 4),
    "small": _today(6, 3, 256, 704, 4),
    "base": _today(8, 4, 512, 1408, 8),
    "big": _today(12, 4, 1024, 2752, 16),
}
