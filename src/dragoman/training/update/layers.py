"""How a layer's forward pass is run in training: compiled, or recomputed in the backward pass to save memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch.utils.checkpoint import checkpoint

from dragoman.model.parts.network import EncoderDecoder
from dragoman.training.objective.row_loss import RowLoss

# Shapes that a layer is compiled for; with further shapes it runs uncompiled.
COMPILED_SHAPES = 64
# Positions that are projected at once by a compiled loss: with 32,000 pieces their logits take 2 GiB in bfloat16.
COMPILED_CHUNK = 32_768
# What `torch.compile` translates to: kernels, by its own compiler.
BACKEND = "inductor"


def recompute_layers(model: EncoderDecoder) -> None:
    """Keep only each layer's input for the backward pass, which computes the rest again (Chen et al. 2016)."""
    for layer in model.layers():
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


def compile_layers(model: EncoderDecoder) -> None:
    """Compile each layer for every shape it is called with; `BatchStream`'s `few_shapes` keeps these few.

    The caller raises torch._dynamo's `recompile_limit` to COMPILED_SHAPES around forward passes.
    """
    for layer in model.layers():
        layer.forward = torch.compile(layer.forward, dynamic=False, backend=BACKEND)


def compile_row_loss(loss: RowLoss) -> None:
    """Compile what happens to the logits, all of an update's at once: they are read twice and never in float32."""
    loss.of_logits = torch.compile(loss.of_logits, dynamic=False, fullgraph=True, backend=BACKEND)
    loss.chunk = COMPILED_CHUNK


@contextmanager
def recomputed(model: EncoderDecoder, enabled: bool) -> Iterator[None]:
    """`recompute_layers` inside this context, if `enabled`."""
    if not enabled:
        yield
        return
    recompute_layers(model)
    try:
        yield
    finally:
        for layer in model.layers():
            del layer.forward  # uncovers the method of the class
