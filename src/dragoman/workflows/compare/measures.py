"""What a finished run is measured by: its training cost, its depth, its scores by length, its attention."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from dragoman.bundle import Bundle
from dragoman.config import RunConfig, TrainConfig
from dragoman.data.batches.stream import BatchStream
from dragoman.data.corpus.directions import directions
from dragoman.engine import queries
from dragoman.errors import DataError, DragomanError
from dragoman.evaluation import bleu
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.network import EncoderDecoder
from dragoman.system.parsing import json_lines
from dragoman.text.terms.symbols import Symbols
from dragoman.text.tokens.tokenizer import PAD
from dragoman.text.words.normalise import normalise
from dragoman.training.cost.flops import training_flops
from dragoman.training.estimate.counting import counted, single_thread
from dragoman.training.resume.checkpoint import LOG
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.translator import Translator
from dragoman.workflows.evaluate.evaluate import TestSet

# Updates on which operations are counted: their mean length is within a few percent of the epoch's.
SAMPLED_UPDATES = 3
# Lengths n at which the longest chain is measured.
LENGTHS = (8, 16, 32, 64)
# The upper limits of source length in words, and the fewest sentences that a score is worth printing for.
LIMITS = (10, 20, 30, 40, 60)
FEWEST = 5


@dataclass(frozen=True)
class CurvePoint:
    """A validation of a run."""

    step: int
    seconds: float
    flops: float
    loss: float
    """Mean negative log-likelihood of a target token, in nats."""
    bleu: float | None


@dataclass(frozen=True)
class TrainingCost:
    """What the training of a run took."""

    steps: int
    seconds: float
    target_tokens: int
    flops: float
    """Operations of all updates: those counted in a few real ones, per target token, times `target_tokens`."""
    formula_flops: float
    """Operations computed from the equations (`training/cost/flops.py`)."""
    peak_bytes: int = 0
    """The most that the tensors of an update occupy at a time, weights and optimizer not counted."""
    curve: tuple[CurvePoint, ...] = ()
    """The validations."""

    @property
    def tokens_per_second(self) -> float:
        """Target tokens of training."""
        return self.target_tokens / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class LengthScore:
    """BLEU of the sentences of a range of lengths."""

    low: int
    """Fewest words of the source."""
    high: int | None
    """Most words of the source; None: no limit."""
    sentences: int
    bleu: float


@dataclass(frozen=True)
class Chain:
    """The longest chain of dependent operations for sentences of n tokens on both sides."""

    n: int
    forward: int
    """Of the forward pass of training, where every target token is given."""
    encoder: int
    """Of the encoder alone."""


@dataclass(frozen=True)
class AttentionMap:
    """How much each target piece attends to each source piece; the mean of the heads of the aligning layer."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    """One row per target piece."""


def training_cost(bundle: Bundle, model: EncoderDecoder, config: RunConfig, folder: Path) -> TrainingCost:
    """The cost of the finished run in `folder`; `config` is what it was trained with, and has the paths of its text.

    Raises DataError if its training text is gone.
    """
    outcome = bundle.manifest["training"]
    per_token, by_formula, peak_bytes = counted_updates(bundle, model, config)
    events = list(_events(folder / LOG))
    tokens = int(outcome["target_tokens"])
    curve = [
        CurvePoint(
            int(event["step"]),
            float(event["seconds"]),
            per_token * tokens * event["step"] / max(int(outcome["step"]), 1),
            float(event["loss"]),
            event["translations"] and float(event["translations"]["bleu"]),
        )
        for event in events
        if event["event"] == "validation"
    ]
    return TrainingCost(
        steps=int(outcome["step"]),
        seconds=float(outcome["seconds"]),
        target_tokens=tokens,
        flops=per_token * tokens,
        formula_flops=by_formula * tokens,
        peak_bytes=peak_bytes,
        curve=tuple(curve),
    )


def counted_updates(bundle: Bundle, model: EncoderDecoder, config: RunConfig) -> tuple[float, float, int]:
    """Real updates on the run's own text, padding included: operations per target token, as counted and by the
    equations, and memory in bytes.
    """
    network = model.train()
    gradient = plain_gradient(network, config.train)
    stream, flops, formula, tokens, peak = _stream(bundle, config), 0, 0, 0, 0
    with torch.random.fork_rng(devices=[]), single_thread():
        for _ in range(SAMPLED_UPDATES):
            batch = stream.next_update(1).batches[0]
            cost = counted(partial(gradient.backward, [batch], batch.target_tokens))
            (rows, source), target = batch.src.shape, batch.tgt_in.size(1)
            formula += training_flops(config.model, len(bundle.tokenizer.target), rows, source, target)
            flops, tokens, peak = flops + cost.flops, tokens + batch.target_tokens, max(peak, cost.peak_bytes)
            network.zero_grad()
    network.eval()
    return flops / tokens, formula / tokens, peak


def plain_gradient(network: EncoderDecoder, train: TrainConfig) -> GradientAccumulator:
    """The gradient of likelihood in float32 on the CPU, whose operations can be counted."""
    plain = {"precision": "float32", "compile": False, "recompute": False, "objective": "likelihood"}
    return GradientAccumulator(network, train.model_copy(update=plain), ProcessGroup(), torch.device("cpu"))


def _stream(bundle: Bundle, config: RunConfig) -> BatchStream:
    tokens = config.train.batch_tokens
    try:
        return BatchStream(
            config.data,
            bundle.tokenizer,
            batch_tokens=4096 if tokens == "auto" else tokens,
            seed=config.train.seed,
            directions=directions(config, config.data.train),
            symbols=Symbols.of(config, bundle.tokenizer.symbols),
        )
    except (DataError, OSError) as error:
        raise DataError(f"{bundle.folder}: its training text cannot be read: {error}") from None


def _events(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a run's log; none if it is gone or was cut."""
    with suppress(OSError, ValueError):
        for line in json_lines(path.read_text(encoding="utf-8")):
            yield json.loads(line)


def score_by_length(
    translations: Sequence[str], test_set: TestSet, tokenize: str | None = None
) -> tuple[LengthScore, ...]:
    """BLEU of the test sentences, with a tokeniser of sacreBLEU, by the number of words of the source."""
    lengths = [len(source.split()) for source in test_set.sources]
    scores, low = [], 1
    for high in (*LIMITS, None):
        rows = [at for at, length in enumerate(lengths) if low <= length and (high is None or length <= high)]
        if len(rows) >= FEWEST:
            references = [test_set.references[at] for at in rows]
            score = bleu([translations[at] for at in rows], references, tokenize=tokenize)
            scores.append(LengthScore(low, high, len(rows), score.value))
        low = (high or low) + 1
    return tuple(scores)


@torch.no_grad()  # in inference mode a recurrent layer is one operation, whose kernels are not seen
def chains_of(model: EncoderDecoder) -> tuple[Chain, ...]:
    """The longest chain of operations against the length n: Table 1, sequential operations, measured."""
    chains = []
    with single_thread():
        for n in LENGTHS:
            ids = torch.full((1, n), 5)
            mask = padding_mask(ids, PAD)
            model(ids, mask, ids)  # what is computed once and kept, such as the table of positions
            encoder = counted(partial(model.encode, ids, mask)).depth
            forward = counted(partial(model, ids, mask, ids)).depth
            chains.append(Chain(n, forward, encoder))
    return tuple(chains)


def attention_of(translator: Translator, source: str, translation: str) -> AttentionMap | None:
    """The encoder-decoder attention of a translation; None for a network that has none."""
    tokenizer = translator.tokenizer
    [ids], [target] = tokenizer.encode([normalise(source)], "source"), tokenizer.encode([translation], "target")
    try:
        attentions = translator.engine.attention(queries([ids], translator.marks), [target])
    except DragomanError:
        return None
    if attentions is None:
        return None
    return AttentionMap(
        tuple(tokenizer.pieces(ids, "source")),
        tuple(tokenizer.pieces(target, "target")),
        tuple(tuple(round(float(weight), 4) for weight in row) for row in attentions[0]),
    )
