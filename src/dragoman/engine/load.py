"""Which engine runs a bundle: the fast one if the bundle has an export for it, otherwise the reference."""

from collections.abc import Callable
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.config.sections.decode import Precision
from dragoman.engine import Engine, Ids
from dragoman.engine.kinds import load_language_model, require_kind
from dragoman.engine.resources import cached_numbers
from dragoman.errors import ConfigError, ModelError

ENGINES = "auto, torch, ctranslate2, or the name of one export, such as ct2-int8"


def load_engine(
    bundle: Bundle,
    *others: Bundle,
    engine: str | Engine = "auto",
    device: str = "auto",
    precision: Precision = "auto",
    threads: int | None = None,
    shortlist: Callable[[Ids], Ids] | None = None,
    language_model: Path | None = None,
) -> Engine:
    """The engine called `engine` with the bundle's network on `device`; `auto` is the fastest that the bundle has.

    `precision` is that of the torch engine, `threads` that of either. `shortlist` returns the candidate target ids of a
    source; an export has a copy of it. With `others` the networks form an ensemble, which needs the torch engine.
    `language_model` is the folder of one for shallow fusion, which only the torch engine has. Raises ConfigError for an
    unknown name, ModelError if the bundle has no such export, or other vocabularies than the
    others. An engine that has the network already is returned as it is.
    """
    if not isinstance(engine, str):
        return engine
    for member in (bundle, *others):
        require_kind(member, language_model=False)
    exports = {folder.name: folder for folder in bundle.exports}
    if engine in ("auto", "ctranslate2") and exports and not others:
        engine = next(iter(exports))
    if engine in exports and not others:
        from dragoman.engine.ctranslate2 import CTranslate2Engine

        ct2_device = "cpu" if device == "mps" else device
        cached = cached_numbers(bundle.config.model)
        return CTranslate2Engine(exports[engine], bundle.tokenizer, ct2_device, threads, cached, shortlist)
    if engine.startswith(("ctranslate2", "ct2-")):
        if others:
            raise ConfigError(f"engine {engine}: an ensemble needs the torch engine; leave --engine out")
        kind = engine.removeprefix("ct2-")
        quantization = "" if kind in ("ctranslate2", "int8") else f" -q {kind}"
        makes = f"`dragoman export -m {bundle.folder}{quantization}` makes one"
        remedy = makes if bundle.has_weights else "leave --engine out"
        raise ModelError(f"{bundle.folder}: no export for {engine} (it has {', '.join(exports) or 'none'}); {remedy}")
    if engine not in ("auto", "torch"):
        raise ConfigError(f"engine {engine!r}: choose one of: {ENGINES}")
    for other in others:
        _refuse_in_ensemble(other, bundle)
    for other in others:
        if _vocabularies(other) != _vocabularies(bundle):
            raise ModelError(
                f"{other.folder}: its vocabulary is not that of {bundle.folder}; the models of an ensemble share theirs"
            )
    networks = [member.load_model() for member in (bundle, *others)]
    from dragoman.engine.torch import TorchEngine
    from dragoman.model.parts.device import pick_device

    return TorchEngine(
        networks,
        pick_device(device),
        precision=precision,
        threads=threads,
        shortlist=shortlist,
        language_model=load_language_model(language_model, bundle),
    )


def _refuse_in_ensemble(other: Bundle, first: Bundle) -> None:
    """Raise ModelError unless `other` can be one of an ensemble with `first`."""
    names, expected = ([pair.name for pair in bundle.config.project.all_pairs] for bundle in (other, first))
    if names != expected:
        raise ModelError(
            f"{other.folder}: translates {', '.join(names)}, and {first.folder} {', '.join(expected)}; the models of "
            "an ensemble translate the same languages"
        )
    for bundle in (first, other):
        if not bundle.has_weights:
            raise ModelError(
                f"{bundle.folder}: has exports alone, and an ensemble needs the weights of each model; give -m once, "
                "or models with weights"
            )


def _vocabularies(bundle: Bundle) -> tuple[bytes, bytes]:
    return bundle.tokenizer.source.serialized, bundle.tokenizer.target.serialized
