"""A machine that loses power: kill -9 while the run writes, then `--resume`."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.cli.main import main

CONFIG = """
[project]
name = "killed"
source = "en"
target = "de"
[data]
train = ["train.tsv"]
valid = "valid.tsv"
[tokenizer]
vocab_size = 285
[model]
layers = 1
d_model = 16
d_ff = 24
heads = 2
dropout = 0.2
[train]
threads = 1
precision = "float32"
batch_tokens = 150
warmup = 10
max_steps = 40
validate_every = 2
translate_lines = 0
[decode]
beam = 1
extra_length = 2
"""


def train(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dragoman", "train", str(folder / "run.toml"), *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def write_project(folder: Path, corpus: Path) -> Path:
    folder.mkdir()
    (folder / "run.toml").write_text(CONFIG)
    for name in ("train.tsv", "valid.tsv"):
        (folder / name).write_bytes((corpus / name).read_bytes())
    return folder


@pytest.mark.slow
def test_a_run_killed_twice_while_it_writes_ends_with_the_bytes_of_one_that_was_not(
    tmp_path: Path, toy_corpus: Path
) -> None:
    whole, killed = write_project(tmp_path / "whole", toy_corpus), write_project(tmp_path / "killed", toy_corpus)
    assert main(["train", str(whole / "run.toml")]) == 0
    checkpoints, rng = killed / "runs" / "killed" / "checkpoints", random.Random(0)
    arguments: list[str] = []
    for step in (8, 16):  # long before the last, which a busy machine could reach before the signal
        with train(killed, *arguments) as process:
            while process.poll() is None and not any(checkpoints.glob(f"*{step:04d}")):
                time.sleep(0.001)
            time.sleep(rng.random() / 50)
            process.kill()
        assert process.returncode == -9
        arguments = ["--resume"]
    assert main(["train", str(killed / "run.toml"), "--resume"]) == 0
    name = Path("runs/killed/model/model.safetensors")
    assert (killed / name).read_bytes() == (whole / name).read_bytes()
