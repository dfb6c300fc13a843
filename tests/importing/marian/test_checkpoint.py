"""Files of weights: both formats give the same tensors, and whatever is wrong with one is named; no code runs."""

import json
import os
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from dragoman.errors import ModelError
from dragoman.importing.marian.checkpoint import PICKLED, SAFETENSORS, Tensors, open_tensors, take_one_of

WEIGHTS = {"a.weight": torch.arange(6.0).view(2, 3), "b": torch.tensor([0.5, -1.0]).half(), "c": torch.ones(1, 4)}


def taken(folder: Path) -> dict[str, Tensor]:
    tensors = open_tensors(folder)
    return {name: tensors.pop(name) for name in list(tensors)}


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "before 2020"])
def test_both_formats_hold_the_same(tmp_path: Path, legacy: bool) -> None:
    torch.save(OrderedDict(WEIGHTS), tmp_path / PICKLED, _use_new_zipfile_serialization=not legacy)
    pickled = taken(tmp_path)
    assert open_tensors(tmp_path).notes
    save_file(WEIGHTS, tmp_path / SAFETENSORS)
    plain = taken(tmp_path)
    assert not open_tensors(tmp_path).notes
    for found in (pickled, plain):
        assert found.keys() == WEIGHTS.keys()
        assert all(torch.equal(found[name], tensor) and found[name].dtype == tensor.dtype
                   for name, tensor in WEIGHTS.items())  # fmt: skip


@pytest.mark.parametrize("name", [SAFETENSORS, PICKLED])
def test_weights_in_several_files_are_those_of_one(tmp_path: Path, name: str) -> None:
    """As Hugging Face writes a model of more than 5 GB, or of whatever `max_shard_size` is."""
    stem, _, kind = name.partition(".")
    parts = {f"{stem}-0000{n}-of-00002.{kind}": tensors for n, tensors in ((1, ["a.weight", "c"]), (2, ["b"]))}
    for file, names in parts.items():
        held = {tensor: WEIGHTS[tensor] for tensor in names}
        save_file(held, tmp_path / file) if name == SAFETENSORS else torch.save(held, tmp_path / file)
    index = tmp_path / f"{name}.index.json"
    index.write_text(json.dumps({"weight_map": {tensor: file for file in parts for tensor in parts[file]}}))
    together = taken(tmp_path)
    assert together.keys() == WEIGHTS.keys()
    assert all(torch.equal(together[tensor], WEIGHTS[tensor]) for tensor in WEIGHTS)
    assert open_tensors(tmp_path).files == [index.name, *parts]
    (tmp_path / max(parts)).unlink()
    with pytest.raises(ModelError, match=rf"00002-of-00002\.{kind}: missing; the weights are in 2 files, fetch all"):
        open_tensors(tmp_path)
    for wrong in ({}, {"a": "../model.safetensors"}, "x"):
        index.write_text(json.dumps({"weight_map": wrong}))
        with pytest.raises(ModelError, match=r"index\.json: not an index of files with weights; fetch the file again"):
            open_tensors(tmp_path)


def test_a_tensor_that_is_taken_is_gone(tmp_path: Path) -> None:
    save_file(WEIGHTS, tmp_path / SAFETENSORS)
    tensors = open_tensors(tmp_path)
    del tensors["b"]
    tensors.pop("c")
    assert list(tensors) == ["a.weight"]
    assert len(tensors) == 1
    assert "b" not in tensors
    with pytest.raises(KeyError):
        tensors["b"]
    tensors["b"] = torch.ones(1)
    assert torch.equal(tensors.pop("b"), torch.ones(1))


class Program:
    """What a pickle may contain: a call of any function."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("wrap", [lambda p: p, lambda p: {"a": p}, lambda p: OrderedDict(WEIGHTS, x=[p])])
@pytest.mark.parametrize("how", ["zip", "before 2020", "plain pickle"])
def test_a_program_in_a_pickle_is_refused_and_does_not_run(
    tmp_path: Path, wrap: Callable[[Program], Any], how: str
) -> None:
    touched, file = tmp_path / "touched", tmp_path / PICKLED
    if how == "plain pickle":
        file.write_bytes(pickle.dumps(wrap(Program(touched))))
    else:
        torch.save(wrap(Program(touched)), file, _use_new_zipfile_serialization=how == "zip")
    with pytest.raises(ModelError, match=f"{PICKLED}: (holds Python objects, which are not loaded|cannot be read)"):
        open_tensors(tmp_path)
    assert not touched.exists()
    if how == "zip":  # the same file does run where nothing restricts it
        torch.load(file, weights_only=False)
        assert touched.exists()


@pytest.mark.parametrize(
    ("held", "says"),
    [
        ([torch.ones(2)], "not a dictionary of tensors"),
        ({1: torch.ones(2)}, "not a dictionary of tensors"),
        ({"model": dict(WEIGHTS)}, "model is not a tensor but dict"),
        ({"step": 3}, "step is not a tensor but int"),
        ({"ids": torch.arange(3)}, "tensor ids is not a plain tensor of floating-point numbers"),
        ({"wide": torch.ones(1).expand(1000, 1000)}, "tensor wide is larger than what the file holds"),
        ({"few": torch.eye(3).to_sparse()}, "tensor few is not a plain tensor"),
    ],
)
def test_anything_but_a_flat_dictionary_of_plain_tensors_is_refused(tmp_path: Path, held: Any, says: str) -> None:
    torch.save(held, tmp_path / PICKLED)
    with pytest.raises(ModelError, match=says):
        taken(tmp_path)


@pytest.mark.parametrize("name", [SAFETENSORS, PICKLED])
@pytest.mark.parametrize("part", [0, 0.01, 0.5, 0.999])
def test_a_truncated_file_is_named(tmp_path: Path, name: str, part: float) -> None:
    weights = {"a": torch.rand(40, 40), "b": torch.rand(7)}
    save_file(weights, tmp_path / name) if name == SAFETENSORS else torch.save(weights, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: int(part * len(content))])
    with pytest.raises(ModelError, match=f"{name}: .*(cannot be read).*; fetch the file again$") as caught:
        taken(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_header_that_lies_is_refused(tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 4 << 40]}}).encode()
    (tmp_path / SAFETENSORS).write_bytes(struct.pack("<Q", len(header)) + header + bytes(16))
    with pytest.raises(ModelError, match="cannot be read as safetensors"):
        taken(tmp_path)


def test_without_weights_both_names_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=rf"no {SAFETENSORS} and no {PICKLED}; fetch the weights"):
        open_tensors(tmp_path)


def stored(folder: Path, weights: dict[str, Tensor]) -> Tensors:
    save_file(weights, folder / SAFETENSORS)
    return open_tensors(folder)


def test_of_tied_tensors_one_is_kept_if_all_are_equal(tmp_path: Path) -> None:
    same = {"shared": torch.ones(2, 3), "lm_head": torch.ones(2, 3)}
    tensors = stored(tmp_path, {**same, "other": torch.zeros(2)})
    assert take_one_of(tensors, ("embed", "lm_head", "shared")) == "lm_head"
    assert set(tensors) == {"lm_head", "other"}
    with pytest.raises(ModelError, match="tensor embed is missing"):
        take_one_of(tensors, ("embed", "embed_2"))
    tensors = stored(tmp_path, {**same, "lm_head": torch.zeros(2, 3)})
    with pytest.raises(ModelError, match=r"tensors shared and lm_head differ, but config\.json ties them"):
        take_one_of(tensors, ("shared", "lm_head"))
