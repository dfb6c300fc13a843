"""The processes of small runs, for `test_processes.py`: as torchrun would start them, without its second of imports.

A line of stdin is a request, `[PROCESSES, FOLDER, CORPUS, {"parallel": …, …keys of [train]}, RESUME]`; the answer is a
line of exit codes, and what the processes report is in FOLDER/errors.txt. They are forks of this one, which has
imported PyTorch and computes nothing. `tests/journey/test_torchrun.py` starts some with torchrun itself.

The first process writes the losses of its steps to FOLDER/losses.json, the final weights to FOLDER/final.safetensors.
With `"parallel": ["ddp", "fsdp"]` there are two runs, one after the other, in FOLDER/ddp and FOLDER/fsdp.
"""

import json
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

import torch
import torch._dynamo  # as every optimizer does: once, before processes are forked

from dragoman.config.file import build_config
from dragoman.data.batches.batch import Batch
from dragoman.data.batches.stream import BatchStream, validation_batches
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.data.corpus.directions import Direction
from dragoman.errors import DragomanError
from dragoman.model.build import build_network
from dragoman.model.weights import save_tensors
from dragoman.text.tokens.tokenizer import learn
from dragoman.training.loop import Trainer
from dragoman.training.report.reports import StepReport, TrainingListener, ValidationReport
from dragoman.training.update.distributed import ProcessGroup, join_process_group, leave_process_group


class Faults(TrainingListener):
    """Keeps the losses; at a step, may kill this process, have it sleep until another one has given up, spoil its loss,
    fill its disk or memory.
    """

    def __init__(self, trainer: Trainer, faults: dict[str, list[int]], errors: Path) -> None:
        self.trainer, self.faults, self.errors = trainer, faults, errors
        self.losses: dict[int, float] = {}

    def on_step(self, report: StepReport) -> None:
        self.losses[report.step] = report.loss
        here = [report.step, self.trainer.group.rank]
        if here == self.faults.get("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        if here == self.faults.get("sleep"):
            end = time.monotonic() + 120
            while "DistributedError" not in self.errors.read_text() and time.monotonic() < end:
                time.sleep(0.1)
        if here == self.faults.get("fill"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        for kind in ("forward", "backward"):
            if self.faults.get(kind) in (here, [report.step, "all"]):
                self._starve_once(kind == "backward")
        if here == self.faults.get("spoil"):
            draw = self.trainer.gradient.summed_loss.forward
            spoilt = float("nan")
            self.trainer.gradient.summed_loss.forward = lambda *given: (draw(*given)[0] * spoilt, draw(*given)[1])

    def _starve_once(self, backward: bool) -> None:
        """Memory runs out in the next forward pass, or in its backward pass."""
        gradient = self.trainer.gradient
        compute = gradient._summed_loss

        def starve(*_: object) -> None:
            raise torch.OutOfMemoryError("out of memory")

        def once(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
            gradient._summed_loss = compute
            loss, totals = compute(batch)
            if backward:
                loss.register_hook(starve)
            else:
                starve()
            return loss, totals

        gradient._summed_loss = once

    def on_validation(self, report: ValidationReport) -> None:
        pass

    def on_notice(self, step: int, text: str) -> None:
        print(f"notice at {step}: {text}", file=sys.stderr)


def main(folder: Path, corpus: Path, keys: dict[str, object], resume: bool) -> None:
    """Every run of this process, each from the beginning or on."""
    torch.set_num_threads(1)
    group, device = join_process_group(torch.device("cpu"), float(str(keys.get("peer_timeout", 60))))
    if isinstance(keys.get("parallel"), list):
        for parallel in keys["parallel"]:
            train(folder / parallel, corpus, keys | {"parallel": parallel}, resume, group, device)
    else:
        train(folder, corpus, keys, resume, group, device)
    leave_process_group()


def train(
    folder: Path, corpus: Path, keys: dict[str, object], resume: bool, group: ProcessGroup, device: torch.device
) -> None:
    """One run."""
    folder.mkdir(exist_ok=True)
    faults = keys.pop("faults", {})
    shape = {"layers": 2, "d_model": 16, "d_ff": 24, "heads": 2, "dropout": keys.pop("dropout", 0.0)}
    shape |= keys.pop("model", {})
    tree = {
        "project": {"name": "toy", "source": "en", "target": "de"},
        "data": {"train": [str(corpus / "train.tsv")], "valid": str(corpus / "valid.tsv"), "shuffle_buffer": 90},
        "tokenizer": {"vocab_size": 285},
        "model": shape,
        "train": {
            "precision": "float32",
            "batch_tokens": 150,
            "warmup": 10,
            "learning_rate": 5e-3,
            "validate_every": 5,
            "log_every": 1,
            "peer_timeout": 60,
            **keys,
        },
    }
    config = build_config(tree, "toy", corpus)
    tokenizer = learn(sample_pairs(config.data.train, 1000, 1), config.tokenizer)
    torch.manual_seed(config.train.seed)
    model = build_network(config.model, len(tokenizer.source), len(tokenizer.target))
    stream = BatchStream(config.data, tokenizer, batch_tokens=150, seed=1, rank=group.rank, world=group.size)
    valid, _ = validation_batches(
        [*map(Direction, config.data.valid_corpora)], tokenizer, max_length=50, batch_tokens=200
    )
    trainer = Trainer(config, model, stream, valid, folder=folder / "checkpoints", device=device, group=group)
    listener = Faults(trainer, faults, folder / "errors.txt")
    trainer.listeners.append(listener)
    if resume:
        trainer.resume()
    trainer.fit()
    if group.is_main:
        (folder / "losses.json").write_text(json.dumps(listener.losses))
        save_tensors(folder / "final.safetensors", dict(trainer.final.named_parameters()))
    group.barrier()


def fork(rank: int, size: int, port: int, folder: Path, corpus: Path, keys: dict[str, object], resume: bool) -> int:
    """The id of a new process, which does its share of the run and ends."""
    if process := os.fork():
        return process
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ.update(address, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size))
    errors = os.open(folder / "errors.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(errors, stream)
    code = 1
    try:
        main(folder, corpus, keys, resume)
        code = 0
    except DragomanError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        code = error.exit_code
    except BaseException:
        traceback.print_exc()
    finally:
        # A lost process is not waited for; and PyTorch's own threads aborted 2 of about 60 processes at their exit.
        os._exit(code)


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent.parent))
    from ports import held_port

    for line in sys.stdin:
        size, folder, corpus, keys, resume = json.loads(line)
        (Path(folder) / "errors.txt").unlink(missing_ok=True)
        with held_port() as port:
            processes = [fork(rank, size, port, Path(folder), Path(corpus), keys, resume) for rank in range(size)]
            codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
        print(json.dumps(codes), flush=True)
