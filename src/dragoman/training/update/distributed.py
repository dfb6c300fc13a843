"""Training in several processes, started by torchrun: the process group, sharding of the model, lost processes.

`ddp` keeps the model in every process and averages gradients (Li et al. 2020). `fsdp` keeps a shard of every tensor in
each process and gathers a layer while it is needed (FSDP2, `fully_shard`; Zhao et al. 2023). Weights and gradients on
GPUs go through NCCL, everything else through gloo. A single process is a group of size 1 and communicates nothing.
"""

import math
import os
import time
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

from dragoman.errors import ConfigError, DistributedError
from dragoman.model.layers import DecoderLayer
from dragoman.model.parts.network import EncoderDecoder

# One of these is in the message of every failed collective operation.
COLLECTIVE = ("gloo", "NCCL", "nccl", "ProcessGroup", "TCPStore", "Connection")
# Seconds within which the other processes report that they are alive after one fails to answer.
GRACE = 4.0


@dataclass(frozen=True)
class ProcessGroup:
    """The processes of a run, seen from one of them. Collective methods must be called by every process."""

    rank: int = 0
    size: int = 1
    timeout: float = math.inf
    """Seconds that a process waits for the others."""

    @property
    def is_main(self) -> bool:
        """Whether this is the process that validates, saves and reports: rank 0."""
        return self.rank == 0

    def all_reduce_sum(self, values: Sequence[float]) -> list[float]:
        """The sum of each value over all processes."""
        if self.size == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(total)
        return cast("list[float]", total.tolist())

    def any_rank(self, flag: bool) -> bool:
        """Whether `flag` is true in any process; does not wait for GPUs."""
        return self.all_reduce_sum([float(flag)]) != [0.0]

    def broadcast(self, value: Any) -> Any:
        """The `value` of rank 0, in every process."""
        values = [value]
        if self.size > 1:
            dist.broadcast_object_list(values, src=0, device=torch.device("cpu"))
        return values[0]

    def barrier(self) -> None:
        if self.size > 1:
            dist.barrier()

    def all_gather(self, value: Tensor) -> list[Tensor]:
        """Every process's `value`, ordered by rank."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    @contextmanager
    def raise_if_lost(self, when: str) -> Iterator[None]:
        """Turn the failure of a collective operation into a DistributedError that names the lost processes."""
        try:
            yield
        except (RuntimeError, TimeoutError) as error:
            if self.size == 1 or not any(sign in str(error) for sign in COLLECTIVE):
                raise
            if lost := self._lost(when):
                names = ", ".join(f"{rank} of {self.size}" for rank in lost)
                raise DistributedError(
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
            return [0]  # rank 0 hosts the store


def join_process_group(device: torch.device, timeout: float) -> tuple[ProcessGroup, torch.device]:
    """Join the other processes that torchrun started, if any. Returns the group and this process's own device.

    A process that does not answer within `timeout` seconds counts as lost. Raises ConfigError for a device that several
    processes cannot train on, DistributedError if the processes cannot reach each other.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        if device.type == "cuda" and device.index is not None:
            torch.cuda.set_device(device)  # checkpoints save the random state of the current device
        return ProcessGroup(), device
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
            raise DistributedError(
                f"the {size} processes of this run did not connect within train.peer_timeout = {timeout:g} s: {cause}; "
                "start all of them with torchrun; on a machine with several networks, set GLOO_SOCKET_IFNAME to one"
            ) from None
    return ProcessGroup(dist.get_rank(), dist.get_world_size(), timeout), device


def leave_process_group() -> None:
    """Close the connections to the other processes, if there are any."""
    if dist.is_initialized():
        dist.destroy_process_group()


def parallelize(
    module: nn.Module, model: EncoderDecoder, group: ProcessGroup, how: Literal["ddp", "fsdp"], device: torch.device
) -> nn.Module:
    """Wrap `module`, which contains `model` and returns the loss, so that gradients are averaged over the group."""
    if group.size == 1:
        return module
    if how == "ddp":
        ids = [device] if device.type == "cuda" else None
        # The only buffers are weights that an adapter leaves as they are: equal in all processes, never exchanged.
        return DistributedDataParallel(module, device_ids=ids, gradient_as_bucket_view=True, broadcast_buffers=False)
    mesh = init_device_mesh(device.type, (group.size,))
    for layer in model.layers():
        fully_shard(layer, mesh=mesh)
        if isinstance(layer, DecoderLayer):
            register_fsdp_forward_method(layer, "project_memory")
    fully_shard(module, mesh=mesh)
    return module


def no_sync(module: nn.Module) -> AbstractContextManager[None]:
    """DDP does not exchange gradients in here: the last micro-batch of an update exchanges the sums of all.

    FSDP exchanges after each micro-batch, because it has no memory for whole gradients.
    """
    if isinstance(module, DistributedDataParallel):
        return cast("AbstractContextManager[None]", module.no_sync())
    return nullcontext()


def is_sharded(tensor: Tensor) -> bool:
    """Whether this process holds only a shard of `tensor`."""
    return isinstance(tensor, DTensor)


def full_tensor(tensor: Tensor) -> Tensor:
    """The whole of `tensor`. A collective operation if it is sharded."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def gather_full_state(tensors: Mapping[str, Tensor], group: ProcessGroup) -> dict[str, Tensor]:
    """The whole `tensors` in rank 0, an empty dictionary in the other processes. A collective operation.

    Sharded tensors are gathered one at a time and moved to the CPU memory of rank 0.
    """
    state = {}
    for name, tensor in tensors.items():
        full = full_tensor(tensor)
        if group.is_main:
            state[name] = full.cpu() if is_sharded(tensor) else full
    return state


def shard_like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """This process's shard of a whole `tensor` if `parameter` is sharded; otherwise `tensor`."""
    if isinstance(parameter, DTensor) and tensor.shape == parameter.shape:
        mesh, placements = parameter.device_mesh, parameter.placements
        return distribute_tensor(tensor.to(parameter.device), mesh, placements, src_data_rank=None)
    return tensor


def load_parameters(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy whole tensors into the parameters of the same names."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(shard_like(tensors[name], parameter))
