"""A student of its teacher's widths is, at birth, the teacher with layers left out."""

import pytest
import torch

from dragoman.config import ModelConfig
from dragoman.model.initialise import can_initialise_from, evenly_spaced, initialise_from_teacher
from dragoman.model.transformer import Transformer

TEACHER = {"encoder_layers": 4, "decoder_layers": 3, "d_model": 16, "d_ff": 24, "heads": 2, "dropout": 0.1}


def config(**keys: object) -> ModelConfig:
    return ModelConfig.model_validate({**TEACHER, **keys})


@pytest.mark.parametrize(
    ("few", "many", "chosen"), [(1, 4, [0]), (2, 4, [0, 3]), (3, 6, [0, 2, 5]), (4, 4, [0, 1, 2, 3])]
)
def test_layers_are_spread_from_the_first_to_the_last(few: int, many: int, chosen: list[int]) -> None:
    assert evenly_spaced(few, many) == chosen


@pytest.mark.parametrize("tie", ["all", "target", "none"])
@pytest.mark.parametrize("keys", [{"norm_order": "post"}, {"norm_order": "pre"}, {"output_bias": True}], ids=str)
def test_a_student_is_its_teacher_with_layers_left_out(tie: str, keys: dict[str, object]) -> None:
    torch.manual_seed(1)
    teacher = Transformer(config(tie=tie, **keys), 20, 20)
    if teacher.projection_bias is not None:
        torch.nn.init.normal_(teacher.projection_bias)
    student = Transformer(config(tie=tie, **keys, encoder_layers=2, decoder_layers=1), 20, 20)
    initialise_from_teacher(student, teacher)
    teacher.encoder = torch.nn.ModuleList(teacher.encoder[number] for number in (0, 3))
    teacher.decoder = torch.nn.ModuleList(teacher.decoder[number] for number in (0,))
    src, tgt = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 8, 9]])
    mask = torch.ones(1, 1, 1, 4, dtype=torch.bool)
    assert torch.equal(student.eval()(src, mask, tgt), teacher.eval()(src, mask, tgt))
    assert student.parameter_count < sum(p.numel() for p in Transformer(config(tie=tie), 20, 20).parameters())


@pytest.mark.parametrize(
    ("keys", "may"),
    [
        ({"decoder_layers": 1, "dropout": 0.3}, True),
        ({}, True),
        ({"encoder_layers": 5}, False),
        ({"d_ff": 32}, False),
        ({"norm_order": "post"}, False),
        ({"output_bias": True}, False),
        ({"first_position": 2}, False),
    ],
)
def test_only_depths_may_differ_and_none_may_grow(keys: dict[str, object], may: bool) -> None:
    assert can_initialise_from(config(**keys), config()) is may
