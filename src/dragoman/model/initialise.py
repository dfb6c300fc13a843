"""Initialise a model from another: a student from its teacher, a model with more pieces from its base.

A student and its teacher differ in depth only: shrink and fine-tune (Shleifer and Rush 2020). The student takes the
teacher's embeddings, projection and an evenly spaced selection of its layers, including the first and the last.
"""

from collections.abc import Sequence
from typing import cast

import torch
from torch import nn

from dragoman.config import AnyModel, ModelConfig
from dragoman.model.parts.network import EncoderDecoder
from dragoman.model.transformer import Transformer

DEPTHS = {"encoder_layers", "decoder_layers"}
# Fields that change neither the shape nor the meaning of a layer's weights.
IGNORED_FIELDS = DEPTHS | {"layers", "dropout", "preset"}


def can_initialise_from(student: AnyModel, teacher: AnyModel) -> bool:
    """Whether both are Transformers, and the student differs from the teacher only in depth, and is nowhere deeper."""
    if not (isinstance(student, ModelConfig) and isinstance(teacher, ModelConfig)):
        return False
    same = student.model_dump(exclude=IGNORED_FIELDS) == teacher.model_dump(exclude=IGNORED_FIELDS)
    return same and all(getattr(student, depth) <= getattr(teacher, depth) for depth in DEPTHS)


def evenly_spaced(count: int, total: int) -> list[int]:
    """`count` of the indices 0 … `total` − 1, evenly spaced from the first to the last; [0] for a count of 1."""
    return [round(index * (total - 1) / max(count - 1, 1)) for index in range(count)]


@torch.no_grad()
def initialise_from_teacher(student: Transformer, teacher: Transformer) -> None:
    """Copy the teacher's weights into the student. Requires `can_initialise_from` of their configurations."""
    for ours, theirs in ((student.encoder, teacher.encoder), (student.decoder, teacher.decoder)):
        for index, layer in zip(evenly_spaced(len(ours), len(theirs)), ours, strict=True):
            layer.load_state_dict(theirs[index].state_dict())
    for name in ("source_embedding", "target_embedding", "encoder_norm", "decoder_norm"):
        cast("nn.Module", getattr(student, name)).load_state_dict(getattr(teacher, name).state_dict())
    student.projection.copy_(teacher.projection)
    if student.projection_bias is not None and teacher.projection_bias is not None:
        student.projection_bias.copy_(teacher.projection_bias)


@torch.no_grad()
def initialise_from_base(
    model: EncoderDecoder, base: EncoderDecoder, replaced: tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]
) -> None:
    """Copy the weights of a base with fewer pieces; the rows of a new piece are the means of those that it replaces.

    `replaced` are, for source and target, the ids of the base for each new piece (`dragoman.text.tokens.extension`).
    """
    weights = dict(base.named_parameters(remove_duplicate=False))
    for name, parameter in model.named_parameters(remove_duplicate=False):
        old = weights[name]
        parameter[: old.size(0)] = old
        if parameter.shape != old.shape:
            rows = replaced[0 if name.startswith("source_embedding") else 1]
            parameter[old.size(0) :] = torch.stack([old[list(ids)].mean(0) for ids in rows])
