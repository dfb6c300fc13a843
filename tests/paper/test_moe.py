"""Experts, Shazeer et al. 2017, against the equations in plain Python, for 4 experts of which k = 2 compute a token."""

import math

import pytest
import torch
from plain import Vector, dot, linear, softmax

from dragoman.config import MoeConfig
from dragoman.model.layers import FeedForward
from dragoman.model.parts.moe import LEAST_DEVIATION, Experts, chances, routings
from dragoman.training.objective.balance import Balance, balance_loss, slopes

K, N = 2, 4
SHAPE = {"layers": 1, "d_model": 3, "d_ff": 5, "heads": 1, "experts": N, "active": K, "dropout": 0.0}
X = [[0.3, -1.2, 0.7], [1.1, 0.4, -0.5], [-0.6, 0.9, 0.2], [0.1, 0.2, 1.5]]


def config(**keys: object) -> MoeConfig:
    return MoeConfig.model_validate({**SHAPE, **keys})


@pytest.fixture
def experts() -> Experts:
    torch.manual_seed(2)
    layer = Experts(config(), lambda: FeedForward(3, 5)).double()
    with torch.no_grad():
        for gate in (layer.w_g, layer.w_noise):
            assert gate is not None
            assert not gate.any()  # "we initialize the matrices W_g and W_noise to all zeros"
            gate.normal_()
    return layer


def cv_squared(totals: torch.Tensor) -> torch.Tensor:
    """The squared coefficient of variation, (standard deviation / mean)² = n Σ I² / (Σ I)² − 1."""
    return totals.size(-1) * totals.square().sum(-1) / totals.sum(-1).square() - 1


def softplus(z: float) -> float:
    return math.log1p(math.exp(z))


def gates(h: Vector) -> Vector:
    """softmax(KeepTopK(H(x), k)), Eq. (3) and (5)."""
    kept = sorted(h, reverse=True)[:K]
    return softmax([value if value in kept else -math.inf for value in h])


def deviations(layer: Experts, x: Vector) -> Vector:
    assert layer.w_noise is not None
    return [softplus(dot(w, x)) + LEAST_DEVIATION for w in layer.w_noise.tolist()]


def noisy(layer: Experts, x: Vector, noise: Vector) -> Vector:
    """H(x), Eq. (4)."""
    clean, sigma = [dot(w, x) for w in layer.w_g.tolist()], deviations(layer, x)
    return [c + n * s for c, n, s in zip(clean, noise, sigma, strict=True)]


def chance(layer: Experts, x: Vector, h: Vector, i: int) -> float:
    """P(x, i), Eq. (9): that x W_g + σ N(0, 1) of expert i is above the k-th largest of the others."""
    others = sorted((value for number, value in enumerate(h) if number != i), reverse=True)
    z = (dot(layer.w_g[i].tolist(), x) - others[K - 1]) / deviations(layer, x)[i]
    return (1 + math.erf(z / math.sqrt(2))) / 2


def expert(layer: Experts, number: int, x: Vector) -> Vector:
    network = layer.experts[number]
    assert isinstance(network, FeedForward)
    [inner] = linear([x], network.w_1.weight.tolist(), network.w_1.bias.tolist())
    [output] = linear([[max(0.0, value) for value in inner]], network.w_2.weight.tolist(), network.w_2.bias.tolist())
    return output


def mixture(layer: Experts, x: Vector, g: Vector) -> Vector:
    """Eq. (1)."""
    outputs = [expert(layer, number, x) for number in range(N)]
    return [sum(g[number] * outputs[number][at] for number in range(N)) for at in range(3)]


def cv(totals: Vector) -> float:
    mean = sum(totals) / len(totals)
    return math.sqrt(sum((value - mean) ** 2 for value in totals) / len(totals)) / mean


def test_a_step_with_noise_is_the_equations(experts: Experts) -> None:
    experts.train()
    torch.manual_seed(7)
    with routings() as seen:
        y = experts(torch.tensor([X], dtype=torch.float64))
    torch.manual_seed(7)
    noise = torch.randn(len(X), N, dtype=torch.float64).tolist()
    for at, x in enumerate(X):
        h = noisy(experts, x, noise[at])
        assert seen[0].gates[0, at].tolist() == pytest.approx(gates(h), abs=1e-12)
        assert seen[0].load[0, at].tolist() == pytest.approx([chance(experts, x, h, i) for i in range(N)], abs=1e-12)
        assert y[0, at].tolist() == pytest.approx(mixture(experts, x, gates(h)), abs=1e-12)
        assert sum(value > 0 for value in gates(h)) == K


def test_a_step_of_a_trained_model_has_no_noise(experts: Experts) -> None:
    y = experts.eval()(torch.tensor([X], dtype=torch.float64))
    for at, x in enumerate(X):
        assert y[0, at].tolist() == pytest.approx(mixture(experts, x, gates(noisy(experts, x, [0.0] * N))), abs=1e-12)


def test_the_chance_of_an_expert_is_how_often_its_own_noise_chooses_it() -> None:
    """Eq. (8): the noise of expert i is drawn again, that of the others stays."""
    torch.manual_seed(1)
    clean, deviation = torch.tensor([[0.5, -0.2, 0.9, 0.1]]), torch.tensor([[0.7, 1.3, 0.4, 1.0]])
    h = clean + torch.randn(1, N) * deviation
    found = chances(clean, h, deviation, K)[0]
    draws = 200_000
    for i in range(N):
        again = h.repeat(draws, 1)
        again[:, i] = clean[0, i] + torch.randn(draws) * deviation[0, i]
        share = float((again.topk(K).indices == i).any(1).float().mean())
        assert share == pytest.approx(float(found[i]), abs=5 * math.sqrt(0.25 / draws))


def test_coefficient_of_variation_and_its_slopes() -> None:
    totals = torch.tensor([[3.0, 1.0, 0.5, 2.5], [2.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    assert float(cv_squared(totals[0])) == pytest.approx(cv(totals[0].tolist()) ** 2)
    assert float(cv_squared(totals[1])) == pytest.approx(0.0)
    first = totals[:2].clone().requires_grad_()
    cv_squared(first).sum().backward()  # type: ignore[no-untyped-call]
    assert first.grad is not None
    torch.testing.assert_close(slopes(totals), torch.cat([first.grad, torch.zeros(1, N, dtype=torch.float64)]))
    assert float((slopes(totals) * totals).sum(-1).abs().max()) < 1e-15  # the term adds nothing to the loss


def test_the_gradient_of_the_balance_is_that_of_the_papers_losses(experts: Experts) -> None:
    """With the totals of the very batch the coefficients are exact: w CV(Importance)² + w CV(Load)², Eq. (7), (11)."""
    shape = config(w_importance=0.3, w_load=0.7, every=1)
    torch.manual_seed(5)
    x = torch.randn(2, 6, 3, dtype=torch.float64)
    is_token = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    with routings() as seen:
        experts.train()(x)
        experts(-x)
    paper = torch.zeros((), dtype=torch.float64)
    for one in seen:
        importance, load = one.gates[is_token].sum(0), one.load[is_token].sum(0)
        paper = paper + 0.3 * cv_squared(importance) + 0.7 * cv_squared(load)
    _, totals = balance_loss(shape, seen, [0.0] * 16, is_token, is_token)
    balance = Balance(shape)
    balance.after(totals.tolist(), 10)
    ours, _ = balance_loss(shape, seen, balance.coefficients, is_token, is_token)
    assert experts.w_noise is not None
    of = (experts.w_g, experts.w_noise)
    expected = torch.autograd.grad(paper, of, retain_graph=True)
    for mine, theirs in zip(torch.autograd.grad(ours / 10, of), expected, strict=True):
        assert theirs.abs().max() > 1e-3
        torch.testing.assert_close(mine, theirs)
    assert float(ours.detach()) == pytest.approx(0.0, abs=1e-12)
