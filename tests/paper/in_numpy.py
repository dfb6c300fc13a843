"""The whole model once more, in float64 and nothing but NumPy: what a page's numbers are held against."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dragoman.config import ModelConfig

Floats = np.ndarray[Any, Any]


def softmax(x: Floats) -> Floats:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Numpy:
    """A model of these weights; `run` returns some of its activations, by the names of `Inspection`."""

    def __init__(self, weights: dict[str, Floats], config: ModelConfig) -> None:
        self.w, self.config, self.seen = weights, config, {}

    def run(self, source: tuple[int, ...], target: tuple[int, ...]) -> dict[str, Floats]:
        x = self.embed("source_embedding", np.array(source))
        for layer in range(self.config.encoder_layers):
            name = f"encoder.{layer}"
            x = self.sublayer(f"{name}.self_attention", x, lambda y, n=name: self.attend(f"{n}.self_attention", y, y))
            x = self.sublayer(f"{name}.feed_forward", x, lambda y, n=name: self.feed(f"{n}.feed_forward", y))
        memory = self.seen["memory"] = self.last("encoder_norm", x)
        y = self.embed("target_embedding", np.array([2, *target[:-1]]))
        for layer in range(self.config.decoder_layers):
            name = f"decoder.{layer}"
            y = self.sublayer(
                f"{name}.self_attention", y, lambda z, n=name: self.attend(f"{n}.self_attention", z, z, True)
            )
            y = self.sublayer(
                f"{name}.cross_attention", y, lambda z, n=name: self.attend(f"{n}.cross_attention", z, memory)
            )
            y = self.sublayer(f"{name}.feed_forward", y, lambda z, n=name: self.feed(f"{n}.feed_forward", z))
        self.seen["features"] = self.last("decoder_norm", y)
        return self.seen

    def embed(self, name: str, ids: Floats) -> Floats:
        d = self.config.d_model
        shared = next(
            self.w[key] for key in (f"{name}.weight", "projection", "source_embedding.weight") if key in self.w
        )
        x = shared[ids] * d**0.5
        self.seen[f"{name}.scaled"] = x
        if self.config.positions == "sinusoidal":
            pos = np.arange(len(ids))[:, None] + self.config.first_position
            angles = pos / self.config.position_base ** (np.arange(0, d, 2) / d)
            x = x + np.stack((np.sin(angles), np.cos(angles)), -1).reshape(len(ids), d)
        self.seen[f"{name}.output"] = x
        return x

    def norm(self, name: str, x: Floats) -> Floats:
        if self.config.norm == "rms":
            return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * self.w[f"{name}.weight"]
        centred = x - x.mean(-1, keepdims=True)
        normal = centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return normal * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def last(self, name: str, x: Floats) -> Floats:
        return x if self.config.norm_order == "post" else self.norm(name, x)

    def sublayer(self, name: str, x: Floats, f: Callable[[Floats], Floats]) -> Floats:
        post, norm = self.config.norm_order == "post", f"{name}_norm.norm"
        y = self.norm(norm, x + f(x)) if post else x + f(self.norm(norm, x))
        self.seen[f"{name}_norm.x"], self.seen[f"{name}_norm.output"] = x, y
        return y

    def linear(self, name: str, x: Floats) -> Floats:
        return x @ self.w[f"{name}.weight"].T + self.w.get(f"{name}.bias", 0.0)

    def attend(self, name: str, x: Floats, other: Floats, ahead: bool = False) -> Floats:
        def heads(y: Floats) -> Floats:
            return y.reshape(len(y), self.config.heads, -1).transpose(1, 0, 2)

        q, k, v = (
            heads(self.linear(f"{name}.w_q", x)),
            heads(self.linear(f"{name}.w_k", other)),
            heads(self.linear(f"{name}.w_v", other)),
        )
        if self.config.positions == "rotary" and not name.endswith("cross_attention"):
            q, k = self.turn(q), self.turn(k)
        scores = q @ k.transpose(0, 2, 1) / q.shape[-1] ** 0.5
        self.seen[f"{name}.scaled"] = scores
        if ahead:
            scores = np.where(np.tri(scores.shape[1], dtype=bool), scores, -np.inf)
            self.seen[f"{name}.masked"] = scores
        self.seen[f"{name}.weights"] = softmax(scores)
        concat = (softmax(scores) @ v).transpose(1, 0, 2).reshape(len(x), -1)
        self.seen[f"{name}.concat"] = concat
        return self.linear(f"{name}.w_o", concat)

    def turn(self, x: Floats) -> Floats:
        half = x.shape[-1] // 2
        angles = np.arange(x.shape[1])[:, None] * 10000.0 ** (-2 * np.arange(half) / x.shape[-1])
        a, b = x[..., :half], x[..., half:]
        return np.concatenate((a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)), -1)

    def feed(self, name: str, x: Floats) -> Floats:
        inner = self.linear(f"{name}.w_1", x)
        if self.config.feed_forward != "relu":
            inner = inner / (1 + np.exp(-inner))
        if self.config.feed_forward == "swiglu":
            inner = inner * self.linear(f"{name}.w_3", x)
        active = np.maximum(inner, 0) if self.config.feed_forward == "relu" else inner
        self.seen[f"{name}.active"] = active
        return self.linear(f"{name}.w_2", active)
