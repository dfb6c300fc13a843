"""Atomic files, locks and hashes, and that a base install needs no module that only POSIX has."""

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.errors import DragomanError
from dragoman.system import files as storage
from dragoman.system.files import (
    atomic_file,
    atomic_folder,
    atomic_new_files,
    atomic_path,
    locked,
    partial_folder,
    refuse_unwritable_file,
    sha256,
    write_text_atomically,
)

HOLDER = """
import sys, time
from pathlib import Path
from dragoman.system.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""

# What a base install imports and does, with the modules that Windows lacks blocked.
WITHOUT_POSIX = """
import sys
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
import importlib, pkgutil, dragoman
NEEDS_TRAINING = ("torch", "safetensors", "jaxtyping", "numpy", "tomli_w", "captum", "tensorboard")
for module in pkgutil.walk_packages(dragoman.__path__, "dragoman."):
    if module.name.endswith("__main__") or "torchrun" in module.name:
        continue
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        assert (error.name or "").split(".")[0] in NEEDS_TRAINING, (module.name, error)
from dragoman.bundled import bundled_models
from dragoman.system.files import write_text_atomically
from dragoman.translator import Translator
model = bundled_models()[0]
[translation] = Translator.load(model.folder, engine="ctranslate2").translate(["Hello."])
write_text_atomically(__import__("pathlib").Path(sys.argv[1]), translation.text)
print(model.name, translation.text)
"""


def start(code: str, *arguments: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def test_hash_is_sha256_of_the_content(tmp_path: Path) -> None:
    content = os.urandom(100_000)
    (tmp_path / "file").write_bytes(content)
    assert sha256(tmp_path / "file") == hashlib.sha256(content).hexdigest()


def test_atomic_file_appears_complete_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def write_half() -> None:
        with atomic_file(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_text() == "old"
    with atomic_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("dangling", [False, True], ids=["file", "nothing"])
def test_planted_link_is_not_followed_by_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dangling: bool
) -> None:
    """Even if the random name is guessed, the file behind the link stays as it is."""
    victim = tmp_path / "victim"
    if not dangling:
        victim.write_text("mine")
    monkeypatch.setattr(storage.secrets, "token_hex", lambda size: "guessed")
    (tmp_path / ".out.guessed.partial").symlink_to(victim)
    with pytest.raises(DragomanError, match="out: cannot be written: File exists"):
        write_text_atomically(tmp_path / "out", "new")
    assert victim.exists() is not dangling
    assert dangling or victim.read_text() == "mine"
    assert not (tmp_path / "out").exists()


def test_planted_link_is_not_followed_by_a_folder(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("mine")
    partial_folder(tmp_path / "out").symlink_to(victim)
    with atomic_folder(tmp_path / "out") as partial:
        (partial / "file").write_text("new")
    assert (victim / "file").read_text() == "mine"
    assert (tmp_path / "out/file").read_text() == "new"
    assert not (tmp_path / "out").is_symlink()


def test_partial_names_are_random(tmp_path: Path) -> None:
    names = []
    for _ in range(2):
        with atomic_file(tmp_path / "out"):
            names += [name for name in os.listdir(tmp_path) if name != "out"]
    assert len(set(names)) == 2


def test_link_itself_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    write_text_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_device_is_written_to_and_never_replaced() -> None:
    refuse_unwritable_file(Path(os.devnull))
    write_text_atomically(Path(os.devnull), "text")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("name", [".", "/", "folder", "folder/.."])
def test_a_folder_in_the_place_of_a_file_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for writer in (atomic_file, atomic_path):
        with (
            pytest.raises(DragomanError, match=rf"^{re.escape(name)}: cannot be written: Is a directory; "),
            writer(Path(name)),
        ):
            pytest.fail("the block was entered")
    with pytest.raises(DragomanError, match="Is a directory"):
        refuse_unwritable_file(Path(name))
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


def test_new_files_appear_together_or_not_at_all(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]

    def write_half() -> None:
        with atomic_new_files(paths) as files:
            files[0].write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert os.listdir(tmp_path) == []
    with atomic_new_files(paths) as files:
        for file in files:
            file.write(b"text")
        file.flush()
        assert not any(path.exists() for path in paths)
    assert [path.read_text() for path in paths] == ["text", "text"]
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_lock_excludes_other_processes_and_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    holder = start(HOLDER, path)
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(BlockingIOError), locked(path, wait=False):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with locked(path, wait=False):
        assert path.exists()
    assert not path.exists()


@pytest.mark.slow
def test_base_install_needs_no_posix_module(tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT_POSIX, str(tmp_path / "out")], capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "out").read_text(encoding="utf-8").strip()
    assert os.listdir(tmp_path) == ["out"]


def test_what_a_killed_writer_left_is_removed_after_a_day(tmp_path: Path) -> None:
    day = 24 * 3600
    names = (".out.0123abcd.partial", ".out.89abcdef.partial", ".x.0123abcd.partial")
    old, new, other = (tmp_path / name for name in names)
    for path, age in ((old, day + 60), (new, 60), (other, day + 60)):
        path.write_text("half")
        os.utime(path, (time.time() - age, time.time() - age))
    write_text_atomically(tmp_path / "out", "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [new.name, other.name, "out"]
