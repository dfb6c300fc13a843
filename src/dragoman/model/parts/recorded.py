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
        graph = torch.cuda.CUDAGraph()
        # Another thread may prepare the next batch meanwhile, which this thread's recording must not forbid.
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
            work()
        return graph.replay
