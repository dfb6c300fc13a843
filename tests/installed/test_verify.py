"""`verify_model` finds a model whose hashes are right and whose files do not belong together."""

import json
import random
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from dragoman.bundle import Bundle
from dragoman.bundled import HOME
from dragoman.errors import ModelError
from dragoman.model.weights import load_tensors, save_tensors
from dragoman.system.files import fingerprint
from dragoman.workflows.models import verify as module
from dragoman.workflows.models.models import install_model
from dragoman.workflows.models.verify import verify_model


def relist(folder: Path) -> None:
    """List the files of a bundle as they are now: what someone does who changes one and its hash."""
    manifest = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
    manifest["files"] = {name: fingerprint(folder / name) for name in manifest["files"]}
    (folder / "bundle.json").write_text(json.dumps(manifest), encoding="utf-8")


def test_a_model_that_is_as_it_was_made(toy: Bundle) -> None:
    found = verify_model(toy.folder)
    assert (found.files, found.sentences, found.skipped) == (len(toy.manifest["files"]), 6, ())
    [torch] = found.engines
    assert (torch.engine, torch.identical) == ("torch", 6)
    assert torch.mean <= torch.largest <= 1e-4


def test_each_pair_of_languages_is_verified_with_its_own_language_tokens(of_two_pairs: Path, tmp_path: Path) -> None:
    [torch] = verify_model(of_two_pairs).engines
    assert (torch.identical, torch.largest < 1e-4) == (12, True)
    folder = shutil.copytree(of_two_pairs, tmp_path / "model")
    text = (folder / "golden.jsonl").read_text(encoding="utf-8")
    (folder / "golden.jsonl").write_text(text.replace('"de-en"', '"de-ko"'), encoding="utf-8")
    relist(folder)
    with pytest.raises(ModelError, match=r"golden\.jsonl: the model does not translate de-ko"):
        verify_model(folder)
    (folder / "golden.jsonl").write_text(text.replace('"de-en"', '"en-de"'), encoding="utf-8")
    relist(folder)
    with pytest.raises(ModelError, match=r"log P of a token of 12 golden sentences differs"):
        verify_model(folder)


@pytest.mark.parametrize("name", ["en-ko", "ko-en"])
def test_the_bundled_models_on_this_processor(name: str) -> None:
    [export] = verify_model(name).engines
    assert export.engine == "ct2-int8"
    assert export.mean < module.QUANTIZED / 2
    assert export.largest < module.LARGEST
    assert export.identical >= 8  # of 32: int8 sums of another order change words of a small model


def test_weights_of_another_model_are_named(toy: Bundle) -> None:
    weights = toy.folder / "model.safetensors"
    changed = {name: tensor + 0.05 for name, tensor in load_tensors(weights).items()}
    save_tensors(weights, changed)
    relist(toy.folder)
    with pytest.raises(ModelError, match=r"model\.safetensors: log P of a token of 6 golden sentences differs by"):
        verify_model(toy.folder)


@pytest.mark.slow
def test_an_export_of_another_model_is_named(tmp_path: Path, home: Path) -> None:
    folder = shutil.copytree(HOME / "en-ko", tmp_path / "mixed")
    lines = (folder / "golden.jsonl").read_text(encoding="utf-8").splitlines()
    golden = [json.loads(line) for line in lines]
    for one, other in pairwise(golden):  # the network of a model that translates differently
        one["translation"], one["log_probs"] = other["translation"], other["log_probs"]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in golden)
    (folder / "golden.jsonl").write_text(text, encoding="utf-8")
    relist(folder)
    message = r"mixed/ct2-int8/model\.bin: log P of tokens, on average, of 32 golden sentences differs by .* nats from"
    with pytest.raises(ModelError, match=message):
        verify_model(folder)
    with pytest.raises(ModelError, match=message):  # an installation verifies what it installs
        install_model(folder, name="mixed")
    assert list(home.iterdir()) == []


def test_an_export_with_some_wrong_bytes_and_the_right_hash_is_named(tmp_path: Path) -> None:
    folder = shutil.copytree(HOME / "en-ko", tmp_path / "wrong")
    content = bytearray((folder / "ct2-int8/model.bin").read_bytes())
    middle = 4 * len(content) // 10
    content[middle : middle + 120_000] = random.Random(0).randbytes(120_000)
    (folder / "ct2-int8/model.bin").write_bytes(content)
    relist(folder)
    with pytest.raises(ModelError, match=r"wrong/ct2-int8/model\.bin: log P of "):
        verify_model(folder)


def test_a_tokenizer_of_another_model_is_named(tmp_path: Path) -> None:
    folder = shutil.copytree(HOME / "en-ko", tmp_path / "mixed")
    golden = [json.loads(line) for line in (folder / "golden.jsonl").read_text(encoding="utf-8").splitlines()]
    golden[2]["tokens"] = golden[2]["tokens"][::-1]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in golden)
    (folder / "golden.jsonl").write_text(text, encoding="utf-8")
    relist(folder)
    with pytest.raises(ModelError, match=r"mixed/tokenizer: divides golden sentence 3 differently from golden\.jsonl"):
        verify_model(folder)


def test_what_cannot_be_verified_is_named(toy: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = json.loads((toy.folder / "bundle.json").read_text())
    del manifest["files"]["golden.jsonl"]
    (toy.folder / "bundle.json").write_text(json.dumps(manifest))
    (toy.folder / "golden.jsonl").unlink()
    found = verify_model(toy.folder)
    assert (found.engines, found.skipped) == ((), ("the translations: the model has no golden sentences",))
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert verify_model(toy.folder).skipped[1] == (
        'the weights: the torch engine needs `pip install "dragoman[train]"`'
    )


@pytest.mark.slow
def test_verification_of_an_export_needs_no_torch() -> None:
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('torch', 'safetensors', 'jaxtyping', 'tomli_w')))\n"
        "import dragoman\n"
        "print(len(dragoman.verify_model('en-ko').engines), dragoman.install_model('en-ko', name='k').name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 k\n", "")
