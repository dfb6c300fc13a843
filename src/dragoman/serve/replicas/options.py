"""The options of a service, and the service that follows from them, in this process or in a replica."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.serve.documents.store import DocumentLimits
from dragoman.serve.models.loading import Loader
from dragoman.serve.models.memories import Memories
from dragoman.serve.models.models import Models
from dragoman.serve.run import Address
from dragoman.serve.store.database import ServiceState, state_folder
from dragoman.serve.store.keys import KeyStore
from dragoman.serve.work.service import Service, ServiceLimits


@dataclass(frozen=True)
class ServeOptions:
    """What is served, where, to whom, and within which limits."""

    models: Sequence[Path]
    address: Address
    limits: ServiceLimits
    documents: DocumentLimits
    threads: int | None = None
    exact: bool = False
    memory: Path | None = None
    state: Path | None = None
    database: str | None = None
    log: Callable[[], AbstractContextManager[object]] = nullcontext
    """Within what it returns, the log of the service is written; another process calls it too."""
    otlp: str | None = None
    memory_limit: int | None = None

    def open_state(self) -> ServiceState:
        """Its state folder and database. Raises ConfigError."""
        return ServiceState(self.state or state_folder(), self.database)

    def service(self) -> Service:
        """The service. Raises ModelError, ConfigError, DataError."""
        models = Models(self.models, loader=Loader(self.threads, self.exact, self.memory_limit))
        memories = Memories(self.memory, models.pairs) if self.memory else None
        service = Service(models, self.limits, memories=memories, state=self.open_state())
        service.open_to_all = self.address.without_keys
        return service

    def has_keys(self) -> bool:
        """Whether its state has keys. Raises ConfigError."""
        with closing(self.open_state()) as state:
            return KeyStore(state.database).are_required()

    def for_replica(self, threads: int, port: int) -> "ServeOptions":
        """A copy for another process: on this port, with absolute paths, where names are paths, and these threads."""
        models = [model.absolute() if model.exists() else model for model in self.models]
        memory, state = self.memory and self.memory.absolute(), (self.state or state_folder()).absolute()
        address = replace(self.address, port=port)
        return replace(self, models=models, address=address, memory=memory, state=state, threads=threads)


def served(models: Models) -> str:
    """The models and their pairs, on one line."""
    return ", ".join(
        f"{model.name} ({', '.join(pair.name for pair in model.pairs)})" for model in models.models.values()
    )
