"""Threads that take rows of a batch: the same mathematics, repeatable, and nothing left behind."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from architectures import TRANSFORMERS
from dragoman.config import RunConfig, TrainConfig
from dragoman.model.parts.dropout import Dropout
from dragoman.model.transformer import Transformer
from dragoman.training.estimate import fitting
from dragoman.training.loop import Trainer
from dragoman.training.update import threads
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.training.update.optimizer import build_optimizer
from dragoman.training.update.threads import continue_with_threads, run_in_threads, thread_count_for
from numerics import assert_same_gradients, rounding
from suites import covering

CPU = torch.device("cpu")
BATCH = fitting.synthetic_batch(20 * 16, 16, 13)


@pytest.fixture
def three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three threads, of which each takes rows of any batch."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    monkeypatch.setattr(threads, "POSITIONS_PER_THREAD", 16)
    yield
    torch.set_num_threads(before)


def gradients(model: nn.Module, train: TrainConfig, seed: int = 0, **attributes: object) -> tuple[float, list[Tensor]]:
    """The loss of two micro-batches, and every parameter's gradient."""
    assert isinstance(model, Transformer)
    torch.manual_seed(seed)
    gradient = GradientAccumulator(model, train, ProcessGroup(), CPU)
    for name, value in attributes.items():
        setattr(gradient, name, value)
    loss = gradient.backward([BATCH, BATCH], 2 * BATCH.target_tokens)
    found = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert len(found) == len(list(model.parameters()))
    model.zero_grad()
    return loss, found


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize(("model", "r_drop", "splits"), covering(TRANSFORMERS, [0.0, 3.0], [1, 2]), indirect=["model"])
def test_the_gradient_in_threads_is_the_gradient(model: Transformer, r_drop: float, splits: int) -> None:
    train = TrainConfig(precision="float32", r_drop=r_drop)
    loss, divided = gradients(model.train(), train, splits=splits)
    plain, whole = gradients(model.train(), train, in_threads=False)
    assert loss == pytest.approx(plain, rel=rounding())
    assert_same_gradients(divided, whole)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_dropout_in_threads_is_decided_by_the_seed(build: Callable[..., Transformer], precision: str) -> None:
    model, train = build(dropout=0.3).train(), TrainConfig.model_validate({"precision": precision})
    once, again, otherwise = (gradients(model, train, seed) for seed in (1, 1, 2))
    assert once[0] == again[0] != otherwise[0]
    assert all(torch.equal(a, b) for a, b in zip(once[1], again[1], strict=True))


@pytest.mark.usefixtures("three_threads")
def test_threads_drop_different_elements() -> None:
    dropped = run_in_threads([lambda: Dropout(0.5).train()(torch.ones(256))] * 3)
    assert len({tuple(one.tolist()) for one in dropped}) == 3


@pytest.mark.usefixtures("three_threads")
def test_an_update_in_threads_leaves_the_weights_of_an_update_in_one(build: Callable[..., Transformer]) -> None:
    # An ε that keeps Adam from making much of gradients that are nothing but rounding, as that of a key's bias is.
    train, weights = TrainConfig(precision="float32", epsilon=0.1), []
    for in_threads in (True, False):
        model = build().train()
        optimizer = build_optimizer(model, train)
        optimizer.param_groups[0]["lr"] = 0.1
        gradient = GradientAccumulator(model, train, ProcessGroup(), CPU)
        gradient.in_threads = in_threads
        for _ in range(3):
            gradient.backward([BATCH], BATCH.target_tokens)
            optimizer.step()
            optimizer.zero_grad()
        weights.append(list(model.parameters()))
    for ours, theirs in zip(*weights, strict=True):
        assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.usefixtures("three_threads")
def test_what_one_thread_raises_is_raised_when_all_have_ended_and_nothing_stays_changed() -> None:
    ended = []

    def fails() -> None:
        raise torch.OutOfMemoryError("out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        run_in_threads([fails, lambda: ended.append(torch.get_num_threads())])
    assert ended == [1]
    assert torch.get_num_threads() == 3


@pytest.mark.usefixtures("three_threads")
def test_a_batch_is_dealt_to_as_many_threads_as_it_has_work_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert thread_count_for(BATCH) == 3
    monkeypatch.setattr(threads, "POSITIONS_PER_THREAD", 150)
    assert thread_count_for(BATCH) == 2
    monkeypatch.setattr(threads, "POSITIONS_PER_THREAD", 1024)
    assert thread_count_for(BATCH) == 1
    monkeypatch.setattr(threads, "POSITIONS_PER_THREAD", 1)
    assert thread_count_for(fitting.synthetic_batch(16, 16, 13)) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("three_threads")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch.compile, about itself
def test_what_shares_memory_or_processes_is_not_divided(build: Callable[..., Transformer]) -> None:
    for train in (TrainConfig(recompute=True), TrainConfig(compile=True)):
        assert not GradientAccumulator(build(), train, ProcessGroup(), CPU).in_threads


@pytest.mark.slow
@pytest.mark.usefixtures("three_threads")
def test_a_run_in_threads_resumes_with_the_bits_of_one_that_was_not_stopped(
    toy_run: Callable[..., RunConfig],
    toy_trainer: Callable[..., Trainer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = toy_trainer(toy_run(), tmp_path / "whole")
    whole.fit()
    toy_trainer(toy_run(max_steps=8), tmp_path / "parts").fit()
    torch.set_num_threads(2)  # another environment, on a machine that has three
    monkeypatch.setattr(threads, "usable_processors", lambda: 3)
    second = toy_trainer(toy_run(), tmp_path / "parts")
    second.resume()
    assert torch.get_num_threads() == 3
    second.fit()
    for ours, theirs in zip(second.final.parameters(), whole.final.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize(
    ("before", "chosen", "after", "notice"),
    [
        (3, None, 3, None),
        (2, None, 2, "on 2 threads as before, for the same results; this machine has more: train.threads=3 uses them"),
        (64, None, 3, "started with 64 threads, now 3: results will not be bit-identical"),
        (2, 3, 3, "started with 2 threads, now 3: results will not be bit-identical"),
        (3, 3, 3, None),
    ],
)
def test_a_resumed_run_has_the_threads_of_before_if_this_machine_has_them(
    monkeypatch: pytest.MonkeyPatch, before: int, chosen: int | None, after: int, notice: str | None
) -> None:
    monkeypatch.setattr(threads, "usable_processors", lambda: 3)
    changed = continue_with_threads(before, chosen)
    assert (changed or "").startswith(notice or "")
    assert bool(changed) == bool(notice)
    assert torch.get_num_threads() == after
