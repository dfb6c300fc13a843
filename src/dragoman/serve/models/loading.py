"""A served model: what its folder says about it, its translator while it is loaded, and the memory that this takes.

Models are loaded when they are first used, within a memory limit: the least recently used one that no request uses is
unloaded for another. A request keeps the translator that it began with, whatever becomes of the model meanwhile.
"""

import gc
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakSet

from dragoman.bundle import read_manifest
from dragoman.bundled import opposite_of
from dragoman.config.file import read_run_config
from dragoman.config.sections.project import pair_name
from dragoman.errors import ResourceError
from dragoman.installed.opening import open_model
from dragoman.serve.requests.ticket import QueueFull
from dragoman.system.parsing import parse_json
from dragoman.translator import Translator


@dataclass(frozen=True, slots=True)
class ServedPair:
    """A source and a target language (BCP-47) of a model."""

    source: str
    target: str

    @property
    def name(self) -> str:
        """`ko-en`, or `pt-BR:en` for longer tags."""
        return pair_name(self.source, self.target)


class _Use:
    """A request uses a translator as long as this is referred to."""


@dataclass(eq=False)
class ServedModel:
    """A version of a model in a folder, and its translator while it is loaded."""

    name: str
    folder: Path
    pairs: tuple[ServedPair, ...]
    license: str
    digest: str = ""
    translator: Translator | None = None
    used: float = 0.0
    """When a request last began with it."""
    uses: WeakSet[_Use] = field(default_factory=WeakSet)

    @property
    def loaded(self) -> bool:
        """Whether it can translate at once."""
        return self.translator is not None

    @property
    def bytes(self) -> int:
        """Bytes of its networks on disk, which is about what they take in memory."""
        opposite = opposite_of(self.folder)
        return sum(map(_bytes_of, [self.folder, *([opposite] if opposite else [])]))


def _bytes_of(folder: Path) -> int:
    export = next(iter(sorted(folder.glob("ct2-*"))), None)
    files = export.iterdir() if export else folder.glob("*.safetensors")
    return sum(file.stat().st_size for file in files if file.is_file())


def describe(folder: Path) -> ServedModel:
    """What the files of a model say about it; they are verified when it is loaded. Raises ModelError, ConfigError."""
    manifest, config = read_manifest(folder), read_run_config(folder)
    pairs = tuple(ServedPair(pair.source, pair.target) for pair in config.project.all_pairs)
    name = folder.name or str(manifest["name"])
    return ServedModel(name, folder, pairs, config.project.license, digest_of(manifest))


def digest_of(manifest: Mapping[str, Any]) -> str:
    """The SHA-256 of a manifest, which has those of all files of its model."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def golden_source(folder: Path) -> str:
    """A sentence that the model in a folder translates."""
    path = folder / "golden.jsonl"
    line = path.read_text(encoding="utf-8").partition("\n")[0] if path.exists() else ""
    return str(parse_json(line)["source"]) if line else "1"


class Loader:
    """Loads models, whose engines have `threads` threads, and unloads them.

    `limit` is in bytes, of all networks. `on_event` receives a model's name and what became of it.
    """

    def __init__(self, threads: int | None = None, exact: bool = False, limit: int | None = None) -> None:
        self.threads, self.exact, self.limit = threads, exact, limit
        self.on_event: Callable[[str, str], None] = lambda name, event: None
        self._lock = threading.Lock()

    def translator(self, model: ServedModel, others: Iterable[ServedModel]) -> Translator:
        """The translator of a model for one request; it is loaded now if it is not yet, the `others` give way.

        Blocks. Raises ModelError, ResourceError, and QueueFull if those that are loaded are all in use.
        """
        while True:
            use = _Use()
            model.uses.add(use)
            model.used = time.monotonic()
            if loaded := model.translator:
                translator = copy(loaded)
                vars(translator)["use"] = use  # as long as there is this translator
                return translator
            with self._lock:
                if model.translator is None:
                    self._give_way(model, [other for other in others if other is not model])
                    model.translator = self.load(model)

    def load(self, model: ServedModel) -> Translator:
        """A translator of the model as its folder has it now. Raises ModelError, ResourceError."""
        bundle = open_model(model.folder)
        translator = Translator.of_bundle(bundle, threads=self.threads)
        if opposite := opposite_of(model.folder):
            translator = translator.with_reverse(Translator.load(opposite, threads=self.threads))
        if alone := getattr(translator.engine, "one_thread_a_call", None):
            translator.engine = alone()
        translator.options = translator.options.model_copy(update={"exact": self.exact or translator.options.exact})
        model.digest = digest_of(bundle.manifest)
        self.on_event(model.name, "loaded")
        return translator

    def _give_way(self, model: ServedModel, others: list[ServedModel]) -> None:
        """Unload others until the model fits. Raises ResourceError, QueueFull."""
        if self.limit is None:
            return
        needed = model.bytes
        if needed > self.limit:
            raise ResourceError(f"{model.name}: needs {needed:,} bytes, more than --memory-limit; raise that")
        loaded = sorted((other for other in others if other.loaded), key=lambda other: other.used)
        while loaded and needed + sum(other.bytes for other in loaded) > self.limit:
            idle = next((other for other in loaded if not other.uses), None)
            if idle is None:
                collect()  # an error's traceback may still refer to a request's translator
                idle = next((other for other in loaded if not other.uses), None)
            if idle is None:
                raise QueueFull("the models that fit into memory are all in use; try again later", 5)
            idle.translator = None
            loaded.remove(idle)
            self.on_event(idle.name, "unloaded")


def collect() -> None:
    """Free what nobody refers to any more, also of what the service has left out of garbage collection."""
    left_out = gc.get_freeze_count()
    gc.unfreeze()
    gc.collect()
    if left_out:
        gc.freeze()
