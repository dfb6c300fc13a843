"""The laws of several processes: 2 = 1, FSDP2 = DDP, a run saved by N resumes with M; and what a lost one does."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
import torch
from torch.testing import assert_close

from dragoman.config import RunConfig
from dragoman.data.batches.stream import BatchStream
from dragoman.errors import DistributedError
from dragoman.model.build import build_network
from dragoman.model.weights import load_tensors
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.update import gradient as gradient_module
from dragoman.training.update.distributed import ProcessGroup, join_process_group
from dragoman.training.update.gradient import GradientAccumulator
from equivalence.process import train

Run = Callable[..., dict[str, float]]
PROCESS = Path(__file__).with_name("process.py")


@dataclass(frozen=True)
class Ended:
    """What the processes of a run leave: a code that is 0 if those of all are, and what they report."""

    returncode: int
    stderr: str


class Launch(Protocol):
    def __call__(self, folder: Path, corpus: Path, processes: int, resume: bool, keys: dict[str, object]) -> Ended: ...


@pytest.fixture(scope="module")
def launch() -> Iterator[Launch]:
    """Start the processes of a run and wait for them."""
    with subprocess.Popen(
        [sys.executable, str(PROCESS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None

        def start(folder: Path, corpus: Path, processes: int, resume: bool, keys: dict[str, object]) -> Ended:
            print(json.dumps([processes, str(folder), str(corpus), keys, resume]), file=program.stdin, flush=True)
            codes = json.loads(program.stdout.readline())
            return Ended(next(filter(None, codes), 0), (folder / "errors.txt").read_text())

        yield start


@pytest.fixture
def run(toy_corpus: Path, tmp_path: Path, launch: Launch) -> Run:
    """Train in a number of processes, a single one in that of the test; the losses of the steps."""

    def start(name: str, processes: int, resume: bool = False, **keys: object) -> dict[str, float]:
        (tmp_path / name).mkdir(exist_ok=True)
        if processes == 1:
            train(tmp_path / name, toy_corpus, dict(keys), resume, ProcessGroup(), torch.device("cpu"))
            return losses_of(tmp_path / name)
        ended = launch(tmp_path / name, toy_corpus, processes, resume, keys)
        assert ended.returncode == 0, ended.stderr
        return losses_of(tmp_path / name)

    return start


def losses_of(folder: Path) -> dict[str, float]:
    losses: dict[str, float] = json.loads((folder / "losses.json").read_text())
    return losses


def final(folder: Path) -> dict[str, torch.Tensor]:
    return load_tensors(folder / "final.safetensors")


def settled(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Without the keys' biases: the softmax cancels them, so that Adam follows nothing but rounding there."""
    return {name: tensor for name, tensor in weights.items() if not name.endswith("w_k.bias")}


def test_what_two_processes_would_exchange_is_the_gradient_of_one(
    toy_run: Callable[..., RunConfig], toy_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each one's share of the batches and of the gradient, one after the other: what is left to torch is the mean."""
    monkeypatch.setattr(gradient_module, "parallelize", lambda module, *_: module)
    monkeypatch.setattr(gradient_module, "no_sync", lambda _: nullcontext())
    monkeypatch.setattr(ProcessGroup, "any_rank", lambda _, flag: flag)
    config, vocab = toy_run(), len(toy_tokenizer.source)

    def gradient(rank: int, size: int) -> list[tuple[float, dict[str, torch.Tensor]]]:
        torch.manual_seed(1)
        model = build_network(config.model.model_copy(update={"dropout": 0.0}), vocab, vocab)
        accumulator = GradientAccumulator(model, config.train, ProcessGroup(rank, size), torch.device("cpu"))
        stream = BatchStream(config.data, toy_tokenizer, batch_tokens=150, seed=1, rank=rank, world=size)
        updates = []
        for _ in range(3):
            update = stream.next_update(4 // size)
            loss = accumulator.backward(update.batches, update.divisor)
            updates.append((loss, {name: parameter.grad.clone() for name, parameter in model.named_parameters()}))
            model.zero_grad()
        return updates

    for (loss, whole), *parts in zip(gradient(0, 1), gradient(0, 2), gradient(1, 2), strict=True):
        assert sum(part for part, _ in parts) == pytest.approx(loss, rel=1e-6)
        mean = {name: sum(part[name] for _, part in parts) / 2 for name in whole}
        assert_close(mean, whole, atol=1e-6, rtol=1e-5)


@pytest.mark.slow
def test_two_processes_are_one_and_a_model_in_parts_is_a_whole_one(
    toy_corpus: Path, tmp_path: Path, launch: Launch
) -> None:
    """20 steps over the same pairs; 1e-5 of the loss."""
    train(
        tmp_path / "alone", toy_corpus, {"accumulate": 2, "max_steps": 20}, False, ProcessGroup(), torch.device("cpu")
    )
    alone = losses_of(tmp_path / "alone")
    assert len(alone) == 20
    ended = launch(tmp_path, toy_corpus, 2, resume=False, keys={"parallel": ["ddp", "fsdp"], "max_steps": 20})
    assert ended.returncode == 0, ended.stderr
    for kind in ("ddp", "fsdp"):
        assert losses_of(tmp_path / kind) == pytest.approx(alone, abs=1e-5)
        assert_close(settled(final(tmp_path / kind)), settled(final(tmp_path / "alone")), atol=1e-4, rtol=1e-3)


@pytest.mark.slow
def test_two_processes_balance_experts_as_one(run: Run, toy_corpus: Path, tmp_path: Path, launch: Launch) -> None:
    """The totals of both decide the next update; without noise, which each draws for itself."""
    experts = {"architecture": "moe", "experts": 4, "noise": False, "w_importance": 1.0}
    keys = {"max_steps": 20, "model": experts}
    alone = run("alone", 1, accumulate=2, **keys)
    ended = launch(tmp_path, toy_corpus, 2, resume=False, keys=keys | {"parallel": ["ddp", "fsdp"]})
    assert ended.returncode == 0, ended.stderr
    for kind in ("ddp", "fsdp"):
        parts = losses_of(tmp_path / kind)
        assert all(parts[step] == pytest.approx(loss, abs=1e-5) for step, loss in alone.items())


@pytest.mark.slow
def test_two_processes_train_an_adapter_as_one(run: Run, tmp_path: Path) -> None:
    """LoRA: the weights that stay are never exchanged, A and B as other weights are."""
    keys = {"max_steps": 20, "start_from": "base", "lora_rank": 2, "learning_rate": 3e-2}
    alone, copies = run("alone", 1, accumulate=2, **keys), run("ddp", 2, **keys)
    assert len(alone) == 20
    assert all(copies[step] == pytest.approx(loss, abs=1e-5) for step, loss in alone.items())
    one, other = settled(final(tmp_path / "alone")), settled(final(tmp_path / "ddp"))
    assert one.keys() == other.keys()
    assert all((one[name] - other[name]).abs().max() < 1e-4 for name in one)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")  # one process loads what several saved
@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_a_run_saved_by_some_processes_resumes_with_others(run: Run, tmp_path: Path, parallel: str) -> None:
    """2 → 1 → 2 processes, all as 1."""
    whole = run("whole", 1, accumulate=2, max_steps=12)
    losses = run("parts", 2, parallel=parallel, max_steps=4)
    losses |= run("parts", 1, resume=True, max_steps=8)
    losses |= run("parts", 2, resume=True, parallel=parallel, max_steps=12)
    assert losses == pytest.approx(whole, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_after_a_killed_process_the_others_stop_name_it_and_the_run_resumes_bit_for_bit(
    run: Run, toy_corpus: Path, tmp_path: Path, launch: Launch, parallel: str
) -> None:
    keys = {"parallel": parallel, "max_steps": 12, "dropout": 0.2}
    run("whole", 2, **keys)
    (tmp_path / "torn").mkdir()
    torn = launch(tmp_path / "torn", toy_corpus, 2, resume=False, keys=keys | {"faults": {"kill": [7, 1]}})
    assert torn.returncode != 0
    assert "DistributedError: step 8: process 1 of 2 (counted from 0) was lost, or did not answer within" in torn.stderr
    assert "the last checkpoint is kept" in torn.stderr
    run("torn", 2, resume=True, **keys)
    ours, theirs = final(tmp_path / "torn"), final(tmp_path / "whole")
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


@pytest.mark.slow
def test_a_slow_process_is_reported_with_the_time_it_had_and_the_key_that_gives_more(
    toy_corpus: Path, tmp_path: Path, launch: Launch
) -> None:
    keys = {"max_steps": 12, "peer_timeout": 8, "faults": {"sleep": [6, 0]}}
    ended = launch(tmp_path, toy_corpus, 2, resume=False, keys=keys)
    assert ended.returncode != 0
    assert (
        "DistributedError: step 7: process 0 of 2 (counted from 0) was lost, or did not answer within "
        "train.peer_timeout = 8 s; see its own message, and raise train.peer_timeout if it was only slow; "
    ) in ended.stderr


@pytest.mark.parametrize(
    "others", [{"MASTER_ADDR": "localhost", "MASTER_PORT": "1", "RANK": "1"}, {}], ids=["nobody there", "no address"]
)
def test_processes_that_cannot_form_a_group_say_so_in_a_line(
    monkeypatch: pytest.MonkeyPatch, others: dict[str, str]
) -> None:
    for name in ("MASTER_ADDR", "MASTER_PORT", "RANK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"WORLD_SIZE": "2", **others}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(
        DistributedError, match=r"^the 2 processes of this run did not connect within .* = 1 s: [^\n]+$"
    ):
        join_process_group(torch.device("cpu"), 1.0)


@pytest.mark.slow
def test_a_loss_that_is_no_number_in_one_process_names_it(toy_corpus: Path, tmp_path: Path, launch: Launch) -> None:
    keys = {"max_steps": 12, "faults": {"spoil": [6, 1]}}
    ended = launch(tmp_path, toy_corpus, 2, resume=False, keys=keys)
    assert ended.returncode != 0
    assert "step 7: the loss is nan of process 1 on" in ended.stderr
    assert "the checkpoint of step 5 is kept" in ended.stderr
    assert (tmp_path / "diverged.1.txt").read_text().count("train.tsv:") > 1


@pytest.mark.slow
def test_a_full_disk_at_a_checkpoint_in_parts_is_reported_and_the_run_resumes(
    toy_corpus: Path, tmp_path: Path, launch: Launch
) -> None:
    keys = {"max_steps": 12, "parallel": "fsdp"}
    ended = launch(tmp_path, toy_corpus, 2, resume=False, keys=keys | {"faults": {"fill": [7, 0]}})
    assert ended.returncode != 0
    assert f"{tmp_path}/checkpoints/00000010: cannot be written: " in ended.stderr
    assert "what was saved before is intact, continue with --resume" in ended.stderr
    assert "CheckpointException" not in ended.stderr
    assert launch(tmp_path, toy_corpus, 2, resume=True, keys=keys).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("accumulate", "who"), [(1, 1), (2, 1), (1, "all")])
def test_when_memory_runs_out_in_one_process_all_repeat_the_update_in_smaller_pieces(
    run: Run, toy_corpus: Path, tmp_path: Path, launch: Launch, accumulate: int, who: int | str
) -> None:
    """And whatever is left is done as it would have been, with weights in parts too."""
    keys = {"max_steps": 12, "accumulate": accumulate}
    whole = run("whole", 2, **keys)
    (tmp_path / "starved").mkdir()
    ended = launch(tmp_path / "starved", toy_corpus, 2, resume=False, keys=keys | {"faults": {"forward": [7, who]}})
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("notice at 7: step 8: out of memory; batches are cut into 2 from here on") == 2
    assert losses_of(tmp_path / "starved") == pytest.approx(whole, abs=1e-5)
    for parallel, steps in (("fsdp", 14), ("ddp", 16)):
        run("starved", 2, resume=True, **keys | {"parallel": parallel, "max_steps": steps})


@pytest.mark.slow
@pytest.mark.parametrize("fault", [("ddp", "backward"), ("fsdp", "forward")], ids="-".join)
def test_when_memory_runs_out_while_others_wait_the_run_stops_and_resumes(
    toy_corpus: Path, tmp_path: Path, launch: Launch, fault: tuple[str, str]
) -> None:
    keys = {"max_steps": 12, "parallel": fault[0]}
    ended = launch(tmp_path, toy_corpus, 2, resume=False, keys=keys | {"faults": {fault[1]: [7, 1]}})
    assert ended.returncode != 0
    assert "ResourceError: out of memory on " in ended.stderr
    assert "DistributedError: step 8: process 1 of 2" in ended.stderr
    assert launch(tmp_path, toy_corpus, 2, resume=True, keys=keys).returncode == 0
