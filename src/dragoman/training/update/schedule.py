"""The learning rate: section 5.3, or linear."""

from dragoman.config import TrainConfig


def noam(step: int, d_model: int, warmup: int) -> float:
    """Eq. (3): the learning rate at `step`, counted from 1."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def learning_rate(step: int, d_model: int, train: TrainConfig, minutes: float) -> float:
    """The learning rate at `step`, counted from 1, when `minutes` of training have passed.

    `inverse_sqrt`: Eq. (3), or the same curve scaled to reach `train.learning_rate` at the end of the warm-up.
    `linear`: linearly up to that peak, then linearly to zero after `train.max_steps`; with `train.max_minutes`, at most
    the peak times the fraction of the minutes that is left.
    """
    warmup = train.warmup_steps
    own_peak = noam(warmup, d_model, warmup)
    peak = own_peak if train.learning_rate is None else train.learning_rate
    if train.schedule == "inverse_sqrt":
        rate = noam(step, d_model, warmup)
        return rate if train.learning_rate is None else peak * rate / own_peak
    left = (train.total_steps - step + 1) / max(1, train.total_steps - warmup + 1)
    if train.max_minutes:
        left = min(left, 1 - minutes / train.max_minutes)
    return peak * max(0.0, min(step / warmup, left))
