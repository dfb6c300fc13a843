"""Which source piece a target piece comes from, according to a trained model, and the shortlist learned from that.

Input: sample pairs. The model decodes the given targets (forced decoding) while its encoder-decoder attention (section
3.2.3) is watched from outside. The weights, averaged over the heads of one layer, are counted by piece. Output: a
`Shortlist`.

Which layer aligns, and whether with the decoder's input token or the one predicted from it, differs between models. The
choice made is the one with the most mutual information between source and target pieces when each target token is
joined with the one position that it attends to most (`reproduce/alignment.py`; `docs/log.md`, 2026-11-21).
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor

from dragoman.data.batches.batch import Batch, Example, collate
from dragoman.data.batches.batching import pack
from dragoman.decode.attention import cross_attention, require_attention
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.network import EncoderDecoder
from dragoman.shortlist.file import Shortlist
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK, Tokenizer

# Sentences × longest side of a batch of forced decoding.
BATCH_TOKENS = 4096
# Pairs on which the choices are compared: with 500, mutual information ranked a diffuse layer above a better one.
PROBE = 10_000
# Source positions that a target token is counted with, by the weight of each: one alone covers less held-out text.
ALIGNED_POSITIONS = 3
# Counts collected before equal ones are added up.
MAX_UNMERGED = 1 << 21


@dataclass(frozen=True)
class AttentionChoice:
    """A decoder layer, and whether its attention aligns the decoder's input token or the token predicted from it."""

    layer: int
    aligns_input_token: bool


@dataclass
class Counts:
    """How often each source piece was aligned with each target piece: a sparse matrix that grows."""

    width: int
    codes: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)

    def add(self, source: Tensor, target: Tensor, weight: Tensor) -> None:
        """Count pairs of ids (N,) by their weights (N,)."""
        self.codes.append((source * self.width + target).cpu())
        self.weights.append(weight.float().cpu())
        if len(self.codes) > 1 and sum(map(len, self.codes)) > len(self.codes[0]) + MAX_UNMERGED:
            self.fold()

    def fold(self) -> tuple[Tensor, Tensor]:
        """The distinct codes, source × width + target, ascending, and the total weight of each."""
        codes, indices = torch.cat(self.codes).unique(return_inverse=True)
        weights = torch.zeros(len(codes)).index_add_(0, indices, torch.cat(self.weights))
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
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    examples: Sequence[Example],
    device: torch.device,
    *,
    per_piece: int,
    frequent: int,
    progress: Callable[[int], None] = lambda examples: None,
) -> Shortlist:
    """The shortlist of `model`, learned by forced decoding of the examples.

    `progress` is called with the number of examples read since its last call: those that the choice of attention is
    made on, then all of them.

    Always allowed: special tokens, bytes and the `frequent` most frequent target pieces. Each source piece adds the
    `per_piece` others that it was aligned with most, and itself where it is a target piece too, as in a name.
    """
    model = model.to(device).eval()
    choices = [
        AttentionChoice(*choice)
        for choice in product(range(len(require_attention(model, "a shortlist"))), (False, True))
    ]
    width = len(tokenizer.target)
    probed = count(model, examples[:PROBE], device, choices, width, positions=1, progress=progress)
    best = max(choices, key=lambda choice: probed[choice].information())
    counts = count(model, examples, device, [best], width, progress=progress)[best]
    return likeliest(counts, tokenizer, always_allowed(tokenizer, examples, frequent), per_piece)


def always_allowed(tokenizer: Tokenizer, examples: Sequence[Example], frequent: int) -> tuple[int, ...]:
    """Special tokens, bytes, then the most frequent target pieces, most frequent first."""
    processor = tokenizer.target.processor
    byte_tokens = [token for token in range(len(tokenizer.target)) if processor.IsByte(token)]
    seen = Counter(token for example in examples for token in example.target)
    ranked = sorted(seen, key=lambda token: (-seen[token], token))
    return tuple(dict.fromkeys([PAD, UNK, BOS, EOS, *byte_tokens, *ranked[:frequent]]))


def count(
    model: EncoderDecoder,
    examples: Sequence[Example],
    device: torch.device,
    choices: Sequence[AttentionChoice],
    width: int,
    positions: int = ALIGNED_POSITIONS,
    progress: Callable[[int], None] = lambda examples: None,
) -> dict[AttentionChoice, Counts]:
    """What each choice of attention aligns in the examples, for a target vocabulary of `width`.

    EOS and language tokens are aligned with nothing: each sentence has them, so they would add to every shortlist.
    """
    counts = {choice: Counts(width) for choice in choices}
    marks = torch.tensor(sorted({EOS, *(mark for example in examples for mark in example.marks.source)}), device=device)
    with torch.inference_mode(), cross_attention(model, {choice.layer for choice in choices}) as weights:
        for group in pack([example.lengths for example in examples], BATCH_TOKENS, random.Random(0)):
            batch = collate([examples[index] for index in group]).to(device)
            state = model.encode(batch.src, padding_mask(batch.src, PAD))
            model.decode_features(batch.tgt_in, state)
            for choice in choices:
                _add(counts[choice], batch, weights[choice.layer], choice.aligns_input_token, positions, marks)
            progress(len(group))
    return counts


def _add(
    counts: Counts, batch: Batch, weights: Tensor, aligns_input_token: bool, positions: int, marks: Tensor
) -> None:
    """Count each target token with the source positions that it attends to most, `marks` not among them."""
    is_token = (batch.tgt_out != PAD) & (batch.tgt_out != EOS)
    if aligns_input_token:  # a token is the decoder's input one position after it is predicted
        weights = torch.cat((weights[:, 1:], weights[:, -1:]), dim=1)
    weights = weights.masked_fill(torch.isin(batch.src, marks)[:, None], 0.0)
    top, indices = weights.topk(min(positions, batch.src.size(1)), dim=2)
    source = batch.src[:, None].expand_as(weights).gather(2, indices)
    target = batch.tgt_out[..., None].expand_as(source)
    counted = is_token[..., None] & (top > 0)
    counts.add(source[counted], target[counted], top[counted])


def likeliest(counts: Counts, tokenizer: Tokenizer, always: tuple[int, ...], per_piece: int) -> Shortlist:
    """The shortlist of what was counted, in addition to what is `always` allowed."""
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
    """Source and target id of each piece that both vocabularies have; special and language tokens left out."""
    is_control = tokenizer.source.processor.IsControl
    if tokenizer.same_ids:
        return ((token, token) for token in range(len(tokenizer.source)) if not is_control(token))
    targets = {piece: token for token, piece in enumerate(tokenizer.pieces(range(len(tokenizer.target)), "target"))}
    sources = tokenizer.pieces(range(len(tokenizer.source)), "source")
    return (
        (token, targets[piece]) for token, piece in enumerate(sources) if piece in targets and not is_control(token)
    )
