"""How fast whole training steps are, beside JoeyNMT, Eole, Hugging Face's Marian and PyTorch's own Transformer.

    python benchmarks/train/speed.py [--quick] [--shapes tiny base] [--threads 2] [--rounds 5] [--no-peers]
                                     [--levels native avx512 avx2] [--architecture rnn|convs2s]

The same batches (4,096 tokens each, one vocabulary), architecture, dropout and threads for all; a step is forward,
label-smoothed loss, backward and Adam. tiny is 4 + 4 layers of width 128, base 6 + 6 of width 512. Text is Multi30k's
en→de if DRAGOMAN_DATA names the folder that holds multi30k/, else the embedded corpus. Every toolkit is a process of
its own, the peers' in an environment that this script makes once from `peers/train-requirements.txt`.

Each peer first trains in float32 and in bfloat16 where it can, and the faster counts: on the batches of a round, with
--quick on a smaller batch. Where the processor emulates bfloat16 nobody trains in it. All are warmed up on the very
batches that are timed, then take turns within every round. Printed are target tokens/s, peak memory, and how many times
as fast ours is in the same round: medians, and the spread. In every round the matrix products of our steps are timed
alone too, with the same threads and precision: `share_of_peak` is what part of our time they would take.

--architecture takes a recurrent model beside JoeyNMT's (LSTM, general attention, input feeding), or ConvS2S beside the
same formulas in plain PyTorch, as fairseq computes them. The peers get our weights first, and all must give the same
log-likelihood of a batch. --levels runs all of this once for each level of
`levels.py`. The last line is one JSON object; it names the processor and its level.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).parents[1]))
from shared.levels import LEVELS, emulates_bfloat16, machine, run_at_levels

from dragoman.config import CorpusConfig, DataConfig, TokenizerConfig
from dragoman.data.batches.stream import BatchStream
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, learn

BENCHMARKS = Path(__file__).parents[1]
ENVIRONMENT = BENCHMARKS / "peers/environment"
TORCH = "torch==2.13.0"
BATCH_TOKENS = 4096
# Per shape: batches of a round, without and with --quick.
TURN = {"tiny": 6, "base": 2}
QUICK_TURN = {"tiny": 4, "base": 1}
# The batch after those of a round is of so many tokens: with --quick a peer's precision is chosen on it.
TRIAL, TRIAL_TOKENS = max(TURN.values()), 512
PEERS = {
    "transformer": ("joeynmt", "eole", "marian", "pytorch"),
    "rnn": ("joeynmt-rnn",),
    "convs2s": ("conv1d",),
}
# The mean of log-likelihoods of about 8 nats, in float32 by sums in other orders.
SAME = 1e-4
NEVER = {("joeynmt", "bfloat16"), ("joeynmt-rnn", "bfloat16")}  # its configuration turns half precision off on a CPU


@dataclass
class Worker:
    """A toolkit in a process of its own, and what it has shown."""

    name: str
    process: subprocess.Popen[str]
    peak_mb: float = 0.0
    precision: str = ""
    seconds: float = 0.0
    """Of the batches that it trained on last."""
    nll: float = 0.0
    """Of a batch, before anything was learned."""
    speeds: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    """Of the time of a step, what its matrix products take alone."""

    @classmethod
    def start(
        cls, name: str, precision: str, batches: Path, shape: str, threads: int, architecture: str = "transformer"
    ) -> Self:
        """Launch it and wait until it is ready."""
        options = ["--shape", shape, "--threads", str(threads), "--precision", precision]
        if architecture != "transformer":
            options += ["--weights", str(batches.with_name(f"{shape}.pt"))]
            options += ["--architecture", architecture] if name == "dragoman" else []
        if name == "dragoman":
            command = [sys.executable, str(BENCHMARKS / "train/worker.py"), str(batches), *options]
        else:
            python = ENVIRONMENT / "bin/python"
            command = [str(python), str(BENCHMARKS / "peers/train_worker.py"), name, str(batches), *options]
        # Threads are to wait busily for each other in none, or in all.
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        pipe, log = subprocess.PIPE, (BENCHMARKS / f"peers/environment/{name}.log").open("w")
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True, env=environment)
        worker = cls(f"{name} {precision}" if name != "dragoman" else name, process, precision=precision)
        if worker._line().strip() != "ready":
            sys.exit(f"{name} did not start; {log.name} says why")
        if architecture != "transformer":
            worker.nll = worker.log_likelihood(TRIAL)
        return worker

    def train(self, batches: int, first: int = 0) -> float:
        """Train on so many batches from the `first` on; target tokens/s."""
        answer = self._answer(f"{first} {first + batches}")
        self.peak_mb = answer["peak_mb"]
        self.precision = answer.get("precision", self.precision)  # ours may choose
        self.seconds = float(answer["seconds"])
        return float(answer["tokens"] / answer["seconds"])

    def compare_with_products(self, batches: int) -> None:
        """Time the products of the batches that it has just trained on."""
        alone = self._answer(f"products 0 {batches}")["seconds"]
        if alone is not None:
            self.shares.append(alone / self.seconds)

    def log_likelihood(self, batch: int) -> float:
        """The mean log-likelihood of a target token, negative."""
        return float(self._answer(f"check {batch}")["nll"])

    def stop(self) -> None:
        """End the process."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()

    def _answer(self, request: str) -> dict[str, Any]:
        assert self.process.stdin
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._line())
        return answer

    def _line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()


def make_environment() -> None:
    """The peers' own environment, once."""
    made = ENVIRONMENT / "made"
    if made.exists():
        return
    print("making the peers' environment", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
    pip = [str(ENVIRONMENT / "bin/pip"), "install", "--quiet"]
    subprocess.run([*pip, TORCH], check=True)
    subprocess.run([*pip, "--no-deps", "-r", str(BENCHMARKS / "peers/train-requirements.txt")], check=True)
    made.touch()


def write_batches(path: Path) -> str:
    """Batches for every toolkit, as ids; what text they are of."""
    if folder := os.environ.get("DRAGOMAN_DATA"):
        text = Path(folder) / "multi30k"
        train = CorpusConfig(source=text / "train.en.gz", target=text / "train.de.gz")
        name, size = "Multi30k en-de", 10_000
    else:
        train = CorpusConfig(source=BENCHMARKS.parent / "src/dragoman/data/embedded/train.tsv.gz")
        name, size = "embedded en-ko", 8_000
    data = DataConfig(train=(train,), valid=train)
    tokenizer = learn(sample_pairs(data.train, 50_000, 1), TokenizerConfig(kind="bpe", vocab_size=size))
    stream = BatchStream(data, tokenizer, batch_tokens=BATCH_TOKENS, seed=1)
    batches = [stream.next_update(1).batches[0] for _ in range(TRIAL)]
    batches.append(BatchStream(data, tokenizer, batch_tokens=TRIAL_TOKENS, seed=1).next_update(1).batches[0])
    rows = [{side: getattr(batch, side).tolist() for side in ("src", "tgt_in", "tgt_out")} for batch in batches]
    marks = {"vocab": len(tokenizer.source), "pad": PAD, "bos": BOS, "eos": EOS}
    path.write_text(json.dumps(marks | {"batches": rows}))
    return f"{name}, {len(tokenizer.source):,} pieces"


def start_faster(name: str, batches: Path, shape: str, threads: int, quick: bool, architecture: str) -> Worker:
    """The peer in the precision that it trains faster in on this processor, found by a trial."""
    precisions = ["float32"]
    if (name, "bfloat16") not in NEVER and not emulates_bfloat16():
        precisions.append("bfloat16")
    best, most = None, 0.0
    for precision in precisions:
        worker = Worker.start(name, precision, batches, shape, threads, architecture)
        if len(precisions) > 1:
            part = (1, TRIAL) if quick else (TURN[shape], 0)
            worker.train(*part)
            speed = max(worker.train(*part) for _ in range(2))
            print(f"trial: {shape} {name} {precision}: {speed:,.0f} tokens/s, {worker.peak_mb:,.0f} MB", flush=True)
            if best and speed <= most:
                worker.stop()
                continue
            most = speed
        if best:
            best.stop()
        best = worker
    assert best
    return best


def compare(
    batches: Path, shape: str, threads: int, rounds: int, quick: bool, names: Sequence[str], architecture: str
) -> dict[str, Any]:
    """Ours and the peers `names` in turns, some rounds."""
    turn = (QUICK_TURN if quick else TURN)[shape]
    workers = [Worker.start("dragoman", "auto", batches, shape, threads, architecture)]
    workers += [start_faster(name, batches, shape, threads, quick, architecture) for name in names]
    if architecture != "transformer":
        require_equal(workers)
    for worker in workers:
        worker.train(turn)
    for _ in range(rounds):
        for worker in workers:
            worker.speeds.append(worker.train(turn))
            if worker is workers[0]:
                worker.compare_with_products(turn)
    for worker in workers:
        worker.stop()
    ours, *peers = workers
    print(f"\n{shape}: target tokens/s, peak MB, ours is … times as fast")
    result: dict[str, Any] = {}
    ratios: dict[str, float] = {}
    for worker in workers:
        each = [mine / theirs for mine, theirs in zip(ours.speeds, worker.speeds, strict=True)]
        ratios[worker.name] = statistics.median(each)
        speed = statistics.median(worker.speeds)
        spread = f"{ratios[worker.name]:5.2f} [{min(each):.2f}-{max(each):.2f}]"
        print(f"  {worker.name:18} {speed:8,.0f} {worker.peak_mb:8,.0f}   {spread}")
        result[worker.name] = {
            "tokens_per_second": round(speed),
            "mb": worker.peak_mb,
            "precision": worker.precision,
            "ours_is": ratios[worker.name],
        }
    if ours.shares:
        share = statistics.median(ours.shares)
        print(f"  matrix products alone take {share:.2f} [{min(ours.shares):.2f}-{max(ours.shares):.2f}] of our time")
        result["dragoman"]["share_of_peak"] = round(share, 2)
    if not peers:
        return {"all": result}
    fastest = min(peers, key=lambda worker: ratios[worker.name])
    joeynmt = next((worker for worker in peers if worker.name.startswith("joeynmt")), fastest)
    return {
        f"vs_{joeynmt.name.split()[0].partition('-')[0]}": round(ratios[joeynmt.name], 2),
        "vs_fastest_peer": round(ratios[fastest.name], 2),
        "fastest_peer": fastest.name,
        "memory_vs_fastest_peer": round(ours.peak_mb / fastest.peak_mb, 2),
        "all": result,
    }


def require_equal(workers: Sequence[Worker]) -> None:
    """End the program unless all models, which have our weights, give a batch the same log-likelihood."""
    found = {worker.name: worker.nll for worker in workers}
    print("negative log-likelihood with the same weights: " + ", ".join(f"{n} {v:.6f}" for n, v in found.items()))
    if max(found.values()) - min(found.values()) > SAME * max(found.values()):
        sys.exit("the models do not compute the same")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="ends within 5 minutes")
    parser.add_argument("--shapes", nargs="+", choices=TURN, default=list(TURN))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--architecture", choices=PEERS, default="transformer")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--no-peers", action="store_true", help="ours alone")
    parser.add_argument("--levels", nargs="+", choices=LEVELS, help="imitate these processors, one after the other")
    args = parser.parse_args()
    if args.levels:
        rest = ["--shapes", *args.shapes, "--threads", str(args.threads), "--architecture", args.architecture]
        rest += ["--quick"] * args.quick + ["--no-peers"] * args.no_peers
        rest += ["--rounds", str(args.rounds)] if args.rounds else []
        print(json.dumps({"levels": run_at_levels(args.levels, __file__, rest)}))
        return
    if args.no_peers:
        ENVIRONMENT.mkdir(exist_ok=True)  # the logs are there
    else:
        make_environment()
    names = () if args.no_peers else PEERS[args.architecture]
    with tempfile.TemporaryDirectory() as folder:
        batches = Path(folder) / "batches.json"
        text = write_batches(batches)
        print(f"{text}; {args.threads} threads, batches of {BATCH_TOKENS:,} tokens")
        rounds = args.rounds or (3 if args.quick else 5)
        how = (args.threads, rounds, args.quick, names, args.architecture)
        results = {shape: compare(batches, shape, *how) for shape in args.shapes}
    known = {"architecture": args.architecture, "text": text, "threads": args.threads}
    print(json.dumps({**known, **machine(), **results}))


if __name__ == "__main__":
    main()
