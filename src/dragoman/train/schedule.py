"""The learning rate, section 5.3, or a straight line."""

from dragoman.config import TrainConfig


def noam(step: int, d_model: int, warmup: int) -> float:
    """Eq. (3): the learning rate at `step`, counted from 1."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def learning_rate(step: int, d_model: int, train: TrainConfig, minutes: float) -> float:
    """The learning rate at `step`, counted from 1, when `minutes` of training have passed.

    `inverse_sqrt`: Eq. (3), or the same curve scaled to reach `train.learning_rate` at the end of the warm-up.
    `linear`: up to that peak during the warm-up, and down to nothing by whichever end is nearer, that of the steps or
    that of the minutes.
    """
    rate, own_peak = noam(step, d_model, train.warmup), noam(train.warmup, d_model, train.warmup)
    peak = own_peak if train.learning_rate is None else train.learning_rate
    if train.schedule == "inverse_sqrt":
        return peak * (rate / own_peak)
    spent = max((step - 1) / train.max_steps, minutes / train.max_minutes if train.max_minutes else 0.0)
    return peak * max(0.0, min(step / train.warmup, 1 - spent))
