"""`dragoman translate --ray`: the shards of a file are translated by the workers of a Ray cluster, in order.

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
from dragoman.cli.bundled import BundledTranslators, announce
from dragoman.cli.line_work import LineWork
from dragoman.cli.loading import EngineChoice
from dragoman.errors import ConfigError, DataError, DistributedError, DragomanError
from dragoman.system.cluster import ordered_data, processors_of
from dragoman.system.machine import usable_processors
from dragoman.version import __version__
from dragoman.workflows.lines.parts import Part
from dragoman.workflows.lines.shards import Shard, ShardReader, windows

# A shard on which workers end this often is given up: it needs more memory than there is.
ATTEMPTS = 3
Results = Iterator[tuple[list[str], Callable[[], Part] | None]]


@dataclass(frozen=True)
class RayChoice:
    """What --ray-address and --shard-lines ask for."""

    address: str | None = None
    shard_lines: int | None = None


class Desk:
    """What all workers ask: the work, which the driver has put into Ray's store, and whose turn at a shard it is."""

    def __init__(self, work: list[Any]) -> None:
        self._work, self._started = work, Counter[int]()

    def work(self) -> list[Any]:
        """The reference to the work."""
        return self._work

    def begin(self, first: int) -> int:
        """A worker begins the shard with this first line; how often one has."""
        self._started[first] += 1
        return self._started[first]


class ShardWorker:
    """Translates shards, one after the other: a row of a shard → a row of its part, or of the error."""

    def __init__(self, desk: Any, path: Path, version: str) -> None:
        self.reader, self.version, self.desk = ShardReader(path), version, desk
        self.work: LineWork | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """The text of the output, and the rest of the part as JSON."""
        notices = list[str]()
        try:
            part, digest = self._part(Shard(**{name: int(value) for name, value in row.items()}), notices)
        except DragomanError as error:
            return {"text": "", "found": json.dumps({"error": [_known(error), str(error)], "notices": notices})}
        found = {"part": asdict(replace(part, text="")), "digest": digest, "notices": notices}
        return {"text": part.text, "found": json.dumps(found)}

    def _part(self, shard: Shard, notices: list[str]) -> tuple[Part, str]:
        """The part, and the digest of the text that was read. `notices` receives what is to be printed once."""
        if self.version != __version__:
            raise ConfigError(f"a worker has dragoman {__version__}, not {self.version}; install that on all machines")
        import ray

        if ray.get(self.desk.begin.remote(shard.first)) > ATTEMPTS:
            named = f"lines {shard.first:,} to {shard.first + shard.lines - 1:,}"
            raise DistributedError(f"{named}: {ATTEMPTS} workers ended on them; give smaller --shard-lines")
        if self.work is None:
            self.work = loaded(self.desk)
        if isinstance(self.work.translators, BundledTranslators):
            self.work.translators.tell = notices.append
        lines, digest = self.reader.read(shard)
        part, first = Part(), shard.first
        texts, warnings = list[str](), list[str]()
        for requests in windows(self.work.requests(lines, first), shard.window):
            found = self.work.part(requests, first)
            texts.append(found.text)
            warnings += found.warnings
            part = Part("", (), part.flagged + found.flagged, part.from_memory + found.from_memory)
            first += len(requests)
        return replace(part, text="".join(texts), warnings=tuple(warnings)), digest


def loaded(desk: Any) -> LineWork:
    """The work of the desk; its models are loaded here."""
    import ray

    try:
        found: LineWork = ray.get(ray.get(desk.work.remote())[0])
    except ray.exceptions.RaySystemError as error:
        # Ray's own error when the work cannot be restored here: the cause is in its text alone.
        raise ConfigError(f"a worker cannot load what it needs: {_last_line(str(error))}") from None
    return found


def translated_on_ray(
    ray: Any,
    work: LineWork,
    path: Path,
    shards: Sequence[Shard],
    engine: EngineChoice,
    has: Callable[[list[str]], bool],
) -> Results:
    """The lines of each shard in order, and what gives its part; nothing for those that the output `has`.

    Raises ConfigError for more threads than any machine of the cluster has.
    """
    reader, rows = ShardReader(path), list[Shard]()
    waiting: Iterator[dict[str, Any]] = iter(())
    notices = set[str]()
    for number, shard in enumerate(shards):
        lines, digest = reader.read(shard)
        if has(lines):
            yield lines, None
            continue
        if not rows:
            rows = [*shards[number:]]
            waiting = _rows(ray, work, path, rows, engine)
        yield lines, partial(_part, ray, waiting, shard, digest, path, notices)
    reader.close()


def _rows(
    ray: Any, work: LineWork, path: Path, shards: Sequence[Shard], engine: EngineChoice
) -> Iterator[dict[str, Any]]:
    """What the workers return, in order. Each has the threads that one process has, because they decide batches."""
    threads = engine.threads or usable_processors()
    processors = processors_of(ray)
    count = sum(one // threads for one in processors)
    if not count:
        raise ConfigError(
            f"--threads {threads}: no machine of the cluster has as many processors; the largest has "
            f"{max(processors, default=0)}"
        )
    data = ordered_data()
    desk = ray.remote(num_cpus=0)(Desk).remote([ray.put(work)])
    dataset = data.from_items([asdict(shard) for shard in shards], override_num_blocks=len(shards))
    found = dataset.map(
        ShardWorker,
        fn_constructor_args=(desk, path.absolute(), __version__),
        compute=data.ActorPoolStrategy(size=min(count, len(shards))),
        num_cpus=threads,
        num_gpus=1 if engine.device.startswith("cuda") else 0,
    )
    rows: Iterator[dict[str, Any]] = iter(found.iter_rows())
    return rows


def _part(ray: Any, rows: Iterator[dict[str, Any]], shard: Shard, digest: str, path: Path, notices: set[str]) -> Part:
    """The next part. Raises what its worker raised, DataError where that has another file, DistributedError."""
    try:
        row = next(rows)
    except ray.exceptions.RayError as error:
        last = shard.first + shard.lines - 1
        raise DistributedError(
            f"{path}: near lines {shard.first:,} to {last:,} the workers failed: {_last_line(str(error))}; give more "
            "memory, or smaller --shard-lines"
        ) from None
    found = json.loads(row["found"])
    for text in found["notices"]:
        if text not in notices:
            notices.add(text)
            announce(text)
    if "error" in found:
        kind, message = found["error"]
        raise getattr(errors, kind, DragomanError)(message)
    if found["digest"] != digest:
        raise DataError(f"{path}: a worker reads another text there; give a file that all machines share")
    part = found["part"]
    return Part(row["text"], tuple(part["warnings"]), part["flagged"], part["from_memory"])


def _known(error: DragomanError) -> str:
    """The name of the error's class, or of the one of `dragoman.errors` that it is derived from."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)


def _last_line(text: str) -> str:
    with suppress(IndexError):
        return text.strip().splitlines()[-1]
    return text
