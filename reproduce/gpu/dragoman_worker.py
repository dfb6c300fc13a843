"""Dragoman behind the pipe of `benchmarks/peers/train_worker.py`, with the loop that users train with.

    python reproduce/gpu/dragoman_worker.py FOLDER --shape tiny|base|big --tokens N [--device cuda|cpu] [--compile]

FOLDER has the text as `train.en` and `train.ko`, a tokenizer and `batches.json`. The updates are made of this text, N
tokens each, in whatever way the loop packs them; the peers get rectangles of the same text. `ready` is printed after
the first update, which records and compiles. The listener of the loop waits for a request, `N M`, and counts M - N
updates from there: what is timed is `Trainer.fit`.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import jobs
import torch
from trained import run_of

from dragoman.config import RunConfig
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.loop import Trainer
from dragoman.training.report.reports import TrainingListener
from dragoman.training.update.threads import prepare_process
from dragoman.workflows.train.trainer import build_trainer

# As in `train_worker.py`, Post-LN.
SHAPES = {
    "tiny": {"layers": 4, "d_model": 128, "d_ff": 256, "heads": 4, "dropout": 0.3},
    "base": {"layers": 6, "d_model": 512, "d_ff": 2048, "heads": 8, "dropout": 0.1},
    "big": {"layers": 6, "d_model": 1024, "d_ff": 4096, "heads": 16, "dropout": 0.1},
}
ENDLESS = 10_000_000


class Finished(Exception):
    """There is no further request."""


class Turns(TrainingListener):
    """Between two updates it answers, and waits for the next request."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer, self.end, self.answers = trainer, 1, os.fdopen(os.dup(1), "w", buffering=1)
        self.began, self.tokens = 0.0, 0

    def on_update(self, step: int) -> None:
        """After the first update it is ready; after the last of a turn it answers."""
        if step < self.end:
            return
        jobs.wait_for(self.trainer.device)
        print("ready" if step == 1 else json.dumps(self._answer()), file=self.answers)
        if self.trainer.device.type == "cuda":  # the others need it in their turns
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        request = sys.stdin.readline().split()
        if not request:
            raise Finished
        self.end = step + int(request[1]) - int(request[0])
        self.began, self.tokens = time.perf_counter(), self.trainer.target_tokens

    def _answer(self) -> dict[str, object]:
        seconds = time.perf_counter() - self.began
        on_gpu = self.trainer.device.type == "cuda"
        peak = round(torch.cuda.max_memory_allocated() / 2**20, 1) if on_gpu else None
        return {"tokens": self.trainer.target_tokens - self.tokens, "seconds": seconds, "peak_mb": peak}


def configuration(folder: Path, shape: str, tokens: int, device: str, compiled: bool) -> RunConfig:
    """A run without validations."""
    text = {"source": str(folder / "train.en"), "target": str(folder / "train.ko")}
    valid = {"source": str(folder / "valid.en"), "target": str(folder / "valid.ko")}
    train = {"batch_tokens": tokens, "compile": compiled, "learning_rate": 1e-4, "warmup": 1, "device": device}
    train |= {"precision": "bfloat16" if device == "cuda" else "float32", "translate_lines": 0}
    train |= {"validate_every": ENDLESS, "max_steps": ENDLESS, "checkpoint_minutes": 0}
    return RunConfig.model_validate(
        {
            "project": {"name": "peers", "source": "en", "target": "ko"},
            "data": {"train": [text], "valid": valid},
            "model": SHAPES[shape] | {"norm_order": "post"},
            "train": train,
        }
    )


def main() -> None:
    """Train until the input ends."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--compile", action="store_true")
    given = parser.parse_args()
    config = configuration(given.folder, given.shape, given.tokens, given.device, given.compile)
    tokenizer = Tokenizer.load(given.folder / "tokenizer")
    prepare_process(1 if given.device == "cpu" else None, config.model.d_model)
    with tempfile.TemporaryDirectory() as folder:
        trainer = build_trainer(run_of(config, Path(folder), torch.device(given.device)), tokenizer, 0)
        turns = Turns(trainer)
        os.dup2(2, 1)  # anything else that is printed goes to stderr
        trainer.listeners.append(turns)
        try:
            trainer.fit()
        except Finished:
            return


if __name__ == "__main__":
    main()
