"""The application as a deployment of Ray Serve, with replicas that share one state.

Each replica is a process with the whole service: its own engine, queue and limits of work. What must be one for all is
asked of the `Coordinator`, an actor: how often a key may ask, and whether the service is about to stop. Keys,
corrections, glossaries and documents are in the state folder and the database.
"""

import logging
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from dragoman.errors import ConfigError, DragomanError, ModelError
from dragoman.serve.app import make_app
from dragoman.serve.documents.documents import Documents
from dragoman.serve.models.models import Models
from dragoman.serve.replicas.on_port import signalled
from dragoman.serve.replicas.options import ServeOptions, served
from dragoman.serve.requests.record import log_event
from dragoman.serve.run import KEEP_ALIVE, keep, listen, reserved, url_of
from dragoman.serve.store.rates import Rates
from dragoman.serve.watch.tracing import traced
from dragoman.system.cluster import address_of, cluster, processors_of
from dragoman.system.machine import usable_processors

NAME = "dragoman"
# Seconds between two questions of a replica whether the service stops, and until all of them know.
ASK, KNOWN = 1.0, 3.0
# Requests that Ray gives a replica at a time; the service itself refuses what is too much, and says when to come again.
MOST_REQUESTS = 512


class Coordinator:
    """An actor with what is one for all replicas."""

    def __init__(self) -> None:
        self._rates, self._stops = Rates(), False

    def take(self, key: str, per_minute: int) -> float:
        """Count a request of this key, as `Rates.take` does; the seconds to wait, 0 if it may be answered."""
        return self._rates.take(key, per_minute)

    def stop(self) -> None:
        self._stops = True

    def stops(self) -> bool:
        return self._stops


class RayReplica:
    """The service in a process of Ray Serve."""

    def __init__(self, options: ServeOptions, coordinator: Any) -> None:
        """Load the first model; raises what keeps it from translating."""
        self._open = ExitStack()
        self._open.enter_context(options.log())
        self.options, self.coordinator = options, coordinator
        self.service = options.service()
        self.service.golden()
        if not self.service.state.database.is_server:  # which counts for all
            self.service.take = _taken_at(coordinator)
        self._open.enter_context(traced(self.service.on_request, options.otlp))
        threading.Thread(target=self._watch, name="coordinator", daemon=True).start()

    def __serve_build_asgi_app__(self) -> Any:
        """The application, as it is without Ray; every metric names this replica."""
        from ray import serve

        self.service.metrics.labels = {"replica": serve.get_replica_context().replica_id.unique_id}
        documents = Documents(self.service, self.options.documents)
        return make_app(self.service, self.options.address.public, _log, documents, keep)

    def _watch(self) -> None:
        import ray

        while not self.service.draining:
            time.sleep(ASK)
            try:
                self.service.draining = ray.get(self.coordinator.stops.remote(), timeout=10)
            except ray.exceptions.RayError:
                continue


def serve_on_ray(options: ServeOptions, count: int, address: str | None, on_ready: Callable[[str, str], None]) -> None:
    """Serve by `count` replicas until a signal stops it, on the cluster at an address or one of this machine.

    `on_ready` receives what is served, and the URL. Raises ConfigError, ModelError, ResourceError.
    """
    names = served(Models(options.models))
    threads = options.threads or max(1, usable_processors() // count)
    with ExitStack() as entered:
        url, port = entered.enter_context(_port(options, address))
        stopped = entered.enter_context(signalled())
        ray = entered.enter_context(cluster(address, threads * count, logs=True))
        _refuse_few(ray, count, threads)
        coordinator = ray.remote(num_cpus=0, max_restarts=-1)(Coordinator).remote()
        with _deployed(options.for_replica(threads, port), count, coordinator):
            on_ready(names, url)
            while not stopped.wait(ASK):
                pass
            ray.get(coordinator.stop.remote())
            time.sleep(KNOWN)


@contextmanager
def _port(options: ServeOptions, address: str | None) -> Iterator[tuple[str, int]]:
    """URL and port, which nobody else can take while a cluster of this machine starts and opens it `shared`."""
    is_own = sys.platform == "linux" and not address_of(address)
    with ExitStack() as held:
        port = held.enter_context((reserved if is_own else listen)(options.address, options.has_keys()))
        named = url_of(port), port.getsockname()[1]
        if not is_own:
            held.close()
        yield named


@contextmanager
def _deployed(options: ServeOptions, count: int, coordinator: Any) -> Iterator[None]:
    """The replicas behind Ray Serve's proxy, until the block ends and what they accepted is answered."""
    from ray import serve

    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    quiet = {"log_level": "ERROR", "enable_access_log": False}
    _refuse_other(serve)
    http = {"host": options.address.host, "port": options.address.port, "keep_alive_timeout_s": KEEP_ALIVE}
    try:
        serve.start(http_options=http, logging_config=quiet)
    except RuntimeError as error:
        serve.shutdown()
        if "Failed to bind" not in str(error):
            raise
        raise ConfigError(f"--ray: {_cause(error)} Choose another --port or --host") from None
    deployment: Any = serve.deployment(
        serve.ingress()(RayReplica),
        name="service",
        num_replicas=count,
        ray_actor_options={"num_cpus": options.threads},
        max_ongoing_requests=max(MOST_REQUESTS, 2 * options.limits.places),
        graceful_shutdown_timeout_s=options.limits.seconds + 5,
        graceful_shutdown_wait_loop_s=0.5,
        logging_config=quiet,
    )
    try:
        try:
            serve.run(deployment.bind(options, coordinator), name=NAME, route_prefix="/")
        except RuntimeError as error:
            raise ModelError(f"the replicas do not start: {_cause(error)}") from None
        yield
        serve.delete(NAME)
    finally:
        serve.shutdown()


def _refuse_few(ray: Any, count: int, threads: int) -> None:
    """Raises ConfigError if the cluster has no place for the replicas."""
    places = sum(machine // threads for machine in processors_of(ray))
    if places < count:
        raise ConfigError(
            f"--replicas {count}: the cluster has processors for {places} of {threads} threads each; give fewer, or "
            "fewer --threads"
        )


def _refuse_other(serve: Any) -> None:
    """Take the place of a service that was killed; raises ConfigError if Ray Serve serves something else."""
    status = serve.status()
    others = [name for name in status.applications if name != NAME]
    if others:
        raise ConfigError(f"--ray-address: Ray Serve serves {', '.join(others)} there; use another cluster")
    if status.proxies:
        serve.shutdown()


def _taken_at(coordinator: Any) -> Callable[[str, int], Awaitable[float]]:
    """Asks the coordinator; while that is being started again, each replica counts by itself."""
    rates = Rates()

    async def take(key: str, per_minute: int) -> float:
        from ray.exceptions import RayError

        try:
            seconds: float = await coordinator.take.remote(key, per_minute)
        except RayError:
            return rates.take(key, per_minute)
        return seconds

    return take


def _log(error: DragomanError) -> None:
    log_event(logging.ERROR, not_ready=str(error))


def _cause(error: BaseException) -> str:
    """The end of the message that Ray makes of a replica's error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or ["see the log"])[-1][:300]
