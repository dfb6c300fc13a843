"""Whether hypotheses that CTranslate2 does not return could be among the best at the length limit. Pure; no torch.

At the limit the reference ends every unfinished hypothesis with EOS. CTranslate2 returns the `beam` likeliest of the
finished and the unfinished ones, so some may be missing, but none is likelier than any that it returns.
"""

from collections.abc import Sequence

from dragoman.config import DecodeConfig
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.engine.network import Result

# A translation longer than its source by as many tokens runs away: it is a fault, and retried.
RUNAWAY = 50
# Sums of float32 in another order differ by less than this, in nats.
MARGIN = 1e-3


def are_settled(
    best: Sequence[Hypothesis], results: Sequence[Result], source_length: int, limit: int, options: DecodeConfig
) -> bool:
    """Whether no missing hypothesis can be one of the `best`, or take a place among the `beam` likeliest from one.

    `results` are those of a search up to `limit` tokens, and `best` the hypotheses with the highest scores among them,
    each ended with EOS. If all of them run away, they are taken as they are: only another that runs away is better.
    """
    if limit >= source_length + RUNAWAY and not any(result.finished for result in results):
        return True
    log_prob = min(result.reported_log_prob for result in results) + MARGIN  # of the likeliest that may be missing
    score = log_prob / length_penalty(limit + 1, options.length_penalty) + MARGIN
    return all(hypothesis.log_prob > log_prob and hypothesis.score > score for hypothesis in best)
