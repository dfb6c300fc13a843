"""What the verbs share: the application, the types of their arguments, and how KEY=VALUE is recognised.

In every verb `-m` is a model, `-o` an output, and KEY=VALUE after the other arguments sets a key of the configuration.
"""

import difflib
import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from dragoman.errors import ConfigError
from dragoman.version import __version__

# The verbs by what they are for, in the order of a project.
VERBS = {
    "Begin": ("demo", "doctor", "init", "import", "config"),
    "Train": ("data", "train", "distill", "improve"),
    "Use a model": ("translate", "documents", "memory", "evaluate", "compare", "look", "export", "model"),
    "Serve": ("serve", "keys"),
}


class Verbs(TyperGroup):
    """The verbs of `dragoman --help`, in groups."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, names in VERBS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(64)) for name in names])


app = typer.Typer(
    name="dragoman",
    cls=Verbs,
    help="Turn two files of parallel text into a Transformer translation system of your own.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
Options = TypeVar("Options")


def verb_of(options: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Make a verb of a function that receives all its arguments as one dataclass: the fields are the arguments."""

    def decorate(run: Callable[[Options], None]) -> Callable[..., None]:
        @wraps(run)
        def verb(**values: Any) -> None:
            run(options(**values))

        verb.__signature__ = inspect.signature(options)  # type: ignore[attr-defined]  # which typer reads
        return verb

    return decorate


def bytes_of(option: str, text: str) -> int:
    """The bytes that a size such as 500M or 1.5G is. Raises ConfigError that names the option."""
    size = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not size:
        raise ConfigError(f"{option} {text!r:.40}: not a size; write 500M or 2G")
    return int(float(size[1]) * 1024 ** " KMGT".index(size[2].upper() or " "))


MODEL_HELP = "Folder of a model, or a name that `dragoman model list` shows."

Config = Annotated[Path, typer.Argument(help="Configuration of the run, as `dragoman init` writes it.")]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="Override configuration keys, e.g. train.max_steps=1000; `dragoman config` lists them.",
        metavar="KEY=VALUE",
    ),
]
Model = Annotated[Path, typer.Option("--model", "-m", help=MODEL_HELP)]
OptionalModel = Annotated[Path | None, typer.Option("--model", "-m", help=MODEL_HELP)]
Base = Annotated[
    Path | None, typer.Option("--base", help="Folder of the base model of an adapter, if it is not where it was.")
]
Reverse = Annotated[
    Path | None,
    typer.Option(
        help="A model of the other direction: from which translation is the source likely, too?", metavar="MODEL"
    ),
]
SearchKeys = Annotated[
    list[str] | None,
    typer.Option("--option", "-O", metavar="KEY=VALUE", help="A key of [decode], the same as decode.KEY=VALUE."),
]
Penalty = Annotated[float | None, typer.Option(min=0.0, max=10.0, help="α of the length penalty.")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON to stdout, for programs.")]
Beam = Annotated[int | None, typer.Option(min=1, help="Beam size; 1 is greedy search.")]
Engine = Annotated[str, typer.Option(help="auto, torch, ctranslate2, or the name of an export, e.g. ct2-int8.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 or mps.")]
Precision = Annotated[str, typer.Option(help="Arithmetic of the torch engine: auto, float32 or bfloat16.")]
Threads = Annotated[int | None, typer.Option(min=1, help="CPU threads; all unless given.")]

RayAddress = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="With --ray: the cluster; one of this machine alone unless given."),
]

To = Annotated[str | None, typer.Option("--to", help="Target language, for a model of several pairs, e.g. ko.")]
From = Annotated[str | None, typer.Option("--from", help="Source language, where --to leaves several, e.g. en.")]

State = Annotated[
    Path | None,
    typer.Option(help="Folder in which the service keeps its keys and files; $DRAGOMAN_HOME/serve unless given."),
]
Database = Annotated[
    str | None, typer.Option(metavar="URL", help="A PostgreSQL server, postgresql://…, instead of a file in --state.")
]
Memory = Annotated[Path | None, typer.Option(help="Translation memory, asked first: .db, .tmx, .tsv, .po or .xliff.")]
Source = Annotated[Path, typer.Argument(help="Source sentences (or one .tsv or .jsonl file of both sides).")]

GLOSSARY_HELP = "Terms and their translations: .tsv, or .tbx."

# A dotted key: a path or a sentence does not look like this.
KEY = re.compile(r"[a-z_]+(?:\.[a-z_0-9]+)+=")


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback with an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", "-V", help="Print the version.", is_eager=True, callback=lambda v: _version(v)),
    ] = False,
) -> None:
    """`debug` is here for the help only: `main` removes it before anything is parsed."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dragoman {__version__}")
        raise typer.Exit


def split_keys(arguments: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """The arguments that are no keys, and those of the form `section.key=value`."""
    texts = [argument for argument in arguments or () if not KEY.match(argument)]
    return texts, [argument for argument in arguments or () if KEY.match(argument)]


def search_keys(arguments: Sequence[str] | None, most: int, names: str) -> tuple[list[Path], list[str]]:
    """Up to `most` paths, and keys of [decode]. Raises ConfigError for more paths and for keys of other sections."""
    paths, keys = split_keys(arguments)
    if len(paths) > most:
        raise ConfigError(f"{paths[most]}: too many arguments; give {names} and then keys, e.g. decode.beam=8")
    return [Path(path) for path in paths], decode_keys(keys)


def decode_keys(keys: Sequence[str]) -> list[str]:
    """The keys, all of [decode]. Raises ConfigError for those of other sections."""
    for key in keys:
        if not key.startswith("decode."):
            raise ConfigError(f"{key}: has no effect here; only keys of [decode] do, e.g. decode.beam=8")
    return list(keys)


def refuse_mistyped(arguments: Sequence[str]) -> None:
    """Raise ConfigError for an argument of the form of a key that is none of [decode], and names no file either."""
    for argument in arguments:
        if KEY.match(argument) and not argument.startswith("decode.") and not os.path.exists(argument):
            from dragoman.config import DecodeConfig

            key = argument.partition("=")[0]
            close = difflib.get_close_matches(key, [f"decode.{name}" for name in DecodeConfig.model_fields], n=1)
            hint = f"; did you mean {close[0]}?" if close else ", e.g. decode.beam=8"
            raise ConfigError(f"{argument:.80}: no key of [decode]{hint} If it is a sentence, give --text")


def refuse_useless(options: Mapping[str, object], what: str) -> None:
    """Raise ConfigError for an option that is given and has no effect on `what` is translated."""
    for name, value in options.items():
        if value:
            raise ConfigError(f"--{name}: has no effect on {what}; leave it out")


def model_first(model: Path | None, arguments: Sequence[str] | None) -> tuple[Path, list[str]]:
    """The model of -m, or else the first argument, and the other arguments. Raises ConfigError if there is none."""
    rest = list(arguments or ())
    if model is not None:
        return model, rest
    if not rest:
        raise ConfigError("no model; give one with -m MODEL; see `dragoman --help`")
    return Path(rest[0]), rest[1:]


def only_model(model: Path | None, arguments: Sequence[str] | None, name: str = "model") -> Path:
    """The model of -m or of the only argument. Raises ConfigError for more, and if there is none."""
    folder, rest = model_first(model, arguments)
    if rest:
        raise ConfigError(f"{rest[0]}: too many arguments; give one {name}")
    return folder
