"""The bundled models in two quarters of an hour: a teacher of both directions, its translations, then two students.

    python reproduce/gpu/bundled_models.py --stage teacher  --out FOLDER [--text FOLDER]
    python reproduce/gpu/bundled_models.py --stage students --out FOLDER [--text FOLDER] [--distilled FOLDER …]
    python reproduce/gpu/bundled_models.py --stage teacher-weights --half 1|2 --out FOLDER

`teacher` needs what `pack.py text` packed. It trains `base` on both directions until its part of the time is over, and
translates both sides of the text (distilled.py): FOLDER/distilled.PAIR.N.xz, also in runs/gpu/work/distilled, where
`students` finds it on the same machine. `teacher-weights` then returns the teacher itself, in halves.

`students` trains en-ko and ko-en at the same time, each in a process, on the translations and on what people say; and
without translations on what people wrote. FOLDER/student-PAIR-N.weights are its weights, every minute
`.partial`. `bundled_models.sh finish PAIR FOLDER` makes the bundled model of them, on a CPU.

`--device cpu --stage students --seconds 36000` trains them without a GPU. The last line is JSON.
"""

import argparse
import json
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import jobs
import torch
from bundled_text import SIDES
from distilled import DistilledText, Distiller, read_translations
from pack import STUDENTS, TEACHER, PackedText, write_corpora
from trained import train_until, write_weights

from dragoman.config import DecodeConfig, RunConfig
from dragoman.config.file import build_config
from dragoman.engine import queries
from dragoman.engine.torch import TorchEngine
from dragoman.evaluation import bleu, chrf
from dragoman.text.tokens.tokenizer import Tokenizer

PAIRS = ("en-ko", "ko-en")
WORK = jobs.CARRIED / "work"
# Of the time of a teacher, what its translations get; and the end of a job, in which nothing is started.
TRANSLATING, ENDING = 0.3, 0.03
# Positions of a batch of the teacher's search on a GPU: some thousands of sentences.
SEARCH_TOKENS = 65_536
# Validation lines whose translations a student is scored by, at most.
SCORED = 400
TINY = {"layers": 1, "d_model": 32, "d_ff": 64, "heads": 2}


def configuration(job: jobs.Job, name: str, data: dict[str, Any], model: dict[str, Any], **keys: Any) -> RunConfig:
    """That of configs/bundled.toml with other text, another network and other keys of [train]."""
    tree = tomllib.loads((jobs.ROOT / "configs/bundled.toml").read_text(encoding="utf-8"))
    source, target = name.split("-")[:2]
    on_gpu = job.device.type == "cuda"
    tree["project"] |= {"name": name, "source": source, "target": target}
    tree["data"] |= data
    tree["model"] |= model
    tree["train"] |= {"device": job.device.type, "compile": False, "precision": "bfloat16" if on_gpu else "float32"}
    tree["train"] |= {"threads": max(1, jobs.processors() // len(PAIRS)), **keys}
    if job.rehearse:
        tree["model"] = TINY
        tree["train"] |= {"batch_tokens": 512, "warmup": 5, "log_every": 5, "threads": 1, "learning_rate": 1e-2}
        tree["decode"] |= {"extra_length": 5}
    return build_config(tree, "configs/bundled.toml", jobs.ROOT / "configs")


# --- the teacher ----------------------------------------------------------------------------------------------------


def teach(job: jobs.Job, folder: Path, work: Path) -> None:
    """Train the teacher, and translate the text with it."""
    text, tokenizer = PackedText.read(folder), Tokenizer.load(folder / TEACHER)
    config = teacher_configuration(job, text, work)
    distiller = Distiller(job, tokenizer, work / "distilled", config.data.max_length)
    job.note(stage="training the teacher", lines=len(text.train["en"]), pieces=len(tokenizer.source))
    seconds = job.left - (TRANSLATING + ENDING) * job.seconds
    trained = train_until(job, config, tokenizer, work / "teacher", seconds)
    job.note(stage="translating")
    weights = dict(trained.model.named_parameters())
    options = config.decode.model_copy(update={"n_best": config.decode.beam, "batch_tokens": batch_tokens(job)})
    en, ko = (text.train[side] for side in SIDES)
    directions = [DistilledText("en-ko", en, ko), DistilledText("ko-en", ko, en)]
    distiller.translate(TorchEngine(trained.model, job.device), directions, options, ENDING * job.seconds)
    save_teacher(work, weights, trained.outcome.step)
    job.end(stage="finished")


def teacher_configuration(job: jobs.Job, text: PackedText, work: Path) -> RunConfig:
    """`base` for both directions: the letters of a source say which way it goes (`bundled_models.sh both`)."""
    train = [
        corpus for pair in PAIRS for corpus in write_corpora(work / "text", f"people-{pair}", pair, text.people(pair))
    ]
    held_out = [row for pair in PAIRS for row in text.held_out(pair)]
    (valid,) = write_corpora(work / "text", "valid-both", "source-target", {1.0: held_out})
    keys = {"batch_tokens": 8192, "learning_rate": 1e-3, "warmup": 1000, "clip_norm": 1.0, "ema_decay": 0.999}
    return configuration(job, "en-ko-teacher", {"train": train, "valid": valid}, {"preset": "base"}, **keys)


def batch_tokens(job: jobs.Job) -> int:
    """The size of a batch of the search."""
    return SEARCH_TOKENS if job.device.type == "cuda" else DecodeConfig().batch_tokens


def save_teacher(work: Path, weights: dict[str, torch.Tensor], step: int) -> None:
    """Keep the teacher on this machine."""
    torch.save({"step": step, "weights": {name: tensor.detach().cpu() for name, tensor in weights.items()}}, work / "t")
    (work / "t").replace(work / "teacher.pt")


def return_half(job: jobs.Job, work: Path, half: int) -> None:
    """Return one half of the teacher's weights: all together are more than one job may return."""
    saved = torch.load(work / "teacher.pt")
    names = sorted(saved["weights"])
    sizes = [saved["weights"][name].numel() for name in names]
    middle = next(n for n in range(len(names)) if sum(sizes[: n + 1]) >= sum(sizes) / 2)
    part = names[: middle + 1] if half == 1 else names[middle + 1 :]
    write_weights(job.out / f"teacher-half{half}", {name: saved["weights"][name] for name in part}, saved["step"])
    job.end(step=saved["step"])


# --- the students ---------------------------------------------------------------------------------------------------


def teach_students(job: jobs.Job, arguments: argparse.Namespace) -> None:
    """Both students at the same time, each in a process that writes into the folder of this job."""
    (job.out / "pieces.model").write_bytes((arguments.text / STUDENTS / "joint.model").read_bytes())
    notes = arguments.work / "notes"
    notes.mkdir(parents=True, exist_ok=True)
    processes = {}
    for pair in PAIRS:
        (notes / f"student-{pair}.json").unlink(missing_ok=True)
        seconds = job.left - ENDING * job.seconds
        command = [sys.executable, __file__, "--stage", "student", "--pair", pair, "--out", str(notes)]
        command += ["--results", str(job.out), "--device", job.device.type, "--seconds", str(seconds)]
        command += ["--text", str(arguments.text), "--work", str(arguments.work)]
        command += [f"--distilled={folder}" for folder in arguments.distilled] + ["--rehearse"] * job.rehearse
        processes[pair] = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while any(process.poll() is None for process in processes.values()):
        time.sleep(min(5.0, job.minute / 6))
        job.note(**read_notes(notes))
    job.end(**read_notes(notes), ended={pair: process.returncode for pair, process in processes.items()})


def read_notes(folder: Path) -> dict[str, Any]:
    """What the students have written down."""
    found = {}
    for pair in PAIRS:
        try:
            found[f"student-{pair}"] = json.loads((folder / f"student-{pair}.json").read_bytes())
        except (OSError, ValueError):
            continue
    return found


def teach_student(job: jobs.Job, arguments: argparse.Namespace) -> None:
    """One student: its weights are written every minute, and at the end."""
    pair, work = arguments.pair, arguments.work
    text, tokenizer = PackedText.read(arguments.text), Tokenizer.load(arguments.text / STUDENTS)
    translations = read_translations(arguments.distilled, pair)
    config = student_configuration(job, text, translations, pair, work)
    job.note(stage="training", lines=len(text.train[SIDES[0]]), distilled=len(translations))
    tree = config.model_dump(mode="json", exclude_none=True)
    job.note(config={**tree, "data": {**tree["data"], "train": []}})
    seconds = job.left - 2 * ENDING * job.seconds
    trained = train_until(job, config, tokenizer, work / job.name, seconds, arguments.results / job.name)
    job.note(stage="scoring")
    sources, references = (text.valid[side][:SCORED] for side in pair.split("-"))
    engine = TorchEngine(trained.model, job.device)
    found = engine.translate(queries(tokenizer.encode(sources, "source")), config.decode)
    texts = tokenizer.decode([beam[0].tokens for beam in found], "target")
    scores = {score.name: round(score.value, 2) for score in (bleu(texts, references), chrf(texts, references))}
    job.end(stage="finished", scores=scores, lines_scored=len(texts))


def student_configuration(
    job: jobs.Job, text: PackedText, translations: dict[int, str], pair: str, work: Path
) -> RunConfig:
    """A bundled model on the translations and on what people say, or on what people wrote."""
    folder = work / "text"
    train = write_corpora(folder, f"student-{pair}", pair, text.people(pair, deciding=bool(translations)))
    if translations:
        train += write_corpora(folder, f"distilled-{pair}", pair, text.distilled(pair, translations))
    (valid,) = write_corpora(folder, f"valid-{pair}", pair, {1.0: text.held_out(pair)})
    keys = {"batch_tokens": 4096} if job.device.type == "cuda" else {}
    return configuration(job, pair, {"train": train, "valid": valid}, {}, **keys)


def main() -> None:
    """One stage."""
    parser = jobs.parser(__doc__)
    parser.add_argument("--stage", required=True, choices=["teacher", "students", "student", "teacher-weights"])
    parser.add_argument("--text", type=Path, default=jobs.CARRIED / "text", help="what `pack.py text` wrote")
    parser.add_argument("--work", type=Path, default=WORK, help="what stays on this machine for the next stage")
    parser.add_argument("--distilled", type=Path, action="append", help="folders of translations")
    parser.add_argument("--half", type=int, choices=[1, 2], default=1)
    parser.add_argument("--pair", choices=PAIRS, help="of a student")
    parser.add_argument("--results", type=Path, help="where a student writes its weights")
    arguments = parser.parse_args()
    arguments.distilled = arguments.distilled or [arguments.work / "distilled"]
    arguments.work.mkdir(parents=True, exist_ok=True)
    name = f"student-{arguments.pair}" if arguments.stage == "student" else arguments.stage
    job = jobs.start(name, arguments)
    match arguments.stage:
        case "teacher":
            teach(job, arguments.text, arguments.work)
        case "students":
            teach_students(job, arguments)
        case "student":
            teach_student(job, arguments)
        case _:
            return_half(job, arguments.work, arguments.half)


if __name__ == "__main__":
    main()
