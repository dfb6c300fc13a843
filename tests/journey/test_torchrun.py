"""`torchrun -m dragoman train`: several processes, one voice, one model; and the files that start it elsewhere."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CONFIG = """
[project]
name = "toy"
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

[train]
device = "cpu"
precision = "float32"
batch_tokens = 150
max_steps = 4
validate_every = 2
translate_lines = 2
"""


def torchrun(*given: str) -> subprocess.CompletedProcess[str]:
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "dragoman"]
    return subprocess.run([*start, *given], capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture
def project(toy_corpus: Path, tmp_path: Path) -> Path:
    for name in ("train.tsv", "valid.tsv"):
        (tmp_path / name).write_bytes((toy_corpus / name).read_bytes())
    (tmp_path / "run.toml").write_text(CONFIG)
    return tmp_path


@pytest.mark.slow
def test_two_processes_speak_once_and_leave_one_model(project: Path) -> None:
    ended = torchrun("train", str(project / "run.toml"))
    assert ended.returncode == 0, ended.stderr
    assert "in each of 2 processes (ddp)" in ended.stderr
    for line in ("learning the tokenizer", "step 4  ", "done: 4 steps done", "The model is in"):
        assert ended.stderr.count(line) == 1
    assert (project / "runs/toy/model/bundle.json").exists()


@pytest.mark.slow
def test_bad_text_is_reported_and_nobody_waits(project: Path) -> None:
    (project / "valid.tsv").write_text("no tab here\n")
    ended = torchrun("train", str(project / "run.toml"))
    assert ended.returncode != 0
    assert "valid.tsv:1: 1 column; a line is source, one tab, target" in ended.stderr
    assert "internal error" not in ended.stderr


def test_the_files_that_start_it_elsewhere_can_be_read() -> None:
    slurm = ROOT / "examples/launch/slurm.sbatch"
    subprocess.run(["bash", "-n", str(slurm)], check=True)
    job = yaml.safe_load((ROOT / "examples/launch/pytorchjob.yaml").read_text())
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        [container] = replica["template"]["spec"]["containers"]
        assert "torchrun -m dragoman train" in container["args"][0]
