"""Beam search on a GPU, which is never asked within a step: the host starts recorded steps and looks now and then.

    sentences → encoder → a `BeamStep` of the smallest sizes that hold them
    READ_EVERY steps at a time, then one question: which sentences are unfinished?
    too many empty rows, or too few positions left: what is unfinished is copied to a step of other sizes

A step is recorded (`dragoman.model.parts.recorded`) once for each of its sizes, which are powers of two, and serves all
later searches. The hypotheses are those of `beam_search`, but for rounding: it decides about other options, and about
networks other than a Transformer.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Int
from torch import Tensor

from dragoman.decode.beam_step import BeamStep, StepShape
from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble
from dragoman.decode.hypothesis import Hypothesis
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.network import EncoderDecoder
from dragoman.model.parts.recorded import Recorder, Work
from dragoman.model.transformer import DecoderState, FixedState, Transformer
from dragoman.text.tokens.tokenizer import BOS, PAD

# Steps between two questions. A search that has ended makes up to one less than this for nothing; they change nothing.
READ_EVERY = 8
# The unfinished sentences are copied to a smaller step once it has at most this share of the rows.
COMPACT_TO = 1 / 4
# The least positions of a source and of a target.
LEAST_WIDTH = 16
# Recordings that are kept, however small their tensors: a recording needs memory itself.
MOST_STEPS = 256
# Up to this number of sentences a step takes about as long for four times as many: only every other size is recorded.
FEW_SENTENCES = 256


def suits_recording(models: Sequence[EncoderDecoder]) -> bool:
    """Whether steps of these networks have shapes that do not depend on the data: those of Transformers have."""
    return all(isinstance(model, Transformer) and model.config.architecture == "transformer" for model in models)


def step_size(count: int, least: int = 1) -> int:
    """The size of a step's tensors for `count` of something: a power of two."""
    return max(least, 1 << (count - 1).bit_length())


def step_sentences(count: int) -> int:
    """The rows of a step for this number of sentences: 1, 4, 16, 64, 256, 512, 1,024, …"""
    size = step_size(count)
    return 2 * size if size < FEW_SENTENCES and size.bit_length() % 2 == 0 else size


class DeviceSearch:
    """Searches by recorded steps, for Transformers on one device.

    Steps are kept for later searches while they are at most MOST_STEPS and their tensors take at most `most_bytes`,
    those of the latest use.
    """

    def __init__(self, models: Ensemble, recorder: Recorder | None = None, most_bytes: int = 1 << 30) -> None:
        self.models, self.most_bytes = models, most_bytes
        self.recorder = recorder or Recorder(models.models[0].projection.device)
        self.steps: dict[StepShape, tuple[BeamStep, Work]] = {}
        """By their shape, that of the latest use last: the tensors, and what starts a step."""
        self.failure = ""
        """Why a step could not be recorded and is called instead; empty if there was no failure."""

    @torch.inference_mode()
    def __call__(
        self,
        src: Int[Tensor, "B S"],
        constraints: Constraints,
        *,
        beam: int,
        alpha: float,
        start: Int[Tensor, "B P"] | None = None,
    ) -> list[list[Hypothesis]]:
        """`beam_search` of these sentences."""
        start = src.new_full((src.size(0), 1), BOS) if start is None else start
        finished: list[list[Hypothesis]] = [[] for _ in range(src.size(0))]
        sentences, positions = list(range(src.size(0))), start.size(1) - 1
        states = self._read(src, start[:, :-1])
        target = step_size(positions + READ_EVERY, LEAST_WIDTH)
        width = step_size(src.size(1), LEAST_WIDTH)
        shape = StepShape(step_sentences(len(sentences)), width, target, beam, constraints.no_repeat_ngram)
        step, work = self._step(shape, states)
        step.load(states, start[:, -1:], constraints)
        while sentences:
            for _ in range(READ_EVERY):
                work()
            positions += READ_EVERY
            rows = step.unfinished()
            shape = self._fitting(step.shape, len(rows), positions)
            if rows and shape == step.shape:
                continue
            ended = sorted({*range(len(sentences))} - {*rows})
            for row, hypotheses in zip(ended, step.hypotheses(ended, alpha), strict=True):
                finished[sentences[row]] = hypotheses
            sentences = [sentences[row] for row in rows]
            if sentences:
                before, (step, work) = step, self._step(shape, step.states)
                step.take(before, rows, constraints, sentences)
        return finished

    def _read(self, src: Int[Tensor, "B S"], marks: Int[Tensor, "B P"]) -> list[DecoderState]:
        """The states after BOS and the language tokens but the last of them."""
        states: list[DecoderState] = []
        for model in cast("tuple[Transformer, ...]", self.models.models):
            state = model.encode(src, padding_mask(src, PAD))
            states.append(model.decode_features(marks, state)[1] if marks.size(1) else state)
        return states

    def _fitting(self, shape: StepShape, unfinished: int, positions: int) -> StepShape:
        """The shape to continue with."""
        size = step_sentences(max(1, unfinished))
        target = step_size(positions + READ_EVERY, LEAST_WIDTH)
        return replace(
            shape,
            sentences=size if size <= COMPACT_TO * shape.sentences else shape.sentences,
            target=max(target, shape.target),
        )

    def _step(self, shape: StepShape, states: Sequence[DecoderState | FixedState]) -> tuple[BeamStep, Work]:
        """The step of this shape and what starts it; it is recorded at its first use."""
        recorded = self.steps.pop(shape, None)
        if recorded is None and self.steps:
            with suppress(torch.OutOfMemoryError):
                recorded = self._recorded(shape, states)
        if recorded is None:  # the first of all, or there was no memory next to the others
            self.steps.clear()
            self.recorder.forget()
            recorded = self._recorded(shape, states)
        self.steps[shape] = recorded
        while len(self.steps) > 1 and self._is_too_much():
            del self.steps[next(iter(self.steps))]
        return recorded

    def _is_too_much(self) -> bool:
        needed = sum(step.bytes for step, _ in self.steps.values())
        return needed > self.most_bytes or len(self.steps) > MOST_STEPS

    def _recorded(self, shape: StepShape, states: Sequence[DecoderState | FixedState]) -> tuple[BeamStep, Work]:
        step = BeamStep(self.models, states, shape)
        self.recorder.rehearse(step)
        try:
            return step, self.recorder.record(step)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # a device, or an attention kernel, that cannot be recorded
            self.failure = str(error)
            return step, step
