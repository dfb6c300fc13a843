"""A finished hypothesis and its score, as every engine returns them."""

from dataclasses import dataclass

from dragoman.text.tokens.tokenizer import BOS, PAD, UNK

# Ids that no translation contains: padding, the beginning, and "unknown", in whose place bytes are written. They come
# first.
FORBIDDEN_IDS = (PAD, UNK, BOS)
# The logit of such a token in a network that another engine runs.
FORBIDDEN_LOGIT = -1e9


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A finished translation: its target ids without special tokens, log P in nats (EOS counted), and its score."""

    tokens: tuple[int, ...]
    log_prob: float
    score: float


def length_penalty(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^α, Wu et al. 2016, Eq. (14); |Y| counts EOS."""
    return float(((5 + length) / 6) ** alpha)
