"""The learning rate, section 5.3."""


def noam(step: int, d_model: int, warmup: int) -> float:
    """Eq. (3): the learning rate at `step`, counted from 1."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def learning_rate(step: int, d_model: int, warmup: int, peak: float | None) -> float:
    """Eq. (3), or the same curve scaled to reach `peak` at the end of the warm-up."""
    rate = noam(step, d_model, warmup)
    return rate if peak is None else peak * rate / noam(warmup, d_model, warmup)
