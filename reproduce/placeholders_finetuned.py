"""Bundled models fine-tuned with and without symbols for placeholders, for benchmarks/control/placeholders.py.

    DRAGOMAN_DATA=/path/to/data python reproduce/placeholders_finetuned.py PAIR with|without [key=value …]

The two models of a PAIR (`en-ko`, `ko-en`) begin with the same weights and see the same text in the same order: the
training pairs of koen_open with a placeholder on both sides, and as many others. They differ in `data.protect` alone,
so that what they differ by is closer to its effect than between two models from scratch (reproduce/placeholders.sh).
A run that exists is resumed. The models are in `runs/placeholders-PAIR-KIND/model` under RUNS, by default `runs`.
"""

import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import dragoman
from dragoman.text.terms.protect import find_placeholders

LONGEST = 250


def read(data: Path, split: str) -> list[tuple[str, str]]:
    """The English-Korean pairs of a part of koen_open."""
    files = [data / "koen_open" / f"{split}.{side}.gz" for side in ("en", "ko")]
    return list(zip(*(gzip.decompress(file.read_bytes()).decode().split("\n")[:-1] for file in files), strict=True))


def write(folder: Path, name: str, pairs: list[tuple[str, str]]) -> None:
    """A corpus of two files."""
    folder.mkdir(parents=True, exist_ok=True)
    for side, language in enumerate(("en", "ko")):
        (folder / f"{name}.{language}").write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")


def prepare(data: Path, folder: Path) -> None:
    """Training text: all pairs with placeholders on both sides, as many without; validation text the same way."""
    for split in ("train", "valid"):
        pairs = [pair for pair in read(data, split) if all(0 < len(side) < LONGEST for side in pair)]
        random.Random(1).shuffle(pairs)
        found = [all(find_placeholders(side) for side in pair) for pair in pairs]
        own = [pair for pair, has in zip(pairs, found, strict=True) if has]
        others = [pair for pair, has in zip(pairs, found, strict=True) if not has]
        chosen = [pair for both in zip(own, others, strict=False) for pair in both]
        if split == "valid":
            write(folder, "test", chosen[::5])
            chosen = [pair for number, pair in enumerate(chosen) if number % 5]
        write(folder, split, chosen)
        print(f"{split}: {len(own):,} pairs with placeholders, as many others", file=sys.stderr)


def main() -> None:
    """Train one model, or resume it; the last line is its folder as JSON."""
    pair, kind, *keys = sys.argv[1:]
    source, target = pair.split("-")
    runs = Path(os.environ.get("RUNS", "runs")).absolute()
    text, run = runs / "placeholders-text", runs / f"placeholders-{pair}-{kind}"
    if not (text / "valid.ko").exists():
        prepare(Path(os.environ["DRAGOMAN_DATA"]), text)
    if not (run / "run.toml").exists():
        dragoman.init_project(run, start_from=Path(pair), pair=pair)
    corpora = {
        name: f'{{source = "{text / name}.{source}", target = "{text / name}.{target}"}}'
        for name in ("train", "valid", "test")
    }
    keys = [
        f"data.train=[{corpora['train']}]",
        f"data.valid={corpora['valid']}",
        f"data.test={corpora['test']}",
        f"data.protect={'true' if kind == 'with' else 'false'}",
        "data.augment.placeholders=0.1",  # planted in both, so that the texts are the same
        "train.threads=1",
        "train.average_count=1",
        *keys,
    ]
    resume = ["--resume"] if any((run / "runs").glob("*/checkpoints/0*")) else []
    subprocess.run([sys.executable, "-m", "dragoman", "train", str(run / "run.toml"), *keys, *resume], check=True)
    print(json.dumps({"models": [str(one) for one in run.glob("runs/*/model")]}))


if __name__ == "__main__":
    main()
