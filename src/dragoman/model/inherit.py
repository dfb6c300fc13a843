"""A student that begins with its teacher's layers: shrink and fine-tune (Shleifer and Rush 2020).

Where only the depths differ, a student takes embeddings, projection and evenly spread layers of the teacher, the first
and the last among them. It then knows most of what it has to learn before it begins.
"""

from typing import cast

import torch
from torch import nn

from dragoman.config import ModelConfig
from dragoman.model.transformer import Transformer

DEPTHS = {"encoder_layers", "decoder_layers"}
# What touches no weight's shape or meaning.
FREE = DEPTHS | {"layers", "dropout", "preset"}


def may_inherit(student: ModelConfig, teacher: ModelConfig) -> bool:
    """Whether the student is the teacher but for its depths, of which none is larger."""
    same = student.model_dump(exclude=FREE) == teacher.model_dump(exclude=FREE)
    return same and all(getattr(student, depth) <= getattr(teacher, depth) for depth in DEPTHS)


def evenly_spaced(few: int, many: int) -> list[int]:
    """`few` of the numbers 0 … `many` − 1, evenly spread from the first to the last; the first alone if one."""
    return [round(number * (many - 1) / max(few - 1, 1)) for number in range(few)]


@torch.no_grad()
def inherit(student: Transformer, teacher: Transformer) -> None:
    """Fill the student with the teacher's weights; `may_inherit` is true of the two."""
    for ours, theirs in ((student.encoder, teacher.encoder), (student.decoder, teacher.decoder)):
        for number, layer in zip(evenly_spaced(len(ours), len(theirs)), ours, strict=True):
            layer.load_state_dict(theirs[number].state_dict())
    for name in ("source_embedding", "target_embedding", "encoder_norm", "decoder_norm"):
        cast("nn.Module", getattr(student, name)).load_state_dict(getattr(teacher, name).state_dict())
    student.projection.copy_(teacher.projection)
