"""Why the Transformer starts slowly on little text: one cause after the other switched, at equal operations.

    python reproduce/slow_start.py DATA OUTPUT [--steps N] [--names NAME ...] [--seed N]

DATA is the folder that contains multi30k/. `base` is the Transformer of `comparison.py` on Multi30k en→de at 4e-3. Each
other run differs from it in what its line says, and has as many updates as cost the operations of --steps updates of
`base` (434 unless given, a fourteenth of the comparison's budget). Printed are the validation loss after each quarter
of the run, in nats per piece without label smoothing, and the difference to `base` at the end. What is in OUTPUT is not
done again. The last line is JSON.
"""

import argparse
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from comparison import TASKS, Task, configuration, share_of, write, write_text

from dragoman import train
from dragoman.config import RunConfig
from dragoman.model.transformer import Transformer
from dragoman.system.files import atomic_folder
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.workflows.train.run_tokenizer import learn_tokenizer

RATE, QUARTERS = 4e-3, 4
# Scores are not what is measured here, and translating costs more than the training.
SCORED_LINES = 8
ATTENTION, BRANCHES = r"\.w_[qkv]\.weight$", r"\.(w_o|w_2)\.weight$"


@dataclass(frozen=True)
class Change:
    """What a run has otherwise than `base`."""

    cause: str
    model: dict[str, object] = field(default_factory=dict)
    train: dict[str, object] = field(default_factory=dict)
    system: str = "Transformer"
    rate: float = RATE
    times: int = 1
    """How many times 512 tokens an update has."""
    warmup: float = 1.0
    """How many times a tenth of the updates the warm-up has."""
    initial: tuple[str, float] | None = None
    """A pattern of names of weights, and what their initial values are multiplied by."""


CHANGES: dict[str, Change] = {
    "base": Change("512 tokens, Pre-LN, 4e-3, warm-up 10 %, dropout 0.2"),
    "rate-2e-3": Change("rate", rate=2e-3),
    "rate-8e-3": Change("rate", rate=8e-3),
    "batch-2048": Change("batch of 2,048 tokens, a quarter of the updates", times=4),
    "batch-2048-8e-3": Change("batch of 2,048 tokens at twice the rate", times=4, rate=8e-3),
    "batch-4096": Change("batch of 4,096 tokens, an eighth of the updates", times=8),
    "warmup-1%": Change("warm-up", warmup=0.1),
    "warmup-30%": Change("warm-up", warmup=3.0),
    "post-ln": Change("Post-LN", model={"norm_order": "post"}),
    "post-ln-1e-3": Change("Post-LN at a quarter of the rate", model={"norm_order": "post"}, rate=1e-3),
    "dropout-0": Change("dropout", model={"dropout": 0.0}),
    "smoothing-0": Change("label smoothing", train={"label_smoothing": 0.0}),
    "embedding-0.5": Change("initial embeddings × 0.5", initial=("embedding.weight|projection", 0.5)),
    "embedding-0.25": Change("initial embeddings × 0.25", initial=("embedding.weight|projection", 0.25)),
    "attention-0.7": Change("initial W_Q, W_K, W_V × 2^−1/2, as fairseq's", initial=(ATTENTION, 2**-0.5)),
    "attention-2": Change("initial W_Q, W_K, W_V × 2", initial=(ATTENTION, 2.0)),
    "branches-0.4": Change("initial W_O, W_2 × (2 N)^−1/2, as GPT-2's", initial=(BRANCHES, 6**-0.5)),
    "rotary": Change("positions", model={"positions": "rotary"}),
    "learned": Change("positions", model={"positions": "learned"}),
    "untied": Change("three matrices instead of one", model={"tie": "none"}),
    "today": Change("RMSNorm, rotary, no biases", model={"norm": "rms", "positions": "rotary", "bias": False}),
    "beta2-0.999": Change("Adam's second β", train={"betas": (0.9, 0.999)}),
    "no-clipping": Change("gradients not clipped", train={"clip_norm": None}),
    "ConvS2S": Change("another network", system="ConvS2S"),
    "RNN-attention": Change("another network", system="RNN-attention"),
}


@contextmanager
def scaled(change: Change) -> Iterator[None]:
    """Transformers made within begin with the weights that the change multiplies."""
    make = Transformer.__init__

    def make_scaled(network: Transformer, *arguments: Any) -> None:
        make(network, *arguments)
        if change.initial:
            pattern, factor = change.initial
            for name, weight in network.named_parameters():  # a shared matrix has one name
                if re.search(pattern, name):
                    weight.detach().mul_(factor)

    Transformer.__init__ = make_scaled  # type: ignore[method-assign]
    try:
        yield
    finally:
        Transformer.__init__ = make  # type: ignore[method-assign]


def changed(task: Task, text: Path, output: Path, change: Change, steps: int, seed: int) -> RunConfig:
    """The configuration of a run; `steps` are those of `base`."""
    share = 1.0 if change.system == "Transformer" else share_of(task, text, change.system)
    updates = max(QUARTERS, round(steps * share / change.times))
    task = replace(task, times=change.times)
    config = configuration(task, text, change.system, output, updates, change.rate, seed)
    tables = config.model_dump(exclude_unset=True)
    tables["data"]["test"] = {side: str(text / f"scored.{getattr(task, side)}") for side in ("source", "target")}
    tables["model"] |= change.model
    quarters = {"warmup": max(1, round(updates * change.warmup / 10)), "validate_every": updates // QUARTERS}
    tables["train"] |= {"max_steps": updates // QUARTERS * QUARTERS, **quarters, "max_minutes": None} | change.train
    return RunConfig.model_validate(tables)


def losses_of(folder: Path) -> list[float]:
    """The validation loss after each quarter, from the log of a run."""
    events = map(json.loads, (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [round(event["loss"], 3) for event in events if event["event"] == "validation"]


def curve(task: Task, output: Path, name: str, steps: int, seed: int) -> list[float]:
    """The losses of a run, trained unless it was. All have the pieces that the first learned."""
    folder, pieces = output / f"{steps}-{seed}" / name, output / "tokenizer"
    if not (folder / "model").exists():
        config = changed(task, output / "text", folder, CHANGES[name], steps, seed)
        if not pieces.exists():
            with atomic_folder(pieces) as partial:
                learn_tokenizer(config).save(partial)
        with scaled(CHANGES[name]):
            train(config, tokenizer=Tokenizer.load(pieces, config.tokenizer.shared))
    return losses_of(folder)


def main() -> None:
    """Train, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--steps", type=int, default=434)
    parser.add_argument("--names", nargs="+", choices=CHANGES, default=list(CHANGES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vocabulary", type=int, default=TASKS["multi30k"].vocabulary)
    options = parser.parse_args()
    task, output = replace(TASKS["multi30k"], vocabulary=options.vocabulary), options.output.absolute()
    text = output / "text"
    if not text.exists():
        with atomic_folder(text) as folder:
            write_text(task, options.data / "multi30k", folder)
            for language in (task.source, task.target):
                lines = (folder / f"{task.valid}.{language}").read_text(encoding="utf-8").splitlines()
                write(folder / f"scored.{language}", lines[:SCORED_LINES])
    runs: dict[str, dict[str, Any]] = {}
    print(f"{'run':16} {'loss after each quarter':31} {'to base':>8}  what is switched")
    for name in dict.fromkeys(("base", *options.names)):
        losses = curve(task, output, name, options.steps, options.seed)
        difference = round(losses[-1] - runs["base"]["losses"][-1], 3) if runs else 0.0
        runs[name] = {"cause": CHANGES[name].cause, "losses": losses, "to_base": difference}
        print(
            f"{name:16} {'  '.join(f'{x:.3f}' for x in losses):31} {difference:+8.3f}  {CHANGES[name].cause}",
            flush=True,
        )
    print(json.dumps({"steps": options.steps, "seed": options.seed, "runs": runs}, ensure_ascii=False))


if __name__ == "__main__":
    main()
