"""What a finished hypothesis is and what it is worth. No torch: every engine speaks of these."""

from dataclasses import dataclass

from dragoman.text.tokenizer import BOS, PAD, UNK

# What no translation contains: the marks of padding and beginning, and "unknown", which bytes spell instead.
FORBIDDEN_IDS = (PAD, UNK, BOS)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A finished translation: token ids without marks, log P in nats (the end mark counted), its score."""

    tokens: tuple[int, ...]
    log_prob: float
    score: float


def length_penalty(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^α, Wu et al. 2016, Eq. (14); |Y| counts the end mark."""
    return float(((5 + length) / 6) ** alpha)
