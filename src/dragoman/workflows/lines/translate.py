"""Lines → their translations, one output for each line, in the same order.

    LineWork.requests     lines → `LineRequest`, from text or JSON (`workflows.lines.requests`)
    windows               requests that are translated together (`workflows.lines.shards`)
    LineWork.translate    requests → `TranslatedLines`, by one model or the bundled model that reads a line's script
    PartialOutput.write   the text into a file that a killed process leaves whole (`workflows.lines.partial_output`)

With a Ray cluster the workers translate shards of the file (`workflows.lines.on_ray`), to the bytes of one process.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from dragoman.bundled import bundled_models
from dragoman.config import DecodeConfig
from dragoman.data.corpus.corpus import read_lines
from dragoman.errors import ConfigError, check_count, checked_path
from dragoman.memory import existing_memory
from dragoman.system.cluster import cluster as ray_cluster
from dragoman.system.files import is_special, sha256
from dragoman.text.terms.glossary import Glossary, GlossaryLike
from dragoman.text.terms.tbx import TermBase
from dragoman.text.words.lines import WindowSize
from dragoman.translator import Translator
from dragoman.version import __version__
from dragoman.workflows.lines.on_ray import RayCluster, Translate, translated_on_ray
from dragoman.workflows.lines.partial_output import partial_output, refuse_taken, saved_lines
from dragoman.workflows.lines.requests import LineRequest
from dragoman.workflows.lines.shards import FIRST_WINDOW, cut, windows
from dragoman.workflows.lines.via import PivotTranslator, choose_hops, load_route
from dragoman.workflows.lines.work import BundledTranslators, LineWork
from dragoman.workflows.listener import Listener, Listeners, Progress


class LineOutput(Protocol):
    """An output that may already have the translations of the first lines."""

    def has(self, lines: Sequence[str]) -> bool:
        """Whether the next lines of the input are done."""

    def write(self, lines: Sequence[str], text: str) -> None:
        """Write the text for the next lines of the input."""


OpenOutput = Callable[[Mapping[str, Any]], AbstractContextManager[LineOutput]]
"""Opens an output, from what must be the same when interrupted work continues, by the name it has in an error."""
Windows = Iterator[tuple[list[str], Translate | None]]
"""Lines that are translated together, and what translates them; None if the output has them."""


@dataclass(frozen=True, slots=True)
class LinesResult:
    """How many lines were translated, and how."""

    lines: int
    """Lines of the output."""
    resumed: int
    """Lines of them that an interrupted translation had done."""
    flagged: int
    """Lines with a warning other than `doubtful`, of those that were translated now."""
    from_memory: int
    """Lines whose translation is from the memory, of those that were translated now."""
    seconds: float


def translate_file(
    source: str | PathLike[str],
    output: str | PathLike[str],
    *,
    model: Translator | str | PathLike[str] | None = None,
    to: str | None = None,
    from_: str | None = None,
    via: str | None = None,
    options: DecodeConfig | None = None,
    glossary: GlossaryLike | None = None,
    threads: int | None = None,
    target_prefix: str = "",
    memory: str | PathLike[str] | None = None,
    jsonl: bool | None = None,
    as_json: bool = False,
    resume: bool = False,
    force: bool = False,
    ray: bool = False,
    shard_lines: int | None = None,
    listeners: Iterable[Listener] = (),
) -> LinesResult:
    """Translate a file of lines into a file of as many lines, in the same order; an empty line stays empty.

    `source` is UTF-8 text, also compressed (`.gz`, `.zst`), or JSON (`.jsonl`, or `jsonl=True`): objects with a
    "text" and what is asked for that line alone, such as "to", "target_prefix", "glossary" and keys of [decode]. The
    output of JSON, or with `as_json`, is a JSON object per line. `model` is a translator, a folder, or the name of a
    model; None: for each line the bundled model that reads its script. `to` and `from_` choose a pair of languages of
    several; `via` a language, two models at hand translate one after the other. `options`, `glossary` and `threads` (of
    the CPU) are for a model that is loaded here, a translator has its own; on Ray `threads` are those of each worker
    too. Every translation begins with `target_prefix`. A `memory` (`.db`, `.tmx`, `.tsv`, …) is asked before the model.

    While it works, the text is in `OUTPUT.partial`; `output` appears when it is complete. After an interruption
    `resume` continues to the bytes of an uninterrupted run; `force` starts again and replaces an output that exists.
    With `ray` shards of `shard_lines` lines are translated by the workers of a Ray cluster: that of $RAY_ADDRESS, one
    that this process is connected to, or one of this machine. Listeners receive progress (in lines), notices, and a
    warning for each line that a person should look at.

    Raises ConfigError for a wrong request, an output that exists, or changed settings; DataError, with file and line,
    for a line that cannot be read; ResumeError if the input changed; ModelError; Interrupted after Ctrl-C if anything
    is saved.
    """
    path, target = checked_path("source", source), checked_path("output", output)
    if threads is not None:
        check_count("threads", threads)
    if shard_lines is not None:
        check_count("shard_lines", shard_lines)
        if not ray:
            raise ConfigError("shard_lines: has no effect in one process; add ray=True, or leave it out")
    if is_special(target):
        raise ConfigError(f"{target}: a device or a pipe, which cannot be continued; give a file")
    memory_path = None if memory is None else existing_memory(checked_path("memory", memory))
    refuse_input(target, [path, *([memory_path] if memory_path else [])])
    refuse_taken(target, resume=resume, force=force)
    listener = Listeners(listeners)
    translators: Translator | BundledTranslators | PivotTranslator
    if via is not None:
        for name, useless in {"model": model is not None, "memory": memory is not None, "ray": ray}.items():
            if useless:
                raise ConfigError(f"{name}: has no effect on two models in a row; leave it or via out")
        load_one = partial(Translator.load, options=options, threads=threads)
        translators = load_route(load_one, choose_hops(via, from_, to), glossary=glossary)
    elif isinstance(model, Translator):
        for name, value in {"options": options, "glossary": glossary, "threads": None if ray else threads}.items():
            if value is not None:
                raise ConfigError(f"{name}: a translator has its own; give it to Translator.load, or leave it out")
        translators = model.to(to, from_)
    else:
        load = partial(Translator.load, options=options, glossary=glossary, threads=threads)
        if model is not None:
            translators = load(checked_path("model", model)).to(to, from_)
        else:
            terms = Glossary.of(glossary) if isinstance(glossary, Mapping) else glossary
            translators = BundledTranslators(load, options or DecodeConfig(), terms, to, from_, listener.notice)
    is_json = is_jsonl(path) if jsonl is None else jsonl
    return translate_lines(
        LineWork(translators, str(path), target_prefix, is_json, as_json or is_json, memory_path, listener),
        read_lines(path),
        partial(partial_output, target, resume=resume, force=force),
        source=path,
        identity={"model": _models(translators), "language": [to, from_, *([via] if via else [])]},
        cluster=RayCluster(None, shard_lines, threads, _on_gpu(translators)) if ray else None,
        saved=saved_lines(target) if resume else 0,
    )


def refuse_input(output: Path, inputs: Sequence[Path]) -> None:
    """Raise ConfigError if writing `output` would replace one of the inputs."""
    if any(output.is_file() and path.is_file() and output.samefile(path) for path in inputs):
        raise ConfigError(f"{output}: is read too, and its text would be lost; write to another file")


def is_jsonl(path: Path) -> bool:
    """Whether the name of a file, compressed or not, is that of lines of JSON."""
    return path.name.removesuffix(".gz").removesuffix(".zst").endswith(".jsonl")


def translate_lines(
    work: LineWork,
    lines: Iterable[str],
    open_output: OpenOutput,
    *,
    source: Path | None = None,
    identity: Mapping[str, Any] | None = None,
    cluster: RayCluster | None = None,
    saved: int = 0,
    one_by_one: bool = False,
    waits: Callable[[], bool] | None = None,
) -> LinesResult:
    """Translate lines and write them; the listener of the `work` receives progress, notices and warnings.

    `source` is the file of the lines, if they are those of one: it can be counted, and cut into shards for a `cluster`.
    A window, or a shard, begins behind the lines that are `saved`. `identity` is what more must be the same when the
    work is continued. With `one_by_one`, as for lines that a person types, each is written before the next is read,
    and what was read is written where `waits()`: the next line has not come. Raises ConfigError, DataError, and what
    `Translator.translate` raises.
    """
    must_stay = {**_identity(work), **(identity or {})}
    if not (cluster and source):
        total = None
        if source and source.is_file():  # every line of a JSONL file is checked meanwhile
            total = sum(1 for _ in work.requests(read_lines(source)))
        with open_output(must_stay) as output:
            together = _windows(work, lines, source, one_by_one, waits)
            return _write(_translated_here(work, together, output.has, saved), total, output, work)
    with ray_cluster(cluster.address, cluster.threads or 0) as connected:
        shards = cut(source, work.requests, work.window, cluster.shard_lines, saved, work.decide)
        total = sum(shard.lines for shard in shards)
        with open_output(must_stay) as output:
            windows_of_shards = translated_on_ray(connected, work, source, shards, cluster, output.has)
            return _write(windows_of_shards, total, output, work)


def _windows(
    work: LineWork, lines: Iterable[str], source: Path | None, one_by_one: bool, waits: Callable[[], bool] | None
) -> Iterator[list[LineRequest]]:
    """The lines that are translated together: each alone, or growing windows, so that the first soon appear."""
    requests = work.requests(lines)
    if one_by_one:
        yield from ([request] for request in requests)
        return
    # Whether the next line of a named pipe has come is not known: few are awaited at first.
    size = WindowSize(first=FIRST_WINDOW) if source and not source.is_file() else work.window
    for window in windows(requests, size, waits):
        work.decide(window)
        yield window


def _translated_here(
    work: LineWork, together: Iterable[list[LineRequest]], has: Callable[[list[str]], bool], saved: int
) -> Windows:
    """Windows, one of which ends behind the lines that are `saved`: those of another device, or of a pipe, differ."""
    first = 1
    for window in together:
        behind = max(0, saved + 1 - first)
        for part in filter(None, (window[:behind], window[behind:])):
            raw = [request.line for request in part]
            yield raw, None if has(raw) else partial(work.translate, part, first)
            first += len(part)


def _write(translated: Windows, total: int | None, output: LineOutput, work: LineWork) -> LinesResult:
    """Write what is translated, in order; report progress, warnings, and once what the options cost."""
    started, resumed, done, flagged, from_memory = time.monotonic(), 0, 0, 0, 0
    listener, price = work.listener, None
    for raw, translate in translated:
        if translate is None:
            done = resumed = done + len(raw)
            continue
        if done == resumed:  # nothing translated yet
            if resumed:
                listener.notice(f"continuing at line {done + 1:,}")
            listener.on_progress(Progress("translating", done, total, "lines"))
        if price is None and (price := work.price(done - resumed + len(raw))):
            listener.on_warning(price)
        window = translate()
        output.write(raw, window.text)
        for warning in window.warnings:
            listener.on_warning(warning)
        done, flagged, from_memory = done + len(raw), flagged + window.flagged, from_memory + window.from_memory
        if done != total:
            listener.on_progress(Progress("translating", done, total, "lines"))
    listener.on_progress(Progress("translating", done, done, "lines"))
    return LinesResult(done, resumed, flagged, from_memory, time.monotonic() - started)


def _identity(work: LineWork) -> dict[str, Any]:
    """What must be the same when an interrupted translation is continued, by the name it has in an error."""
    glossary = work.translators.glossary
    terms = glossary.concepts if isinstance(glossary, TermBase) else glossary.entries if glossary else ()
    return {
        "version of dragoman": __version__,
        "glossary": hashlib.sha256(repr(terms).encode()).hexdigest(),
        "target prefix": work.target_prefix,
        **({"memory": sha256(work.memory)} if work.memory else {}),
        "format": ["jsonl" if work.jsonl else "text", "json" if work.as_json else "text"],
        **{f"decode.{key}": value for key, value in work.translators.options.model_dump(mode="json").items()},
    }


def _models(translators: Translator | BundledTranslators | PivotTranslator) -> list[str]:
    if isinstance(translators, PivotTranslator):
        return [*_models(translators.first), *_models(translators.second)]
    if isinstance(translators, BundledTranslators):
        return [sha256(model.folder / "bundle.json") for model in bundled_models()]
    manifest = translators.bundle.manifest if translators.bundle else {}
    reverse = _models(translators.reverse) if translators.reverse else []
    return [*reverse, hashlib.sha256(json.dumps(manifest, sort_keys=True, default=str).encode()).hexdigest()]


def _on_gpu(translators: Translator | BundledTranslators | PivotTranslator) -> bool:
    return isinstance(translators, Translator) and str(getattr(translators.engine, "device", "")).startswith("cuda")
