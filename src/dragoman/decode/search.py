"""Beam search, section 6.1: the most probable translations, found left to right with a key/value cache.

All sentences of a batch advance together. The memory of a sentence is projected once and shared by its
hypotheses; finished sentences leave the batch. A beam of 1 is greedy search.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.decode.scoring import speakable
from dragoman.model.attention import padding_mask
from dragoman.model.transformer import DecoderState, Transformer
from dragoman.text.tokenizer import BOS, EOS, PAD


@torch.inference_mode()
def beam_search(
    model: Transformer,
    src: Tensor,
    *,
    beam: int,
    alpha: float,
    max_lengths: list[int],
    prefixes: Sequence[Sequence[int]] = (),
) -> list[list[Hypothesis]]:
    """Up to `beam` finished hypotheses of each sentence of `src` (B, S), best score first.

    A hypothesis has at most `max_lengths[b]` tokens before its end mark. A sentence is finished when it has
    `beam` hypotheses: those found first, as a longer one rarely overtakes them. It begins with `prefixes[b]`.
    """
    state = model.encode(src, padding_mask(src, PAD))
    search = _Search(state, beam, alpha, max_lengths, prefixes or [()] * len(max_lengths), src.device)
    while search.sentences:
        search.advance(model)
    return [sorted(found, key=lambda hypothesis: -hypothesis.score)[:beam] for found in search.finished]


@dataclass
class _Search:
    """The living hypotheses of the unfinished sentences, grouped by sentence, `width` for each."""

    state: DecoderState
    beam: int
    alpha: float
    max_lengths: list[int]
    prefixes: Sequence[Sequence[int]]
    device: torch.device
    sentences: list[int] = field(init=False)
    finished: list[list[Hypothesis]] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.max_lengths)
        self.sentences = list(range(count))
        self.finished = [[] for _ in range(count)]
        self.width = 1  # hypotheses per sentence: they fork from one
        self.tokens = torch.full((count, 1), BOS, device=self.device)
        self.log_probs = torch.zeros(count, 1, device=self.device)

    def advance(self, model: Transformer) -> None:
        """Prolong every hypothesis by a token; keep the `beam` best of each sentence."""
        logits, self.state = model.decode(self.tokens[:, -1:], self.state)
        total = self._extensions(logits[:, -1])
        # Each hypothesis has one extension that ends: 2 × beam candidates hold at least `beam` that go on.
        candidates, flat = total.topk(min(2 * self.beam, total.size(1)), dim=1)
        parents, tokens = flat // logits.size(-1), flat % logits.size(-1)
        self._collect(candidates, parents, tokens)
        self._keep(candidates, parents, tokens)

    def _extensions(self, logits: Tensor) -> Tensor:
        """log P of each hypothesis prolonged by each token, (sentences, width × V)."""
        log_probs = speakable(logits.float()).log_softmax(-1)
        must_end = [self.max_lengths[sentence] < self.tokens.size(1) for sentence in self.sentences]
        if any(must_end):
            rows = torch.tensor(must_end, device=self.device).repeat_interleave(self.width)
            ends = log_probs[rows, EOS]
            log_probs[rows] = -torch.inf
            log_probs[rows, EOS] = ends
        said = self.tokens.size(1) - 1
        for row, sentence in enumerate(self.sentences):
            if said < len(prefix := self.prefixes[sentence]):
                hypotheses = slice(row * self.width, (row + 1) * self.width)
                forced = log_probs[hypotheses, prefix[said]].clone()
                log_probs[hypotheses] = -torch.inf
                log_probs[hypotheses, prefix[said]] = forced
        return (self.log_probs[..., None] + log_probs.unflatten(0, (-1, self.width))).flatten(1)

    def _collect(self, candidates: Tensor, parents: Tensor, tokens: Tensor) -> None:
        """Move the extensions that end, and are among the best `beam`, to the finished."""
        ends = (tokens[:, : self.beam] == EOS) & candidates[:, : self.beam].isfinite()
        length = self.tokens.size(1)  # the begin mark stands for the end mark in the count
        for row, rank in ends.nonzero().tolist():
            history = self.tokens[row * self.width + int(parents[row, rank]), 1:]
            log_prob = float(candidates[row, rank])
            score = log_prob / length_penalty(length, self.alpha)
            self.finished[self.sentences[row]].append(Hypothesis(tuple(history.tolist()), log_prob, score))

    def _keep(self, candidates: Tensor, parents: Tensor, tokens: Tensor) -> None:
        """Fork the state into the best extensions that go on; drop the sentences that are done."""
        going_on = candidates.masked_fill(tokens == EOS, -torch.inf)
        self.log_probs, order = going_on.topk(min(self.beam, going_on.size(1)), dim=1)
        best_alive = self.log_probs[:, 0].tolist()
        alive = [row for row, best in enumerate(best_alive) if not self._done(self.sentences[row], best)]
        self.sentences = [self.sentences[row] for row in alive]
        if not alive:
            return
        rows = torch.tensor(alive, device=self.device)
        chosen = parents.gather(1, order)[rows] + rows[:, None] * self.width
        following = tokens.gather(1, order)[rows].flatten()
        self.log_probs = self.log_probs[rows]
        self.tokens = torch.cat((self.tokens[chosen.flatten()], following[:, None]), dim=1)
        whole = len(alive) == candidates.size(0)
        self.state = self.state.select(chosen.flatten(), None if whole else rows)
        self.width = order.size(1)

    def _done(self, sentence: int, best_alive: float) -> bool:
        """Whether what is alive may be given up."""
        return len(self.finished[sentence]) >= self.beam or best_alive == -torch.inf
