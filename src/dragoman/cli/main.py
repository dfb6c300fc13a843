"""The `dragoman` command: the only place where an exception becomes a message and an exit code."""

import io
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import Any

import typer

from dragoman.cli.shared.arguments import app
from dragoman.cli.shared.console import as_called
from dragoman.cli.verbs import (  # noqa: F401 - they register themselves
    compare,
    config,
    data,
    demo,
    distill,
    doctor,
    documents,
    evaluate,
    export,
    import_model,
    improve,
    init,
    keys,
    look,
    memory,
    serve,
    train,
    translate,
)
from dragoman.cli.verbs.model import bundle, installed  # noqa: F401
from dragoman.errors import ConfigError, DragomanError, Interrupted, ModelError, ResourceError
from dragoman.system.parsing import plain_cause

# What torch, which is not loaded here, raises when memory runs out.
OUT_OF_MEMORY = ("OutOfMemoryError", "can't allocate memory", "annot allocate memory", "failed to map segment")
# The modules of the errors of torch.compile.
COMPILER = ("torch._dynamo.", "torch._inductor.")
# A name of more characters is cut in a message.
LONGEST_NAME = 1000
# Errors that every process of torchrun finds: the first process of each machine prints them.
SHARED = (ConfigError, ModelError, Interrupted, KeyboardInterrupt)
# Options whose value is the name of a file or a folder.
NAMES = ("-m", "--model", "-i", "--input", "-o", "--output", "--base")
# Modules that a base install lacks, and the extra that brings them.
EXTRAS = dict.fromkeys(("torch", "safetensors", "numpy", "jaxtyping"), "train") | dict.fromkeys(
    ("ray", "grpc", "grpc_reflection"), "ray"
)
EXTRAS |= dict.fromkeys(
    ("fastapi", "starlette", "uvicorn", "prometheus_client", "python_multipart", "multipart", "sqlalchemy", "argon2"),
    "serve",
)
EXTRAS["opentelemetry"] = "otel"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code, see `dragoman.errors`."""
    os.environ.setdefault("CT2_VERBOSE", "-1")  # CTranslate2's warnings, with thread ids, are not for users
    words = sys.argv[1:] if arguments is None else arguments
    words, debug = _without_debug([_as_utf8(word) for word in words])
    _use_utf8()
    try:
        _check_working_folder()
        _refuse_empty_names(words)
        # Not typer's own runner, which swallows Ctrl-C and treats a closed pipe as a failure.
        command = _command()
        with command.make_context("dragoman", words) as context:
            command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as ended:
        return ended.exit_code
    except BrokenPipeError:  # the reader of stdout ended, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (Exception, KeyboardInterrupt) as error:
        message, code = _message_of(error)
        with suppress(OSError):  # nobody reads any more, as after the hang-up that stopped a training
            if debug:
                traceback.print_exception(error)
            if not (isinstance(error, SHARED) and os.environ.get("LOCAL_RANK", "0") != "0"):
                print(message, file=sys.stderr)
        return code
    return 0


@cache
def _command() -> Any:
    """All verbs; made once, where one process runs several."""
    return typer.main.get_command(app)


def _as_utf8(argument: str) -> str:
    """An argument that an ASCII locale could not decode, as the UTF-8 that it is; others unchanged."""
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeError:
        return argument


def _check_working_folder() -> None:
    """Raise DragomanError in a folder that was deleted, where libraries that load themselves abort the process."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise DragomanError("the working folder was deleted; change to another folder and try again") from None


def _refuse_empty_names(words: Sequence[str]) -> None:
    """Raise ConfigError for `-m ""`, an unset variable as a rule: an empty path would be the current folder."""
    end = list(words).index("--") if "--" in words else len(words)
    for flag, value in pairwise(words[:end]):
        if flag in NAMES and not value:
            raise ConfigError(f"{flag}: the name is empty; give one, or leave the option out")


def _without_debug(arguments: list[str]) -> tuple[list[str], bool]:
    """The arguments without `--debug`, which may be anywhere before a `--`, and whether it was there."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = [argument for argument in arguments[:end] if argument != "--debug"]
    return options + arguments[end:], len(options) < end


def _use_utf8() -> None:
    """Make all streams UTF-8; an unpaired surrogate, as in a file name, is written as an escape."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _message_of(error: BaseException) -> tuple[str, int]:
    """The message for an error, and the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":  # a group without a verb: the message is its help
        return str(getattr(error, "message", error)), ConfigError.exit_code
    message, code = _line_for(error)
    return f"dragoman: {as_called(_printable(' '.join(message.split())))}", code


def _printable(message: str) -> str:
    """A message without characters that could change the terminal, and without names of thousands of letters."""
    safe = "".join(sign if sign.isprintable() or "\ud800" <= sign <= "\udfff" else repr(sign)[1:-1] for sign in message)
    return re.sub(rf"\S{{{LONGEST_NAME},}}", lambda name: f"{name[0][:80]}…{name[0][-80:]}", safe)


def _line_for(error: BaseException) -> tuple[str, int]:
    if isinstance(error, DragomanError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "interrupted", Interrupted.exit_code
    if isinstance(error, MemoryError) or any(sign in f"{type(error).__name__}: {error}" for sign in OUT_OF_MEMORY):
        return (
            "out of memory; choose a smaller model, or lower batch_tokens in [train] or [decode]",
            ResourceError.exit_code,
        )
    if type(error).__module__.startswith(COMPILER):
        cause = str(error).strip().partition("\n")[0]
        remedy = "install what PyTorch's compiler lacks, or leave the key out"
        return f"train.compile: {cause}; {remedy}", ConfigError.exit_code
    if isinstance(error, UnicodeEncodeError) and error.encoding in (sys.getfilesystemencoding(), "ascii"):
        name = error.object[error.start : error.end]
        if error.encoding == "utf-8":
            return f"{name!r}: not UTF-8; rename the file, or convert the text with iconv", ConfigError.exit_code
        return f"{name}: cannot be a name in this locale; set LC_ALL=C.UTF-8, or PYTHONUTF8=1", ConfigError.exit_code
    if isinstance(error, ModuleNotFoundError) and (package := (error.name or "").split(".")[0]) in EXTRAS:
        return f'{package} is not installed; `pip install "dragoman[{EXTRAS[package]}]"`', DragomanError.exit_code
    if isinstance(error, OSError) and error.strerror:  # failed downloads have no strerror
        remedy = "; let this user read and write it, or choose another" if isinstance(error, PermissionError) else ""
        return f"{error.filename or 'stdout'}: {error.strerror}{remedy}", DragomanError.exit_code
    if hasattr(error, "format_message"):  # typer's own errors about arguments
        path = str(getattr(getattr(error, "ctx", None), "command_path", ""))  # begins with that of the program
        command = " ".join(["dragoman", *path.split()[1:]])
        return f"{_argument_fault(error.format_message()).rstrip('.')}; see `{command} --help`", ConfigError.exit_code
    return f"internal error: {type(error).__name__}: {error}; run again with --debug and report it", 1


def _argument_fault(message: str) -> str:
    """What is wrong with the arguments, and what may help."""
    message = plain_cause(message.replace("Value error, ", "")).replace("': input should", "': should", 1)
    if re.match(r"No such option: -\d", message):
        return f"{message.rstrip('.')}; text that begins with a dash goes after --"
    return message


if __name__ == "__main__":
    raise SystemExit(main())
