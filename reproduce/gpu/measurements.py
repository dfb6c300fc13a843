"""Measurements that decide how training and search on a GPU are built, the most important first.

    python reproduce/gpu/measurements.py --out FOLDER [--text FOLDER]

ceilings    a product of 8192³ in bfloat16, and a copy: what the chip gives at most
attention   forward and backward on 25,000 positions, heads of 64, sentences of 8 to 96 tokens: PyTorch's fused kernels
            with a mask, without, and causal; rows of 64, 128 and 256 positions with a mask of blocks; Eq. (1) in plain
            products, compiled; `varlen_attn` and FlexAttention where this PyTorch has them
steps       updates of the product's own loop, started by the host one by one, as one recording of the device, compiled,
            and with deterministic kernels: seconds to the first update (recording, compiling), ms per update, target
            tokens/s, memory, the share of the time in which the GPU computes
kernels     of those steps, the names of the 25 slowest, with ms and count
search      by the host and by recorded steps: seconds of the first call (with its recordings), ms per token of all
            sentences and target tokens/s, beam 4, batches of 4,096 and of 65,536 tokens; ms of one sentence alone; the
            share of translations that are those of the host, in float32
windows     lines/s of `Translator.stream` on 16,384 lines, 1,024 of them at a time, as on a CPU, and all of them, by
            the host and by recorded steps, and how many calls of the engine that took
host        seconds in which the cores tokenise 100,000 lines

Each piece of work looks at the clock; what fails is a row with the error. The last line is JSON.
"""

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jobs
import torch
from peers import write_text
from torch import Tensor
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile
from trained import run_of

from dragoman.config import DecodeConfig, ModelConfig, RunConfig
from dragoman.engine import queries
from dragoman.engine.torch import TorchEngine
from dragoman.model.build import build_network
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.lines import WINDOW
from dragoman.training import loop
from dragoman.training.report.reports import TrainingListener
from dragoman.translator import Translator
from dragoman.workflows.train.trainer import build_trainer

POSITIONS, HEADS, WIDTH = 25_000, 8, 64
LENGTHS = (24, 8, 16, 48, 96)
ROWS = (128, 64, 256)
SLOWEST = 25
# Preset, tokens per update, ways, and the seconds that have to be left.
Plan = tuple[tuple[str, int, tuple[str, ...], float], ...]
FIRST: Plan = (("base", 4096, ("host", "device", "compiled"), 20.0),)
THEN: Plan = (
    ("base", 25_000, ("device", "compiled"), 60.0),
    ("paper-big", 12_500, ("host", "device", "compiled"), 60.0),
    ("small", 4096, ("device", "compiled"), 60.0),
    ("paper-base", 25_000, ("device", "compiled"), 60.0),
    ("base", 4096, ("deterministic",), 20.0),
)
ENDLESS = 10_000_000


class Finished(Exception):
    """Enough updates were made."""


def milliseconds(job: jobs.Job, work: Callable[[], object]) -> float:
    """The median time of `work`, warmed up."""
    for _ in range(1 if job.rehearse else 3):
        work()
    times = []
    for _ in range(3 if job.rehearse else 15):
        jobs.wait_for(job.device)
        began = time.perf_counter()
        work()
        jobs.wait_for(job.device)
        times.append(time.perf_counter() - began)
    return round(1000 * statistics.median(times), 3)


def attempt(job: jobs.Job, table: str, work: Callable[[], dict[str, Any]], **what: Any) -> None:
    """A row of a table, or the error in its place."""
    try:
        job.row(table, **what, **work())
    except Exception as error:
        job.row(table, **what, error=f"{type(error).__name__}: {str(error)[:200]}")


# --- the chip, and attention ------------------------------------------------------------------------------------------


def ceilings(job: jobs.Job) -> None:
    """What the chip gives at most."""
    size = 256 if job.rehearse else 8192
    a, b = (torch.randn(size, size, device=job.device, dtype=torch.bfloat16) for _ in range(2))
    product = milliseconds(job, lambda: a @ b)
    source = torch.zeros((1 << 20) if job.rehearse else 1 << 30, device=job.device, dtype=torch.uint8)
    target = torch.empty_like(source)
    copy = milliseconds(job, lambda: target.copy_(source))
    speeds = {"tflops": round(2 * size**3 / product / 1e9, 1), "copy_tb_per_s": round(2 * len(source) / copy / 1e9, 3)}
    job.row("ceilings", **speeds)


def attention(job: jobs.Job) -> None:
    """Every variant with every length, then those that have to be compiled, with the first."""
    lengths = LENGTHS[:1] if job.rehearse else LENGTHS
    work = [(length, *variant) for length in lengths for variant in variants(job, length)]
    if not job.rehearse:
        work += [(lengths[0], *variant) for variant in compiled_variants(job, lengths[0])]
    for length, name, prepare in work:
        if job.left > 10:
            attempt(job, "attention", lambda of=prepare: {"ms": milliseconds(job, of())}, variant=name, length=length)


Prepare = Callable[[], Callable[[], object]]
"""What prepares a piece of work and returns it."""


def positions(job: jobs.Job) -> int:
    """Of all sentences together."""
    return 512 if job.rehearse else POSITIONS


def variants(job: jobs.Job, length: int) -> list[tuple[str, Prepare]]:
    """Names, and what is timed."""
    sentences = positions(job) // length

    def masked() -> Callable[[], object]:
        padding = torch.ones(sentences, 1, 1, length, dtype=torch.bool, device=job.device)
        padding[::2, :, :, -1] = False
        return fused(job, (sentences, length), attn_mask=padding)

    def in_rows(width: int) -> Callable[[], object]:
        rows = positions(job) // width
        return fused(job, (rows, width), attn_mask=blocks(job, rows, width, length))

    return [
        ("fused, mask", masked),
        ("fused, no mask", lambda: fused(job, (sentences, length))),
        ("fused, causal", lambda: fused(job, (sentences, length), is_causal=True)),
        *((f"rows of {width}", partial(in_rows, width)) for width in ROWS),
        ("varlen_attn", lambda: variable(job, sentences, length)),
    ]


def compiled_variants(job: jobs.Job, length: int) -> list[tuple[str, Prepare]]:
    """Those that a compiler makes."""
    width = ROWS[0]
    rows = positions(job) // width
    return [
        (f"products on rows of {width}, compiled", lambda: products(job, rows, width, length)),
        (f"FlexAttention on rows of {width}", lambda: flexible(job, rows, width, length)),
    ]


def inputs(job: jobs.Job, *shape: int) -> list[Tensor]:
    """Queries, keys and values."""
    dtype = torch.bfloat16 if job.device.type == "cuda" else torch.float32
    return [torch.randn(*shape, device=job.device, dtype=dtype, requires_grad=True) for _ in range(3)]


def segments(job: jobs.Job, rows: int, width: int, length: int) -> Tensor:
    """The number of the sentence at each position of a row."""
    return (torch.arange(width, device=job.device) // length).expand(rows, width)


def blocks(job: jobs.Job, rows: int, width: int, length: int) -> Tensor:
    """An additive mask: each position sees its own sentence."""
    number = segments(job, rows, width, length)
    same = number[:, :, None] == number[:, None, :]
    dtype = torch.bfloat16 if job.device.type == "cuda" else torch.float32
    return torch.zeros(same.shape, device=job.device, dtype=dtype).masked_fill(~same, -math.inf)[:, None]


def both_ways(forward: Callable[..., Tensor], tensors: list[Tensor]) -> Callable[[], object]:
    """Forward and backward."""
    gradient = torch.ones_like(forward(*tensors))
    return lambda: torch.autograd.grad(forward(*tensors), tensors, gradient)


def fused(job: jobs.Job, shape: tuple[int, int], **options: Any) -> Callable[[], object]:
    """PyTorch's scaled_dot_product_attention."""
    forward = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options)  # noqa: E731
    return both_ways(forward, inputs(job, shape[0], HEADS, shape[1], WIDTH))


def products(job: jobs.Job, rows: int, width: int, length: int) -> Callable[[], object]:
    """Eq. (1), compiled."""
    mask = blocks(job, rows, width, length)

    def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.mT / math.sqrt(WIDTH) + mask).softmax(-1) @ v

    return both_ways(torch.compile(forward, dynamic=False), inputs(job, rows, HEADS, width, WIDTH))


def variable(job: jobs.Job, sentences: int, length: int) -> Callable[[], object]:
    """The kernel for sentences one after the other."""
    from torch.nn.attention.varlen import varlen_attn

    ends = torch.arange(0, (sentences + 1) * length, length, device=job.device, dtype=torch.int32)
    tensors = inputs(job, sentences * length, HEADS, WIDTH)
    return both_ways(lambda q, k, v: varlen_attn(q, k, v, ends, ends, length, length), tensors)


def flexible(job: jobs.Job, rows: int, width: int, length: int) -> Callable[[], object]:
    """FlexAttention with one block per row."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    number = segments(job, rows, width, length).contiguous()

    def same(row: Tensor, head: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return number[row, q] == number[row, k]

    mask = create_block_mask(same, rows, None, width, width, device=str(job.device))
    kernel = torch.compile(flex_attention, dynamic=False)
    return both_ways(lambda q, k, v: kernel(q, k, v, block_mask=mask), inputs(job, rows, HEADS, width, WIDTH))


# --- updates ----------------------------------------------------------------------------------------------------------


class Stopwatch(TrainingListener):
    """Times updates of a loop, then records the kernels of one."""

    def __init__(self, job: jobs.Job, trainer: loop.Trainer) -> None:
        self.job, self.trainer = job, trainer
        self.warm, self.count = (1, 2) if job.rehearse else (10, 60)
        self.began, self.first = time.perf_counter(), 0.0
        self.seconds, self.tokens = 0.0, 0
        self.kernels: list[Any] = []
        self.profiler: profile | None = None

    def on_update(self, step: int) -> None:
        """What follows an update."""
        if step == 1:
            self.first = self._since()
        elif step == self.warm:
            self._since()
            self.tokens = self.trainer.target_tokens
        elif step == self.warm + self.count:
            self.seconds, self.tokens = self._since(), self.trainer.target_tokens - self.tokens
            on_gpu = self.job.device.type == "cuda"
            self.profiler = profile(activities=[ProfilerActivity.CUDA if on_gpu else ProfilerActivity.CPU])
            self.profiler.__enter__()
        elif self.profiler:
            jobs.wait_for(self.job.device)
            self.profiler.__exit__(None, None, None)
            self.kernels = sorted(self.profiler.key_averages(), key=self._time, reverse=True)
            raise Finished

    def _since(self) -> float:
        jobs.wait_for(self.job.device)
        before, self.began = self.began, time.perf_counter()
        return self.began - before

    def _time(self, event: Any) -> float:
        on_gpu = self.job.device.type == "cuda"
        return float(event.self_device_time_total if on_gpu else event.self_cpu_time_total)

    def row(self) -> dict[str, Any]:
        """What the table of steps has."""
        step = self.seconds / self.count
        busy = sum(map(self._time, self.kernels)) / 1e6 / step
        on_gpu = self.job.device.type == "cuda"
        memory = round(torch.cuda.max_memory_allocated() / 1e9, 2) if on_gpu else None
        speed = {"ms": round(1000 * step, 2), "target_tokens_per_s": round(self.tokens / self.seconds)}
        return {"first_s": round(self.first, 1), **speed, "busy": round(busy, 2), "memory_gb": memory}


def steps(job: jobs.Job, folder: Path, tokenizer: Tokenizer, plan: Plan) -> None:
    """The updates of a plan."""
    for preset, tokens, ways, needed in plan:
        for way in ways:
            if job.left < needed:
                job.say(f"{preset}, {tokens:,} tokens, {way}: no time left")
                continue
            what = {"preset": preset, "tokens": tokens, "way": way}
            attempt(job, "steps", lambda what=what: timed(job, folder, tokenizer, what), **what)
            torch.compiler.reset()
            if job.device.type == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()


def timed(job: jobs.Job, folder: Path, tokenizer: Tokenizer, what: dict[str, Any]) -> dict[str, Any]:
    """The loop in one way."""
    on_gpu, way = job.device.type == "cuda", what["way"]
    train = {"batch_tokens": what["tokens"], "compile": way == "compiled", "learning_rate": 1e-4, "warmup": 1}
    train |= {"precision": "bfloat16" if on_gpu else "float32", "device": job.device.type, "translate_lines": 0}
    train |= {"validate_every": ENDLESS, "max_steps": ENDLESS, "checkpoint_minutes": 0, "average": "ema"}
    text = {name: {side: str(folder / f"{name}.{end}") for side, end in SIDES} for name in ("train", "valid")}
    config = RunConfig.model_validate(
        {
            "project": {"name": "steps", "source": "en", "target": "ko"},
            "data": {"train": [text["train"]], "valid": text["valid"]},
            "model": {"preset": what["preset"]},
            "train": train,
        }
    )
    with tempfile.TemporaryDirectory() as run, by_the_host() if way == "host" else nullcontext(), settings(way):
        trainer = build_trainer(run_of(config, Path(run), job.device), tokenizer, 0)
        watch = Stopwatch(job, trainer)
        trainer.listeners.append(watch)
        with suppress(Finished):
            trainer.fit()
    for event in watch.kernels[: 3 if job.rehearse else SLOWEST]:
        took = round(watch._time(event) / 1000, 3)
        job.row("kernels", **what, name=event.key[:100], ms=took, count=event.count)
    return watch.row()


SIDES = (("source", "en"), ("target", "ko"))


@contextmanager
def settings(way: str) -> Iterator[None]:
    """Deterministic kernels, where these are measured."""
    torch.use_deterministic_algorithms(way == "deterministic", warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def by_the_host() -> Any:
    """In this context updates are those of a CPU, also on a GPU."""
    if hasattr(loop, "suits_the_device"):
        return patch.object(loop, "suits_the_device", lambda *_: False)
    return nullcontext()


# --- search, and the host ---------------------------------------------------------------------------------------------


def search(job: jobs.Job, folder: Path, tokenizer: Tokenizer) -> None:
    """Beam search with random weights of `base`, in the way of a CPU and by recorded steps."""
    preset, tokens = ("tiny", 4) if job.rehearse else ("base", 24)
    torch.manual_seed(0)
    model = build_network(ModelConfig.model_validate({"preset": preset}), len(tokenizer.source), len(tokenizer.target))
    lines = (folder / "train.en").read_text(encoding="utf-8").split("\n")[: 20 if job.rehearse else 4096]
    ids = [row for row in tokenizer.encode(lines, "source") if row]
    for size in (4096,) if job.rehearse else (4096, 65_536):
        options = DecodeConfig(min_length=tokens, max_length=tokens, batch_tokens=size)
        for way in WAYS:
            engine = TorchEngine(model, job.device, on_device=WAYS[way])
            what = {"preset": preset, "way": way, "batch_tokens": size, "sentences": len(ids)}
            attempt(job, "search", partial(searched, job, engine, ids, options), **what)
    exact = [TorchEngine(model, job.device, precision="float32", on_device=on_device) for on_device in WAYS.values()]
    attempt(job, "same_translations", partial(compared, exact, ids[:256]), preset=preset)


WAYS = {"host": False, "device": True}
"""Whether steps of a search are recorded."""


def searched(job: jobs.Job, engine: TorchEngine, ids: list[list[int]], options: DecodeConfig) -> dict[str, Any]:
    """Times of searches that all have `max_length` tokens."""

    def seconds(rows: list[list[int]]) -> float:
        jobs.wait_for(job.device)
        began = time.perf_counter()
        engine.translate(queries(rows), options)
        return time.perf_counter() - began

    first, tokens = seconds(ids), options.max_length or 1
    again = min(seconds(ids) for _ in range(2))
    seconds(ids[:1])
    alone = statistics.median(seconds(ids[:1]) for _ in range(5))
    recorded = engine._device_search
    row = {"first_s": round(first, 2), "ms_per_token": round(1000 * again / tokens, 2)}
    row |= {"tokens_per_s": round(len(ids) * tokens / again), "alone_ms": round(1000 * alone, 2)}
    return row | ({"recordings": len(recorded.steps), "failure": recorded.failure[:200]} if recorded else {})


def windows(job: jobs.Job, folder: Path, tokenizer: Tokenizer) -> None:
    """A file of lines in windows of a CPU and in one of a GPU."""
    preset, tokens, of_cpu, of_gpu = ("tiny", 4, 4, 12) if job.rehearse else ("base", 24, WINDOW, 16 * WINDOW)
    torch.manual_seed(0)
    model = build_network(ModelConfig.model_validate({"preset": preset}), len(tokenizer.source), len(tokenizer.target))
    options = DecodeConfig(min_length=tokens, max_length=tokens)
    lines = (folder / "train.en").read_text(encoding="utf-8").split("\n")[:of_gpu]
    for way, on_device in WAYS.items():
        engine = TorchEngine(model, job.device, on_device=on_device)
        translator = Translator(tokenizer, engine, options)
        for size in (of_cpu, of_gpu):
            if not job.rehearse and job.left < 30:
                job.say(f"{way}, windows of {size:,} lines: no time left")
                continue
            what = {"preset": preset, "way": way, "window": size, "lines": len(lines)}
            attempt(job, "windows", partial(streamed, job, translator, lines, size), **what)


def streamed(job: jobs.Job, translator: Translator, lines: list[str], size: int) -> dict[str, Any]:
    """The second time, and the calls of the engine in it: the first one records."""
    engine = translator.engine
    for _ in range(2):
        jobs.wait_for(job.device)
        began = time.perf_counter()
        with patch.object(engine, "translate", wraps=engine.translate) as calls:
            count = sum(1 for _ in translator.stream(lines, size))
        seconds = time.perf_counter() - began
    return {"lines_per_s": round(count / seconds, 1), "calls": calls.call_count}


def compared(engines: list[TorchEngine], ids: list[list[int]]) -> dict[str, Any]:
    """The share of sentences of which both engines find the same translation."""
    mine, others = (engine.translate(queries(ids), DecodeConfig(extra_length=10)) for engine in engines)
    same = sum(one[0].tokens == other[0].tokens for one, other in zip(mine, others, strict=True))
    return {"sentences": len(ids), "share": round(same / len(ids), 4)}


def host(job: jobs.Job, folder: Path, tokenizer: Tokenizer) -> None:
    """What the cores make of tokenising."""
    lines = (folder / "train.en").read_text(encoding="utf-8").split("\n")[:100_000]
    began = time.perf_counter()
    tokenizer.encode(lines, "source")
    job.row("host", lines=len(lines), seconds=round(time.perf_counter() - began, 2), cores=jobs.processors())


def main() -> None:
    """Everything, in order, as far as the time goes."""
    parser = jobs.parser(__doc__)
    parser.add_argument("--text", type=Path, default=jobs.CARRIED / "text", help="what `pack.py text` wrote")
    parser.set_defaults(seconds=180.0)
    arguments = parser.parse_args()
    job = jobs.start("measurements", arguments)
    ceilings(job)
    attention(job)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tokenizer = write_text(job, arguments.text, folder)
        host(job, folder, tokenizer)
        steps(job, folder, tokenizer, (("tiny", 256, ("host", "device"), 0.0),) if job.rehearse else FIRST)
        search(job, folder, tokenizer)
        windows(job, folder, tokenizer)
        if not job.rehearse:
            steps(job, folder, tokenizer, THEN)
    job.end()


if __name__ == "__main__":
    main()
