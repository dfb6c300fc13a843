"""A bundle: written whole or not at all, opened only when every file is what was written."""

import errno
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman import bundle as bundle_module
from dragoman.bundle import add_files, open_bundle, write_bundle
from dragoman.config import RunConfig
from dragoman.errors import DragomanError, ModelError
from dragoman.exporting import golden
from dragoman.model.transformer import Transformer
from dragoman.model.weights import load_tensors, load_weights, save_tensors
from dragoman.system.files import atomic_folder, storage_error
from dragoman.text.tokens.tokenizer import Tokenizer, learn

WORDS = ["dog", "cat", "bird", "tree", "red", "small", "two", "sees"]
LINES = [(f"{a} {b} {c}", f"{c} {a} {b}") for a in WORDS for b in WORDS for c in WORDS[:3]]


def config_of(folder: Path, **model: Any) -> RunConfig:
    return RunConfig.model_validate(
        {
            "project": {"name": "toy", "source": "en", "target": "de"},
            "data": {"train": [folder / "secret-folder/t.tsv"], "valid": folder / "secret-folder/v.tsv"},
            "tokenizer": {"vocab_size": 26, "byte_fallback": False},
            "model": {"layers": 1, "d_model": 16, "d_ff": 16, "heads": 2, **model},
            "train": {"output": folder / "secret-folder"},
        }
    )


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return learn(LINES, config_of(Path("/nowhere")).tokenizer)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> tuple[Path, Transformer]:
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("bundle") / "model"
    return folder, write(folder, tokenizer, seed=0)


@pytest.fixture
def folder(written: tuple[Path, Transformer], tmp_path: Path) -> Path:
    """A copy of a good bundle, to be damaged."""
    return Path(shutil.copytree(written[0], tmp_path / "model"))


def write(folder: Path, tokenizer: Tokenizer, *, seed: int) -> Transformer:
    torch.manual_seed(seed)
    config = config_of(folder.parent)
    model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target))
    write_bundle(folder, config=config, tokenizer=tokenizer, model=model, card="# toy\n", facts={"scores": []})
    return model


def refusal(folder: Path) -> str:
    with pytest.raises(ModelError) as at:
        open_bundle(folder)
    message = str(at.value)
    assert "\n" not in message
    return message.replace(str(folder), "MODEL")


def manifest_of(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
    return manifest


def rewrite(folder: Path, **changes: Any) -> None:
    manifest = {**manifest_of(folder), **changes}
    kept = {key: value for key, value in manifest.items() if value is not None}
    (folder / "bundle.json").write_text(json.dumps(kept), encoding="utf-8")


def list_in_manifest(folder: Path, name: str) -> None:
    """Enter a file into the manifest as it is now, as someone who builds a bad bundle would."""
    content = (folder / name).read_bytes()
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    rewrite(folder, files={**manifest_of(folder)["files"], name: entry})


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- good bundles ------------------------------------------------------------------------------------------------


def test_round_trip_of_a_bundle(written: tuple[Path, Transformer]) -> None:
    folder, model = written
    bundle = open_bundle(folder)
    loaded = bundle.load_model()
    ours, theirs = dict(model.named_parameters()), dict(loaded.named_parameters())
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert not loaded.training
    assert bundle.config.model == config_of(Path("/")).model
    assert bundle.tokenizer.encode(["red dog"], "source") == learn(LINES, bundle.config.tokenizer).encode(
        ["red dog"], "source"
    )


def test_the_manifest_lists_every_other_file_with_size_and_hash(written: tuple[Path, Transformer]) -> None:
    folder, model = written
    manifest = manifest_of(folder)
    files = snapshot(folder)
    del files["bundle.json"]
    assert manifest["files"] == {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} for name, content in files.items()
    }
    assert set(files) == {"README.md", "config.toml", "model.safetensors", "tokenizer/joint.model"}
    assert (manifest["format"], manifest["name"], manifest["architecture"]) == (1, "toy", "transformer")
    assert manifest["languages"] == {"source": "en", "target": "de"}
    assert manifest["parameters"] == model.parameter_count


def test_bundle_has_no_paths_of_the_machine(written: tuple[Path, Transformer]) -> None:
    folder, _ = written
    for name, content in snapshot(folder).items():
        assert b"secret-folder" not in content, name
        assert str(folder.parent).encode() not in content, name


def test_a_bundle_may_be_moved_and_copied(folder: Path) -> None:
    moved = folder.rename(folder.parent / "elsewhere")
    assert open_bundle(moved).load_model().parameter_count > 0


def test_unlisted_files_of_the_user_are_kept(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    assert open_bundle(folder).manifest["name"] == "toy"


# --- writing -----------------------------------------------------------------------------------------------------


def test_files_and_facts_are_added_and_listed(folder: Path) -> None:
    before = open_bundle(folder).manifest
    add_files(open_bundle(folder), {"one.txt": "eins\n", "two.txt": "zwei\n"}, {"fact": 3})
    after = open_bundle(folder).manifest
    assert after["fact"] == 3
    assert after["files"].keys() - before["files"].keys() == {"one.txt", "two.txt"}
    assert (folder / "one.txt").read_text() == "eins\n"
    (folder / "two.txt").write_text("drei\n")
    with pytest.raises(ModelError, match=r"two\.txt: its sha256 differs"):
        open_bundle(folder)


def test_adding_changes_nothing_that_another_copy_is_linked_to(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other, copy_function=os.link)
    add_files(open_bundle(folder), {"one.txt": "eins\n"}, {})
    add_files(open_bundle(folder), {"one.txt": "zwei\n"}, {})
    open_bundle(other)
    assert not (other / "one.txt").exists()


def test_a_kill_while_files_are_added_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def kill(*_: object, **__: object) -> None:
        raise Killed

    before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    monkeypatch.setattr(bundle_module, "_write_manifest", kill)
    with pytest.raises(Killed):
        add_files(open_bundle(folder), {"one.txt": "eins\n"}, {})
    assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    open_bundle(folder)


@pytest.mark.slow
def test_concurrent_additions_lose_nothing(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from dragoman.bundle import add_files, open_bundle\n"
        "bundle = open_bundle(Path(sys.argv[1]))\n"
        "for number in range(5): add_files(bundle, {f'{sys.argv[2]}{number}.txt': 'x'}, {f'{sys.argv[2]}{number}': 1})"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(folder), name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    manifest = open_bundle(folder).manifest
    for name in (f"{writer}{number}" for writer in "ab" for number in range(5)):
        assert f"{name}.txt" in manifest["files"]
        assert manifest[name] == 1
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".")] == []


def test_a_bundle_is_rewritten_in_place(folder: Path, tokenizer: Tokenizer) -> None:
    model = write(folder, tokenizer, seed=5)
    loaded = open_bundle(folder).load_model()
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), loaded.parameters(), strict=True))
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize(
    "end",
    [RuntimeError("bug"), KeyboardInterrupt(), SystemExit(1), OSError(errno.ENOSPC, "No space left on device")],
    ids=repr,
)
def test_a_write_that_ends_badly_leaves_what_was_there(folder: Path, end: BaseException) -> None:
    before = snapshot(folder)

    def write_half() -> None:
        with atomic_folder(folder) as partial:
            (partial / "half").write_text("written")
            raise end

    with pytest.raises((type(end), DragomanError)):
        write_half()
    assert snapshot(folder) == before
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_full_disk_is_one_line_and_the_old_bundle_still_opens(
    folder: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = snapshot(folder)
    monkeypatch.setattr(bundle_module, "save_tensors", full)
    with pytest.raises(DragomanError) as at:
        write(folder, tokenizer, seed=6)
    assert str(at.value).startswith(f"{folder}: cannot be written: No space left on device; free some space")
    assert snapshot(folder) == before
    assert open_bundle(folder)


def test_folder_below_a_file_is_one_line(tmp_path: Path, tokenizer: Tokenizer) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DragomanError, match="file/model: cannot be written: Not a directory; check the path"):
        write(tmp_path / "file" / "model", tokenizer, seed=0)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some of your quota"),
        (errno.EACCES, "make the folder writable or choose another"),
        (errno.EROFS, "the file system is read-only; choose another folder"),
        (errno.ENOTDIR, "check the path"),
    ],
    ids=["full", "quota", "not writable", "read-only", "no folder"],
)
def test_a_failure_to_write_comes_with_what_to_do(number: int, remedy: str) -> None:
    message = str(storage_error(Path("/runs/toy"), OSError(number, os.strerror(number))))
    assert message.startswith(f"/runs/toy: cannot be written: {os.strerror(number)}; {remedy}")


@pytest.fixture
def second_rename_fails(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The instant at which the old folder has gone and the new one has not come."""
    rename, calls = Path.rename, []

    def failing(self: Path, target: Path) -> Path:
        calls.append(self)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    yield
    monkeypatch.undo()


@pytest.mark.usefixtures("second_rename_fails")
def test_the_old_bundle_comes_back_when_the_new_one_cannot_take_its_place(folder: Path) -> None:
    before = snapshot(folder)
    with pytest.raises(DragomanError, match="Input/output error"), atomic_folder(folder) as partial:
        (partial / "new").write_text("new")
    assert snapshot(folder) == before


def test_a_kill_between_old_and_new_loses_neither(folder: Path, tokenizer: Tokenizer) -> None:
    """As a kill leaves it: the old one moved aside, the new one not yet in its place. Writing again repairs it."""
    before = snapshot(folder)
    folder.rename(folder.with_name(".model.old"))
    with pytest.raises(RuntimeError, match="killed again"), atomic_folder(folder):
        raise RuntimeError("killed again")
    assert snapshot(folder) == before


def test_what_a_killed_write_left_is_not_part_of_the_next(folder: Path) -> None:
    partial = folder.with_name(".model.partial")
    partial.mkdir()
    (partial / "torn").write_text("torn")
    with atomic_folder(folder) as fresh:
        (fresh / "whole").write_text("whole")
    assert snapshot(folder) == {"whole": b"whole"}


# --- damage ------------------------------------------------------------------------------------------------------

FILES = ["README.md", "config.toml", "model.safetensors", "tokenizer/joint.model"]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert refusal(folder) == f"MODEL/{name}: missing; copy the bundle again"


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_named(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-3])
    size = f"its size, {len(content) - 3:,} bytes, differs from bundle.json"
    assert refusal(folder) == f"MODEL/{name}: {size}; copy the bundle again"


@pytest.mark.parametrize("name", FILES)
def test_an_altered_file_is_named(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    assert refusal(folder) == (
        f"MODEL/{name}: its sha256 differs from bundle.json; the file is damaged, copy the bundle again"
    )


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/hostname", "a/../../outside", "..", ".", "", "a\\..\\outside"], ids=repr
)
def test_a_path_that_leaves_the_folder_is_refused(folder: Path, name: str) -> None:
    (folder.parent / "outside").write_text("other people's")
    rewrite(folder, files={**manifest_of(folder)["files"], name: {"bytes": 15, "sha256": "0"}})
    assert refusal(folder) == f"MODEL/bundle.json: {name!r} leaves the folder; do not trust this bundle"


def test_a_link_that_leaves_the_folder_is_refused(folder: Path) -> None:
    outside = (folder / "README.md").rename(folder.parent / "outside")
    (folder / "README.md").symlink_to(outside)
    assert "leaves the folder" in refusal(folder)


def test_unlisted_tokenizer_is_refused(folder: Path) -> None:
    files = manifest_of(folder)["files"]
    del files["tokenizer/joint.model"]
    rewrite(folder, files=files)
    assert "tokenizer/joint.model" in refusal(folder)


@pytest.mark.parametrize("name", ["ct2-int8/vmap.txt", "ct2-new/model.bin", "golden.jsonl", "tokenizer/more.model"])
def test_unlisted_file_that_an_engine_would_read_is_refused(folder: Path, name: str) -> None:
    """Even one with valid content, in a folder whose other files are listed."""
    export = folder / "ct2-int8"
    export.mkdir()
    (export / "model.bin").write_bytes(b"weights")
    list_in_manifest(folder, "ct2-int8/model.bin")
    (export / ".DS_Store").write_bytes(b"of a file manager")
    open_bundle(folder)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("")
    assert refusal(folder) == f"MODEL/{name}: not listed in bundle.json; remove it, or copy the bundle again"
    (folder / name).unlink()
    open_bundle(folder)


def test_weights_that_change_after_opening_are_refused(folder: Path) -> None:
    bundle = open_bundle(folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes() + b"more")
    with pytest.raises(ModelError, match="its size"):
        bundle.load_model()


def test_a_newer_format_asks_for_a_newer_dragoman(folder: Path) -> None:
    rewrite(folder, format=2)
    assert refusal(folder) == "MODEL/bundle.json: format 2, this version reads 1; update dragoman"


def test_a_newer_format_may_have_another_manifest(folder: Path) -> None:
    (folder / "bundle.json").write_text('{"format": 7, "parts": []}')
    assert refusal(folder) == "MODEL/bundle.json: format 7, this version reads 1; update dragoman"


@pytest.mark.parametrize("name", ["config.toml", "model.safetensors"])
def test_a_manifest_without_a_needed_file_is_refused(folder: Path, name: str) -> None:
    files = manifest_of(folder)["files"]
    del files[name]
    rewrite(folder, files=files)
    assert refusal(folder) == f"MODEL/bundle.json: does not list {name}; copy the bundle again"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', '{"format": 1, "files": []}', "\udcff"], ids=ascii)
def test_a_broken_manifest_is_refused(folder: Path, content: str) -> None:
    (folder / "bundle.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    message = refusal(folder)
    assert message.startswith("MODEL/bundle.json: ")
    assert message.endswith("copy the bundle again")


@pytest.mark.parametrize("key", ["name", "languages", "parameters"])
def test_a_manifest_without_its_facts_is_refused(folder: Path, key: str) -> None:
    rewrite(folder, **{key: None})
    assert key in refusal(folder)


def test_a_folder_that_is_no_bundle_is_reported(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "MODEL: no bundle.json, so not a model; give the folder that holds it"


@pytest.mark.parametrize("place", [".", "tokenizer/..", "../model"])
def test_a_bundle_may_be_opened_and_written_from_within(
    folder: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(folder)
    assert open_bundle(Path(place)).tokenizer.source.serialized == tokenizer.source.serialized
    old = snapshot(folder)
    write(Path(place), tokenizer, seed=3)
    assert snapshot(folder)["model.safetensors"] != old["model.safetensors"]
    assert sorted(path.name for path in folder.parent.iterdir()) == ["model"]


def test_the_root_of_all_folders_is_no_bundle() -> None:
    with pytest.raises(ModelError, match=r"^/: no bundle.json, so not a model"):
        open_bundle(Path("/"))


@pytest.mark.parametrize("kind", ["nothing", "a file"])
def test_what_is_no_folder_is_reported(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "a file":
        path.write_text("x")
        assert refusal(path) == "MODEL: is a file; a model is the folder that holds bundle.json, give that"
    else:
        assert refusal(path).startswith("MODEL: no such model folder; `dragoman train` writes one")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace("d_ff = 16", "d_ff = 16\nwings = 2"), id="an unknown key"),
        pytest.param(lambda text: text + "[[[", id="not TOML"),
    ],
)
def test_a_configuration_this_version_cannot_read_is_refused(folder: Path, change: Any) -> None:
    path = folder / "config.toml"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    list_in_manifest(folder, "config.toml")
    assert refusal(folder).startswith("MODEL/config.toml: ")


# --- tensors -----------------------------------------------------------------------------------------------------


def test_what_is_no_safetensors_file_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\x80\x04not tensors")
    list_in_manifest(folder, "model.safetensors")
    with pytest.raises(ModelError, match=r"model\.safetensors: cannot be read as safetensors"):
        open_bundle(folder).load_model()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda t: t.pop(next(iter(t))), "missing or unexpected tensor", id="a tensor too few"),
        pytest.param(lambda t: t.update(more=torch.zeros(1)), "unexpected tensor more", id="a tensor too many"),
        pytest.param(lambda t: t.update({next(iter(t)): torch.zeros(1)}), r"is \(1,\), expected", id="another shape"),
        pytest.param(lambda t: t.update(as_type(t, torch.int32)), "is int32, expected float32", id="integers"),
        pytest.param(lambda t: t.update(as_type(t, torch.float16)), "is float16, expected float32", id="float16"),
        pytest.param(lambda t: next(iter(t.values())).view(-1)[3:].fill_(torch.nan), "contains NaN", id="NaN"),
        pytest.param(lambda t: next(iter(t.values())).fill_(torch.inf), "contains NaN or infinity", id="infinity"),
    ],
)
def test_weights_of_another_model_are_refused(
    written: tuple[Path, Transformer], tmp_path: Path, change: Any, message: str
) -> None:
    model = open_bundle(written[0]).load_model()
    tensors = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    change(tensors)
    save_tensors(tmp_path / "w.safetensors", tensors)
    with pytest.raises(ModelError, match=message):
        load_weights(model, tmp_path / "w.safetensors")


def as_type(tensors: dict[str, torch.Tensor], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    return {name: tensor.to(dtype) for name, tensor in tensors.items()}


@pytest.mark.parametrize("content", ["[" * 200_000, '{"format": ' + "9" * 5000, '{"parameters": NaN}', '{"a": 1e999}'])
def test_a_manifest_that_no_reader_takes_is_named(folder: Path, content: str) -> None:
    (folder / "bundle.json").write_text(content)
    assert refusal(folder).startswith("MODEL/bundle.json: cannot be read: not JSON: ")


@pytest.mark.parametrize("content", ["a = " + "[" * 100_000, "a = " + "9" * 5000, "a = 1\na = 2\n"])
def test_a_configuration_that_no_reader_takes_is_named(folder: Path, content: str) -> None:
    (folder / "config.toml").write_text(content)
    list_in_manifest(folder, "config.toml")
    assert refusal(folder).startswith("MODEL/config.toml: not TOML: ")


@pytest.mark.parametrize("content", ["[" * 200_000, "[]", '{"tokens": 5}', '{"tokens": [1], "translation": NaN}'])
def test_a_golden_sentence_that_no_reader_takes_is_named(folder: Path, content: str) -> None:
    with pytest.raises(ModelError, match="not a golden sentence of this model"):
        golden._golden(content, open_bundle(folder).tokenizer, "golden.jsonl:1")


def test_a_score_that_is_no_number_is_written_as_none(folder: Path) -> None:
    add_files(open_bundle(folder), {}, {"calibration": [math.nan, {"a": math.inf, "b": 1.5}]})
    assert open_bundle(folder).manifest["calibration"] == [None, {"a": None, "b": 1.5}]


def test_tensors_come_back_as_they_were(tmp_path: Path) -> None:
    tensors = {"a": torch.arange(6.0).view(2, 3).T, "b": torch.tensor([True, False]), "c": torch.tensor(3)}
    save_tensors(tmp_path / "t", tensors)
    again = load_tensors(tmp_path / "t")
    assert all(torch.equal(tensors[name], again[name]) for name in tensors)


@pytest.mark.parametrize(("key", "size"), [("encoder_layers", 1000), ("d_model", 1_000_000)])
def test_a_shape_that_the_weights_cannot_fill_is_refused_before_memory_is_taken(
    folder: Path, key: str, size: int
) -> None:
    path = folder / "config.toml"
    text, changes = re.subn(rf"(?m)^{key} = \d+$", f"{key} = {size}", path.read_text(encoding="utf-8"))
    assert changes == 1
    path.write_text(text, encoding="utf-8")
    list_in_manifest(folder, "config.toml")
    with pytest.raises(ModelError, match=r"config\.toml: describes more weights than model\.safetensors holds"):
        open_bundle(folder).load_model()


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0c"], ids=ascii)
def test_golden_sentences_with_a_separator_are_read_again(tmp_path: Path, tokenizer: Tokenizer, separator: str) -> None:
    sentence = golden.Golden(f"dog{separator}cat", [5, 6], [7], [-0.5, -0.25])
    (tmp_path / golden.FILE).write_text(golden.golden_text([sentence, sentence]), encoding="utf-8")
    assert golden.read_golden(tmp_path, tokenizer) == [sentence, sentence]
