"""Work of one shape that is started at once: on a GPU its kernels are recorded, as a CUDA graph, and replayed.

Such work has no arguments and no result: it reads and writes tensors that stay where they are, and what it decides in
Python is decided once. Elsewhere than on a GPU it is simply called.
"""

from collections.abc import Callable

import torch

Work = Callable[[], None]
# Calls before recording: kernels are compiled and loaded, and memory is found.
REHEARSALS = 3


class Recorder:
    """Records the work of one device. Recordings share memory, so that two shapes need no more than the larger."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.on_gpu = device, device.type == "cuda"
        # Of this device, which need not be the current one; one for all recordings, or they could not share memory.
        self.queue = torch.cuda.Stream(device) if self.on_gpu else None
        self.forget()

    def forget(self) -> None:
        """Share no memory with what was recorded before. Needed once all of that is gone: its pool ends with it."""
        self.pool = torch.cuda.graph_pool_handle() if self.on_gpu else None

    def rehearse(self, work: Work) -> None:
        """Call `work` as often as it takes before it can be recorded, on a GPU in a queue of its own."""
        if not self.on_gpu:
            work()
            return
        aside, here = torch.cuda.Stream(self.device), torch.cuda.current_stream(self.device)
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            for _ in range(REHEARSALS):
                work()
        here.wait_stream(aside)
        torch.cuda.synchronize(self.device)  # what went wrong is known here

    def record(self, work: Work) -> Work:
        """What starts `work`, which has been rehearsed. Each time it draws new random numbers."""
        if not self.on_gpu:
            return work
        graph, here = torch.cuda.CUDAGraph(), torch.cuda.current_stream(self.device)
        # Another thread may prepare the next batch meanwhile, which this thread's recording must not forbid.
        recording = torch.cuda.graph(graph, pool=self.pool, stream=self.queue, capture_error_mode="thread_local")
        with torch.cuda.stream(here), recording:  # a recording that fails would leave this thread in its queue
            work()
        return graph.replay
