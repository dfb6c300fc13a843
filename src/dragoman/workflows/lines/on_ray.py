"""Lines on a Ray cluster: the shards of a file are translated by workers, and come back in order.

Ray Data has the list of shards as its dataset. A worker reads the shards that it gets by itself, so that the file has
to be at the same path on all machines; what it returns is the text of the output, which this process writes in order.
A worker that is lost is replaced, and its shard translated again.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from dragoman import errors
from dragoman.errors import ConfigError, DataError, DistributedError, DragomanError
from dragoman.system.cluster import ordered_data, processors_of
from dragoman.system.machine import usable_processors
from dragoman.version import __version__
from dragoman.workflows.lines.shards import Shard, ShardReader, windows
from dragoman.workflows.lines.work import BundledTranslators, LineWork, TranslatedLines

# A shard on which workers end this often is given up: it needs more memory than there is.
ATTEMPTS = 3
Translate = Callable[[], TranslatedLines]
"""What translates some lines, when it is called."""


@dataclass(frozen=True, slots=True)
class RayCluster:
    """Where and how shards are translated."""

    address: str | None = None
    """HOST:PORT; None: that of $RAY_ADDRESS, the connection that this process has, or a cluster of this machine."""
    shard_lines: int | None = None
    """Lines that a worker gets at a time; None: about 8,000."""
    threads: int | None = None
    """CPU threads of a worker, which decide its batches and so are those of the translators; None: all of a machine."""
    on_gpu: bool = False


class ShardCoordinator:
    """An actor that all workers ask: for the work, which is in Ray's store, and how often a shard was started."""

    def __init__(self, work: list[Any]) -> None:
        self._work, self._started = work, Counter[int]()

    def work(self) -> list[Any]:
        return self._work

    def start(self, first: int) -> int:
        """Count that a worker starts the shard with this first line; how many have."""
        self._started[first] += 1
        return self._started[first]


class ShardWorker:
    """Translates shards, one after the other: a row of a shard → a row of its translation, or of the error."""

    def __init__(self, coordinator: Any, path: Path, version: str) -> None:
        self.reader, self.version, self.coordinator = ShardReader(path), version, coordinator
        self.work: LineWork | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """The text of the output, and the rest as JSON."""
        notices = list[str]()
        try:
            lines, digest = self._translate(Shard(**{name: int(value) for name, value in row.items()}), notices)
        except DragomanError as error:
            return {"text": "", "facts": json.dumps({"error": [_known(error), str(error)], "notices": notices})}
        facts = {"lines": asdict(replace(lines, text="")), "digest": digest, "notices": notices}
        return {"text": lines.text, "facts": json.dumps(facts)}

    def _translate(self, shard: Shard, notices: list[str]) -> tuple[TranslatedLines, str]:
        """The output, and the digest of the text that was read. `notices` receives what is reported once."""
        if self.version != __version__:
            raise ConfigError(f"a worker has dragoman {__version__}, not {self.version}; install that on all machines")
        import ray

        if ray.get(self.coordinator.start.remote(shard.first)) > ATTEMPTS:
            named = f"lines {shard.first:,} to {shard.first + shard.lines - 1:,}"
            raise DistributedError(f"{named}: {ATTEMPTS} workers ended on them; give smaller --shard-lines")
        if self.work is None:
            self.work = _loaded(self.coordinator)
        if isinstance(self.work.translators, BundledTranslators):
            self.work.translators.notice = notices.append
        lines, digest = self.reader.read(shard)
        first, flagged, from_memory = shard.first, 0, 0
        texts, warnings = list[str](), list[str]()
        size = replace(self.work.window, first=shard.window)
        for requests in windows(self.work.requests(lines, first), size):
            window = self.work.translate(requests, first)
            texts.append(window.text)
            warnings += window.warnings
            flagged, from_memory = flagged + window.flagged, from_memory + window.from_memory
            first += len(requests)
        return TranslatedLines("".join(texts), tuple(warnings), flagged, from_memory), digest


def _loaded(coordinator: Any) -> LineWork:
    """The work of all workers; its models are loaded here."""
    import ray

    try:
        work: LineWork = ray.get(ray.get(coordinator.work.remote())[0])
    except ray.exceptions.RaySystemError as error:
        # Ray's own error when the work cannot be restored here: the cause is in its text alone.
        raise ConfigError(f"a worker cannot load what it needs: {_last_line(str(error))}") from None
    return work


def translated_on_ray(
    ray: Any,
    work: LineWork,
    path: Path,
    shards: Sequence[Shard],
    cluster: RayCluster,
    has: Callable[[list[str]], bool],
) -> Iterator[tuple[list[str], Translate | None]]:
    """The lines of each shard in order, and what gives their translation; nothing for those that the output `has`.

    Raises ConfigError for more threads than any machine of the cluster has.
    """
    reader, rest = ShardReader(path), list[Shard]()
    rows: Iterator[dict[str, Any]] = iter(())
    notices = set[str]()
    for number, shard in enumerate(shards):
        lines, digest = reader.read(shard)
        if has(lines):
            yield lines, None
            continue
        if not rest:
            rest = [*shards[number:]]
            rows = _rows(ray, work, path, rest, cluster)
        yield lines, partial(_next, ray, rows, shard, digest, work, path, notices)
    reader.close()


def _rows(
    ray: Any, work: LineWork, path: Path, shards: Sequence[Shard], cluster: RayCluster
) -> Iterator[dict[str, Any]]:
    """What the workers return, in order. Each has the threads that one process has, because they decide batches."""
    threads = cluster.threads or usable_processors()
    processors = processors_of(ray)
    count = sum(machine // threads for machine in processors)
    if not count:
        raise ConfigError(
            f"--threads {threads}: no machine of the cluster has as many processors; the largest has "
            f"{max(processors, default=0)}"
        )
    data = ordered_data()
    coordinator = ray.remote(num_cpus=0)(ShardCoordinator).remote([ray.put(work.silent())])
    dataset = data.from_items([asdict(shard) for shard in shards], override_num_blocks=len(shards))
    translated = dataset.map(
        ShardWorker,
        fn_constructor_args=(coordinator, path.absolute(), __version__),
        compute=data.ActorPoolStrategy(size=min(count, len(shards))),
        num_cpus=threads,
        num_gpus=1 if cluster.on_gpu else 0,
    )
    rows: Iterator[dict[str, Any]] = iter(translated.iter_rows())
    return rows


def _next(
    ray: Any, rows: Iterator[dict[str, Any]], shard: Shard, digest: str, work: LineWork, path: Path, notices: set[str]
) -> TranslatedLines:
    """The next shard's output. Raises what its worker raised, DataError where that has another file, DistributedError.

    `notices` are those that were reported: each worker has them again.
    """
    try:
        row = next(rows)
    except ray.exceptions.RayError as error:
        last = shard.first + shard.lines - 1
        raise DistributedError(
            f"{path}: near lines {shard.first:,} to {last:,} the workers failed: {_last_line(str(error))}; give more "
            "memory, or smaller --shard-lines"
        ) from None
    facts = json.loads(row["facts"])
    for text in facts["notices"]:
        if text not in notices:
            notices.add(text)
            work.listener.notice(text)
    if "error" in facts:
        kind, message = facts["error"]
        raise getattr(errors, kind, DragomanError)(message)
    if facts["digest"] != digest:
        raise DataError(f"{path}: a worker reads another text there; give a file that all machines share")
    lines = facts["lines"]
    return TranslatedLines(row["text"], tuple(lines["warnings"]), lines["flagged"], lines["from_memory"])


def _known(error: DragomanError) -> str:
    """The name of the error's class, or of the one of `dragoman.errors` that it is derived from."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)


def _last_line(text: str) -> str:
    with suppress(IndexError):
        return text.strip().splitlines()[-1]
    return text
