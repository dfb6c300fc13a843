"""Which engine runs a bundle: the fast one where the bundle was exported for it, else the reference."""

from collections.abc import Callable

from dragoman.bundle import Bundle
from dragoman.engine import Engine, Ids
from dragoman.errors import ConfigError, ModelError

ENGINES = "auto, torch, ctranslate2, or one export by its name, as ct2-int8"


def load_engine(
    bundle: Bundle,
    *others: Bundle,
    engine: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    shortlist: Callable[[Ids], Ids] | None = None,
) -> Engine:
    """The engine called `engine` with the bundle's network on `device`; `auto` is the fastest that the bundle has.

    `shortlist` names the target ids worth considering for a source; an export has its own.
    With `others` the probabilities of all networks are averaged, which the torch engine can. Raises ConfigError for a
    name that is none, ModelError if the bundle has nothing for it or shares no pieces with the others.
    """
    exports = {folder.name: folder for folder in bundle.exports}
    if engine in ("auto", "ctranslate2") and exports and not others:
        engine = next(iter(exports))
    if engine in exports and not others:
        from dragoman.engine.ctranslate2 import CTranslate2Engine

        return CTranslate2Engine(exports[engine], bundle.tokenizer, "cpu" if device == "mps" else device, threads)
    if engine.startswith(("ctranslate2", "ct2-")):
        if others:
            raise ConfigError(f"engine {engine}: averages no models; leave --engine out, the torch engine does")
        remedy = f"`dragoman export {bundle.folder}` makes one"
        raise ModelError(f"{bundle.folder}: no export for {engine} (it has {', '.join(exports) or 'none'}); {remedy}")
    if engine not in ("auto", "torch"):
        raise ConfigError(f"engine {engine!r}: there is {ENGINES}")
    for other in others:
        if _pieces(other) != _pieces(bundle):
            raise ModelError(
                f"{other.folder}: its pieces are not those of {bundle.folder}; models that are averaged share them"
            )
    networks = [one.load_model() for one in (bundle, *others)]
    from dragoman.engine.torch import TorchEngine
    from dragoman.model.device import pick_device

    return TorchEngine(networks, pick_device(device), shortlist=shortlist)


def _pieces(bundle: Bundle) -> tuple[bytes, bytes]:
    return bundle.tokenizer.source.serialized, bundle.tokenizer.target.serialized
