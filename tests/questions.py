"""Work that asks its device nothing: a question, whose answer the host waits for, fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# Operations whose result the host, or the shape of what follows, depends on.
QUESTIONS = {"_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "unique_dim", "_unique2"}
# Methods that copy to the host without an operation, where the device is a CPU.
COPIES = {"item", "tolist", "numpy", "cpu", "__bool__", "__float__", "__int__", "__index__", "__array__"}


class Silent(TorchDispatchMode):
    """No operation in this context asks the device."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        indices = args[1] if len(args) > 1 and isinstance(args[1], list | tuple) else []
        are_flags = [getattr(index, "dtype", None) in (torch.bool, torch.uint8) for index in indices]
        if name in QUESTIONS or (name.startswith("index") and any(are_flags)):
            raise AssertionError(f"{name} asks the device")
        return func(*args, **(kwargs or {}))


class SilentMethods(TorchFunctionMode):
    """No method in this context copies a number to the host."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in COPIES:
            raise AssertionError(f"{func.__name__} asks the device")
        return func(*args, **(kwargs or {}))


@contextmanager
def silence() -> Iterator[None]:
    with SilentMethods(), Silent():
        yield
