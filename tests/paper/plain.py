"""The paper's equations on lists of numbers, written from the paper: what the tensors are held against."""

import math
from collections.abc import Sequence

Vector = list[float]
Matrix = list[list[float]]


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def matmul(a: Matrix, b: Matrix) -> Matrix:
    return [[dot(row, column) for column in zip(*b, strict=True)] for row in a]


def linear(x: Matrix, weight: Matrix, bias: Vector) -> Matrix:
    """x Wᵀ + b, as torch stores W."""
    return [[dot(row, w) + b for w, b in zip(weight, bias, strict=True)] for row in x]


def softmax(scores: Vector) -> Vector:
    highest = max(scores)
    powers = [math.exp(score - highest) for score in scores]
    return [power / sum(powers) for power in powers]


def weights(q: Matrix, k: Matrix, seen: list[list[bool]]) -> Matrix:
    """softmax(Q Kᵀ / √d_k); what is not seen scores −∞."""
    return [
        softmax([dot(a, b) / math.sqrt(len(a)) if see else -math.inf for b, see in zip(k, row, strict=True)])
        for a, row in zip(q, seen, strict=True)
    ]


def attention(q: Matrix, k: Matrix, v: Matrix, seen: list[list[bool]]) -> Matrix:
    """Eq. (1)."""
    return matmul(weights(q, k, seen), v)


def layer_norm(row: Vector, gamma: Vector, beta: Vector, eps: float) -> Vector:
    mean = sum(row) / len(row)
    variance = sum((x - mean) ** 2 for x in row) / len(row)
    return [(x - mean) / math.sqrt(variance + eps) * g + b for x, g, b in zip(row, gamma, beta, strict=True)]


def add(a: Matrix, b: Matrix) -> Matrix:
    return [[x + y for x, y in zip(p, q, strict=True)] for p, q in zip(a, b, strict=True)]


def position(pos: int, d_model: int) -> Vector:
    """Section 3.5."""
    return [
        math.sin(pos / 10000 ** (i / d_model)) if i % 2 == 0 else math.cos(pos / 10000 ** ((i - 1) / d_model))
        for i in range(d_model)
    ]
