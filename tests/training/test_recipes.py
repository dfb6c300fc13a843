"""Moving average, R-Drop, recomputation, updates that do not fit in memory, one run a folder."""

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from dragoman.config import RunConfig, TrainConfig
from dragoman.data.batches.batch import Example, collate, split
from dragoman.errors import ConfigError, ResourceError
from dragoman.model.transformer import Transformer
from dragoman.training.estimate import fitting
from dragoman.training.estimate.fitting import find_micro_batch
from dragoman.training.loop import Trainer
from dragoman.training.objective import objective
from dragoman.training.objective.loss import smoothed_cross_entropy
from dragoman.training.objective.objective import SummedLoss, batch_loss, features_and_gold
from dragoman.training.update import gradient as gradient_module
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.ema import MovingAverage
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.workflows.train.run_folder import lock_run
from numerics import assert_same_gradients

Run = Callable[..., RunConfig]
MakeTrainer = Callable[..., Trainer]


def gradients(loss: Tensor, model: Transformer) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(model.parameters()), allow_unused=True))


def batch(sentences: Callable[..., list[list[int]]]) -> Any:
    pairs = zip(sentences([3, 7, 5]), sentences([4, 2, 6], seed=2), strict=True)
    return collate([Example(source, target, "") for source, target in pairs])


# --- moving average ----------------------------------------------------------------------------------------------


def test_a_moving_average_follows_its_equation() -> None:
    model = torch.nn.Linear(1, 1, bias=False)
    mean = MovingAverage(model, decay=0.5)
    expected = model.weight.item()
    for step in range(1, 30):
        with torch.no_grad():
            model.weight.add_(step)
        mean.update(step)
        decay = min(0.5, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * model.weight.item()
    assert float(mean.weights["weight"]) == pytest.approx(expected, rel=1e-5)


def test_the_moving_average_is_what_is_validated_and_kept(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    trainer = toy_trainer(toy_run(average="ema", ema_decay=0.9), tmp_path)
    outcome = trainer.fit()
    assert outcome.averaged in {(4,), (8,), (12,)}
    kept = dict(trainer.final.named_parameters())
    assert trainer.mean is not None
    assert all(torch.equal(kept[name], mean) for name, mean in trainer.mean.weights.items())
    assert not all(torch.equal(kept[name], p) for name, p in trainer.model.named_parameters())


# --- R-Drop ------------------------------------------------------------------------------------------------------


def test_r_drop_is_its_equation_and_so_is_its_gradient(
    build: Callable[..., Transformer], sentences: Callable[..., list[list[int]]]
) -> None:
    model = build(dropout=0.3).train()
    there = batch(sentences)
    torch.manual_seed(5)
    ours, _ = SummedLoss(model, 0.1, r_drop=3.0)(there.src, there.tgt_in, there.tgt_out)
    torch.manual_seed(5)
    twice = type(there)(*(side.repeat(2, 1) for side in (there.src, there.tgt_in, there.tgt_out)), ())
    features, gold = features_and_gold(model, twice)
    logits = features @ model.projection.T
    p, q = logits.softmax(1).chunk(2)
    both_ways = (p * (p / q).log()).sum() + (q * (q / p).log()).sum()
    plain = smoothed_cross_entropy(logits, gold, 0.1) / 2 + 3.0 / 4 * both_ways
    assert_close(ours, plain)
    assert_same_gradients(gradients(ours, model), gradients(plain, model))


def test_without_dropout_nothing_differs_and_r_drop_is_the_plain_loss(
    build: Callable[..., Transformer], sentences: Callable[..., list[list[int]]]
) -> None:
    model, there = build().train(), batch(sentences)
    assert_close(
        SummedLoss(model, 0.1, r_drop=3.0)(there.src, there.tgt_in, there.tgt_out)[0], batch_loss(model, there, 0.1)
    )


# --- memory ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_recomputed_is_the_same_to_the_bit(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    losses, weights = [], []
    for recompute in (False, True):
        trainer = toy_trainer(toy_run(recompute=recompute), tmp_path / str(recompute))
        losses.append(trainer.fit().loss)
        weights.append(list(trainer.model.parameters()))
    assert losses[0] == losses[1]
    assert all(torch.equal(a, b) for a, b in zip(*weights, strict=True))


@pytest.mark.parametrize(
    ("update", "processes", "capacity", "expected"),
    [
        (25_000, 1, 25_000, (25_000, 1)),
        (25_000, 1, 24_999, (12_500, 2)),
        (25_000, 2, 4_096, (3_125, 4)),
        (25_000, 1, 100, (98, 257)),
        (25_001, 1, 12_501, (12_501, 2)),
    ],
)
def test_an_update_is_the_fewest_micro_batches_that_fit(
    update: int, processes: int, capacity: int, expected: tuple[int, int]
) -> None:
    tokens, pieces = find_micro_batch(update, processes, lambda tokens: tokens <= capacity)
    assert tokens * pieces * processes >= update
    assert tokens <= capacity
    assert (tokens, pieces) == expected


def test_a_model_too_large_for_a_sentence_is_refused() -> None:
    with pytest.raises(ResourceError, match="choose a smaller model"):
        find_micro_batch(25_000, 1, lambda tokens: False)


def test_a_trial_leaves_no_gradients_and_knows_running_out(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way of a GPU, walked on a CPU."""
    model = build()

    def tight(model: Transformer, batch: Any) -> tuple[Tensor, Tensor]:
        if batch.src.numel() > 1000:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return features_and_gold(model, batch)

    monkeypatch.setattr(objective, "features_and_gold", tight)
    fits = fitting.fits_by_trial(model, TrainConfig(precision="float32"), torch.device("cpu"))
    assert [fits(tokens) for tokens in (100, 600, 700, 5000)] == [True, True, False, False]
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("update", "processes", "message"),
    [(7, 1, "7 are too few; set at least 8"), (28, 4, "28 are too few for 4 processes; set at least 29")],
)
def test_update_of_too_few_tokens_is_a_configuration_error(update: int, processes: int, message: str) -> None:
    with pytest.raises(ConfigError, match=rf"^train\.update_tokens: {message}$"):
        find_micro_batch(update, processes, lambda tokens: True)
    assert find_micro_batch(update + 1, processes, lambda tokens: True) == (8, 1)


def kept_for_backward(act: Callable[[], object]) -> int:
    """Bytes that autograd saves while `act` runs, each storage counted once."""
    storages: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        held.append(tensor)  # or its address is given to another
        return tensor

    held: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        act()
    return sum(storages.values())


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("r_drop", [0.0, 3.0])
def test_a_trial_takes_the_memory_that_training_takes(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch, r_drop: float, recompute: bool
) -> None:
    model, device = build(dropout=0.1).train(), torch.device("cpu")
    train = TrainConfig(precision="float32", r_drop=r_drop, recompute=recompute)
    monkeypatch.setattr(fitting, "LENGTHS", (16,))
    monkeypatch.setattr(fitting, "HEADROOM", 1.0)
    in_trial = kept_for_backward(lambda: fitting.fits_by_trial(model, train, device)(256))
    there = fitting.synthetic_batch(256, 16, model.projection.size(0))
    assert not any("forward" in vars(layer) for layer in [*model.encoder, *model.decoder]), "left as it was"
    gradient = GradientAccumulator(model, train, ProcessGroup(), device)
    assert in_trial == kept_for_backward(lambda: gradient.backward([there], there.target_tokens))


def test_a_batch_is_cut_into_rows_in_their_order(sentences: Callable[..., list[list[int]]]) -> None:
    whole = batch(sentences)
    for pieces, sizes in ((1, [3]), (2, [2, 1]), (4, [1, 1, 1])):
        parts = split(whole, pieces)
        assert [part.src.size(0) for part in parts] == sizes
        assert torch.equal(torch.cat([part.tgt_out for part in parts]), whole.tgt_out)


class Smaller:
    """A loss that fits in memory up to a number of rows."""

    def __init__(self, gradient: GradientAccumulator, rows: int) -> None:
        self.loss, self.rows = gradient.summed_loss, rows

    def __call__(
        self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor, coefficients: Sequence[float]
    ) -> tuple[Tensor, Tensor]:
        if src.size(0) > self.rows:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return self.loss(src, tgt_in, tgt_out, coefficients)  # type: ignore[no-any-return]


def test_an_update_that_does_not_fit_is_done_in_pieces_says_so_once_and_is_the_same(
    toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path
) -> None:
    config = toy_run(max_steps=6)
    config = config.model_copy(update={"model": config.model.model_copy(update={"dropout": 0.0})})
    roomy, tight = (toy_trainer(config, tmp_path / name) for name in ("roomy", "tight"))
    tight.gradient.summed_loss = Smaller(tight.gradient, rows=6)  # type: ignore[assignment]
    notices: list[str] = []
    tight._notice = notices.append  # type: ignore[method-assign]
    losses = [trainer.fit().loss for trainer in (roomy, tight)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    assert [notice.split(": ")[1] for notice in notices] == [
        f"out of memory; batches are cut into {2 ** (number + 1)} from here on" for number in range(len(notices))
    ]
    assert notices
    resumed = toy_trainer(config, tmp_path / "tight")
    resumed.resume()
    assert resumed.gradient.splits == tight.gradient.splits > 1


def test_a_single_pair_that_does_not_fit_is_refused(toy_run: Run, toy_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer = toy_trainer(toy_run(), tmp_path)
    trainer.gradient.summed_loss = Smaller(trainer.gradient, rows=0)  # type: ignore[assignment]
    with pytest.raises(
        ResourceError, match=r"out of memory on 1 pair of .*; set train\.recompute=true, with --resume "
    ):
        trainer.fit()


@pytest.mark.parametrize(
    ("keys", "first"),
    [
        (
            {},
            "set train.recompute=true and train.parallel=fsdp, with --resume if there is a checkpoint; or start again",
        ),
        ({"recompute": True}, "set train.parallel=fsdp, with --resume if there is a checkpoint; or start again"),
        ({"parallel": "fsdp"}, "set train.recompute=true, with --resume if there is a checkpoint; or start again"),
        ({"parallel": "fsdp", "recompute": True}, "start again with a lower train.batch_tokens"),
    ],
)
def test_several_processes_out_of_memory_name_first_what_may_change_on_the_way(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any], first: str
) -> None:
    monkeypatch.setattr(gradient_module, "parallelize", lambda module, *_: module)
    train = TrainConfig(precision="float32", **keys)
    gradient = GradientAccumulator(build().train(), train, ProcessGroup(rank=1, size=2), torch.device("cpu"))
    gradient.summed_loss = Smaller(gradient, rows=1)  # type: ignore[assignment]
    gradient.exchanges = 1  # the others are waiting
    there = fitting.synthetic_batch(64, 16, 13)
    with pytest.raises(ResourceError, match=rf"^out of memory on 4 pairs of 16 \+ 16 tokens; {re.escape(first)}"):
        gradient.backward([there], there.target_tokens)


# --- one run a folder --------------------------------------------------------------------------------------------


def test_a_folder_is_trained_into_by_one_run_at_a_time(tmp_path: Path) -> None:
    with lock_run(tmp_path), pytest.raises(ConfigError, match="another process trains here"), lock_run(tmp_path):
        pass
    with lock_run(tmp_path):
        pass


@pytest.mark.slow
def test_a_folder_is_trained_into_by_one_process_at_a_time(tmp_path: Path) -> None:
    imports = "from pathlib import Path\nfrom dragoman.workflows.train.run_folder import lock_run"
    code = f"{imports}\nwith lock_run(Path({str(tmp_path)!r})): pass"
    with lock_run(tmp_path):
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "another process trains here" in other.stderr
        with pytest.raises(ConfigError, match="another process trains here"), lock_run(tmp_path):
            pass
    with lock_run(tmp_path):
        pass


@pytest.mark.slow
def test_layers_of_a_kind_are_compiled_once_for_each_shape() -> None:
    """In a process of its own, for the type checks of the tests are not to be compiled.

    What is counted is what is traced: no compiler is behind the tracer, which would take half of the time.
    """
    counted = """
import torch
from torch._dynamo.utils import counters
from dragoman.config import ModelConfig, TrainConfig
from dragoman.model.transformer import Transformer
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.estimate.fitting import synthetic_batch
from dragoman.training.update import layers
from dragoman.training.update.gradient import GradientAccumulator

layers.BACKEND = "aot_eager"
for recompute in (False, True):
    torch.compiler.reset()
    counters.clear()
    model = Transformer(ModelConfig(layers=3, d_model=16, d_ff=24, heads=2, dropout=0.0), 50, 50)
    train = TrainConfig(compile=True, recompute=recompute, precision="float32")
    gradient = GradientAccumulator(model, train, ProcessGroup(), torch.device("cpu"))
    for width in (8, 16, 8):
        batch = synthetic_batch(32, width, 50)
        gradient.backward([batch], batch.target_tokens)
    print(counters["stats"]["unique_graphs"])
"""
    done = subprocess.run([sys.executable, "-c", counted], capture_output=True, text=True, check=True)
    assert [*map(int, done.stdout.split())] == [2 * 2, 2 * 2]  # encoder and decoder layers, two shapes
