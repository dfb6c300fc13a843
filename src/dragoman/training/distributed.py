"""Several processes as one, started by torchrun: who we are, how the model is shared out, who was lost.

`ddp` keeps the model in every process and averages gradients (Li et al. 2020); `fsdp` keeps a part of every tensor in
each and brings a layer together while it is needed (FSDP2, `fully_shard`; Zhao et al. 2023). Weights and gradients of
GPUs go through NCCL, all else through gloo. A process alone is a team of one and communicates nothing.
"""

import math
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from dragoman.errors import ConfigError, TeamError
from dragoman.model.transformer import Transformer

# What the messages of a failed collective operation have in common.
COLLECTIVE = ("gloo", "NCCL", "nccl", "ProcessGroup", "TCPStore", "Connection")
# Seconds that the others have to say that they live when one is missed.
GRACE = 4.0


@dataclass(frozen=True)
class Team:
    """The processes of a run, as one of them sees them."""

    rank: int = 0
    size: int = 1
    timeout: float = math.inf
    """Seconds that each waits for the others."""

    @property
    def leads(self) -> bool:
        """Whether this process validates, saves and speaks."""
        return self.rank == 0

    def sums(self, values: Sequence[float]) -> list[float]:
        """The sums over all processes."""
        if self.size == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(total)
        return cast("list[float]", total.tolist())

    def any(self, mine: bool) -> bool:
        """Whether it holds in any process; GPUs are not waited for."""
        return self.sums([float(mine)]) != [0.0]

    def told(self, value: Any) -> Any:
        """The first process's `value`; each waits here until it has one."""
        box = [value]
        if self.size > 1:
            dist.broadcast_object_list(box, src=0, device=torch.device("cpu"))
        return box[0]

    def meet(self) -> None:
        """Wait here for all."""
        if self.size > 1:
            dist.barrier()

    def gathered(self, value: Tensor) -> list[Tensor]:
        """Every process's `value`, by rank."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    @contextmanager
    def unbroken(self, when: str) -> Iterator[None]:
        """Turn the failure of a collective operation into a TeamError that names the processes lost."""
        try:
            yield
        except (RuntimeError, TimeoutError) as error:
            if self.size == 1 or not any(sign in str(error) for sign in COLLECTIVE):
                raise
            if lost := self._lost(when):
                names = ", ".join(f"{rank} of {self.size}" for rank in lost)
                raise TeamError(
                    f"{when}: process {names} (counted from 0) was lost, or did not answer within "
                    f"train.peer_timeout = {self.timeout:g} s; see its own message, and raise train.peer_timeout if it "
                    "was only slow; the last checkpoint is kept, start again with --resume if there is one"
                ) from None
            raise

    def _lost(self, when: str) -> list[int]:
        store = dist.distributed_c10d._get_default_store()
        try:
            store.set(f"alive/{when}/{self.rank}", "1")
            time.sleep(GRACE)
            return [rank for rank in range(self.size) if not store.check([f"alive/{when}/{rank}"])]
        except (RuntimeError, TimeoutError):
            return [0]  # it kept the store


def join_team(device: torch.device, timeout: float) -> tuple[Team, torch.device]:
    """Meet the other processes that torchrun started, if any; also the device that is this one's.

    A process that does not answer for `timeout` seconds is given up. Raises ConfigError, or TeamError where none can be
    met.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        if device.type == "cuda" and device.index is not None:
            torch.cuda.set_device(device)  # whose random state is saved
        return Team(), device
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f'train.device: several processes train on "cpu" or "cuda", not on "{device}"')
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    if not dist.is_initialized():
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        try:
            dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
        except (RuntimeError, ValueError) as error:
            cause = str(error).strip().partition("\n")[0]
            raise TeamError(
                f"the {size} processes of this run did not meet within train.peer_timeout = {timeout:g} s: {cause}; "
                "start all of them, by torchrun; where a machine has several networks, name one in GLOO_SOCKET_IFNAME"
            ) from None
    return Team(dist.get_rank(), dist.get_world_size(), timeout), device


def leave_team() -> None:
    """Part from the others, if there are any."""
    if dist.is_initialized():
        dist.destroy_process_group()


def share_out(
    module: nn.Module, model: Transformer, team: Team, how: Literal["ddp", "fsdp"], device: torch.device
) -> nn.Module:
    """`module`, which holds `model` and whose forward is the loss, so that its gradients are the team's mean."""
    if team.size == 1:
        return module
    if how == "ddp":
        ids = [device] if device.type == "cuda" else None
        return DistributedDataParallel(module, device_ids=ids, gradient_as_bucket_view=True)
    # Nothing of ours writes into a layer's output.
    warnings.filterwarnings("ignore", message=".*returned a view tensor", category=UserWarning)
    mesh = init_device_mesh(device.type, (team.size,))
    for layer in [*model.encoder, *model.decoder]:
        fully_shard(layer, mesh=mesh)
    for layer in model.decoder:
        register_fsdp_forward_method(layer, "remember")
    fully_shard(module, mesh=mesh)
    return module


def without_exchange(module: nn.Module) -> AbstractContextManager[None]:
    """Within it DDP keeps gradients to itself: the last micro-batch of an update exchanges the sums of all.

    FSDP exchanges after each, for it has no room for whole gradients.
    """
    if isinstance(module, DistributedDataParallel):
        return cast("AbstractContextManager[None]", module.no_sync())
    return nullcontext()


def is_shared(tensor: Tensor) -> bool:
    """Whether this process holds but a part of `tensor`."""
    return isinstance(tensor, DTensor)


def whole(tensor: Tensor) -> Tensor:
    """All of `tensor`; every process must ask at once."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def brought_together(tensors: Mapping[str, Tensor], team: Team) -> dict[str, Tensor]:
    """The whole `tensors` in the first process, none in the others; every process must ask at once.

    What is in parts becomes whole one tensor at a time, and goes to the memory of the first process's CPU.
    """
    together = {}
    for name, tensor in tensors.items():
        one = whole(tensor)
        if team.leads:
            together[name] = one.cpu() if is_shared(tensor) else one
    return together


def like(tensor: Tensor, model: Tensor) -> Tensor:
    """This process's part of a whole `tensor`, if of `model` it holds a part."""
    if isinstance(model, DTensor) and tensor.shape == model.shape:
        return distribute_tensor(tensor.to(model.device), model.device_mesh, model.placements, src_data_rank=None)
    return tensor


def fill(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy whole tensors into the parameters of these names."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(like(tensors[name], parameter))
