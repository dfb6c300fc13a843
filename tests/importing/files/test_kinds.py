"""Which kind a path is; what cannot be imported is refused with its reason."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from dragoman.errors import ConfigError, ModelError
from dragoman.importing.files.kinds import KINDS, STRANGERS, kind_of, reader_of

MARIAN = json.dumps({"model_type": "marian"})


def folder_of(root: Path, files: dict[str, str]) -> Path:
    folder = root / "theirs"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("marian", {"config.json": MARIAN, "model.safetensors": "x", "source.spm": "x"}),
        ("marian", {"config.json": MARIAN, "pytorch_model.bin": "x", "tf_model.h5": "x", "rust_model.ot": "x"}),
        ("m2m", {"config.json": '{"model_type": "m2m_100"}', "pytorch_model.bin": "x"}),
        ("m2m", {"config.json": '{"model_type": "m2m_100"}', "model.safetensors.index.json": "{}"}),
        ("npz", {"decoder.yml": "x", "opus.npz": "x", "source.spm": "x"}),
        ("npz", {"model.npz": "x"}),
        ("ctranslate2", {"config.json": "{}", "model.bin": "x", "shared_vocabulary.json": "[]"}),
        ("argos", {"metadata.json": "{}", "model/model.bin": "x", "sentencepiece.model": "x"}),
    ],
)
def test_a_folder_is_known_by_its_files(tmp_path: Path, kind: str, files: dict[str, str]) -> None:
    assert kind_of(folder_of(tmp_path, files)) == kind


def test_a_file_is_known_by_its_name_or_content(tmp_path: Path) -> None:
    (tmp_path / "model.npz").write_bytes(b"PK")
    assert kind_of(tmp_path / "model.npz") == "npz"
    for name in ("en_ko.argosmodel", "package.zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("en_ko/metadata.json", "{}")
        assert kind_of(tmp_path / name) == "argos"


@pytest.mark.parametrize(
    "name", ["model-00001-of-00002.safetensors", "pytorch_model-00001-of-00002.bin", "model.safetensors.index.json"]
)
def test_one_of_several_files_of_weights_is_no_model(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(ModelError, match=f"one file of a model; give the folder, {tmp_path}$"):
        kind_of(tmp_path / name)


def test_parts_of_weights_without_their_index_are_not_whole(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"config.json": MARIAN, "model-00001-of-00002.safetensors": "x"})
    with pytest.raises(ModelError, match=r"has weights in several files and neither .*index\.json, which lists them"):
        kind_of(folder)


def test_an_archive_is_a_package_of_argos_only_if_it_looks_like_one(tmp_path: Path) -> None:
    reasons = {
        "opus-2020-06-17.zip": ("opus.npz", "an archive; unpack it, and give the folder"),
        "en-ko.dragoman": ("bundle.json", f"a packed model of Dragoman; `dragoman model install {tmp_path}/en-ko.drag"),
    }
    for name, (member, why) in reasons.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(member, "x")
        with pytest.raises(ModelError) as refused:
            kind_of(tmp_path / name)
        assert str(refused.value).startswith(f"{tmp_path / name}: {why}")


def test_the_cache_of_hugging_face_has_the_model_in_a_folder_of_its_commit(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"refs/main": "ab12", "snapshots/ab12/config.json": MARIAN})
    with pytest.raises(ModelError, match=r"a folder of Hugging Face's cache; give the model in it, .*/snapshots/ab12$"):
        kind_of(folder)


def test_a_pointer_of_git_lfs_inside_a_package_is_named(tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 298000000\n"
    folder = folder_of(tmp_path, {"metadata.json": "{}", "model/model.bin": pointer, "sentencepiece.model": "x"})
    with pytest.raises(ModelError, match=r"/model/model\.bin: \d+ bytes, a Git LFS pointer; fetch the file itself"):
        kind_of(folder)


STRANGE = [
    (
        "Firefox",
        ["model.enko.intgemm.alphas.bin", "vocab.enko.spm", "lex.50.50.enko.s2t.bin"],
        "an SSRU decoder, which",
    ),
    ("fairseq", ["model.pt", "dict.en.txt", "dict.ko.txt"], "a fairseq model: its checkpoint holds Python objects"),
    ("OpenNMT-py", ["model_step_100000.pt"], "a checkpoint of OpenNMT-py or fairseq, which holds Python objects"),
    ("JoeyNMT", ["best.ckpt", "config.yaml", "src_vocab.txt"], "a JoeyNMT or Lightning checkpoint, which holds Python"),
    ("Sockeye", ["params.best", "config", "vocab.src.0.json", "version"], "a Sockeye model, which is not supported"),
    ("BPE", ["decoder.yml", "opus.npz", "source.bpe", "target.bpe"], "divided by Moses and subword-nmt (BPE)"),
    (
        "old BPE",
        ["decoder.yml", "opus.bpe32k-bpe32k.npz", "source.bpe.model"],
        "divided by Moses and subword-nmt (BPE)",
    ),
    ("ONNX", ["config.json", "encoder_model.onnx", "decoder_model.onnx"], "an ONNX model, without weights to import"),
    ("TensorFlow", ["config.json", "tf_model.h5", "source.spm"], "has weights for TensorFlow, Flax or Rust only"),
    ("archive", ["opus-2020-06-17.zip"], "an archive; unpack it"),
    ("PEFT", ["adapter_config.json", "adapter_model.safetensors", "sentencepiece.bpe.model"], "an adapter of PEFT"),
    ("llama.cpp", ["madlad400-3b-mt.gguf"], "a model of llama.cpp, which is not supported"),
]


@pytest.mark.parametrize(("files", "why"), [pytest.param(*one[1:], id=one[0]) for one in STRANGE])
def test_what_cannot_be_imported_is_refused_with_the_reason(tmp_path: Path, files: list[str], why: str) -> None:
    folder = folder_of(tmp_path, dict.fromkeys(files, "x"))
    with pytest.raises(ModelError) as refused:
        kind_of(folder)
    where, _, what = str(refused.value).partition(": ")
    assert Path(where).parent == folder
    assert Path(where).name in files
    assert why in what
    assert ";" in what or "take " in what  # what to do next


def test_every_reason_is_tested() -> None:
    assert len(STRANGE) == len(STRANGERS) + 1  # two layouts with BPE


def test_a_checkpoint_given_as_a_file_is_refused_too(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:  # as torch.save writes it
        archive.writestr("model/data.pkl", b"cos\nsystem\n")
    with pytest.raises(
        ModelError, match=r"model\.pt: a checkpoint of OpenNMT-py or fairseq, which holds Python objects"
    ):
        kind_of(tmp_path / "model.pt")


@pytest.mark.parametrize("model_type", ["t5", "mt5", "mbart"])
def test_an_architecture_that_only_ctranslate2_runs_goes_there(tmp_path: Path, model_type: str) -> None:
    config = json.dumps({"model_type": model_type})
    folder = folder_of(tmp_path, {"config.json": config, "model.safetensors": "x"})
    with pytest.raises(ModelError) as refused:
        kind_of(folder)
    assert str(refused.value) == (
        f"{folder}/config.json: model_type {model_type}: runs on CTranslate2 only; convert it with "
        "ct2-transformers-converter and import that folder"
    )


@pytest.mark.parametrize("config", ['{"model_type": "llama"}', '{"model_type": ["marian"]}', "{}"])
def test_an_unknown_architecture_is_refused(tmp_path: Path, config: str) -> None:
    folder = folder_of(tmp_path, {"config.json": config, "model.safetensors": "x"})
    with pytest.raises(ModelError, match=r"an architecture that cannot be imported \(known: marian, m2m_100\)"):
        kind_of(folder)


@pytest.mark.parametrize("config", ["", "{", "\udcff", '{"model_type": NaN}', "[" * 100_000, "[]"])
def test_a_damaged_config_is_named(tmp_path: Path, config: str) -> None:
    folder = folder_of(tmp_path, {"model.safetensors": "x"})
    (folder / "config.json").write_bytes(config.encode("utf-8", "surrogateescape"))
    with pytest.raises(ModelError, match=r"/config\.json: cannot be read: .*; fetch the file again$"):
        kind_of(folder)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "source.spm"])
def test_a_pointer_of_git_lfs_is_named(tmp_path: Path, name: str) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 298000000\n"
    folder = folder_of(tmp_path, {"config.json": MARIAN, "pytorch_model.bin": "x", name: pointer})
    with pytest.raises(ModelError) as refused:
        kind_of(folder)
    size = len(pointer)
    assert str(refused.value) == (
        f"{folder / name}: {size} bytes, a Git LFS pointer; fetch the file itself, with `git lfs pull`"
    )


@pytest.mark.parametrize("files", [{}, {"notes.txt": "x"}, {"train.en": "x", "train.ko": "x"}])
def test_a_folder_that_is_no_model_lists_what_was_looked_for(tmp_path: Path, files: dict[str, str]) -> None:
    folder = folder_of(tmp_path, files)
    folder.mkdir(exist_ok=True)
    with pytest.raises(ModelError, match=r"not a model that can be imported; looked for: config.json with model.saf"):
        kind_of(folder)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"config.json": MARIAN}, "has config.json and neither model.safetensors nor pytorch_model.bin; fetch the"),
        ({"decoder.yml": "x", "source.spm": "x"}, "has decoder.yml and no .npz; fetch the weights too"),
        ({"bundle.json": "{}"}, "a model of Dragoman, which needs no import; use it with -m "),
    ],
)
def test_a_folder_that_lacks_something_is_named(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(ModelError) as refused:
        kind_of(folder_of(tmp_path, files))
    assert message in str(refused.value)


def test_a_pipe_is_refused_before_it_is_read(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"model.safetensors": "x"})
    os.mkfifo(folder / "config.json")
    with pytest.raises(ModelError, match=r"/config\.json: a pipe or a device, not a file; put the file itself there$"):
        kind_of(folder)


def test_one_file_of_a_model_is_not_the_model(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"config.json": MARIAN, "model.safetensors": "x"})
    with pytest.raises(ModelError, match=f"one file of a model; give the folder, {folder}$"):
        kind_of(folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"no such file or folder; give the model's folder, or hf:NAME"):
        kind_of(tmp_path / "nowhere")


def test_another_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^--as onnx: choose one of: marian, m2m, npz, ctranslate2, argos$"):
        reader_of("onnx")


def test_no_kind_is_read_by_two_modules() -> None:
    assert len({module for module, _ in KINDS.values()}) == len(KINDS)
