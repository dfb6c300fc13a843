"""`dragoman export`: verified, whole or not at all, and enough to translate without torch."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ModelError
from dragoman.exporting import ctranslate2 as exporter
from dragoman.exporting.golden import read_golden
from dragoman.text.tokens.tokenizer import Tokenizer
from suites import cases

UNVERIFIED = "has no effect with --to html, whose page is not verified on text; leave it out"


@pytest.fixture
def trained_model(trained: Path, tmp_path: Path) -> Path:
    """The trained model with its run around it, to be changed."""
    return Path(shutil.copytree(trained, tmp_path / "project")) / "runs/toy/model"


@pytest.fixture
def text(trained: Path) -> list[Path]:
    return [trained / "data/valid.en", trained / "data/valid.de"]


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_export_is_next_to_the_weights_and_is_what_translates(dragoman: Any, trained_model: Path) -> None:
    before = dragoman("translate", "-m", trained_model, "the red dog sees a tree", "--json").out
    result = dragoman("export", trained_model, "-q", "float32")
    assert result.code == 0, result.err
    assert "of the reference; of 12 sentences the same 12 at beam 1" in result.err
    manifest = json.loads((trained_model / "bundle.json").read_text(encoding="utf-8"))
    assert "ct2-float32/model.bin" in manifest["files"]
    assert manifest["exports"]["ct2-float32"]["identical"]["beam 4"] == 12
    after = dragoman("translate", "-m", trained_model, "the red dog sees a tree", "--json").out
    same = [json.loads(line)["translations"][0]["text"] for line in (before, after)]
    assert same[0] == same[1]
    by_torch = dragoman("translate", "-m", trained_model, "--engine", "torch", "the red dog sees a tree", "--json")
    assert by_torch.out == before
    assert dragoman("model", "show", trained_model).code == 0


@pytest.mark.slow
def test_an_export_alone_translates_where_there_is_no_torch(
    dragoman: Any, trained_model: Path, text: list[Path], tmp_path: Path
) -> None:
    shipped = tmp_path / "shipped"
    result = dragoman("export", trained_model, *text, "-q", "float32", "-o", shipped)
    assert result.code == 0, result.err
    assert not (shipped / "model.safetensors").exists()
    program = (
        "import sys; sys.modules.update(dict.fromkeys(('torch', 'safetensors', 'jaxtyping')));"
        "from dragoman.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "translate", "-m", str(shipped), "a red dog"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == dragoman("translate", "-m", trained_model, "a red dog").out
    complaint = dragoman("translate", "-m", shipped, "--engine", "torch", "a red dog").refused(4)
    assert complaint == (
        f"{shipped}/model.safetensors: not in this bundle, which is an export; use the bundle it was exported from"
    )


@pytest.mark.slow
@pytest.mark.parametrize("processor", cases(["GENERIC", "AVX"], quick=["GENERIC"]))
def test_an_older_processor_translates_too(
    dragoman: Any, trained_model: Path, monkeypatch: pytest.MonkeyPatch, processor: str
) -> None:
    assert dragoman("export", trained_model, "-q", "float32").code == 0
    shipped = dragoman("translate", "-m", trained_model, "the red dog").out
    environment = {**os.environ, "CT2_FORCE_CPU_ISA": processor}
    command = [sys.executable, "-m", "dragoman", "translate", "-m", str(trained_model), "the red dog"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, shipped), done.stderr


def test_a_worse_export_is_not_written(dragoman: Any, trained_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files_of(trained_model)
    truth = exporter._array
    monkeypatch.setattr(exporter, "_array", lambda tensor: truth(tensor) * 1.01)
    complaint = dragoman("export", trained_model, "-q", "float32").refused(6)
    assert complaint.startswith(f"{trained_model}: not exported to float32: log P of a golden sentence differs by ")
    assert files_of(trained_model) == before


@pytest.mark.slow
def test_an_export_that_is_there_is_replaced_only_by_force(dragoman: Any, trained_model: Path) -> None:
    assert dragoman("export", trained_model, "-q", "float32").code == 0
    before = files_of(trained_model)
    complaint = dragoman("export", trained_model, "-q", "float32").refused(2)
    assert complaint == (f"{trained_model}/ct2-float32: already exists; --force replaces it, --output goes elsewhere")
    assert files_of(trained_model) == before
    assert dragoman("export", trained_model, "-q", "float32", "--force").code == 0
    run = trained_model.parent
    complaint = dragoman("export", trained_model, "-q", "float32", "--force", "-o", run).refused(2)
    assert complaint == f"{run}: already exists and is not a model folder; choose another folder"


def test_an_altered_export_is_refused(dragoman: Any, trained_model: Path) -> None:
    assert dragoman("export", trained_model, "-q", "float32").code == 0
    network = trained_model / "ct2-float32/model.bin"
    content = bytearray(network.read_bytes())
    content[len(content) // 2] ^= 1
    network.write_bytes(content)
    complaint = dragoman("translate", "-m", trained_model, "a").refused(4)
    assert complaint == (f"{network}: its sha256 differs from bundle.json; the file is damaged, copy the bundle again")


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["-q", "int4"], 2, "quantization int4: choose one of int8, int8_bfloat16, float32"),
        (["--to", "onnx"], 2, "--to onnx: choose one of: ctranslate2, html"),
        (["--to", "html", "-o", "a.html", "--languages", "en-de"], 2, f"--languages: {UNVERIFIED}"),
        (["--to", "html", "-o", "a.html", "--lines", "9"], 2, f"--lines: {UNVERIFIED}"),
    ],
)
def test_what_there_is_not(dragoman: Any, trained_model: Path, arguments: list[str], code: int, complaint: str) -> None:
    assert dragoman("export", trained_model, *arguments).refused(code) == complaint


def test_without_text_to_verify_with_it_says_how_to_name_some(dragoman: Any, trained_model: Path) -> None:
    alone = trained_model.rename(trained_model.parents[3] / "alone")
    complaint = dragoman("export", alone).refused(2)
    assert complaint.startswith(f"{alone}: the validation text of its run is not here; name text to verify")


@pytest.mark.parametrize("engine", ["ctranslate2", "ct2-int8"])
def test_an_engine_that_the_model_has_no_export_for(dragoman: Any, model: Path, engine: str) -> None:
    complaint = dragoman("translate", "-m", model, "--engine", engine, "a").refused(4)
    assert complaint == f"{model}: no export for {engine} (it has none); `dragoman export -m {model}` makes one"


def test_an_engine_that_does_not_exist(dragoman: Any, model: Path) -> None:
    complaint = dragoman("translate", "-m", model, "--engine", "tpu", "a").refused(2)
    assert (
        complaint
        == "engine 'tpu': choose one of: auto, torch, ctranslate2, or the name of one export, such as ct2-int8"
    )


def test_weights_of_training_are_never_replaced(dragoman: Any, trained_model: Path, text: list[Path]) -> None:
    before = files_of(trained_model)
    command = ["export", trained_model, *text, "-q", "float32", "--force", "-o", trained_model]
    assert "holds the weights of training" in dragoman(*command).refused(2)
    assert files_of(trained_model) == before


def test_an_adapter_is_never_replaced(dragoman: Any, trained_model: Path, text: list[Path], tmp_path: Path) -> None:
    """Its weights are those of a training too."""
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "bundle.json").write_text('{"kind": "adapter"}', encoding="utf-8")
    (adapter / "adapter.safetensors").write_bytes(b"weights")
    before = files_of(adapter)
    command = ["export", trained_model, *text, "-q", "float32", "--force", "-o", adapter]
    assert "holds the weights of training, which are never replaced" in dragoman(*command).refused(2)
    assert files_of(adapter) == before


def test_an_export_that_is_terminated_leaves_nothing(
    dragoman: Any, trained_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_of(tmp_path)
    monkeypatch.setattr(exporter, "convert", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    assert dragoman("export", trained_model, "-q", "float32").code == 130
    assert files_of(tmp_path) == before
    assert not list(trained_model.parent.glob(".dragoman-*"))


def test_files_of_ones_own_stay_where_they_were(dragoman: Any, trained_model: Path) -> None:
    (trained_model / "empty").mkdir()
    (trained_model / "mine.txt").write_text("mine", encoding="utf-8")
    (trained_model / "link").symlink_to(trained_model.parent)
    assert dragoman("export", trained_model, "-q", "float32").code == 0
    assert (trained_model / "empty").is_dir()
    assert (trained_model / "link").is_symlink()
    assert "mine.txt" not in json.loads((trained_model / "bundle.json").read_text(encoding="utf-8"))["files"]
    assert (trained_model / "mine.txt").read_text(encoding="utf-8") == "mine"


def test_what_is_given_away_shares_no_file_with_the_model(dragoman: Any, trained_model: Path, tmp_path: Path) -> None:
    assert dragoman("export", trained_model, "-q", "float32", "-o", tmp_path / "given").code == 0
    with (tmp_path / "given/README.md").open("a", encoding="utf-8") as file:
        file.write("more")
    assert dragoman("translate", "-m", trained_model, "a").code == 0


def test_a_folder_that_may_not_be_written_is_refused_before_anything_is_converted(
    dragoman: Any, trained_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "convert", lambda *_: pytest.fail("an hour was spent"))
    may, readable = os.access, os.R_OK  # who runs the tests may write everywhere
    monkeypatch.setattr(os, "access", lambda path, mode, **_: may(path, mode) and mode == readable)
    complaint = dragoman("export", trained_model).refused(1)
    assert complaint == (
        f"{trained_model}: cannot be written: Permission denied; make the folder writable or choose another"
    )


@pytest.mark.parametrize(
    "where", ["dragoman.exporting.ctranslate2.convert", "dragoman.workflows.models.export._verify", "os.link"]
)
def test_an_interrupted_export_leaves_nothing_half_written(
    dragoman: Any, trained_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    before = files_of(tmp_path)
    monkeypatch.setattr(where, interrupted)
    assert dragoman("export", trained_model, "-q", "float32").refused(130) == "interrupted"
    assert files_of(tmp_path) == before
    assert list((tmp_path / "temporary").iterdir()) == []


def test_an_export_is_converted_next_to_where_it_goes(
    dragoman: Any, trained_model: Path, text: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's temporary folder may be small, or memory."""
    converted: list[Path] = []
    convert = exporter.convert

    def note(model: Any, tokenizer: Any, folder: Path, quantization: str) -> None:
        converted.append(folder)
        convert(model, tokenizer, folder, quantization)

    monkeypatch.setattr(exporter, "convert", note)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    shipped = tmp_path / "a/shipped"
    assert dragoman("export", "-m", trained_model, *text, "-q", "float32", "-o", shipped).code == 0
    assert [folder.parents[1] for folder in converted] == [shipped.parent]
    assert [path.name for path in shipped.parent.iterdir() if path.suffix != ".lock"] == ["shipped"]


@pytest.mark.parametrize(
    "change",
    [
        lambda golden: [],
        lambda golden: {"source": "a"},
        lambda golden: golden | {"tokens": ["5"]},
        lambda golden: golden | {"tokens": []},
        lambda golden: golden | {"tokens": [99999]},
        lambda golden: golden | {"translation": [*golden["translation"], 5]},
        lambda golden: golden | {"log_probs": [None] * len(golden["log_probs"])},
    ],
)
def test_damaged_golden_sentences_are_reported_by_their_line(trained_model: Path, change: Any) -> None:
    path = trained_model / "golden.jsonl"
    first, second, *_ = path.read_text(encoding="utf-8").splitlines()
    path.write_text(f"{first}\n{json.dumps(change(json.loads(second)))}\n", encoding="utf-8")
    with pytest.raises(ModelError) as raised:
        read_golden(trained_model, Tokenizer.load(trained_model / "tokenizer"))
    assert str(raised.value) == f"{path}:2: not a golden sentence of this model; copy the bundle again"
    assert raised.value.exit_code == 4
