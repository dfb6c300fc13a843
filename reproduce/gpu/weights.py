"""The weights that `bundled_models.py --stage students` returned → the model of a run, as training writes it.

    python reproduce/gpu/weights.py RESULTS TEXT en-ko|ko-en RUN [--card-lines 400]

`bundled_models.sh finish` calls it. RESULTS has student-PAIR-N.weights, pieces.model and students.json; TEXT is the
text by domain, of `bundled_text.py write`. RUN/model is scored on the validation text, and has its card, confidence
and golden sentences. Weights of a training that was cut off are taken as they are.
"""

import argparse
import json
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jobs
import torch
from bundled_text import corpora
from trained import outcome_of, read_weights, run_of

from dragoman.bundle import add_files, open_bundle
from dragoman.config import RunConfig
from dragoman.config.file import build_config, dump_config
from dragoman.data.corpus.report import CorpusReport
from dragoman.model.build import build_network
from dragoman.system.files import atomic_folder, write_text_atomically
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.update.distributed import load_parameters
from dragoman.training.update.threads import prepare_process
from dragoman.workflows.data.check import check_with_progress
from dragoman.workflows.listener import Listener, Listeners, Progress
from dragoman.workflows.train.train import write_model

DISTILLED = """\
It learned from a larger model's translations of {distilled:,} of {lines:,} lines (sequence-level distillation, Kim and
Rush 2016) and from what people say, on one {device} next to a second model.

"""


class Printed(Listener):
    """Prints what is done."""

    def on_notice(self, step: int, text: str) -> None:
        print(text, flush=True)

    def on_data(self, reports: Sequence[CorpusReport]) -> None:
        print(f"{sum(report.pairs for report in reports):,} pairs", flush=True)

    def on_progress(self, progress: Progress) -> None:
        if progress.done == progress.total:
            print(f"{progress.task}: {progress.done:,} {progress.unit}", flush=True)


def write_run(results: Path, text: Path, pair: str, run: Path, card_lines: int) -> dict[str, Any]:
    """Write RUN/model; the facts of its training."""
    job = json.loads((results / "students.json").read_bytes())
    facts = job[f"student-{pair}"]
    weights, step = read_weights(results / f"student-{pair}")
    config = configuration(facts["config"], text, pair, run, card_lines)
    run.mkdir(parents=True, exist_ok=True)
    write_text_atomically(run / "config.toml", dump_config(config))
    with atomic_folder(run / "tokenizer") as partial:
        shutil.copy(results / "pieces.model", partial / "joint.model")
    tokenizer = Tokenizer.load(run / "tokenizer")
    model = build_network(config.model, len(tokenizer.source), len(tokenizer.target))
    load_parameters(model, weights)
    prepare_process(config.train.threads, config.model.d_model)
    listener = Listeners([Printed()])
    reports = check_with_progress(config, listener)
    listener.on_data(reports)
    outcome = outcome_of(facts["training"], step)
    write_model(run_of(config, run, torch.device("cpu"), listener, reports), tokenizer, model.eval(), outcome)
    if facts["distilled"]:
        bundle = open_bundle(run / "model")
        card = (bundle.folder / "README.md").read_text(encoding="utf-8")
        taught = DISTILLED.format(**facts | {"device": job["device"]})
        origin = {key: facts[key] for key in ("distilled", "lines")}
        add_files(
            bundle, {"README.md": card.replace("## Training\n\n", f"## Training\n\n{taught}")}, {"taught": origin}
        )
    return {"pair": pair, "step": outcome.step, "loss": outcome.loss, "scores": facts.get("scores")}


def configuration(tree: dict[str, Any], text: Path, pair: str, run: Path, card_lines: int) -> RunConfig:
    """That of the training with the text by domain, for the card."""
    source, target = pair.split("-")
    held_out = {"source": str(text / f"valid.{source}"), "target": str(text / f"valid.{target}")}
    listed = tomllib.loads(f"train = {corpora(text, pair)}")["train"]
    train = [corpus for corpus in listed if Path(corpus["source"]).exists()]
    data = {**tree["data"], "train": train, "valid": held_out}
    keys = {**tree["train"], "output": str(run), "device": "cpu", "card_lines": card_lines, "threads": None}
    return build_config({**tree, "data": data, "train": keys}, "the configuration of the training", jobs.ROOT)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("pair", choices=["en-ko", "ko-en"])
    parser.add_argument("run", type=Path)
    parser.add_argument("--card-lines", type=int, default=400)
    given = parser.parse_args(arguments)
    print(json.dumps(write_run(given.results, given.text.absolute(), given.pair, given.run, given.card_lines)))


if __name__ == "__main__":
    main()
