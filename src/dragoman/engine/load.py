"""Which engine runs a bundle: the fast one where the bundle was exported for it, else the reference."""

from dragoman.bundle import Bundle
from dragoman.engine import Engine
from dragoman.errors import ConfigError, ModelError

ENGINES = "auto, torch, ctranslate2, or one export by its name, as ct2-int8"


def load_engine(bundle: Bundle, engine: str = "auto", device: str = "auto", threads: int | None = None) -> Engine:
    """The engine called `engine` with the bundle's network on `device`; `auto` is the fastest that the bundle has.

    Raises ConfigError for a name that is none, ModelError if the bundle has nothing for it.
    """
    exports = {folder.name: folder for folder in bundle.exports}
    if engine in ("auto", "ctranslate2") and exports:
        engine = next(iter(exports))
    if engine in exports:
        from dragoman.engine.ctranslate2 import CTranslate2Engine

        return CTranslate2Engine(exports[engine], bundle.tokenizer, "cpu" if device == "mps" else device, threads)
    if engine.startswith(("ctranslate2", "ct2-")):
        remedy = f"`dragoman export {bundle.folder}` makes one"
        raise ModelError(f"{bundle.folder}: no export for {engine} (it has {', '.join(exports) or 'none'}); {remedy}")
    if engine not in ("auto", "torch"):
        raise ConfigError(f"engine {engine!r}: there is {ENGINES}")
    network = bundle.load_model()
    from dragoman.engine.torch import TorchEngine
    from dragoman.model.device import pick_device

    return TorchEngine(network, pick_device(device))
