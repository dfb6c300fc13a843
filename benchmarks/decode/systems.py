"""The systems of `decode/speed.py`: each a process of its own, started with the same weights.

Ours are the torch and ctranslate2 engines behind `decode/worker.py`. The peers are CTranslate2 called directly (also in
`decode/worker.py`), and JoeyNMT and Marian behind `peers/decode_worker.py`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from shared.levels import emulates_bfloat16
from train.speed import ENVIRONMENT

from dragoman.bundle import Bundle
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK

BENCHMARKS = Path(__file__).parents[1]
BEAM, ALPHA, TOKENS = 4, 0.6, 16
PAUSE = 0.3  # seconds; with Intel's OpenMP a thread waits actively for 0.2 s before it sleeps
PEERS = ("joeynmt", "marian float32", "marian bfloat16")
# Budgets of a batch, sentences × longest source, that systems without batching of their own try first.
SIZES = (256, 512, 1024, 2048, 4096)


@dataclass
class Worker:
    """A system in a process of its own, and its measurements."""

    name: str
    process: subprocess.Popen[str]
    bundle: Bundle
    load_seconds: float = 0.0
    peak_mb: float = 0.0
    batch: int = 0
    apart: bool = False
    """For direct CTranslate2: one thread per batch and several batches at once, instead of all threads on one batch."""
    speeds: list[float] = field(default_factory=list)
    """Target tokens/s of each round, at forced length."""
    natural_speeds: list[float] = field(default_factory=list)
    """Sentences/s of each round, at the lengths that the model produces."""
    latencies: list[float] = field(default_factory=list)
    bleu: float | None = None
    same: float | None = None
    """The share of translations equal to those of the torch engine in float32."""

    @property
    def runs_ctranslate2(self) -> bool:
        """Whether it computes with CTranslate2."""
        return self.name.startswith(("ctranslate2", "direct", "student"))

    @property
    def needs_batches(self) -> bool:
        """Whether the benchmark chooses its batch size; our engines choose their own."""
        return self.name.startswith(("direct", *PEERS))

    @classmethod
    def start(cls, name: str, bundle: Bundle, command: list[str], threads: int) -> Self:
        """Start the process and wait until it can translate."""
        # One setting for all systems, so that OpenMP threads wait in the same way everywhere.
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        pipe, log = subprocess.PIPE, (ENVIRONMENT / f"decode {name}.log").open("w")
        begin = time.perf_counter()
        command = [*command, "--threads", str(threads)]
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True, env=environment)
        worker = cls(name, process, bundle)
        worker.peak_mb = worker._answer()["peak_mb"]
        worker.load_seconds = time.perf_counter() - begin
        return worker

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The source ids of the sentences."""
        return self.bundle.tokenizer.encode(texts, "source")

    def search(self, texts: Sequence[str], forced: bool = True, single: bool = False) -> dict[str, Any]:
        """Translations, each of TOKENS tokens if `forced`."""
        lengths = {"min": TOKENS - 1, "max": TOKENS - 1} if forced else {"min": 0, "max": None}
        # At natural lengths a student uses the beam of its bundle, for which it was distilled.
        beam = self.bundle.config.decode.beam if self.name.startswith("student") and not forced else BEAM
        how = {"beam": beam, "alpha": ALPHA, "batch": self.batch or SIZES[-1], "apart": self.apart, "single": single}
        answer = self.ask({"do": "search", "ids": self.ids(texts)} | lengths | how)
        if forced and {len(output) for output in answer["outputs"]} != {TOKENS - 1}:
            lengths_found = sorted({len(output) for output in answer["outputs"]})
            sys.exit(f"{self.name}: returned {lengths_found} tokens instead of {TOKENS - 1}")
        return answer

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request after a pause, and return the answer."""
        time.sleep(PAUSE)
        assert self.process.stdin
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def stop(self) -> None:
        """End the process."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} failed; see {ENVIRONMENT}/decode {self.name}.log")
        answer: dict[str, Any] = json.loads(line)
        return answer


def start_all(model: Bundle, student: Bundle | None, folder: Path, args: argparse.Namespace) -> list[Worker]:
    """Start every system, one after the other."""
    ours, peers = [sys.executable, str(BENCHMARKS / "decode/worker.py")], [str(ENVIRONMENT / "bin/python")]
    networks = {precision: export(model, folder / precision, precision) for precision in ("float32", "int8")}
    workers: list[Worker] = []

    def start(name: str, command: list[str], bundle: Bundle = model) -> None:
        workers.append(Worker.start(name, bundle, command, args.threads))
        print(f"{name}: loaded in {workers[-1].load_seconds:.1f} s, {workers[-1].peak_mb:,.0f} MB", flush=True)

    start("torch float32", [*ours, "torch", str(model.folder)])
    has_bfloat16 = not emulates_bfloat16()
    if has_bfloat16:
        start("torch bfloat16", [*ours, "torch", str(model.folder), "--precision", "bfloat16"])
    for name in ("ctranslate2", "direct"):
        for precision, network in networks.items():
            where = ["--network", str(network), "--precision", precision]
            start(f"{name} {precision}", [*ours, name, str(model.folder), *where])
    where = ["--network", str(networks["int8"]), "--precision", "int8"]
    if (networks["int8"] / "vmap.txt").exists():
        start("ctranslate2 int8 + shortlist", [*ours, "ctranslate2", str(model.folder), *where, "--shortlist"])
    if student:
        where = ["--network", str(export(student, folder / "student", "int8")), "--precision", "int8"]
        start("student int8", [*ours, "ctranslate2", str(student.folder), *where], student)
    if not args.no_peers:
        converted = for_peers(model, folder / "peers")
        for name in PEERS if has_bfloat16 else PEERS[:-1]:
            toolkit, _, precision = name.partition(" ")
            command = [str(BENCHMARKS / "peers/decode_worker.py"), toolkit, str(converted)]
            start(name, [*peers, *command, "--precision", precision or "float32"])
    return workers


def export(bundle: Bundle, folder: Path, quantization: str) -> Path:
    """The bundle's network in the format of CTranslate2."""
    from dragoman.exporting.ctranslate2 import convert

    convert(bundle.load_model(), bundle.tokenizer, folder, quantization)
    if (shortlist := bundle.folder / "shortlist.txt").exists():
        shutil.copy(shortlist, folder / "vmap.txt")
    return folder


def refuse_inexpressible(bundle: Bundle) -> None:
    """Exit if JoeyNMT and Marian cannot express the model."""
    config = bundle.config.model
    paper = {"norm_order": "post", "norm": "layer", "positions": "sinusoidal", "feed_forward": "relu", "bias": True}
    for key, value in (paper | {"tie": "all", "d_k": config.d_model // config.heads, "d_v": config.d_k}).items():
        if getattr(config, key) != value:
            sys.exit(f"{bundle.folder}: model.{key} is not {value}, so the peers cannot run it; add --no-peers")


def for_peers(bundle: Bundle, folder: Path) -> Path:
    """The bundle's weights in the formats of JoeyNMT and Marian."""
    from dragoman.model.parts.norm import EPSILON

    config = bundle.config.model
    folder.mkdir()
    (folder / "model.safetensors").symlink_to((bundle.folder / "model.safetensors").resolve())
    sizes = ("encoder_layers", "decoder_layers", "d_model", "d_ff", "heads")
    special = {"pad": PAD, "unk": UNK, "bos": BOS, "eos": EOS, "epsilon": EPSILON["layer"]}
    shape = {key: getattr(config, key) for key in sizes} | {"vocab": len(bundle.tokenizer.source)} | special
    (folder / "shape.json").write_text(json.dumps(shape))
    command = [str(ENVIRONMENT / "bin/python"), str(BENCHMARKS / "peers/decode_worker.py"), "convert", str(folder)]
    with (ENVIRONMENT / "decode convert.log").open("w") as log:
        if subprocess.run(command, stdout=log, stderr=log).returncode:
            sys.exit(f"converting the weights failed; see {log.name}")
    return folder
