"""What a computation costs, counted on the operations that PyTorch runs: work, depth and memory.

`counted(work)` runs `work` and watches every operation. Products are counted by PyTorch's own formulas
(`torch.utils.flop_counter`), with those of the CPU's fused kernels for attention and for recurrent layers added here.
A multiply-add is two operations.

Depth is the longest chain of operations of which each needs the result of the one before: what no number of processors
can shorten, "sequential operations" in Table 1 of the paper. A view takes no time and adds nothing; the fused kernel of
a recurrent layer runs a chain as long as its sequence, a step of which is counted as one operation.

Memory is the most that tensors made by the computation occupy at a time; what a kernel needs inside is not seen.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

# One operation for each of these that a thread waits for is not work: they make or describe memory.
_FREE = frozenset(
    ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "detach", "alias", "lift_fresh")
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a computation took."""

    flops: int
    """Floating-point operations of its matrix products and convolutions."""
    depth: int
    """Operations of its longest chain."""
    operations: int
    """Operations that PyTorch ran, views not counted."""
    peak_bytes: int
    """The most that the tensors it made occupied at a time."""


def counted(work: Callable[[], object]) -> Cost:
    """The cost of `work()`, which is run once in this thread.

    What the first run computes and keeps, such as the table of positions, counts too; run `work` before to omit it.
    """
    with FlopCounterMode(display=False, custom_mapping=_FUSED) as flops, _Watch() as seen:
        work()
    return Cost(int(flops.get_total_flops()), seen.deepest, seen.operations, seen.peak)


class _Watch(TorchDispatchMode):
    """The length of the longest chain that ends in each storage, and the bytes of those that are alive."""

    def __init__(self) -> None:
        super().__init__()
        self.deepest, self.operations, self.peak = 0, 0, 0
        self._depths: dict[int, int] = {}
        # A weak reference keeps the address of a storage, by which it is known, from being used again.
        self._made: dict[int, tuple[StorageWeakRef, int]] = {}
        self._gone: list[StorageWeakRef] = []
        self._bytes = 0

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        before = max((self._depth(tensor) for tensor in _tensors((args, kwargs))), default=0)
        result = func(*args, **(kwargs or {}))
        made = list(_tensors(result))
        if func.is_view or func.overloadpacket.__name__ in _FREE or not made:
            return result
        steps = _steps(func, args)
        self.operations += steps
        self.deepest = max(self.deepest, before + steps)
        for tensor in made:
            self._set(tensor.untyped_storage(), before + steps)
        if self._bytes > self.peak:
            self._forget_freed()
            self.peak = max(self.peak, self._bytes)
        return result

    def _depth(self, tensor: Tensor) -> int:
        return self._depths.get(tensor.untyped_storage()._cdata, 0)

    def _set(self, storage: torch.UntypedStorage, depth: int) -> None:
        at = storage._cdata
        if at not in self._depths:
            self._made[at] = StorageWeakRef(storage), storage.nbytes()
            self._bytes += storage.nbytes()
        self._depths[at] = max(depth, self._depths.get(at, 0))

    def _forget_freed(self) -> None:
        for at in [at for at, (reference, _) in self._made.items() if reference.expired()]:
            reference, size = self._made.pop(at)
            self._gone.append(reference)
            self._bytes -= size


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _steps(func: Any, args: Sequence[Any]) -> int:
    """The operations of a chain that run inside one call: those of a recurrent layer's kernel, else one."""
    name = func.overloadpacket.__name__
    return int(args[0].shape[0]) if name in ("mkldnn_rnn_layer", "mkldnn_rnn_layer_backward") else 1


def _attention(q: Sequence[int], k: Sequence[int], v: Sequence[int], *_: Any, **__: Any) -> int:
    """Q Kᵀ, and the weighted sum of V."""
    rows = math.prod(q[:-2])
    return 2 * rows * q[-2] * k[-2] * (q[-1] + v[-1])


def _attention_backward(_: Any, q: Sequence[int], k: Sequence[int], v: Sequence[int], *rest: Any, **named: Any) -> int:
    """Twice the forward pass: each of its two products has two gradients.

    The kernel computes Q Kᵀ once more, which is not counted, because it is not part of the model.
    """
    return 2 * _attention(q, k, v)


def _recurrent(x: Sequence[int], w: Sequence[int], u: Sequence[int], *_: Any, **__: Any) -> int:
    """T positions of B rows, each with the products of the input and of the state: x is (T, B, input)."""
    return 2 * x[0] * x[1] * (math.prod(w) + math.prod(u))


def _recurrent_backward(x: Sequence[int], w: Sequence[int], u: Sequence[int], *_: Any, **__: Any) -> int:
    return 2 * _recurrent(x, w, u)


_ATEN = torch.ops.aten
# `out_shape`, which the counter passes by name, follows from the others.
_FUSED: dict[Any, Any] = {
    _ATEN._scaled_dot_product_flash_attention_for_cpu: _attention,
    _ATEN._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
    _ATEN.mkldnn_rnn_layer: _recurrent,
    _ATEN.mkldnn_rnn_layer_backward: _recurrent_backward,
}


@contextmanager
def single_thread() -> Iterator[None]:
    """All work in one thread of PyTorch: operations of other threads are not seen by a counter."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
