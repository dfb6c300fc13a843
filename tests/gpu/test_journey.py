"""Train, translate and look inside on a GPU, by the commands that users type; and what only a GPU has shown."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from dragoman.model.parts.device import emulation_notice

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")]

WORDS = {"red": "rot", "dog": "hund", "cat": "katze", "sees": "sieht", "big": "gross", "two": "zwei", "bird": "vogel"}
CONFIG = """
[project]
name = "toy"
source = "en"
target = "de"
[data]
valid = "valid.tsv"
[[data.train]]
source = "train.tsv"
[tokenizer]
vocab_size = 30
byte_fallback = false
[train]
batch_tokens = 256
max_steps = 60
warmup = 20
learning_rate = 1e-2
validate_every = 30
translate_lines = 2
average_count = 1
[decode]
beam = 2
extra_length = 5
[model]
"""
TRANSFORMER = "layers = 1\nd_model = 32\nd_ff = 64\nheads = 2\n"
RNN = 'architecture = "rnn"\nlayers = 1\nhidden = 32\n'


def dragoman(folder: Path, *arguments: str) -> str:
    """What a command printed, on stderr too; it succeeds and warns of nothing."""
    command = [sys.executable, "-m", "dragoman", *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "Warning" not in ended.stderr, ended.stderr
    return ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("model", "keys"),
    [
        (TRANSFORMER, ["train.precision=float32"]),
        (TRANSFORMER, ["train.precision=bfloat16"]),
        (TRANSFORMER, ["train.compile=true", "model.positions=rotary"]),
        (TRANSFORMER, ["train.batch_tokens=auto", "train.update_tokens=500"]),
        (RNN, []),
    ],
    ids=["float32", "bfloat16", "compiled", "auto", "rnn"],
)
def test_a_model_is_trained_translates_and_is_looked_into(tmp_path: Path, model: str, keys: list[str]) -> None:
    words = list(WORDS)
    pairs = [" ".join(words[(n + k * (n % 5 + 1)) % 7] for k in range(n % 4 + 2)) for n in range(300)]
    lines = [f"{text}\t{' '.join(WORDS[word] for word in text.split())}\n" for text in pairs]
    (tmp_path / "valid.tsv").write_text("".join(lines[:12]), encoding="utf-8")
    (tmp_path / "train.tsv").write_text("".join(lines[12:]), encoding="utf-8")
    (tmp_path / "run.toml").write_text(CONFIG + model, encoding="utf-8")
    result = dragoman(tmp_path, "train", "run.toml", *keys)
    assert "cuda with" in result
    found = json.loads(dragoman(tmp_path, "translate", "-m", "runs/toy/model", "--json", "two big dog"))
    exact = json.loads(
        dragoman(tmp_path, "translate", "-m", "runs/toy/model", "--json", "--device", "cpu", "two big dog")
    )
    assert found["translations"][0]["log_prob"] == pytest.approx(exact["translations"][0]["log_prob"], abs=0.3)
    if model is RNN:  # the views are those of a Transformer
        return
    looked = json.loads(dragoman(tmp_path, "look", "-m", "runs/toy/model", "--json", "two big dog"))
    assert looked["log_prob"] == pytest.approx(exact["translations"][0]["log_prob"], abs=0.3)


def test_a_gpu_emulates_nothing() -> None:
    assert emulation_notice(torch.device("cuda"), "decode.precision") is None
