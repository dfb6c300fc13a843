"""`dragoman distill`: train a student on a teacher's translations, show the progress, print the next commands."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shared.arguments import KEY, Json, OptionalModel, app, model_first
from dragoman.errors import ConfigError, Interrupted


@app.command()
def distill(
    arguments: Annotated[
        list[str],
        typer.Argument(help="Configuration of the student's run, then keys.", metavar="CONFIG KEY=VALUE"),
    ],
    teacher: OptionalModel = None,
    preset: Annotated[str | None, typer.Option(help="Shape of the student, the same as model.preset=.")] = None,
    keep_original: Annotated[
        bool, typer.Option("--keep-original", help="Train on the human reference translations too.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue where the work stopped.")] = False,
    as_json: Json = False,
) -> None:
    """Train a small model on the translations of a large one.

    The teacher, -m, translates the training text; the student learns from that and is tested on the human references.
    """
    from dragoman.cli.shared.console import quoted
    from dragoman.cli.shared.progress import Display
    from dragoman.cli.shared.runs import print_result, read_resumable, resume_command, say_next
    from dragoman.config.file import read_config
    from dragoman.workflows.train.distil import distill as run

    if teacher is None and len(arguments) > 1 and KEY.match(arguments[1]):
        raise ConfigError("distill: no teacher; give one with -m TEACHER")
    model, rest = model_first(teacher, arguments)
    if not rest:
        raise ConfigError("distill: needs a teacher and a configuration; give -m TEACHER CONFIG")
    path, overrides = rest[0], [*rest[1:], *([f"model.preset={preset}"] if preset else [])]
    config, keys, all_overrides = read_resumable(Path(path), overrides, resume, read_config)
    references = ["--keep-original"] if keep_original else []
    command = resume_command("distill", ["-m", str(model), path, *references], all_overrides)
    with Display() as display:
        try:
            result = run(
                model,
                config,
                keep_original=keep_original,
                resume=resume,
                listeners=[display],
                user_keys=keys,
                where=str(Path(path)),
                overrides=all_overrides,
            )
        except Interrupted as stopped:
            raise Interrupted(str(stopped).replace("with --resume", f"with: {command}")) from None
    if as_json:
        print_result("dragoman.distill/1", result)
    commands = [f'translate -m {quoted(result.model_path)} "…"', f"evaluate -m {quoted(result.model_path)} …"]
    say_next(result, "The student", Path(path), commands)
