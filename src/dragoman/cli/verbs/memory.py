"""`dragoman memory …`: translation memories, filled, exported and described."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shared.arguments import Json, app
from dragoman.cli.shared.console import facts_of, print_json, program, quoted, say

memory_app = typer.Typer(help="Keep confirmed translations and use them again.", no_args_is_help=True)
app.add_typer(memory_app, name="memory")

Memory = Annotated[Path, typer.Argument(help="The memory, a .db.")]


@memory_app.command("add")
def add(
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
    from dragoman.workflows.documents.memory import add_to_memory

    result = add_to_memory(memory, files, source=source, target=target)
    if as_json:
        print_json({"schema": "dragoman.memory.add/1", **facts_of(result)})
        return
    for name, count in result.files.items():
        say(f"{count:>12,}  {'pair' if count == 1 else 'pairs'}  {name}")
    say(f"{result.new:>12,}  new in {result.path}")
    say(f"Next: {program()} translate FILE --memory {quoted(result.path)}")


@memory_app.command("export")
def export(
    memory: Memory,
    output: Annotated[Path, typer.Option("--output", "-o", help="The .tmx or .tsv to write.")],
    source: Annotated[str | None, typer.Option("--from", help="Source language, where there are several.")] = None,
    target: Annotated[str | None, typer.Option("--to", help="Target language, where there are several.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write the units of a memory as TMX or TSV."""
    from dragoman.errors import counted
    from dragoman.workflows.documents.memory import export_memory

    result = export_memory(memory, output, source=source, target=target, force=force)
    if as_json:
        print_json({"schema": "dragoman.memory.export/1", **facts_of(result)})
        return
    say(f"{output}: {counted(sum(result.files.values()), 'pair')}")


@memory_app.command("stats")
def stats(memory: Memory, as_json: Json = False) -> None:
    """Print the languages and the number of units of a memory."""
    from dragoman.errors import counted
    from dragoman.memory import contents

    pairs = contents(memory)
    if as_json:
        print_json({"schema": "dragoman.memory.stats/1", "memory": memory, "pairs": pairs})
        return
    for pair in pairs:
        first, last = pair.first[:10], pair.last[:10]
        print(f"{pair.source} → {pair.target}  {counted(pair.units, 'unit')}, added {first} to {last}")
    if not pairs:
        say(f"{memory}: empty")
