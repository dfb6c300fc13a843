"""The matrix products of a training step alone: how long they take without all that stands between them.

A step cannot be faster than its products; what part of its time they would take alone is `share_of_peak`. Products are
those of `dragoman.training.cost.flops`, forward and the two gradients of each, in the step's precision and threads.
"""

import statistics
import time
from collections import Counter
from collections.abc import Iterable

import torch

from dragoman.config import ModelConfig
from dragoman.data.batches.batch import Batch

# How many products of (M, K) and (K, N) matrices side by side.
Shape = tuple[int, int, int, int]
REPEATS = 5


def forward_products(model: ModelConfig, vocab: int, batch: Batch) -> Counter[Shape]:
    """The products of Figure 1 and how often each occurs in a forward pass; padding of a rectangle counts."""
    (sentences, source), target = batch.src.shape, batch.tgt_in.size(1)
    rows, tokens = sentences * source, sentences * target
    shapes = Counter[Shape]()

    def attention(queries: int, keys: int, layers: int) -> None:
        projection = model.d_model, model.heads * model.d_k
        shapes[1, sentences * queries, *projection] += layers
        shapes[1, sentences * keys, *projection] += 2 * layers
        shapes[1, sentences * queries, *projection[::-1]] += layers
        shapes[sentences * model.heads, queries, model.d_k, keys] += layers
        shapes[sentences * model.heads, queries, keys, model.d_k] += layers

    def feed_forward(positions: int, layers: int) -> None:
        shapes[1, positions, model.d_model, model.d_ff] += layers
        shapes[1, positions, model.d_ff, model.d_model] += layers

    attention(source, source, model.encoder_layers)
    feed_forward(rows, model.encoder_layers)
    attention(target, target, model.decoder_layers)
    attention(target, source, model.decoder_layers)
    feed_forward(tokens, model.decoder_layers)
    shapes[1, batch.target_tokens, model.d_model, vocab] += 1
    return shapes


def with_gradients(shapes: Counter[Shape]) -> Counter[Shape]:
    """Each product with the gradients of its two factors."""
    everything = Counter[Shape]()
    for (count, m, k, n), times in shapes.items():
        for shape in ((count, m, k, n), (count, m, n, k), (count, k, m, n)):
            everything[shape] += times
    return everything


def seconds_alone(shape: Shape, dtype: torch.dtype) -> float:
    """The median of some repetitions, after a first."""
    count, m, k, n = shape
    left, right = torch.randn(count, m, k, dtype=dtype), torch.randn(count, k, n, dtype=dtype)
    times = []
    for _ in range(1 + REPEATS):
        start = time.perf_counter()
        _ = left[0] @ right[0] if count == 1 else left @ right
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def products_seconds(model: ModelConfig, vocab: int, batches: Iterable[Batch], dtype: torch.dtype) -> float:
    """What the products of the training steps on these batches take alone."""
    shapes = Counter[Shape]()
    for batch in batches:
        shapes += with_gradients(forward_products(model, vocab, batch))
    return sum(times * seconds_alone(shape, dtype) for shape, times in shapes.items())
