"""Minimum risk training: Q, the risk and its gradient in plain Python; the estimators against enumeration."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from architectures import ALL, OTHERS
from dragoman.config import RiskConfig, TrainConfig
from dragoman.data.batches.batch import Batch, Example, collate, pad, split
from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, Tokenizer
from dragoman.training.objective.log_probs import sentence_log_probs, start_of, token_log_probs
from dragoman.training.objective.loss import CHUNK
from dragoman.training.objective.risk import NEVER, RiskLoss, expected_risk, reinforce_risk
from dragoman.workflows.train.sampled import RiskSampler, bleu_reward, chrf_reward, gleu, limit_for
from numerics import assert_same, assert_same_gradients
from suites import cases, slow

Build = Callable[..., EncoderDecoder]
Draw = Callable[..., list[list[int]]]
CPU = torch.device("cpu")
QUICK = [("today", "expected"), ("rnn general", "reinforce")]
SHAPES = {"transformer": {}, "rnn": OTHERS["rnn general"], "convs2s": OTHERS["convs2s"]}


def test_the_risk_of_three_samples_and_its_gradient_are_those_of_the_paper() -> None:
    log_p, costs, alpha = [-3.0, -5.0, -4.5], [-0.9, -0.2, -0.4], 0.7
    weights = [math.exp(alpha * value) for value in log_p]
    q = [weight / sum(weights) for weight in weights]
    risk = sum(a * b for a, b in zip(q, costs, strict=True))
    gradient = [alpha * a * (cost - risk) for a, cost in zip(q, costs, strict=True)]
    given = torch.tensor([log_p], dtype=torch.float64, requires_grad=True)
    found = expected_risk(given, torch.tensor([costs], dtype=torch.float64), alpha)
    found.backward()
    assert found.item() == pytest.approx(risk, abs=1e-12)
    assert given.grad is not None
    assert given.grad[0].tolist() == pytest.approx(gradient, abs=1e-12)


def test_reinforce_reports_the_mean_cost_and_compares_each_sample_with_the_others() -> None:
    costs = [-0.9, -0.2, -0.4]
    given = torch.tensor([[-3.0, -5.0, -4.5]], dtype=torch.float64, requires_grad=True)
    found = reinforce_risk(given, torch.tensor([costs], dtype=torch.float64))
    found.backward()
    assert found.item() == pytest.approx(sum(costs) / 3)
    others = [(sum(costs) - cost) / 2 for cost in costs]
    assert given.grad is not None
    assert given.grad[0].tolist() == pytest.approx([(c - b) / 3 for c, b in zip(costs, others, strict=True)])


def test_samples_of_equal_cost_teach_nothing() -> None:
    for risk in (lambda x, c: expected_risk(x, c, 1.0), reinforce_risk):
        given = torch.randn(2, 4, requires_grad=True)
        risk(given, torch.full((2, 4), -0.3)).backward()
        assert given.grad is not None
        assert_close(given.grad, torch.zeros(2, 4), atol=1e-6, rtol=0)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("count", [3, CHUNK["cpu"] + 5])
def test_log_p_of_tokens_and_its_gradient_are_autograds(count: int, biased: bool) -> None:
    torch.manual_seed(0)
    features, projection = torch.randn(count, 6, requires_grad=True), torch.randn(9, 6, requires_grad=True)
    bias = torch.randn(9, requires_grad=True) if biased else None
    gold, weights = torch.randint(4, 9, (count,)), torch.randn(count)
    logits = features @ projection.T + (0 if bias is None else bias)
    logits = logits.index_fill(1, torch.tensor(NEVER), -torch.inf)
    plain = logits.log_softmax(1).gather(1, gold[:, None])[:, 0]
    found = token_log_probs(features, projection, bias, gold, NEVER)
    assert_close(found, plain)
    of = [x for x in (features, projection, bias) if x is not None]
    for mine, theirs in zip(
        torch.autograd.grad(found @ weights, of), torch.autograd.grad(plain @ weights, of), strict=True
    ):
        assert_close(mine, theirs, atol=1e-4, rtol=1e-4)


def every_sentence(vocab: int, longest: int) -> list[tuple[int, ...]]:
    """All that a search up to a length can say; the longest are cut, so EOS is not drawn."""
    short = [(*words, EOS) for n in range(longest) for words in product(range(4, vocab), repeat=n)]
    return short + list(product(range(4, vocab), repeat=longest))


def sampled(source: list[int], samples: list[tuple[int, ...]], costs: list[float]) -> Batch:
    one = collate([Example(source, source, "")])
    inputs = pad([[BOS, *tokens[:-1]] for tokens in samples])[None]
    outputs = pad([list(tokens) for tokens in samples])[None]
    return Batch(one.src, one.tgt_in, one.tgt_out, (), (inputs, outputs, torch.tensor([costs], dtype=torch.float64)))


def gradients(loss: Tensor, model: EncoderDecoder) -> list[Tensor]:
    found = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(model.parameters(), found, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float64])
@pytest.mark.parametrize("shape", cases(SHAPES, quick=["transformer"]))
def test_the_estimators_expectation_is_the_gradient_of_the_expected_cost(
    build: Build, sentences: Draw, shape: dict[str, Any]
) -> None:
    """By enumeration: every sentence of two words and at most two tokens, every pair of samples."""
    model = build(vocab=6, **shape)
    space, source = every_sentence(6, 2), sentences([3], vocab=6)[0]
    costs = [-gleu(tokens, (4, 5, EOS)) for tokens in space]
    whole = sampled(source, space, costs)
    state = start_of(model, whole.src)
    rows = torch.zeros(len(space), dtype=torch.long)
    log_p = sentence_log_probs(model, state.select(rows, rows), whole.more[0][0], whole.more[1][0], NEVER)
    p = log_p.exp()
    assert p.sum().item() == pytest.approx(1.0, abs=1e-9), "cut sentences too are drawn with their probability"
    exact = gradients(p @ whole.more[2][0], model)

    of_all = RiskLoss(model, RiskConfig(sharpness=1.0))(*whole.tensors)
    assert of_all.item() == pytest.approx(sum(a * b for a, b in zip(p.tolist(), costs, strict=True)), abs=1e-9)
    for mine, theirs in zip(gradients(of_all, model), exact, strict=True):
        assert_close(mine, theirs, atol=1e-9, rtol=1e-6)

    reinforce, mean = RiskLoss(model, RiskConfig(form="reinforce", samples=2)), None
    for a, b in product(range(len(space)), repeat=2):
        batch = sampled(source, [space[a], space[b]], [costs[a], costs[b]])
        drawn = [(p[a] * p[b]).item() * g for g in gradients(reinforce(*batch.tensors), model)]
        mean = drawn if mean is None else [x + y for x, y in zip(mean, drawn, strict=True)]
    assert mean is not None
    for mine, theirs in zip(mean, exact, strict=True):
        assert_close(mine, theirs, atol=1e-9, rtol=1e-6)


@pytest.fixture
def pairs(toy_tokenizer: Tokenizer) -> Batch:
    """Some pairs of the toy language."""
    texts = [("red dog", "rot hund"), ("two birds", "zwei vogel"), ("cat", "katze"), ("big red cat", "gross rot katze")]
    ids = [(toy_tokenizer.encode([a], "source")[0], toy_tokenizer.encode([b], "target")[0]) for a, b in texts]
    return collate([Example(source, target, "") for source, target in ids])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "form"),
    [
        pytest.param(keys, form, id=f"{name}-{form}", marks=() if (name, form) in QUICK else slow)
        for name, keys in ALL.items()
        for form in ("expected", "reinforce")
    ],
)
def test_an_update_in_parts_is_one_batch(
    build: Build, pairs: Batch, toy_tokenizer: Tokenizer, shape: dict[str, Any], form: str
) -> None:
    """In every architecture: the samples of a source do not depend on the others, and losses add up."""
    model = build(vocab=len(toy_tokenizer.target), **shape)
    risk = RiskConfig(form=form, samples=3, reward="gleu", likelihood=0.1)  # type: ignore[arg-type]
    sampler, loss = RiskSampler(risk, toy_tokenizer, 7, CPU), RiskLoss(model, risk)
    whole = sampler(model, pairs, 5)
    together = loss(*whole.tensors)
    gradient = torch.autograd.grad(together, model.projection)[0]
    apart = [sampler(model, part, 5) for part in split(pairs, 4)]
    parts = [loss(*part.tensors) for part in split(whole, 3)]
    assert_same(sum(parts), together)
    assert_same_gradients(torch.autograd.grad(sum(parts), model.projection)[0], gradient)
    assert_same(sum(loss(*one.tensors) for one in apart), together)


@pytest.mark.slow
def test_samples_depend_on_seed_step_and_source_and_the_reference_is_one_of_them(
    build: Build, pairs: Batch, toy_tokenizer: Tokenizer
) -> None:
    model = build(vocab=len(toy_tokenizer.target))

    def draw(seed: int, step: int, **keys: Any) -> tuple[Tensor, ...]:
        risk = RiskConfig(samples=4, reward="gleu", **keys)
        return RiskSampler(risk, toy_tokenizer, seed, CPU)(model, pairs, step).more

    first, again, other = draw(1, 2), draw(1, 2), draw(1, 3)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[1], other[1][:, :, : first[1].size(2)]) or first[1].shape != other[1].shape
    for row, target in enumerate(pairs.tgt_out.tolist()):
        samples = [[t for t in sample if t != PAD] for sample in first[1][row].tolist()]
        assert samples[0] == [t for t in target if t != PAD]
        assert first[2][row, 0].item() == pytest.approx(-1.0)
        there = [tuple(sample) for sample in samples if sample]
        assert len(set(there)) == len(there), "duplicates are removed"
    alone = draw(1, 2, form="reinforce")
    assert alone[1].shape[1] == 4
    for row, target in enumerate(pairs.tgt_out.tolist()):
        limit = limit_for(len([t for t in target if t not in (PAD, EOS)]))
        for sample in alone[1][row].tolist():
            tokens = [t for t in sample if t != PAD]
            assert tokens[-1] == EOS or len(tokens) == limit, "a sample that was cut has no EOS"


def test_rewards_are_one_for_the_reference_and_less_for_the_rest() -> None:
    assert gleu((5, 6, 7, 3), (5, 6, 7, 3)) == 1
    assert gleu((5, 6), (5, 6, 7, 3)) == pytest.approx(3 / 10)  # of 4 + 3 + 2 + 1 n-grams
    assert gleu((), (5, 3)) == 0
    for reward in (bleu_reward, chrf_reward):
        assert reward("the red dog sees a cat", "the red dog sees a cat") == pytest.approx(1.0)
        assert 0 <= reward("", "the red dog") < reward("the red cat", "the red dog sees a cat") < 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"risk": {"samples": 1}}, "samples: 1 cannot be compared with anything; draw at least 2"),
        ({"objective": "risk", "batch_tokens": "auto"}, "needs memory that batch_tokens"),
        ({"objective": "risk", "r_drop": 1.0}, "has no r_drop"),
        ({"objective": "dual", "compile": True}, "does not work with compile"),
        ({"objective": "risk", "parallel": "fsdp"}, "samples with whole weights"),
        ({"objective": "dual"}, "needs dual.language_models, one for each language"),
    ],
    ids=str,
)
def test_what_cannot_work_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainConfig.model_validate(keys)
