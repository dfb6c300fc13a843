"""Compare this checkout with an earlier one: the same losses bit for bit, and no slower.

    git worktree add ../before COMMIT
    python benchmarks/train/before_after.py ../before [--rounds 7] [--threads 2] [--steps 200] [--only sentence …]

`losses` trains three small models for `--steps` updates in each checkout (Post-LN; RMSNorm, rotary positions, SwiGLU,
accumulation and R-Drop; bfloat16 with a moving average) and compares the logged losses digit by digit. `training` and
`decoding` start the workers of both checkouts as processes, give them the same batches in turn within every round, and
print the median ratio of their speeds with its spread: above 1 this checkout is faster. `sentence` translates lines of
five words one by one with a bundled model on CTranslate2, and compares the time of a whole call and the processor time
of its Python: CTranslate2 computes in a thread of its own. The text is the embedded corpus. The last line is one JSON
object.
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from shared.levels import machine

HERE = Path(__file__).resolve().parents[2]
PAUSE = 0.3  # seconds; waiting OpenMP threads spin for 0.2 s before they sleep
SENTENCES, TARGET_TOKENS, TRAIN_BATCHES = 64, 16, {"tiny": 4, "base": 1}

RUN = """\
version = 1
[project]
name = "same-losses"
source = "en"
target = "ko"
[data]
train = ["train.tsv"]
valid = "valid.tsv"
[tokenizer]
vocab_size = 1000
[model]
layers = 2
d_model = 64
d_ff = 128
heads = 4
[train]
batch_tokens = 800
log_every = 1
warmup = 50
validate_every = 100
translate_lines = 20
precision = "float32"
threads = 1
"""
MODELS = {
    "post": ["model.norm_order=post"],
    "today": [
        "model.norm=rms",
        "model.positions=rotary",
        "model.feed_forward=swiglu",
        "model.bias=false",
        "train.accumulate=2",
        "train.r_drop=1",
        "tokenizer.kind=bpe",
        "tokenizer.sampling=0.1",
    ],
    "bfloat16": ["train.precision=bfloat16", "train.average=ema", "train.recompute=true"],
}
# Names that both checkouts have; learned pieces and random weights of the base shape are the same in both.
MAKE_BUNDLE = """
import json, sys
from pathlib import Path
import torch
from dragoman.bundle import write_bundle
from dragoman.config import CorpusConfig, DataConfig, ModelConfig, ProjectConfig, RunConfig, TokenizerConfig
from dragoman.model.transformer import Transformer
try:
    from dragoman.data.corpus.corpus import sample_pairs
    from dragoman.text.tokens.tokenizer import learn
except ImportError:  # before the rooms had sub-rooms
    from dragoman.data.corpus import sample_pairs
    from dragoman.text.tokenizer import learn
corpus = CorpusConfig(source=Path(sys.argv[1]))
tokenizer = learn(sample_pairs([corpus], 50_000, 1), TokenizerConfig(kind="bpe", vocab_size=8000))
torch.manual_seed(0)
config = RunConfig(
    project=ProjectConfig(name="random", source="en", target="und"),
    data=DataConfig(train=(corpus,), valid=corpus),
    model=ModelConfig.model_validate({"preset": "paper-base"}),
)
model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target))
write_bundle(Path(sys.argv[2]), config=config, tokenizer=tokenizer, model=model, card="", facts={})
"""

TRANSLATE = """
import json, sys, time
import dragoman
translator = dragoman.Translator.load("en-ko", engine="ctranslate2", threads=1)
print("ready", flush=True)
for request in sys.stdin:
    lines, wall, own = json.loads(request), time.perf_counter(), time.thread_time()
    for line in lines:
        translator.translate(line)
    wall, own = time.perf_counter() - wall, time.thread_time() - own
    print(json.dumps({"call": wall / len(lines), "python": own / len(lines)}), flush=True)
"""
LINES = 40
PARTS = ["losses", "training", "decoding", "sentence"]


def environment(checkout: Path, threads: int) -> dict[str, str]:
    """The process environment in which `checkout` is imported."""
    return os.environ | {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": str(threads)}


class Worker:
    """A worker script of one checkout behind a pipe."""

    def __init__(self, checkout: Path, script: str, arguments: list[str], threads: int, log: Path) -> None:
        path = checkout / "benchmarks" / script
        if not path.exists():  # benchmarks were one folder before
            path = checkout / "benchmarks" / script.replace("/", "_")
        self.start(checkout, [sys.executable, str(path), *arguments, "--threads", str(threads)], threads, log)

    def start(self, checkout: Path, command: list[str], threads: int, log: Path) -> None:
        """Start the process and wait until it is ready."""
        pipe = subprocess.PIPE
        self.log = log
        with log.open("w") as stderr:
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=stderr, text=True, env=environment(checkout, threads)
            )
        self.answer()  # it is ready

    def ask(self, line: str) -> Any:
        """The answer to a request, after a pause in which the other worker's threads fall asleep."""
        time.sleep(PAUSE)
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.answer())

    def answer(self) -> str:
        """The next line that the worker prints."""
        assert self.process.stdout
        if not (line := self.process.stdout.readline()):
            sys.exit(f"a worker ended: {self.log.read_text()[-2000:]}")
        return line

    def speed(self, line: str) -> float:
        """Target tokens per second of a request."""
        answer = self.ask(line)
        return float(answer["tokens"] / answer["seconds"])


def logged_losses(checkout: Path, folder: Path, steps: int) -> dict[str, list[tuple[str, ...]]]:
    """Step, loss and gradient norm of every update of the three models, as printed."""
    embedded = HERE / "src/dragoman/data/embedded"
    folder.mkdir()
    (folder / "run.toml").write_text(RUN)
    for name, count in (("train", 2000), ("valid", 60)):
        lines = gzip.decompress((embedded / f"{name}.tsv.gz").read_bytes()).decode().splitlines(keepends=True)
        (folder / f"{name}.tsv").write_text("".join(lines[:count]), encoding="utf-8")
    losses = {}
    for name, keys in MODELS.items():
        output = folder / name
        command = [sys.executable, "-m", "dragoman", "train", str(folder / "run.toml"), f"train.output={output}"]
        subprocess.run(
            [*command, f"train.max_steps={steps}", *keys], env=environment(checkout, 1), check=True, capture_output=True
        )
        records = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
        losses[name] = [tuple(repr(record.get(key)) for key in ("step", "loss", "gradient_norm")) for record in records]
    return losses


def turns(before: Worker, after: Worker, line: str, rounds: int) -> dict[str, Any]:
    """Both workers in turn within every round, and how many times as fast the second is."""
    for worker in (before, after):
        worker.speed(line)
    pairs = []
    for number in range(rounds):
        order = (before, after) if number % 2 else (after, before)
        speeds = {worker: worker.speed(line) for worker in order}
        pairs.append((speeds[before], speeds[after]))
    ratios = [new / old for old, new in pairs]
    for worker in (before, after):
        worker.process.communicate()
    old, new = (round(statistics.median(column)) for column in zip(*pairs, strict=True))
    ratio = round(statistics.median(ratios), 3)
    return {"before": old, "after": new, "ratio": ratio, "spread": [round(min(ratios), 3), round(max(ratios), 3)]}


def training(old: Path, folder: Path, rounds: int, threads: int) -> dict[str, Any]:
    """Training speed by shape, in float32."""
    from train.speed import write_batches

    batches, results = folder / "batches.json", {}
    write_batches(batches)
    for shape, count in TRAIN_BATCHES.items():
        arguments = [str(batches), "--shape", shape, "--precision", "float32"]
        workers = [
            Worker(checkout, "train/worker.py", arguments, threads, folder / f"{number}.log")
            for number, checkout in enumerate((old, HERE))
        ]
        results[shape] = turns(*workers, f"0 {count}", rounds)
        print(f"training {shape}, tokens/s: {results[shape]}", flush=True)
    return results


def decoding(old: Path, folder: Path, rounds: int, threads: int) -> dict[str, Any]:
    """Decoding speed of the torch engine (paper-base, random weights) and of a bundled model on CTranslate2."""
    from dragoman.bundle import open_bundle
    from dragoman.installed import resolve_model

    corpus, results = HERE / "src/dragoman/data/embedded/test.tsv.gz", {}
    texts = [line.split("\t")[0] for line in gzip.decompress(corpus.read_bytes()).decode().splitlines()[:SENTENCES]]
    forced = {"min": TARGET_TOKENS - 1, "max": TARGET_TOKENS - 1}
    how = {"do": "search", "beam": 4, "alpha": 0.6, "batch": 4096, "apart": False, "single": False}
    for engine in ("torch", "ctranslate2"):
        workers = []
        for number, checkout in enumerate((old, HERE)):
            if engine == "torch":
                bundle = folder / f"bundle-{number}"
                command = [sys.executable, "-c", MAKE_BUNDLE, str(corpus), str(bundle)]
                subprocess.run(command, env=environment(checkout, 1), check=True, capture_output=True)
                arguments = ["torch", str(bundle)]
            else:
                bundle = next((checkout / "src/dragoman").glob("b*/en-ko"))
                arguments = ["ctranslate2", str(bundle), "--network", str(bundle / "ct2-int8")]
            workers.append(Worker(checkout, "decode/worker.py", arguments, threads, folder / f"{number}.log"))
        tokenizer = open_bundle(bundle if engine == "torch" else resolve_model("en-ko")).tokenizer
        request = json.dumps(how | forced | {"ids": tokenizer.encode(texts, "source")})
        results[engine] = turns(*workers, request, rounds)
        print(f"decoding {engine}, tokens/s: {results[engine]}", flush=True)
    return results


class SentenceWorker(Worker):
    """Translates lines one by one."""

    def __init__(self, checkout: Path, log: Path) -> None:
        self.start(checkout, [sys.executable, "-c", TRANSLATE], 1, log)


def sentence(old: Path, folder: Path, rounds: int) -> dict[str, Any]:
    """Seconds of a call with a line of five words, and of the Python in it: before, after, and their ratio."""
    corpus = gzip.decompress((HERE / "src/dragoman/data/embedded/train.tsv.gz").read_bytes()).decode()
    texts = [line.split("\t")[0] for line in corpus.splitlines()]
    request = json.dumps([text for text in texts if len(text.split()) == 5][:LINES])
    before, after = (SentenceWorker(checkout, folder / f"s{n}.log") for n, checkout in enumerate((old, HERE)))
    for worker in (before, after):
        worker.ask(request)
    pairs = [(before.ask(request), after.ask(request)) for _ in range(rounds)]
    for worker in (before, after):
        worker.process.communicate()
    results = {}
    for what in ("call", "python"):
        ratios = [new[what] / past[what] for past, new in pairs]
        results[what] = {
            "before": round(statistics.median(past[what] for past, _ in pairs), 6),
            "after": round(statistics.median(new[what] for _, new in pairs), 6),
            "ratio": round(statistics.median(ratios), 3),
            "spread": [round(min(ratios), 3), round(max(ratios), 3)],
        }
        print(f"a line of five words, seconds of {what}: {results[what]}", flush=True)
    return results


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="checkout of the earlier commit")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--only", nargs="+", choices=PARTS)
    args = parser.parse_args()
    old, chosen = args.old.resolve(), args.only or PARTS
    result: dict[str, Any] = {**machine(), "threads": args.threads}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "losses" in chosen:
            before, after = (
                logged_losses(checkout, folder / f"losses-{number}", args.steps)
                for number, checkout in enumerate((old, HERE))
            )
            result["same_losses"] = {model: before[model] == after[model] for model in before}
            print(f"losses of {args.steps} updates, bit for bit the same: {result['same_losses']}", flush=True)
        if "training" in chosen:
            result["training"] = training(old, folder, args.rounds, args.threads)
        if "decoding" in chosen:
            result["decoding"] = decoding(old, folder, args.rounds, args.threads)
        if "sentence" in chosen:
            result["sentence"] = sentence(old, folder, args.rounds)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
