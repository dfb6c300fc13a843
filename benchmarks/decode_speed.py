"""How fast translations come, beside JoeyNMT, Hugging Face's Marian and CTranslate2 fed directly: the same weights.

    python benchmarks/decode_speed.py [--quick] [--model BUNDLE] [--student BUNDLE] [--threads 2] [--rounds 5]
                                      [--source FILE --reference FILE]

Ours are the torch engine in float32 and bfloat16 (where the processor has it), the ctranslate2 engine in float32, int8
and int8 with the model's shortlist (where it has one), and a student in int8. BUNDLE must be of the paper's shape
(Post-LN, sinusoidal positions, ReLU, biases, tied embeddings), which JoeyNMT and Marian can express: they get its very
weights, and ids of its vocabulary. Without it, weights of paper-base are drawn at random, and nothing is said of BLEU.
Text is FILE's, or the test set of Multi30k's en→de if DRAGOMAN_DATA names the folder that holds multi30k/, else the
embedded corpus. Every system is a process of its own; the peers' run in train_speed.py's environment.

First every system scores the same pairs: in float32 each token's log P must be the torch engine's within 1e-4. Then:

speed      Beam 4, and exactly 16 target tokens a sentence, the end mark the last of them, so that all do the same work.
           Peers, and CTranslate2 fed directly, sort by length and try some sizes of batch first, CTranslate2 each with
           one batch on all threads and with one on each; the best is theirs (with --quick, all 64 sentences at once is
           the peers'). Ours decide by themselves. Then all take turns within every round, each after a pause in which
           waiting threads of the one before fall asleep. Counted are target tokens/s. Before that those that run
           CTranslate2 take turns at the length the model makes, in sentences/s: what our ctranslate2 engine is forced
           to say it scores anew, to tell its true log P, for which nobody pays otherwise.
latency    Single sentences, one after the other: the median and the 99th percentile. As long as the model makes them,
           or 16 tokens if its weights are random.
memory     The most the process has held, from its start until speed was measured (of CTranslate2, at the length the
           model makes), but for the trials of the size of batch.
load       From the start of the process until it could translate, Python and imports counted.
BLEU       Of translations as long as the model makes them; with --quick of 200 sentences and of ours only.

The ratios are medians over the rounds, each of two systems in the same round, with the spread. torch_bf16_vs_hf is
beside Marian in float32, torch_bf16_vs_hf_bf16 beside its bfloat16; ct2_vs_direct is the lower of float32's and int8's;
it, student_vs_teacher and shortlist_vs_int8 are of sentences/s. The student searches as its
bundle says where lengths are its own. It and the shortlist are beside our int8, int8 loses BLEU against our ctranslate2
float32. The last line is one JSON object; what was not measured is null there.
"""

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Self

from train_speed import ENVIRONMENT, make_environment

from dragoman.bundle import Bundle, open_bundle, write_bundle
from dragoman.config import CorpusConfig, DataConfig, ModelConfig, ProjectConfig, RunConfig, TokenizerConfig
from dragoman.data.corpus import sample_pairs
from dragoman.evaluation import bleu
from dragoman.text.tokenizer import BOS, EOS, PAD, UNK, learn

HERE = Path(__file__).parent
BEAM, ALPHA, TOKENS = 4, 0.6, 16
TOLERANCE = 1e-4
PAUSE = 0.3  # seconds; Intel's OpenMP lets a thread spin for 0.2 before it sleeps
EMBEDDED = HERE.parent / "src/dragoman/data/embedded"
PEERS = ("joeynmt", "marian float32", "marian bfloat16")
# What is fed by hand, and so tries these sizes of batch first: sentences × longest source.
SIZES = (256, 512, 1024, 2048, 4096)


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    sentences: int
    """Translated in each round."""
    rounds: int
    singles: int
    """Single sentences of a turn."""
    turns: int
    scored: int | None
    """Sentences for BLEU; None for all."""
    sizes: tuple[int, ...]
    """Of batches, that CTranslate2 fed directly tries."""
    peer_sizes: tuple[int, ...]
    """Of batches, that the peers try."""
    peers_bleu: bool


FULL = Effort(sentences=256, rounds=5, singles=20, turns=3, scored=None, sizes=SIZES, peer_sizes=SIZES, peers_bleu=True)
QUICK = Effort(
    sentences=64, rounds=3, singles=20, turns=1, scored=200, sizes=(256, 1024), peer_sizes=(1024,), peers_bleu=False
)


@dataclass
class Worker:
    """A system in a process of its own, and what it has shown."""

    name: str
    process: subprocess.Popen[str]
    bundle: Bundle
    load_seconds: float = 0.0
    peak_mb: float = 0.0
    batch: int = 0
    apart: bool = False
    """Of CTranslate2 fed directly: batches each on a thread of its own, not one after the other on all threads."""
    speeds: list[float] = field(default_factory=list)
    """Target tokens/s of each round, of forced length."""
    natural_speeds: list[float] = field(default_factory=list)
    """Sentences/s of each round, as long as the model makes them."""
    latencies: list[float] = field(default_factory=list)
    bleu: float | None = None
    same: float | None = None
    """The share of translations that are the torch engine's in float32."""

    @property
    def runs_ctranslate2(self) -> bool:
        """Whether CTranslate2 is below it."""
        return self.name.startswith(("ctranslate2", "direct", "student"))

    @property
    def fed_by_hand(self) -> bool:
        """Whether it is given batches, and does not make them itself."""
        return self.name.startswith(("direct", *PEERS))

    @classmethod
    def start(cls, name: str, bundle: Bundle, command: list[str], threads: int) -> Self:
        """Launch it and wait until it can translate."""
        # Threads are to wait busily for each other in none, or in all.
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
        """The sentences as its vocabulary spells them."""
        return self.bundle.tokenizer.encode(texts, "source")

    def search(self, texts: Sequence[str], forced: bool = True, single: bool = False) -> dict[str, Any]:
        """Translations, of TOKENS tokens each if `forced`."""
        lengths = {"min": TOKENS - 1, "max": TOKENS - 1} if forced else {"min": 0, "max": None}
        # A student was made to search as its bundle says: it is compared so where lengths are its own.
        beam = self.bundle.config.decode.beam if self.name.startswith("student") and not forced else BEAM
        how = {"beam": beam, "alpha": ALPHA, "batch": self.batch or SIZES[-1], "apart": self.apart, "single": single}
        answer = self.ask({"do": "search", "ids": self.ids(texts)} | lengths | how)
        if forced and {len(output) for output in answer["outputs"]} != {TOKENS - 1}:
            lengths_found = sorted({len(output) for output in answer["outputs"]})
            sys.exit(f"{self.name}: told to say {TOKENS - 1} tokens, it said {lengths_found}")
        return answer

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request, after a pause."""
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
            sys.exit(f"{self.name} gave up; {ENVIRONMENT}/decode {self.name}.log says why")
        answer: dict[str, Any] = json.loads(line)
        return answer


def read_text(args: argparse.Namespace) -> tuple[str, list[str], list[str]]:
    """What text it is, its sentences and their references."""
    if args.source:
        return args.source.name, _lines(args.source), _lines(args.reference)
    if folder := os.environ.get("DRAGOMAN_DATA"):
        text = Path(folder) / "multi30k"
        return "Multi30k en-de", *(_lines(text / f"test_2016_flickr.{language}.gz") for language in ("en", "de"))
    pairs = [line.split("\t") for line in _lines(EMBEDDED / "test.tsv.gz")]
    return "embedded en-ko", [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _lines(path: Path) -> list[str]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return raw.decode().splitlines()


def random_bundle(folder: Path) -> Bundle:
    """Paper-base with weights drawn at random, and a vocabulary that has been learned."""
    import torch

    from dragoman.model.transformer import Transformer

    if data := os.environ.get("DRAGOMAN_DATA"):
        train = CorpusConfig(source=Path(data) / "multi30k/train.en.gz", target=Path(data) / "multi30k/train.de.gz")
        size = 10_000
    else:
        train, size = CorpusConfig(source=EMBEDDED / "train.tsv.gz"), 8_000
    tokenizer = learn(sample_pairs([train], 50_000, 1), TokenizerConfig(kind="bpe", vocab_size=size))
    torch.manual_seed(0)
    config = RunConfig(
        project=ProjectConfig(name="random", source="en", target="und"),
        data=DataConfig(train=(train,), valid=train),
        model=ModelConfig.model_validate({"preset": "paper-base"}),
    )
    model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target))
    write_bundle(folder, config=config, tokenizer=tokenizer, model=model, card="", facts={})
    return open_bundle(folder)


def export(bundle: Bundle, folder: Path, quantization: str) -> Path:
    """The bundle's network as CTranslate2 reads it."""
    from dragoman.exporting.ctranslate2 import convert

    convert(bundle.load_model(), bundle.tokenizer, folder, quantization)
    if (shortlist := bundle.folder / "shortlist.txt").exists():
        shutil.copy(shortlist, folder / "vmap.txt")
    return folder


def refuse_inexpressible(bundle: Bundle) -> None:
    """End the program if JoeyNMT and Marian have no such model."""
    config = bundle.config.model
    paper = {"norm_order": "post", "norm": "layer", "positions": "sinusoidal", "feed_forward": "relu", "bias": True}
    for key, value in (paper | {"tie": "all", "d_k": config.d_model // config.heads, "d_v": config.d_k}).items():
        if getattr(config, key) != value:
            sys.exit(f"{bundle.folder}: model.{key} is not {value}, so the peers cannot run it; add --no-peers")


def for_peers(bundle: Bundle, folder: Path) -> Path:
    """The bundle's weights as JoeyNMT and Marian read them."""
    from dragoman.model.norm import EPSILON

    config = bundle.config.model
    folder.mkdir()
    (folder / "model.safetensors").symlink_to((bundle.folder / "model.safetensors").resolve())
    sizes = ("encoder_layers", "decoder_layers", "d_model", "d_ff", "heads")
    marks = {"pad": PAD, "unk": UNK, "bos": BOS, "eos": EOS, "epsilon": EPSILON["layer"]}
    shape = {key: getattr(config, key) for key in sizes} | {"vocab": len(bundle.tokenizer.source)} | marks
    (folder / "shape.json").write_text(json.dumps(shape))
    command = [str(ENVIRONMENT / "bin/python"), str(HERE / "peers/decode_worker.py"), "convert", str(folder)]
    with (ENVIRONMENT / "decode convert.log").open("w") as log:
        if subprocess.run(command, stdout=log, stderr=log).returncode:
            sys.exit(f"the weights were not converted; {log.name} says why")
    return folder


def start_all(model: Bundle, student: Bundle | None, folder: Path, args: argparse.Namespace) -> list[Worker]:
    """Every system, loaded one after the other."""
    ours, peers = [sys.executable, str(HERE / "decode_worker.py")], [str(ENVIRONMENT / "bin/python")]
    networks = {precision: export(model, folder / precision, precision) for precision in ("float32", "int8")}
    workers: list[Worker] = []

    def start(name: str, command: list[str], bundle: Bundle = model) -> None:
        workers.append(Worker.start(name, bundle, command, args.threads))
        print(f"{name}: loaded in {workers[-1].load_seconds:.1f} s, {workers[-1].peak_mb:,.0f} MB", flush=True)

    start("torch float32", [*ours, "torch", str(model.folder)])
    if has_bfloat16():
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
        for name in PEERS if has_bfloat16() else PEERS[:-1]:
            toolkit, _, precision = name.partition(" ")
            command = [str(HERE / "peers/decode_worker.py"), toolkit, str(converted)]
            start(name, [*peers, *command, "--precision", precision or "float32"])
    return workers


def has_bfloat16() -> bool:
    """Whether the processor multiplies in bfloat16."""
    flags = Path("/proc/cpuinfo").read_text().split()
    return "amx_bf16" in flags or "avx512_bf16" in flags


def verify(workers: list[Worker], sources: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """How far each system's log P of a token is from the torch engine's, at the most. Ends the program if too far."""
    reference, *others = [worker for worker in workers if worker.name != "student int8"]
    request = {"do": "score", "sources": reference.ids(sources)}
    request["targets"] = reference.bundle.tokenizer.encode(references, "target")
    gold = reference.ask(request)["log_probs"]
    differences = {}
    for worker in others:
        told = worker.ask(request)["log_probs"]
        pairs = [pair for rows in zip(gold, told, strict=True) for pair in zip(*rows, strict=True)]
        differences[worker.name] = farthest = max(abs(a - b) for a, b in pairs)
        print(f"{worker.name}: log P of {len(pairs)} tokens differ from ours by {farthest:.1e} at the most")
        exact = worker.name == "joeynmt" or worker.name.endswith("float32")
        if exact and farthest > TOLERANCE:
            sys.exit(f"{worker.name} does not run the same model; nothing was timed")
    return differences


def tune(workers: list[Worker], texts: Sequence[str], effort: Effort, natural: bool) -> None:
    """Warm all up; those that are fed by hand learn their best size of batch.

    With `natural`, CTranslate2 fed directly learns it at the length the model makes: there it is compared.
    """
    for worker in workers:
        sizes = effort.sizes if worker.runs_ctranslate2 else effort.peer_sizes
        forced = not (natural and worker.runs_ctranslate2)
        ways = list(product(sizes, (False, True) if worker.name.startswith("direct") else (False,)))
        if not worker.fed_by_hand:
            worker.search(texts, forced)
            continue
        seconds = {}
        for worker.batch, worker.apart in ways:
            worker.search(texts[:2], forced)
            seconds[worker.batch, worker.apart] = worker.search(texts, forced)["seconds"]
        worker.batch, worker.apart = min(seconds, key=seconds.__getitem__)
        worker.ask({"do": "forget"})
        how = ", each on a thread of its own," if worker.apart else ","
        print(f"{worker.name}: batches of {worker.batch:,} tokens{how} the fastest of {[*sizes]}", flush=True)


def measure_speed(workers: list[Worker], texts: Sequence[str], rounds: int) -> None:
    """All in turns, of forced length."""
    for _ in range(rounds):
        for worker in workers:
            answer = worker.search(texts)
            worker.speeds.append(answer["tokens"] / answer["seconds"])
            if not worker.natural_speeds:
                worker.peak_mb = max(worker.peak_mb, answer["peak_mb"])


def measure_natural_speed(workers: list[Worker], texts: Sequence[str], rounds: int) -> None:
    """All that run CTranslate2 in turns, as long as the model makes the translations."""
    workers = [worker for worker in workers if worker.runs_ctranslate2]
    for worker in workers:
        worker.search(texts, forced=False)
    for _ in range(rounds):
        for worker in workers:
            answer = worker.search(texts, forced=False)
            worker.natural_speeds.append(len(texts) / answer["seconds"])
            worker.peak_mb = max(worker.peak_mb, answer["peak_mb"])


def measure_latency(workers: list[Worker], texts: Sequence[str], turns: int, forced: bool) -> None:
    """Single sentences, a share of them in each turn."""
    for turn in range(turns):
        for worker in workers:
            worker.search(texts[-2:], forced, single=True)
            worker.latencies += worker.search(texts[turn::turns], forced, single=True)["latencies"]


def measure_bleu(workers: list[Worker], sources: Sequence[str], references: Sequence[str]) -> None:
    """Translations as long as the model makes them."""
    first: list[str] = []
    for worker in workers:
        texts = worker.bundle.tokenizer.decode(worker.search(sources, forced=False)["outputs"], "target")
        first = first or texts
        worker.bleu = bleu(texts, references).value
        worker.same = statistics.fmean(a == b for a, b in zip(texts, first, strict=True))


def ratio(workers: dict[str, Worker], one: str, other: str, natural: bool = False) -> float | None:
    """How many times as fast `one` is as `other` in the same round, in the median; None if it was not measured."""
    speeds = [getattr(workers.get(name), "natural_speeds" if natural else "speeds", []) for name in (one, other)]
    each = [a / b for a, b in zip(*speeds, strict=False)]
    if not each:
        return None
    print(f"  {one} / {other}: {statistics.median(each):.2f} [{min(each):.2f}-{max(each):.2f}]")
    return round(statistics.median(each), 3)


def drop(workers: dict[str, Worker], one: str, other: str) -> float | None:
    """BLEU that `one` loses against `other`; None if it is not known."""
    scores = [workers[name].bleu if name in workers else None for name in (one, other)]
    return None if None in scores else round(scores[1] - scores[0], 2)


def report(workers: dict[str, Worker]) -> dict[str, Any]:
    """Print the table; all of it as an object too."""
    print(f"\n{'':29} tokens/s [spread]       p50 ms  p99 ms  peak MB  load s  sentences/s   BLEU  same")
    table: dict[str, Any] = {}
    for name, worker in workers.items():
        speed, low, high = statistics.median(worker.speeds), min(worker.speeds), max(worker.speeds)
        p50, p99 = percentile(worker.latencies, 50), percentile(worker.latencies, 99)
        line = f"{name:29} {speed:8,.0f} {f'[{low:,.0f}-{high:,.0f}]':14} {p50:7.0f} {p99:7.0f}"
        line += f" {worker.peak_mb:8,.0f} {worker.load_seconds:7.1f}"
        natural = statistics.median(worker.natural_speeds) if worker.natural_speeds else None
        line += f" {natural or '':12.5}"
        if worker.bleu is not None:
            line += f" {worker.bleu:6.2f} {worker.same:5.0%}"
        print(line)
        table[name] = {
            "tokens_per_second": round(speed),
            "p50_ms": round(p50, 1),
            "p99_ms": round(p99, 1),
            "peak_mb": round(worker.peak_mb),
            "load_s": round(worker.load_seconds, 2),
            "bleu": worker.bleu and round(worker.bleu, 2),
            "sentences_per_second": natural and round(natural, 2),
            "batch": worker.batch or None,
        }
    return table


def percentile(seconds: Sequence[float], percent: int) -> float:
    """Of these, in milliseconds."""
    return 1000 * statistics.quantiles(seconds, n=100, method="inclusive")[percent - 1]


def ratios(workers: dict[str, Worker]) -> dict[str, float | None]:
    """What is claimed."""
    print("\ntimes as fast, in the same round")
    direct = [ratio(workers, f"ctranslate2 {which}", f"direct {which}", natural=True) for which in ("float32", "int8")]
    return {
        "torch_vs_joeynmt": ratio(workers, "torch float32", "joeynmt"),
        "torch_vs_hf": ratio(workers, "torch float32", "marian float32"),
        "torch_bf16_vs_hf": ratio(workers, "torch bfloat16", "marian float32"),
        "torch_bf16_vs_hf_bf16": ratio(workers, "torch bfloat16", "marian bfloat16"),
        "ct2_vs_direct": min(filter(None, direct), default=None),
        "shortlist_vs_int8": ratio(workers, "ctranslate2 int8 + shortlist", "ctranslate2 int8", natural=True),
        "student_vs_teacher": ratio(workers, "student int8", "ctranslate2 int8", natural=True),
        "student_bleu_drop": drop(workers, "student int8", "ctranslate2 int8"),
        "shortlist_bleu_drop": drop(workers, "ctranslate2 int8 + shortlist", "ctranslate2 int8"),
        "int8_bleu_drop": drop(workers, "ctranslate2 int8", "ctranslate2 float32"),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="ends within 5 minutes")
    parser.add_argument("--model", type=Path, help="a bundle of the paper's shape; else weights are random")
    parser.add_argument("--student", type=Path, help="the bundle of a student of --model")
    parser.add_argument("--source", type=Path)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--no-peers", action="store_true", help="ours, and CTranslate2 fed directly, alone")
    args = parser.parse_args()
    if (args.source is None) != (args.reference is None):
        parser.error("--source and --reference go together")
    if args.student and not args.model:
        parser.error("--student needs --model, its teacher")
    begin, effort = time.perf_counter(), QUICK if args.quick else FULL
    if args.no_peers:
        ENVIRONMENT.mkdir(exist_ok=True)  # the logs are there
    else:
        make_environment()
    text, sources, references = read_text(args)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        bundle = open_bundle(args.model) if args.model else random_bundle(folder / "random")
        student = open_bundle(args.student) if args.student else None
        if not args.no_peers:
            refuse_inexpressible(bundle)
        name = bundle.manifest["name"] if args.model else "paper-base with random weights"
        print(f"{name}; {text}, {len(bundle.tokenizer.target):,} pieces; {args.threads} threads, beam {BEAM}")
        if not args.model:
            print("without --model there are neither lengths of its own (ct2_vs_direct, shortlist, student) nor BLEU")
        workers = start_all(bundle, student, folder, args)
        differences = verify(workers, sources[:16], references[:16])
        texts = _spread(sources, effort.sentences)
        tune(workers, texts, effort, natural=bool(args.model))
        rounds = args.rounds or effort.rounds
        if args.model:
            measure_natural_speed(workers, texts, rounds)
        measure_speed(workers, texts, rounds)
        singles = _spread(sources, effort.singles * effort.turns)
        measure_latency(workers, singles, effort.turns, forced=args.model is None)
        if args.model:
            count = effort.scored or len(sources)
            scored = [worker for worker in workers if effort.peers_bleu or not worker.fed_by_hand]
            measure_bleu(scored, _spread(sources, count), _spread(references, count))
        for worker in workers:
            worker.stop()
    by_name = {worker.name: worker for worker in workers}
    table = report(by_name)
    result = ratios(by_name)
    print(f"\n{time.perf_counter() - begin:.0f} seconds in all")
    facts = {"model": name, "text": text, "threads": args.threads}
    print(json.dumps(result | facts | {"log_p_differences": differences, "all": table}))


def _spread(texts: Sequence[str], count: int) -> list[str]:
    """`count` of them, from the first to the last."""
    count = min(count, len(texts))
    return [texts[index * len(texts) // count] for index in range(count)]


if __name__ == "__main__":
    main()
