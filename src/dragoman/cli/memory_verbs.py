"""`dragoman memory …`: the arguments and help of the verbs about translation memories. Heavy imports happen inside."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.arguments import Json, memory_app

Memory = Annotated[Path, typer.Argument(help="The memory, a .db.")]


@memory_app.command("add")
def memory_add(
    memory: Memory,
    files: Annotated[list[Path], typer.Argument(help="What a person confirmed: .tmx, .tsv, .jsonl, .po, .xliff.")],
    source: Annotated[str, typer.Option("--from", help="Language of the sources, e.g. en.")],
    target: Annotated[str, typer.Option("--to", help="Language of the translations, e.g. ko.")],
    as_json: Json = False,
) -> None:
    """Add confirmed translations to a memory.

    Of PO and XLIFF files only finished translations are taken; a corrected OUT.review.tsv is read as it is. A memory
    that does not exist is made.
    """
    from dragoman.cli.memory import run_add

    run_add(memory, files, source, target, as_json)


@memory_app.command("export")
def memory_export(
    memory: Memory,
    output: Annotated[Path, typer.Option("--output", "-o", help="The .tmx or .tsv to write.")],
    source: Annotated[str | None, typer.Option("--from", help="Source language, where there are several.")] = None,
    target: Annotated[str | None, typer.Option("--to", help="Target language, where there are several.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write the units of a memory as TMX or TSV."""
    from dragoman.cli.memory import run_export

    run_export(memory, output, source, target, force, as_json)


@memory_app.command("stats")
def memory_stats(memory: Memory, as_json: Json = False) -> None:
    """Print the languages and the number of units of a memory."""
    from dragoman.cli.memory import run_stats

    run_stats(memory, as_json)
