"""What `dragoman serve` was asked for, and the service that follows from it, in this process or in a replica."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.cli.service_log import Style
from dragoman.serve.documents.store import DocumentLimits
from dragoman.serve.models.loading import Loader
from dragoman.serve.models.memories import Memories
from dragoman.serve.models.models import Models
from dragoman.serve.run import Address
from dragoman.serve.store.state import ServiceState, state_folder
from dragoman.serve.work.service import Service, ServiceLimits


@dataclass(frozen=True)
class ServeRequest:
    """The options of the verb."""

    models: Sequence[Path]
    address: Address
    limits: ServiceLimits
    documents: DocumentLimits
    threads: int | None = None
    exact: bool = False
    memory: Path | None = None
    state: Path | None = None
    database: str | None = None
    style: Style = "plain"
    otlp: str | None = None
    memory_limit: int | None = None

    def open_state(self) -> ServiceState:
        """Its state folder and database. Raises ConfigError."""
        return ServiceState(self.state or state_folder(), self.database)

    def service(self) -> Service:
        """The service. Raises ModelError, ConfigError, DataError."""
        models = Models(self.models, loader=Loader(self.threads, self.exact, self.memory_limit))
        memories = Memories(self.memory, models.pairs) if self.memory else None
        found = Service(models, self.limits, memories=memories, state=self.open_state())
        found.open_to_all = self.address.without_keys
        return found

    def for_replica(self, threads: int) -> "ServeRequest":
        """The same where it is carried out elsewhere: with absolute paths, if they are paths."""
        models = [one.absolute() if one.exists() else one for one in self.models]
        memory = self.memory and self.memory.absolute()
        return replace(
            self, models=models, memory=memory, state=(self.state or state_folder()).absolute(), threads=threads
        )

    def on_port(self, port: int) -> "ServeRequest":
        """The same on this port."""
        return replace(self, address=replace(self.address, port=port))


def served(models: Models) -> str:
    """The models and their pairs, in a line."""
    return ", ".join(f"{one.name} ({', '.join(pair.name for pair in one.pairs)})" for one in models.models.values())
