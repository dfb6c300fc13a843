"""One step of beam search, section 6.1, on tensors that stay where they are: it asks the device nothing.

    log P of every next token    the networks, each of which extends its state in place
    extensions                   what the constraints allow, the best of each hypothesis, the best of each sentence
    those that end               written to the tables of finished hypotheses
    the others                   the `beam` best are the hypotheses of the next step

The equations are those of `dragoman.decode.search`, whose hypotheses it finds. There a batch shrinks and its cache
grows; here every tensor has one size from the first step to the last, so that the step can be recorded. A row whose
log P is −∞ holds no hypothesis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.decode.constraints import ANY, Constraints
from dragoman.decode.ensemble import Ensemble, log_mean, project_log_probs
from dragoman.decode.hypothesis import Hypothesis, length_penalty
from dragoman.decode.search import best_extensions, best_unfinished, endings, extension_count, rank
from dragoman.decode.topk import topk_by_blocks
from dragoman.decode.vocabulary import CandidateVocabulary
from dragoman.model.parts.cache import write_first
from dragoman.model.parts.device import uncached_autocast
from dragoman.model.transformer import DecoderState, FixedState, Transformer
from dragoman.text.tokens.tokenizer import EOS


@dataclass(frozen=True, slots=True)
class StepShape:
    """What a recording is for: the sizes of its tensors, and the rule that decides about its operations."""

    sentences: int
    source: int
    """Positions of a source."""
    target: int
    """Positions of a target, BOS and language tokens among them."""
    beam: int
    no_repeat_ngram: int = 0


class BeamStep:
    """The hypotheses of B sentences, M = `beam` of each, with memory for C target positions; calling it extends them.

    `states` are states of the networks; what they hold is not read.
    """

    def __init__(self, models: Ensemble, states: Sequence[DecoderState | FixedState], shape: StepShape) -> None:
        count, beam, length = shape.sentences, shape.beam, shape.target
        device = self.device = models.models[0].projection.device
        self.models, self.shape = models, shape
        sizes = {"sentences": count, "hypotheses": beam, "source": shape.source, "target": length}
        self.states = [FixedState.like(state, **sizes) for state in states]
        self.projections = models.projections(CandidateVocabulary())
        integers = partial(torch.zeros, dtype=torch.int64, device=device)
        self.length = integers(1)  # tokens of every hypothesis
        self.log_probs = torch.full((count, beam), -torch.inf, device=device)
        self.latest = integers(count, beam)  # what is decoded next
        self.tokens = integers(count, beam, length)
        self.forced = torch.full((count, length), ANY, device=device)
        self.min_length = integers(1)
        # At most 2 · M − 1 hypotheses of a sentence finish. The last place is written where one does not.
        self.counts = integers(count)
        self.finished = integers(count, 2 * beam, length)
        self.finished_lengths = integers(count, 2 * beam)
        self.finished_log_probs = torch.zeros(count, 2 * beam, device=device)

    # --- what is recorded --------------------------------------------------------------------------------------------

    def __call__(self) -> None:
        """Extend every hypothesis by one token; keep the `beam` best unfinished ones of each sentence."""
        beam = self.shape.beam
        with uncached_autocast(self.device):
            values, columns = self._candidates(self._log_probs())
        totals, parents, tokens = best_extensions(self.log_probs, values, columns, beam)
        ends = endings(totals, tokens, beam)
        self._collect(ends, totals, parents)
        log_probs, order = best_unfinished(totals, tokens, self.counts, beam)
        self.log_probs.copy_(log_probs)
        self._keep(parents.gather(1, order), tokens.gather(1, order))

    def _log_probs(self) -> Float[Tensor, "R V"]:
        """log P of every token after each hypothesis."""
        latest, log_probs = self.latest.view(-1, 1), []
        for model, state, projection in zip(self.models.models, self.states, self.projections, strict=True):
            x = cast("Transformer", model).decode_in_place(latest, state)
            log_probs.append(project_log_probs(x[:, -1], projection))
        return log_mean(log_probs)

    def _candidates(self, log_probs: Float[Tensor, "R V"]) -> tuple[Float[Tensor, "R E"], Int[Tensor, "R E"]]:
        """log P of the best tokens that may follow each hypothesis, best first, and the tokens.

        A token that has to follow has log P of the model, whatever else forbids it; the others have none.
        """
        only = self.forced.index_select(1, self.length)[:, None].expand(-1, self.shape.beam, -1).reshape(-1, 1)
        end = log_probs[:, EOS : EOS + 1].clone()
        of_only = log_probs.gather(1, only.clamp(min=0))
        log_probs[:, EOS : EOS + 1] = end.masked_fill(self.length < self.min_length, -torch.inf)
        if 0 < self.shape.no_repeat_ngram <= self.shape.target:
            self._mask_repeated_ngrams_(log_probs)
            is_stuck = (log_probs.amax(1, keepdim=True) == -torch.inf) & (only == ANY)
            # Where nothing else may follow, the translation ends, even too early.
            only = only.masked_fill(is_stuck, EOS)
            of_only = torch.where(is_stuck, end, of_only)
        values, columns = topk_by_blocks(log_probs, extension_count(self.shape.beam, log_probs.size(1)))
        alone = F.pad(of_only, (0, values.size(1) - 1), value=-torch.inf)
        return torch.where(only == ANY, values, alone), torch.where(only == ANY, columns, only)

    def _mask_repeated_ngrams_(self, log_probs: Float[Tensor, "R V"]) -> None:
        """Mask each token that would make the last n tokens of a hypothesis equal to n tokens before them."""
        n, tokens = self.shape.no_repeat_ngram, self.tokens.flatten(0, 1)
        places = torch.arange(n - 1, tokens.size(1), device=self.device)  # of the last token of an n-gram
        is_repeated = (places < self.length).expand(tokens.size(0), -1)
        if n > 1:
            last = tokens.index_select(1, (self.length + torch.arange(1 - n, 0, device=self.device)).clamp(min=0))
            is_repeated = is_repeated & (tokens[:, :-1].unfold(1, n - 1, 1) == last[:, None]).all(-1)
        followers = tokens[:, n - 1 :]
        ceilings = torch.full_like(followers, torch.inf, dtype=log_probs.dtype).masked_fill(is_repeated, -torch.inf)
        log_probs.scatter_reduce_(1, followers, ceilings, "amin")

    def _collect(self, ends: Bool[Tensor, "B M"], totals: Float[Tensor, "B E"], parents: Int[Tensor, "B E"]) -> None:
        """Write the hypotheses that end to the next places of the finished ones of their sentence."""
        beam = self.shape.beam
        places = (self.counts[:, None] + ends.cumsum(1) - 1).masked_fill(~ends, 2 * beam - 1)
        ending = self.tokens.gather(1, _columns(parents[:, :beam], self.tokens))
        self.finished.scatter_(1, _columns(places, ending), ending)
        self.finished_lengths.scatter_(1, places, self.length.expand_as(places))
        self.finished_log_probs.scatter_(1, places, totals[:, :beam])
        self.counts.add_(ends.sum(1))

    def _keep(self, parents: Int[Tensor, "B M"], tokens: Int[Tensor, "B M"]) -> None:
        """Continue with these extensions of each sentence."""
        self.tokens.copy_(self.tokens.gather(1, _columns(parents, self.tokens)))
        self.tokens.index_copy_(2, self.length, tokens[..., None])
        self.latest.copy_(tokens)
        for state in self.states:
            state.fork(parents)
        self.length.add_(1)

    # --- before and after --------------------------------------------------------------------------------------------

    def load(self, states: Sequence[DecoderState], latest: Int[Tensor, "B2 1"], constraints: Constraints) -> None:
        """Begin a search: sentences that have read what precedes `latest`. Further rows are empty."""
        self._clear()
        for here, there in zip(self.states, states, strict=True):
            here.load(there)
        self.length.zero_()
        write_first(self.log_probs, torch.zeros_like(latest, dtype=torch.float32))  # one hypothesis, which forks
        write_first(self.latest, latest)
        self._constrain(constraints, range(latest.size(0)))

    def take(self, other: "BeamStep", rows: Sequence[int], constraints: Constraints, sentences: Sequence[int]) -> None:
        """Continue these rows of a step of other sizes; they are `sentences` of the constraints."""
        self._clear()
        selected = torch.tensor(rows, device=self.device)
        for mine, theirs in zip(self.states, other.states, strict=True):
            mine.take(theirs, selected)
        for here, there in zip(self._tables(), other._tables(), strict=True):
            write_first(here, there.index_select(0, selected))
        self.length.copy_(other.length)
        self._constrain(constraints, sentences)

    def unfinished(self) -> list[int]:
        """The rows whose search continues: the one question to the device."""
        return [row for row, log_prob in enumerate(self.log_probs[:, 0].tolist()) if log_prob > -torch.inf]

    def hypotheses(self, rows: Sequence[int], alpha: float) -> list[list[Hypothesis]]:
        """The finished hypotheses of these rows, best score first, as `beam_search` returns them."""
        selected = torch.tensor(rows, dtype=torch.int64, device=self.device)
        tables = (self.counts, self.finished_lengths, self.finished_log_probs, self.finished)
        columns = [table.index_select(0, selected).cpu().numpy() for table in tables]
        ranked = []
        for count, lengths, log_probs, tokens in zip(*columns, strict=True):
            ended = [
                Hypothesis(tuple(ids[:length].tolist()), log_prob, log_prob / length_penalty(length + 1, alpha))
                for ids, length, log_prob in zip(tokens[:count], lengths.tolist(), log_probs.tolist(), strict=False)
            ]
            ranked.append(rank([(hypothesis, hypothesis) for hypothesis in ended], self.shape.beam))
        return ranked

    def _clear(self) -> None:
        self.log_probs.fill_(-torch.inf)
        self.counts.zero_()

    def _constrain(self, constraints: Constraints, sentences: Sequence[int]) -> None:
        write_first(self.forced, constraints.forced(sentences, self.shape.target))
        self.min_length.fill_(constraints.min_length)

    def _tables(self) -> tuple[Tensor, ...]:
        finished = (self.counts, self.finished, self.finished_lengths, self.finished_log_probs)
        return (self.log_probs, self.latest, self.tokens, *finished)

    @property
    def bytes(self) -> int:
        """The memory of its tensors."""
        tensors = [*self._tables(), *(tensor for state in self.states for tensor in state.tensors())]
        return sum(tensor.nbytes for tensor in tensors)


def _columns(choice: Int[Tensor, "B M"], table: Int[Tensor, "B _ C"]) -> Int[Tensor, "B M C"]:
    """An index for `gather` and `scatter`: every column of the rows of `choice`."""
    return choice[..., None].expand(-1, -1, table.size(2))
