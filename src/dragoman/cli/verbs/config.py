"""`dragoman config`: the documentation of configuration keys in the terminal."""

import textwrap
from typing import Annotated

import typer

from dragoman.cli.shared.arguments import Json, app
from dragoman.cli.shared.console import print_json

WIDTH = 100


@app.command()
def config(
    key: Annotated[str | None, typer.Argument(help="A key or a section, e.g. train.warmup or decode.")] = None,
    as_json: Json = False,
) -> None:
    """Explain the keys of the configuration."""
    from dragoman.config.reference import find, keys

    rows = find(key) if key else keys()
    if as_json:
        print_json({"schema": "dragoman.config/1", "keys": rows})
        return
    for row in rows:
        print(
            f"{row.name}  ({row.values}; default: {row.default.replace('`', '')})".replace(
                "; default: required", "; required"
            )
        )
        print(textwrap.fill(row.doc, WIDTH, initial_indent="    ", subsequent_indent="    "))
