"""A worker process: engines of models, and what the service asks of them, one call at a time. No torch, no HTTP.

Input and output are the standard ones, a pickled `Order` after the other and its answer: the service starts the
process and is the only one that can write to it. The process ends when its input does, so that none is left when the
service dies in whatever way. Signals of the terminal and of service managers, which go to all processes of a service,
are not for it: it has to finish what was accepted.
"""

import hashlib
import json
import os
import pickle
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from dragoman.errors import DragomanError, ModelError

What = Literal["load", "translate", "score", "attention"]
# What libraries say when memory is missing, as errors of no class of their own.
NO_MEMORY = ("bad_alloc", "bad alloc", "out of memory", "failed to allocate", "cannot allocate")


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A model as it is now in its folder: `digest` is that of its manifest, which has those of all files."""

    folder: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Order:
    """A call of an engine's method; the `forgotten` versions are no longer needed."""

    what: What
    version: ModelVersion
    arguments: tuple[Any, ...] = ()
    forgotten: frozenset[ModelVersion] = frozenset()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the method returned, or else the name of the error's class in `dragoman.errors` and its message.

    The result of `load` is the tokens that the engine searches together; None: any number.
    """

    result: Any = None
    error: str = ""
    message: str = ""


def digest_of(manifest: Mapping[str, Any]) -> str:
    """The SHA-256 of a manifest."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def main(threads: int) -> None:
    """Answer until the input ends, with engines of this number of threads."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    with os.fdopen(os.dup(0), "rb") as orders, os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what a library prints is no answer
        work(orders, answers, threads)


def work(orders: BinaryIO, answers: BinaryIO, threads: int) -> None:
    """Answer each order; returns at the end of the input, or when nobody reads the answers."""
    engines: dict[ModelVersion, Any] = {}
    try:
        while True:
            order: Order = pickle.load(orders)
            for version in order.forgotten:
                engines.pop(version, None)
            pickle.dump(_answer(order, engines, threads), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()
    except (EOFError, OSError):
        return


def _answer(order: Order, engines: dict[ModelVersion, Any], threads: int) -> Answer:
    try:
        if order.version not in engines:
            engines[order.version] = _load(order.version, threads)
        if order.what == "load":
            return Answer(getattr(engines[order.version], "batch_tokens", None))
        return Answer(getattr(engines[order.version], order.what)(*order.arguments))
    except DragomanError as error:
        return Answer(error=type(error).__name__, message=str(error))
    except Exception as error:
        if isinstance(error, MemoryError) or any(sign in str(error).casefold() for sign in NO_MEMORY):
            return Answer(error="ResourceError", message="it does not fit into memory; send a shorter text")
        return Answer(error=type(error).__name__)  # its message may quote a text


def _load(version: ModelVersion, threads: int) -> Any:
    from dragoman.bundle import read_manifest
    from dragoman.installed.opening import open_model
    from dragoman.translator import Translator

    bundle = open_model(version.folder)
    engine = Translator.of_bundle(bundle, threads=threads).engine
    if not digest_of(bundle.manifest) == digest_of(read_manifest(version.folder)) == version.digest:
        raise ModelError(f"{version.folder}: the model was replaced meanwhile; ask again")
    return engine
