"""State is a value: whatever was decoded from it in between, a state continues by its own tokens."""

import random
from collections.abc import Callable
from contextlib import nullcontext

import pytest
import torch
from torch import Tensor

from architectures import ALL
from dragoman.data.batches.batch import pad
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.network import EncoderDecoder, State
from dragoman.model.transformer import DecoderState
from dragoman.text.tokens.tokenizer import EOS, PAD
from numerics import assert_same
from suites import covering

Draw = Callable[..., list[list[int]]]
Known = tuple[State, list[list[list[int]]], list[int]]  # a state, its hypotheses' tokens, its sentences


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    """Also float64: what rounding could hide in float32 shows there."""
    return request.param


@pytest.fixture(params=ALL.values(), ids=ALL)
def model(request: pytest.FixtureRequest, build: Callable[..., EncoderDecoder]) -> EncoderDecoder:
    """Every architecture."""
    return build(**request.param)


def forked(known: Known, rng: random.Random) -> Known:
    """Some of its sentences, each with as many of its hypotheses, some twice."""
    state, generated, numbers = known
    kept = rng.sample(range(len(generated)), rng.randint(1, len(generated)))
    width = rng.randint(1, 4)
    parents = [[rng.randrange(len(generated[place])) for _ in range(width)] for place in kept]
    rows = [
        place * len(generated[place]) + parent for place, some in zip(kept, parents, strict=True) for parent in some
    ]
    histories = [[generated[place][parent] for parent in some] for place, some in zip(kept, parents, strict=True)]
    return state.select(torch.tensor(rows), torch.tensor(kept)), histories, [numbers[place] for place in kept]


def full(model: EncoderDecoder, sources: list[list[int]], known: Known) -> Tensor:
    """The last logits, everything computed again, each hypothesis with a copy of its sentence."""
    _, generated, numbers = known
    src = pad([[*sources[number], EOS] for number, some in zip(numbers, generated, strict=True) for _ in some])
    return model(src, padding_mask(src, PAD), torch.tensor([tokens for some in generated for tokens in some]))[:, -1]


@pytest.mark.parametrize(
    ("model", "dtype", "seed", "mode"),
    covering(
        ALL,
        {"float32": torch.float32, "float64": torch.float64},
        range(3),
        {"inference": torch.inference_mode, "no_grad": torch.no_grad, "gradients": nullcontext},
    ),
    indirect=["model", "dtype"],
)
def test_a_state_continues_by_its_tokens_whatever_others_do(
    model: EncoderDecoder, sentences: Draw, mode: Callable[[], object], seed: int
) -> None:
    rng, sources = random.Random(seed), sentences([5, 2, 7])
    with mode():
        src = pad([[*source, EOS] for source in sources])
        states: list[Known] = [(model.encode(src, padding_mask(src, PAD)), [[[]], [[]], [[]]], [0, 1, 2])]
        for _ in range(12):
            known = rng.choice(states[-4:])
            if rng.random() < 0.5:
                known = forked(known, rng)
            state, generated, numbers = known
            length = rng.choice([1, 1, 1, 2, 3])
            longer = [[[*tokens, *rng.choices(range(4, 13), k=length)] for tokens in some] for some in generated]
            new = torch.tensor([tokens[-length:] for some in longer for tokens in some])
            logits, after = model.decode(new, state)
            states.append((after, longer, numbers))
            if isinstance(after, DecoderState):
                assert after.position == len(longer[0][0])
            assert_same(logits[:, -1], full(model, sources, states[-1]))


def test_a_state_of_inference_continues_outside_of_it(model: EncoderDecoder, sentences: Draw) -> None:
    src, tokens = torch.tensor([[*sentences([4])[0], EOS]]), torch.tensor([[5, 6, 7, 8]])
    model.requires_grad_(False)
    with torch.inference_mode():
        state = model.encode(src, padding_mask(src, PAD))
        for token in tokens[:, :3].split(1, dim=1):
            _, state = model.decode(token, state)
    logits, _ = model.decode(tokens[:, 3:], state)
    assert_same(logits[:, -1], model(src, padding_mask(src, PAD), tokens)[:, -1])
