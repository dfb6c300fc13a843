"""The mean of a bundled model's weights before and after a training, as the model of a run of its own.

    python reproduce/bundled_mean.py START RUN TEXT OUT [--share 0.65]

START is the model that RUN's training started from, or one of its ancestors. OUT/model has SHARE times the weights of
RUN/model and 1 − SHARE times those of START (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models"): what a
short training on little text learns, with less of what it unlearns. It is scored on the validation text of TEXT
(`bundled_text.py write`), which people wrote, and has its card, confidence and golden sentences. The last line is one
JSON object.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from dragoman.bundle import Bundle, add_files, open_bundle
from dragoman.config.file import dump_config, load_config
from dragoman.errors import DragomanError
from dragoman.system.files import write_text_atomically
from dragoman.training.report.reports import Outcome
from dragoman.training.update.threads import prepare_process
from dragoman.workflows.data.check import check_with_progress
from dragoman.workflows.listener import Listeners
from dragoman.workflows.train.train import write_model

sys.path.insert(0, str(Path(__file__).parent / "gpu"))
from trained import run_of
from weights import Printed

MIXED = """\
Its weights are {share:g} times those after the training below and {rest:g} times those of a model before it (Wortsman
et al. 2022); step, loss and time are of that training.

"""


def write_mean(start: Bundle, run: Path, text: Path, out: Path, share: float) -> None:
    """Write OUT/model."""
    trained = open_bundle(run / "model")
    alike = start.manifest["languages"] == trained.manifest["languages"]
    if not alike or start.tokenizer.sha256 != trained.tokenizer.sha256:
        sys.exit(f"{start.folder}: not of the languages and tokenizer of {trained.folder}; give its start")
    before, after = start.load_model().eval(), trained.load_model().eval()
    others = dict(before.named_parameters())
    with torch.no_grad():
        for name, weight in after.named_parameters():
            weight.lerp_(others[name], 1 - share)
    project = load_config(run / "config.toml").project
    valid = ", ".join(f"{side} = '{text}/valid.{getattr(project, side)}'" for side in ("source", "target"))
    config = load_config(run / "config.toml", [f"train.output={out}", f"data.valid={{{valid}}}"])
    out.mkdir(parents=True, exist_ok=True)
    write_text_atomically(out / "config.toml", dump_config(config))
    shutil.copytree(run / "tokenizer", out / "tokenizer", dirs_exist_ok=True)
    prepare_process(config.train.threads, config.model.d_model)
    listener = Listeners([Printed()])
    reports = check_with_progress(config, listener)
    facts = trained.manifest["training"]
    outcome = Outcome(**{**facts, "averaged": tuple(facts["averaged"])})
    write_model(run_of(config, out, torch.device("cpu"), listener, reports), trained.tokenizer, after, outcome)
    bundle = open_bundle(out / "model")
    card = (bundle.folder / "README.md").read_text(encoding="utf-8")
    mixed = MIXED.format(share=share, rest=round(1 - share, 9))
    add_files(
        bundle, {"README.md": card.replace("## Training\n\n", f"## Training\n\n{mixed}")}, {"mean": {"share": share}}
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("start", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--share", type=float, default=0.65)
    given = parser.parse_args(arguments)
    if not 0 <= given.share <= 1:
        parser.error(f"--share {given.share:g}: give a number from 0 to 1")
    try:
        write_mean(open_bundle(given.start), given.run, given.text.absolute(), given.out.absolute(), given.share)
    except DragomanError as error:
        sys.exit(str(error))
    print(json.dumps({"model": str(given.out / "model"), "share": given.share}))


if __name__ == "__main__":
    main()
