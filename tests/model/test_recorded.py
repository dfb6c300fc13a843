"""Recordings of a GPU, with CUDA as a stub: which queue and which memory each of them has."""

from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dragoman.model.parts.recorded import Recorder

DEVICE = torch.device("cuda", 1)


class Cuda(SimpleNamespace):
    """What `Recorder` asks of `torch.cuda`; a recording of `failing` work raises at its end, as PyTorch's does."""

    def __init__(self) -> None:
        super().__init__()
        self.pools = count()
        self.current = "default"
        self.captures: list[tuple[Any, Any]] = []

    def graph_pool_handle(self) -> int:
        return next(self.pools)

    def Stream(self, device: torch.device) -> str:  # noqa: N802 - PyTorch's name
        assert device == DEVICE
        return "aside"

    def current_stream(self, device: torch.device) -> str:
        assert device == DEVICE
        return self.current

    def CUDAGraph(self) -> Any:  # noqa: N802
        return SimpleNamespace(replay=lambda: None)

    @contextmanager
    def stream(self, queue: str) -> Any:
        before, self.current = self.current, queue
        try:
            yield
        finally:
            self.current = before

    @contextmanager
    def graph(self, graph: Any, *, pool: int, stream: str, capture_error_mode: str) -> Any:
        self.captures.append((pool, stream))
        before, self.current = self.current, stream
        yield  # an error leaves the thread in the queue of the recording
        self.current = before


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    stub = Cuda()
    monkeypatch.setattr(torch, "cuda", stub)
    return stub


def test_recordings_share_memory_in_one_queue_of_their_device(cuda: Cuda) -> None:
    recorder = Recorder(DEVICE)
    for _ in range(2):
        recorder.record(lambda: None)
    assert len({*cuda.captures}) == 1
    recorder.forget()
    recorder.record(lambda: None)
    assert cuda.captures[-1][0] != cuda.captures[0][0]
    assert cuda.captures[-1][1] == cuda.captures[0][1]


def test_a_recording_that_fails_leaves_the_thread_in_its_own_queue(cuda: Cuda) -> None:
    def ask() -> None:
        raise RuntimeError("operation not permitted when stream is capturing")

    with pytest.raises(RuntimeError, match="capturing"):
        Recorder(DEVICE).record(ask)
    assert cuda.current == "default"
