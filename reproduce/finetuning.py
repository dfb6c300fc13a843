"""Fine-tuning on little text: the gain in a new domain, and the loss in what the base model knew.

    DRAGOMAN_DATA=/path/to/data python reproduce/finetuning.py [BASE] [--pairs 1000 10000] [--only NAME …] [--minutes 6]

BASE is an English-Korean model that has seen no text of the domain `tldr` of `koen_open` (short descriptions of
commands), by default the bundled en-ko. It is fine-tuned on 1,000 and on 10,000 pairs of it by each method of METHODS,
with the configuration that `dragoman init --from BASE` writes, on one thread; general text for replay is that of the
other domains. Scored are the test lines of the domain, and as many of each other domain as `--general` allows in total,
before and after, with paired bootstrap tests. Finished runs are kept under `runs/finetuning` and not repeated. Prints a
Markdown table and, as its last line, one JSON object.
"""

import argparse
import gzip
import json
import os
import random
import sys
from collections import defaultdict
from pathlib import Path

import dragoman
from dragoman.config.file import read_config

DOMAIN = "tldr"
# Lines of the domain for validation during training.
VALID = 200
METHODS = {
    "full weights": [],
    "full weights, replay": ["replay"],
    "full weights, pull": ["train.pull=100"],
    "full weights, replay and pull": ["replay", "train.pull=100"],
    "encoder frozen": ['train.freeze=["encoder"]'],
    "500 new pieces, replay": ["replay", "tokenizer.extend=500"],
    "LoRA": ["train.lora_rank=16", "train.learning_rate=2e-3"],
    "LoRA, replay": ["train.lora_rank=16", "train.learning_rate=2e-3", "replay"],
}
Pairs = list[tuple[str, str]]


def read(data: Path, split: str) -> dict[str, Pairs]:
    """The English-Korean pairs of `koen_open`, by domain."""
    files = [data / "koen_open" / f"{split}.{part}.gz" for part in ("domain", "en", "ko")]
    columns = [gzip.decompress(path.read_bytes()).decode().split("\n")[:-1] for path in files]
    found: dict[str, Pairs] = defaultdict(list)
    for domain, english, korean in zip(*columns, strict=True):
        if english.strip() and korean.strip():
            found[domain.partition(":")[0]].append((english, korean))
    return found


def write(folder: Path, name: str, pairs: Pairs) -> None:
    """A corpus of two files."""
    folder.mkdir(parents=True, exist_ok=True)
    for side, language in enumerate(("en", "ko")):
        (folder / f"{name}.{language}").write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")


def corpus(folder: Path, name: str) -> str:
    """A corpus that `write` wrote, as the value of a key."""
    return f'{{source = "{folder / name}.en", target = "{folder / name}.ko"}}'


def prepare(data: Path, folder: Path, sizes: list[int], general: int) -> None:
    """Training text of each size, validation, both test sets, and general text for replay."""
    rng = random.Random(1)
    train, valid, test = (read(data, split) for split in ("train", "valid", "test"))
    held_out = {english for part in (valid, test) for pairs in part.values() for english, _ in pairs}
    own = [pair for pair in train[DOMAIN] if pair[0] not in held_out]
    rng.shuffle(own)
    for size in sizes:
        write(folder, f"train{size}", own[:size])
    write(folder, "valid", (valid[DOMAIN] + own[max(sizes) :])[:VALID])
    write(folder, "test", test[DOMAIN])
    others = [pair for domain, pairs in sorted(test.items()) if domain != DOMAIN for pair in pairs]
    rng.shuffle(others)
    write(folder, "general.test", others[:general])
    replay = [pair for domain, pairs in sorted(train.items()) if domain != DOMAIN for pair in pairs]
    replay = [pair for pair in replay if pair[0] not in held_out and max(map(len, pair)) < 300]
    rng.shuffle(replay)
    write(folder, "general", replay[: 4 * max(sizes)])


def with_weights(base: Path, folder: Path) -> Path:
    """The base, or if it has no weights a copy that has them."""
    if not (folder / "start/base").exists():
        return dragoman.init_project(folder / "start", start_from=base, pair="en-ko").base or base
    return folder / "start/base"


def fine_tune(base: Path, folder: Path, size: int, method: str, minutes: float) -> dict[str, object]:
    """One run, or what it found when it was made before."""
    where = folder / f"{size}-{method.replace(', ', '-').replace(' ', '_')}"
    result = where / "result.json"
    if result.exists():
        found: dict[str, object] = json.loads(result.read_text())
        return found
    text = folder / "text"
    if not (where / "run.toml").exists():
        dragoman.init_project(where, start_from=base, pair="en-ko")
    keys = [
        f"data.train=[{corpus(text, f'train{size}')}]",
        f"data.valid={corpus(text, 'valid')}",
        f"data.test={corpus(text, 'test')}",
        f"data.general_test={corpus(text, 'general.test')}",
        f"train.max_minutes={minutes}",
        "train.threads=1",
        "train.card_lines=0",
        "train.translate_lines=100",
    ]
    replay = f"data.replay=[{corpus(text, 'general')}]"
    keys += [replay if key == "replay" else key for key in METHODS[method]]
    config, given = read_config(where / "run.toml", keys)
    resume = any((where / "runs").glob("*/checkpoints/0*"))
    run = dragoman.train(config, resume, user_keys=given)
    scores = {(one.on, one.metric): one for one in run.fine_tuning.scores}
    own, general = scores["test", "chrF2"], scores["general_test", "chrF2"]
    found = {
        "pairs": size,
        "method": method,
        "steps": run.outcome.step,
        "minutes": round(run.outcome.seconds / 60, 1),
        "domain": [round(own.before, 1), round(own.after, 1), own.p_value],
        "general": [round(general.before, 1), round(general.after, 1), general.p_value],
    }
    result.write_text(json.dumps(found))
    return found


def main() -> None:
    """Fine-tune by every method and size; print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path, nargs="?", default=Path("en-ko"))
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--only", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--minutes", type=float, default=6.0, help="of training for each run, at most")
    parser.add_argument("--general", type=int, default=500, help="test lines of other domains")
    parser.add_argument("--output", type=Path, default=Path("runs/finetuning"))
    given = parser.parse_args()
    folder = given.output.absolute()
    data = Path(os.environ.get("DRAGOMAN_DATA") or sys.exit("set DRAGOMAN_DATA to the folder of the corpora"))
    if not (folder / "text").exists():
        prepare(data, folder / "text", given.pairs, given.general)
    base = with_weights(given.base, folder)
    rows = []
    print("| pairs | method | domain chrF | | general chrF | | steps | minutes |\n" + "| --- " * 8 + "|")
    for size in given.pairs:
        for method in given.only:
            row = fine_tune(base, folder, size, method, given.minutes)
            rows.append(row)
            (own, after, p), (known, kept, q) = row["domain"], row["general"]  # type: ignore[misc]
            print(
                f"| {size:,} | {method} | {own} → {after} | {after - own:+.1f} (p {p:.3f}) | {known} → {kept} | "
                f"{kept - known:+.1f} (p {q:.3f}) | {row['steps']} | {row['minutes']} |",
                flush=True,
            )
    print(json.dumps({"base": given.base.name, "rows": rows}))


if __name__ == "__main__":
    main()
