"""Training and translating next to peers on one GPU: the same text, the same shape, in turns, in one run.

    python reproduce/gpu/peers.py --out FOLDER [--text FOLDER] [--only training|decoding]

Training: Dragoman, eager and compiled, PyTorch's `nn.Transformer`, eager and compiled, Hugging Face's Marian, JoeyNMT
and Eole, each in 16 bits as it does it by itself. The shape is paper-base with 4,096 and 25,000 target tokens per
update, then the width of paper-big with 12,500. Peers get rectangles of similar lengths, already on the GPU; ours reads
the text. Every system is a process; in every round each trains for TURN seconds after an update that is not timed.
Target tokens/s without padding: median, least and most, the ratio to ours compiled, MFU from each pair's own lengths.

Translating: the torch engine by recorded steps and by steps of the host, Marian's `generate` and JoeyNMT's search with
the same random weights of paper-base, beam 4, 24 tokens, and for each the best of three sizes of a batch.

The text is that of `pack.py text`, else the embedded corpus. What is not installed is a row that says so. The rows so
far are in FOLDER/peers.json after every round. The last line is JSON.
"""

import json
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import jobs
import torch
from dragoman_worker import SHAPES
from pack import TEACHER, PackedText

from dragoman.bundle import Bundle, open_bundle, write_bundle
from dragoman.config import CorpusConfig, DataConfig, ModelConfig, ProjectConfig, RunConfig, TokenizerConfig
from dragoman.data.batches.stream import BatchStream
from dragoman.data.corpus.corpus import embedded_pairs
from dragoman.model.parts.norm import EPSILON
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, learn
from dragoman.training.cost.flops import peak_flops, training_flops

BENCHMARKS = jobs.ROOT / "benchmarks"
ROUNDS, TURN = 3, 2.0
# Pairs of the text; batches of each size that peers train on.
PAIRS, BATCHES = 100_000, 4
OURS = "dragoman compiled"
# What the torch engine is called, by who starts the operations of a step.
SEARCHES = {"dragoman": "device", "dragoman, by the host": "host"}
PEERS = ("pytorch", "compiled", "marian", "joeynmt", "eole")
# The packages of those that are not PyTorch's.
PACKAGES = {"marian": "transformers", "joeynmt": "joeynmt", "eole": "eole"}
# Shapes with the target tokens per update, and the seconds that have to be left to begin.
Plan = tuple[tuple[str, tuple[int, ...], float], ...]
PLAN: Plan = (("base", (4096, 25_000), 0.0), ("big", (12_500,), 120.0))
REHEARSAL: Plan = (("tiny", (256,), 0.0),)
# Translating: sizes of a batch in tokens, sentences at most, tokens of each translation.
SIZES, SENTENCES, TOKENS, BEAM = (4096, 16_384, 65_536), 4096, 24, 4
DECODING = 0.22
"""The part of the time that is left for it."""


@dataclass
class System:
    """A toolkit in a process of its own, which answers lines."""

    name: str
    process: subprocess.Popen[str]
    log: Path
    answers: "queue.Queue[str | None]" = field(default_factory=queue.Queue)
    speeds: list[float] = field(default_factory=list)
    peak_mb: float | None = None
    steps: int = 0
    batch: int = 0
    """Tokens of a batch of its search."""
    ready: bool = False
    error: str = ""

    @classmethod
    def start(cls, name: str, command: Sequence[object], folder: Path) -> "System":
        """Start it; `ask` waits until it is ready."""
        log = folder / f"{name}.log"
        pipe = subprocess.PIPE
        process = subprocess.Popen([*map(str, command)], stdin=pipe, stdout=pipe, stderr=log.open("w"), text=True)
        system = cls(name, process, log)
        assert process.stdout
        threading.Thread(target=_forward, args=(process.stdout, system.answers), daemon=True).start()
        return system

    def is_ready(self, timeout: float) -> bool:
        """Whether it has started, which is waited for."""
        self.ready = self.ready or (not self.error and self.line(timeout) is not None)
        return self.ready and not self.error

    def line(self, timeout: float) -> str | None:
        """Its next line; None, and an error, if it has ended or is late."""
        try:
            answer = self.answers.get(timeout=max(0.1, timeout))
        except queue.Empty:
            self.stop(f"no answer in {timeout:.0f} s")
            return None
        if answer is None:
            self.stop(_last_line(self.log))
        return answer

    def ask(self, request: str, timeout: float) -> dict[str, Any]:
        """Its answer to a line; empty, and an error, if there is none."""
        assert self.process.stdin
        try:
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
        except OSError:
            self.stop(_last_line(self.log))
            return {}
        answer = self.line(timeout)
        return {} if answer is None else json.loads(answer)

    def stop(self, error: str = "") -> None:
        """End the process."""
        self.error = self.error or error
        self.process.kill()
        self.process.wait()


def _forward(lines: IO[str], answers: "queue.Queue[str | None]") -> None:
    for line in lines:
        answers.put(line)
    answers.put(None)


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else "ended without a message"


# --- the text ---------------------------------------------------------------------------------------------------------


def write_text(job: jobs.Job, packed: Path, folder: Path) -> Tokenizer:
    """Write train.*, valid.* and the tokenizer into `folder`."""
    most = 400 if job.rehearse else PAIRS
    if (packed / "domains.json").exists():
        text, tokenizer = PackedText.read(packed), Tokenizer.load(packed / TEACHER)
        pairs = list(zip(text.train["en"], text.train["ko"], strict=True))
        pairs = pairs[:: max(1, len(pairs) // most)]
        job.note(text="the text of the bundled models")
    else:
        pairs = [(pair.source, pair.target) for pair in embedded_pairs("train")][:most]
        tokenizer = learn(pairs, TokenizerConfig(kind="bpe", vocab_size=1600 if job.rehearse else 8000))
        job.note(text="the embedded corpus")
    for name, rows in (("train", pairs), ("valid", pairs[:50])):
        for side, lines in zip(("en", "ko"), zip(*rows, strict=True), strict=True):
            (folder / f"{name}.{side}").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    (folder / "tokenizer").mkdir()
    tokenizer.save(folder / "tokenizer")
    job.note(pieces=len(tokenizer.source), pairs=len(pairs))
    return tokenizer


def write_batches(folder: Path, tokenizer: Tokenizer, sizes: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Write batches.json with rectangles of each size; which of them are of which size."""
    train = CorpusConfig(source=folder / "train.en", target=folder / "train.ko")
    rows: list[dict[str, list[list[int]]]] = []
    spans = {}
    for tokens in sizes:
        stream = BatchStream(DataConfig(train=(train,), valid=train), tokenizer, batch_tokens=tokens, seed=1)
        batches = [stream.next_update(1).batches[0] for _ in range(BATCHES)]
        spans[tokens] = len(rows), len(rows) + len(batches)
        rows += [{side: getattr(batch, side).tolist() for side in ("src", "tgt_in", "tgt_out")} for batch in batches]
    marks = {"vocab": len(tokenizer.source), "pad": PAD, "bos": BOS, "eos": EOS}
    (folder / "batches.json").write_text(json.dumps(marks | {"batches": rows}))
    return spans


def flops_per_token(folder: Path, tokenizer: Tokenizer, shape: str) -> float:
    """Operations of training per target token, from the lengths of pairs."""
    model = ModelConfig.model_validate(SHAPES[shape] | {"norm_order": "post"})
    sides = [(folder / f"train.{side}").read_text(encoding="utf-8").split("\n")[:2000] for side in ("en", "ko")]
    lengths = [[len(ids) + 1 for ids in tokenizer.encode([line for line in side if line], "source")] for side in sides]
    vocab = len(tokenizer.target)
    return sum(training_flops(model, vocab, 1, *pair) for pair in zip(*lengths, strict=True)) / sum(lengths[1])


# --- training ---------------------------------------------------------------------------------------------------------


def train_all(job: jobs.Job, folder: Path, tokenizer: Tokenizer, until: float) -> None:
    """All systems in turns, shape by shape; ends when `until` seconds of the job are left."""
    for shape, sizes, needed in REHEARSAL if job.rehearse else PLAN:
        if job.left - until < needed:
            job.say(f"{shape}: no time left")
            continue
        spans = write_batches(folder, tokenizer, sizes)
        operations = flops_per_token(folder, tokenizer, shape)
        names = [name for name in PEERS if not (job.rehearse and name == "compiled")]  # takes minutes of a CPU
        peers = [start_peer(job, name, folder, shape) for name in names]
        for tokens, span in spans.items():
            ours = [start_ours(job, name, folder, shape, tokens) for name in our_names(job)]
            compare(job, [*ours, *peers], span, until, {"shape": shape, "tokens": tokens}, operations)
            for system in ours:
                system.stop()
        for system in peers:
            system.stop()


def our_names(job: jobs.Job) -> tuple[str, ...]:
    """Ours, compiled where that pays."""
    return ("dragoman",) if job.rehearse else ("dragoman", OURS)


def start_ours(job: jobs.Job, name: str, folder: Path, shape: str, tokens: int) -> System:
    """Dragoman's loop."""
    command = [sys.executable, Path(__file__).parent / "dragoman_worker.py", folder, "--shape", shape]
    command += ["--tokens", tokens, "--device", job.device.type, *(["--compile"] if name == OURS else [])]
    return started(job, name, command, folder)


def start_peer(job: jobs.Job, name: str, folder: Path, shape: str) -> System:
    """Another toolkit."""
    command = [sys.executable, BENCHMARKS / "peers/train_worker.py", name, folder / "batches.json", "--shape", shape]
    command += ["--precision", "bfloat16" if job.device.type == "cuda" else "float32", "--device", job.device.type]
    threads = 1 if job.device.type == "cpu" else jobs.processors()
    return started(job, name, [*command, "--threads", threads], folder)


def started(job: jobs.Job, name: str, command: Sequence[object], folder: Path) -> System:
    """A system whose process ends with the time of the job, and at once, without PyTorch, if it is not installed."""
    if name in PACKAGES and jobs.lacks(PACKAGES[name]):
        command = [sys.executable, "-c", f"import {PACKAGES[name]}"]
    system = System.start(name, command, folder)
    job.on_time_over(system.process.kill)
    return system


def compare(
    job: jobs.Job, systems: list[System], span: tuple[int, int], until: float, what: dict[str, Any], operations: float
) -> None:
    """Rounds in which every system has its turn; the rows of the table after every round."""
    for system in systems:
        system.speeds = []
        if system.is_ready(job.left - until):
            warm_up(system, span, job.left - until, turn_seconds(job))
    for _ in range(1 if job.rehearse else ROUNDS):
        for system in systems:
            if not system.error and job.left > until:
                system.ask(f"{span[0]} {span[0] + 1}", job.left - until)
                turn(system, span, job.left - until)
        rows = [row_of(job, system, systems, operations, our_names(job)[-1]) for system in systems]
        others = [row for row in job.facts.get("training", []) if {**row, **what} != row]
        job.note(training=[*others, *({**what, **row} for row in rows)])
    for row in rows:
        print({**what, **row}, flush=True)


def turn_seconds(job: jobs.Job) -> float:
    """How long a turn is to last."""
    return TURN / 20 if job.rehearse else TURN


def warm_up(system: System, span: tuple[int, int], timeout: float, seconds: float) -> None:
    """Every shape once, then again to learn how many updates make a turn."""
    count = span[1] - span[0]
    for _ in range(2):
        answer = system.ask(f"{span[0]} {span[1]}", timeout)
        if answer:
            system.steps = max(1, round(seconds * count / max(1e-6, answer["seconds"])))
            system.peak_mb = answer["peak_mb"]


def turn(system: System, span: tuple[int, int], timeout: float) -> None:
    """One turn: whole passes over the batches of the size, so that every turn has the same work."""
    count = span[1] - span[0]
    passes = max(1, round(system.steps / count))
    tokens = seconds = 0.0
    for _ in range(passes):
        answer = system.ask(f"{span[0]} {span[1]}", timeout)
        if not answer:
            return
        tokens, seconds = tokens + answer["tokens"], seconds + answer["seconds"]
    system.speeds.append(tokens / seconds)


def row_of(job: jobs.Job, system: System, systems: Sequence[System], operations: float, ours_is: str) -> dict[str, Any]:
    """What the table has of a system so far."""
    if not system.speeds:
        return {"system": system.name, "error": system.error or "no turn yet"}
    ours = next((one for one in systems if one.name == ours_is), system)
    ratios = [mine / theirs for mine, theirs in zip(ours.speeds, system.speeds, strict=False)]
    speed = statistics.median(system.speeds)
    peak = peak_flops(torch.cuda.get_device_name(job.device)) if job.device.type == "cuda" else None
    row = {"system": system.name, "target_tokens_per_s": round(speed), "least": round(min(system.speeds))}
    row |= {"most": round(max(system.speeds)), "peak_mb": system.peak_mb}
    row |= {"mfu": round(speed * operations / peak, 3) if peak else None}
    return row | {"ours_is_times_as_fast": round(statistics.median(ratios), 2) if ratios else None}


# --- translating ------------------------------------------------------------------------------------------------------


def translate_all(job: jobs.Job, folder: Path, tokenizer: Tokenizer) -> None:
    """The searches in turns."""
    bundle = random_bundle(job, folder / "bundle", tokenizer)
    text = (folder / "train.en").read_text(encoding="utf-8").split("\n")[: 40 if job.rehearse else SENTENCES]
    ids = [row for row in tokenizer.encode(text, "source") if row]
    systems = [start_search(job, name, bundle, folder) for name in (*SEARCHES, *converted(job, bundle, folder))]
    for system in systems:
        if system.is_ready(job.left):
            choose_size(job, system, ids)
    for _ in range(1 if job.rehearse else ROUNDS):
        for system in systems:
            if not system.error and system.steps and job.left > 0:
                answer = search(job, system, ids[: system.steps])
                system.speeds += [answer["tokens"] / answer["seconds"]] if answer else []
        rows = [row_of(job, system, systems, 0.0, "dragoman") | {"batch_tokens": system.batch} for system in systems]
        job.note(decoding=[{key: value for key, value in row.items() if key != "mfu"} for row in rows])
    for row in job.facts["decoding"]:
        print(row, flush=True)
    for system in systems:
        system.stop()


def random_bundle(job: jobs.Job, folder: Path, tokenizer: Tokenizer) -> Bundle:
    """Random weights of the shape of paper-base."""
    shape = SHAPES["tiny" if job.rehearse else "base"] | {"norm_order": "post", "tie": "all"}
    text = DataConfig(train=(CorpusConfig(source=Path("train.tsv")),), valid=CorpusConfig(source=Path("valid.tsv")))
    project = ProjectConfig(name="random", source="en", target="ko")
    config = RunConfig(project=project, data=text, model=ModelConfig.model_validate(shape))
    torch.manual_seed(0)
    model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target))
    write_bundle(folder, config=config, tokenizer=tokenizer, model=model, card="", facts={})
    return open_bundle(folder)


def converted(job: jobs.Job, bundle: Bundle, folder: Path) -> tuple[str, ...]:
    """The peers whose files could be written into `folder`/converted from the weights of the bundle."""
    config, where = bundle.config.model, folder / "converted"
    where.mkdir()
    (where / "model.safetensors").symlink_to((bundle.folder / "model.safetensors").resolve())
    sizes = ("encoder_layers", "decoder_layers", "d_model", "d_ff", "heads")
    special = {"pad": PAD, "unk": UNK, "bos": BOS, "eos": EOS, "epsilon": EPSILON["layer"]}
    shape = {key: getattr(config, key) for key in sizes} | {"vocab": len(bundle.tokenizer.source)} | special
    (where / "shape.json").write_text(json.dumps(shape))
    command = [sys.executable, str(BENCHMARKS / "peers/decode_worker.py"), "convert", str(where)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=max(1.0, job.left))
    if ended.returncode:
        job.say(f"the weights were not converted for peers: {ended.stderr.strip().splitlines()[-1:]}")
        return ()
    return ("marian", "joeynmt")


def start_search(job: jobs.Job, name: str, bundle: Bundle, folder: Path) -> System:
    """A system that translates."""
    where = folder / "converted"
    ours, theirs = BENCHMARKS / "decode/worker.py", BENCHMARKS / "peers/decode_worker.py"
    command = [theirs, name, where]
    if name in SEARCHES:
        command = [ours, "torch", bundle.folder, "--search", SEARCHES[name]]
    command += ["--precision", "bfloat16" if job.device.type == "cuda" else "float32", "--device", job.device.type]
    threads = 1 if job.device.type == "cpu" else jobs.processors()
    return started(job, name, [sys.executable, *command, "--threads", threads], folder)


def choose_size(job: jobs.Job, system: System, ids: list[list[int]]) -> None:
    """The fastest size of a batch, and how many sentences make about a turn."""
    best = 0.0
    few = ids[: max(1, len(ids) // 8)]
    for size in SIZES[: 1 if job.rehearse else None]:
        chosen, system.batch = system.batch, size
        answer = search(job, system, few) and search(job, system, few)
        speed = answer["tokens"] / answer["seconds"] if answer else 0.0
        if speed > best:
            best = speed
            system.steps = max(1, min(len(ids), round(2 * turn_seconds(job) * speed / TOKENS)))
        else:
            system.batch = chosen


def search(job: jobs.Job, system: System, ids: list[list[int]]) -> dict[str, Any]:
    """Its answer for these sentences."""
    lengths = {"min": TOKENS - 1, "max": TOKENS - 1}
    how = {"beam": BEAM, "alpha": 0.6, "batch": system.batch, "apart": False, "single": False}
    return system.ask(json.dumps({"do": "search", "ids": ids} | lengths | how), job.left)


def main() -> None:
    """Train, then translate."""
    parser = jobs.parser(__doc__)
    parser.add_argument("--text", type=Path, default=jobs.CARRIED / "text", help="what `pack.py text` wrote")
    parser.add_argument("--only", choices=["training", "decoding"])
    arguments = parser.parse_args()
    job = jobs.start("peers", arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tokenizer = write_text(job, arguments.text, folder)
        if arguments.only != "decoding":
            train_all(job, folder, tokenizer, 0.0 if arguments.only else DECODING * job.seconds)
        if arguments.only != "training":
            translate_all(job, folder, tokenizer)
    job.end()


if __name__ == "__main__":
    main()
