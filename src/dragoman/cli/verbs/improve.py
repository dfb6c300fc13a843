"""`dragoman improve`: fine-tune on corrections, show the progress and what changed, print the next commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.shared.arguments import Json, OptionalModel, app, model_first, split_keys
from dragoman.cli.shared.console import print_json, program, quoted, say
from dragoman.errors import ConfigError
from dragoman.system.processes import sigterm_interrupts

if TYPE_CHECKING:
    from dragoman.workflows.improve.check import ImproveResult


@app.command()
def improve(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="Model, then keys such as train.max_steps=200.", metavar="MODEL KEY=VALUE"),
    ] = None,
    corrections: Annotated[
        str,
        typer.Option("--from", help="Corrections: corrections.db or postgresql://… of a service, .tsv or .jsonl."),
    ] = "",
    model: OptionalModel = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the new version; NAME-2 next to NAME unless given.")
    ] = None,
    pair: Annotated[str, typer.Option(help="Languages of the corrections in a model of several, e.g. en-ko.")] = "",
    replay: Annotated[
        Path | None,
        typer.Option(help="Text against forgetting, if that of the run is gone: pairs (.tsv), or source sentences."),
    ] = None,
    test: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="Test set that must not get worse, if that of the run is gone.", metavar="SOURCE REFERENCE"),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="The page that shows what changed; NAME-2.html unless given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Learn from corrections: a new version of a model.

    The model is fine-tuned on the corrections with a replay of other text, exported, and compared with the version
    before. If the test set drops below its confidence interval, nothing is written and the exit code is 6.
    """
    from dragoman.cli.shared.progress import Display
    from dragoman.workflows.improve.improve import improve as run

    folder, rest = model_first(model, arguments)
    paths, keys = split_keys(rest)
    if paths:
        raise ConfigError(f"{paths[0]}: too many arguments; give MODEL --from CORRECTIONS, and then keys")
    if not corrections:
        raise ConfigError("improve: needs corrections; give --from corrections.db, or --from FILE.tsv")
    with sigterm_interrupts(), _as_file(corrections) as file, Display() as display:
        result = run(
            folder,
            file,
            output=output,
            pair=pair,
            replay=replay,
            test=test,
            page=page,
            overrides=keys,
            listeners=[display],
        )
    if as_json:
        print_json(_facts(result))
    say(f"\nThe new version is in {result.model_path}; {result.page} shows what changed. Next:")
    for command in ('translate -m {} "…"', "serve -m {}"):
        say(f"  {program()} {command.format(quoted(result.model_path))}")


@contextmanager
def _as_file(corrections: str) -> Iterator[str]:
    """The corrections as a file: of a database server, a copy that is removed afterwards."""
    if "://" not in corrections:
        yield corrections
        return
    from dragoman.serve.store.corrections import FILE, copy_corrections

    with TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        copy_corrections(corrections, path)
        yield str(path)


def _facts(result: "ImproveResult") -> dict[str, object]:
    """The result as one JSON object, without the texts, which are on the page."""
    return {
        "schema": "dragoman.improve/1",
        "model": result.model_path,
        "page": result.page,
        "corrections": result.corrections,
        "held_out": result.held_out,
        "left_out": [{"where": example.correction.where, "kind": example.kind} for example in result.left_out],
        "texts": [
            {
                "on": text.on,
                "pair": text.pair,
                "sentences": len(text.sources),
                "changed": text.changed,
                "right": text.right,
                "metrics": text.metrics,
            }
            for text in result.texts
        ],
    }
