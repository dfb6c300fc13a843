"""A sentence by the snapshots of its model's run: the film of how its translation and its attention developed.

Input: an inspection, and the folder of the run that its model is from. Output: one frame for each snapshot and one for
the model itself, each with the translation of that step, and with the probability of one fixed translation, whose
attention is comparable from frame to frame because its pieces stay the same.
"""

import base64
import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.config import DecodeConfig
from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble
from dragoman.decode.search import beam_search
from dragoman.errors import ModelError
from dragoman.inspection.inspection import Inspection
from dragoman.inspection.record import AttentionRecord, Recording, record
from dragoman.model.parts.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.text.terms.symbols import restore
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import BOS, PAD, Tokenizer
from dragoman.training.resume.snapshots import load_snapshot, snapshots

# The most bytes of attention weights, one byte each, in the film of one sentence.
FILM_BYTES = 400_000

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class FilmFrame:
    """The sentence at one step."""

    step: int | None
    """None: the model itself."""
    text: str = ""
    """The translation of this step."""
    chrf: float = 0.0
    """chrF of `text` against the fixed translation, from 0 to 100."""
    log_prob: float = 0.0
    """log P per token of the fixed translation, in nats."""
    problem: str | None = None
    """Why the snapshot cannot be read; all else is then empty."""


def run_of(model: Path, tokenizer: Tokenizer) -> Path | None:
    """The folder of the run that the bundle in `model` was trained in, if it has snapshots of such a model."""
    run = model.absolute().parent
    if not snapshots(run):
        return None
    try:
        return run if Tokenizer.load(run / "tokenizer").sha256 == tokenizer.sha256 else None
    except ModelError:
        return None


@torch.inference_mode()
def film(
    run: Path, inspection: Inspection, options: DecodeConfig, marks: Marks = NO_MARKS, byte_budget: int = FILM_BYTES
) -> dict[str, Any] | None:
    """The film as JSON: `frames`, and of those without a problem the attention of the fixed translation.

    The fixed translation is that of the inspection, which `marks` are the language tokens of. `maps` are the names of
    its attentions; each has `heads` heads, or their mean if all of them are larger than `byte_budget`. `weights` has
    them by frame, map, head, query and key, from 0 to 255, in base64. None if no snapshot can be read.
    """
    from sacrebleu.metrics.chrf import CHRF  # slow to import

    metric, network = CHRF(), copy.deepcopy(inspection.model)
    frames: list[FilmFrame] = []
    weights: list[Weights] = []
    for step, path in snapshots(run).items():
        try:
            load_snapshot(network, path)
        except ModelError as error:
            frames.append(FilmFrame(step, problem=str(error)))
            continue
        text = _translation(network, inspection, options, marks)
        score = metric.sentence_score(text, [inspection.text]).score
        log_prob, recording = _fixed(network, inspection)
        frames.append(FilmFrame(step, text, score, log_prob))
        weights.append(_weights(recording))
    if not weights:
        return None
    frames.append(FilmFrame(None, inspection.text, 100.0, float(inspection.log_probs.mean())))
    weights.append(_weights(inspection.recording))
    heads, shown = _within(weights, byte_budget)
    numbers = [(tensor * 255).round().to(torch.uint8) for maps in shown for tensor in maps.values()]
    cells = b"".join(tensor.numpy().tobytes() for tensor in numbers)
    facts = {"frames": [asdict(frame) for frame in frames], "heads": heads, "maps": list(shown[0])}
    return facts | {"weights": base64.b64encode(cells).decode("ascii")}


def _translation(network: Transformer, inspection: Inspection, options: DecodeConfig, marks: Marks) -> str:
    """The translation by the network of a step, at most twice as long as the fixed one and a little: an untrained
    network finds no end."""
    longest = min(options.limit(len(inspection.source_ids)), 2 * len(inspection.target_ids) + 8)
    constraints = Constraints(
        [longest], min_length=min(options.min_length, longest), no_repeat_ngram=options.no_repeat_ngram
    )
    [hypotheses] = beam_search(
        Ensemble([network]),
        torch.tensor([inspection.source_ids]),
        constraints,
        beam=options.beam,
        alpha=options.length_penalty,
        beta=options.coverage_penalty,
        start=torch.tensor([[BOS, *marks.target]]),
    )
    tokens = [*marks.target, *hypotheses[0].tokens]
    return restore(inspection.tokenizer.decode([tokens], "target")[0], inspection.table)


def _fixed(network: Transformer, inspection: Inspection) -> tuple[float, Recording]:
    """log P per token of the fixed translation, and what the network computes for it."""
    source = torch.tensor([inspection.source_ids])
    target = torch.tensor([[BOS, *inspection.target_ids[:-1]]])
    with record(network) as recording:
        network.decode_features(target, network.encode(source, padding_mask(source, PAD)))
    return float(replace(inspection, model=network, recording=recording).log_probs.mean()), recording


def _weights(recording: Recording) -> Weights:
    """The weights of all heads of each attention, encoder first: (H, T, S) by its name."""
    attentions = {name: it.weights[0].float() for name, it in recording.items() if isinstance(it, AttentionRecord)}
    return dict(sorted(attentions.items(), key=lambda item: not item[0].startswith("encoder")))


def _within(frames: Sequence[Weights], byte_budget: int) -> tuple[int, list[Weights]]:
    """What fits of the weights, and how many heads that has: all, those between encoder and decoder, their means, or
    nothing."""
    between = [{name: x for name, x in maps.items() if name.endswith("cross_attention")} for maps in frames]
    means = [{name: x.mean(0, keepdim=True) for name, x in maps.items()} for maps in between]
    for shown in (list(frames), between, means):
        if sum(x.numel() for maps in shown for x in maps.values()) <= byte_budget:
            return len(next(iter(shown[0].values()))), shown
    return 0, [{} for _ in frames]
