"""Weights on disk: what is written is safetensors as the library reads it, whatever the dtype and shape."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save

from dragoman.model.weights import DTYPES, save_tensors

TENSORS = {
    "z": torch.arange(6.0).view(2, 3),
    "transposed": torch.arange(6.0).view(2, 3).T,
    "a": torch.tensor(3.5, dtype=torch.float64),
    "empty": torch.empty(0, 4),
    "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "steps": torch.tensor([1, 2, 3]),
    "bytes": torch.tensor([0, 255, 7], dtype=torch.uint8),
    "이름": torch.tensor([True, False]),
}


def test_the_library_reads_what_is_written(tmp_path: Path) -> None:
    save_tensors(tmp_path / "x.safetensors", TENSORS)
    found = load_file(tmp_path / "x.safetensors")
    assert found.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)
    size = (tmp_path / "x.safetensors").stat().st_size
    assert abs(size - len(save({name: tensor.contiguous() for name, tensor in TENSORS.items()}))) < 64


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_has_its_name(tmp_path: Path, dtype: str) -> None:
    tensor = torch.tensor([1, 0, 1]).to(getattr(torch, dtype))
    save_tensors(tmp_path / "x.safetensors", {"x": tensor})
    assert torch.equal(load_file(tmp_path / "x.safetensors")["x"], tensor)


def test_nothing_at_all_is_a_file_too(tmp_path: Path) -> None:
    save_tensors(tmp_path / "x.safetensors", {})
    assert load_file(tmp_path / "x.safetensors") == {}
