"""Translators for the command line: the engine that was asked for, and the keys of [decode] that were given."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.bundled import opposite_of
from dragoman.cli.shared.console import program, quoted, say
from dragoman.config.file import parse_override
from dragoman.control.search.request import change_options
from dragoman.control.search.reverse import plain_engine
from dragoman.errors import ConfigError
from dragoman.installed.opening import open_models
from dragoman.shortlist.file import Shortlist
from dragoman.system.processes import retain_freed_memory
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.tbx import TermBase
from dragoman.translator import Translator


@dataclass(frozen=True)
class EngineChoice:
    """What --engine, --device, --precision, --threads and --base ask for."""

    engine: str = "auto"
    device: str = "auto"
    precision: str = "auto"
    threads: int | None = None
    base: Path | None = None
    """The base model of an adapter."""
    reverse: Path | None = None
    """The model of the other direction that helps to choose; a bundled model has one without being asked."""


def changes(options: Sequence[str] | None, **flags: Any) -> dict[str, Any]:
    """The keys of [decode] that the command line gives, as flags and as KEY=VALUE. Raises ConfigError."""
    keys = {key: value for key, value in flags.items() if value is not None}
    for option in options or ():
        if "=" not in option:
            raise ConfigError(f"-O {option}: not an option of the search; write KEY=VALUE, e.g. -O beam=8")
        key, value = parse_override(option)
        key = key.removeprefix("decode.")
        if key in keys and keys[key] != value:
            raise ConfigError(f"decode.{key}: is given twice, as {keys[key]} and as {value}; give it once")
        keys[key] = value
    return keys


def load_translator(
    models: Path | Sequence[Path],
    choice: EngineChoice,
    changes: Mapping[str, Any],
    glossary: Glossary | TermBase | None = None,
) -> Translator:
    """The translator of a model, or of an ensemble of several, with changed keys of the first one's [decode]."""
    bundle, *others = open_models([models] if isinstance(models, Path) else models, choice.base)
    options = change_options(bundle.config.decode, changes)
    if isinstance(glossary, TermBase):
        glossary = glossary.glossary(bundle.config.project.source, bundle.config.project.target)
    keys: Any = {  # a precision is checked by whom it is for
        "engine": choice.engine,
        "device": choice.device,
        "precision": choice.precision,
        "threads": choice.threads,
    }
    translator = Translator.of_bundle(bundle, *others, **keys, options=options, glossary=glossary)
    reverse = choice.reverse or (None if others else opposite_of(bundle.folder))
    if choice.reverse and (options.method != "beam" or options.beam == 1):
        raise ConfigError(
            "--reverse: chooses among the hypotheses of a beam; leave it out, or search with a wider beam"
        )
    if reverse:
        translator = translator.with_reverse(Translator.load(reverse, **keys))
    if options.shortlist and not Shortlist.of_bundle(bundle):
        learn = f"`{program()} model shortlist -m {quoted(bundle.folder)}` learns one"
        say(f"dragoman: decode.shortlist: has no effect, because the model has no shortlist; {learn}")
    if torch := sys.modules.get("torch"):  # the torch engine: logits are megabytes, freed and allocated at every step
        retain_freed_memory(torch.get_num_threads())
        from dragoman.engine.torch import TorchEngine
        from dragoman.model.parts.device import emulation_notice

        used = plain_engine(translator.engine)
        rounded = used.device if isinstance(used, TorchEngine) and used.precision == "bfloat16" else None
        if rounded and (notice := emulation_notice(rounded, "decode.precision")):
            say(f"dragoman: {notice}")
    return translator
