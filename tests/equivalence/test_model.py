"""The model's laws: cached = full, padded = alone, hypotheses share a memory without knowing of each other."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from architectures import ALL, OTHERS
from dragoman.data.batches.batch import pad
from dragoman.model.parts.attention import padding_mask
from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD
from numerics import assert_same

Draw = Callable[..., list[list[int]]]


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    """Also float64: what rounding could hide in float32 shows there."""
    return request.param


@pytest.fixture(params=ALL.values(), ids=ALL)
def model(request: pytest.FixtureRequest, build: Callable[..., EncoderDecoder]) -> EncoderDecoder:
    """Every architecture."""
    return build(**request.param)


def source(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    src = pad([[*row, EOS] for row in rows])
    return src, padding_mask(src, PAD)


@pytest.mark.parametrize(
    "keys",
    [{}, {"tie": "none", "d_k": 3, "d_v": 5}, {"encoder_layers": 3, "decoder_layers": 1}],
    ids=["plain", "d_k is not d_v", "deep and shallow"],
)
@pytest.mark.parametrize("order", ["post", "pre"])
def test_one_position_at_a_time_equals_all_at_once(
    build: Callable[..., EncoderDecoder], sentences: Draw, order: str, keys: dict[str, object]
) -> None:
    model = build(norm_order=order, **keys)
    src, mask = source(sentences([5, 2, 7]))
    tgt = torch.tensor(sentences([6, 6, 6], seed=2))
    state, steps = model.encode(src, mask), []
    for token in tgt.split(1, dim=1):
        logits, state = model.decode(token, state)
        steps.append(logits)
    assert state.position == 6
    assert_same(torch.cat(steps, dim=1), model(src, mask, tgt))


@pytest.mark.parametrize("shape", OTHERS.values(), ids=OTHERS)
def test_in_other_architectures_too(
    build: Callable[..., EncoderDecoder], sentences: Draw, shape: dict[str, object]
) -> None:
    model = build(**shape)
    src, mask = source(sentences([5, 2, 7]))
    tgt = torch.tensor(sentences([6, 6, 6], seed=2))
    state, steps = model.encode(src, mask), []
    for token in tgt.split(1, dim=1):
        logits, state = model.decode(token, state)
        steps.append(logits)
    assert_same(torch.cat(steps, dim=1), model(src, mask, tgt))


def test_some_positions_after_others_equal_all_at_once(model: EncoderDecoder, sentences: Draw) -> None:
    src, mask = source(sentences([4, 6]))
    tgt = torch.tensor(sentences([6, 6], seed=2))
    whole = model(src, mask, tgt)
    for cut in (1, 3, 5):
        first, state = model.decode(tgt[:, :cut], model.encode(src, mask))
        rest, _ = model.decode(tgt[:, cut:], state)
        assert_same(torch.cat((first, rest), dim=1), whole)


def test_a_padded_sentence_equals_the_sentence_alone(model: EncoderDecoder, sentences: Draw) -> None:
    rows, targets = sentences([2, 9, 5]), sentences([4, 3, 8], seed=2)
    src, mask = source(rows)
    together = model(src, mask, pad([[BOS, *target] for target in targets]))
    for number, (row, target) in enumerate(zip(rows, targets, strict=True)):
        alone = model(*source([row]), torch.tensor([[BOS, *target]]))
        assert_same(together[number, : len(target) + 1], alone[0])


def test_what_comes_later_does_not_change_what_came_before(model: EncoderDecoder, sentences: Draw) -> None:
    src, mask = source(sentences([5]))
    one, other = torch.tensor([[2, 5, 6, 7, 8]]), torch.tensor([[2, 5, 6, 9, 4]])
    assert_same(model(src, mask, one)[:, :3], model(src, mask, other)[:, :3])


def test_hypotheses_of_one_sentence_equal_copies_of_the_sentence(model: EncoderDecoder, sentences: Draw) -> None:
    rows = sentences([3, 6])
    shared = model.encode(*source(rows)).select(torch.tensor([0, 0, 0, 1, 1, 1]))
    copied = model.encode(*source([row for row in rows for _ in range(3)]))
    for tokens in torch.tensor(sentences([4] * 6, seed=2)).split(1, dim=1):
        logits, shared = model.decode(tokens, shared)
        expected, copied = model.decode(tokens, copied)
        assert_same(logits, expected)


def test_a_selected_state_continues_as_the_sentences_it_names(model: EncoderDecoder, sentences: Draw) -> None:
    rows, targets = sentences([3, 6, 2]), sentences([3, 3, 3], seed=2)
    _, state = model.decode(torch.tensor(targets), model.encode(*source(rows)))
    kept = torch.tensor([2, 0])
    token = torch.tensor([[5], [6]])
    logits, _ = model.decode(token, state.select(kept, kept))
    for number, index in enumerate([2, 0]):
        whole = torch.tensor([[*targets[index], int(token[number])]])
        assert_same(logits[number, 0], model(*source([rows[index]]), whole)[0, -1])


def test_two_states_of_one_model_do_not_know_of_each_other(model: EncoderDecoder, sentences: Draw) -> None:
    one, other = sentences([5]), sentences([5], seed=9)
    token = torch.tensor([[BOS]])
    state_one = model.encode(*source(one))
    state_other = model.encode(*source(other))
    model.decode(token, state_other)
    logits, _ = model.decode(token, state_one)
    assert_same(logits, model(*source(one), token))
