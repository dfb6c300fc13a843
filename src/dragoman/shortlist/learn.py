"""Which source piece a target piece comes from, as a trained model sees it, and the shortlist learned from that.

Sample pairs enter; the model is made to say the targets (forced decoding) while its encoder-decoder attention
(section 3.2.3) is watched from outside. The weights, averaged over the heads of one layer, are counted by piece, and
a `Shortlist` leaves.

Which layer aligns, and whether with the token that goes in or the one that comes out, differs from model to model. The
reading taken is the one that, each target token joined with the one position it looks at most, has the most mutual
information between source and target pieces (`reproduce/alignment.py`; `docs/log.md`, 2026-11-21).
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor

from dragoman.data.batch import Batch, Example, collate
from dragoman.data.batching import pack
from dragoman.model.attention import attention_weights, padding_mask
from dragoman.model.transformer import Transformer
from dragoman.shortlist.file import Shortlist
from dragoman.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizer

# Sentences × longest side of a batch of forced decoding.
BATCH_TOKENS = 4096
# Pairs on which the readings are compared: of 500, mutual information flattered a diffuse layer above a better one.
PROBE = 10_000
# Source positions that a target token is counted with, by the weight of each: one alone covers less held-out text.
POSITIONS = 3
# Counts that wait before equal ones are added up.
WAITING = 1 << 21


@dataclass(frozen=True)
class AttentionChoice:
    """A decoder layer, and whether the token aligned is the one that goes in there (`late`) or comes out."""

    layer: int
    late: bool


@dataclass
class Counts:
    """How much each source piece was joined with each target piece: a sparse matrix that grows."""

    width: int
    codes: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)

    def add(self, source: Tensor, target: Tensor, weight: Tensor) -> None:
        """Count pairs of ids (N,) by their weights (N,)."""
        self.codes.append((source * self.width + target).cpu())
        self.weights.append(weight.float().cpu())
        if len(self.codes) > 1 and sum(map(len, self.codes)) > len(self.codes[0]) + WAITING:
            self.fold()

    def fold(self) -> tuple[Tensor, Tensor]:
        """The distinct codes, ascending, and the weight of each; counted pair = source × width + target."""
        codes, place = torch.cat(self.codes).unique(return_inverse=True)
        weights = torch.zeros(len(codes)).index_add_(0, place, torch.cat(self.weights))
        self.codes, self.weights = [codes], [weights]
        return codes, weights

    def information(self) -> float:
        """The mutual information of source and target piece, in nats."""
        codes, weights = self.fold()
        p = weights / weights.sum()
        sides = [code.unique(return_inverse=True)[1] for code in (codes // self.width, codes % self.width)]
        alone = [torch.zeros(len(codes)).index_add_(0, side, p)[side] for side in sides]
        return float((p * (p.log() - alone[0].log() - alone[1].log())).nan_to_num().sum())


def learn_shortlist(
    model: Transformer,
    tokenizer: Tokenizer,
    examples: Sequence[Example],
    device: torch.device,
    *,
    per_piece: int,
    frequent: int,
) -> Shortlist:
    """The shortlist of `model` from pairs that it is made to say.

    Always allowed: marks, bytes and the `frequent` most frequent target pieces. Each source piece adds the
    `per_piece` others it was joined with most, and itself where it is a target piece too, as in a name.
    """
    model = model.to(device).eval()
    readings = [AttentionChoice(layer, late) for layer, late in product(range(len(model.decoder)), (False, True))]
    width = len(tokenizer.target)
    probed = count(model, examples[:PROBE], device, readings, width, positions=1)
    best = max(readings, key=lambda reading: probed[reading].information())
    counts = count(model, examples, device, [best], width)[best]
    return likeliest(counts, tokenizer, always_allowed(tokenizer, examples, frequent), per_piece)


def always_allowed(tokenizer: Tokenizer, examples: Sequence[Example], frequent: int) -> tuple[int, ...]:
    """Marks, bytes, then the most frequent target pieces, likeliest first."""
    processor = tokenizer.target.processor
    spelling = [token for token in range(len(tokenizer.target)) if processor.IsByte(token)]
    seen = Counter(token for example in examples for token in example.target)
    ranked = sorted(seen, key=lambda token: (-seen[token], token))
    return tuple(dict.fromkeys([PAD, UNK, BOS, EOS, *spelling, *ranked[:frequent]]))


def count(
    model: Transformer,
    examples: Sequence[Example],
    device: torch.device,
    readings: Sequence[AttentionChoice],
    width: int,
    positions: int = POSITIONS,
) -> dict[AttentionChoice, Counts]:
    """What each reading of the attention joins in the examples, for a target vocabulary of `width`."""
    found = {reading: Counts(width) for reading in readings}
    with torch.inference_mode(), watched(model, {reading.layer for reading in readings}) as seen:
        for group in pack([example.lengths for example in examples], BATCH_TOKENS, random.Random(0)):
            batch = collate([examples[index] for index in group]).to(device)
            state = model.encode(batch.src, padding_mask(batch.src, PAD))
            model.decode_features(batch.tgt_in, state)
            for reading in readings:
                _add(found[reading], batch, seen[reading.layer], reading.late, positions)
    return found


@contextmanager
def watched(model: Transformer, layers: set[int]) -> Iterator[dict[int, Tensor]]:
    """Within, the latest encoder-decoder attention of these layers, (B, T, S), the mean of its heads."""
    seen: dict[int, Tensor] = {}

    def watch(layer: int) -> Callable[..., None]:
        def keep(_: object, inputs: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
            q, k, _values, mask = inputs
            seen[layer] = attention_weights(q, k, mask).mean(1)

        return keep

    with ExitStack() as hooks:
        for layer in layers:
            attend = model.get_submodule(f"decoder.{layer}.cross_attention.attend")
            hooks.callback(attend.register_forward_pre_hook(watch(layer)).remove)
        yield seen


def _add(counts: Counts, batch: Batch, weights: Tensor, late: bool, positions: int) -> None:
    """Count each target token with the source positions that it looks at most, the end mark not among them."""
    said = (batch.tgt_out != PAD) & (batch.tgt_out != EOS)
    if late:  # the position after the one that says a token is the one it goes into
        weights = torch.cat((weights[:, 1:], weights[:, -1:]), dim=1)
    weights = weights.masked_fill((batch.src == EOS)[:, None], 0.0)
    top, place = weights.topk(min(positions, batch.src.size(1)), dim=2)
    source = batch.src[:, None].expand_as(weights).gather(2, place)
    target = batch.tgt_out[..., None].expand_as(source)
    kept = said[..., None] & (top > 0)
    counts.add(source[kept], target[kept], top[kept])


def likeliest(counts: Counts, tokenizer: Tokenizer, always: tuple[int, ...], per_piece: int) -> Shortlist:
    """The shortlist of what was counted, beside what is `always` allowed."""
    rules: dict[int, list[int]] = {}
    allowed = set(always)
    codes, weights = counts.fold()
    for code in codes[weights.argsort(descending=True, stable=True)].tolist():
        source, target = divmod(code, counts.width)
        if target not in allowed and len(rules.setdefault(source, [])) < per_piece:
            rules[source].append(target)
    for source, target in _same_on_both_sides(tokenizer):
        if target not in allowed and target not in rules.setdefault(source, []):
            rules[source].append(target)
    return Shortlist(always, {source: tuple(targets) for source, targets in sorted(rules.items()) if targets})


def _same_on_both_sides(tokenizer: Tokenizer) -> Iterator[tuple[int, int]]:
    """Source and target id of each piece that both vocabularies have."""
    if tokenizer.joint:
        return ((token, token) for token in range(len(tokenizer.source)))
    targets = {piece: token for token, piece in enumerate(tokenizer.pieces(range(len(tokenizer.target)), "target"))}
    sources = tokenizer.pieces(range(len(tokenizer.source)), "source")
    return ((token, targets[piece]) for token, piece in enumerate(sources) if piece in targets)
