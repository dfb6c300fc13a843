"""`dragoman serve --ray`: the application as a deployment of Ray Serve, with replicas that share one state.

Each replica is a process with the whole service: its own engine, queue and limits of work. What must be one for all is
asked of the `Desk`, an actor: how often a key may ask, and whether the service is about to stop. Keys, corrections,
glossaries and documents are in the state folder and the database.
"""

import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from dragoman.cli.console import say
from dragoman.cli.serve_replicas import has_keys, signalled
from dragoman.cli.serve_request import ServeRequest, served
from dragoman.cli.service_log import logged
from dragoman.errors import ConfigError, DragomanError, ModelError
from dragoman.serve.app import LOCAL_NAMES, make_app
from dragoman.serve.documents.documents import Documents
from dragoman.serve.models.models import Models
from dragoman.serve.requests.record import log_event
from dragoman.serve.run import KEEP_ALIVE, keep, listen, url_of
from dragoman.serve.store.keys import Rates
from dragoman.serve.watch.tracing import trace_to
from dragoman.system.cluster import cluster, processors_of
from dragoman.system.machine import usable_processors

NAME = "dragoman"
# Seconds between two questions of a replica whether the service stops, and until all of them know.
ASK, KNOWN = 1.0, 3.0
# Requests that Ray gives a replica at a time; the service itself refuses what is too much, and says when to come again.
MOST_REQUESTS = 512


@dataclass(frozen=True)
class RayReplicas:
    """What --replicas and --ray-address ask for."""

    count: int
    address: str | None = None


class Desk:
    """What is one for all replicas."""

    def __init__(self) -> None:
        self._rates, self._stops = Rates(), False

    def take(self, key: str, per_minute: int) -> float:
        """See `Rates.take`."""
        return self._rates.take(key, per_minute)

    def stop(self) -> None:
        """The service is about to stop."""
        self._stops = True

    def stops(self) -> bool:
        """Whether it is."""
        return self._stops


class Replica:
    """The service in a process of Ray Serve."""

    def __init__(self, request: ServeRequest, host: str, desk: Any) -> None:
        """Load the first model; raises what keeps it from translating."""
        self._open = ExitStack()
        self._open.enter_context(logged(request.style))
        self.request, self.host, self.desk = request, host, desk
        self.service = request.service()
        self.service.golden()
        self.service.take = _taken_at(desk)
        if request.otlp:
            tracing = trace_to(request.otlp)
            self.service.on_request.append(tracing.on_request)
        threading.Thread(target=self._watch, name="desk", daemon=True).start()

    def __serve_build_asgi_app__(self) -> Any:
        """The application, as it is without Ray; every metric names this replica."""
        from ray import serve

        self.service.metrics.labels = {"replica": serve.get_replica_context().replica_id.unique_id}
        names = LOCAL_NAMES | {self.host.lower(), *map(str.lower, self.request.address.names)}
        return make_app(self.service, names, _log, Documents(self.service, self.request.documents), keep)

    def _watch(self) -> None:
        import ray

        while not self.service.draining:
            time.sleep(ASK)
            try:
                self.service.draining = ray.get(self.desk.stops.remote(), timeout=10)
            except ray.exceptions.RayError:
                continue


def run_serve_on_ray(request: ServeRequest, replicas: RayReplicas) -> None:
    """Serve until a signal stops it. Raises ConfigError, ModelError, ResourceError."""
    names = served(Models(request.models))
    with listen(request.address, has_keys(request)) as listening:
        url, port = url_of(listening), listening.getsockname()[1]
    threads = request.threads or max(1, usable_processors() // replicas.count)
    with signalled() as stopped, cluster(replicas.address, threads * replicas.count, logs=True) as ray:
        _refuse_few(ray, replicas.count, threads)
        desk = ray.remote(num_cpus=0, max_restarts=-1)(Desk).remote()
        with _deployed(ray, request.for_replica(threads), replicas.count, port, desk):
            say(f"Serving {names} by {replicas.count} replicas under Ray")
            say(f"at {url}, described at {url}/docs; Ctrl-C stops it")
            while not stopped.wait(ASK):
                pass
            ray.get(desk.stop.remote())
            time.sleep(KNOWN)
    say("stopped; every accepted request was answered")


@contextmanager
def _deployed(ray: Any, request: ServeRequest, count: int, port: int, desk: Any) -> Iterator[None]:
    """The replicas behind Ray Serve's proxy, until the block ends and what they accepted is answered."""
    from ray import serve

    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    quiet = {"log_level": "ERROR", "enable_access_log": False}
    _refuse_other(serve)
    host, seconds = request.address.host, request.limits.seconds
    serve.start(http_options={"host": host, "port": port, "keep_alive_timeout_s": KEEP_ALIVE}, logging_config=quiet)
    deployment: Any = serve.deployment(
        serve.ingress()(Replica),
        name="service",
        num_replicas=count,
        ray_actor_options={"num_cpus": request.threads},
        max_ongoing_requests=max(MOST_REQUESTS, 2 * request.limits.places),
        graceful_shutdown_timeout_s=seconds + 5,
        graceful_shutdown_wait_loop_s=0.5,
        logging_config=quiet,
    )
    try:
        try:
            serve.run(deployment.bind(request, host, desk), name=NAME, route_prefix="/")
        except RuntimeError as error:
            raise ModelError(f"the replicas do not start: {_cause(error)}") from None
        yield
        serve.delete(NAME)
    finally:
        serve.shutdown()


def _refuse_few(ray: Any, count: int, threads: int) -> None:
    """Raises ConfigError if the cluster has no place for the replicas."""
    places = sum(one // threads for one in processors_of(ray))
    if places < count:
        raise ConfigError(
            f"--replicas {count}: the cluster has processors for {places} of {threads} threads each; give fewer, or "
            "fewer --threads"
        )


def _refuse_other(serve: Any) -> None:
    """Take the place of a service that was killed; raises ConfigError if Ray Serve serves something else."""
    found = serve.status()
    others = [name for name in found.applications if name != NAME]
    if others:
        raise ConfigError(f"--ray-address: Ray Serve serves {', '.join(others)} there; use another cluster")
    if found.proxies:
        serve.shutdown()


def _taken_at(desk: Any) -> Callable[[str, int], Awaitable[float]]:
    """Asks the desk; while that is being started again, each replica counts by itself."""
    own = Rates()

    async def take(key: str, per_minute: int) -> float:
        from ray.exceptions import RayError

        try:
            found: float = await desk.take.remote(key, per_minute)
        except RayError:
            return own.take(key, per_minute)
        return found

    return take


def _log(error: DragomanError) -> None:
    log_event(logging.ERROR, not_ready=str(error))


def _cause(error: BaseException) -> str:
    """The end of the message that Ray makes of a replica's error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or ["see the log"])[-1][:300]
