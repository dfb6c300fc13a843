"""What one call asks for: options changed for it, and its glossary.

Input: the arguments of a call, as a user gave them. Output: a `DecodeConfig` and a `Glossary`, or a ConfigError that
names the argument.
"""

from collections.abc import Mapping
from typing import Any, get_args

from dragoman.config import DecodeConfig
from dragoman.config.file import build_section
from dragoman.config.sections.decode import DecodeOptions, Precision
from dragoman.engine import Engine
from dragoman.errors import ConfigError, check_type
from dragoman.text.terms.glossary import Glossary, GlossaryLike
from dragoman.text.terms.keep import check_keep

MAX_THREADS = 1024
# A call of more sentences has a notice of what it costs.
MANY = 100


class Request(DecodeOptions, total=False):
    """The arguments of a call besides its text, as `Translator.translate` describes them."""

    target: str | None
    source: str | None
    glossary: GlossaryLike | None
    target_prefix: str
    options: DecodeConfig | None


def change_options(options: DecodeConfig, changes: Mapping[str, Any]) -> DecodeConfig:
    """`options` with some keys changed (None: not changed); `n_best` alone widens the beam. Raises ConfigError."""
    named = {key: value for key, value in changes.items() if value is not None}
    if isinstance(n_best := named.get("n_best"), int) and "beam" not in named:
        named["beam"] = max(n_best, options.beam)
    are_new = any(value != getattr(options, key, ...) or type(value) is bool for key, value in named.items())
    return build_section(options, named, "decode") if are_new else options


def checked_request(
    options: DecodeConfig | None,
    usual: DecodeConfig,
    changes: Mapping[str, Any],
    target_prefix: str,
    glossary: Glossary | None,
) -> DecodeConfig:
    """The options of a call, `usual` ones unless it has others, changed. Raises ConfigError, also for the others."""
    check_options_type(options)
    check_type("target_prefix", target_prefix, str, "a str")
    if "precision" in changes:
        raise ConfigError("precision: belongs to a loaded model; give it to Translator.load")
    if "language_model" in changes:
        raise ConfigError("language_model: belongs to a translator; give it to Translator.load in options")
    if changes.get("keep"):
        check_keep(changes["keep"])
    if glossary and target_prefix:
        raise ConfigError("target_prefix and a glossary cannot be combined; leave one of them out")
    return change_options(options or usual, changes)


def price_of(engine: Engine, options: DecodeConfig, sentences: int) -> str | None:
    """What a call of many sentences costs where options make it far slower, in a line for a person; otherwise None."""
    price = getattr(engine, "price", None)
    return price(options) if price and sentences > MANY else None


def check_options_type(options: object) -> None:
    """Raises ConfigError, because a dict given by mistake would fail later without a reason."""
    check_type("options", options, DecodeConfig | None, "DecodeConfig(beam=8), for example")


def check_engine_request(engine: str | Engine, device: str, precision: str, threads: object) -> str | Engine:
    """The engine for a precision: one other than `auto` selects torch, because an export has its own.

    Raises ConfigError for an unknown precision, for one that the engine has not, and for a wrong number of threads.
    """
    if not isinstance(engine, str) and hasattr(engine, "translate"):
        return engine
    check_type("engine", engine, str, "its name, such as auto or ct2-int8")
    check_type("device", device, str, "its name, such as auto, cpu or cuda:1")
    if precision not in get_args(Precision):
        raise ConfigError(f"precision {precision!r}: choose one of: {', '.join(get_args(Precision))}")
    is_count = isinstance(threads, int) and not isinstance(threads, bool) and 0 < threads <= MAX_THREADS
    if threads is not None and not is_count:
        raise ConfigError(f"threads: {threads!r} is not between 1 and {MAX_THREADS:,}; leave it out for all")
    if precision != "auto" and engine not in ("auto", "torch"):
        raise ConfigError(f"precision {precision!r}: {engine} has its own; use engine torch, or leave it out")
    return engine if precision == "auto" else "torch"


def merge_glossaries(glossary: GlossaryLike | None, below: Glossary | None) -> Glossary | None:
    """The glossary or mapping, with priority over the one `below`. Raises ConfigError, DataError."""
    if isinstance(glossary, Mapping):
        glossary = Glossary.of(glossary)
    check_type("glossary", glossary, Glossary | None, "a dict of terms, Glossary.of({…}) or Glossary.read(path)")
    return glossary.over(below) if glossary and below else glossary or below
