"""Networks of the paper's comparison on one corpus, each with the same number of operations, then `compare`.

    python reproduce/comparison.py CORPUS DATA OUTPUT [--steps N] [--seeds N] [--systems NAME ...] [--jobs N]
                                   [--times N] [--rates RATE ...] [--warmups SHARE ...] [--budgets POWER ...]

CORPUS is `multi30k` (en→de) or `koen_open` (ko→en), a folder of DATA; see comparison.sh. Every system is trained at
each of `RATES`, in as many updates as cost the operations of the first; the run with the least validation loss counts.
With --times an update has that many times the text. `reproduce/gpu/networks.py` trains the same runs on a GPU; with its
options and its folder as OUTPUT they are compared here. With --budgets all of it is done for 4^POWER times the updates,
for each POWER; `comparison_curves.py` draws what was printed. With --warmups Transformers try each of these, too.
Printed are costs, scores and paired tests on each test set. The last line is one JSON object. What is in OUTPUT is not
done again, and an interrupted run is resumed.
"""

import argparse
import gzip
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from dragoman import compare_runs, evaluate, train
from dragoman.bundle import open_bundle
from dragoman.config import RunConfig
from dragoman.config.file import read_run_config
from dragoman.evaluation import ComparedScore, Score
from dragoman.system.files import atomic_folder
from dragoman.training.resume.checkpoint import resumable_steps
from dragoman.workflows.compare.budget import flops_per_update
from dragoman.workflows.compare.result import ComparedRun

# About as many operations per target token; the first sets the budget.
SYSTEMS: dict[str, dict[str, object]] = {
    "Transformer": {"layers": 3, "d_model": 96, "d_ff": 256, "heads": 4, "norm_order": "pre", "tie": "all"},
    "ConvS2S": {"architecture": "convs2s", "encoder_layers": 4, "decoder_layers": 3, "d_model": 104},
    "RNN-attention": {"architecture": "rnn", "layers": 1, "d_model": 144, "attention": "general"},
    "RNN": {"architecture": "rnn", "layers": 2, "d_model": 128, "attention": "none", "directions": "backward"},
    "ByteNet": {"architecture": "bytenet", "layers": 4, "d_model": 160},
}
USUAL = ("Transformer", "ConvS2S", "RNN-attention", "RNN")
RATES = (2e-3, 4e-3)
WARMUP, VALIDATIONS, UPDATE = 0.1, 12, 512


@dataclass(frozen=True)
class Task:
    """A corpus: its languages and splits, the first of `tests` being that of the runs, and how the first trains."""

    source: str
    target: str
    valid: str
    tests: tuple[str, ...]
    vocabulary: int
    steps: int
    domains: frozenset[str] = frozenset()
    """Only lines of these; all if empty."""
    times: int = 1
    """How many times UPDATE tokens an update has."""
    device: str = "auto"
    minutes: float | None = None
    """The most that a run may take."""


TASKS = {
    "multi30k": Task("en", "de", "val", ("test_2016_flickr", "test_2017_flickr"), 4000, 6076),
    "koen_open": Task("ko", "en", "valid", ("test",), 4000, 4340, frozenset({"tldr", "libreoffice_help"})),
}


def write_text(task: Task, data: Path, folder: Path) -> None:
    """The splits with the lines of the task's domains."""
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", task.valid, *task.tests):
        kept = [line in task.domains for line in lines_of(data / f"{split}.domain.gz")] if task.domains else None
        for language in (task.source, task.target):
            lines = lines_of(data / f"{split}.{language}.gz")
            if kept:
                lines = [line for line, keep in zip(lines, kept, strict=True) if keep]
            write(folder / f"{split}.{language}", lines)


def lines_of(path: Path) -> list[str]:
    """Without line ends."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def write(path: Path, lines: Sequence[str]) -> None:
    """One per line."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def configuration(
    task: Task,
    text: Path,
    name: str,
    output: Path,
    steps: int,
    rate: float,
    seed: int = 1,
    warmup: float = WARMUP,
) -> RunConfig:
    """A run of the system `name`, of whose updates a share is the warm-up."""

    def files(split: str) -> dict[str, str]:
        return {"source": str(text / f"{split}.{task.source}"), "target": str(text / f"{split}.{task.target}")}

    return RunConfig.model_validate(
        {
            "project": {"name": name, "source": task.source, "target": task.target},
            "data": {
                "train": [files("train")],
                "valid": files(task.valid),
                "test": files(task.tests[0]),
            },
            "tokenizer": {"kind": "bpe", "vocab_size": task.vocabulary},
            "model": {**SYSTEMS[name], "dropout": 0.2},
            "train": {
                "output": str(output),
                "seed": seed,
                "device": task.device,
                "precision": "bfloat16" if task.device == "cuda" else "float32",
                "batch_tokens": UPDATE * task.times,
                "max_steps": steps,
                "max_minutes": task.minutes,
                "schedule": "linear",
                "learning_rate": rate,
                "warmup": max(1, round(steps * warmup)),
                "clip_norm": 1.0,
                "validate_every": max(1, steps // VALIDATIONS),
                "translate_lines": 0,
                "average_count": 1,
                "card_lines": 0,
            },
            "decode": {"beam": 5},
        }
    )


def share_of(task: Task, text: Path, name: str) -> float:
    """How many updates of this system cost the operations of one of the first."""
    first, this = (
        flops_per_update(configuration(task, text, one, text, 1, 1.0), task.vocabulary)
        for one in (next(iter(SYSTEMS)), name)
    )
    return first / this


def finished(config: RunConfig) -> float:
    """The validation loss of the run, trained unless it was."""
    folder = config.train.output
    assert folder
    if not (folder / "model").exists():
        train(config, resume=bool(resumable_steps(folder / "checkpoints")))
    elif read_run_config(folder).train.max_steps != config.train.max_steps:
        raise SystemExit(f"{folder}: trained with another number of updates; give another OUTPUT, or remove it")
    return float(open_bundle(folder / "model").manifest["training"]["loss"])


Peak = tuple[float, float]
"""A rate and a share of warm-up."""


def trained(task: Task, text: Path, output: Path, seeds: int, peaks: Sequence[Peak], name: str) -> dict[str, Any]:
    """The runs of a system at all `peaks`, and those of further seeds at the best; that one, and the losses.

    Other networks than the Transformer are trained at the first share of warm-up alone.
    """
    steps = round(task.steps * share_of(task, text, name))
    losses: dict[Peak, float] = {}
    for rate, warmup in peaks:
        if name != "Transformer" and warmup != peaks[0][1]:
            continue
        folder = folder_of(output, name, rate, warmup=warmup)
        loss = finished(configuration(task, text, name, folder, steps, rate, warmup=warmup))
        losses[rate, warmup] = loss
        print(f"{name}, rate {_shown((rate, warmup))}: validation loss {loss:.3f}", flush=True)
    best = min(losses, key=losses.__getitem__)
    for seed in range(2, seeds + 1):
        folder = folder_of(output, name, best[0], seed, best[1])
        finished(configuration(task, text, name, folder, steps, best[0], seed, best[1]))
    return {
        "rate": best[0],
        "warmup": best[1],
        "losses": {_shown(peak): round(loss, 3) for peak, loss in losses.items()},
    }


def _shown(peak: Peak) -> str:
    """A rate, with the warm-up where it is not the usual one."""
    return f"{peak[0]:g}" if peak[1] == WARMUP else f"{peak[0]:g}, warm-up {peak[1]:g}"


def folder_of(output: Path, name: str, rate: float, seed: int = 1, warmup: float = WARMUP) -> Path:
    """Of a run; `compare` names it by the last part."""
    part = f"rate-{rate:g}" if warmup == WARMUP else f"rate-{rate:g}-warmup-{warmup:g}"
    return output / part / (name if seed == 1 else f"{name}-{seed}")


def measured(one: ComparedRun) -> dict[str, Any]:
    """What the table of a run has, for the JSON."""
    return {
        "architecture": one.architecture,
        "parameters": one.parameters,
        "updates": one.cost.steps,
        "target_tokens": one.cost.target_tokens,
        "flops": one.cost.flops,
        "formula_flops": one.cost.formula_flops,
        "minutes": round(one.cost.seconds / 60, 1),
        "train_tokens_per_second": round(one.cost.tokens_per_second),
        "decode_tokens_per_second": round(one.target_tokens_per_second),
        "peak_mb": round(one.cost.peak_bytes / 2**20, 1),
        "curve": [{"step": x.step, "flops": x.flops, "loss": x.loss, "greedy_bleu": x.bleu} for x in one.curve],
        "by_length": [asdict(part) for part in one.by_length],
        "chains": [asdict(chain) for chain in one.chains],
    }


def scores_of(models: dict[str, Path], task: Task, text: Path, test: str) -> dict[str, Any]:
    """BLEU and chrF of each model with intervals, and paired tests against the first."""
    first, *others = models.values()
    found = evaluate(first, text / f"{test}.{task.source}", text / f"{test}.{task.target}", compare=others)
    assert found.comparison
    report = {}
    for name, one, tests in zip(models, (found, *found.others), found.comparison.systems.values(), strict=True):
        report[name] = {"BLEU": with_test(one.bleu, tests[0]), "chrF": with_test(one.chrf, tests[1])}
        shown = [f"{key} {value} [{low}, {high}], p {p}" for key, (value, low, high, p, _) in report[name].items()]
        print(f"{test}  {name:14}  {'   '.join(shown)}", flush=True)
    return report


def with_test(score: Score, test: ComparedScore) -> list[float | None]:
    """Value, interval, p by the bootstrap, p by randomisation."""
    numbers = (score.value, score.low, score.high)
    return [*(round(number, 2) for number in numbers), test.p_bootstrap, test.p_randomisation]


def compared(task: Task, text: Path, output: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The systems at one budget: trained, compared, printed; the report of it."""
    peaks = [(rate, warmup) for warmup in options.warmups for rate in options.rates]
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        work = partial(trained, task, text, output, options.seeds, peaks)
        chosen = dict(zip(options.systems, pool.map(work, options.systems), strict=True))

    def folders(seed: int = 1) -> dict[str, Path]:
        best = {name: (chosen[name]["rate"], seed, chosen[name]["warmup"]) for name in options.systems}
        return {name: folder_of(output, name, *peak) for name, peak in best.items()}

    result = compare_runs(list(folders().values()), equal="flops", page=output / "compare.html")
    systems = {one.name: chosen[one.name] | measured(one) for one in result.runs}
    for name, one in systems.items():
        print(
            f"{name:14} {one['parameters'] / 1e6:.2f} M parameters, rate {one['rate']:g}, {one['updates']:,} updates, "
            f"{one['flops']:.2e} operations ({one['formula_flops']:.2e} by the equations), {one['minutes']} min, "
            f"{one['train_tokens_per_second']:,} tokens/s"
        )

    def scores(seed: int = 1) -> dict[str, Any]:
        models = {name: folder / "model" for name, folder in folders(seed).items()}
        return {test: scores_of(models, task, text, test) for test in task.tests}

    report = {"corpus": options.corpus, "signatures": result.tests.signatures, "systems": systems, "tests": scores()}
    if options.seeds > 1:
        report["seeds"] = {seed: scores(seed) for seed in range(2, options.seeds + 1)}
    return report


def main() -> None:
    """Parse, train, print."""
    parser = argparse.ArgumentParser(description="The networks of the paper's comparison, with equal operations.")
    parser.add_argument("corpus", choices=TASKS)
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--steps", type=int, help="Updates of the first; by itself 6,076 or 4,340.")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=USUAL)
    parser.add_argument("--times", type=int, default=1, help="How many times 512 tokens an update has.")
    parser.add_argument("--rates", nargs="+", type=float, default=RATES)
    parser.add_argument("--warmups", nargs="+", type=float, default=[WARMUP], help="Shares of the updates.")
    parser.add_argument("--budgets", nargs="+", type=int, default=[0], help="Powers of 4, as -2 -1 0 1 2.")
    parser.add_argument("--jobs", type=int, default=2, help="How many train at a time, on one thread each.")
    options = parser.parse_args()
    task, output = TASKS[options.corpus], options.output.absolute()
    task = replace(task, steps=options.steps or task.steps, times=options.times)
    text = output / "text"
    if not text.exists():
        with atomic_folder(text) as folder:
            write_text(task, options.data / options.corpus, folder)
    reports = []
    for power in sorted(options.budgets):
        sized = replace(task, steps=max(1, round(task.steps * 4.0**power)))
        reports.append(compared(sized, text, output if power == 0 else output / f"budget{power:+d}", options))
    print(
        json.dumps(
            reports[0] if len(reports) == 1 else {"corpus": options.corpus, "budgets": reports}, ensure_ascii=False
        )
    )


if __name__ == "__main__":
    main()
