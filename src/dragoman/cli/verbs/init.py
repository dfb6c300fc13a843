"""`dragoman init`: a folder with a commented configuration, and the next commands."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shared.arguments import app, refuse_useless
from dragoman.cli.shared.console import program, quoted, say
from dragoman.errors import ConfigError


@app.command()
def init(
    name: Annotated[str, typer.Argument(help="Name of the project; its folder is created here.")],
    text: Annotated[
        list[Path] | None,
        typer.Argument(help="A corpus to split into it: two files, or one .tsv or .jsonl.", metavar="SOURCE TARGET"),
    ] = None,
    pair: Annotated[
        str | None, typer.Option(help="Languages, source-target, e.g. ko-en (the default) or pt-BR:en.")
    ] = None,
    both: Annotated[
        bool, typer.Option("--both", help="One model for both directions of the pair; with --from, its text in both.")
    ] = False,
    base: Annotated[Path | None, typer.Option("--from", help="Model to fine-tune: defaults for little text.")] = None,
    held_out: Annotated[
        int | None, typer.Option(min=1, help="With text: exact number of pairs for each of valid, test.")
    ] = None,
    near: Annotated[
        bool, typer.Option("--near/--no-near", help="With text: keep near-duplicates of a sentence together.")
    ] = True,
) -> None:
    """Write a commented configuration, NAME/run.toml."""
    from dragoman.workflows.train.project import init_project

    folder, corpus = Path(name), text or []
    if len(corpus) > 2:
        raise ConfigError(
            f"{corpus[2]}: too many arguments; give the two files of a corpus, or one .tsv or .jsonl file"
        )
    if not corpus:
        refuse_useless({"held-out": held_out, "no-near": not near}, "a project without text")
    project = init_project(
        name, *corpus, pair=pair, start_from=base, held_out=held_out, near=near, both_directions=both
    )
    path, (source, target) = project.config, project.pair
    if project.base:
        say(f"{base} has weights for translating only; {project.base} is a copy with weights to train, dequantised.")
    if project.warning:
        say(project.warning, style="yellow")
    if corpus:
        parts = ", ".join(f"{count:,} {part}" for part, count in project.parts.items())
        say(f"{path} is written, and the text is split into {folder}/data ({parts} pairs).")
    else:
        say(f"{path} is written. Put your text into {folder}/data (see [data] there), or split a corpus:")
        say(f"  {program()} data split {quoted(path)} all.{source} all.{target}")
    say(f"  {program()} data check {quoted(path)}\n  {program()} train {quoted(path)}")
